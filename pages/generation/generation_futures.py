"""A tree of draws: each beginning as high as its count, and beside it counts against exact probabilities. See generation_futures.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

generation_futures = token_view(Path(__file__))
