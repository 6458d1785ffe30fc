"""The head of a class: all that it is at a moment but its answers, as the store keeps it."""
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
    """What a class is at a moment. key: what is kept of it. question: its number, from 1; 0: none was asked yet.
    asked: the question as `asked.question` has it. compares: the number of the question whose second vote this is; 0:
    none. model: what the model says to it, once it is revealed. allowed: the free words that may be shown; None: the
    teacher has not looked at them, and plain ones alone are shown. follow: the address of the picture that phones may
    open. signal: what the teacher's second device asks of the wall, with its number and a text; notes: what it shows of
    the plan.
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
    """How often each free word was answered, as words are counted; none where something else was asked for."""
    if not head.asked or head.asked["guess"]["kind"] != "word":
        return Counter()
    return Counter(plain(json.loads(told)["guess"]) for told in answers)


def allowed_of(head: Head, words: Iterable[str]) -> set[str]:
    """Those of the words that may be shown; the model's own may."""
    own = {plain(str(head.model["answer"]))} if head.model and "answer" in head.model else set()
    return own | ({*filter(is_plain, words)} if head.allowed is None else {*head.allowed})


def written(head: Head) -> str:
    """The head as JSON. Raises Refused for one that is too long."""
    text = json.dumps(asdict(head), ensure_ascii=False, allow_nan=False)
    if len(text.encode()) > 3 * asked.MOST_BYTES:
        raise Refused("the question is too long")
    return text


def read(text: str) -> Head:
    """The head that `written` has written."""
    values = json.loads(text)
    return Head(**values | {name: tuple(values[name]) for name in ("allowed", "signal") if values[name] is not None})
