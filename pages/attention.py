"""Attention, step by step: one head, taken apart."""
from core.ui import lesson, views
from core.ui.attention import roles, scaling, worksheet
from core.ui.attention.reading import SETTINGS

views.draw(lesson.open_lesson("attention"), SETTINGS, {"worksheet": worksheet, "scaling": scaling, "roles": roles})
