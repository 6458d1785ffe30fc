"""Variance, softmax, entropy and gradient of scores by the width d_k, with and without ÷ √d_k, under one slider. See attention_scaling.js."""
from __future__ import annotations

from core.components.lib.token_view import token_view

attention_scaling = token_view("attention_scaling", __file__)
