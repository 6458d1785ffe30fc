"""Activations under the hand: curves and slopes, a gate as a surface, and where the live model stands on its own curve. See architecture_curves.js."""
from __future__ import annotations

from core.ui.components.token_view import token_view

architecture_curves = token_view("architecture_curves", "architecture_view/architecture_view.css")
