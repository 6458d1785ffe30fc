"""What surrounds an instrument: navigation, prompt bar, strip, explanation, experiments, question, code and data, pins.

Begin with shell.py (one run of the app) and lesson.py (the parts of a lesson).
"""
