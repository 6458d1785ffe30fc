"""Heads: every attention head of the model on the reader's prompt, what each one does, and what is lost without it."""
from core.app.lesson import lesson, views
from pages.heads import instrument

views.draw_one(lesson.open_lesson("heads"), instrument, instrument.shown)
