"""Architectures: one live model of each kind, and what they are built from."""
from core.ui import lesson, views
from core.ui.architectures import activations, blank, norms, translate
from core.ui.architectures.reading import SETTINGS

views.draw(lesson.open_lesson("architectures"), SETTINGS, {"blank": blank, "translate": translate, "norms": norms, "activations": activations})
