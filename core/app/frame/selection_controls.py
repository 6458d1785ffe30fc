"""Controls that show and set the shared selection: lists of blocks, heads and tokens, the seed of every ξ, and one norm
of the model.
"""
from collections.abc import Callable, Sequence

import streamlit as st

from core.analysis.norm_inputs import norm_places
from core.app.frame.lesson import Lesson
from core.app.state import reader
from core.app.state.fragments import redraw
from core.app.state.lesson_settings import Settings
from core.app.state.run import Run, select, selection

WIDTHS = {"layer": 112, "head": 112, "position": 170}      # px


def pick(page: Lesson, run: Run, *fields: str, **shown: int) -> None:
    """Draw a list for each of "layer", "head" and "position", which shows and sets that field of the shared selection.
    shown: where a list stands that does not stand there. For a horizontal container.
    """
    config, words = run.model.config, page.frame_words
    sizes = {"layer": config.n_layers, "head": config.n_heads, "position": len(run.tokens)}

    def name(field: str, i: int) -> str:
        return words.label(f"pick_{field}", n=i, token=run.tokens[i] if field == "position" else "")

    for field in fields:
        key = f"{page.id}_pick_{field}"
        at = shown.get(field, getattr(selection(run), field))
        # a value that is set goes to the browser, where it would undo what a quick hand did meanwhile
        if st.session_state.get(key) != at:
            st.session_state[key] = at
        short_list(words.label(f"pick_{field}_name"), range(sizes[field]), lambda i, field=field: name(field, i),
                   WIDTHS[field], key=key,
                   on_change=lambda field=field, key=key: select(run, **{field: st.session_state[key]}))


def short_list(label: str, options: Sequence, name_of: Callable[..., str], width: int, **tied) -> None:
    """Draw a list of `width` pixels; in present mode's larger type it is wider, though its frame does not grow."""
    st.selectbox(label, options, format_func=name_of, label_visibility="collapsed",
                 width=round(width * (0.25 + 0.75 * reader.scale())), **tied)


def seed_field(page: Lesson) -> None:
    """A field for the shared seed, which decides every ξ."""
    key, chosen = f"{page.id}_dice", reader.selection().seed
    if st.session_state.get(key) != chosen:
        st.session_state[key] = chosen

    def changed() -> None:
        reader.select(seed=st.session_state[key], xi=None)
        redraw()

    st.number_input(page.frame_words.label("seed"), 0, reader.MOST_SEED, step=1, key=key, width=140,
                    help=page.frame_words.label("seed_help"), on_change=changed)


def picked_norm(page: Lesson, run: Run, settings: Settings, name: str) -> tuple[str, int, int]:
    """Which norm of the model, by the setting `name`, the block and the position. For a horizontal container."""
    places = [place for place in settings.each[name].options if place in norm_places(run.model.config)]
    settings.among(name, places)
    st.selectbox(page.label(name), places, format_func=lambda place: page.label(f"{name}_{place}"), width=220,
                 **settings.attached(name))
    chosen = reader.selection()
    pick(page, run, "layer", "position", layer=chosen.layer)
    return settings.read(name), chosen.layer, chosen.position
