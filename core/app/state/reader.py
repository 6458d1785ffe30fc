"""The reader's state: prompt, model, device, selection, present mode, a class and its step.

The settings of a lesson are read and kept in lesson_settings.py; the state that all lessons share goes through this
file. Both stand in the address, which address.py reads and writes.
"""
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core.app.compute import cache
from core.app.state import address, model_choice, notices, prompts
from core.app.state.address import SELECTION
from core.app.state.setting import Setting
from core.app.streamlit import context
from core.base import catalogue, deployment, devices, prose, tables

PRESENT_SCALE = 1.6
# the first ten ξ of FIRST_SEED on the default prompt are below 0.75: no draw from the far tail unless a reader asks
FIRST_SEED, MOST_SEED = 4, 999_999
OF_A_PICTURE = ("prompt", "model", *SELECTION)     # the part of the shared state that pictures show


@dataclass(frozen=True)
class Selection:
    """The reader's picks, shared by all lessons, within the bounds of the present run.

    `target` None: the likeliest next token. seed, xi: of the dice; `xi` None: computed from the seed.
    """

    layer: int
    head: int
    position: int
    target: int | None
    seed: int = FIRST_SEED
    xi: float | None = None


@dataclass(frozen=True)
class Bounds:
    """Sizes of the present run, to which a selection is clamped, and `asked`, the position selected if none was picked.
    """

    n_layers: int
    n_heads: int
    n_tokens: int
    vocab_size: int
    asked: int

    def place(self, position: int | None) -> int:
        """A picked position, clamped to the run; `asked` if none was picked."""
        return self.asked if position is None else _clamp(position, self.n_tokens)


def begin() -> None:
    """Open a run of the app: read the URL if it leads, then take over what was asked for in the last run.

    Call before any widget, and `address.open_page` as soon as it is known which page is open.
    """
    session, shared = st.session_state, address.shared()
    session[address.SHARED] = shared
    session.pop(address.WAITS, None)
    notices.keep_new()
    if context.is_from_history():
        session.pop("asked_for", None)
        session[address.LEADS] = True
        context.note_history()
    # A run that was broken off before the prompt bar may have lost the prompt's widget with its text.
    if session.setdefault(address.LEADS, True) or any(key not in session for key in shared):
        address.read_url()
    _take_over_all(session.get("asked_for", {}), shared)
    if not model_choice.can_be_asked_for(session["model"]):            # a reader's own model was dropped
        notices.notice("notice_url", name="model", value=address.shortened(session["model"]))
        session["model"] = cache.model_names()[0]
    for key in shared:
        session[key] = session[key]   # a widget's value survives a run in which it was not drawn


def picture_defaults() -> dict:
    """OF_A_PICTURE at its defaults, in the form for `open_lesson` and `link`."""
    return {"prompt": prompts.default_prompt(), "model": cache.model_names()[0]} | dict.fromkeys(SELECTION)


def take_typed_prompt() -> bool:
    """Callback of the prompt's text area: cut a typed or pasted text that is too long, and tell the reader. Return
    whether it was short enough.
    """
    typed = st.session_state["prompt"]
    _forget_xi()
    st.session_state["prompt"] = prompts.clean_prompt(typed)
    if not (fits := len(typed) <= deployment.current().prompt_characters):
        say_cut(len(typed))
    return fits


def say_cut(n: int) -> None:
    """Callback: tell the reader that a prompt of n characters was too long and only its end was kept."""
    st.session_state["asked_for"] = {"notice": ("notice_too_long",
                                                {"n": n, "kept": deployment.current().prompt_characters})}


def set_prompt(prompt: str) -> None:
    """Make `prompt` the prompt of all lessons and run the app again.

    Works in callbacks, in pages and in fragments.
    """
    apply({"prompt": prompt})


def append_token(token_id: int) -> None:
    """Append a token's text to the prompt and run the app again.

    A token that is no text by itself is refused with a notice.
    """
    loaded = cache.shared_model(model_choice.shown(), device())
    piece = loaded.tokenizer.decode([token_id]) if loaded.tokenizer.token_bytes(token_id) else ""
    if not piece or "\ufffd" in piece:
        apply({"notice": ("notice_partial_character" if piece else "notice_end_of_text", {})})
    else:
        apply({"prompt": st.session_state["prompt"] + piece})


def apply(settings: dict) -> None:
    """Set any of prompt, model, device, present, layer, head, position, target and any widget's key, and run the app
    again.
    """
    st.session_state["asked_for"] = st.session_state.get("asked_for", {}) | settings
    st.rerun()


def open_lesson(lesson: str, settings: dict) -> None:
    """Go to a lesson, with `settings` as for `apply`. Not for callbacks, in which no page can be left."""
    session = st.session_state
    # all shared state is taken along: a prompt bar that is left while it is drawn loses the values of its fields
    kept = {key: session[key] for key in address.shared()} | session.get("selection", {})
    session["asked_for"] = kept | session.get("asked_for", {}) | settings
    # the query stays as it is: it says nothing of the new page, whose own run writes its own
    st.switch_page(catalogue.page_path(lesson), query_params=st.query_params.to_dict())


