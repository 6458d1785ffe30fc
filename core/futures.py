"""The futures of one prompt: many short continuations drawn from it, as a tree whose every node has its count beside its exact probability."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.block import KVCache
from core.generation import next_logits
from core.model import Transformer
from core.sampling import SamplingConfig, truncate

BATCH = 32      # texts read side by side: each carries a copy of the prompt's keys and values


@dataclass(frozen=True)
class Node:
    """A continuation that was drawn, whole or as the beginning of others.

    token_ids   the tokens after the prompt, none for the root
    parent      its place among the nodes; the root is its own
    count       how many of the draws begin like this
    prob        of the last token given those before it, in [0, 1]: what it was drawn with, after temperature and cuts
    path_prob   of all its tokens, by the chain rule: the product of prob from the root to here
    """

    token_ids: tuple[int, ...]
    parent: int
    count: int
    prob: float
    path_prob: float

    @property
    def depth(self) -> int:
        return len(self.token_ids)


def futures(model: Transformer, token_ids: Sequence[int], config: SamplingConfig = SamplingConfig(), seed: int = 0, n: int = 200, depth: int = 4) -> tuple[Node, ...]:
    """n draws of `depth` tokens from one prompt, fewer where a text ends, as a tree: the root first, then level by level, children of a node side by side and the
    most probable first.

    Draw i takes the number xi[t, i] for its token t, from a generator with this seed: a deeper tree of the same n begins with the same draws. Each different beginning is read once, however often it was drawn.
    Raises ValueError for an empty prompt, and where prompt and draws do not fit into the context together.
    """
    prompt = tuple(int(token_id) for token_id in token_ids)
    if not prompt or len(prompt) + depth > model.config.n_context + 1:
        raise ValueError(f"A prompt of {len(prompt)} tokens and {depth} more do not fit a context of {model.config.n_context}.")
    xis = torch.rand((depth, n), generator=torch.Generator().manual_seed(seed), dtype=torch.float64).numpy()
    read = KVCache()
    if prompt[:-1]:
        next_logits(model, [prompt[:-1]], read)
    nodes, live = [Node((), 0, n, 1.0, 1.0)], {0: np.arange(n)}      # node -> the draws that stand there
    for t in range(depth):
        following = {}
        for place, logits in zip(live, _logits(model, prompt, [nodes[place].token_ids for place in live], read)):
            draws, truncation = live[place], truncate(logits, config)
            drawn = np.searchsorted(truncation.interval_ends, xis[t, draws], side="right")
            for rank in np.unique(drawn):
                token_id, prob = int(truncation.token_ids[rank]), float(truncation.renormalised[rank])
                here = draws[drawn == rank]
                if token_id != model.config.end_of_text:
                    following[len(nodes)] = here
                nodes.append(Node(nodes[place].token_ids + (token_id,), place, len(here), prob, nodes[place].path_prob * prob))
        live = following
    return tuple(nodes)


def _logits(model: Transformer, prompt: tuple[int, ...], paths: list[tuple[int, ...]], read: KVCache) -> list[np.ndarray]:
    """The logits (|V|,) after the prompt and each of the paths, which are of one length; `read` holds the prompt but its last token, and is left as it is."""
    rows: list[np.ndarray] = []
    for first in range(0, len(paths), BATCH):
        batch = paths[first:first + BATCH]
        cache = KVCache()
        cache.keys_and_values = {layer: (K.expand(len(batch), -1, -1, -1), V.expand(len(batch), -1, -1, -1)) for layer, (K, V) in read.keys_and_values.items()}
        rows.extend(next_logits(model, [prompt + path for path in batch], cache).cpu().double().numpy())
    return rows


def frequency_band(prob: float, n: int) -> float:
    """The standard deviation of the frequency of something of this probability in n independent draws: sqrt(p (1 − p) / n).

    >>> round(frequency_band(0.5, 100), 3)
    0.05
    """
    return float(np.sqrt(prob * (1 - prob) / n))
