"""Architectures: one design among many, a live model of each kind, their parts, their cost, and models of record."""
from core.app.lesson import lesson, views
from pages.architectures import activations, blank, cost, design, experts, hardware, kinds, norms, record, translate
from pages.architectures.shared import SETTINGS

views.draw(lesson.open_lesson("architectures"), SETTINGS,
           {"design": design, "kinds": kinds, "blank": blank, "translate": translate, "norms": norms,
            "activations": activations, "experts": experts, "cost": cost, "hardware": hardware, "record": record})
