"""Measures of a forward pass: norms, attention heads, contributions to a logit, attributions, probabilities of texts.

Begin with stream_and_heads.py (measures of a Trace) and contributions.py (a logit taken apart).
"""
