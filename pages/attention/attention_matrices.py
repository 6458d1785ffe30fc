"""Matrices of one head or of the stream beside each other, as heatmaps with their values under the pointer. See attention_matrices.js."""
from __future__ import annotations

from core.components.lib.token_view import token_view

attention_matrices = token_view("attention_matrices", __file__)
