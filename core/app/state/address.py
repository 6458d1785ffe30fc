"""The address of the open page: the state that all lessons share and the settings of this page, each only if it is not
at its default.

The address is always written whole, in one message, since Streamlit makes an entry in the browser's history for each
message. The changes that one action of the reader makes over several runs become one entry
(core/components/page/history.js).

The address is read when a session starts and when the reader goes back or forward in the browser's history; values that
it does not name are at their default. From then on the session leads and the address follows. An invalid value is left
out, with a notice.
"""
import contextlib
import time
import urllib.parse
from collections.abc import Mapping

import streamlit as st

from core.app.compute import cache
from core.app.state import model_choice, notices, prompts
from core.app.state.setting import Setting
from core.app.streamlit import context
from core.base import catalogue, deployment, devices, tables
from core.base.markdown import escaped

# for a prompt in a link, percent-encoded: servers and chat programs refuse longer addresses
MAX_LINK_CHARACTERS = 6_000
SHOWN = "shown"         # in a link: it opens on the picture, without the question before it
# in the session: whether a question stands in place of the picture; the page whose question gives way to its picture
COVERED, LOOKS = "picture_covered", "picture_looked_at"
FOLLOWED = "idea_followed"      # in the session: lesson and element of the idea whose link was followed, and when
# in the session: `settings`; the URL waits; the URL leads for the shared state, and for the settings of the page
SAID, WAITS, LEADS, LEADS_PAGE = "settings_said", "url_waits", "url_leads", "url_leads_page"


def whole_number(text: str) -> int | None:
    """A whole number of 0 or more, clamped later to the run; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def below_one(text: str) -> float | None:
    """A number in [0, 1); None for any other text."""
    with contextlib.suppress(ValueError):
        if 0 <= (xi := float(text)) < 1:
            return xi
    return None


# what a reader can pick in all lessons, in the session as one dict; what is not picked is missing there, or None
SELECTION = {**dict.fromkeys(("layer", "head", "position", "target", "seed"), Setting(0, reads=whole_number)),
             "xi": Setting(0.0, reads=below_one)}


SHARED = "shared_settings"      # of the session: `shared` as it was when the last run of the page began


def shared() -> dict[str, Setting]:
    """The settings that all lessons share, by their key in session and address."""
    return {
        "prompt": Setting(prompts.default_prompt(), reads=prompts.clean_prompt),
        "model": Setting(cache.model_names()[0],
                         reads=lambda name: name if model_choice.can_be_asked_for(name) else None),
        "device": Setting(devices.preferred(), options=devices.available()),
        "present": Setting(False),
        "look": Setting(False),
        "ask": Setting(deployment.current().ask_first),
        "class": Setting(0, reads=whole_number),
        "class_plan": Setting("", reads=str),
        "class_revealed": Setting(0, reads=whole_number),
    }


def open_page() -> None:
    """Continue after `reader.begin`, now that the open page is known: if the URL leads, take its settings; from here on
    the URL follows.

    Leave the address untouched until the first picture is drawn: it means the same, and rewriting it would add an entry
    to the browser's history.
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
    """The run of a whole page has ended: write the reader's further changes to the URL."""
    st.session_state.pop(WAITS, None)


def follow_idea(name: str) -> None:
    """Follow the link of an idea: its lesson opens on the picture, and shows the idea's element."""
    idea = next((idea for idea in tables.ideas() if idea.id == name), None)
    if idea is None:
        notices.notice("notice_url", name=tables.IDEA, value=shortened(name))
        return
    st.session_state[LOOKS] = idea.place.lesson
    st.session_state[FOLLOWED] = (idea.place.lesson, idea.element, str(time.time_ns()))


def followed_element() -> tuple[str, str] | None:
    """The element that the open page must show, and when its link was followed; None if no idea led here."""
    lesson, *shown = st.session_state.get(FOLLOWED, ("",))
    return tuple(shown) if lesson == model_choice.page() else None


def settings() -> dict[str, str | None]:
    """The settings of all pages by key, as an address writes them; None: at its default, so not in the address."""
    return st.session_state.setdefault(SAID, {})


def take_in() -> None:
    """Set the open page's settings from the address; settings that it does not name return to their default."""
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
    """The open page's settings as they stand in the address."""
    return {key: text for key, text in settings().items() if text is not None and _is_of_page(key)}


