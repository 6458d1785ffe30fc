"""Limits: what the model makes up, what it remembers, and how far its certainty can be believed."""
from core.ui import lesson, views
from core.ui.limits import calibration, facts, memory
from core.ui.limits.reading import SETTINGS

views.draw(lesson.open_lesson("limits"), SETTINGS, {"facts": facts, "memory": memory, "calibration": calibration})
