"""A new model's weights."""
from __future__ import annotations

import torch
from torch import nn

from core.model.norms import deepnorm_constants


@torch.no_grad()
def initialise(model: nn.Module, generator: torch.Generator) -> None:
    """Random weights: maps with variance 1/fan-in, those that write to the stream divided by sqrt(2L), embeddings
    and positions with standard deviation 0.02.

    The embeddings of an encoder-decoder have 1/sqrt(d), so a length of about 1: a word is then not lost in what the
    encoder's first attention mixes into it, and cross-attention learns to find it where it stands. With DeepNorm,
    W_V, W_O and the feed-forward maps are multiplied by its β instead of divided.
    """
    config = model.config
    for name, p in model.named_parameters():
        leaf = name.rsplit(".", 1)[-1]
        if leaf == "E" and model.encoder is not None:
            p.normal_(0.0, config.d_model ** -0.5, generator=generator)
        elif leaf in ("E", "P", "T", "W_U", "r", "v_S"):
            p.normal_(0.0, 0.02, generator=generator)
        elif leaf.startswith("W_"):
            fan_in, factor = p.shape[0] * p.shape[1] if leaf == "W_O" else p.shape[-2], 1.0
            if config.norm_placement == "deepnorm" and leaf in ("W_V", "W_O", "W_1", "W_gate", "W_2"):
                _, factor = deepnorm_constants(config, encoder=name.startswith("encoder."))
            elif config.norm_placement != "deepnorm" and leaf in ("W_O", "W_2"):
                factor = (2 * config.n_layers) ** -0.5
            p.normal_(0.0, fan_in ** -0.5 * factor, generator=generator)
