"""The lesson Language models: what each view is made of."""
