"""BPE beside Unigram, both learned from one text, under a slider for the size of the vocabulary. See token_training.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

token_training = token_view(Path(__file__))
