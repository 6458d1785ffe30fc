"""A worksheet for attention by hand: small whole numbers to start from, the answer of every step, and the values that
usual mistakes give.

Four tokens (rows of X), width d = 4, one head, causal mask. Symbols as in core/model/attention.py.
"""
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.model import attention

N, D = 4, 4
STAGES = ("Q", "K", "V", "products", "scaled", "masked", "weights", "output")     # to be filled in, in this order
WIDTHS = (2, 4)                                                                   # of queries, keys and values
MOST_ENTRY, MOST_PRODUCT, MOST_WEIGHT = 4, 9, 0.97


@dataclass(frozen=True)
class Worksheet:
    """The given matrices: X (4, 4) and W_Q, W_K, W_V (4, width), whole numbers as float64."""

    seed: int
    X: Tensor
    W_Q: Tensor
    W_K: Tensor
    W_V: Tensor

    @property
    def width(self) -> int:
        """d_k = d_v."""
        return self.W_Q.shape[-1]


def worksheet(seed: int, width: int) -> Worksheet:
    """The sheet of a seed (from 0) and a width: the first draw that is `_suitable`.

    X holds 0, 1 and 2, the weights −1, 0 and 1.
    """
    dice = np.random.default_rng([seed, width])
    while True:
        X = dice.choice([0, 1, 2], size=(N, D), p=[0.5, 0.35, 0.15])
        W = dice.choice([-1, 0, 1], size=(3, D, width), p=[0.2, 0.4, 0.4])
        sheet = Worksheet(seed, *(torch.tensor(values, dtype=torch.float64) for values in (X, *W)))
        if _suitable(sheet):
            return sheet


def solve(sheet: Worksheet) -> dict[str, Tensor]:
    """Every step by its name, float64: Q, K, V (4, width), products QKᵀ, scaled ÷ √d_k, masked and weights (4, 4),
    output (4, width).
    """
    Q, K, V = (sheet.X @ W + 0.0 for W in (sheet.W_Q, sheet.W_K, sheet.W_V))      # + 0.0 makes 0 of −0
    allowed = attention.causal_mask(N, N)
    scaled = attention.dot_product_scores(Q, K)
    weights = attention.masked_softmax(scaled, allowed)
    return {"Q": Q, "K": K, "V": V, "products": attention.dot_product_scores(Q, K, scale=False) + 0.0, "scaled": scaled,
            "masked": scaled.masked_fill(~allowed, -math.inf), "weights": weights, "output": weights @ V}


def mistakes(sheet: Worksheet) -> dict[str, dict[str, Tensor]]:
    """Return the values that usual mistakes would give, by step and by the mistake's name, the likeliest first; NaN in
    cells where the mistake is impossible.
    """
    s, allowed = solve(sheet), attention.causal_mask(N, N)
    Q, K, V, S, scaled, A = (s[name] for name in ("Q", "K", "V", "products", "scaled", "weights"))
    unmasked, unscaled = torch.softmax(scaled, -1), attention.masked_softmax(S, allowed)
    projections = {"Q": Q, "K": K, "V": V}
    slips = {}
    for name, right in projections.items():
        slips[name] = {f"other_{wrong}": values for wrong, values in projections.items() if wrong != name}
        if sheet.width == D:
            slips[name]["transposed"] = sheet.X @ getattr(sheet, f"W_{name}").T
        slips[name]["sign"] = -right
    slips["products"] = {"early": scaled, "swapped": S.T, "values": Q @ V.T, "sign": -S}
    slips["scaled"] = {"undivided": S, "by_width": S / sheet.width, "times": S * math.sqrt(sheet.width),
                       "swapped": scaled.T}
    slips["masked"] = {"undivided": S.masked_fill(~allowed, math.nan),
                       "swapped": scaled.T.masked_fill(~allowed, math.nan)}
    slips["weights"] = {"exponential": scaled.exp().masked_fill(~allowed, math.nan),
                        "unmasked": unmasked, "unscaled": unscaled,
                        "columns": torch.softmax(s["masked"], 0), "linear": _shares(scaled, allowed)}
    slips["output"] = {"unmasked": unmasked @ V, "unscaled": unscaled @ V, "columns": A.T @ V,
                       "mean": attention.uniform_pattern(allowed, V.dtype) @ V}
    return slips


def _shares(scores: Tensor, allowed: Tensor) -> Tensor:
    """(N, N) each score over its row's sum, without an exponential; NaN if masked or not finite."""
    scores = scores.masked_fill(~allowed, 0.0)
    shares = scores / scores.sum(-1, keepdim=True)
    return shares.masked_fill(~allowed | ~shares.isfinite(), math.nan)


def _suitable(sheet: Worksheet) -> bool:
    """Whether all numbers are small, the rows of X, Q, K and V distinct and not zero, the products not symmetric by
    chance, and no weight after the first query's above MOST_WEIGHT.
    """
    Q, K, V = (sheet.X @ W for W in (sheet.W_Q, sheet.W_K, sheet.W_V))
    if max(float(values.abs().max()) for values in (Q, K, V)) > MOST_ENTRY:
        return False
    if any(len(torch.unique(values, dim=0)) < N or not bool((values != 0).any(-1).all())
           for values in (sheet.X, Q, K, V)):
        return False
    products = Q @ K.T
    if float(products.abs().max()) > MOST_PRODUCT or torch.equal(products, products.T):
        return False
    return float(solve(sheet)["weights"][1:].max()) <= MOST_WEIGHT
