"""Activations of the feed-forward part, by the names of ACTIVATIONS."""
import torch
import torch.nn.functional as F
from torch import Tensor

LIMIT, CLAMPED_BETA = 7.0, 1.702        # those of gpt-oss's gate (OpenAI 2025)
CURVES = {
    "tanh": torch.tanh,             # only in a classification head
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "swish": F.silu,
    "swish_clamped": lambda x: swish(x.clamp(max=LIMIT), CLAMPED_BETA),
}
# The curve of each gate under its own name; the gate then multiplies a second projection.
GATE_CURVES = {"swiglu": "swish", "geglu": "gelu", "geglu_tanh": "gelu_tanh", "swiglu_clamped": "swish_clamped"}
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "swish", *GATE_CURVES)
CURVES |= {gate: CURVES[curve] for gate, curve in GATE_CURVES.items()}


def activate(name: str, x: Tensor) -> Tensor:
    """The curve of activation `name`, applied to each element of x.

    relu max(0, x); gelu x Φ(x) with Φ the normal distribution function, gelu_tanh its tanh approximation (Hendrycks and
    Gimpel 2016); swish x σ(x) (Ramachandran et al. 2017); swiglu, geglu, geglu_tanh and swiglu_clamped: the curve of
    their gate (Shazeer 2020), for the last one x σ(1.702 x) with x at most 7 (OpenAI 2025, gpt-oss).
    """
    return CURVES[name](x)


def gate_factor(name: str, up: Tensor) -> Tensor:
    """The elementwise factor of a gated activation's curve: the second projection itself, or, in a clamped SwiGLU, 1
    more than the projection held within ±7.
    """
    return up.clamp(-LIMIT, LIMIT) + 1 if name == "swiglu_clamped" else up


def swish(x: Tensor, beta: float = 1.0) -> Tensor:
    """x σ(βx) (Ramachandran et al. 2017): x/2 for β = 0, SiLU for β = 1, and ReLU as β grows."""
    return x * torch.sigmoid(beta * x)


def slope(name: str, x: Tensor, beta: float = 1.0) -> Tensor:
    """The derivative of the curve of activation `name` at each element of x, by automatic differentiation; beta is
    Swish's and SwiGLU's. ReLU has none at 0; the result there is 0.

    With Φ and φ the normal distribution function and its density, gelu has Φ(x) + x φ(x); swish has
    σ(βx) + βx σ(βx) (1 − σ(βx)); gelu_tanh has ½ (1 + t) + ½ x (1 − t²) u′ with t = tanh u and
    u = √(2/π) (x + 0.044715 x³).
    """
    with torch.inference_mode(False), torch.enable_grad():
        x = x.clone().requires_grad_()
        curve = swish(x, beta) if name in ("swish", "swiglu") else activate(name, x)
        return torch.autograd.grad(curve.sum(), x)[0]
