"""Language models: the probability of a text, and what can be done with it."""
from core.app.lesson import lesson, views
from pages.language_models import compress, continuations, correct, decipher, guess, sentences, table, tasks, toy
from pages.language_models.shared import SETTINGS

views.draw(lesson.open_lesson("language_models"), SETTINGS,
           {"guess": guess, "sentences": sentences, "compress": compress, "tasks": tasks,
            "continuations": continuations, "toy": toy, "table": table, "correct": correct, "decipher": decipher})
