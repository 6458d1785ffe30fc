"""Models beside the bundled ones: which the operator allows, a look at one before it is loaded, loading on a thread,
and the page Models.
"""
