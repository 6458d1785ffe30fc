"""From recurrence to attention: why the transformer has no loop over its tokens."""
from core.ui import lesson, views
from core.ui.recurrence import bottleneck, copy, gradient, serial, unrolled
from core.ui.recurrence.reading import SETTINGS

views.draw(lesson.open_lesson("recurrence"), SETTINGS, {"unrolled": unrolled, "gradient": gradient, "serial": serial, "copy": copy, "bottleneck": bottleneck})
