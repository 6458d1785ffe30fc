"""The instrument: one row of controls, the wall of all heads, and beside it the panel that the reader chose."""
from __future__ import annotations

import functools

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.figures import heads as figures
from core.figures.heads import head_name
from core.intervention import NOTHING
from core.ui import state
from core.ui.components.heads_wall import heads_wall
from core.ui.guard import guard
from core.ui.heads import panels
from core.ui.heads.reading import PREFIX, Pair, Patterns, changed_heads, changing_the_wall, intervention_of, keep, measured, patterns_of, picked_pair, read, redraw
from core.ui.lesson import Lesson
from core.ui.markdown import code
from core.ui.run import Run

PANEL, QUERY, KEY = (f"{PREFIX}{name}_widget" for name in ("panel", "query", "key"))
PICTURES = {"head": panels.one_head, "roles": panels.what_they_do, "write": panels.what_they_write, "change": panels.change, "prompts": panels.two_prompts,
            "rollout": panels.rollout}
HEIGHT = (330, 620)        # least and most pixels of the wall: it ends with the window, on a 1280 × 720 projector too


def draw(page: Lesson, run: Run) -> None:
    """Controls, wall and panel, each a fragment: what a hand does redraws only what it changes."""
    _controls(page, run)
    if _alone():
        (_wall if read("panel") == "wall" else _panel)(page, run)
        return
    with _wall(page, run):
        _panel(page, run)


def _alone() -> bool:
    """Present mode shows one picture at a time; but while heads are switched off, the wall that is clicked stays beside the picture."""
    return state.present() and read("panel") != "change"


@st.fragment(key="heads_controls")
def _controls(page: Lesson, run: Run) -> None:
    """The panel's name and, outside present mode, the query and the key, in one row."""
    with guard(), st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{PREFIX}controls"):
        options = tuple(PICTURES) if not state.present() else ("wall", *PICTURES)
        _show(PANEL, read("panel") if read("panel") in options else options[0])
        st.segmented_control(page.label("panel"), options, format_func=lambda name: page.label(f"panel_{name}"), required=True, key=PANEL,
                             on_change=_pick_panel, label_visibility="collapsed", width="content")
        if not state.present():
            st.space("stretch")
            _query_and_key(page, run)


def _query_and_key(page: Lesson, run: Run) -> None:
    last, at, named = len(run.token_ids) - 1, state.selection().position, read("key")
    named = named if named <= last else -1
    _show(QUERY, at)
    _show(KEY, None if named < 0 else named)
    beside = dict(horizontal=True, vertical_alignment="center", gap="small", width="content")      # a name and its field, in one line on a phone too
    with st.container(**beside):
        st.markdown(page.label("query", token=code(run.tokens[at])), width="content")
        st.number_input(page.label("query_name"), 0, last, step=1, key=QUERY, on_change=_pick_query, label_visibility="collapsed", width=130)
    with st.container(**beside):
        st.markdown(page.label("key_name") if named < 0 else page.label("key", token=code(run.tokens[named])), width="content")
        st.number_input(page.label("key_name"), 0, last, value=None, step=1, key=KEY, placeholder=page.label("key_strongest"), on_change=_pick_key,
                        label_visibility="collapsed", width=150)


@st.fragment(key="heads_panel")
def _panel(page: Lesson, run: Run) -> None:
    """The chosen panel; outside present mode the wall always stands beside it, and the first one is one head."""
    state.write_url_now()
    with guard():
        PICTURES.get(read("panel"), panels.one_head)(page, run, picked_pair(run))


@st.fragment(key="heads_wall")
def _wall(page: Lesson, run: Run) -> DeltaGenerator:
    """Every head; while heads are being changed, as they are after the change, and a click changes one more. Returns the panel's place.

    The controls of the change stand above the panel and belong to this fragment: were they the panel's, each of their runs would first
    have to ask for this one, and the browser would go over the whole page twice.
    """
    changing = read("panel") == "change"
    left, right = (st.container(), st.container()) if _alone() else st.columns([2, 3] if state.present() else [6, 7], gap="medium")
    with left, guard():
        _draw_wall(page, run, picked_pair(run), changing)
    with right, guard(), st.container(key=f"{PREFIX}change"):
        if changing:
            panels.change_controls(page, run)
    return right.container(key=f"{PREFIX}place")


def _draw_wall(page: Lesson, run: Run, pair: Pair, changing: bool) -> None:
    shown = patterns_of(run, intervention_of(run) if changing else NOTHING)
    roles, config = figures.roles(shown.measures), run.model.config
    changed = {layer * config.n_heads + head for layer, head in changed_heads(run)} if changing else set()
    action = read("action")
    badge = page.label(f"badge_{action}", factor=read("factor"))
    count = config.n_layers * config.n_heads
    text = {"title": page.label("wall_change" if changing else "wall", n=count), "scale": page.label("scale"), "masked": page.label("masked"),
            "waiting": page.label("waiting")}
    heads_wall(shown.values, shown.allowed, run.tokens, key=f"{PREFIX}wall", text=text, selected=(pair.layer, pair.head), query=pair.query,
               roles=[page.label(f"role_{role}") if role else "" for role in roles.flat], notes=_notes(page, shown),
               badges=[badge if i in changed else "" for i in range(count)], crossed=sorted(changed) if action == "zero" else (),
               height=HEIGHT, theme=state.theme(), follow=f"{pair} {read('changed')} {action} {read('factor')}",
               opens=not changing and not state.present(), on_pick=functools.partial(_toggle, run) if changing else _open,
               on_stand=lambda: st.rerun("heads_panel"), on_rest=lambda: st.rerun(["heads_wall", "heads_below"]))


def _notes(page: Lesson, shown: Patterns) -> list[str]:
    values = {name: shown.measures[name].reshape(-1) for name in ("previous_token", "first_token", "entropy")}
    return [page.label("note", previous=measured(p), first=measured(f), entropy=measured(e)) for p, f, e in zip(*values.values())]


def _open(layer: int, head: int) -> None:
    """The wall marks the head itself, so that only the panel is drawn again."""
    state.select(layer=layer, head=head)
    if state.present() and read("panel") == "wall":
        keep(panel="head")
    st.rerun("app" if state.present() else "heads_panel")


def _toggle(run: Run, layer: int, head: int) -> None:
    """Puts a head into the changed set, or takes it out; the set before is kept for undo."""
    with changing_the_wall():
        panels.remember()
        changed = set(changed_heads(run)) ^ {(layer, head)}
        keep(changed=" ".join(head_name(*pair) for pair in sorted(changed)))
        state.select(layer=layer, head=head)


def _show(widget: str, value: int | str | None) -> None:
    """Sets a widget's value where it is another: one that is set goes to the browser and would undo what a quick hand did meanwhile."""
    if st.session_state.get(widget) != value:
        st.session_state[widget] = value


def _pick_panel() -> None:
    keep(panel=st.session_state[PANEL])
    st.rerun("app" if state.present() else ["heads_wall", "heads_panel"])


def _pick_query() -> None:
    state.select(position=st.session_state[QUERY])
    redraw("heads_controls")


def _pick_key() -> None:
    named = st.session_state[KEY]
    keep(key=-1 if named is None else named)
    redraw("heads_controls")
