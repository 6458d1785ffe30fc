"""The writing on the wall's tiles: the role of each head, its measures, and a mark where the reader changed it."""
from collections.abc import Collection

import numpy as np

from core.base.prose import TextFile
from core.components.heads_wall import HeadMap, Heads
from core.figures import heads as figures
from pages.heads.shared import Change, Patterns

SEEN_WHOLE = 8            # layers and heads of a wall that is seen whole; a larger one has a map beside it
SHARES = frozenset(figures.ROLES)      # between 0 and 1, and coloured as the tiles are


def summary(words: TextFile, change: Change | None, shown: Patterns, measure: str) -> HeadMap | None:
    """The map of all heads for a wall that is not seen whole.

    Shares run from 0 to 1, entropy and distance to their largest value.
    """
    measures = shown.measures
    if max(measures["entropy"].shape) <= SEEN_WHOLE:
        return None
    rooted = [name in SHARES for name in measures]
    ends = [1.0 if share else _largest(values) for share, values in zip(rooted, measures.values())]
    return HeadMap([words.label(f"measure_{name}") for name in measures], ends, rooted,
                   measure if measure in measures else next(iter(measures)), picks=change is None)


def _largest(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.max(initial=0.0)) or 1.0


def title(words: TextFile, change: Change | None, shown: Patterns) -> str:
    """The title of the wall; of a large one also the number of heads by role."""
    n_layers, n_heads = shown.measures["entropy"].shape
    if change:
        return words.label("wall_change")
    if max(n_layers, n_heads) <= SEEN_WHOLE:
        return words.label("wall", n=n_layers * n_heads)
    return words.label("wall_large", n=n_layers * n_heads, layers=n_layers, **counts(shown))


def counts(shown: Patterns) -> dict[str, int]:
    """How many heads have each of the roles."""
    return {role: int((shown.roles == role).sum()) for role in figures.ROLES}


def heads_of(words: TextFile, change: Change | None, changed: Collection[tuple[int, int]], shown: Patterns) -> Heads:
    """The heads with their roles, their measures and, after a change, marks on the changed ones."""
    found = shown.roles.ravel().tolist()
    named = {role: words.label(f"role_{role}") if role else "" for role in {*found}}
    n_heads = shown.values.shape[1]
    marked = [layer * n_heads + head for layer, head in changed]
    badge = words.label(f"badge_{change.action}", factor=change.factor) if change else ""
    return Heads(shown.values, shown.allowed, shown.measures, words.label("note"),
                 [named[role] for role in found], [badge if i in marked else "" for i in range(len(found))],
                 marked if change and change.action == "zero" else [])
