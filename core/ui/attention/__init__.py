"""The lesson "Attention, step by step"."""
