"""The frame of every lesson: the view that draws the instrument, and below it the texts and numbers on its picture.

A lesson of several views has a bar above the picture, in which one control picks the view; a lesson of one
view has none. The catalogue says which views there are, and which of them stand in the bar.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app.bar import prompt_bar
from core.app.compute import growing_results
from core.app.lesson import experiments, next_view, prediction
from core.app.lesson.check import Question
from core.app.lesson.lesson import Lesson
from core.app.parts.guard import fragment, guard
from core.app.state import address, reader
from core.app.state.fragments import (
    BAR,
    EXPERIMENTS,
    LATER,
    NUMBERS,
    PICTURE,
    QUESTION,
    STANDING,
    STRIP,
    redraw,
    rerun,
)
from core.app.state.lesson_settings import Settings
from core.app.state.run import Run
from core.app.teaching import class_add, class_bar, live_class
from core.base import catalogue
from core.base.markdown import unmarked
from core.components.page.standing import when_it_stands

if TYPE_CHECKING:
    import pandas as pd  # imported with the first table: the first picture of a server does not wait for it


@dataclass(frozen=True)
class Reading:
    """A view's numbers, question and downloads.

    Tables are made when a drawer or a download asks for them.
    """

    lines: Sequence[tuple[str, str]]
    question: Question | None
    functions: Sequence[Callable]
    data: Mapping[str, Callable[[], pd.DataFrame]]
    picture: str             # CSS selector of the element that is saved
    title: str               # Markdown, what the picture shows in one sentence
    table: pd.DataFrame | None = None
    summary: Mapping[str, str] = field(default_factory=dict)   # for pins; empty: the title
    explanation: str = ""    # the view whose explanation stands below the picture; empty: this view
    pins: DeltaGenerator | None = None              # the place of the pins; None: in the bar
    below: Callable[[], None] | None = None         # draws a further part right below the picture
    leads_to: tuple[str, str] | None = None         # the lesson and view that go on from it; None: the next


NO_PICTURE = ".stAlert"  # `picture` of a Reading that says why there is none
MORE = "more_views"      # key of the control for the views outside the bar
UNFINISHED = Reading([], None, [], {}, "", "")      # of a view whose result is not there yet
COVERED = Reading([], None, [], {}, "", "")         # of a view whose question is not answered yet


class View(Protocol):
    """One view of a lesson, a module."""

    def draw(self, page: Lesson, run: Run) -> Reading | Callable[[], Reading]:
        """Draw the instrument and return what it shows.

        A view whose parts redraw themselves returns a function instead, which reads the picture again whenever they ask
        for the fragments NUMBERS and QUESTION.
        """


@dataclass
class PageState:
    """The state of an open lesson: the prompt that the page was drawn with, the function that names its view, the
    view's module, and the picture's Reading. `said`: the Reading when the numbers were drawn. `alone`: the run of the
    whole page is over, from now on only fragments run. `waits`: all that speaks of the picture waits until the browser
    shows the picture. `hides`: the experiments were left out, since the picture waited for its question. `recorded`:
    the keys of the recorded results that the picture shows.
    """

    prompt: str
    name: Callable[[], str]
    shown: View | None = None
    reading: Reading | Callable[[], Reading] = UNFINISHED
    said: Reading = UNFINISHED
    alone: bool = False
    waits: bool = False
    hides: bool = False
    recorded: Sequence[Hashable] = ()

    @property
    def view(self) -> str:
        """The name of the open view; "" in a lesson that has one picture."""
        return self.name()


def draw(page: Lesson, settings: Settings, views: Mapping[str, View]) -> None:
    """Draw a lesson of several views.

    `settings` has "view", whose options are the names of `views`, as in the catalogue; the labels are `view_<name>`.
    """
    drawn = PageState(reader.prompt(), lambda: settings.read("view"))
    settings.read_all()

    def pick(view: str) -> None:
        settings.keep(view=view)
        redraw()

    def instrument() -> None:
        run = page.run()
        with st.container(gap="xsmall"):
            above = st.container(horizontal=True, vertical_alignment="center", key=f"{page.id}_bar")
            with above:
                if reader.looks_on():
                    _title(page, drawn.view)
                else:
                    bar(page, drawn.view, pick)
                pins = st.container(width="content")
                # Beside the rest, so that nothing below moves when it comes and goes; an st.empty would be emptied
                # while the view is redrawn.
                progress = st.container()
            with st.container(gap="xsmall", key=f"{page.id}_stage"):
                _instrument(page, drawn, views[drawn.view], run, progress)
        _tell_recorded(page, drawn, above)
        _pins(page, drawn, pins)

    _lesson(page, drawn, instrument)


def draw_one(page: Lesson, view: View, shown: Callable[[], str] = str) -> None:
    """Draw a lesson of one picture, which places its own controls and the pins below it. Its `bar(page, run)` is drawn
    above the picture, or above the question in its place. shown: returns the open view if the lesson has views anyway.
    """
    drawn = PageState(reader.prompt(), shown)

    def instrument() -> None:
        run = page.run()
        with st.container():            # keeps the place of what follows when a question gives way to the picture
            if hasattr(view, "bar"):
                view.bar(page, run)
            _instrument(page, drawn, view, run, above := st.container())
            _tell_recorded(page, drawn, above)
            _pins(page, drawn)

    _lesson(page, drawn, instrument)


def _lesson(page: Lesson, drawn: PageState, instrument: Callable[[], None]) -> None:
    """Draw the instrument, and below it the texts and numbers on it, each a fragment.

    A change of the instrument redraws the instrument alone; the rest follows once the browser shows the picture, since
    a picture takes twice as long together with all the rest. In the first run of a visit a browser puts off loading
    its own parts while elements still arrive, so texts and numbers wait for the first picture as well.
    """

    def picture() -> None:
        drawn.waits = drawn.alone or not page.is_seen()
        st.session_state.pop(LATER, None)
        with guard():
            if class_bar.covers(page.id):
                class_bar.draw_question(page.frame_words)
                drawn.reading = COVERED
            else:
                instrument()
        st.session_state[address.COVERED] = drawn.reading is COVERED
        if reader.looks_on():
            return
        drawn.waits = drawn.waits or prompt_bar.is_old()
        fragment(standing, key=STANDING)()

    def standing() -> None:
        if drawn.waits or LATER in st.session_state:
            when_it_stands(stands)

    def stands() -> None:
        is_new, drawn.waits = reader.prompt() != drawn.prompt, False
        later = st.session_state.pop(LATER, ())
        changes = is_new or not page.is_seen() or drawn.hides != (drawn.reading is COVERED)
        menu = (EXPERIMENTS,) if changes else ()
        drawn.prompt = reader.prompt()
        page.see()
        address.write_url_now()
        around = (BAR, STRIP) if is_new or prompt_bar.is_old() else ()
        rerun(STANDING, NUMBERS, QUESTION, *later, *menu, *around)

    fragment(picture, run_every=growing_results.every(), key=PICTURE)()
    if reader.looks_on():
        return
    with nullcontext() if reader.present() else page.beside:
        fragment(functools.partial(_once_seen, page, lambda: _experiments(page, drawn)), key=EXPERIMENTS)()
    for key, draw in ((NUMBERS, lambda: _numbers(page, drawn)), (QUESTION, lambda: _question(page, drawn))):
        fragment(functools.partial(_once_seen, page, draw), key=key)()
    drawn.alone = True


def _once_seen(page: Lesson, draw: Callable[[], None]) -> None:
    if page.is_seen():
        draw()


def _instrument(page: Lesson, drawn: PageState, view: View, run: Run, progress: DeltaGenerator) -> None:
    """Draw a view, or say why this model has none; show in `progress` how far its long computation is."""
    drawn.reading, drawn.shown, kind, name = UNFINISHED, view, run.model.config.kind, drawn.view
    with growing_results.frame() as frame:
        if not catalogue.is_shown(page.id, name, kind):
            drawn.reading = cannot(page.frame_words.label(f"not_of_{kind}"))
        elif catalogue.predicts(page.id, name, kind) and not run.has_head:
            drawn.reading = cannot(page.frame_words.label("no_head"))
        elif prediction.draw(page, view, run):
            drawn.reading = COVERED
        else:
            class_bar.draw_told(page.id, page.frame_words, run, folded=prediction.is_wide(view))
            experiments.draw_look(page.words.experiments, page.frame_words, page.id, name)
            drawn.reading = view.draw(page, run)
    drawn.recorded = () if drawn.reading is COVERED or drawn.reading is UNFINISHED else frame.recorded
    growing_results.follow(frame, progress, page.frame_words)


def _tell_recorded(page: Lesson, drawn: PageState, place: DeltaGenerator) -> None:
    """Say that the picture shows recorded results, if it does, beside a button that computes them anew; in present mode
    the bar has no room for it.
    """
    if not drawn.recorded:
        return
    with place.container(horizontal=True, width="content", vertical_alignment="center", gap="small", key="recorded"):
        st.caption(page.frame_words.label("recorded"), width="content")
        if not (reader.present() or reader.looks_on()):
            st.button(page.frame_words.label("compute_anew"), key="compute_anew", icon=":material/play_arrow:",
                      type="tertiary", on_click=growing_results.compute_anew, args=(drawn.recorded,))


def _pins(page: Lesson, drawn: PageState, bar: DeltaGenerator | None = None) -> None:
    """Draw the pins of a finished picture, in the bar if the view has no place for them."""
    reading = drawn.reading
    if callable(reading) or reading is UNFINISHED or reading is COVERED or (place := reading.pins or bar) is None:
        return
    if reader.looks_on():
        return
    with place:
        page.pins(dict(reading.summary) or {page.label(f"view_{drawn.view}"): unmarked(reading.title)})


def _numbers(page: Lesson, drawn: PageState) -> None:
    """Draw the picture's explanation and its numbers; nothing while the picture waits for its question."""
    reading = drawn.said = drawn.reading() if callable(drawn.reading) else drawn.reading
    if reading is COVERED:
        return
    if reading.below is not None:
        reading.below()
    page.explanation(reading.explanation or drawn.view, is_drawn=reading.picture != NO_PICTURE)
    if reading is not UNFINISHED and reading.picture != NO_PICTURE:
        page.numbers(reading.lines, reading.table)


