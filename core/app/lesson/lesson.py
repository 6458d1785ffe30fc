"""The frame of a lesson: its seven parts, in the same order and place on every page.

    page = lesson.open_lesson("heads")        strip, title, the one sentence
    run = page.run()                          the shared prompt under the chosen model
    ... the instrument, drawn by the page ...
    page.explanation(); page.numbers(...); page.experiments(); page.check(...); page.code(...)
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app.compute import cache
from core.app.compute.library import names
from core.app.lesson import check, code_and_data, differs, experiments, pins, strip
from core.app.parts import named_token
from core.app.parts.guard import fragment, guard
from core.app.state import model_choice, reader
from core.app.state.run import Run, current
from core.app.teaching import class_bar, live_class
from core.base import devices, prose
from core.base.markdown import escaped
from core.figures.numbers import formula

if TYPE_CHECKING:
    import pandas as pd  # imported with the first table: the first picture of a server does not wait for it

PICTURE_SEEN = "picture_seen"          # in the session: the browser has shown a page of the app
A_PICTURE_STANDS = threading.Event()   # in a browser, the first since this process started

__all__ = ["PICTURE_SEEN", "Lesson", "fragment", "guard", "open_lesson"]


def open_lesson(lesson: str) -> Lesson:
    """Draw the strip with the lesson's stages lit, its title and its one sentence; return the lesson. A reader who only
    looks on needs no strip.

    lesson: the stem of its page and of its text file.
    """
    model = model_choice.shown()
    words, frame_words = (spoken_of(prose.load(name), model) for name in (lesson, "app"))
    if not reader.looks_on():
        strip.draw(lesson)
    with st.container(key="lesson_top"):
        with st.container(key="lesson_head"):
            st.markdown(f"# {words.section('title')}\n{words.section('sentence')}")
        return Lesson(lesson, words, live_class.for_class(frame_words), st.container())


def spoken_of(words: prose.TextFile, model: str) -> prose.TextFile:
    """A text file in its version for that model, by its origin, its kind, and whether it has a language head."""
    kind = cache.kind(model)
    words = (words.of_kind(prose.PUBLISHED) if names.is_library_name(model) else words).of_kind(kind)
    if kind == "encoder" and cache.shared_model(model, devices.CPU).model.config.head.output_head != "language":
        return words.of_kind("headless")
    return words


@dataclass(frozen=True)
class Lesson:
    """One open lesson.

    `words` is its text file, `frame_words` the frame's, both in their version for the loaded model;
    `beside`: the place beside its title, on a page that has such a place.
    """

    id: str
    words: prose.TextFile
    frame_words: prose.TextFile
    beside: DeltaGenerator | None = None

    def run(self) -> Run:
        """The shared prompt under the chosen model."""
        return current()

    def label(self, key: str, **values) -> str:
        """A line of the lesson's labels with {values} put in."""
        return self.words.label(key, **values)

    def text(self, key: str) -> str:
        """A Markdown section of the lesson's file."""
        return self.words.section(key)

    def labels(self, prefix: str) -> dict[str, str]:
        """The labels `<prefix>_name`, as templates by name."""
        return {key.removeprefix(f"{prefix}_"): text for key, text in self.words.labels.items()
                if key.startswith(f"{prefix}_")}

    def header(self, labels: str, **words) -> dict:
        """The header of a component's message: its texts (the labels `<labels>_name` and `words`) and the scale at
        which all is drawn.
        """
        return {"text": self.labels(labels) | words, "scale": reader.scale()}

    def table(self, rows: Sequence[Sequence], *columns: str, labels: str = "column") -> pd.DataFrame:
        """Rows under headings; a heading is the label `<labels>_<name>`."""
        import pandas as pd  # with the first table, as above
        return pd.DataFrame(rows, columns=[self.label(f"{labels}_{name}") for name in columns])

    def question(self, name: str, options: Sequence[str], answer: int, /, **values) -> check.Question:
        """A question; its texts are the labels `question_<name>` and `because_<name>`, with {values} put in."""
        asked, because = (self.label(f"{label}_{name}", **values) for label in ("question", "because"))
        return check.Question(name, asked, [*options], answer, because)

    def note(self, said: str) -> None:
        """Draw a remark below a picture. Present mode leaves it to the teacher's voice."""
        if not reader.present():
            st.caption(said)

    def is_seen(self) -> bool:
        """Whether this reader's browser has shown a picture of the app."""
        return bool(st.session_state.get(PICTURE_SEEN))

    def see(self) -> None:
        """Note that the browser has shown one."""
        st.session_state[PICTURE_SEEN] = True
        A_PICTURE_STANDS.set()

    def explanation(self, view: str = "", is_drawn: bool = True) -> None:
        """Draw the paragraphs below the instrument: the section `explanation_<view>` if it exists, else `explanation`;
        then how the loaded model differs from what they say. Present mode leaves them out. is_drawn: whether the
        picture that those differences speak of stands above.
        """
        if not reader.present():
            with st.container(key="lesson_explanation"):
                own, loaded = f"explanation_{view}", cache.shared_model(model_choice.shown(), reader.device())
                other = differs.sentences(self.words, view, loaded.model.config, loaded.tokenizer) if is_drawn else []
                note = ("\n\n" + " ".join([self.frame_words.label("differs", model=escaped(loaded.title)), *other])
                        if other else "")
                st.markdown(self.text(own if own in self.words.sections else "explanation") + note)

    def numbers(self, lines: Sequence[tuple[str, str]], table: pd.DataFrame | None = None) -> None:
        """Draw "In numbers": pairs (caption, LaTeX) with the present values, which the lesson has rounded to four
        decimals, and a small table.
        """
        with self._part("numbers"):
            # one element, since the browser goes through all of them at every change
            st.markdown("\n\n".join(f"{caption}\n$$\n{formula(latex)}\n$$" for caption, latex in lines))
            if table is not None:
                st.dataframe(table, hide_index=True, width="content")

    def experiments(self) -> None:
        """Draw "Try this": the file's `# try:` sections in a menu, each one click and also a link. Present mode shows
        one step at a time, or a class's own step if a class is taught.
        """
        if reader.class_step():
            class_bar.draw(self.frame_words)
        elif reader.present():
            experiments.draw_one(self.words.experiments, self.frame_words, self.id)
        else:
            experiments.draw_all(self.words.experiments, self.frame_words, self.id)

    def is_moved_on(self) -> bool:
        """Listen to a presenter's keys while a question stands; return whether one asked to go on."""
        return experiments.is_moved_on(self.words.experiments, self.frame_words, self.id)

    def check(self, question: check.Question) -> None:
        """Draw "Check yourself": the reader commits to an option, then sees whether it is the answer, and why."""
        with self._part("check"):
            check.draw(self.id, question, self.frame_words)

    def code(self, functions: Sequence[Callable], data: Mapping[str, Callable[[], pd.DataFrame]], picture: str,
             twin: str) -> None:
        """The code, the downloads and the picture's text twin; in present mode only where an idea led to the code.

        functions: their source is shown as it ran. data: file name -> the function that makes the table (without any
        call to Streamlit), each a CSV and a table on the page.
        picture: CSS selector of the chart or canvas (also inside components). twin: the picture as one computed
        sentence of Markdown.
        """
        if not reader.leaves_out(code_and_data.FUNCTION):
            code_and_data.draw(self.id, self.words.section("title"), functions, data, picture, twin, self.frame_words)

    def pins(self, summary: dict[str, str]) -> None:
        """Draw "Pin A": keep this state and `summary` (quantity -> value as text), and show A beside the present B."""
        pins.draw(self.id, summary, self.frame_words)

    def named_token(self, run: Run, position: int) -> named_token.NamedToken | None:
        """Draw a field for any token; return the token's rank and probability after `position`.

        The token becomes the shared target. None until one is named.
        """
        return named_token.draw(self.id, run, position, self.frame_words)

    def _part(self, name: str):
        """A titled part below the instrument; in present mode it is folded under its title unless an idea led to it.
        """
        title, key = self.frame_words.label(name), f"lesson_{name}"
        if reader.present():
            return st.expander(title, expanded=not reader.leaves_out(key)).container(key=key)
        part = st.container(key=key)
        part.markdown(f"## {title}")
        return part
