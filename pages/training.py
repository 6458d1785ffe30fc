"""Training: how a model learns."""
from core.ui import lesson, views
from core.ui.training import childhood, forcing, kepler, live, packing, schedules, tuning
from core.ui.training.reading import SETTINGS

views.draw(lesson.open_lesson("training"), SETTINGS, {"forcing": forcing, "live": live, "schedules": schedules, "packing": packing, "childhood": childhood, "tuning": tuning, "kepler": kepler})
