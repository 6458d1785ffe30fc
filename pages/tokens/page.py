"""Tokens: from a text to a row of numbers."""
from core.app.lesson import lesson, views
from pages.tokens import bpe, learned, merges, methods, pruning, vocabulary
from pages.tokens.shared import SETTINGS

views.draw(lesson.open_lesson("tokens"), SETTINGS,
           {"merges": merges, "methods": methods, "bpe": bpe, "unigram": pruning, "vocabulary": vocabulary,
            "train": learned})
