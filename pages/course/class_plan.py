"""Classes to teach: the plans of the course's text, and the reader's own, which is changed here."""
import streamlit as st

from core.app.lesson import Lesson
from core.app.state import reader
from core.app.state.fragments import rerun
from core.app.teaching import class_plan, own_class
from core.app.teaching.class_plan import Plan
from core.base import catalogue, prose
from core.components import addresses
from core.sheets import handout
from pages.course.pictures import picture
from pages.course.shared import OWN, SETTINGS

NO_FILE = "course_no_file"       # key of the session: what was just opened as a class is none


def draw(page: Lesson) -> None:
    """Draw the control of the plan, and the picked plan step by step, or its handout."""
    plan = _picked(page)
    if SETTINGS.read("handout") and plan.steps:
        _handout(page, plan)
    else:
        _plan(page, plan)
    own_class.in_browser("course_own_class")


def _picked(page: Lesson) -> Plan:
    """The plan that is picked in a row of buttons: the text's, the reader's own, or one that came in a link."""
    plans = class_plan.plans()
    own = Plan(own_class.packed(own_class.steps()), page.label("plan_own"), "", own_class.steps())
    name = SETTINGS.read("plan")
    linked = {} if name in (*plans, OWN) or not (found := class_plan.own(name)) else {name: found}
    if name not in (*plans, OWN, *linked):
        SETTINGS.keep(plan=class_plan.USUAL)
    known = plans | {OWN: own} | linked
    titles = {key: one.title for key, one in known.items()} | dict.fromkeys(linked, page.label("plan_linked"))
    picked = st.segmented_control(page.label("plan"), list(known), format_func=titles.get, required=True, wrap=True,
                                  label_visibility="collapsed", **SETTINGS.attached("plan", rerun))
    return known[picked]


def _plan(page: Lesson, plan: Plan) -> None:
    is_own, app = SETTINGS.read("plan") == OWN, prose.load("app")
    rows = [{"id": str(number), "title": step.title, "from": start, "minutes": step.minutes, "ask": step.ask,
             "options": "\n".join(step.options), "lesson": app.label(f"lesson_{step.lesson}"), "look": step.look}
            for number, (step, start) in enumerate(zip(plan.steps, plan.starts), 1)]
    packed = own_class.packed(plan.steps)
    header = {"title": plan.title, "about": plan.about, "steps": rows, "own": is_own, "undo": own_class.can_undo(),
              "no_file": st.session_state.pop(NO_FILE, False),
              "file": own_class.file(plan.steps),
              "fits": len(packed) <= own_class.MOST_CHARACTERS, "packed": packed,
              "origin": addresses.reachable(st.context.url or "")[0]}
    picture(page, "class", header, _places(plan), lambda deed: _change(page, plan, deed))


def _places(plan: Plan) -> dict[str, tuple[str, dict]]:
    """The way to each step, which is open, and to the first one, which begins the class and is covered."""
    usual = reader.picture_defaults()
    places = {str(number): (step.lesson, usual | step.settings) for number, step in enumerate(plan.steps, 1)}
    return places | ({"start": (plan.steps[0].lesson, plan.opening(1))} if plan.steps else {})


def _change(page: Lesson, plan: Plan, deed: dict) -> None:
    """Callback: what the reader did to the plan, by its name and, where it is about one step, that step's index."""
    steps, kind, number = own_class.steps(), deed.get("deed"), deed.get("number")
    if kind == "mine":
        own_class.keep(plan.steps)
        SETTINGS.keep(plan=OWN)
    elif kind == "undo":
        own_class.undo()
    elif kind == "handout":
        SETTINGS.keep(handout=bool(deed.get("on")))
    elif kind == "file":
        if taken := own_class.of_file(str(deed.get("text"))):
            own_class.keep(taken)
            SETTINGS.keep(plan=OWN)
        else:
            st.session_state[NO_FILE] = True
    elif isinstance(number, int) and 0 <= number < len(steps):
        own_class.keep(own_class.moved(steps, number, int(deed.get("by", 0))) if kind == "move"
                       else own_class.edited(steps, number, dict(deed.get("values", {}))) if kind == "edit"
                       else (*steps[:number], *steps[number + 1:]))


def _handout(page: Lesson, plan: Plan) -> None:
    """The page to print: each step's question, room to write, and room for its picture, which the browser fetches."""
    minutes = page.label("class_minutes", n=len(plan.steps), minutes=plan.starts[-1])
    words = {name: page.label(f"handout_{name}") for name in ("name", "guess", "seen")}
    steps = [(step.title, " · ".join((step.ask, *step.options)), step.look) for step in plan.steps]
    file = handout.printable(page.label("handout_title", title=plan.title), minutes, steps, words)
    picture(page, "handout", {"file": file, "name": catalogue.COURSE, "n": len(plan.steps)}, _places(plan),
            lambda deed: _change(page, plan, deed))
