"""A presenter's keys in present mode: to go on, to blank the screen, for a pen, a pointer, the picture alone."""
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from core.base.prose import TextFile
from core.components import declare

HERE = Path(__file__).parent
KEYS = ("go", "jump", "blank", "pen", "pointer", "zoom", "timer", "full", "list", "leave")
_component = declare("presenters_keys", HERE / "keys.js", html='<div class="component presenter"></div>',
                     styles=(HERE / "keys.css",))


@dataclass(frozen=True)
class Moved:
    """The step just asked for: `by` steps forward or, below 0, back; or `to` a step, from 1; 0: no such step."""

    by: int = 0
    to: int = 0


def presenters_keys(titles: Sequence[str], number: int, words: TextFile, key: str) -> Moved:
    """Listen to the keys wherever no control takes them; return the step asked for. titles: the steps' titles; number:
    the step shown, from 1.

    The labels `key_<name>` of `words` name the keys, `key: what it does`.
    """
    taken = f"{key}_taken"

    def step(by: int) -> None:
        st.session_state[taken] = Moved(st.session_state.get(taken, Moved()).by + by)

    def jump(to: int) -> None:
        st.session_state[taken] = Moved(to=to if 1 <= to <= len(titles) else 0)

    _component(key=key, events={"step": step, "jump": jump},
               data={"titles": list(titles), "number": number, "name": words.label("key_title"),
                     "keys": [words.label(f"key_{name}").split(": ", 1) for name in KEYS]})
    return st.session_state.pop(taken, Moved())
