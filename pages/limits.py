"""Limits: what each input counts for, what one word changes, and what needs the structure of a sentence."""
from core.ui import lesson, views
from core.ui.limits import inputs, meaning, words
from core.ui.limits.reading import SETTINGS

views.draw(lesson.open_lesson("limits"), SETTINGS, {"inputs": inputs, "words": words, "meaning": meaning})
