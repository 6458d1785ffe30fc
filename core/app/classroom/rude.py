"""Rude words, which wait at the end of the teacher's list and are not ticked with the others. The teacher decides all
the same: no list knows every language, nor what is meant.
"""
import functools
import re
from pathlib import Path

_FILE = Path(__file__).resolve().parents[3] / "assets" / "teaching" / "rude_words.txt"
_FOR_LETTERS = str.maketrans("013457@$!", "oieastasi")


def is_rude(written: str) -> bool:
    """Whether one of the words is on the list, also with an s behind it, or digits and signs for letters.

    >>> [is_rude(written) for written in ("Shit", "sh1ts!", "class", "Scunthorpe", "ice cream")]
    [True, True, False, False, False]
    """
    words = re.findall(r"[^\W\d_]+", written.casefold().rstrip("!?.").translate(_FOR_LETTERS))
    return any(word in _words() or word.removesuffix("s") in _words() for word in words)


@functools.cache
def _words() -> frozenset[str]:
    return frozenset(_FILE.read_text(encoding="utf-8").split())
