"""Check yourself: commit first, then see."""
from __future__ import annotations

import streamlit as st

from core.ui.guard import fragment
from core.ui.text import TextFile


@fragment
def draw(key: str, question: str, options: list[str], answer: int, explanation: str, words: TextFile) -> None:
    """The question with its options; the answer and the explanation stand there only after the reader has committed to one.

    A question that has changed (another prompt, another selection) has to be answered anew.
    """
    asked = (question, tuple(options), answer)
    committed = st.session_state.get(f"{key}_committed")
    st.markdown(question)
    given = st.radio(question, range(len(options)), format_func=options.__getitem__, index=None, key=f"{key}_given", label_visibility="collapsed",
                     disabled=committed == asked)
    if committed != asked:
        st.button(words.label("check_commit"), key=f"{key}_commit", disabled=given is None, on_click=_commit, args=(key, asked))
        return
    st.markdown(_verdict(options, given, answer, words))
    st.markdown(explanation)


def _commit(key: str, asked: tuple) -> None:
    st.session_state[f"{key}_committed"] = asked


def _verdict(options: list[str], given: int | None, answer: int, words: TextFile) -> str:
    if given == answer:
        return words.label("check_right", answer=options[answer])
    return words.label("check_wrong", given=options[given or 0], answer=options[answer])
