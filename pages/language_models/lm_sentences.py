"""Texts token by token, a bar of bits above each token. See lm_sentences.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

lm_sentences = token_view(Path(__file__))
