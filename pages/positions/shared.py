"""What the views of the lesson share: the choice among them, their instruments, and the picture that is saved."""
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import streamlit as st

from core.app.frame import Lesson
from core.app.state import lesson_settings, reader
from core.app.state.lesson_settings import Setting, Settings
from core.components.lib.bytes import pack
from core.components.lib.instrument import instrument

PICTURE = ".instrument"
PANELS_CSS = Path(__file__).with_name("panels.css")
SETTINGS = Settings("positions", {"view": Setting("waves", options=("waves", "learned", "rotary", "biases", "concat",
                                                                    "symmetry", "beyond", "measured"))})


class Instrument:
    """The picture of a view, of the .js and .css beside `module`, with settings of its own; `labels` begins the names
    of its labels.
    """

    def __init__(self, view: str, module: str, settings: Mapping[str, Setting], labels: str = "") -> None:
        self._prefix, self._settings, self._labels = f"positions_{view}", settings, labels or view
        self._component = instrument(f"position_{view}", module, PANELS_CSS)

    def values(self) -> dict:
        """Today's values of its settings."""
        return lesson_settings.read(self._prefix, self._settings)

    def draw(self, page: Lesson, values: Mapping, header: Mapping | None = None,
             arrays: Mapping[str, np.ndarray] | None = None) -> None:
        """Draws it with these values of its settings, and keeps what the reader leaves it at."""
        key = f"{self._prefix}_instrument"
        data = pack({**(header or {}), "settings": values, "labels": page.labels(self._labels),
                     "present": reader.present()}, arrays)
        self._component(key=key, data=data, on_settings_change=lambda: lesson_settings.keep(
            self._prefix, self._settings, st.session_state[key].settings or {}))


def closest(options: Sequence[float], value: float) -> int:
    """The number of the option that is nearest to a value."""
    return min(range(len(options)), key=lambda k: abs(options[k] - value))
