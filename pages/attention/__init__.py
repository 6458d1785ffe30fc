"""The lesson "Attention, step by step": what all its views share, and each view."""
