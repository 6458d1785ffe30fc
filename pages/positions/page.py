"""Positions: how a model without order learns of order."""
from core.app.frame import lesson, views
from pages.positions import beyond, biases, concat, learned, measured, rotary, symmetry, waves
from pages.positions.shared import SETTINGS

views.draw(lesson.open_lesson("positions"), SETTINGS,
           {"waves": waves, "learned": learned, "rotary": rotary, "biases": biases, "concat": concat,
            "symmetry": symmetry, "beyond": beyond, "measured": measured})
