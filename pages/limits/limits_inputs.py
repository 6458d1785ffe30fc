"""What each token of a prompt counts for, a row of signed bars for each method. See limits_inputs.js."""
from __future__ import annotations

from core.components.lib.token_view import token_view

limits_inputs = token_view("limits_inputs", __file__)
