"""The parts of a lesson around its picture: strip, views, questions, experiments, quiz, code and data, pins.

Begin with lesson.py.
"""
from core.app.classroom.guesses import Cell, Number, Options, Place, Truth, Word
from core.app.lesson.check import Question
from core.app.lesson.lesson import Lesson
from core.app.lesson.prediction import Prediction, guess_of
from core.app.lesson.views import Reading, cannot

__all__ = ["Cell", "Lesson", "Number", "Options", "Place", "Prediction", "Question", "Reading", "Truth", "Word",
           "cannot", "guess_of"]
