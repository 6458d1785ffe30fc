"""What the address of the open page says: what all lessons share, and the settings of this page, each where it is not
at its default.

It is always written whole, in one message, since Streamlit makes an entry of the browser's history of each. What one
deed of the reader has written in several runs is one entry in the browser (core/components/page/history.js).

It is read when a session starts and when the reader goes back or forward in the browser's history: what it does not
name is at its default. From then on the session leads and the address follows. A value that makes no sense is left out,
with a notice.
"""
import contextlib
import time
import urllib.parse
from collections.abc import Mapping

import streamlit as st

from core.app.base import catalogue, deployment, devices, tables
from core.app.base.markdown import escaped
from core.app.compute import cache
from core.app.state import model_choice, notices, prompts
from core.app.streamlit import context

# of a prompt in a link, percent-encoded: longer addresses are refused by servers and chat programs
MAX_LINK_CHARACTERS = 6_000
SELECTION = ("layer", "head", "position", "target", "seed", "xi")
KEPT = ("prompt", "model", "device", "present", "class", "class_plan", "class_revealed", "ask", "look")
SHARED = (*KEPT, *SELECTION)
SHOWN = "shown"         # in a link: its picture stands, and the question before it is not asked
# in the session: whether a question stands in place of the picture; the page whose question gives way to its picture
COVERED, LOOKS = "picture_covered", "picture_looked_at"
FOLLOWED = "idea_followed"      # in the session: lesson and element of the idea whose link was followed, and when
# in the session: `settings`; the URL waits; it leads in what all lessons share, and in the settings of the page
SAID, WAITS, LEADS, LEADS_PAGE = "settings_said", "url_waits", "url_leads", "url_leads_page"


def open_page() -> None:
    """Goes on where `reader.begin` ended, now that the open page is known: its settings are those of the URL where that
    leads, and from here on the URL follows.

    A link stays as it was written until the first picture stands: it means the same, and the browser would make an
    entry of its history of the change.
    """
    session, returning = st.session_state, context.is_from_history()
    if session.get(LEADS_PAGE):
        take_in()
        if SHOWN in st.query_params:
            session[LOOKS] = model_choice.page()
        if tables.IDEA in st.query_params:
            follow_idea(st.query_params[tables.IDEA])
        session[WAITS] = not returning
        session[LEADS_PAGE] = False
    if not session.get(WAITS):
        write(shared_values(), again=returning)


def close_page() -> None:
    """The run of a whole page has ended: what the reader does from here on goes into the URL."""
    st.session_state.pop(WAITS, None)


def follow_idea(name: str) -> None:
    """The link of an idea was followed: its lesson opens on the picture, and shows the idea's element."""
    idea = next((idea for idea in tables.ideas() if idea.id == name), None)
    if idea is None:
        notices.notice("notice_url", name=tables.IDEA, value=shortened(name))
        return
    st.session_state[LOOKS] = idea.place.lesson
    st.session_state[FOLLOWED] = (idea.place.lesson, idea.element, str(time.time_ns()))


def followed_element() -> tuple[str, str] | None:
    """The element that the open page is to show, and when its link was followed; None where no idea led here."""
    lesson, *shown = st.session_state.get(FOLLOWED, ("",))
    return tuple(shown) if lesson == model_choice.page() else None


def settings() -> dict[str, str | None]:
    """The settings of all pages by their keys, as an address says them; None: at its default, so it says nothing."""
    return st.session_state.setdefault(SAID, {})


def take_in() -> None:
    """The open page's settings are what the address says; those that it does not name are at their default again."""
    said, query = settings(), st.query_params.to_dict()
    for key in [key for key in said if _is_of_page(key)]:
        del said[key]
        st.session_state.pop(key, None)
    said.update({key: text for key, text in query.items() if _is_of_page(key)})
    # the short forms of a link, to the glossary and to a step of the tour
    if model_choice.page() == catalogue.COURSE and "term" in query:
        said.update({"course_view": "glossary", "course_term": query["term"]})
    if model_choice.page() == catalogue.TOUR and "tour" in query:
        said["tour_step"] = query["tour"]


def of_page() -> dict[str, str]:
    """What the address says of the open page's settings."""
    return {key: text for key, text in settings().items() if text is not None and _is_of_page(key)}


def write(shared: Mapping[str, str], *, again: bool = False) -> None:
    """Makes the address say what all lessons share, and the settings of the open page.

    again: also where the server believes that it does; a run that the reader left may have written over it.
    """
    wanted = {**shared, **of_page()}
    if again or wanted != st.query_params.to_dict():
        st.query_params.from_dict(wanted)


def _is_of_page(key: str) -> bool:
    return key.startswith(f"{model_choice.page()}_")


def let_url_wait() -> None:
    """In a callback: the run that follows draws first.

    A changed URL makes the browser go over the whole page, and `write_url_now` comes soon.
    """
    st.session_state[WAITS] = True


