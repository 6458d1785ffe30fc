"""The frame of every lesson: the view that draws the instrument, and below it what speaks of what that view shows.

A lesson of several views has a bar above the picture, in which one control picks the view; a lesson of one
view has none.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app.base import catalogue
from core.app.base.markdown import unmarked
from core.app.compute import growing_results
from core.app.frame.check import Question
from core.app.frame.guard import fragment
from core.app.frame.lesson import Lesson
from core.app.state.lesson_settings import Settings
from core.app.state.run import Run

if TYPE_CHECKING:
    import pandas as pd  # imported with the first table: the first picture of a server does not wait for it


@dataclass(frozen=True)
class Reading:
    """What a view says in numbers, asks, and offers for download.

    Tables are made when a drawer or a download asks for them.
    """

    lines: Sequence[tuple[str, str]]
    question: Question | None
    functions: Sequence[Callable]
    data: Mapping[str, Callable[[], pd.DataFrame]]
    picture: str             # CSS selector of what is saved
    title: str               # Markdown, what the picture shows in one sentence
    table: pd.DataFrame | None = None
    summary: Mapping[str, str] = field(default_factory=dict)   # for pins; empty: the title
    explanation: str = ""    # whose section is read below the picture; empty: the view's own
    pins: DeltaGenerator | None = None              # the place of the pins; None: in the bar
    below: Callable[[], None] | None = None         # draws what else stands right below the picture


UNFINISHED = Reading([], None, [], {}, "", "")      # of a view whose result is not there yet


class View(Protocol):
    """One view of a lesson, a module."""

    def draw(self, page: Lesson, run: Run) -> Reading | Callable[[], Reading]:
        """Draws the instrument and returns what it shows.

        A view whose parts redraw themselves returns a function instead: what stands below is then a fragment of the key
        `<lesson>_below`, which the view asks to run again, and which reads the picture anew.
        """


def draw(page: Lesson, settings: Settings, views: Mapping[str, View]) -> None:
    """A lesson of several views.

    `settings` has "view", whose options are the names of `views`; the labels are `view_<name>`.

    A pick or a control redraws the view and what speaks of it, and nothing else of the app.
    """

    def lesson() -> None:
        run = page.run()
        with st.container(gap="xsmall"):
            with st.container(horizontal=True, vertical_alignment="center", key=f"{page.id}_bar"):
                view = choice(settings, page, "view")
                pins = st.container(width="content")
                # Beside the rest, so that nothing below moves when it comes and goes; an st.empty would be emptied
                # while the view is drawn anew.
                progress = st.container()
            with st.container(gap="xsmall", key=f"{page.id}_stage"):
                frame, reading = _instrument(page, view, views[view], run)
        growing_results.follow(frame, progress, page.frame_words)
        _below(page, view, reading, pins)

    fragment(lesson, run_every=growing_results.every())()


def draw_one(page: Lesson, view: View) -> None:
    """A lesson of one view, which places its own controls and the pins below its picture."""

    def lesson() -> None:
        run = page.run()
        progress = st.container()
        frame, reading = _instrument(page, "", view, run)
        growing_results.follow(frame, progress, page.frame_words)
        if callable(reading):
            fragment(functools.partial(_below, page, "", reading), key=f"{page.id}_below")()
        else:
            _below(page, "", reading)

    fragment(lesson, run_every=growing_results.every())()


def _instrument(page: Lesson, name: str, view: View,
                run: Run) -> tuple[growing_results.Frame, Reading | Callable[[], Reading]]:
    """Draw a view, or say why this model has none; return how far its long computation is, and what it shows."""
    reading, kind = UNFINISHED, run.model.config.kind
    with growing_results.frame() as frame:
        if not catalogue.is_shown(page.id, name, kind):
            reading = cannot(page.frame_words.label(f"not_of_{kind}"))
        elif catalogue.predicts(page.id, name, kind) and not run.has_head:
            reading = cannot(page.frame_words.label("no_head"))
        else:
            reading = view.draw(page, run)
    return frame, reading


def _below(page: Lesson, view: str, shown: Reading | Callable[[], Reading], bar: DeltaGenerator | None = None) -> None:
    """Draw what speaks of the picture, once it is seen. bar: the place of the pins where the view has none for them."""
    if not page.is_seen():
        return
    reading = shown() if callable(shown) else shown
    title, done = unmarked(reading.title), reading is not UNFINISHED
    place = bar if reading.pins is None else reading.pins
    if done and place is not None:
        with place:
            page.pins(dict(reading.summary) or {page.label(f"view_{view}"): title})
    if reading.below is not None:
        reading.below()
    page.explanation(reading.explanation or view)
    with st.container():                # empty or not, so that fragments below find their places again
        if done:
            page.numbers(reading.lines, reading.table)
    page.experiments()
    with st.container():
        if reading.question is not None:
            page.check(reading.question)
    if done:
        page.code(reading.functions, reading.data, reading.picture, reading.title)


def cannot(said: str) -> Reading:
    """Show, in place of a picture, why this model has none, and return that as a Reading."""
    st.info(said)
    return Reading([], None, [], {}, ".stAlert", said)


def choice(settings: Settings, page: Lesson, name: str, options: Sequence[str] | None = None) -> str:
    """One of a few, beside each other; the labels are `<name>_<option>`.

    An option that is not among `options` falls back to the first.
    """
    options = tuple(options or settings.each[name].options)
    settings.among(name, options)
    return st.segmented_control(page.label(name), options, format_func=lambda option: page.label(f"{name}_{option}"),
                                required=True, label_visibility="collapsed", wrap=True, **settings.attached(name))
