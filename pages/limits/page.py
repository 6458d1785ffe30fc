"""Limits: what the model makes up, what it remembers, how far its certainty can be believed; what each input counts
for, what one changed word does, and how much of a model its structure says.
"""
from core.app.lesson import lesson, views
from pages.limits import calibration, context, facts, inputs, meaning, memory, structure, words
from pages.limits.shared import SETTINGS

views.draw(lesson.open_lesson("limits"), SETTINGS, {"facts": facts, "memory": memory, "calibration": calibration,
                                                    "inputs": inputs, "words": words, "meaning": meaning,
                                                    "context": context, "structure": structure})
