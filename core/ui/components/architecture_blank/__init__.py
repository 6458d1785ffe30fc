"""A sentence with hidden words, what an encoder and a decoder say of one of them, and the three kinds of masks. See architecture_blank.js."""
from __future__ import annotations

from core.ui.components.token_view import token_view

architecture_blank = token_view("architecture_blank", "architecture_view/architecture_view.css")
