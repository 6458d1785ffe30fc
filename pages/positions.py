"""Positions: how order gets into a model that has none."""
from core.ui import lesson, views
from core.ui.positions import beyond, biases, concat, learned, measured, rotary, symmetry, waves
from core.ui.positions.section import SETTINGS

views.draw(lesson.open_lesson("positions"), SETTINGS,
           {"waves": waves, "learned": learned, "rotary": rotary, "biases": biases, "concat": concat, "symmetry": symmetry, "beyond": beyond, "measured": measured})
