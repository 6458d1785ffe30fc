"""Generation: a text token by token, strategies, futures, beam search, and what the KV cache saves."""
from core.app.frame import lesson, views
from pages.generation import beam, cache_view, futures, strategies, writing
from pages.generation.shared import SETTINGS

views.draw(lesson.open_lesson("generation"), SETTINGS,
           {"writing": writing, "strategies": strategies, "futures": futures, "beam": beam, "cache": cache_view})
