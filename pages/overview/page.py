"""Overview: the whole forward pass on one screen, from the prompt to the next token and round again."""
from core.app.lesson import lesson, views
from pages.overview import map as pass_map

views.draw_one(lesson.open_lesson("overview"), pass_map)
