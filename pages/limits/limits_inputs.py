"""What each token of a prompt counts for, a row of signed bars for each method. See limits_inputs.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

limits_inputs = token_view(Path(__file__))
