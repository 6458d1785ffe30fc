"""Activations of the feed-forward part, by the names of config.ACTIVATIONS."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

CURVES = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "swish": F.silu,
    "swiglu": F.silu,   # the gate's curve; the gate then multiplies a second projection
    "geglu": F.gelu,
}


def activate(name: str, x: Tensor) -> Tensor:
    """The curve of activation `name`, applied to each element of x.

    relu max(0, x); gelu x Φ(x) with Φ the normal distribution function, gelu_tanh its tanh approximation (Hendrycks and Gimpel 2016);
    swish x σ(x) (Ramachandran et al. 2017); swiglu and geglu: the curve of their gate (Shazeer 2020).
    """
    return CURVES[name](x)
