"""A model's weights as they travel in a page, at 8 bits a number, for the engine in core/components/engine."""
from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor

from core.components.lib.bytes import pack
from core.model.config import ModelConfig
from core.model.transformer import Transformer

MATRICES = ("E", "P", "W_Q", "W_K", "W_V", "W_O", "W_1", "W_2", "W_U", "W_S")
ZERO, MOST = 128, 127       # the byte of a weight that is 0; the largest distance from it

# What the engine computes whatever the value is, or never reads because what it belongs to is refused.
SIZES = {"vocab_size", "d_model", "n_layers", "n_heads", "n_context", "d_k", "d_v", "n_kv_heads", "d_ff",
         "norm_epsilon", "tied_embeddings", "end_of_text", "positions", "score", "rotary_base",
         "relative_max_distance", "window"}
CHOICES = {"kind": ("decoder",), "norm": ("layernorm",), "norm_placement": ("pre",), "activation": ("gelu", "relu"),
           "mask": ("causal",)}


def refusal(config: ModelConfig) -> str | None:
    """The first setting that the engine cannot compute, as "kind=encoder" or "n_experts=4"; None if it computes the
    model.
    """
    usual = ModelConfig(vocab_size=1, d_model=1, n_layers=1, n_heads=1, n_context=1).to_dict()
    return next((f"{name}={value}" for name, value in config.to_dict().items()
                 if name not in SIZES and value not in CHOICES.get(name, (usual[name],))), None)


def packed(model: Transformer) -> bytes:
    """The model as a message for Model of the engine's model.js: its config, flat; the name and shape of every tensor;
    and the tensors, matrices at a byte a number with a float32 `<name>.scale` for each row of their last axis, all else
    as float32. Raises ValueError, with the setting, for a model that the engine cannot compute.
    """
    if setting := refusal(model.config):
        raise ValueError(f"The engine computes no model with {setting}.")
    arrays: dict[str, np.ndarray] = {}
    for name, weight in model.state_dict().items():
        if _is_matrix(name):
            steps, scale = _quantised(weight)
            arrays |= {name: (steps + ZERO).to(torch.uint8).cpu().numpy(), f"{name}.scale": scale.cpu().numpy()}
        else:
            arrays[name] = weight.float().cpu().numpy()
    shapes = [[name, list(weight.shape)] for name, weight in model.state_dict().items()]
    return pack({"config": model.config.to_dict(), "tensors": shapes}, arrays)


def rounded(model: Transformer) -> Transformer:
    """The same model with the weights that `packed` sends; the model itself stays as it is."""
    other = copy.deepcopy(model)
    other.load_state_dict({name: torch.mul(*_quantised(weight)) if _is_matrix(name) else weight
                           for name, weight in model.state_dict().items()})
    return other


def _is_matrix(name: str) -> bool:
    return name.rpartition(".")[2] in MATRICES


def _quantised(weight: Tensor) -> tuple[Tensor, Tensor]:
    """(..., k) whole numbers from −127 to 127, and the scale (..., 1) of each row: their product is the weight, to half
    a scale. A row of zeros has the scale 0.
    """
    scale = weight.float().abs().amax(dim=-1, keepdim=True) / MOST
    return (weight.float() / scale.where(scale > 0, torch.ones_like(scale))).round(), scale
