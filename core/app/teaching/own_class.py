"""A teacher's own class: steps added from any view, as one short text for an address, and as a file. All input is
checked: a link or a file may come from anybody.
"""
import base64
import binascii
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import streamlit as st

from core.app.classroom.guesses import Options, Word
from core.app.state import reader
from core.base import catalogue
from core.base.prose import unbroken
from core.components.page.kept_text import kept_text

MOST_CHARACTERS = 4_000     # characters of a packed class: what an address holds beside a prompt
_MOST_BYTES = 200_000       # bytes of an unpacked class
_MOST_TEXT = 600            # characters of a title, a question, or what to look for
_MOST_SETTING = 6_000       # characters of a setting, such as a prompt
_MOST_MINUTES = 240
_USUAL_MINUTES = 5
MOST_OPTIONS = 6
NEXT = "next"
_NO_CLASS = (ValueError, TypeError, KeyError, OverflowError, RecursionError)     # what reading something else raises
_STEPS, _BEFORE = "own_class", "own_class_before"     # keys of the session: the steps, and their earlier versions
_MOST_UNDONE = 50


@dataclass(frozen=True)
class Step:
    """One picture of a class: for how many minutes, in which lesson, under which settings; the question before it, and
    what to look for in it. options: the answers to choose from; none: a word is asked for. answer: the number of the
    right option, from "1"; NEXT: the model's likeliest word after the prompt; "": the picture shows it, none is marked.
    """

    title: str
    minutes: int
    lesson: str
    settings: dict
    ask: str
    look: str
    options: tuple[str, ...] = ()
    answer: str = ""

    @property
    def form(self) -> Options | Word:
        """The form of answer that phones are offered: the options, or a word."""
        return Options(self.options) if self.options else Word(chance=self.answer == NEXT)


def steps() -> tuple[Step, ...]:
    """The steps of the reader's own class."""
    return st.session_state.get(_STEPS, ())


def keep(changed: Sequence[Step]) -> None:
    """Change the class; for callbacks."""
    st.session_state[_BEFORE] = [*st.session_state.get(_BEFORE, ()), steps()][-_MOST_UNDONE:]
    st.session_state[_STEPS] = tuple(changed)


def can_undo() -> bool:
    return bool(st.session_state.get(_BEFORE))


def undo() -> None:
    """Take the last change back; for callbacks."""
    if can_undo():
        st.session_state[_STEPS] = st.session_state[_BEFORE].pop()


def in_browser(key: str) -> None:
    """Let the browser keep the class, and bring it back when the reader returns. Draws nothing."""

    def found(text: str) -> None:
        if _STEPS not in st.session_state:
            st.session_state[_STEPS] = unpacked(text)

    kept_text("transformer-own-class", packed(steps()) if _STEPS in st.session_state else None, found, key=key)


def packed(steps: Sequence[Step]) -> str:
    """The steps as one text of letters, digits, - and _."""
    if not steps:
        return ""
    written = json.dumps([list(asdict(step).values()) for step in steps], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(zlib.compress(written.encode(), 9)).decode().rstrip("=")


def unpacked(text: str) -> tuple[Step, ...]:
    """The steps of a packed class; none if the text is too long or no packed class."""
    if not text or len(text) > MOST_CHARACTERS:
        return ()
    try:
        packed_bytes = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return checked([dict(zip(Step.__annotations__, row, strict=False))      # an older link has fewer
                        for row in json.loads(zlib.decompressobj().decompress(packed_bytes, _MOST_BYTES))])
    except (*_NO_CLASS, binascii.Error, zlib.error):
        return ()


def file(steps: Sequence[Step]) -> str:
    """The class as a file: JSON that can be read, edited, and opened again."""
    return json.dumps({"class": [asdict(step) for step in steps]}, ensure_ascii=False, indent=2)


def of_file(text: str) -> tuple[Step, ...]:
    """The steps of such a file; none for any other file."""
    try:
        return checked(json.loads(text[:_MOST_BYTES])["class"])
    except _NO_CLASS:
        return ()


def checked(rows: Sequence[dict]) -> tuple[Step, ...]:
    """The steps that open a lesson of this app, with only that lesson's settings.

    Raises TypeError, ValueError or KeyError for a row that is no step.
    """
    lessons = {entry.id for entry in catalogue.existing()}
    return tuple(Step(title=_text(row["title"]), minutes=_minutes(row.get("minutes", _USUAL_MINUTES)),
                      lesson=row["lesson"], settings=_settings(row["lesson"], row["settings"]), ask=_text(row["ask"]),
                      look=_text(row["look"]), **_answers(row.get("options", ()), row.get("answer", "")))
                 for row in rows if row["lesson"] in lessons)


def here(lesson: str, title: str, ask: str, look: str, options: str) -> Step:
    """The open view as a step; options: its answers, one a line."""
    return Step(title, _USUAL_MINUTES, lesson, reader.settings_of(lesson), ask, look,
                **_answers(options.splitlines(), ""))


def moved(steps: Sequence[Step], number: int, by: int) -> tuple[Step, ...]:
    """The steps with the one at index `number` moved up (−1) or down (+1)."""
    order, to = list(steps), min(max(number + by, 0), len(steps) - 1)
    order.insert(to, order.pop(number))
    return tuple(order)


def edited(steps: Sequence[Step], number: int, values: dict) -> tuple[Step, ...]:
    """The steps with new texts and minutes for the one at index `number`; unchanged if the values are not valid."""
    reads = {"title": _text, "ask": _text, "look": _text, "minutes": _minutes}
    try:
        changed = {name: read(values[name]) for name, read in reads.items() if name in values}
        if "options" in values:
            changed |= _answers(values["options"].splitlines(), "")
    except _NO_CLASS:
        return tuple(steps)
    return tuple(replace(step, **changed) if i == number else step for i, step in enumerate(steps))


def _text(value) -> str:
    if not isinstance(value, str):
        raise TypeError("A text was expected.")
    return unbroken(" ".join(value.split()))[:_MOST_TEXT]


def _answers(options: Sequence[str], answer: str) -> dict:
    """The answers to choose from (two to MOST_OPTIONS, or none) and the number of the right one."""
    texts = tuple(filter(None, map(_text, options)))[:MOST_OPTIONS]
    texts = texts if len(texts) > 1 else ()
    known = {*map(str, range(1, len(texts) + 1))} if texts else {NEXT}
    return {"options": texts, "answer": answer if answer in known else ""}


def _minutes(value) -> int:
    return min(max(int(value), 1), _MOST_MINUTES)


def _settings(lesson: str, settings: dict) -> dict:
    """The settings among these that are the reader's selection, prompt or model, or the lesson's own."""
    if not isinstance(settings, dict):
        raise TypeError("Settings by name were expected.")
    return {key: value[:_MOST_SETTING] if isinstance(value, str) else value for key, value in settings.items()
            if (key in reader.OF_A_PICTURE or key.startswith(f"{lesson}_"))
            and (value is None or isinstance(value, str | int | float | bool))}
