"""A text as it is written: tokens coloured by their probability, the distribution of the step that is looked at, the branches. See generation_writing.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

generation_writing = token_view(Path(__file__))
