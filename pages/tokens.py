"""Tokens: how a text becomes a row of numbers."""
from core.ui import lesson, views
from core.ui.tokens import merges, methods, training, vocabulary
from core.ui.tokens.reading import SETTINGS

views.draw(lesson.open_lesson("tokens"), SETTINGS, {"merges": merges, "methods": methods, "train": training, "vocabulary": vocabulary})
