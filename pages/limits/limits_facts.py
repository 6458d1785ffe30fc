"""Three rows of questions: what the model answers to one of them, how sure it is of its answers to all of them, and a threshold over all rows. See limits_facts.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

limits_facts = token_view(Path(__file__))
