"""The merges of a text, played: the pieces on a line, under each what it was made of; step, scrub, play. See token_merges.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

token_merges = token_view(Path(__file__))
