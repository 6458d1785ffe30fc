"""Sparse attention patterns beside each other, each cell as deep as the layers that its pair of tokens needs. See sparse_patterns.js."""
from __future__ import annotations

from core.components.lib.hand import HAND_CSS
from core.components.lib.token_view import token_view

sparse_patterns = token_view("sparse_patterns", __file__, HAND_CSS)
