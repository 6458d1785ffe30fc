"""A passage and its twin, each begun by the reader and gone on with by the model, token by token. See limits_recital.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

limits_recital = token_view(Path(__file__))
