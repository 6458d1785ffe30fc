"""Shared by the views of the lesson: settings, the prompt to continue, the sampling controls."""
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app.compute import cache
from core.app.lesson import Lesson, selection_controls, views
from core.app.state import Run
from core.app.state.lesson_settings import Setting, Settings, view_setting
from core.figures.numbers import latex_operand
from core.model.generation import context_window
from core.model.sampling import SamplingConfig

PREFIX = "generation_"
LENGTH = 40             # tokens that are written at most
MOST_K = 200
GREEDY = SamplingConfig(temperature=0)
SETTINGS = Settings("generation", {
    "view": view_setting("generation"),
    "temperature": Setting(1.0, low=0, high=3),
    "top_k": Setting(40, low=0, high=MOST_K),         # 0: no limit
    "top_p": Setting(0.9, low=0, high=1),
    "seed": Setting(1, low=0, high=999_999),          # of the model with two tokens
    "written": Setting(0, low=-1, high=LENGTH),       # tokens that are written; −1: all
    "picked": Setting(-1, low=-1, high=LENGTH),       # the step that is looked at; −1: the last one written
    "branches": Setting(""),                          # see branches.py
    "branch": Setting(0, low=0),
    "source": Setting("model", options=("model", "tiny")),      # beam search looks through the texts of this model
    "hypothesis": Setting(""),                        # step and place of the hypothesis that is looked at
    "width": Setting(4, low=1, high=8),               # of beam search
    "averaged": Setting(False),
    "depth": Setting("4", options=("3", "4", "5")),   # tokens of each future
    "future": Setting(""),                            # the ids of the tokens of the beginning that is looked at
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice = functools.partial(views.choice, SETTINGS)
own_seed = functools.partial(selection_controls.own_seed, SETTINGS)


@dataclass(frozen=True)
class Start:
    """The tokens to continue: the last of the prompt, as many as leave room for `length` new tokens. n_left_out: the
    number of tokens of the prompt that did not fit.
    """

    token_ids: tuple[int, ...]
    length: int
    n_left_out: int


def start(run: Run, length: int = LENGTH) -> Start:
    """The prompt of a run with room after it; the new tokens get at most half of a small context."""
    config = run.model.config
    length = min(length, config.n_context // 2)
    ids = context_window(run.token_ids, dataclasses.replace(config, n_context=config.n_context - length))
    return Start(ids, length, len(run.token_ids) - len(ids))


def in_turns(run: Run, make: Callable[..., Iterable], *inputs, **options) -> Iterator:
    """Yield the items of `make(model, *inputs, **options)`, each computed in its own turn on the device."""
    return cache.in_turns(run.loaded, make(run.loaded.runner, *inputs, **options))


def sampling() -> SamplingConfig:
    """The reader's temperature, top-k and top-p."""
    return SamplingConfig(temperature=read("temperature"), top_k=read("top_k") or None, top_p=read("top_p"))


def controls(page: Lesson, *names: str) -> DeltaGenerator:
    """Draw controls from temperature, top_k, top_p, width, dice and seed (of a model) in a row; return the row for
    further controls.
    """
    bounds = {"temperature": (0.0, 3.0, 0.05), "top_k": (0, MOST_K, 1), "top_p": (0.0, 1.0, 0.01), "width": (1, 8, 1)}
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key=f"{PREFIX}controls")
    with row:
        for name in names:
            if name == "dice":
                selection_controls.shared_seed(page)
            elif name == "seed":
                own_seed(page, said=page.label("seed_help"))
            else:
                low, high, step = bounds[name]
                st.slider(page.label(name), low, high, step=step, width=160, help=page.label(f"{name}_help"),
                          **attached(name))
    return row


def sum_latex(terms: Iterable[float]) -> str:
    """LaTeX of a sum, each number with its sign."""
    return "".join(("" if term < 0 else "+") + latex_operand(term) for term in terms)


def note(page: Lesson, begin: Start) -> str:
    """A sentence on how many tokens of a long prompt were left out; "" if none."""
    return page.label("left_out", n=begin.n_left_out, length=begin.length) if begin.n_left_out else ""
