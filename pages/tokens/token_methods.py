"""Ways to cut a text against hard examples: counts as a table, the picked example's pieces, and length against vocabulary. See token_methods.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

token_methods = token_view(Path(__file__))
