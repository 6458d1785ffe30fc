"""What the views of the lesson share: the choice among them, their instruments' state, and the picture that is saved.
"""
from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from core.app.state import lesson_settings
from core.app.state.lesson_settings import Setting, Settings

PICTURE = ".instrument"
SETTINGS = Settings("positions", {"view": Setting("waves", options=("waves", "learned", "rotary", "biases", "concat",
                                                                    "symmetry", "beyond", "measured"))})


def open_instrument(view: str, settings: Mapping[str, Setting]) -> tuple[str, dict, Callable[[], None]]:
    """The component's key, today's values of its settings, and the callback that keeps what the reader leaves it at."""
    prefix = f"positions_{view}"
    key = f"{prefix}_instrument"

    def settled() -> None:
        lesson_settings.keep(prefix, settings, st.session_state[key].settings or {})

    return key, lesson_settings.read(prefix, settings), settled


def closest(options: Sequence[float], value: float) -> int:
    """The number of the option that is nearest to a value."""
    return min(range(len(options)), key=lambda k: abs(options[k] - value))
