"""Positions: how a model without order learns of order."""
from core.app.lesson import lesson, views
from pages.positions import beyond, biases, concat, learned, measured, rotary, symmetry, waves
from pages.positions.shared import SETTINGS

views.draw(lesson.open_lesson("positions"), SETTINGS,
           {"symmetry": symmetry, "waves": waves, "rotary": rotary, "learned": learned, "biases": biases,
            "concat": concat, "beyond": beyond, "measured": measured})
