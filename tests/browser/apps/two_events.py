"""Two events, each in a fragment of its own, whose callbacks ask for other fragments; the second comes while the first
one's callback runs.
"""
import sys
import time
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.app.frame.guard import fragment
from core.app.state import fragments

CALLBACK = 1        # seconds that the first one's takes


def first() -> None:
    time.sleep(CALLBACK)
    st.session_state["first"] = True
    fragments.rerun("first")


def second() -> None:
    st.session_state["second"] = True
    fragments.rerun("second")


def draw() -> None:
    fragments.begin_all()
    for name, call in (("first", first), ("second", second)):
        fragment(lambda name=name, call=call: st.button(f"The {name}", on_click=call))()
        fragment(lambda name=name: st.text(f"The {name} is {'asked for' if name in st.session_state else 'at rest'}."),
                 key=name)()


if __name__ == "__main__":
    draw()
