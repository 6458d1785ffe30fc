"""The reader's state: prompt, model, device, selection, present mode, a class and its step.

Read from the URL and written to it here and nowhere else.

The settings of a lesson are read and kept in lesson_settings.py; what all lessons share goes through this file. The URL
is read when a session starts and when the reader goes back or forward in the browser's history: what it does not name
is at its default. From then on the session leads and the URL follows. A value that makes no sense is left out, with a
notice.
"""
import contextlib
import time
import urllib.parse
from dataclasses import dataclass

import streamlit as st

from core.app.base import catalogue, deployment, devices, prose
from core.app.base.markdown import escaped
from core.app.compute import cache
from core.app.state import address, model_choice

# of a prompt in a link, percent-encoded: longer addresses are refused by servers and chat programs
MAX_LINK_CHARACTERS = 6_000
PRESENT_SCALE = 1.6
NOTICE_SECONDS = 10           # a notice outlasts the reruns that a component asks for when it is mounted
_SELECTION = ("layer", "head", "position", "target", "seed", "xi")
# whose first ten ξ on the usual prompt are all below 0.75: no draw from the far tail before the reader asks for one
FIRST_SEED, MOST_SEED = 4, 999_999
# keys of the session; the URL leads in what all lessons share, and in the settings of the page
_URL_WAITS, _URL_LEADS, _URL_LEADS_PAGE = "url_waits", "url_leads", "url_leads_page"
_KEPT = ("prompt", "model", "device", "present", "class", "class_plan", "class_revealed", "ask")
_SHARED = (*_KEPT, *_SELECTION)
OF_A_PICTURE = ("prompt", "model", *_SELECTION)     # of what lessons share, what their pictures show


@dataclass(frozen=True)
class Selection:
    """What the reader has picked in any lesson, within the bounds of the present run.

    `target` None: the likeliest next token. seed, xi: of the dice; `xi` None: as the seed has it.
    """

    layer: int
    head: int
    position: int
    target: int | None
    seed: int = FIRST_SEED
    xi: float | None = None


@dataclass(frozen=True)
class Bounds:
    """Sizes of the present run, which a selection is clamped to, and the position that is selected where
    none was picked.
    """

    n_layers: int
    n_heads: int
    n_tokens: int
    vocab_size: int
    asked: int

    def place(self, position: int | None) -> int:
        """A picked position within the run; where none was picked, the one that is asked about."""
        return self.asked if position is None else _clamp(position, self.n_tokens)


def begin() -> None:
    """Opens a run of the app: takes over what was asked for in the last one, else the URL where it leads.

    Call before any widget, and `open_page` as soon as it is known which page is open.
    """
    session = st.session_state
    session.pop(_URL_WAITS, None)
    session["notices"] = {told: at for told, at in session.get("notices", {}).items()
                          if time.monotonic() - at < NOTICE_SECONDS}
    if address.is_from_history():
        session.pop("asked_for", None)
        session[_URL_LEADS] = True
    # A run that was broken off before the prompt bar may have taken the prompt's widget, and what it held, with it.
    if session.setdefault(_URL_LEADS, True) or any(key not in session for key in _KEPT):
        _read_url()
    _take_over_all(session.get("asked_for", {}))
    if not model_choice.can_be_asked_for(session["model"]):            # one that a reader trained has given its place
        notice("notice_url", name="model", value=_shortened(session["model"]))
        session["model"] = cache.model_names()[0]
    for key in _KEPT:
        session[key] = session[key]   # a widget's value survives a run in which it was not drawn


def open_page() -> None:
    """Goes on where `begin` ended, now that the open page is known: its settings are those of the URL where that leads,
    and from here on the URL follows.

    A link stays as it was written until the first picture stands: it means the same, and the browser would make an
    entry of its history of the change.
    """
    session, returning = st.session_state, address.is_from_history()
    if session.get(_URL_LEADS_PAGE):
        address.take_in()
        session[_URL_WAITS] = not returning
        session[_URL_LEADS_PAGE] = False
    if not session.get(_URL_WAITS):
        address.write(_shared_values(), again=returning)


def close_page() -> None:
    """The run of a whole page has ended: what the reader does from here on goes into the URL."""
    st.session_state.pop(_URL_WAITS, None)


def default_prompt() -> str:
    return example_prompts()[0]


def picture_defaults() -> dict:
    """OF_A_PICTURE at its defaults, as `open_lesson` and `link` take it."""
    return {"prompt": default_prompt(), "model": cache.model_names()[0]} | dict.fromkeys(_SELECTION)


