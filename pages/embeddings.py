"""Embeddings: a token's row of E, its neighbours, the map of the vocabulary, a word in two contexts, and word arithmetic."""
from core.ui import lesson, views
from core.ui.embeddings import arithmetic, contexts, neighbours, one_hot, vocabulary_map
from core.ui.embeddings.reading import SETTINGS

views.draw(lesson.open_lesson("embeddings"), SETTINGS,
           {"product": one_hot, "neighbours": neighbours, "map": vocabulary_map, "contexts": contexts, "arithmetic": arithmetic})
