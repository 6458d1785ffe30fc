"""Three norms of one token: the cells that each averages over, its statistics, its result, and whether companions change it. See architecture_norms.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

architecture_norms = token_view("architecture_norms", __file__, Path(__file__).with_name("architecture_view.css"))
