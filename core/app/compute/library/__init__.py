"""Models beside the bundled ones: those that the operator allows, a look at a model before it is loaded, and loading on
a thread.
"""
