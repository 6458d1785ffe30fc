"""A ciphertext and what is read for it, key by key of a search: letters right and wrong, the key, and how probable each reading is. See lm_cipher.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

lm_cipher = token_view(Path(__file__))
