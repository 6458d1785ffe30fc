"""Generation: a text token by token, strategies, futures, beam search, and the savings of the KV cache."""
from core.app.lesson import lesson, views
from pages.generation import beam, cache_view, futures, strategies, writing
from pages.generation.shared import SETTINGS

views.draw(lesson.open_lesson("generation"), SETTINGS,
           {"writing": writing, "strategies": strategies, "futures": futures, "beam": beam, "cache": cache_view})
