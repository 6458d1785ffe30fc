"""Word lists for a class's wall. Before a teacher has looked, a wall shows only plain English words that can hurt
nobody. Rude words stand at the end of the teacher's list, and are not ticked with the others. The teacher decides in
any case: no list knows every language, nor what is meant. A text that a model wrote by itself is shown unasked only if
none of its words is rude or violent.
"""
import functools
import re
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[3] / "assets" / "teaching"
_FOR_LETTERS = str.maketrans("013457@$!", "oieastasi")


def is_rude(written: str) -> bool:
    """Whether one of the words is on the list of rude words, also with an s after it, or digits and signs for letters.

    >>> [is_rude(written) for written in ("Shit", "sh1ts!", "class", "Scunthorpe", "ice cream")]
    [True, True, False, False, False]
    """
    return _any_on("rude_words", written.casefold().rstrip("!?.").translate(_FOR_LETTERS))


def is_fit(written: str) -> bool:
    """Whether a text of a model may be shown to a class: no word is on the list of rude or of violent words.

    >>> [is_fit(written) for written in ("A warm knot.", "Stupid toys!", "I want you to smash my head.")]
    [True, False, False]
    """
    return not (is_rude(written) or _any_on("violent_words", written.casefold()))


def is_plain(written: str) -> bool:
    """Whether it is one of the words that children's books and stories use often, and that insult nobody.

    >>> [is_plain(written) for written in ("Doll", "ball", "shit", "stupid", "Tom smells", "xkcd", "")]
    [True, True, False, False, False, False, False]
    """
    return written.casefold().strip() in _list("plain_words")


def _any_on(name: str, written: str) -> bool:
    words, listed = re.findall(r"[^\W\d_]+", written), _list(name)
    return any(word in listed or word.removesuffix("s") in listed for word in words)


@functools.cache
def _list(name: str) -> frozenset[str]:
    return frozenset((_FOLDER / f"{name}.txt").read_text(encoding="utf-8").split())