def fall_back_to_cpu() -> None:
    """Move the model to the CPU, say so, and run the app again."""
    apply({"notice": ("notice_cpu", {"device": prose.load("app").label(f"device_{device()}")}), "device": devices.CPU})


def select(**chosen: int | None) -> None:
    """Pick layer, head, position, target, seed or ξ for all lessons.

    After a callback the next run sees it; elsewhere the next read does. Raises ValueError for any other name.
    """
    if unknown := set(chosen) - set(SELECTION):
        raise ValueError(f"What can be selected is {', '.join(SELECTION)}, not {', '.join(sorted(unknown))}.")
    st.session_state["selection"] = st.session_state.get("selection", {}) | chosen
    address.write_url()


def selection() -> Selection:
    """The reader's selection, clamped to the present run (`Lesson.run` sets its sizes); its position is `Run.asked`
    unless another was picked.

    It is written to the URL again: a request that was on its way during a new pick brings the old selection back.
    """
    chosen = st.session_state.get("selection", {})
    if chosen:
        address.write_url()
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
    """The position that the reader picked, not clamped to any run; None: the one that is asked about."""
    return st.session_state.get("selection", {}).get("position")


def picked_layer() -> int | None:
    """The block that the reader picked, not clamped to any run; None if none was picked."""
    return st.session_state.get("selection", {}).get("layer")


def picked_head() -> bool:
    """Whether the reader has picked a block or a head."""
    chosen = st.session_state.get("selection", {})
    return any(chosen.get(name) is not None for name in ("layer", "head"))


def settings_of(lesson: str) -> dict:
    """The shared state and the lesson's settings, for `apply` and `link`: the present state, to return to."""
    session = st.session_state
    own = {key: session[key] for key in address.settings() if key.startswith(f"{lesson}_") and key in session}
    chosen = {key: session.get("selection", {}).get(key) for key in SELECTION}
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


def leaves_out(key: str) -> bool:
    """Whether present mode leaves out the part of the page with this key; it shows a part to which an idea led."""
    led_to, _ = address.followed_element() or ("", "")
    return present() and not led_to.startswith(f".st-key-{key}")


def looks_on() -> bool:
    """Whether the page shows a picture alone, without controls, as on a phone that follows its teacher."""
    return bool(st.session_state.get("look", False))


def ask_first() -> bool:
    """Whether each picture's question is asked before the picture is shown."""
    return bool(st.session_state["ask"])


def set_ask_first(wanted: bool) -> None:
    """In a callback: ask questions from now on, or no more."""
    st.session_state["ask"] = wanted
    address.write_url()


def class_step() -> int:
    """The step of the class that is being taught in present mode, from 1; 0 if none is."""
    return int(st.session_state.get("class", 0)) if present() else 0


def class_plan() -> str:
    """The plan of that class as it stands in the address; "": the usual one."""
    return st.session_state.get("class_plan", "")


def class_revealed() -> bool:
    """Whether the class has answered the present step's question and sees its picture."""
    return st.session_state.get("class_revealed", 0) == class_step()


def scale() -> float:
    """The scale of type and marks: 1, and more in present mode."""
    return PRESENT_SCALE if present() else 1.0


def theme() -> str:
    """"light" or "dark", as the reader's browser shows the app."""
    return "dark" if st.context.theme.type == "dark" else "light"


def _forget_xi() -> None:
    """Forget a ξ that was set by hand: it belonged to the previous prompt."""
    st.session_state["selection"] = st.session_state.get("selection", {}) | {"xi": None}


def _take_over_all(asked: dict, shared: Mapping[str, Setting]) -> None:
    """Take over what was asked for in the last run.

    It is dropped once all of it has been taken over: a run that is broken off before that leaves it to the next.
    """
    try:
        for key in sorted(asked, key=("prompt", "model").__contains__, reverse=True):      # they forget an earlier ξ
            _take_over(key, asked[key], shared.get(key))
    except Exception:
        st.session_state.pop("asked_for", None)
        raise
    st.session_state.pop("asked_for", None)


def _take_over(key: str, value: object, shared: Setting | None) -> None:
    session = st.session_state
    if key == "notice":
        notices.notice(value[0], **value[1])
    elif key == tables.IDEA:
        address.follow_idea(value)
    elif key in SELECTION:
        session["selection"] = session.get("selection", {}) | {key: address.taken(key, SELECTION[key], value)}
    elif shared is None:
        session[key], address.settings()[key] = value, address.written(value)
    elif (value := shared.accept(value)) is not None:
        if key == "prompt" and value != session["prompt"]:
            _forget_xi()
        session[key] = value


def _clamp(value: int, size: int) -> int:
    return min(max(value, 0), size - 1)
