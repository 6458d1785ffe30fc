"""The page of last_messages.py: a fragment that draws its last text when the event of another one has arrived."""
import time

import streamlit as st

from tests.browser.apps import busy


@st.fragment
def one() -> None:
    if st.button("One"):
        st.text("One has begun.")
        busy.WAITS.set()
        while busy.WAITS.is_set():
            time.sleep(0.01)
        st.text("One is drawn.")


@st.fragment
def other() -> None:
    if st.button("Other"):
        st.text("The other is drawn.")


if __name__ == "__main__":
    one()
    other()
