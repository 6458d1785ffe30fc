"""A design as a real model: built with random weights, its parameters counted one by one, and run on the prompt."""
import math
from dataclasses import dataclass

import torch

from core.app.compute import cache
from core.app.state import Run
from core.cost import counting
from core.model.config import ModelConfig
from core.model.transformer import Transformer

MOST_BUILT = 16_000_000      # parameters: 64 MB, and built in a fraction of a second
SEED = 0


@dataclass(frozen=True)
class Built:
    """The measures of a real model of a design.

    n_parameters     counted in the model's tensors
    nats             mean −log p of the prompt's tokens after the first; NaN for a prompt of one token, for an encoder,
                     and for a vocabulary without the prompt's tokens
    shape            of the logits; None for a vocabulary without the prompt's tokens
    trained          whether it is the loaded model itself, whose design this is
    """

    n_parameters: int
    nats: float
    shape: tuple[int, ...] | None
    trained: bool


def build(config: ModelConfig, run: Run) -> Built | None:
    """The measures of a model of `config` on the prompt's last tokens; None for one with more than MOST_BUILT
    parameters.
    """
    if counting.n_parameters(config) > MOST_BUILT:
        return None
    trained = config == run.model.config and not run.loaded.is_random
    token_ids = run.token_ids[-config.n_context:] if config.positions == "learned" else run.token_ids
    key = ("built design", config, token_ids, run.model_name if trained else "")
    return cache.result(key, lambda: _run(run.model if trained else random_model(config), token_ids, trained),
                        lambda _: 200)


def random_model(config: ModelConfig) -> Transformer:
    """A new model of a design with random weights from the seed SEED."""
    return Transformer(config).initialise(torch.Generator().manual_seed(SEED)).eval().requires_grad_(False)


def _run(model: Transformer, token_ids: tuple[int, ...], trained: bool) -> Built:
    n_parameters, ids = model.n_parameters, torch.tensor(token_ids, dtype=torch.int64)
    if int(ids.max()) >= model.config.vocab_size:
        return Built(n_parameters, math.nan, None, trained)
    with torch.inference_mode():
        trace = model(ids, source_ids=ids if model.encoder is not None else None)
    follows = len(ids) > 1 and model.config.kind != "encoder"
    nats = float(torch.nn.functional.cross_entropy(trace.logits[:-1].double(), ids[1:])) if follows else math.nan
    return Built(n_parameters, nats, tuple(trace.logits.shape), trained)