def _question(page: Lesson, drawn: PageState) -> None:
    """Draw the question that the picture answers, the code and the data; without a picture, the question alone."""
    said = drawn.said
    if said is COVERED:
        return
    with st.container():                # even if empty, so that the fragments below keep their places
        if said.question is not None:
            page.check(said.question)
    if said is not UNFINISHED and said.picture != NO_PICTURE:
        prediction.offer(page, drawn.shown, page.run())
        if not reader.present():
            class_add.draw(page.id, _name(page, drawn), page.frame_words)
        page.code(said.functions, said.data, said.picture, said.title)
    next_view.draw(page.id, drawn.view, page.frame_words, said.leads_to)


def _experiments(page: Lesson, drawn: PageState) -> None:
    """Draw the experiments, or in a class its step. Experiments speak of a picture that is shown; while a question
    stands in its place, a presenter's key to go on leads to the picture.
    """
    drawn.hides = drawn.reading is COVERED
    if not drawn.hides or reader.class_step():
        page.experiments()
    elif reader.present() and not live_class.is_open() and page.is_moved_on():
        prediction.show(page, drawn.shown, page.run())


def _name(page: Lesson, drawn: PageState) -> str:
    """The lesson's name and, if it has several views, the view's."""
    lesson, view = page.frame_words.label(f"lesson_{page.id}"), drawn.view
    return f"{lesson}: {page.label(catalogue.entry(page.id).label(view))}" if view else lesson


