"""The arithmetic coder at work: a text's tokens, the interval that each narrows, the bits so far, and sizes beside each other. See lm_coder.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

lm_coder = token_view(Path(__file__))
