"""Shannon's guessing game: a keyboard, the text as far as it is known, and the guesses of reader and model below each letter. See lm_game.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

lm_game = token_view(Path(__file__))
