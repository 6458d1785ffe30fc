"""The lesson Limits: what each view is made of."""
