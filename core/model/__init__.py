"""The transformer, its tokenizer and its sampling: the mathematics, as pure functions and frozen values.

Begin with config.py (one record describes every architecture) and transformer.py (one forward pass, which returns a
Trace); block.py and attention.py have the details, passes.py the masks and positions that a pass begins with.
"""
