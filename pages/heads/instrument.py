"""The instrument: one row of controls, the wall of all heads, and beside it the panel that the reader chose, each with
a question of its own.
"""
import functools
from collections.abc import Callable

import streamlit as st

from core.app.lesson import Lesson, Prediction, Reading, views
from core.app.lesson.prediction import guess_of
from core.app.lesson.selection_controls import short_list
from core.app.parts.guard import fragment
from core.app.server import routes
from core.app.state import Run, address, reader
from core.app.state.lesson_settings import list_key
from core.components.heads_wall import Wall, heads_wall
from core.figures.heads import head_name
from pages.heads import below, names, output, panels, questions
from pages.heads import route as heads_live
from pages.heads.shared import (
    NONE,
    PREFIX,
    SETTINGS,
    TOLD,
    Change,
    change_now,
    keep,
    open_head,
    open_panel,
    patterns_of,
    picked,
    read,
    redraw,
    redraw_in_turn,
)
from pages.heads.words import heads_of, summary, title

PICTURES = {"wall": names.draw, "head": panels.one_head, "roles": panels.what_they_do, "write": output.draw,
            "change": panels.change, "prompts": panels.two_prompts, "rollout": panels.rollout}
BESIDE = [2, 3]            # in present mode: the width of the wall to that of the panel beside it
HEIGHT = (330, 620)        # least and most pixels of the wall: it ends with the window, even on a 1280 × 720 projector


def predict(page: Lesson, run: Run) -> Prediction | None:
    """The question of the panel."""
    name = read("panel")
    asked = questions.of(page, run, name)
    st.session_state[TOLD] = asked is not None and guess_of(page, name, run, asked.state) is not None
    return asked


def bar(page: Lesson, run: Run) -> None:
    """The row of controls; it also stands above a question."""
    _controls(page, run.tokens)


def draw(page: Lesson, run: Run) -> Callable[[], Reading]:
    """Wall and panel, each a fragment: what a hand does redraws only what it changes.

    Present mode shows one picture at a time; but the wall stands beside the loss when heads are switched off.
    """
    present, panel = reader.present(), read("panel")
    if present and panel == "wall":
        _wall(page, run)
    elif not present or panel == "change":
        left, right = st.columns(BESIDE if present else [6, 7], gap="medium")
        with left:
            _wall(page, run)
        with right:
            _panel(page, run)
    else:
        _panel(page, run)
    return functools.partial(below.reading, page, run)


@functools.partial(fragment, key="heads_controls")
def _controls(page: Lesson, tokens: list[str]) -> None:
    """The panel's name and, outside present mode, the query and the key, in one row."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{PREFIX}controls"):
        views.bar(page, shown(), open_panel)
        if not reader.present():
            st.space("stretch")
            _query_and_key(page, tokens)


def _query_and_key(page: Lesson, tokens: list[str]) -> None:
    last, at, named = len(tokens) - 1, reader.selection().position, read("key")
    named = named if named <= last else -1
    called = [page.frame_words.label("pick_position", n=i, token=token) for i, token in enumerate(tokens)]
    query, key = (list_key(f"{PREFIX}{name}_widget", called) for name in ("query", "key"))
    _show(query, at)
    _show(key, named)

    _list(page.label("query_name"), range(last + 1), called, query, _pick_query)
    # the last name is number −1
    _list(page.label("key_name"), range(-1, last + 1), [*called, page.label("key_strongest")], key, _pick_key)


def _list(name: str, options: range, names: list[str], key: str, pick: Callable[[int], None]) -> None:
    """Draw a name and its list, in one line even on a phone."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.markdown(name, width="content")
        short_list(name, options, names.__getitem__, 130, key=key, on_change=lambda: pick(st.session_state[key]))


@functools.partial(fragment, key="heads_panel")
def _panel(page: Lesson, run: Run) -> None:
    """The chosen panel."""
    address.write_url_now()
    PICTURES[read("panel")](page, run, *picked(run))


def shown() -> str:
    """The panel that is open."""
    return read("panel")


@functools.partial(fragment, key="heads_wall")
def _wall(page: Lesson, run: Run) -> None:
    """Every head; while heads are being changed, as they are after the change, and a click changes one more."""
    change = change_now() if read("panel") == "change" else None
    (pair, shown), changed = picked(run), ()
    if change:
        changed, shown = change.heads(run), patterns_of(run, change.intervention(run))
    hand = _hand(page, run, change) if change and change.action == "scale" else None
    words, present = page.words, reader.present()
    legend = names.legend(words, shown) if present and not change else ""
    text = {"title": legend or title(words, change, shown)}
    text |= {name: words.label(name) for name in ("scale", "masked", "waiting")}
    text |= {name: words.label(f"map_{name}") for name in ("measure", "nothing", "map")}
    wall = Wall(heads_of(words, change, changed, shown), run.tokens, text, (pair.layer, pair.head), pair.query,
                summary(words, change, shown, read("map")), HEIGHT, reader.theme(), hand,
                opens=not change and not present)
    heads_wall(wall, key=f"{PREFIX}wall", on_pick=functools.partial(_toggle, run) if change else _open,
               on_hand=_scale, on_measure=_measure)


def _hand(page: Lesson, run: Run, change: Change) -> dict:
    """The factor as a slider on the wall itself, which answers while it moves."""
    factor = SETTINGS.each["factor"]
    return routes.hand(heads_live.NAME, "factor", page.label("factor"), (factor.low, factor.high), 0.1, change.factor,
                       heads_live.question(run, change))


def _scale(factor: float) -> None:
    """The hand has let go: the wall stands already, the panel follows."""
    keep(factor=factor)
    redraw_in_turn(("heads_panel",), ("heads_wall",))


def _measure(name: str) -> None:
    """The map shows it already."""
    keep(map=name)


def _open(layer: int, head: int) -> None:
    """The wall marks the head itself, so that only the panel is drawn again."""
    if read("panel") == "wall":
        open_head(layer, head)
    else:
        reader.select(layer=layer, head=head)
        redraw_in_turn(("heads_panel",), ("heads_wall",))


def _toggle(run: Run, layer: int, head: int) -> None:
    """Puts a head into the changed set, or takes it out."""
    address.let_url_wait()
    changed = set(change_now().heads(run)) ^ {(layer, head)}
    panels.change_heads(" ".join(head_name(*pair) for pair in sorted(changed)) or NONE)
    reader.select(layer=layer, head=head)
    redraw_in_turn(("heads_wall",), ("heads_panel",))


def _show(widget: str, value: int | str | None) -> None:
    """Set a widget's value only where it differs: a value that is set goes to the browser, where it would undo what a
    quick hand did meanwhile.
    """
    if st.session_state.get(widget) != value:
        st.session_state[widget] = value


def _pick_query(position: int) -> None:
    reader.select(position=position)
    redraw("heads_controls")


def _pick_key(position: int) -> None:
    keep(key=position)
    redraw("heads_controls")
