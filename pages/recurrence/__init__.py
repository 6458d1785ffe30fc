"""The views of the lesson "From recurrence to attention": one file each, with the instrument and what the parts below
it say about it.
"""
