"""A task as word prediction: the prompt with its template, what comes next, and how often the model is right on a list. See lm_tasks.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

lm_tasks = token_view(Path(__file__))
