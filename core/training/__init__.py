"""The training of the bundled models: `python -m core.training NAME`.

Begin with recipes.py (the settings of each model) and run.py (the loop); language_modelling.py, blanks.py,
repetition.py and translation.py are the tasks.
"""
