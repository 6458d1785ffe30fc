"""How the bundled models are trained: `python -m core.training NAME`.

Begin with recipes.py (what each model is trained with) and run.py (the loop); language_modelling.py, blanks.py,
repetition.py and translation.py are the tasks.
"""
