"""The head of a class: its whole state at a moment except the answers, as the store keeps it."""
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from core.app.classroom import asked
from core.app.classroom.asked import OPEN, WAITING, Refused
from core.app.classroom.rude import is_plain
from core.app.classroom.words import plain


@dataclass(frozen=True)
class Head:
    """The state of a class at a moment. key: the hash of its key. question: its number, from 1; 0: none was asked yet.
    asked: the question from `asked.question`. compares: the number of the question on which this is the second vote;
    0: none. model: the model's answer, once it is revealed. allowed: the free words that may be shown; None: the
    teacher has not decided, and only plain words are shown. follow: the address of the picture that phones may open.
    signal: the last request of the teacher's second device to the wall: its number, its name and a text; notes: the
    texts on the plan that this device shows.
    """

    key: str
    until: float
    question: int = 0
    phase: str = WAITING
    asked: dict | None = None
    compares: int = 0
    model: dict | None = None
    allowed: tuple[str, ...] | None = None
    follow: str = ""
    signal: tuple[int, str, str] = (0, "", "")
    notes: dict | None = None

    @property
    def takes(self) -> int:
        """The number of the question that takes answers; 0 for none."""
        return self.question if self.phase == OPEN else 0


def words_of(head: Head, answers: Iterable[str]) -> Counter[str]:
    """The number of answers for each free word, in its form for counting; empty if no word was asked for."""
    if not head.asked or head.asked["guess"]["kind"] != "word":
        return Counter()
    return Counter(plain(json.loads(told)["guess"]) for told in answers)


def allowed_of(head: Head, words: Iterable[str]) -> set[str]:
    """The words that may be shown; the model's own always may."""
    own = {plain(str(head.model["answer"]))} if head.model and "answer" in head.model else set()
    return own | ({*filter(is_plain, words)} if head.allowed is None else {*head.allowed})


def written(head: Head) -> str:
    """The head as JSON. Raises Refused if it is too long."""
    text = json.dumps(asdict(head), ensure_ascii=False, allow_nan=False)
    if len(text.encode()) > 3 * asked.MOST_BYTES:
        raise Refused("the question is too long")
    return text


def read(text: str) -> Head:
    """The head from the JSON of `written`."""
    values = json.loads(text)
    return Head(**values | {name: tuple(values[name]) for name in ("allowed", "signal") if values[name] is not None})
