"""Training: how a model learns."""
from core.ui import lesson, views
from core.ui.training import childhood, forcing, kepler, live
from core.ui.training.reading import SETTINGS

views.draw(lesson.open_lesson("training"), SETTINGS, {"forcing": forcing, "live": live, "childhood": childhood, "kepler": kepler})
