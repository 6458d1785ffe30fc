"""Overview: the whole forward pass on one screen, from the prompt to the next token and round again."""
from core.ui import lesson, overview, views

views.draw_one(lesson.open_lesson("overview"), overview)
