"""Attention, step by step: one head and one query with every number visible, what changes when a part is switched, and why it is built so."""
from core.ui import lesson, views
from core.ui.attention import averages, roles, scaling, steps, switches, worksheet
from core.ui.attention.reading import SETTINGS

views.draw(lesson.open_lesson("attention"), SETTINGS,
           {"steps": steps, "switches": switches, "scaling": scaling, "roles": roles, "averages": averages, "worksheet": worksheet})
