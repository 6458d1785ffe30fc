"""A sentence with hidden words, what an encoder and a decoder say of one of them, and the three kinds of masks. See architecture_blank.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

architecture_blank = token_view("architecture_blank", __file__, Path(__file__).with_name("architecture_view.css"))
