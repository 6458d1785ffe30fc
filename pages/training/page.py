"""Training: how a model learns."""
from core.app.lesson import lesson, views
from pages.training import backprop, childhood, forcing, instructions, kepler, live, packing, rlhf, schedules, tuning
from pages.training.shared import SETTINGS

views.draw(lesson.open_lesson("training"), SETTINGS,
           {"forcing": forcing, "backprop": backprop, "live": live, "schedules": schedules, "packing": packing,
            "childhood": childhood, "instructions": instructions,
            "tuning": tuning, "rlhf": rlhf, "kepler": kepler})
