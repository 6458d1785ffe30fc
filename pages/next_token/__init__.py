"""The lesson Next token: logits, the sampling settings and the draw."""
