"""Activation patching: one vector of another text's run put into this text's run, place by place, and how far that
moves what the model says next.

Source: Vig et al. 2020, "Investigating Gender Bias in Language Models Using Causal Mediation Analysis"; Meng et al.
2022, "Locating and Editing Factual Associations in GPT".
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.model.trace import Trace
from core.model.transformer import Transformer

MOST_TOKENS = 4096          # that go through the blocks at once


@dataclass(frozen=True)
class Patching:
    """What each vector of the other run does in this one.

    logits (L + 1, N, 2): u of the tokens `own` and `other` after the last position, where the vector at this depth
    (after that many blocks) and position is the other run's; NaN where that is not computed yet. here, there (2,): the
    same logits in the two runs as they are. own: the token whose probability is higher in this run by most; other: that
    whose probability is higher in the other run by most.
    """

    own: int
    other: int
    here: Tensor
    there: Tensor
    logits: Tensor

    @property
    def gaps(self) -> Tensor:
        """(L + 1, N) u_other − u_own under each exchange."""
        return _gap(self.logits)

    @property
    def shares(self) -> Tensor:
        """(L + 1, N) how far each exchange moves the gap of the two logits, from this run's (0) to the other's (1)."""
        return (self.gaps - _gap(self.here)) / (_gap(self.there) - _gap(self.here))


def _gap(logits: Tensor) -> Tensor:
    return logits[..., 1] - logits[..., 0]


def streams(trace: Trace) -> Tensor:
    """(L + 1, N, d) the stream as it enters each block, and after the last one."""
    return torch.stack([*(block.resid_pre for block in trace.blocks), trace.resid_final])


def answers(here: Trace, there: Trace) -> tuple[int, int]:
    """The tokens whose probability after the last position falls and rises by most from this run to the other."""
    change = there.probs[-1].double() - here.probs[-1].double()
    return int(change.argmin()), int(change.argmax())


def first_difference(here: Sequence[int], there: Sequence[int]) -> int:
    """The first position at which two texts of the same length differ. Raises ValueError for the same text, or for
    texts of different lengths.

    >>> first_difference([0, 5, 6, 7], [0, 5, 9, 7])
    2
    """
    if len(here) != len(there):
        raise ValueError(f"The texts have {len(here)} and {len(there)} tokens: only places of equal number can be "
                         f"exchanged.")
    return next(i for i, pair in enumerate(zip(here, there, strict=True)) if len(set(pair)) == 2)


@torch.inference_mode()
def patched(model: Transformer, here: Trace, there: Trace) -> Iterator[Patching]:
    """Yield what each vector of the run `there` does in the run `here`, after each depth, the last of them whole.

    The texts have as many tokens each and the model is a decoder. Before the first place where they differ the two runs
    are the same, so nothing is exchanged there: the logits are this run's own.
    """
    own, other = answers(here, there)
    pair, n_layers = [own, other], model.config.n_layers
    first, n = first_difference(here.token_ids.tolist(), there.token_ids.tolist()), len(here.token_ids)
    stream, source = streams(here), streams(there)
    logits = torch.full((n_layers + 1, n, 2), torch.nan, dtype=torch.float64)
    for depth in range(n_layers + 1):
        logits[depth, :first] = here.logits[-1, pair].double().cpu()
        logits[depth, first:] = _exchanged(model, stream[depth], source[depth], first, depth)[:, pair].double().cpu()
        yield Patching(own, other, *(trace.logits[-1, pair].double().cpu() for trace in (here, there)), logits.clone())


def _exchanged(model: Transformer, x: Tensor, source: Tensor, first: int, depth: int) -> Tensor:
    """(N − first, |V|) the last token's logits where the vector of one position of x (N, d), from `first` on, is that
    of `source`, as x enters block number `depth`.
    """
    n, parts = len(x), []
    rows = max(1, MOST_TOKENS // n)
    for places in torch.arange(first, n, device=x.device).split(rows):
        batch = x.repeat(len(places), 1, 1)
        batch[torch.arange(len(places)), places] = source[places]
        parts.append(model.logits_from(batch, depth))
    return torch.cat(parts)
