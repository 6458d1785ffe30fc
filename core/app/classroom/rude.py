"""The words of a class that a wall shows before a teacher has looked at them: plain English ones that can hurt nobody.
Rude ones wait at the end of the teacher's list, and are not ticked with the others. The teacher decides all the same:
no list knows every language, nor what is meant.
"""
import functools
import re
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[3] / "assets" / "teaching"
_FOR_LETTERS = str.maketrans("013457@$!", "oieastasi")


def is_rude(written: str) -> bool:
    """Whether one of the words is on the list, also with an s behind it, or digits and signs for letters.

    >>> [is_rude(written) for written in ("Shit", "sh1ts!", "class", "Scunthorpe", "ice cream")]
    [True, True, False, False, False]
    """
    words = re.findall(r"[^\W\d_]+", written.casefold().rstrip("!?.").translate(_FOR_LETTERS))
    rude = _list("rude_words")
    return any(word in rude or word.removesuffix("s") in rude for word in words)


def is_plain(written: str) -> bool:
    """Whether it is one word of those that children's books and stories use often, and that call nobody names.

    >>> [is_plain(written) for written in ("Doll", "ball", "shit", "stupid", "Tom smells", "xkcd", "")]
    [True, True, False, False, False, False, False]
    """
    return written.casefold().strip() in _list("plain_words")


@functools.cache
def _list(name: str) -> frozenset[str]:
    return frozenset((_FOLDER / f"{name}.txt").read_text(encoding="utf-8").split())
