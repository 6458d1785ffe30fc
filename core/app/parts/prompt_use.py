"""The open view's use of the prompt bar: whether it reads the shared prompt, and which model it shows if not the chosen
one.

A test draws every view with two prompts, and compares `is_read` with what changes.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.app.compute import cache
from core.app.state import model_choice
from core.base import catalogue


@dataclass(frozen=True)
class PromptUse:
    """Whether the open view reads the prompt; the model that it shows in place of the chosen one, "" for the chosen."""

    is_read: bool
    model: str


def now() -> PromptUse:
    """The open view's use of prompt and model, by its settings in the session and the address."""
    page = model_choice.page()
    entry = next((entry for entry in catalogue.existing() if entry.id == page), None)
    view = entry and entry.each.get(_setting(page, entry.picks) or next(iter(entry.each)))
    if view is None:
        return PromptUse(True, "")
    return PromptUse(view.prompt != _is(page, view.prompt_unless), _model(page, view))


def _model(page: str, view: catalogue.View) -> str:
    if view.needs_moments:
        return _with_past(cache.name_and_step(model_choice.shown())[0])
    chosen = model_choice.loaded()
    is_own = chosen is not None and not cache.is_bundled(chosen)
    if is_own and view.kinds.get(cache.kind(chosen)) == catalogue.LIVE:
        return chosen               # the reader's own stands in for the bundled one of its kind
    if _is(page, view.model_unless):
        return ""
    return next((model for name, models in view.model_with.items() for sign, model in models.items()
                 if sign in _setting(page, name)), view.model)


def _with_past(base: str) -> str:
    """A model with a kept training, to be shown in place of `base`; "" if `base` has one itself."""
    return "" if cache.moments(base) else next(filter(cache.moments, cache.model_names()), "")


def _is(page: str, settings: Mapping[str, Sequence[str]]) -> bool:
    return any(_setting(page, name) in values for name, values in settings.items())


def _setting(page: str, name: str) -> str:
    """A setting as the address writes it; "" for a setting at its default that was not read yet."""
    key = f"{page}_{name}"
    return str(st.session_state.get(key, st.query_params.get(key, ""))).lower()