def example_prompts() -> tuple[str, ...]:
    """The good prompts of assets/text, one a line, `\\n` for a new line."""
    return tuple(line.replace("\\n", "\n") for line in prose.load("app").section("prompts").splitlines()
                 if line.strip())


def notice(key: str, **values) -> None:
    """Adds a plain sentence (a label of app.md) to what the frame tells the reader, in this run and those of
    the next seconds.
    """
    st.session_state.setdefault("notices", {})[prose.load("app").label(key, **values)] = time.monotonic()


def notices() -> list[str]:
    return list(st.session_state.get("notices", {}))


def clean_prompt(typed: str) -> str:
    """A typed or pasted text as it is kept: line ends as \\n, its last characters, as many as are allowed."""
    most = deployment.current().prompt_characters
    return typed[-2 * most:].replace("\r\n", "\n").replace("\r", "\n")[-most:]


def take_typed_prompt() -> bool:
    """Callback of the prompt's text area: what was typed or pasted is cut to a length that can be worked with, and
    the reader told. Returns whether it was short enough.
    """
    typed = st.session_state["prompt"]
    _forget_xi()
    st.session_state["prompt"] = clean_prompt(typed)
    if not (fits := len(typed) <= deployment.current().prompt_characters):
        say_cut(len(typed))
    return fits


def say_cut(n: int) -> None:
    """Callback: a prompt of n characters was too long, and its last ones were kept."""
    st.session_state["asked_for"] = {"notice": ("notice_too_long",
                                                {"n": n, "kept": deployment.current().prompt_characters})}


def set_prompt(prompt: str) -> None:
    """Makes `prompt` the prompt of all lessons and runs the app again.

    Works in callbacks, in pages and in fragments.
    """
    apply({"prompt": prompt})


def append_token(token_id: int) -> None:
    """Appends a token's text to the prompt and runs the app again.

    A token that is no text by itself is refused with a notice.
    """
    loaded = cache.shared_model(model_choice.shown(), device())
    piece = loaded.tokenizer.decode([token_id])
    if not piece or "\ufffd" in piece:
        apply({"notice": ("notice_partial_character" if piece else "notice_end_of_text", {})})
    else:
        apply({"prompt": st.session_state["prompt"] + piece})


def apply(settings: dict) -> None:
    """Sets any of prompt, model, device, present, layer, head, position, target and any widget's key, and runs
    the app again.
    """
    st.session_state["asked_for"] = st.session_state.get("asked_for", {}) | settings
    st.rerun()


def open_lesson(lesson: str, settings: dict) -> None:
    """Goes to a lesson, with `settings` as `apply` takes them. Not in callbacks: no page can be left there."""
    session = st.session_state
    # all that lessons share is taken along: a prompt bar that is left while it is drawn loses what its fields held
    kept = {key: session[key] for key in _KEPT} | session.get("selection", {})
    session["asked_for"] = kept | session.get("asked_for", {}) | settings
    # as it is, since this page's address is no state of that one; the run of that one writes its own
    st.switch_page(catalogue.page_path(lesson), query_params=st.query_params.to_dict())


def fall_back_to_cpu() -> None:
    """Moves the model to the CPU, says so, and runs the app again."""
    apply({"notice": ("notice_cpu", {"device": prose.load("app").label(f"device_{device()}")}), "device": devices.CPU})


def let_url_wait() -> None:
    """In a callback: the run that follows draws first.

    A changed URL makes the browser go over the whole page, and `write_url_now` comes soon.
    """
    st.session_state[_URL_WAITS] = True


def write_url_now() -> None:
    """What was waiting goes into the URL, and so does what instruments read and keep from here on."""
    st.session_state.pop(_URL_WAITS, None)
    write_url()


def select(**chosen: int | None) -> None:
    """Picks layer, head, position, target, seed or ξ for all lessons.

    In a callback the run that follows sees it; elsewhere the next read does.
    """
    if unknown := set(chosen) - set(_SELECTION):
        raise ValueError(f"What can be selected is {', '.join(_SELECTION)}, not {', '.join(sorted(unknown))}.")
    st.session_state["selection"] = st.session_state.get("selection", {}) | chosen
    write_url()


