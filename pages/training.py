"""Training: how a model learns."""
from core.ui import lesson, views
from core.ui.training import childhood, forcing, kepler, live, schedules
from core.ui.training.reading import SETTINGS

views.draw(lesson.open_lesson("training"), SETTINGS, {"forcing": forcing, "live": live, "childhood": childhood, "schedules": schedules, "kepler": kepler})
