"""Texts of several strategies under each other, their tokens coloured by probability, beside them what each is worth. See generation_strategies.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

generation_strategies = token_view(Path(__file__))
