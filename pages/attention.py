"""Attention, step by step: one head and one query with every number visible, and what changes when a part is switched."""
from core.ui import lesson, views
from core.ui.attention import averages, steps, switches
from core.ui.attention.reading import SETTINGS

views.draw(lesson.open_lesson("attention"), SETTINGS, {"steps": steps, "switches": switches, "averages": averages})
