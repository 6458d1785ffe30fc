"""Before you look: each view asks one question before its picture tells.

Until the reader commits to a guess, or looks anyway, the stage holds the question alone: neither the picture nor any
text about it is drawn, so nothing on the page can tell the answer. Then the guess stands above the picture beside the
truth. The reader taps on the statement that the picture shows, and the reason follows.

The question's text is the section `# before: <name>` of the lesson's file:

    ask: the question, with {values} in it
    (empty line)
    - what the picture shows            the statements to tap on: the first is true unless the Truth names another
    - what it might have shown
    (empty line)
    The reason, in two sentences, with {values} in it.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.app.classroom.guesses import Guess, Truth
from core.app.parts import prompt_use
from core.app.state import address, reader
from core.app.state.fragments import EXPERIMENTS, PICTURE, rerun_in_turn
from core.app.state.run import Run
from core.app.teaching import live_class
from core.base.prose import TextFile, filled
from core.components.prediction import prediction_picture

if TYPE_CHECKING:
    from core.app.lesson.lesson import Lesson

MADE = "predictions_made"       # in the session: "<lesson>/<name>" -> Reply
AGAIN = "predictions_again"     # in the session: the questions that the reader wants to be asked once more
DECLINED = "predictions_declined"       # in the session: the lesson and view where the reader declined all questions
STANDS = "predictions_stand"    # in the session: the lesson and view whose picture stood when a class was opened


@dataclass(frozen=True)
class Prediction:
    """A view's question before its picture. `truth(guess)` is computed when the reader has committed, never before.

    values: the values of the {names} in the question. state: what it depends on besides the model and the prompt, such
    as the picked head: the guess is shown as long as that stays the same.
    """

    name: str
    guess: Guess
    truth: Callable[[Any], Truth]
    values: Mapping[str, object] = field(default_factory=dict)
    state: Hashable = None


@dataclass(frozen=True)
class Reply:
    """A reader's reply to a question. guess None: looked anyway. about: the model and the prompt of the question.
    state: that of the prediction; None: any. told: the message that shows it, once computed. by: the code of the class
    that has guessed, "" for the reader alone; is_marked: False if nobody in the class has guessed.
    """

    about: tuple = ()
    guess: Any = None
    sure: int | None = None
    state: Hashable = None
    told: dict | None = None
    by: str = ""
    is_marked: bool = True


def draw(page: Lesson, view: object, run: Run) -> bool:
    """Draw the question in place of the view's picture, or above the picture the guess beside the truth. Return whether
    the picture waits.

    No question is drawn if the reader has answered it or wants no questions, in a taught class (its steps have their
    own), or if the view has none for this model and prompt.
    """
    looks = st.session_state.pop(address.LOOKS, None) == page.id
    prediction, place = _asked(page, view, run), (page.id, type(view).__name__, getattr(view, "__name__", ""))
    if not live_class.is_open() or st.session_state.get(STANDS) != place:
        st.session_state.pop(STANDS, None)
    if prediction is None:
        _offer_return(page, place)
        st.session_state[STANDS] = place
        return False
    if looks:
        st.session_state.setdefault(MADE, {}).setdefault(_key(page, prediction.name), Reply())
    made = _made(_key(page, prediction.name))
    if live_class.is_open() and (made is not None or STANDS in st.session_state) and not _is_of_class(made):
        _offer(page, prediction, run)
    elif made is None:
        _ask(page, prediction, run, place)
        return True
    elif _is_about(made, run, prediction.state):
        _tell(page, prediction, made, run, folded=is_wide(view))
    if not live_class.is_open():
        st.session_state[STANDS] = place
    return False


def _is_of_class(made: Reply | None) -> bool:
    """Whether this is the guess of the class that is open."""
    return made is not None and bool(made.by) and made.by == live_class.code()


def _offer(page: Lesson, prediction: Prediction, run: Run) -> None:
    """Draw the button that asks the class about a picture which was there before it: the picture stays until then."""
    def ask() -> None:
        st.session_state.pop(STANDS, None)
        _ask_again(_key(page, prediction.name))

    live_class.draw_wall(page.frame_words, {"mode": "offer", "asked": _for_class(page, prediction, run)},
                         {"asked": lambda _: ask()}, key="class_offer")


def look(lesson: str) -> None:
    """Show the picture of the lesson that is opened next instead of its question: the reader was asked elsewhere."""
    st.session_state[address.LOOKS] = lesson


def show(page: Lesson, view: object, run: Run) -> None:
    """Show the picture whose question stands, as *Show me* does."""
    if (prediction := _asked(page, view, run)) is not None:
        _keep(_key(page, prediction.name), Reply())


def offer(page: Lesson, view: object, run: Run) -> None:
    """Draw the switch that turns questions on and off, and the button to be asked this one once more."""
    if reader.class_step() or not hasattr(view, "predict"):
        return
    prediction = _asked(page, view, run)
    offer_switch(page.frame_words, prediction and _key(page, prediction.name))


def offer_switch(words: TextFile, again: str | None = None) -> None:
    """Draw the switch alone; again: the key of a question that can be asked once more, which adds its button."""
    header = {"mode": "switch", "on": reader.ask_first(), "again": again is not None, "text": _labels(words)}
    prediction_picture(header, key="prediction_switch", events={"switch": _want, "again": lambda _: _ask_again(again)})


def _asked(page: Lesson, view: object, run: Run) -> Prediction | None:
    wanted = not reader.class_step() and (live_class.is_open() or reader.ask_first())
    return view.predict(page, run) if wanted and hasattr(view, "predict") else None


def _ask(page: Lesson, prediction: Prediction, run: Run, place: tuple) -> None:
    """Draw the question, the means to guess and the two ways to go on."""
    key, text = _key(page, prediction.name), _text(page, prediction.name)

    def commit(told: Mapping) -> None:
        guess = prediction.guess.accept(told.get("guess"))
        if guess is not None:
            _keep(key, Reply(_about(run), guess, _percent(told.get("sure")), prediction.state))

    def decline(now: bool) -> None:
        if now:
            st.session_state[DECLINED] = place
        _want(False)

    if live_class.is_open():
        _ask_class(page, prediction, run)
        return
    header = {"mode": "ask", "id": key, "again": key in st.session_state.get(AGAIN, ()),
              "question": filled(text.settings["ask"], prediction.values), "guess": prediction.guess.offer(),
              "text": _labels(page.frame_words), "scale": reader.scale()}
    prediction_picture(header, key="prediction", events={
        "guess": commit, "look": lambda _: _keep(key, Reply()), "never": decline})


def _offer_return(page: Lesson, place: tuple) -> None:
    """Draw the way back to being asked, if the reader has just declined the questions."""
    if reader.ask_first() or reader.class_step() or st.session_state.get(DECLINED) != place:
        st.session_state.pop(DECLINED, None)
        return
    prediction_picture({"mode": "declined", "text": _labels(page.frame_words), "scale": reader.scale()},
                       key="prediction_declined", events={"switch": _want})


def _ask_class(page: Lesson, prediction: Prediction, run: Run) -> None:
    """Draw the question on the wall of a class, whose phones answer it. The class's guess is the most frequent one."""
    key, form = _key(page, prediction.name), prediction.guess

    def reveal(told: Mapping) -> None:
        guess = form.accept(told.get("guess")) if isinstance(told, Mapping) else None
        _keep(key, Reply(_about(run), form.usual() if guess is None else guess, None, prediction.state,
                         by=live_class.code(), is_marked=guess is not None))

    live_class.draw_wall(page.frame_words, {"mode": "ask", "asked": _for_class(page, prediction, run)},
                         {"reveal": reveal, "look": lambda _: _keep(key, Reply())}, key="class_wall")


