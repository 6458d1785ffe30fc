"""What every section of the lesson shares: its instrument's state, its labels, and the parts that the frame draws below the instrument."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
import streamlit as st

from core.ui import instrument_state
from core.ui.check import Question
from core.ui.instrument_state import Setting
from core.ui.lesson import Lesson

PICTURE = ".instrument"


@dataclass(frozen=True)
class Section:
    """What stands below a section's instrument."""

    numbers: Sequence[tuple[str, str]]
    question: Question | None
    functions: Sequence[Callable]
    data: Mapping[str, pd.DataFrame]
    twin: str
    summary: Mapping[str, str] = field(default_factory=dict)   # for pins
    picture: str = PICTURE


def open_instrument(view: str, settings: Mapping[str, Setting]) -> tuple[str, dict, Callable[[], None]]:
    """The component's key, today's values of its settings, and the callback that keeps what the reader leaves it at."""
    prefix = f"positions_{view}"
    key = f"{prefix}_instrument"

    def settled() -> None:
        instrument_state.keep(prefix, settings, st.session_state[key].settings or {})

    return key, instrument_state.read(prefix, settings), settled


def labels(page: Lesson, view: str) -> dict[str, str]:
    """The labels `<view>_name` of the lesson's file, as templates by name."""
    prefix = f"{view}_"
    return {key.removeprefix(prefix): text for key, text in page.words.labels.items() if key.startswith(prefix)}


def closest(options: Sequence[float], value: float) -> int:
    """The number of the option that is nearest to a value."""
    return min(range(len(options)), key=lambda k: abs(options[k] - value))
