"""Check yourself: commit first, then see."""
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import streamlit as st

from core.app.classroom.guesses import Options
from core.app.parts.guard import fragment
from core.app.teaching import live_class
from core.base.markdown import plain
from core.base.prose import TextFile

MOST_BUTTONS = 9      # options drawn below each other; more become a list to open


@dataclass(frozen=True)
class Question:
    """A question to the reader: `options[answer]` was computed from the model, and the explanation says how.

    `key` tells a lesson's questions apart.

    If the answer needs passes of its own, for which every change of the page would wait, `answer` is a function that
    computes it with the explanation once the reader has committed, and `about` names its inputs, such as the model and
    the tokens.
    """

    key: str
    question: str
    options: list[str]
    answer: int | Callable[[], tuple[int, str]]
    explanation: str = ""
    about: Hashable = None

    def solved(self) -> tuple[int, str]:
        """The answer and the explanation."""
        return self.answer() if callable(self.answer) else (self.answer, self.explanation)


@fragment
def draw(lesson: str, question: Question, words: TextFile) -> None:
    """Draw the question with its options; the answer and the explanation appear only after the reader has committed
    to an option.

    A question that has changed (another prompt, another selection) must be answered again.
    """
    key, options = f"{lesson}_{question.key}", question.options
    asked = (question.question, tuple(options), question.about if callable(question.answer) else question.answer)
    if live_class.is_open() and len(options) <= MOST_BUTTONS:
        _draw_for_class(key, question, asked, words)
        return
    st.markdown(question.question)
    committed, answered = st.session_state.get(f"{key}_committed", (None, None))
    many = len(options) > MOST_BUTTONS      # the blocks of a large model
    widget = f"{key}_given_of_many" if many else f"{key}_given"
    # the browser keeps the text of an option picked for another question, and nothing is kept of a page that was left
    if st.session_state.get(f"{key}_asked") != asked or widget not in st.session_state:
        st.session_state[f"{key}_asked"] = asked
        st.session_state[widget] = answered if committed == asked else None
    look = dict(format_func=options.__getitem__, index=None, label_visibility="collapsed", disabled=committed == asked)
    given = (st.selectbox(question.question, range(len(options)), key=widget, width=280, **look) if many
             else st.radio(question.question, range(len(options)), key=widget, **look))
    if committed != asked:
        st.button(words.label("check_commit"), key=f"{key}_commit", disabled=given is None, on_click=_lock_in,
                  args=(key, asked, widget))
        return
    answer, explanation = question.solved()
    st.markdown(_verdict(options, given, answer, words))
    st.markdown(explanation)


def _draw_for_class(key: str, question: Question, asked: tuple, words: TextFile) -> None:
    """Draw the question on the wall of a class, whose phones answer it; then the answer beside theirs."""
    offer = Options([plain(option) for option in question.options]).offer()
    header = {"asked": live_class.asked(key, question.question, offer, asked), "inline": True}
    own = f"{key}_{live_class.code()}"          # an answer that the reader has given alone does not count
    if st.session_state.get(f"{own}_committed", (None,))[0] != asked:
        live_class.draw_wall(words, header | {"mode": "ask"}, {"reveal": lambda _: _commit(own, asked, None)},
                             key=f"{key}_wall")
        return
    answer, explanation = question.solved()
    told = {"mode": "told", "model": {"answer": answer}, "statements": [], "seen": -1, "reason": ""}
    live_class.draw_wall(words, header | told, {}, key=f"{key}_told")
    st.markdown(explanation)


def _lock_in(key: str, asked: tuple, widget: str) -> None:
    """Commit to the picked option. A quick hand may press before its browser knows that the question has changed: then
    nothing is picked, or the text of an option of the previous question.
    """
    if (given := st.session_state[widget]) in range(len(asked[1])):
        _commit(key, asked, given)


def _commit(key: str, asked: tuple, given: int | None) -> None:
    """Keep what was asked and the option that the reader has given, None on a wall."""
    st.session_state[f"{key}_committed"] = (asked, given)


def _verdict(options: list[str], given: int, answer: int, words: TextFile) -> str:
    if given == answer:
        return words.label("check_right", answer=options[answer])
    return words.label("check_wrong", given=options[given], answer=options[answer])
