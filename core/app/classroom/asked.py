"""Questions to a class, as they come from the teacher's page: words and the form of the answer. Everything is checked:
a request may come from anybody who has opened a class.
"""
from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from core.app.classroom.guesses import MOST_CHARACTERS, Cell, Guess, Number, Options, Place, Word

WAITING, OPEN, CLOSED, REVEALED, OVER = "waiting", "open", "closed", "revealed", "over"     # the phases of a question

MOST_BYTES = 24_000          # of a question, or of the model's answer to it
_MOST_ASK = 1_000            # characters
MOST_PROMPT = 2_000         # characters
MOST_NUMBER = 1e30           # an end of a slider; its inverse is the least end of a logarithmic one
_MOST_TEXT = 200             # characters of an option or a token
_BLANKS = "\n\t\u00a0\u202f"       # kept although they do not print; the last two are spaces that do not break
_MOST = {"options": 12, "place": 300, "rows": 64, "columns": 64}


class Refused(ValueError):
    """The request has no valid question, answer or wish."""


def question(told: object) -> dict:
    """The question {ask, prompt, guess, about}: `prompt` is the text that it is about, "" for none; `guess` the form
    from `Guess.offer`; `about` a short text by which the teacher's page recognises it. Raises Refused.
    """
    if not isinstance(told, Mapping):
        raise Refused("a question is an object")
    ask = _text(told.get("ask"), _MOST_ASK)
    if not ask:
        raise Refused("a question has words")
    return {"ask": ask, "prompt": _text(told.get("prompt", ""), MOST_PROMPT, as_it_is=True),
            "guess": form(told.get("guess")).offer(), "about": _text(told.get("about", ""), _MOST_TEXT)}


def form(offer: object) -> Guess:
    """The form of answer that an offer describes. Raises Refused if it describes none."""
    if not isinstance(offer, Mapping):
        raise Refused("the form of an answer is an object")
    try:
        return _FORMS[offer["kind"]](offer)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Refused("there is no such form of an answer") from error


def answer(guess: Guess, told: object) -> str:
    """An answer in the form that is kept: JSON of {guess} or, for a word, {guess, sure}. Raises Refused."""
    if not isinstance(told, Mapping):
        raise Refused("an answer is an object")
    accepted = guess.accept(told.get("guess"))
    if accepted is None:
        raise Refused("the question does not offer that")
    kept: dict = {"guess": accepted}
    sure = told.get("sure")
    if isinstance(guess, Word) and isinstance(sure, int) and not isinstance(sure, bool):
        kept["sure"] = min(max(sure, 0), 100)
    return json.dumps(kept, ensure_ascii=False, allow_nan=False)


def _options(offer: Mapping) -> Options:
    texts = _texts(offer["texts"], "options")
    if len(texts) < 2:
        raise ValueError("options are two or more")
    pictures = offer.get("pictures", [])
    if not isinstance(pictures, list) or len(pictures) not in (0, len(texts)) or not all(map(_is_square, pictures)):
        raise ValueError("a picture of each option is a square of hexadecimal digits")
    return Options(texts, pictures)


def _is_square(told: object) -> bool:
    return (isinstance(told, str) and re.fullmatch(r"[0-9a-f]{1,1024}", told) is not None
            and math.isqrt(len(told)) ** 2 == len(told))


def _place(offer: Mapping) -> Place:
    tokens = _texts(offer["texts"], "place")
    offered = [int(place) for place in offer.get("offered", ())][:len(tokens)]
    if not tokens or not all(0 <= place < len(tokens) for place in offered):
        raise ValueError("a place is one of the tokens")
    return Place(tokens, offered)


def _cell(offer: Mapping) -> Cell:
    rows, columns = _texts(offer["rows"], "rows"), _texts(offer["columns"], "columns")
    if not rows or not columns:
        raise ValueError("a grid has cells")
    return Cell(rows, columns)


def _number(offer: Mapping) -> Number:
    low, high, step = (float(offer[name]) for name in ("low", "high", "step"))
    log = bool(offer.get("log"))
    if not (all(abs(number) <= MOST_NUMBER for number in (low, high, step)) and low < high and step > 0
            and (not log or low >= 1 / MOST_NUMBER)):
        raise ValueError("a number lies between two others")
    return Number(low, high, step, _text(offer.get("unit", ""), 20), log)


def _word(offer: Mapping) -> Word:
    return Word(chance=bool(offer.get("chance", True)))


_FORMS = {"options": _options, "place": _place, "cell": _cell, "number": _number, "word": _word}


def _texts(told: object, what: str) -> list[str]:
    if not isinstance(told, list) or len(told) > _MOST[what]:
        raise ValueError(f"{what} are a list of at most {_MOST[what]}")
    return [_text(text, _MOST_TEXT, as_it_is=True) for text in told]


def _text(told: object, most: int, *, as_it_is: bool = False) -> str:
    """A text without control characters and half surrogates. Raises Refused for anything but a text."""
    if not isinstance(told, str):
        raise Refused("a text was expected")
    text = told[:most].encode(errors="replace").decode()
    text = "".join(letter if letter.isprintable() or letter in _BLANKS else " " for letter in text)
    return text if as_it_is else re.sub(r"[ \t\n]+", " ", text).strip()


__all__ = ["MOST_BYTES", "MOST_CHARACTERS", "Refused", "answer", "form", "question"]
