"""The bar with the prompt and the model: the field, the drawers, the offer of a model that is not loaded yet, and the
notes on the model that is.

Begin with prompt_bar.py.
"""
