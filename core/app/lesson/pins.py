"""Pin a state as A and set it beside the present one, B: the settings of both, a small summary, a link to each."""
from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.app.state import address, reader
from core.base.prose import TextFile

if TYPE_CHECKING:
    import pandas as pd  # imported with the first table: the first picture of a server does not wait for it


def draw(lesson: str, summary: dict[str, str], words: TextFile) -> None:
    """Draw a small drawer: pin the present state, or compare it with the pinned one.

    `summary`: quantity -> value, as text.
    """
    pinned = st.session_state.get(f"{lesson}_pinned")
    with st.popover(words.label("pins"), key=f"{lesson}_pins"):
        st.button(words.label("pin"), key=f"{lesson}_pin", help=words.label("pin_help"), on_click=_pin,
                  args=(lesson, summary))
        if pinned is None:
            return
        st.dataframe(comparison(pinned["summary"], summary, words), hide_index=True, width="content")
        st.button(words.label("pin_open"), key=f"{lesson}_pin_open", on_click=reader.apply, args=(pinned["settings"],))
        st.button(words.label("pin_clear"), key=f"{lesson}_pin_clear", on_click=_unpin, args=(lesson,))
        st.markdown(f"[{words.label('pin_a')}]({address.link(pinned['settings'])}) · "
                    f"[{words.label('pin_b')}]({address.link()})")


def comparison(a: dict[str, str], b: dict[str, str], words: TextFile) -> pd.DataFrame:
    """One row for each quantity, in B's order, then those that only A has; B is the present state."""
    import pandas as pd  # with the first table, as above
    names = [*b, *(name for name in a if name not in b)]
    return pd.DataFrame({words.label("pin_quantity"): names, words.label("pin_a"): [a.get(name, "–") for name in names],
                         words.label("pin_b"): [b.get(name, "–") for name in names]})


def _pin(lesson: str, summary: dict[str, str]) -> None:
    st.session_state[f"{lesson}_pinned"] = {"settings": reader.settings_of(lesson), "summary": dict(summary)}


def _unpin(lesson: str) -> None:
    st.session_state.pop(f"{lesson}_pinned", None)
