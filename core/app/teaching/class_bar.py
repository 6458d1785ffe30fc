"""A class while it is taught: the present step at the foot of the screen, with buttons and keys to go on; the step's
question over the whole stage until it is revealed; then, beside its picture, the answers from the class's phones.
"""
import streamlit as st

from core.app.state import reader
from core.app.state.run import Run
from core.app.teaching import class_games, class_plan, live_class
from core.app.teaching.class_plan import Plan
from core.app.teaching.own_class import NEXT, Step
from core.base import catalogue
from core.base.markdown import escaped
from core.base.prose import TextFile
from core.components.class_question import class_question
from core.components.page.keys import presenters_keys

TIMER = ("timer", "timer_go", "timer_stop", "time_is_up")      # labels of the timer


def covers(lesson: str) -> bool:
    """Whether a lesson is covered: it is the class's present step, and its question is not answered yet."""
    return bool(reader.class_step()) and not reader.class_revealed() and lesson == _step().lesson


def draw_question(words: TextFile) -> None:
    """Draw the step's question in place of its picture, with the prompt if the step has its own."""
    step = _step()
    with st.container(key="class_question"):
        timer = {name: words.label(f"class_{name}") for name in TIMER}
        class_question(step.ask, step.options, _prompt(step), timer, reader.scale(), key=f"class_question_{_number()}",
                       short=live_class.is_open())
        if live_class.is_open():
            live_class.draw_wall(words, {"mode": "step", "asked": _asked(step)}, {}, key=f"class_step_{_number()}")


def draw_told(lesson: str, words: TextFile, run: Run, *, folded: bool) -> None:
    """Draw, beside the picture of a step, the answers of the phones and the right answer. Nothing without a class.

    folded: begin as one line, since there is no room beside the picture.
    """
    if reader.class_step() and live_class.is_open() and lesson == _step().lesson:
        told = {"model": _right(_step(), run), "statements": [], "seen": -1, "reason": "", "folded": folded,
                "lesson": lesson}
        live_class.draw_wall(words, {"mode": "told", "asked": _asked(_step())} | told, {}, key="class_told")


def _asked(step: Step) -> dict:
    """The step's question in the form that phones get."""
    return live_class.asked("step", step.ask, step.form.offer(), (class_plan.present().name, _number()),
                            _prompt(step))


def _prompt(step: Step) -> str:
    return reader.prompt() if "prompt" in step.settings else ""


def _right(step: Step, run: Run) -> dict | None:
    """The right answer, as a tally marks it: the model's likeliest next token, or an option; or None."""
    if step.answer == NEXT:
        return class_games.likeliest(run)
    return {"answer": int(step.answer) - 1, "seen": True} if step.answer else None


def draw(words: TextFile) -> None:
    """Draw the present step in one bar: its title and, once its picture is revealed, what to look for in it."""
    plan, number = class_plan.present(), _number()
    step, shown, last = plan.steps[number - 1], reader.class_revealed(), number == len(plan.steps)
    by = 0
    with st.container(key="class_bar", horizontal=True, vertical_alignment="center"):
        start, end = plan.starts[number - 1:number + 1]
        count = words.label("class_bar", i=number, n=len(plan.steps), start=start, end=end)
        look = f" {words.label('class_look')}: {escaped(step.look)}" if shown else ""
        title = step.title if step.title.endswith(("?", "!", ".", "…")) else f"{step.title}."
        st.markdown(f"{count} · **{escaped(title)}**{look}", width="stretch")
        by -= st.button(words.label("class_back"), key="class_back", disabled=number == 1 and not shown)
        by += st.button(words.label("class_next" if shown else "class_reveal"), key="class_next",
                        type="secondary" if shown else "primary", disabled=shown and last)
        ended = st.button(words.label("class_end"), key="class_end")
    moved = presenters_keys([step.title for step in plan.steps], number, words, key="class_keys")
    if ended:
        reader.open_lesson(catalogue.COURSE, {"present": False, "class": 0, "class_plan": "", "class_revealed": 0,
                                              "course_view": "class"})
    elif moved.to:
        _go(plan, moved.to, revealed=False)
    elif by or moved.by:
        # each step is two: its question, then its picture
        place = 2 * (number - 1) + shown + by + moved.by
        if 0 <= place < 2 * len(plan.steps):
            _go(plan, place // 2 + 1, revealed=bool(place % 2))


def _go(plan: Plan, number: int, revealed: bool) -> None:
    """Go to a step's question or picture. On the step's own page the reader's settings stay."""
    if number == _number() and reader.class_revealed() != revealed:
        reader.apply({"class_revealed": number if revealed else 0})
    else:
        reader.open_lesson(plan.steps[number - 1].lesson, plan.opening(number, revealed=revealed))


def _number() -> int:
    return min(reader.class_step(), len(class_plan.present().steps))


def _step() -> class_plan.Step:
    return class_plan.present().steps[_number() - 1]
