"""A translation token by token, and its three kinds of attention under the hand. See architecture_translate.js."""
from __future__ import annotations

from core.ui.components.token_view import token_view

architecture_translate = token_view("architecture_translate", "architecture_view/architecture_view.css")
