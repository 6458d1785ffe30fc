"""Heads: every attention head of the model on the reader's prompt, what each one does, and what is lost without it."""
from core.ui import lesson, views
from core.ui.heads import instrument

views.draw_one(lesson.open_lesson("heads"), instrument)
