"""The choices that hold for a whole pass."""
from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class PassSettings:
    """The settings of every block in one pass: the model's own choices, or the intervention's instead."""

    norm: str
    scale_scores: bool
    residual: bool
    allowed: Tensor                 # (N, M) bool
    mask: str = ""                  # the mask's name, if it has one
    angles: Tensor | None = None    # (N, rotary_width/2) rotary angles of the new tokens
    bias: Tensor | None = None      # (h, N, M) ALiBi, or the relative biases that all blocks share
    relative: Tensor | None = None  # (N, M) column of each block's relative bias
    dropout: float = 0.0
    score: str = "dot"
    score_seed: int = 0             # draws the weights of a score function that is not the model's own
    activation: str | None = None   # its curve replaces the model's own
