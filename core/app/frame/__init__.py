"""What surrounds an instrument: navigation, prompt bar, strip, explanation, experiments, question, code and data, pins.

Begin with shell.py (one run of the app) and lesson.py (the parts of a lesson).
"""
from core.app.frame.check import Question
from core.app.frame.lesson import Lesson
from core.app.frame.views import Reading, cannot

__all__ = ["Lesson", "Question", "Reading", "cannot"]
