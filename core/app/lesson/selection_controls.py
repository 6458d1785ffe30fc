"""Controls that show and set the shared selection: lists of blocks, heads and tokens, the seed of every ξ, and one norm
of the model.
"""
from collections.abc import Callable, Sequence

import streamlit as st

from core.analysis.norm_inputs import norm_places
from core.app.lesson.lesson import Lesson
from core.app.state import reader
from core.app.state.fragments import redraw
from core.app.state.lesson_settings import Settings, list_key
from core.app.state.run import Run, select, selection

WIDTHS = {"layer": 112, "head": 112, "position": 170}      # px


def pick(page: Lesson, run: Run, *fields: str, **shown: int) -> None:
    """Draw a list for each of these fields ("layer", "head", "position"), which shows and sets that field of the shared
    selection. shown: the value that a list shows instead of the selection's. For a horizontal container.
    """
    config, words = run.model.config, page.frame_words
    sizes = {"layer": config.n_layers, "head": config.n_heads, "position": len(run.tokens)}

    for field in fields:
        names = [words.label(f"pick_{field}", n=i, token=run.tokens[i] if field == "position" else "")
                 for i in range(sizes[field])]
        key = list_key(f"{page.id}_pick_{field}", names)
        at = shown.get(field, getattr(selection(run), field))
        # a value set here goes to the browser, where it would undo a change that a quick hand has made meanwhile
        if st.session_state.get(key) != at:
            st.session_state[key] = at
        short_list(words.label(f"pick_{field}_name"), range(sizes[field]), names.__getitem__, WIDTHS[field], key=key,
                   on_change=lambda field=field, key=key: select(run, **{field: st.session_state[key]}))


def short_list(label: str, options: Sequence, name_of: Callable[..., str], width: int, **tied) -> None:
    """Draw a list of `width` pixels; with present mode's larger type it is wider, but its frame does not grow as much.
    """
    st.selectbox(label, options, format_func=name_of, label_visibility="collapsed",
                 width=round(width * (0.25 + 0.75 * reader.scale())), **tied)


def shared_seed(page: Lesson) -> None:
    """Draw the field for the shared seed, which decides every ξ."""
    key, chosen = f"{page.id}_dice", reader.selection().seed
    if st.session_state.get(key) != chosen:
        st.session_state[key] = chosen

    def changed() -> None:
        reader.select(seed=st.session_state[key], xi=None)
        redraw()

    seed_field(page, 0, reader.MOST_SEED, page.frame_words.label("seed_help"), key=key, on_change=changed)


def own_seed(settings: Settings, page: Lesson, name: str = "seed", said: str = "") -> int:
    """Draw the field for a seed of the lesson's own, the setting `name`; return the seed. said: what it decides."""
    setting = settings.each[name]
    seed_field(page, int(setting.low), int(setting.high), said, **settings.attached(name))
    return settings.read(name)


def seed_field(page: Lesson, low: int, high: int, said: str = "", **tied) -> None:
    """Draw a field for a seed from `low` to `high` after its name. said: what the seed decides."""
    label = page.frame_words.label("seed")
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", width="content"):
        st.markdown(label, width="content", help=said or None)
        st.number_input(label, low, high, step=1, width=120, label_visibility="collapsed", **tied)


def picked_norm(page: Lesson, run: Run, settings: Settings, name: str) -> tuple[str, int, int]:
    """Draw the controls that pick one norm of the model; return the setting `name`, the block and the position. For a
    horizontal container.
    """
    places = [place for place in settings.each[name].options if place in norm_places(run.model.config)]
    settings.among(name, places)
    st.selectbox(page.label(name), places, format_func=lambda place: page.label(f"{name}_{place}"), width=220,
                 label_visibility="collapsed" if reader.present() else "visible", **settings.attached(name))
    chosen = reader.selection()
    pick(page, run, "layer", "position", layer=chosen.layer)
    return settings.read(name), chosen.layer, chosen.position
