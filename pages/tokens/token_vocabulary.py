"""The vocabulary, searched while one types, and one token opened: how it was made, its bytes, the bits of its characters. See token_vocabulary.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

token_vocabulary = token_view(Path(__file__))
