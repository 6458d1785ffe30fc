"""A few of very many combinations of settings: most faults of a combination are faults of two of its settings."""
from __future__ import annotations

import itertools
import random
from collections.abc import Hashable, Sequence

Settings = dict[str, Hashable]


def pairwise(combinations: Sequence[Settings], n_drawn: int = 0, seed: int = 0) -> list[Settings]:
    """Some of the combinations, in their order: enough of them that every two values of two settings that stand in one
    of all stand in one of these, and n_drawn more, drawn with the seed.

    >>> every = [dict(zip("abc", values)) for values in itertools.product(range(2), repeat=3)]
    >>> 4 <= len(pairwise(every)) < 8, len(pairwise(every, n_drawn=2)) - len(pairwise(every))
    (True, 2)
    """
    order = random.Random(seed).sample(range(len(combinations)), len(combinations))
    covered: set[tuple] = set()
    taken = []
    for k in order:
        pairs = set(itertools.combinations(sorted(combinations[k].items()), 2))
        if not pairs <= covered:
            covered |= pairs
            taken.append(k)
    drawn = [k for k in order if k not in set(taken)][:n_drawn]
    return [combinations[k] for k in sorted(taken + drawn)]
