"""Activations under the hand: curves and slopes, a gate as a surface, and where the live model stands on its own curve. See architecture_curves.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

architecture_curves = token_view("architecture_curves", __file__, Path(__file__).with_name("architecture_view.css"))
