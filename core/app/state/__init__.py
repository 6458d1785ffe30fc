"""The state of one reader: the state in the URL, the settings of a lesson, and the Run of the prompt under a model.

Begin with reader.py; lessons compute with run.py.
"""
from core.app.state.run import Run

__all__ = ["Run"]
