"""Three norms of one token: the cells that each averages over, its statistics, its result, and whether companions change it. See architecture_norms.js."""
from __future__ import annotations

from core.ui.components.token_view import token_view

architecture_norms = token_view("architecture_norms", "architecture_view/architecture_view.css")
