"""The transformer, its tokenizer and its sampling: the mathematics, as pure functions and frozen values.

Begin with attention.py, block.py and transformer.py, in this order: 350 lines, from scores to logits. config.py has the
settings of an architecture; passes.py the masks and positions that a pass begins with; fused.py and faster.py the
faster way.
"""
