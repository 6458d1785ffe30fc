"""From an LSTM to a GRU in three steps: its gates f and i become one, c and h become one, and a reset gate is added.

Row vectors. One set of weights serves all stages, four blocks for i f g o: the update gate has f's weights, the reset
gate has o's. The last stage is torch's GRU. d inputs, m units, N steps.

Hochreiter and Schmidhuber 1997, Gers et al. 2000 (the LSTM); Greff et al. 2017 (its gates f and i coupled); Cho et al.
2014 (the GRU, which multiplies the old state by r before W_h, where torch and this file do so after it).
"""
from dataclasses import dataclass

import torch
from torch import Tensor

from core.learning.recurrent_cells import GATES, Cell

STAGES = ("lstm", "coupled", "one_state", "gru")
BLOCKS = {"lstm": "figo", "coupled": "fgo", "one_state": "fg", "gru": "fgo"}     # the blocks of weights of each stage
WITH_OUTPUT = ("lstm", "coupled")                                                # the stages in which c and h differ


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a stage, or N steps along the first axis.

    from_input, from_state (…, 4, m): the two summands of i f g o, biases included. f, i, g (…, m): the share kept, the
    share let in, the new content. o (…, m): the output gate, or the reset gate of the last stage, or ones. old, new, h
    (…, m): the carried state before and after, and its shown part.
    """

    from_input: Tensor
    from_state: Tensor
    f: Tensor
    i: Tensor
    g: Tensor
    o: Tensor
    old: Tensor
    new: Tensor
    h: Tensor


def step(cell: Cell, stage: str, x: Tensor, old: Tensor, h: Tensor) -> Step:
    """One step of an LSTM's weights, wired as `stage`, from x (d,), the carried state and the shown one (m,)."""
    from_input = torch.einsum("d,gdm->gm", x, cell.W_x) + cell.b_x
    from_state = torch.einsum("k,gkm->gm", h, cell.W_h) + cell.b_h
    sigmoid = dict(zip(GATES["lstm"], torch.sigmoid(from_input + from_state)))
    f = sigmoid["f"]
    i = sigmoid["i"] if stage == "lstm" else 1 - f
    o = torch.ones_like(f) if stage == "one_state" else sigmoid["o"]
    at = GATES["lstm"].index("g")
    g = torch.tanh(from_input[at] + (o if stage == "gru" else 1) * from_state[at])
    new = f * old + i * g
    shown = o * torch.tanh(new) if stage in WITH_OUTPUT else new
    return Step(from_input, from_state, f, i, g, o, old, new, shown)


def unroll(cell: Cell, stage: str, X: Tensor) -> Step:
    """All N steps over X (N, d), from a state of zeros."""
    new = h = cell.W_h.new_zeros(cell.n_hidden)
    steps = []
    for x in X:
        steps.append(step(cell, stage, x, new, h))
        new, h = steps[-1].new, steps[-1].h
    return Step(*(torch.stack(values) for values in zip(*(vars(each).values() for each in steps))))


def n_weights(cell: Cell, stage: str) -> int:
    """How many numbers a stage learns: W_x (d, m), W_h (m, m) and two biases (m,) for each of its blocks."""
    return cell.n_parameters // len(GATES["lstm"]) * len(BLOCKS[stage])
