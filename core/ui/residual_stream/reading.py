"""What a view of the lesson hands to the parts below it, and the small pieces that all views share."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st
from torch import Tensor

from core.ui import state
from core.ui.lesson import Lesson
from core.ui.run import Run

PREFIX = "residual_stream_"
SCREEN = 372          # px of the first screen that strip, title, sentence, prompt and controls take above a picture
CHART = 330           # px of a chart beside a grid


@dataclass(frozen=True)
class Question:
    """Check yourself: `options[answer]` was computed from the model."""

    key: str
    question: str
    options: list[str]
    answer: int
    explanation: str


@dataclass(frozen=True)
class Reading:
    """What a view says in numbers, asks, and offers for download."""

    lines: list[tuple[str, str]]
    question: Question
    functions: Sequence[Callable]
    data: dict[str, pd.DataFrame]
    picture: str
    twin: str
    table: pd.DataFrame | None = None


def code(token: str) -> str:
    """A token's visible form as Markdown code; nothing in it can end the span or start markup."""
    return f"`{token.replace('`', 'ˋ')}`"


def plain(sentence: str) -> str:
    """A Markdown sentence as spoken text: without its marks."""
    return sentence.replace("**", "").replace("`", "").replace("\\", "")


def four(value: float) -> str:
    """A number for LaTeX with four decimals; one that four decimals would make 0 or 1 keeps more."""
    if math.isnan(value):
        return r"\text{–}"
    if 0 < abs(value) < 5e-5:
        digits, _, power = f"{value:.4e}".partition("e")
        return rf"{digits}\cdot 10^{{{int(power)}}}"
    places = 4
    while abs(value) < 1 and abs(float(f"{value:.{places}f}")) >= 1 and places < 16:
        places += 1
    return f"{value:.{places}f}"


def bracketed(value: float) -> str:
    """`four`, in brackets where a sign or a power would be misread in a sum or under a square."""
    text = four(value)
    return f"({text})" if text.startswith("-") or "cdot" in text else text


def depth_names(page: Lesson, n_layers: int) -> list[str]:
    """L + 1 names of the depths of the stream: what enters block 0, then after each block."""
    return [page.label("entering")] + [page.label("after_block", block=block) for block in range(n_layers)]


def short_depth_names(page: Lesson, n_layers: int) -> list[str]:
    """The same for an axis."""
    return [page.label("entering_short")] + [str(block) for block in range(n_layers)]


def target_token(run: Run, position: int) -> int:
    """The token whose probability is followed: the one the reader named, else the likeliest after `position`."""
    target = state.selection().target
    return int(run.trace.logits[position].argmax()) if target is None else target


def to_numpy(tensor: Tensor):
    """A tensor as float64 numpy, from any device."""
    return tensor.detach().double().cpu().numpy()


def token_slider(page: Lesson, run: Run) -> int:
    """A slider over the prompt's tokens that sets the shared position."""
    return _shared_slider(page.label("token_slider"), "position", len(run.tokens), lambda i: f"{i}  {run.tokens[i]}")


def block_slider(page: Lesson, run: Run) -> int:
    """A slider over the blocks that sets the shared layer."""
    return _shared_slider(page.label("block_slider"), "layer", run.model.config.n_layers, str)


def _shared_slider(label: str, name: str, size: int, show: Callable[[int], str]) -> int:
    """A slider that shows and sets one field of the shared selection; with one value to choose from it is only shown."""
    key, chosen = f"{PREFIX}pick_{name}", getattr(state.selection(), name)
    if size == 1:
        st.text_input(label, show(0), disabled=True, key=f"{key}_only")
        return 0
    st.session_state[key] = chosen
    st.select_slider(label, options=range(size), format_func=show, key=key, on_change=lambda: state.select(**{name: st.session_state[key]}))
    return chosen
