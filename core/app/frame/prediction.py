"""Before you look: each view asks one question before its picture tells.

Until the reader commits to a guess, or looks anyway, the stage holds the question alone: neither the picture nor what
speaks of it is drawn, so nothing on the page can tell the answer. Then the guess stands above the picture beside the
truth. One tap on what the picture shows, and the reason follows.

The question's text is the section `# before: <name>` of the lesson's file:

    ask: the question, with {values} in it
    (empty line)
    - what the picture shows            the statements to tap on: the first is true unless the Truth says another
    - what it might have shown
    (empty line)
    The reason, in two sentences, with {values} in it.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.app.frame.guesses import Guess
from core.app.state import reader
from core.app.state.fragments import EXPERIMENTS, PICTURE, rerun_in_turn
from core.app.state.run import Run
from core.components.prediction import prediction_picture

if TYPE_CHECKING:
    from core.app.frame.lesson import Lesson

MADE = "predictions_made"       # in the session: "<lesson>/<name>" -> Made
AGAIN = "predictions_again"     # in the session: the questions that the reader wants to be asked once more


@dataclass(frozen=True)
class Truth:
    """What the picture shows.

    answer: the right guess, in the guess's own form. said, own: what is true of the answer and of the reader's guess,
    such as their probabilities, in a few characters. seen: which statement is true of the picture. values: what the
    reason's {names} stand for. bars: for a word, the likeliest candidates with their probabilities, and the reader's
    own word among or behind them, each with whether it is the reader's.
    """

    answer: int | float | str
    values: Mapping[str, object] = field(default_factory=dict)
    said: str = ""
    own: str = ""
    seen: int = 0
    bars: Sequence[tuple[str, float, bool]] = ()

    def is_right(self, form: Guess, guess: Any) -> bool:
        """Whether the guess is right; a word is where its token is the likeliest."""
        return self.bars[0][2] if self.bars else form.is_right(guess, self.answer)


@dataclass(frozen=True)
class Prediction:
    """What a view asks before it shows. `truth(guess)` is computed when the reader has committed, never before.

    values: what the question's {names} stand for.
    """

    name: str
    guess: Guess
    truth: Callable[[Any], Truth]
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Made:
    """What a reader did with a question. guess None: looked anyway. about: the model and the prompt that the question
    was about. told: what is shown of it, once that was computed.
    """

    about: tuple = ()
    guess: Any = None
    sure: int | None = None
    told: dict | None = None


def waiting(page: Lesson, view: object, run: Run) -> Prediction | None:
    """The question that is asked before the view's picture is drawn; None where nothing is asked: the reader has
    answered it, wants no questions, or the view has none for this model and prompt.
    """
    if not reader.ask_first() or reader.class_step() or not hasattr(view, "predict"):
        return None
    prediction = view.predict(page, run)
    return None if prediction is None or _made(_key(page, prediction.name)) is not None else prediction


def ask(page: Lesson, prediction: Prediction, run: Run) -> None:
    """Draw the question, its guess and the two ways on."""
    key = _key(page, prediction.name)
    text = _text(page, prediction.name)

    def commit(told: Mapping) -> None:
        guess = prediction.guess.accept(told.get("guess"))
        if guess is not None:
            _keep(key, Made(_about(run), guess, _percent(told.get("sure"))))

    header = {"mode": "ask", "id": key, "again": key in st.session_state.get(AGAIN, ()),
              "question": _filled(text.settings["ask"], prediction.values), "guess": prediction.guess.offer(),
              "text": _labels(page), "scale": reader.scale()}
    prediction_picture(header, key="prediction", events={
        "guess": commit, "look": lambda _: _keep(key, Made()), "never": lambda _: _ask_no_more()})


def tell(page: Lesson, view: object, run: Run) -> None:
    """Draw the guess beside the truth, as long as the prompt is the one that was asked about."""
    if not hasattr(view, "predict") or not reader.ask_first() or reader.class_step():
        return
    prediction = view.predict(page, run)
    key = _key(page, prediction.name) if prediction is not None else ""
    made = _made(key)
    if made is None or made.guess is None or made.about != _about(run):
        return
    if made.told is None:
        made = replace(made, told=_told(page, prediction, made))
        st.session_state[MADE][key] = made
    prediction_picture(made.told | {"text": _labels(page), "scale": reader.scale()}, key="prediction_told",
                       events={"again": lambda _: ask_again(page.id, prediction.name)})


def guess_of(page: Lesson, name: str, run: Run) -> Any:
    """The reader's guess, for a picture that marks it; None where there is none about this prompt."""
    made = _made(_key(page, name))
    return made.guess if made is not None and made.about == _about(run) else None


def ask_again(lesson: str, name: str) -> None:
    """Callback: ask the question once more, about today's prompt."""
    key = f"{lesson}/{name}"
    st.session_state.get(MADE, {}).pop(key, None)
    st.session_state.setdefault(AGAIN, set()).add(key)
    rerun_in_turn((PICTURE,), (EXPERIMENTS,))


def _told(page: Lesson, prediction: Prediction, made: Made) -> dict:
    """The message of a guess beside the truth. The statements stand in an order of the question's own."""
    truth, text = prediction.truth(made.guess), _text(page, prediction.name)
    statements, reason = _parts(text.look)
    order = list(range(len(statements)))
    random.Random(_key(page, prediction.name)).shuffle(order)
    values = {**prediction.values, **truth.values}
    return {"mode": "told", "id": _key(page, prediction.name),
            "question": _filled(text.settings["ask"], prediction.values), "guess": prediction.guess.offer(),
            "mine": made.guess, "sure": made.sure, "answer": truth.answer, "said": truth.said, "own": truth.own,
            "bars": [list(bar) for bar in truth.bars],
            "right": truth.is_right(prediction.guess, made.guess),
            "statements": [_filled(statements[i], values) for i in order],
            "seen": order.index(truth.seen) if statements else -1, "reason": _filled(reason, values)}


def _parts(body: str) -> tuple[list[str], str]:
    """The statements of a section, and the reason below them.

    >>> _parts("- It falls.\\n- It rises.\\n\\nA reason.")
    (['It falls.', 'It rises.'], 'A reason.')
    """
    lines = body.splitlines()
    statements = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    return statements, " ".join(line for line in lines if line and not line.startswith("- "))


def _keep(key: str, made: Made) -> None:
    st.session_state.setdefault(MADE, {})[key] = made
    st.session_state.get(AGAIN, set()).discard(key)
    rerun_in_turn((PICTURE,), (EXPERIMENTS,))


def _ask_no_more() -> None:
    reader.set_ask_first(False)
    rerun_in_turn((PICTURE,), (EXPERIMENTS,))


def _made(key: str) -> Made | None:
    return st.session_state.get(MADE, {}).get(key)


def _about(run: Run) -> tuple:
    return run.model_name, run.text


def _key(page: Lesson, name: str) -> str:
    return f"{page.id}/{name}"


def _text(page: Lesson, name: str):
    return next(entry for entry in page.words.entries("before") if entry.id == name)


def _labels(page: Lesson) -> dict[str, str]:
    words = page.frame_words.labels
    return {key.removeprefix("before_"): text for key, text in words.items() if key.startswith("before_")}


def _filled(template: str, values: Mapping[str, object]) -> str:
    return template.format(**values) if values else template


def _percent(told: object) -> int | None:
    is_number = isinstance(told, int) and not isinstance(told, bool)
    return min(max(told, 0), 100) if is_number else None
