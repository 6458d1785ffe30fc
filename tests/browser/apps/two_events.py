"""Events, each in a fragment of its own: the callbacks of two ask for other fragments, that of the third for nothing,
since its own fragment shows what it has kept. The callback of the first takes so long that others come meanwhile.
"""
import sys
import time
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.app.parts.guard import fragment
from core.app.state import fragments

CALLBACK = 1        # seconds that the first one's takes


def first() -> None:
    time.sleep(CALLBACK)
    st.session_state["first"] = True
    fragments.rerun("first")


def second() -> None:
    st.session_state["second"] = True
    fragments.rerun("second")


def wait() -> None:
    time.sleep(CALLBACK)


def kept() -> None:
    """A fragment whose event is seen in itself."""
    st.button("Keep", on_click=lambda: st.session_state.update(kept=True))
    st.text(f"It is {'kept' if 'kept' in st.session_state else 'not kept'}.")


def draw() -> None:
    fragments.begin_all()
    fragment(lambda: st.button("Wait", on_click=wait))()
    fragment(kept, key="kept")()
    for name, call in (("first", first), ("second", second)):
        fragment(lambda name=name, call=call: st.button(f"The {name}", on_click=call))()
        fragment(lambda name=name: st.text(f"The {name} is {'asked for' if name in st.session_state else 'at rest'}."),
                 key=name)()


if __name__ == "__main__":
    draw()
