"""The lesson Training, a module for each view."""
