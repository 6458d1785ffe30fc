"""One pass and one that changes it in every way, to be computed in two places; and whether two Traces, or what a page
shows and what a pass gives, are the same to the last bit.
"""
from __future__ import annotations

import numpy as np
import torch

from core.model.intervention import HeadEdit, Intervention, Patch, SublayerEdit
from core.model.trace import Trace, _tensors

IDS = (0, 17, 300, 5, 9, 44)
CHANGED = Intervention(
    heads=(HeadEdit(1, 2, "mean"), HeadEdit(0, 0, "scale", 0.1)), sublayers=(SublayerEdit(1, "mlp"),),
    patches=(Patch(1, 2, (0, 3, 4), 1),), reference_ids=(5, 6, 7),
    allowed=tuple(tuple(j <= i or j == 5 for j in range(6)) for i in range(6)), permutation=(0, 2, 1, 3, 4, 5))


def same(a: Trace, b: Trace) -> bool:
    """Whether shapes, types and every bit of every tensor agree."""
    pairs = list(zip(_tensors(a), _tensors(b), strict=True))
    return len(pairs) > 40 and a.config == b.config and all(x.dtype == y.dtype and torch.equal(x, y) for x, y in pairs)


def assert_same(shown: np.ndarray, computed: np.ndarray, device: str) -> None:
    """Compare a page's numbers with those of a pass of the test's own on the same device: on the CPU to the last bit. A
    GPU's way to multiply also depends on where in its memory the matrices lie.
    """
    rtol, atol = (0, 0) if device == "cpu" else (1e-4, 1e-5)
    np.testing.assert_allclose(shown.ravel(), computed.ravel(), rtol, atol)
