"""Try this: one-click experiments from a lesson's text file.

A click sets prompt, selection and widgets; each is also a link. Then a line above the picture says what to look for.
"""
import re
from collections.abc import Sequence

import streamlit as st

from core.app.state import address, model_choice, reader
from core.app.state.fragments import redraw
from core.base import prose
from core.base.markdown import escaped
from core.base.prose import Experiment, TextFile
from core.components.page.keys import presenters_keys

# in the session: lesson and experiment tried last and, once its picture is drawn, that picture's view and prompt
TRIED = "tried"
COUNT = "tried_count"      # in the session: how many were tried; a menu with a new name is closed
STEP = re.compile(r"(.+)_(\d+)")      # the id of a step of a walk: several experiments, of which each leads to the next


def first_ones(experiments: Sequence[Experiment]) -> list[Experiment]:
    """The experiments without those to which another leads."""
    return [one for one in experiments if not (step := STEP.fullmatch(one.id)) or step[2] == "1"]


def following(experiments: Sequence[Experiment], one: Experiment) -> Experiment | None:
    """The next step of a walk; None after its last, and after any other experiment."""
    step = STEP.fullmatch(one.id)
    name = f"{step[1]}_{int(step[2]) + 1}" if step else ""
    return next((other for other in experiments if other.id == name), None)


def draw_all(experiments: Sequence[Experiment], words: TextFile, lesson: str) -> None:
    """Draw a menu with every experiment as a row of a grid (page.css): the button, what to look for, and the link. The
    link carries only the experiment's own settings, so a changed setting need not draw the menu again.

    A container for each row would be a box that the browser goes over at every change of the page.
    """
    menu = f"try_menu_{st.session_state.get(COUNT, 0)}"
    with st.popover(words.label("try"), key=menu), st.container(key="experiments"):
        for experiment in first_ones(experiments):
            st.button(experiment.title, key=f"do_{lesson}_{experiment.id}", on_click=_try, args=(lesson, experiment),
                      width="stretch")
            link, said = address.link(experiment.settings, alone=True), _shown_with(experiment, words)
            st.markdown(f"{experiment.look} {said}[{words.label('try_link')}]({link})")


def _shown_with(experiment: Experiment, words: TextFile) -> str:
    """A sentence on the model that an experiment shows, if it is not the reader's."""
    model = experiment.settings.get("model", model_choice.wanted())
    return "" if model == model_choice.wanted() else f"{words.label('try_model', model=escaped(model))} "


def _try(lesson: str, experiment: Experiment) -> None:
    session = st.session_state
    session[TRIED], session[COUNT] = (lesson, experiment, None), session.get(COUNT, 0) + 1
    reader.apply(experiment.settings)


def draw_look(experiments: Sequence[Experiment], words: TextFile, lesson: str, view: str) -> None:
    """Say what to look for in the picture that one of the experiments has set, and lead to the next step of a walk,
    until the reader closes this line or goes on to another prompt or view.
    """
    tried, place = st.session_state.get(TRIED), (view, reader.prompt())
    if tried is None or reader.present():
        return
    of, experiment, drawn = tried
    if of != lesson or drawn not in (None, place):
        del st.session_state[TRIED]
        return
    st.session_state[TRIED] = (of, experiment, place)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="tried"):
        st.markdown(f"**{experiment.title}.** {experiment.look}")
        if step := following(experiments, experiment):
            st.button(words.label("try_next", title=step.title), type="primary", key="try_next", on_click=_try,
                      args=(lesson, step))
        st.button(words.label("try_close"), icon=":material/close:", type="tertiary", key="try_close",
                  on_click=_close)


def _close() -> None:
    st.session_state.pop(TRIED, None)
    redraw()


def is_moved_on(experiments: Sequence[Experiment], words: TextFile, lesson: str) -> bool:
    """Listen to a presenter's keys while a question stands in place of the picture; return whether one asked to go on.
    """
    moved = presenters_keys([experiment.title for experiment in experiments], 0, words, key=f"{lesson}_keys")
    return moved.by > 0


def told_step(lesson: str) -> str:
    """The text of the step that present mode shows of a lesson; "" before the first."""
    step, experiments = st.session_state.get(f"try_{lesson}_step", 0), prose.load(lesson).experiments
    return f"{experiments[step - 1].title}. {experiments[step - 1].look}" if 0 < step <= len(experiments) else ""


def draw_one(experiments: Sequence[Experiment], words: TextFile, lesson: str) -> None:
    """Draw the present step alone, in a line at the foot of the screen; the arrow keys go through the steps.

    Nothing is set before the first step.
    """
    if not experiments:
        return
    step = min(st.session_state.get(f"try_{lesson}_step", 0), len(experiments))
    with st.container(key="try_step"):
        count = words.label("try_step", i=step, n=len(experiments))
        shown = experiments[step - 1] if step else None
        st.markdown(f"{count} **{shown.title}.** {shown.look}" if shown else f"{count} {words.label('try_keys')}")
    moved = presenters_keys([experiment.title for experiment in experiments], step, words, key=f"{lesson}_keys")
    if moved.by or moved.to:
        go_to = moved.to or min(max(step + moved.by, 1), len(experiments))
        if go_to != step:
            st.session_state[f"try_{lesson}_step"] = go_to
            reader.apply(experiments[go_to - 1].settings)
