"""The open view's use of the prompt bar: whether it reads the shared prompt, and which model it shows if not the chosen
one.

A test draws every view with two prompts, and compares `is_read` with what changes.
"""
from dataclasses import dataclass

import streamlit as st

from core.app.compute import cache
from core.app.state import model_choice
from core.base import catalogue

NEVER = ("", "")
# lesson -> its views that do not read the prompt -> the setting, and its value, with which they do read it
UNREAD = {
    "embeddings": dict.fromkeys(("neighbours", "map", "arithmetic"), NEVER),
    "positions": dict.fromkeys(("waves", "biases", "beyond", "measured"), NEVER),
    "attention": {"three": NEVER, "worksheet": NEVER},
    "language_models": {"sentences": ("after", "true"), "tasks": NEVER, "correct": NEVER, "decipher": NEVER,
                        "toy": NEVER, "table": NEVER},
    "residual_stream": {"placement": NEVER, "patching": ("patch_pair", "own")},
    "training": {"backprop": NEVER, "live": ("task", "text"), "instructions": NEVER, "tuning": ("asked", "prompt"),
                 "rlhf": NEVER, "schedules": NEVER},
    "architectures": dict.fromkeys(("blank", "translate", "cost", "record"), NEVER),
    "recurrence": dict.fromkeys(("gradient", "copy", "bottleneck"), NEVER) | {"serial": ("race", "losses")},
    "limits": {"facts": NEVER, "memory": NEVER, "calibration": NEVER, "words": ("pair", "own"), "meaning": NEVER,
               "structure": NEVER},
}
# the views that do not read the prompt with these values of a setting
UNREAD_WITH = {("limits", "context"): ("trace", "probe"),
               ("architectures", "hardware"): ("machine", "roofline", "array")}
# the views that show a bundled model of their own: its name, and the setting with which they show the chosen one
OWN_MODEL = {
    ("training", "tuning"): ("stories-small", ("base", "loaded")),
    ("training", "rlhf"): ("stories-small", NEVER),
    ("positions", "measured"): ("positions-*", NEVER),
    ("architectures", "blank"): ("blanks", NEVER),
    ("architectures", "translate"): ("translator", NEVER),
}
# those among them that show another bundled model if a setting has a sign in it: the setting, the sign, the model
FOR_TEXTS_WITH = {("architectures", "translate"): ("translate_text", "|", "restaurants")}


@dataclass(frozen=True)
class PromptUse:
    """Whether the open view reads the prompt; the model that it shows in place of the chosen one, "" for the chosen."""

    is_read: bool
    model: str


def now() -> PromptUse:
    """The open view's use of prompt and model, by its settings in the session and the address."""
    page = model_choice.page()
    entry = next((entry for entry in catalogue.existing() if entry.id == page), None)
    if entry is None or not entry.views:
        return PromptUse(True, "")
    view = _setting(page, entry.picks) or entry.views[0]
    reads_with = UNREAD.get(page, {}).get(view)
    is_read = (reads_with is None or _is(page, reads_with)) and not _is(page, UNREAD_WITH.get((page, view), NEVER))
    return PromptUse(is_read, _model(page, view))


def _model(page: str, view: str) -> str:
    if (page, view) == ("training", "childhood"):
        return _with_past(cache.name_and_step(model_choice.shown())[0])
    name, chosen_with = OWN_MODEL.get((page, view), ("", NEVER))
    text, sign, other = FOR_TEXTS_WITH.get((page, view), ("", "", ""))
    if other and sign in _setting(page, text):
        name = other
    chosen = model_choice.loaded()
    is_own = chosen is not None and not cache.is_bundled(chosen)
    if is_own and (showing := catalogue.SHOWN.get(cache.kind(chosen))) and showing.live == view:
        return chosen               # the reader's own stands in for the bundled one of its kind
    return "" if _is(page, chosen_with) else name


def _with_past(base: str) -> str:
    """A model with a kept training, to be shown in place of `base`; "" if `base` has one itself."""
    return "" if cache.moments(base) else next(filter(cache.moments, cache.model_names()), "")


def _is(page: str, asked: tuple[str, ...]) -> bool:
    name, *values = asked
    return bool(name) and _setting(page, name) in values


def _setting(page: str, name: str) -> str:
    """A setting as the address writes it; "" for a setting at its default that was not read yet."""
    key = f"{page}_{name}"
    return str(st.session_state.get(key, st.query_params.get(key, ""))).lower()
