"""The lesson Limits: one file a view."""
