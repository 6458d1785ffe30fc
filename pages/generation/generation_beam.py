"""The tree of a beam search, a column for each step, the kept above the pruned. See generation_beam.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

generation_beam = token_view(Path(__file__))
