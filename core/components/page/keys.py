"""A presenter's keys in present mode: the way on, and a screen that goes blank, a pen, a pointer, the picture alone."""
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
    """What was just asked for: `by` so many steps forward or, below 0, back; `to` a step, from 1; 0: to none."""

    by: int = 0
    to: int = 0


def presenters_keys(titles: Sequence[str], number: int, words: TextFile, key: str) -> Moved:
    """The keys, heard wherever no control takes them. `titles` of the steps, of which `number`, from 1, is shown.

    The keys are the labels `key_<name>` of `words`, `name: what it does`.
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
