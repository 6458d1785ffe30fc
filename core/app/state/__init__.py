"""What one reader has chosen: the state in the URL, the settings of a lesson, and the Run of the prompt under a model.

Begin with reader.py; run.py is what the lessons compute with.
"""
from core.app.state.run import Run

__all__ = ["Run"]
