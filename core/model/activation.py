"""Activations of the feed-forward part, by the names of config.ACTIVATIONS."""
import math

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
    "geglu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}

# the curve of each gate under its own name
GATE_CURVES = {"swiglu": "swish", "geglu": "gelu", "geglu_tanh": "gelu_tanh"}


def activate(name: str, x: Tensor) -> Tensor:
    """The curve of activation `name`, applied to each element of x.

    relu max(0, x); gelu x Φ(x) with Φ the normal distribution function, gelu_tanh its tanh approximation (Hendrycks and
    Gimpel 2016); swish x σ(x) (Ramachandran et al. 2017); swiglu, geglu and geglu_tanh: the curve of their gate
    (Shazeer 2020).
    """
    return CURVES[name](x)


def swish(x: Tensor, beta: float = 1.0) -> Tensor:
    """x σ(βx) (Ramachandran et al. 2017): x/2 for β = 0, SiLU for β = 1, and ReLU as β grows."""
    return x * torch.sigmoid(beta * x)


def slope(name: str, x: Tensor, beta: float = 1.0) -> Tensor:
    """The derivative of the curve of activation `name` at each element of x; beta is Swish's and SwiGLU's.

    ReLU's at 0, which has none, is 0.

    Φ and φ the normal distribution function and its density: gelu Φ(x) + x φ(x); swish σ(βx) + βx σ(βx) (1 − σ(βx));
    gelu_tanh ½ (1 + t) + ½ x (1 − t²) u′ with t = tanh u and u = √(2/π) (x + 0.044715 x³).
    """
    if name == "relu":
        return (x > 0).to(x.dtype)
    if name in ("swish", "swiglu"):
        gate = torch.sigmoid(beta * x)
        return gate + beta * x * gate * (1 - gate)
    if name in ("gelu_tanh", "geglu_tanh"):
        t, inner = (torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)),
                    math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x ** 2))
        return 0.5 * (1 + t) + 0.5 * x * (1 - t ** 2) * inner
    return 0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * torch.exp(-0.5 * x ** 2) / math.sqrt(2 * math.pi)
