"""A translation token by token, and its three kinds of attention under the hand. See architecture_translate.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

architecture_translate = token_view("architecture_translate", __file__, Path(__file__).with_name("architecture_view.css"))
