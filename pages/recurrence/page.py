"""From recurrence to attention: why the transformer has no loop over its tokens."""
from core.app.lesson import lesson, views
from pages.recurrence import bottleneck, copy, gates, gradient, serial, unrolled
from pages.recurrence.shared import SETTINGS

views.draw(lesson.open_lesson("recurrence"), SETTINGS,
           {"unrolled": unrolled, "gradient": gradient, "serial": serial, "copy": copy, "bottleneck": bottleneck,
            "gates": gates})
