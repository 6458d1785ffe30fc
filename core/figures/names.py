"""Names of tokens on charts and in tables."""
from collections.abc import Iterable


def distinct(tokens: Iterable[str]) -> list[str]:
    """The tokens, with invisible spaces after each that looks like an earlier one: different ids may look alike, but a
    chart would draw equal names as one row.

    >>> [len(name) for name in distinct(["a", "b", "a"])]
    [1, 1, 2]
    """
    tokens = list(tokens)
    return [token + "\u200b" * tokens[:i].count(token) for i, token in enumerate(tokens)]
