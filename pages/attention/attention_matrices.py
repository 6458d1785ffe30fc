"""Matrices of one head or of the stream beside each other, as heatmaps with their values under the pointer. See attention_matrices.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

attention_matrices = token_view(Path(__file__))
