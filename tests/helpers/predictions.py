"""Questions before a picture: a page that waits with its question, the guess, and what is told after it."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamlit.testing.v1 import AppTest

from core.app.lesson import prediction
from core.base import catalogue, prose
from tests.browser.views import address
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given, unpacked


def all_asked() -> list[tuple[str, str]]:
    """Every question of the app: lesson and name."""
    return [(entry.id, asked.id) for entry in catalogue.existing()
            for asked in prose.load(entry.id).entries("before")]


def ask(lesson: str, name: str, **query: str) -> AppTest:
    """The page of a view whose question waits, as a link opens it."""
    at = open_at(lesson, ask="true", **place_of(lesson, name) | query)
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


def place_of(lesson: str, name: str) -> dict[str, str]:
    """The settings that lead to a question's picture."""
    return address(lesson, picture_of(lesson, name))


def picture_of(lesson: str, name: str) -> str:
    """The name of a question's picture in `tests.browser.views`: its own, or of a further picture of a view, whose
    question is called <view>_<picture>.
    """
    views = catalogue.entry(lesson).views
    return name if name in views else ", ".join(name.rsplit("_", 1)) if views else ""


def question(at: AppTest) -> dict:
    """The question that stands on the page, as the browser was given it."""
    header = given(at, "prediction")
    assert header["mode"] == "ask"
    return header


def commit(at: AppTest, lesson: str, name: str, guess: Any, sure: int | None = None) -> dict:
    """Commit to a guess; what is told of it, and as "true" the statement that is called true."""
    session = at.session_state
    about = session["model"], session["prompt"] if reads_prompt(at, lesson, name) else ""
    session[prediction.MADE] = {f"{lesson}/{name}": prediction.Reply(about, guess, sure)}
    at.run()
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    sent = given(at, "prediction")
    return sent | {"true": sent["statements"][sent["seen"]]}


def reads_prompt(at: AppTest, lesson: str, name: str) -> bool:
    """Whether a question's picture is drawn from the prompt, as its settings stand."""
    view = catalogue.entry(lesson).each[picture_of(lesson, name).split(",")[0]]
    return view.prompt != any(str(at.session_state[f"{lesson}_{setting}"]).lower() in values
                              for setting, values in view.prompt_unless.items())


def told(lesson: str, name: str, guess: Any, **query: str) -> dict:
    """The words after a guess on a page that a link opens."""
    return commit(ask(lesson, name, **query), lesson, name, guess)


def statements(lesson: str, name: str) -> list[str]:
    """The statements of a question as its text file has them."""
    body = prose.load(lesson).section(f"before: {name}")
    return [line.removeprefix("- ") for line in body.splitlines() if line.startswith("- ")]


def modes(at: AppTest) -> set[str]:
    """The parts of predictions on the page: "ask", "told", "switch"."""
    return {unpacked(element.proto.bytes)["mode"] for element in at.get("bidi_component")
            if element.proto.component_name in ("prediction", "prediction_switch")}


def some_guess(header: dict) -> Any:
    """A guess that the question takes."""
    guess = header["guess"]
    if guess["kind"] == "place":
        return next(iter(guess["offered"]), 0)
    return {"number": guess.get("low"), "word": "zebra"}.get(guess["kind"], 0)


def words_on(at: AppTest) -> str:
    """All that the browser was given, as one text."""
    texts = [str(getattr(element, "value", "")) + str(getattr(element, "label", "")) for element in at.main]
    texts += [text for element in at.get("bidi_component") if element.proto.bytes
              for text in _leaves(unpacked(element.proto.bytes))]
    texts += [str(element.proto) for kind in ("vega_lite_chart", "plotly_chart", "arrow_data_frame")
              for element in at.get(kind)]
    return "\n".join(texts)


def _leaves(value: Any) -> Iterator[str]:
    """All values of a message, each as the text that it is: a whole message's text would escape some characters."""
    if isinstance(value, dict | list | tuple):
        for each in (value.values() if isinstance(value, dict) else value):
            yield from _leaves(each)
    else:
        yield str(value)
