"""Architectures: one design among many, what it costs, and what was built."""
from core.ui import lesson, views
from core.ui.architectures import cost, design, record
from core.ui.architectures.reading import SETTINGS

views.draw(lesson.open_lesson("architectures"), SETTINGS, {"design": design, "cost": cost, "record": record})