def write(shared: Mapping[str, str], *, again: bool = False) -> None:
    """Write the shared state and the settings of the open page to the address.

    again: even if the server believes that they are there; a run that the reader left may have overwritten them.
    """
    wanted = {**shared, **of_page()}
    if again or wanted != st.query_params.to_dict():
        st.query_params.from_dict(wanted)


def _is_of_page(key: str) -> bool:
    return key.startswith(f"{model_choice.page()}_")


def let_url_wait() -> None:
    """In a callback: let the next run draw before the URL changes.

    A changed URL makes the browser go over the whole page, and `write_url_now` comes soon.
    """
    st.session_state[WAITS] = True


def write_url_now() -> None:
    """Write the waiting changes to the URL; from here on instruments write theirs at once."""
    st.session_state.pop(WAITS, None)
    write_url()


def write_url() -> None:
    """Write the state to the URL, with one message to the browser and only if it differs; later, if the URL waits.
    """
    if not st.session_state.get(WAITS):
        write(shared_values())


def shared_values(defaults: bool = False) -> dict[str, str]:
    """The shared state as URL values; values at their default are included only with `defaults`."""
    session = st.session_state
    settings = session.get(SHARED) or shared()
    values = {key: written(value) for key, setting in settings.items()
              if (value := session.get(key, setting.default)) != setting.default
              or defaults and key in ("prompt", "model")}
    if not fits_in_link(values.get("prompt", "")):
        values.pop("prompt")
    return values | {key: str(value) for key, value in session.get("selection", {}).items() if value is not None}


def link(settings: dict | None = None, lesson: str | None = None, *, alone: bool = False, brief: bool = False) -> str:
    """A link to the present state: relative to the app, all shared state spelled out, overridden by `settings`
    (None: left out).

    Without `lesson` it is only the query ("?prompt=…"). alone: without the selection and the other settings of lessons.
    brief: as short as this server understands it, for a code that a camera reads: without what is at its default, and
    with + for a space. A prompt of more than MAX_LINK_CHARACTERS is left out.
    """
    values = ({} if alone else of_page()) | shared_values(defaults=not brief)
    values = {key: value for key, value in values.items() if not alone or key not in SELECTION}
    values |= {key: written(value) for key, value in (settings or {}).items()}
    values = {key: value for key, value in values.items() if (settings or {}).get(key, value) is not None}
    if not fits_in_link(values.get("prompt", "")):
        values.pop("prompt")
    query = (urllib.parse.urlencode(values, safe=",.'!") if brief
             else urllib.parse.urlencode(values, quote_via=urllib.parse.quote))
    return (f"./{lesson}" if lesson is not None else "") + "?" + query


def fits_in_link(prompt: str) -> bool:
    return len(urllib.parse.quote(prompt)) <= MAX_LINK_CHARACTERS


def written(value) -> str:
    """A value as the URL writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_url() -> None:
    """Read the shared state from the URL; values that it does not name stay as they are or, if the URL leads, return to
    their default.
    """
    session = st.session_state
    if leads := session[LEADS]:
        session[LEADS_PAGE] = True
    for key, setting in shared().items():
        # a lasting preference, no state of a picture; a prompt too long for an address, which the reader would lose
        stays = not leads or key == "ask" or key == "prompt" and not fits_in_link(session.get("prompt", ""))
        value = taken(key, setting, st.query_params.get(key))
        session[key] = (session.get(key, setting.default) if stays else setting.default) if value is None else value
    session["selection"] = {key: value for key, setting in SELECTION.items()
                            if (value := taken(key, setting, st.query_params.get(key))) is not None}
    # not before: the reader's next action may break this run off at any line, and the next run then reads the URL
    session[LEADS] = False


def taken(key: str, setting: Setting, said: object) -> int | float | str | bool | None:
    """The value that `said` gives a shared setting; None if nothing is said or, with a notice, if that is invalid."""
    value = None if said is None else setting.accept(said)
    if value is None and said is not None:
        notices.notice("notice_url", name=key, value=shortened(str(said)))
    return value


def shortened(value: str) -> str:
    """A URL's value as a notice may show it: short, of plain signs, without Markdown."""
    plain = "".join(c if c.isalnum() or c in " .-_" else "·" for c in value[:24])
    return escaped(plain + ("…" if len(value) > 24 else ""))
