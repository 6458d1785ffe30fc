"""The futures of one prompt: many short samples after it, as a tree; every node has its count and its exact
probability.
"""
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.model.generation import next_logits
from core.model.kv_cache import KVCache
from core.model.sampling import SamplingConfig, drawn
from core.model.transformer import Transformer

BATCH = 32      # texts of one batch: each holds a copy of the prompt's keys and values


@dataclass(frozen=True)
class Node:
    """A sampled continuation, whole or a prefix of others.

    token_ids   the tokens after the prompt, none for the root
    parent      the parent's index among the nodes; the root is its own parent
    count       the number of draws with this prefix
    prob        of the last token given the tokens before it, in [0, 1], after temperature and truncation
    path_prob   of all its tokens, by the chain rule: the product of prob from the root to this node
    """

    token_ids: tuple[int, ...]
    parent: int
    count: int
    prob: float
    path_prob: float

    @property
    def depth(self) -> int:
        return len(self.token_ids)


Tree = tuple[Node, ...]
# prefix -> tree -> (index of its node there, indices of the draws at it)
Level = dict[tuple[int, ...], dict[int, tuple[int, np.ndarray]]]


def futures(model: Transformer, token_ids: Sequence[int], config: SamplingConfig = SamplingConfig(), seed: int = 0,
            n: int = 200, depth: int = 4) -> Tree:
    """n draws of `depth` tokens after one prompt, fewer if a text ends, as a tree: the root first, then level by level,
    the children of a node adjacent and the most probable first.

    Draw i uses the number xi[t, i] for its token t, from a generator with this seed: a deeper tree of the same n begins
    with the same draws. Each different prefix is computed once, however often it was drawn. Raises ValueError for an
    empty prompt, and if prompt and draws together exceed the context.
    """
    *_, (tree,) = grow(model, token_ids, config, (seed,), n, depth)
    return tree


def grow(model: Transformer, token_ids: Sequence[int], config: SamplingConfig, seeds: Sequence[int], n: int,
          depth: int) -> Iterator[tuple[Tree, ...]]:
    """Yield the `futures` of each seed while they grow: all trees so far, until they are complete.

    A prefix that several seeds have drawn is computed once. Raises ValueError as `futures` does.
    """
    prompt = tuple(int(token_id) for token_id in token_ids)
    if not prompt or len(prompt) + depth > model.config.n_context + 1:
        raise ValueError(f"A prompt of {len(prompt)} tokens and {depth} more do not fit a context of "
                         f"{model.config.n_context}.")
    xis = [torch.rand((depth, n), generator=torch.Generator().manual_seed(seed), dtype=torch.float64).numpy()
           for seed in seeds]
    trees = [[Node((), 0, n, 1.0, 1.0)] for _ in seeds]
    level: Level = {(): {which: (0, np.arange(n)) for which in range(len(seeds))}}
    cache = KVCache()
    if prompt[:-1]:
        next_logits(model, [prompt[:-1]], cache)
    for t in range(depth):
        below: Level = {}
        for batch in (list(level)[first:first + BATCH] for first in range(0, len(level), BATCH)):
            for path, logits in zip(batch, _logits(model, prompt, batch, cache)):
                below |= _grow(trees, path, level[path], logits, config, [numbers[t] for numbers in xis],
                               model.config.ends)
            yield tuple(map(tuple, trees))
        level = below


def _grow(trees: list[list[Node]], path: tuple[int, ...], parents: dict[int, tuple[int, np.ndarray]],
          logits: np.ndarray, config: SamplingConfig, xis: list[np.ndarray], ends: Collection[int]) -> Level:
    """Draw the token after one prefix in every tree that contains it, and add it there; return the longer prefixes that
    have not ended.
    """
    xi = np.concatenate([xis[which][draws] for which, (_, draws) in parents.items()])
    places, token_ids, probs = drawn(logits, config, xi)
    of_tree = np.concatenate([np.full(len(draws), which) for which, (_, draws) in parents.items()])
    draws = np.concatenate([draws for _, draws in parents.values()])
    below: Level = {}
    for place in np.unique(places):
        at = np.flatnonzero(places == place)
        longer, prob = path + (int(token_ids[at[0]]),), float(probs[at[0]])
        for which in np.unique(of_tree[at]).tolist():
            taken, parent = draws[at[of_tree[at] == which]], parents[which][0]
            if longer[-1] not in ends:
                below.setdefault(longer, {})[which] = (len(trees[which]), taken)
            trees[which].append(Node(longer, parent, len(taken), prob, trees[which][parent].path_prob * prob))
    return below


def _logits(model: Transformer, prompt: tuple[int, ...], paths: list[tuple[int, ...]], cache: KVCache) -> np.ndarray:
    """(len(paths), |V|) the logits after the prompt and each of the paths, which have one length; `cache` holds the
    prompt but its last token, and stays unchanged.
    """
    texts = [prompt + path for path in paths]
    return next_logits(model, texts, cache.repeated(len(paths))).cpu().double().numpy()


def frequency_band(prob: float, n: int) -> float:
    """The standard deviation sqrt(p (1 − p) / n) of the relative frequency of an event in n independent draws.

    >>> round(frequency_band(0.5, 100), 3)
    0.05
    """
    return float(np.sqrt(prob * (1 - prob) / n))
