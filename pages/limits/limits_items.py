"""The items of a test, each in three readings, to pick one. See limits_items.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

limits_items = token_view(Path(__file__))
