"""The futures of one prompt: many short continuations drawn from it, as a tree whose every node has its count beside
its exact probability.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.model.block import KVCache
from core.model.generation import next_logits
from core.model.sampling import SamplingConfig, drawn
from core.model.transformer import Transformer

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


Tree = tuple[Node, ...]
# beginning -> tree -> its place there, and the draws that stand at it
Level = dict[tuple[int, ...], dict[int, tuple[int, np.ndarray]]]


def futures(model: Transformer, token_ids: Sequence[int], config: SamplingConfig = SamplingConfig(), seed: int = 0,
            n: int = 200, depth: int = 4) -> Tree:
    """n draws of `depth` tokens from one prompt, fewer where a text ends, as a tree: the root first, then level by
    level, children of a node side by side and the most probable first.

    Draw i takes the number xi[t, i] for its token t, from a generator with this seed: a deeper tree of the same n
    begins with the same draws. Each different beginning is read once, however often it was drawn. Raises ValueError for
    an empty prompt, and where prompt and draws do not fit into the context together.
    """
    *_, (tree,) = grown(model, token_ids, config, (seed,), n, depth)
    return tree


def grown(model: Transformer, token_ids: Sequence[int], config: SamplingConfig, seeds: Sequence[int], n: int,
          depth: int) -> Iterator[tuple[Tree, ...]]:
    """The `futures` of each seed, as far as they are grown: all trees, again and again until they are whole.

    What several seeds have drawn is read once for all.

    Raises ValueError as `futures` does.
    """
    prompt = tuple(int(token_id) for token_id in token_ids)
    if not prompt or len(prompt) + depth > model.config.n_context + 1:
        raise ValueError(f"A prompt of {len(prompt)} tokens and {depth} more do not fit a context of "
                         f"{model.config.n_context}.")
    xis = [torch.rand((depth, n), generator=torch.Generator().manual_seed(seed), dtype=torch.float64).numpy()
           for seed in seeds]
    trees = [[Node((), 0, n, 1.0, 1.0)] for _ in seeds]
    level: Level = {(): {which: (0, np.arange(n)) for which in range(len(seeds))}}
    read = KVCache()
    if prompt[:-1]:
        next_logits(model, [prompt[:-1]], read)
    for t in range(depth):
        below: Level = {}
        for batch in (list(level)[first:first + BATCH] for first in range(0, len(level), BATCH)):
            for path, logits in zip(batch, _logits(model, prompt, batch, read)):
                below |= _grow(trees, path, level[path], logits, config, [numbers[t] for numbers in xis],
                               model.config.end_of_text)
            yield tuple(map(tuple, trees))
        level = below


def _grow(trees: list[list[Node]], path: tuple[int, ...], here: dict[int, tuple[int, np.ndarray]], logits: np.ndarray,
          config: SamplingConfig, xis: list[np.ndarray], end_of_text: int | None) -> Level:
    """Draws the token after one beginning in every tree that has it, and adds it there; returns the longer
    beginnings that go on.
    """
    every = np.concatenate([xis[which][draws] for which, (_, draws) in here.items()])
    places, token_ids, probs = drawn(logits, config, every)
    of_tree = np.concatenate([np.full(len(draws), which) for which, (_, draws) in here.items()])
    draws = np.concatenate([draws for _, draws in here.values()])
    below: Level = {}
    for place in np.unique(places):
        at = np.flatnonzero(places == place)
        longer, prob = path + (int(token_ids[at[0]]),), float(probs[at[0]])
        for which in np.unique(of_tree[at]).tolist():
            mine, parent = draws[at[of_tree[at] == which]], here[which][0]
            if longer[-1] != end_of_text:
                below.setdefault(longer, {})[which] = (len(trees[which]), mine)
            trees[which].append(Node(longer, parent, len(mine), prob, trees[which][parent].path_prob * prob))
    return below


def _logits(model: Transformer, prompt: tuple[int, ...], paths: list[tuple[int, ...]], read: KVCache) -> np.ndarray:
    """(len(paths), |V|) the logits after the prompt and each of the paths, which are of one length; `read` holds the
    prompt but its last token, and is left as it is.
    """
    texts = [prompt + path for path in paths]
    return next_logits(model, texts, read.repeated(len(paths))).cpu().double().numpy()


def frequency_band(prob: float, n: int) -> float:
    """The standard deviation of the frequency of something of this probability in n independent draws:
    sqrt(p (1 − p) / n).

    >>> round(frequency_band(0.5, 100), 3)
    0.05
    """
    return float(np.sqrt(prob * (1 - prob) / n))
