"""The frame of an instrument: navigation, prompt bar, strip, explanation, experiments, question, code and data, pins.

Begin with shell.py (one run of the app) and lesson.py (the parts of a lesson).
"""
from core.app.classroom.guesses import Cell, Number, Options, Place, Truth, Word
from core.app.frame.check import Question
from core.app.frame.lesson import Lesson
from core.app.frame.prediction import Prediction, guess_of
from core.app.frame.views import Reading, cannot

__all__ = ["Cell", "Lesson", "Number", "Options", "Place", "Prediction", "Question", "Reading", "Truth", "Word",
           "cannot", "guess_of"]
