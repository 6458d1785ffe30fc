"""A lesson of several views: one control picks the view, and all that stands below speaks of what that view shows."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import altair as alt
import pandas as pd
import streamlit as st

from core.ui import catalogue, charts, working
from core.ui.check import Question
from core.ui.guard import fragment
from core.ui.instrument_state import Settings
from core.ui.lesson import Lesson
from core.ui.markdown import unmarked
from core.ui.run import Run


@dataclass(frozen=True)
class Reading:
    """What a view says in numbers, asks, and offers for download. Tables are made when a drawer or a download asks for them."""

    lines: Sequence[tuple[str, str]]
    question: Question | None
    functions: Sequence[Callable]
    data: Mapping[str, Callable[[], pd.DataFrame]]
    picture: str             # CSS selector of what is saved
    title: str               # Markdown, what the picture shows in one sentence
    table: pd.DataFrame | None = None
    summary: Mapping[str, str] = field(default_factory=dict)   # for pins; empty: the title
    explanation: str = ""    # whose section is read below the picture; empty: the view's own


UNFINISHED = Reading([], None, [], {}, "", "")      # of a view whose result is not there yet


class View(Protocol):
    """One view of a lesson, a module."""

    def draw(self, page: Lesson, run: Run) -> Reading:
        """Draws the instrument and returns what it shows."""


def draw(page: Lesson, settings: Settings, views: Mapping[str, View]) -> None:
    """The lesson. `settings` has the setting "view", whose options are the names of `views`; the labels are `view_<name>`.

    A pick or a control redraws the view and what speaks of it, and nothing else of the app.
    """

    def lesson() -> None:
        run, reading = page.run(), UNFINISHED
        with st.container(gap="xsmall"):
            with st.container(horizontal=True, vertical_alignment="center", key=f"{page.id}_bar"):
                view = choice(settings, page, "view")
                pins = st.container(width="content")
                place = st.container()      # beside the rest, so that nothing below moves when it comes and goes; an st.empty would be emptied while the view is drawn anew
            with st.container(gap="xsmall", key=f"{page.id}_stage"), working.frame() as frame:
                kind = run.model.config.kind
                why = f"not_of_{kind}" if not catalogue.is_shown(page.id, view, kind) else "no_head" if catalogue.predicts(page.id, view, kind) and not run.has_head else ""
                reading = cannot(page.frame_words.label(why)) if why else views[view].draw(page, run)
        working.follow(frame, place, page.frame_words)
        if not page.is_seen():
            return
        title, done = unmarked(reading.title), reading is not UNFINISHED
        if done:
            with pins:
                page.pins(dict(reading.summary) or {page.label(f"view_{view}"): title})
        page.explanation(reading.explanation or view)
        with st.container():                # also where it stays empty: what redraws itself below must find its place again
            if done:
                page.numbers(reading.lines, reading.table)
        page.experiments()
        with st.container():
            if reading.question is not None:
                page.check(reading.question)
        if done:
            page.code(reading.functions, reading.data, reading.picture, reading.title)

    fragment(lesson, run_every=working.every())()


def cannot(said: str) -> Reading:
    """In place of a picture: why this model has none, in plain words."""
    st.info(said)
    return Reading([], None, [], {}, ".stAlert", said)


def choice(settings: Settings, page: Lesson, name: str, options: Sequence[str] | None = None) -> str:
    """One of a few, beside each other; the labels are `<name>_<option>`. An option that is not among `options` falls back to the first."""
    options = tuple(options or settings.each[name].options)
    settings.among(name, options)
    return st.segmented_control(page.label(name), options, format_func=lambda option: page.label(f"{name}_{option}"), required=True,
                                label_visibility="collapsed", wrap=True, **settings.attached(name))


def show(prefix: str, chart: alt.TopLevelMixin, name: str, on_pick: Callable[[dict], None] | None = None) -> None:
    """A chart of a lesson, as charts.show has it. on_pick: called in a callback with the point of its selection "picked"."""
    key = f"{prefix}{name}"

    def pick() -> None:
        if points := st.session_state[f"{key}_chart"].selection.get("picked"):
            on_pick(points[0])

    picking = {} if on_pick is None else {"on_select": pick, "selection_mode": "picked"}
    charts.show(chart, key, **picking)


def show_spec(prefix: str, name: str, rows: pd.DataFrame, spec: Mapping) -> None:
    """The same of a Vega-Lite spec over one table."""
    charts.show_spec({**spec, "data": {"name": "rows"}}, {"rows": rows}, f"{prefix}{name}")
