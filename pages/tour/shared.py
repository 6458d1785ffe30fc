"""Parts of all steps: which one is open, what the reader has done in each, and how a step goes to the browser."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import streamlit as st

from core.app.compute import cache
from core.app.state import Run
from core.app.state.lesson_settings import Setting, Settings
from core.base import catalogue

STEPS = ("finish", "write", "change", "pieces", "near", "numbers", "look", "heads", "layers", "dice", "learn", "map")
# the number of the open step, from 1
SETTINGS = Settings(catalogue.TOUR, {"step": Setting(1, low=1, high=len(STEPS))})
KEY = f"{catalogue.TOUR}_step"
MET = "tour_met"                # in the session: whether the reader has left the tour by its end
# the step in which each part of the overview's picture was met
PLACES = {"tokens": "pieces", "E": "numbers", "attention": "look", "blocks": "layers", "feed_forward": "layers",
          "softmax": "finish", "draw": "dice"}
ACTS = "tour_acts"              # in the session: (prompt under model, {step: what the reader has done in it})
MOST_CHARACTERS = 60            # of a typed word
TAIL = 220                      # characters of a long prompt that are shown, its last ones
N_BARS = 5


@dataclass(frozen=True)
class Step:
    """One step as the browser draws it.

    values: numbers and words of its texts. asks: what the reader acts on; None if this prompt or model has nothing to
    act on. tells: the picture after the act, None before it. said: the answer, labels with their values. Values are
    numbers and texts, or `word(…)` and `share(…)`.
    """

    asks: dict | None
    tells: dict | None = None
    said: Sequence[tuple[str, dict]] = ()
    values: Mapping[str, object] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


def word(text: str) -> dict:
    """A word in a sentence, set apart from it."""
    return {"word": text}


def share(p: float) -> dict:
    """A probability, which the browser writes in percent."""
    return {"share": float(p)}


def number() -> int:
    """The number of the open step, from 1."""
    return SETTINGS.read("step")


def is_named() -> bool:
    """Whether the address or the reader has named a step; else the browser goes to the one that it remembers."""
    return KEY in st.session_state or not {KEY, catalogue.TOUR}.isdisjoint(st.query_params)


def keep(at: int) -> None:
    """Callback: make `at` the open step."""
    SETTINGS.keep(step=at)


def acts(run: Run) -> dict[str, dict]:
    """The reader's deeds in each step with this prompt and model."""
    of = run.model_name, run.token_ids
    if st.session_state.get(ACTS, (None,))[0] != of:
        st.session_state[ACTS] = of, {}
    return st.session_state[ACTS][1]


def likeliest(probs, n: int = N_BARS) -> list[int]:
    """The ids of the n largest of probabilities (|V|,), the largest first."""
    return probs.topk(min(n, len(probs))).indices.tolist()


def plain(visible: str, before: str) -> str:
    """A token as a word of a text that ends with `before`: without the sign of its space, with … where it goes on
    inside a word.

    >>> plain("·ball", "her"), plain("ears", "p"), plain(",", "time"), plain("Once", "")
    ('ball', '…ears', ',', 'Once')
    """
    if visible.startswith("·") and visible != "·":
        return visible[1:]
    return f"…{visible}" if visible[:1].isalnum() and before[-1:].isalnum() else visible


def next_words(run: Run, ids: Sequence[int], before: str) -> list[str]:
    """The tokens `ids` as words that may follow the text `before`."""
    return [plain(run.tokenizer.visible(i), before) for i in ids]


def first_word(run: Run) -> tuple[int, str, float]:
    """The likeliest next token: its id, as a word, and its probability."""
    probs = run.trace.probs[-1]
    top = int(probs.argmax())
    return top, plain(run.tokenizer.visible(top), run.text), float(probs[top])


def tail(text: str) -> str:
    """The end of a text, from a word's beginning on, with … where something is left out."""
    if len(text) <= TAIL:
        return text
    cut = text[-TAIL:]
    return "… " + (cut.partition(" ")[2] or cut)


def n_words(run: Run) -> int:
    """The number of the prompt's own tokens."""
    return len(run.own_ids)


def shared_model(name: str, run: Run) -> cache.LoadedModel:
    """Another model, on the device of this run."""
    return cache.shared_model(name, run.device)