def _for_class(page: Lesson, prediction: Prediction, run: Run) -> dict:
    """The question in the form that phones get, with the prompt if the view reads it."""
    asked = filled(_text(page, prediction.name).settings["ask"], prediction.values)
    return live_class.asked(_key(page, prediction.name), asked, prediction.guess.offer(),
                            (_about(run), prediction.state), run.text if prompt_use.now().is_read else "")


def is_wide(view: object) -> bool:
    """Whether a view's picture takes the whole width of a wall, so that nothing can stand beside it."""
    return getattr(view, "IS_WIDE", False)


def _tell(page: Lesson, prediction: Prediction, made: Reply, run: Run, *, folded: bool) -> None:
    """Draw the guess beside the truth, unless the view's settings have changed the question since. folded: the answers
    of a class begin as one line.
    """
    if made.told is None:
        made = replace(made, told=_told(page, prediction, made))
        st.session_state[MADE][_key(page, prediction.name)] = made
    if made.told["question"] != filled(_text(page, prediction.name).settings["ask"], prediction.values):
        return
    if live_class.is_open():
        model = {name: made.told[name] for name in ("answer", "said", "bars")}
        if not made.is_marked:
            model["bars"] = [bar for bar in model["bars"] if not bar[2]]
        live_class.draw_wall(page.frame_words, {
            "mode": "told", "asked": _for_class(page, prediction, run), "model": model, "folded": folded,
            "lesson": page.id,
            **{name: made.told[name] for name in ("statements", "seen", "reason")}}, {}, key="class_told")
        return
    prediction_picture(made.told | {"text": _labels(page.frame_words), "scale": reader.scale()}, key="prediction_told",
                       events={})


