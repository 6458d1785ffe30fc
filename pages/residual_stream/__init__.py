"""The views of the lesson "Residual stream": one file each, with the instrument and what the parts below
it say about it.
"""
