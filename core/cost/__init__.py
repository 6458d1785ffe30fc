"""The cost of a transformer: parameters, operations, memory, and tables of models that were built.

Begin with counting.py, which computes all of it from a ModelConfig alone.
"""