def selection() -> Selection:
    """The reader's selection, clamped to the present run (`Lesson.run` says its sizes); the position that `Run.asked`
    names unless another was picked.

    The URL then says it: a request that was on its way while another picked something else brings the old one back.
    """
    chosen = st.session_state.get("selection", {})
    if chosen:
        write_url()
    bounds = st.session_state.get("bounds", Bounds(1, 1, 1, 1, 0))
    position = picked_position()
    target = chosen.get("target")
    return Selection(
        layer=_clamp(chosen.get("layer") or 0, bounds.n_layers),
        head=_clamp(chosen.get("head") or 0, bounds.n_heads),
        position=bounds.place(position),
        target=None if target is None else _clamp(target, bounds.vocab_size),
        seed=_clamp(FIRST_SEED if chosen.get("seed") is None else chosen["seed"], MOST_SEED + 1),
        xi=chosen.get("xi"),
    )


def picked_position() -> int | None:
    """The position that the reader picked, not clamped to any run; None: whichever is asked about."""
    return st.session_state.get("selection", {}).get("position")


def picked_layer() -> int | None:
    """The block that the reader picked, not clamped to any run; None: none was."""
    return st.session_state.get("selection", {}).get("layer")


def picked_head() -> bool:
    """Whether the reader has picked a block or a head."""
    chosen = st.session_state.get("selection", {})
    return any(chosen.get(name) is not None for name in ("layer", "head"))


def settings_of(lesson: str) -> dict:
    """The shared state and the lesson's settings as `apply` and `link` take them: the present state, to return to."""
    session = st.session_state
    own = {key: session[key] for key in address.settings() if key.startswith(f"{lesson}_") and key in session}
    chosen = {key: session.get("selection", {}).get(key) for key in _SELECTION}
    return {"prompt": session["prompt"], "model": session["model"]} | chosen | own


def set_bounds(bounds: Bounds) -> None:
    st.session_state["bounds"] = bounds


def prompt() -> str:
    return st.session_state["prompt"]


def device() -> str:
    return st.session_state["device"]


def present() -> bool:
    """Whether present mode is on: larger type, one picture at a time."""
    return bool(st.session_state.get("present", False))


def ask_first() -> bool:
    """Whether each picture's question is asked before the picture tells."""
    return bool(st.session_state["ask"])


def set_ask_first(wanted: bool) -> None:
    """In a callback: ask from here on, or ask no more."""
    st.session_state["ask"] = wanted
    write_url()


def class_step() -> int:
    """The step of the class that is being taught in present mode, from 1; 0: none is."""
    return int(st.session_state.get("class", 0)) if present() else 0


def class_plan() -> str:
    """The plan of that class as the address has it; "": the usual one."""
    return st.session_state.get("class_plan", "")


def class_revealed() -> bool:
    """Whether the class has answered the present step's question and sees its picture."""
    return st.session_state.get("class_revealed", 0) == class_step()


def scale() -> float:
    """How much larger type and marks are drawn than usual: above 1 in present mode."""
    return PRESENT_SCALE if present() else 1.0


def theme() -> str:
    """"light" or "dark", as the reader's browser shows the app."""
    return "dark" if st.context.theme.type == "dark" else "light"


def link(settings: dict | None = None, lesson: str | None = None, *, alone: bool = False) -> str:
    """A link to the present state: relative to the app, all shared state spelled out, `settings` put over it
    (None: left out).

    Without `lesson` it is only the query ("?prompt=…"). alone: without the selection and the other settings of lessons.
    A prompt of more than MAX_LINK_CHARACTERS is left out.
    """
    values = address.of_page() | _shared_values(defaults=True)
    values = {key: value for key, value in values.items() if key in _KEPT or not alone}
    values |= {key: written(value) for key, value in (settings or {}).items()}
    values = {key: value for key, value in values.items() if (settings or {}).get(key, value) is not None}
    if not fits_in_link(values.get("prompt", "")):
        values.pop("prompt")
    return ((f"./{lesson}" if lesson is not None else "") + "?"
            + urllib.parse.urlencode(values, quote_via=urllib.parse.quote))


def fits_in_link(prompt: str) -> bool:
    return len(urllib.parse.quote(prompt)) <= MAX_LINK_CHARACTERS


