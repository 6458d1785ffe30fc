"""The lesson Overview: the whole forward pass on one map."""
