"""What a transformer costs: parameters, operations, memory, and tables of models that were built.

Begin with counting.py, which computes all of it from a ModelConfig alone.
"""