def write_url_now() -> None:
    """What was waiting goes into the URL, and so does what instruments read and keep from here on."""
    st.session_state.pop(WAITS, None)
    write_url()


def write_url() -> None:
    """Makes the URL say the state, with one message to the browser and only where it says something else; later, if it
    waits.
    """
    if not st.session_state.get(WAITS):
        write(shared_values())


def shared_values(defaults: bool = False) -> dict[str, str]:
    """The shared state as URL values; what has its default value only where `defaults` asks for it."""
    session = st.session_state
    values = {"prompt": session["prompt"]} if defaults or session["prompt"] != prompts.default_prompt() else {}
    if not fits_in_link(values.get("prompt", "")):
        values.pop("prompt")
    if defaults or session["model"] != cache.model_names()[0]:
        values["model"] = session["model"]
    if session["device"] != devices.preferred():
        values["device"] = session["device"]
    if session.get("present"):
        values["present"] = "true"
    if session.get("look"):
        values["look"] = "true"
    ask, usual = session.get("ask"), deployment.current().ask_first
    if ask not in (None, usual):
        values["ask"] = written(ask)
    values |= {key: str(session[key]) for key in ("class", "class_plan", "class_revealed") if session.get(key)}
    return values | {key: str(value) for key, value in session.get("selection", {}).items() if value is not None}


def link(settings: dict | None = None, lesson: str | None = None, *, alone: bool = False) -> str:
    """A link to the present state: relative to the app, all shared state spelled out, `settings` put over it
    (None: left out).

    Without `lesson` it is only the query ("?prompt=…"). alone: without the selection and the other settings of lessons.
    A prompt of more than MAX_LINK_CHARACTERS is left out.
    """
    values = of_page() | shared_values(defaults=True)
    values = {key: value for key, value in values.items() if key in KEPT or not alone}
    values |= {key: written(value) for key, value in (settings or {}).items()}
    values = {key: value for key, value in values.items() if (settings or {}).get(key, value) is not None}
    if not fits_in_link(values.get("prompt", "")):
        values.pop("prompt")
    return ((f"./{lesson}" if lesson is not None else "") + "?"
            + urllib.parse.urlencode(values, quote_via=urllib.parse.quote))


def fits_in_link(prompt: str) -> bool:
    return len(urllib.parse.quote(prompt)) <= MAX_LINK_CHARACTERS


def written(value) -> str:
    """A value as the URL says it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_url() -> None:
    """What all lessons share, as the URL says it; what it does not name keeps its value, or is at its default where the
    URL leads.
    """
    query, session = st.query_params, st.session_state
    if leads := session[LEADS]:
        session[LEADS_PAGE] = True
    kept = {} if leads else session
    # a prompt that no address can say stays: the reader would lose it
    own = session if not fits_in_link(session.get("prompt", "")) else kept
    session["prompt"] = (prompts.clean_prompt(query["prompt"]) if "prompt" in query
                         else own.get("prompt", prompts.default_prompt()))
    for key, allowed, default in (("model", model_choice.can_be_asked_for, cache.model_names()[0]),
                                  ("device", devices.available().__contains__, devices.preferred())):
        session[key] = kept.get(key, default)
        if key in query:
            if allowed(query[key]):
                session[key] = query[key]
            else:
                notices.notice("notice_url", name=key, value=shortened(query[key]))
    session["present"] = query.get("present", "").lower() in ("true", "1")
    # a standing wish, no state of a picture: it stays until an address says otherwise
    session["ask"] = {"true": True, "1": True, "false": False, "0": False}.get(
        query.get("ask", "").lower(), session.get("ask", deployment.current().ask_first))
    session["look"] = query.get("look", "").lower() in ("true", "1")
    for key in ("class", "class_revealed"):
        session[key] = _whole_number(key, query.get(key)) or 0
    session["class_plan"] = query.get("class_plan", "")
    session["selection"] = {key: number for key in SELECTION if (number := selected(key, query.get(key))) is not None}
    # not before: whatever the reader does next may break this run off at any line, and the next run then reads it
    session[LEADS] = False


def selected(key: str, text: str | None) -> int | float | None:
    """A selection's value as an address says it: ξ in [0, 1), every other a whole number; None for what is not said,
    and, with a notice, for what makes no sense.
    """
    if key != "xi" or text is None:
        return _whole_number(key, text)
    with contextlib.suppress(ValueError):
        if 0 <= (xi := float(text)) < 1:
            return xi
    notices.notice("notice_url", name=key, value=shortened(text))
    return None


def _whole_number(key: str, text: str | None) -> int | None:
    """A selection's value, clamped later to the run; None, with a notice, for what is no whole number of at least 0."""
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    notices.notice("notice_url", name=key, value=shortened(text))
    return None


def shortened(value: str) -> str:
    """A URL's value as a notice may show it: short, of plain signs, and with no Markdown in it."""
    plain = "".join(c if c.isalnum() or c in " .-_" else "·" for c in value[:24])
    return escaped(plain + ("…" if len(value) > 24 else ""))
