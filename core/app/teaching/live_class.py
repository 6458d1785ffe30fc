"""A class that takes part from its phones: the button that opens it, and the question of a view on its wall.

The answers never come here: the wall gets them from the server's routes. The session has only the code and the key.
"""
from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from core.app.classroom import codes
from core.app.state import reader
from core.app.state.fragments import BAR, rerun
from core.app.state.run import current
from core.app.teaching import class_games, class_plan
from core.base import deployment, prose
from core.base.markdown import plain
from core.base.prose import TextFile
from core.base.qr import qr_code
from core.components import addresses
from core.components.class_desk import class_desk
from core.components.class_wall import class_wall

_OPEN = "live_class"            # in the session: (code, key) of the class that is open
_READ = "live_class_read"       # in the session: a text of a game, and the words after it
_HEAD = "live_class_head"       # in the session: the name of the question about heads, and the head that was picked
_KEY_LENGTH = 32


def is_open() -> bool:
    """Whether this reader leads a class."""
    return _OPEN in st.session_state


def code() -> str:
    """The code of the class that this reader leads; "" if there is none."""
    return st.session_state[_OPEN][0] if is_open() else ""


def for_class(words: TextFile) -> TextFile:
    """The words of the frame: in a class, the guess that pictures mark is called the class's."""
    return replace(words, labels=words.labels | {"before_mine": words.label("class_guess")}) if is_open() else words


def is_offered() -> bool:
    """Whether this server has classes."""
    return deployment.current().classes != deployment.OFF


def draw_button(words: TextFile) -> None:
    """Draw the button in the prompt bar: it opens a class, and then shows how to join."""
    data = {"text": _text(words), "open": addresses.below("class")}
    if is_open():
        code, key = st.session_state[_OPEN]
        origins = addresses.reachable(st.context.url or "")
        lead = f"{origins[0]}{addresses.below('j', code, 'lead')}#{key}.{codes.kept(key)}"
        data |= {"prompt": reader.prompt(), "told": _told(), "present": reader.present(), "shelf": _shelf()} | _heads()
        data |= _who() | {"addresses": [_way_in(origin, code) for origin in origins], "notes": _notes(words),
                          "only_here": addresses.is_this_machine(urlsplit(origins[0]).hostname or ""),
                          "lead": lead, "lead_qr": _picture(lead)}
    class_desk(data, key="class_desk",
               events={"opened": _take, "read": _read, "heads": _switch_off, "ended": lambda _: _end()})


def asked(name: str, ask: str, guess: dict, about: object, prompt: str = "") -> dict:
    """A question in the form that phones get. guess: the form of its answer, from `Guess.offer`. name, about: tell it
    from other questions; about must have the same `repr` at each run.
    """
    digest = hashlib.sha256(repr((ask, about)).encode(errors="replace")).hexdigest()[:12]
    return {"ask": plain(ask), "prompt": prompt, "guess": guess, "about": f"{name} {digest}"}


def draw_wall(words: TextFile, header: Mapping, events: Mapping[str, Callable[[Any], None]], *, key: str) -> None:
    """Draw a question on the wall; header: that of `class_wall`, without the fields that name the class."""
    class_wall({**header, **_who(), "text": _text(words), "scale": reader.scale()}, key=key, events=events)


def _who() -> dict:
    code, key = st.session_state[_OPEN]
    return {"code": code, "key": key, "address": {
        "events": f"{addresses.below('j', code, 'events')}?wall={codes.kept(key)}",
        "act": addresses.below("class", code)}}


def _notes(words: TextFile) -> dict | None:
    """Notes on the step that is being taught, for the teacher's second device; None outside a plan."""
    if not reader.class_step():
        return None
    plan = class_plan.present()
    number = min(reader.class_step(), len(plan.steps))
    step, (start, end) = plan.steps[number - 1], plan.starts[number - 1:number + 1]
    return {"count": words.label("class_bar", i=number, n=len(plan.steps), start=start, end=end), "title": step.title,
            "ask": step.ask, "look": step.look,
            "next": plan.steps[number].title if number < len(plan.steps) else ""}


def _way_in(origin: str, code: str) -> dict:
    """An address as the wall shows it, and as a QR code."""
    short = f"{origin}{addresses.below('j')}"
    return {"short": short.split("://", 1)[-1], "qr": _picture(f"{short}/{code}")}


@functools.lru_cache(maxsize=64)
def _picture(address: str) -> str:
    """An address as a QR code, in a data URL."""
    return f"data:image/png;base64,{base64.b64encode(qr_code(address)).decode()}"


def _shelf() -> list[list[str]]:
    """The texts of the guessing game, [title, text] each."""
    return [[title, text] for title, text in prose.load("shelf").sections.items()]


def _take(told: object) -> None:
    """Callback: the browser has opened a class, or still had one when the page was reloaded."""
    if not (isinstance(told, list) and len(told) == 2 and all(isinstance(one, str) for one in told)):
        return
    code, key = codes.as_code(told[0]), told[1]
    if code and len(key) == _KEY_LENGTH:
        st.session_state[_OPEN] = (code, key)
        rerun()


def _read(told: object) -> None:
    """Callback: the class plays, and asks how probable the model finds these words after a text."""
    text, words = told if isinstance(told, list) and len(told) == 2 else (None, None)
    if not isinstance(text, str) or not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return
    st.session_state[_READ] = text[:class_games.MOST_CHARACTERS], tuple(words[:class_games.MOST_WORDS])
    rerun(BAR)


def _switch_off(told: object) -> None:
    """Callback: the class has picked a head to switch off, [name of the question, the head's place or null]."""
    if isinstance(told, list) and len(told) == 2 and isinstance(told[0], str):
        st.session_state[_HEAD] = told[0], told[1]
        rerun(BAR)


def _heads() -> dict:
    """The data of the game of switching off heads: that it can be played and, once asked for, the answer; {} for a
    model that has too many heads.
    """
    shown = current()
    if shown.is_encoder or not class_games.can_lose_heads(shown):
        return {}
    effect = class_games.head_truth(shown, *st.session_state[_HEAD]) if _HEAD in st.session_state else None
    return {"heads": True, "effect": effect}


def _told() -> dict | None:
    if _READ not in st.session_state:
        return None
    shown = current()
    return None if shown.is_encoder else class_games.next_words(shown, *st.session_state[_READ])


def _end() -> None:
    """Callback: the class is over."""
    if st.session_state.pop(_OPEN, None):
        rerun()


def _text(words: TextFile) -> dict[str, str]:
    return {key.removeprefix("live_"): text for key, text in words.labels.items() if key.startswith("live_")}
