"""The page of asked_again.py: `?waits=` says what waits in the queue."""
import streamlit as st

from tests.browser.apps import busy

LONG = "What is sent once and then only named. " * 500     # Streamlit names what is longer than 10 kB


@st.fragment
def outer() -> None:
    if not st.button("Ask"):
        draw(st.session_state.pop("again", False))
        return
    busy.hold(0.5)
    st.session_state["again"] = True
    for _ in range(4):
        st.container()
    with st.container():
        draw(False)
    st.rerun(scope="fragment")


def draw(again: bool) -> None:
    if st.query_params["waits"] == "a fragment inside it":
        inner()
    else:
        st.text(LONG)
    st.text("Asked again." if again else "Not asked.")


@st.fragment
def inner() -> None:
    st.text("Inside.")


outer()
