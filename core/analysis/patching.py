"""Activation patching: one vector of another text's run put into this text's run, place by place, and how far that
moves the model's prediction; the same with the output of one head or one feed-forward part.

Source: Vig et al. 2020, "Investigating Gender Bias in Language Models Using Causal Mediation Analysis"; Meng et al.
2022, "Locating and Editing Factual Associations in GPT".
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.model.trace import Trace
from core.model.transformer import Transformer

MOST_TOKENS = 4096          # the most tokens that go through the blocks at once


@dataclass(frozen=True)
class Patching:
    """Logits after copying one vector, or one part's output, from the other run into this one.

    logits (rows, columns, 2): u of the tokens `own` and `other` after the last position with one copy; NaN if not
    computed yet. For vectors of the stream, a row is a depth (after that many blocks), a column a position: (L + 1, N,
    2). For outputs, a row is a block, a column a head, and the last column the feed-forward part, if there is one: (L,
    h + 1, 2). here, there (2,): the same logits in the two runs themselves. own: the token whose probability is higher
    in this run, by the largest difference; other: the same for the other run.
    """

    own: int
    other: int
    here: Tensor
    there: Tensor
    logits: Tensor

    @property
    def gaps(self) -> Tensor:
        """(rows, columns) u_other − u_own under each exchange."""
        return _gap(self.logits)

    @property
    def shares(self) -> Tensor:
        """(rows, columns) how far each exchange moves the gap of the two logits, from this run's (0) to the other's
        (1).
        """
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
    """Yield the effect of each vector of the run `there` in the run `here`, after each depth; the last one is complete.

    Both texts have the same number of tokens and the model is a decoder. Before the first place where they differ the
    two runs are the same, so nothing is exchanged there: the logits are this run's own.
    """
    first = first_difference(here.token_ids.tolist(), there.token_ids.tolist())
    same = here.logits[-1].expand(first, -1)
    rows = (torch.cat([same, _exchanged(model, x, source, first, depth)])
            for depth, (x, source) in enumerate(zip(streams(here), streams(there))))
    yield from _row_by_row(here, there, rows, (model.config.n_layers + 1, len(here.token_ids)))


@torch.inference_mode()
def patched_outputs(model: Transformer, here: Trace, there: Trace) -> Iterator[Patching]:
    """Yield the effect in the run `here` of the output of each head, and of each feed-forward part, of the run `there`,
    after each block; the last one is complete. Texts and model are as for `patched`.

    The output is exchanged at all positions at once; everything after it is computed again.
    """
    n_layers, n_heads, has_mlp = model.config.n_layers, model.config.n_heads, model.config.d_ff is not None

    def row(layer: int) -> Tensor:
        of_heads = with_heads(model, here, there, layer, range(n_heads))
        return torch.cat([of_heads, with_feed_forward(model, here, there, layer)[None]]) if has_mlp else of_heads

    yield from _row_by_row(here, there, map(row, range(n_layers)), (n_layers, n_heads + has_mlp))


@torch.inference_mode()
def with_heads(model: Transformer, here: Trace, there: Trace, layer: int, heads: Sequence[int]) -> Tensor:
    """(len(heads), |V|) the last token's logits of the run `here`, with head_out of one of these heads from the run
    `there`.
    """
    block, n, parts = here.blocks[layer], len(here.token_ids), []
    for some in torch.tensor(list(heads), device=block.head_out.device).split(max(1, MOST_TOKENS // n)):
        head_out = block.head_out.repeat(len(some), 1, 1, 1)
        head_out[torch.arange(len(some)), some] = there.blocks[layer].head_out[some]
        attn_out = model.blocks[layer].write(head_out)
        parts.append(model.logits_from(block.resid_pre, layer, {(layer, "attention"): attn_out}))
    return torch.cat(parts)


@torch.inference_mode()
def with_feed_forward(model: Transformer, here: Trace, there: Trace, layer: int) -> Tensor:
    """(|V|,) the last token's logits of the run `here`, with mlp_out of one block from the run `there`."""
    return model.logits_from(here.blocks[layer].resid_pre, layer, {(layer, "mlp"): there.blocks[layer].mlp_out})


@torch.inference_mode()
def with_all_heads(model: Transformer, here: Trace, there: Trace) -> Tensor:
    """(|V|,) the last token's logits of the run `here`, with the outputs of all heads from the run `there`."""
    return model.logits_from(here.blocks[0].resid_pre, 0,
                             {(layer, "attention"): block.attn_out for layer, block in enumerate(there.blocks)})


def _row_by_row(here: Trace, there: Trace, rows: Iterable[Tensor], shape: tuple[int, int]) -> Iterator[Patching]:
    """A Patching after each of the rows, each the logits (columns, |V|) of its exchanges."""
    own, other = answers(here, there)
    pair = [own, other]
    ends = [trace.logits[-1, pair].double().cpu() for trace in (here, there)]
    logits = torch.full((*shape, 2), torch.nan, dtype=torch.float64)
    for number, row in enumerate(rows):
        logits[number] = row[:, pair].double().cpu()
        yield Patching(own, other, *ends, logits.clone())


def _exchanged(model: Transformer, x: Tensor, source: Tensor, first: int, depth: int) -> Tensor:
    """(N − first, |V|) the last token's logits with the vector of one position of x (N, d), from `first` on, from
    `source`, as x enters block number `depth`.
    """
    n, parts = len(x), []
    rows = max(1, MOST_TOKENS // n)
    for places in torch.arange(first, n, device=x.device).split(rows):
        batch = x.repeat(len(places), 1, 1)
        batch[torch.arange(len(places)), places] = source[places]
        parts.append(model.logits_from(batch, depth))
    return torch.cat(parts)