def guess_of(page: Lesson, name: str, run: Run, state: Hashable = None, **values: object) -> Any:
    """The reader's guess, for a picture that marks it; None without a guess about this prompt and this state and, if
    the question depends on the view's settings, about the `values` in it.
    """
    made = _made(_key(page, name))
    if made is None or not made.is_marked or not _is_about(made, run, state):
        return None
    asked = filled(_text(page, name).settings["ask"], values) if values else ""
    return made.guess if not values or made.told is not None and made.told["question"] == asked else None


def _is_about(made: Reply, run: Run, state: Hashable) -> bool:
    """Whether a guess was made about this prompt and this state; a class's guess is gone with the class."""
    return (made.guess is not None and made.about == _about(run) and made.state in (None, state)
            and made.by in ("", live_class.code()))


def _ask_again(key: str) -> None:
    """Callback: ask the question once more, about the present prompt."""
    st.session_state.get(MADE, {}).pop(key, None)
    st.session_state.setdefault(AGAIN, set()).add(key)
    rerun_in_turn((PICTURE,), (EXPERIMENTS,))


def _told(page: Lesson, prediction: Prediction, made: Reply) -> dict:
    """The message that shows a guess beside the truth. The statements are shuffled, each question in its own order."""
    truth, text = prediction.truth(made.guess), _text(page, prediction.name)
    statements, reason = _parts(text.look)
    order = list(range(len(statements)))
    random.Random(_key(page, prediction.name)).shuffle(order)
    values = {**prediction.values, **truth.values}
    return {"mode": "told", "id": _key(page, prediction.name),
            "question": filled(text.settings["ask"], prediction.values), "guess": prediction.guess.offer(),
            "mine": made.guess, "sure": made.sure, "answer": truth.answer, "said": truth.said, "own": truth.own,
            "bars": [list(bar) for bar in truth.bars],
            "right": truth.is_right(prediction.guess, made.guess),
            "statements": [filled(statements[i], values) for i in order],
            "seen": order.index(truth.seen) if statements else -1, "reason": filled(reason, values)}


def _parts(body: str) -> tuple[list[str], str]:
    """The statements of a section, and the reason below them.

    >>> _parts("- It falls.\\n- It rises.\\n\\nA reason.")
    (['It falls.', 'It rises.'], 'A reason.')
    """
    lines = body.splitlines()
    statements = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    return statements, " ".join(line for line in lines if line and not line.startswith("- "))


def _keep(key: str, made: Reply) -> None:
    st.session_state.setdefault(MADE, {})[key] = made
    st.session_state.get(AGAIN, set()).discard(key)
    rerun_in_turn((PICTURE,), (EXPERIMENTS,))


def _want(questions: bool) -> None:
    """Callback: ask questions from now on, or no more."""
    reader.set_ask_first(bool(questions))
    rerun_in_turn((PICTURE,), (EXPERIMENTS,))


def _made(key: str) -> Reply | None:
    return st.session_state.get(MADE, {}).get(key)


def _about(run: Run) -> tuple:
    """The subject of the open view's question: the model, and the prompt if the view reads it."""
    return run.model_name, run.text if prompt_use.now().is_read else ""


def _key(page: Lesson, name: str) -> str:
    return f"{page.id}/{name}"


def _text(page: Lesson, name: str):
    return next(entry for entry in page.words.entries("before") if entry.id == name)


def _labels(words: TextFile) -> dict[str, str]:
    return {key.removeprefix("before_"): text for key, text in words.labels.items() if key.startswith("before_")}


def _percent(told: object) -> int | None:
    is_number = isinstance(told, int) and not isinstance(told, bool)
    return min(max(told, 0), 100) if is_number else None
