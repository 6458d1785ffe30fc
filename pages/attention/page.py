"""Attention, step by step: one head and one query with every number visible, what changes when a part is switched, and
why it is built so.
"""
from core.app.lesson import lesson, views
from pages.attention import averages, roles, scaling, steps, switches, three, worksheet
from pages.attention.shared import SETTINGS

views.draw(lesson.open_lesson("attention"), SETTINGS,
           {"steps": steps, "three": three, "switches": switches, "scaling": scaling, "roles": roles,
            "averages": averages, "worksheet": worksheet})
