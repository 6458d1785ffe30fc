"""Embeddings: a token's row of E, its neighbours, the map of the vocabulary, a word in two contexts, and
word arithmetic.
"""
from core.app.lesson import lesson, views
from pages.embeddings import arithmetic, contexts, neighbours, one_hot, vocabulary_map
from pages.embeddings.shared import SETTINGS

views.draw(lesson.open_lesson("embeddings"), SETTINGS,
           {"product": one_hot, "neighbours": neighbours, "map": vocabulary_map, "contexts": contexts,
            "arithmetic": arithmetic})