def cannot(said: str, question: Question | None = None) -> Reading:
    """Say, in place of a picture, why this model has none, and return that as a Reading; question: a question that
    needs no picture.
    """
    st.info(said)
    return Reading([], question, [], {}, NO_PICTURE, said)


def _title(page: Lesson, shown: str) -> None:
    """Draw the name of the view in place of the control that picks it."""
    with st.container(key="look_title"):
        st.markdown(page.label(catalogue.entry(page.id).label(shown)))


def bar(page: Lesson, shown: str, pick: Callable[[str], None]) -> None:
    """Draw the control that picks the view: the lesson's core views side by side, and the deeper ones behind *More*,
    except a deeper view that is `shown`, which stands in the bar. pick: the callback, called with the view.
    """
    entry = catalogue.entry(page.id)
    widget = f"{page.id}_{entry.picks}_widget"
    at_hand = (*entry.core, *(view for view in entry.deeper if view == shown))
    rest = [view for view in entry.deeper if view != shown]
    # a value set here goes to the browser and would undo a change that a quick hand has made meanwhile
    if st.session_state.get(widget) != shown:
        st.session_state[widget] = shown

    names = {view: page.label(entry.label(view)) for view in entry.views}
    st.segmented_control(page.label(entry.picks), at_hand, format_func=names.__getitem__, required=True, key=widget,
                         on_change=lambda: pick(st.session_state[widget]), label_visibility="collapsed", wrap=True)
    if rest:
        st.menu_button(page.frame_words.label("more_views"), rest, format_func=names.__getitem__, key=MORE,
                       on_click=lambda: pick(st.session_state[MORE]))


def choice(settings: Settings, page: Lesson, name: str, options: Sequence[str] | None = None) -> str:
    """Draw a few options side by side and return the chosen one; the labels are `<name>_<option>`.

    An option that is not among `options` falls back to the first.
    """
    options = tuple(options or settings.each[name].options)
    settings.among(name, options)
    return st.segmented_control(page.label(name), options, format_func=lambda option: page.label(f"{name}_{option}"),
                                required=True, label_visibility="collapsed", wrap=True, **settings.attached(name))
