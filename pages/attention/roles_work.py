"""The comparison of Roles: one head, or the whole stream, before and after the weights change, in float64."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.analysis import symmetries
from core.app.compute import growing_results
from core.app.state import Run
from core.model.trace import Trace
from core.model.transformer import Transformer

# two models with a smaller difference of logits in float64 are the same: far above rounding, far below any change
UNSEEN = 1e-9


@dataclass(frozen=True)
class Heads:
    """One head: queries and keys (N, d_k), scores and weights (N, N), float64, and the logits (N, |V|) of the whole
    model, float32 to save room; of a model without a language head its last vectors (N, d).
    """

    Q: Tensor
    K: Tensor
    scores: Tensor
    pattern: Tensor
    logits: Tensor


@dataclass(frozen=True)
class Compared:
    """One head before and after a change, and the largest difference of the two models' logits, or last vectors, in
    float64.
    """

    before: Heads
    after: Heads
    difference: float


@dataclass(frozen=True)
class Relabelled:
    """The stream after the last block (N, d) of the model and of the relabelled one, their logits (|V|,) after one
    position, the largest difference of all logits, or of the last vectors put back where there are none that mean
    anything, and the order (d,) of the dimensions.
    """

    before: Tensor
    after: Tensor
    logits: Tensor
    other_logits: Tensor
    difference: float
    order: Tensor


def double_of(run: Run) -> Transformer:
    """The model in float64, shared by all readers and never written."""
    return growing_results.made(run.loaded.key("attention double"), lambda: symmetries.double_copy(run.model),
                                lambda value: 8 * value.n_parameters)


def forward(model: Transformer, run: Run) -> Trace:
    with torch.inference_mode():
        return model(torch.tensor(run.token_ids))


def said(trace: Trace) -> Tensor:
    """A model's output: logits (N, |V|); without a language head its last vectors (N, d)."""
    return trace.logits if trace.config.head.output_head == "language" else trace.h_final


def _heads(trace: Trace, layer: int, head: int) -> Heads:
    block, shared = trace.blocks[layer], trace.config.n_heads // trace.blocks[layer].K.shape[0]
    return Heads(block.Q_rotated[head], block.K_rotated[head // shared],
                 symmetries.scores_alone(block, trace.config, head), block.pattern[head], said(trace).float())


def compared(run: Run, kind: str, layer: int, head: int, seed: int = 0, stretch: float = 1.0) -> Compared:
    """One head before and after a change: "keys" are computed as queries, or both are in another "basis"."""
    def make() -> Compared:
        model = double_of(run)
        changed = (symmetries.with_queries_as_keys(model, layer, head) if kind == "keys" else
                   symmetries.with_change_of_basis(model, layer, head,
                                                   symmetries.change_of_basis(seed, run.model.config.d_k, stretch)))
        a, b = forward(model, run), forward(changed, run)
        return Compared(_heads(a, layer, head), _heads(b, layer, head), largest(said(a), said(b)))

    return growing_results.made(run.key("attention roles", kind, layer, head, seed, stretch), make,
                                lambda pair: _bytes(pair.before) + _bytes(pair.after))


def relabelled(run: Run, seed: int, position: int) -> Relabelled:
    """The model beside a copy with permuted dimensions of its stream."""
    def make() -> Relabelled:
        model, order = double_of(run), order_of(run, seed)
        a, b = forward(model, run), forward(symmetries.relabelled(model, order), run)
        difference = (largest(a.logits, b.logits) if run.has_head
                      else largest(a.h_final, put_back(b.h_final, order)))
        return Relabelled(a.resid_final, b.resid_final, a.logits[position].clone(),
                          b.logits[position].clone(), difference, order)

    return growing_results.made(run.key("attention relabelled", seed, position), make, _bytes)


def order_of(run: Run, seed: int) -> Tensor:
    """A random order (d,) of the stream's dimensions."""
    return torch.from_numpy(np.random.default_rng(seed).permutation(run.model.config.d_model))


def put_back(vectors: Tensor, order: Tensor) -> Tensor:
    """Vectors (N, d) of a relabelled model in the model's own order of dimensions."""
    return torch.empty_like(vectors).index_copy_(1, order, vectors)


def _bytes(record: Heads | Relabelled) -> int:
    return sum(value.nbytes for value in vars(record).values() if isinstance(value, Tensor))


def peak(values: Tensor) -> float:
    """The largest absolute value."""
    return float(values.abs().max())


def largest(a: Tensor, b: Tensor) -> float:
    """The largest absolute difference of two tensors."""
    return peak(a - b)
