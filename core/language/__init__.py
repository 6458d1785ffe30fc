"""Uses of the probability of a text: splitting, compressing, deciphering, guessing and comparing texts.

Each file is one idea; begin with segmentation.py (how a text becomes tokens) or compression.py.
"""
