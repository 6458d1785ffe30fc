"""Generation: a text token by token, strategies, futures, beam search, and what the KV cache saves."""
from core.ui import lesson, views
from core.ui.generation import beam, cache_view, futures, strategies, writing
from core.ui.generation.reading import SETTINGS

views.draw(lesson.open_lesson("generation"), SETTINGS, {"writing": writing, "strategies": strategies, "futures": futures, "beam": beam, "cache": cache_view})
