"""Language models: the probability of a text, and what can be done with it."""
from core.ui import lesson, views
from core.ui.language_models import compress, continuations, correct, decipher, guess, sentences, tasks
from core.ui.language_models.reading import SETTINGS

views.draw(lesson.open_lesson("language_models"), SETTINGS, {"sentences": sentences, "continuations": continuations, "guess": guess, "compress": compress, "correct": correct, "decipher": decipher,
                                                             "tasks": tasks})
