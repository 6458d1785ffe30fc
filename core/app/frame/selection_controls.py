"""Controls that show and set the shared selection: sliders over tokens and blocks, and one norm of the model.

The labels are the lesson's: `token_slider`, `block_slider` and, of a norm, those of the setting that says which.
"""
from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis.norm_inputs import norm_places
from core.app.base.markdown import escaped
from core.app.frame.lesson import Lesson
from core.app.state import reader
from core.app.state.fragments import redraw
from core.app.state.lesson_settings import Settings
from core.app.state.run import Run


def token_slider(page: Lesson, run: Run) -> int:
    """A slider over the prompt's tokens that sets the shared position."""
    return _slider(page, "token", "position", len(run.tokens), lambda i: f"{i}  {run.tokens[i]}")


def block_slider(page: Lesson, run: Run, shown: int | None = None) -> int:
    """A slider over the blocks that sets the shared layer. shown: where it stands, if not at the shared layer."""
    return _slider(page, "block", "layer", run.model.config.n_layers, str, shown)


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


def _slider(page: Lesson, of: str, field: str, size: int, name_of: Callable[[int], str],
            shown: int | None = None) -> int:
    """A slider over one field of the shared selection; with one value to choose from it is only shown."""
    key, label = f"{page.id}_slide_{field}", page.label(f"{of}_slider")
    chosen = getattr(reader.selection(), field) if shown is None else shown
    if size == 1:
        st.text_input(label, name_of(0), disabled=True, key=f"{key}_only")
        return 0
    st.session_state[key] = chosen
    st.select_slider(label, options=range(size), format_func=lambda i: escaped(name_of(i)), key=key,
                     on_change=lambda: reader.select(**{field: st.session_state[key]}))
    return chosen


def picked_norm(page: Lesson, run: Run, settings: Settings, name: str,
                columns: Sequence[DeltaGenerator]) -> tuple[str, int, int]:
    """Which norm of the model, by the setting `name`, the block and the position: three controls in three columns."""
    where, block, token = columns
    places = [place for place in settings.each[name].options if place in norm_places(run.model.config)]
    settings.among(name, places)
    place = where.selectbox(page.label(name), places, format_func=lambda place: page.label(f"{name}_{place}"),
                            **settings.attached(name))
    with block:
        layer = block_slider(page, run)
    with token:
        return place, layer, token_slider(page, run)
