"""The lesson "Generation": a text token by token, strategies side by side, futures as a tree, beam
search, the KV cache.
"""