def _read_url() -> None:
    """What all lessons share, as the URL says it; what it does not name keeps its value, or is at its default where the
    URL leads.
    """
    query, session = st.query_params, st.session_state
    if leads := session[_URL_LEADS]:
        session[_URL_LEADS_PAGE] = True
    kept = {} if leads else session
    # a prompt that no address can say stays: the reader would lose it
    own = session if not fits_in_link(session.get("prompt", "")) else kept
    session["prompt"] = clean_prompt(query["prompt"]) if "prompt" in query else own.get("prompt", default_prompt())
    for key, allowed, default in (("model", model_choice.can_be_asked_for, cache.model_names()[0]),
                                  ("device", devices.available().__contains__, devices.preferred())):
        session[key] = kept.get(key, default)
        if key in query:
            if allowed(query[key]):
                session[key] = query[key]
            else:
                notice("notice_url", name=key, value=_shortened(query[key]))
    session["present"] = query.get("present", "").lower() in ("true", "1")
    # a standing wish, no state of a picture: it stays until an address says otherwise
    session["ask"] = {"true": True, "1": True, "false": False, "0": False}.get(
        query.get("ask", "").lower(), session.get("ask", deployment.current().ask_first))
    for key in ("class", "class_revealed"):
        session[key] = _whole_number(key) or 0
    session["class_plan"] = query.get("class_plan", "")
    session["selection"] = {key: number for key in _SELECTION if (number := _read_number(key)) is not None}
    # not before: whatever the reader does next may break this run off at any line, and the next run then reads it
    session[_URL_LEADS] = False


def _read_number(key: str) -> int | float | None:
    """A selection's value in the URL: ξ in [0, 1), every other a whole number; None for what makes no sense."""
    if key != "xi" or "xi" not in st.query_params:
        return _whole_number(key)
    with contextlib.suppress(ValueError):
        if 0 <= (xi := float(st.query_params["xi"])) < 1:
            return xi
    notice("notice_url", name=key, value=_shortened(st.query_params["xi"]))
    return None


def _forget_xi() -> None:
    """Another prompt: a ξ that was set by hand belonged to the last one."""
    st.session_state["selection"] = st.session_state.get("selection", {}) | {"xi": None}


def _whole_number(key: str) -> int | None:
    """A selection's value in the URL, clamped later to the run; None, with a notice, for what is no whole number
    of at least 0.
    """
    text = st.query_params.get(key)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    notice("notice_url", name=key, value=_shortened(text))
    return None


def _shortened(value: str) -> str:
    """A URL's value as a notice may show it: short, of plain signs, and with no Markdown in it."""
    plain = "".join(c if c.isalnum() or c in " .-_" else "·" for c in value[:24])
    return escaped(plain + ("…" if len(value) > 24 else ""))


def _take_over_all(asked: dict) -> None:
    """What was asked for in the last run.

    It goes when all of it has been taken over: a run that is broken off before leaves it to the next.
    """
    try:
        for key in sorted(asked, key=("prompt", "model").__contains__, reverse=True):      # they forget an earlier ξ
            _take_over(key, asked[key])
    except Exception:
        st.session_state.pop("asked_for", None)
        raise
    st.session_state.pop("asked_for", None)


def _take_over(key: str, value) -> None:
    session = st.session_state
    if key == "notice":
        notice(value[0], **value[1])
    elif key == "prompt":
        if session["prompt"] != (prompt := clean_prompt(str(value))):
            _forget_xi()
        session["prompt"] = prompt
    elif key in _SELECTION:
        session["selection"] = session.get("selection", {}) | {key: value}
    elif key != "model" or model_choice.can_be_asked_for(value):
        session[key] = value
        if key not in _SHARED:
            address.settings()[key] = written(value)


def _shared_values(defaults: bool = False) -> dict[str, str]:
    """The shared state as URL values; what has its default value only where `defaults` asks for it."""
    session = st.session_state
    values = {"prompt": session["prompt"]} if defaults or session["prompt"] != default_prompt() else {}
    if not fits_in_link(values.get("prompt", "")):
        values.pop("prompt")
    if defaults or session["model"] != cache.model_names()[0]:
        values["model"] = session["model"]
    if session["device"] != devices.preferred():
        values["device"] = session["device"]
    if session.get("present"):
        values["present"] = "true"
    ask, usual = session.get("ask"), deployment.current().ask_first
    if ask not in (None, usual):
        values["ask"] = written(ask)
    values |= {key: str(session[key]) for key in ("class", "class_plan", "class_revealed") if session.get(key)}
    return values | {key: str(value) for key, value in session.get("selection", {}).items() if value is not None}


def write_url() -> None:
    """Makes the URL say the state, with one message to the browser and only where it says something else; later, if it
    waits.
    """
    if not st.session_state.get(_URL_WAITS):
        address.write(_shared_values())


def written(value) -> str:
    """A value as the URL says it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _clamp(value: int, size: int) -> int:
    return min(max(value, 0), size - 1)
