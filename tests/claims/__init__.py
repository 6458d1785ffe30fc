"""The text's claims about a bundled model (a number, a head, a token, a ranking), sentence by sentence, each beside the
computation that holds it. A new model fails here for each sentence to rewrite.
"""
from collections import defaultdict
from collections.abc import Callable

CLAIMS: dict[str, list[str]] = defaultdict(list)
"""The sentences that a test recomputes, by the name of their file in assets/text/en."""


def claims(file: str, *sentences: str) -> Callable[[Callable], Callable]:
    """Marks a test that recomputes these sentences, or parts of them, word for word as they stand in the file."""
    def mark(test: Callable) -> Callable:
        CLAIMS[file] += sentences
        return test
    return mark


SHOWN: list[str] = []
"""The ideas of the lectures (assets/teaching/ideas.tsv) whose place is held to what it must show."""


def shows(*ideas: str) -> Callable[[Callable], Callable]:
    """Marks a test that holds what the places of these ideas show with the model that they open."""
    def mark(test: Callable) -> Callable:
        SHOWN.extend(ideas)
        return test
    return mark
