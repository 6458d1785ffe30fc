"""Words that phones send: the readable part of each, and when two of them are the same answer."""
import unicodedata

from core.base import signs

# in addition to core/base/signs.py: signs for an apostrophe, a quotation mark, a hyphen; · stands for a space
_MORE = str.maketrans({**dict.fromkeys("ʹ′`´", "'"), **dict.fromkeys("«»″", '"'), "−": "-", "·": " "})
_JOINERS = "\u200c\u200d"       # invisible, but letters of several scripts and emoji are written with them


def readable(text: str) -> str:
    """The text without control characters and invisible signs, with one space between words; "" if nothing visible
    is left.

    >>> readable("zero\\u200bwidth\\tof\\u202e  this"), readable("\\ufeff\\u200d")
    ('zerowidth of this', '')
    """
    kinds = ((letter, unicodedata.category(letter)) for letter in text)
    kept = "".join(" " if kind == "Cc" else letter for letter, kind in kinds if kind != "Cf" or letter in _JOINERS)
    kept = " ".join(kept.split())
    return kept if kept.strip(f" {_JOINERS}") else ""


def plain(word: str) -> str:
    """A word in its form for counting: typed on another keyboard, with other capitals or spaces, it is the same answer.

    core/components/class_tally/tally.js has the same rule.

    >>> plain("  Ice\\u2011Cream "), plain("DON’T"), plain("cafe\\u0301") == plain("Café"), plain("…")
    ('ice-cream', "don't", True, '...')
    """
    typed = signs.plain(unicodedata.normalize("NFKC", word)).translate(_MORE)
    return readable(typed).upper().lower()
