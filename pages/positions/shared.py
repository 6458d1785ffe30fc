"""Parts shared by the views of the lesson: the choice among them, and their instruments."""
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from core.app.lesson import Lesson
from core.app.state import lesson_settings, reader
from core.app.state.lesson_settings import Setting, Settings, view_setting
from core.components.lib.bytes import pack
from core.components.lib.instrument import instrument

PICTURE = ".instrument"
PANELS_CSS = Path(__file__).with_name("panels.css")
SETTINGS = Settings("positions", {"view": view_setting("positions")})


class Instrument:
    """The picture of a view, from the .js and .css beside `module`, with its own settings. labels: the prefix of its
    labels.
    """

    def __init__(self, view: str, module: str, settings: Mapping[str, Setting], labels: str = "") -> None:
        self._prefix, self._settings, self._labels = f"positions_{view}", settings, labels or view
        self._component = instrument(f"position_{view}", module, PANELS_CSS)

    def values(self) -> dict:
        """The current values of its settings."""
        return lesson_settings.read(self._prefix, self._settings)

    def draw(self, page: Lesson, values: Mapping, header: Mapping | None = None,
             arrays: Mapping[str, np.ndarray] | None = None, events: Mapping[str, Callable] | None = None) -> None:
        """Draw the picture with these values of its settings, and keep the values that the reader sets. events: what
        else the picture tells, by name.
        """
        key = f"{self._prefix}_instrument"
        data = pack({**(header or {}), "settings": values, "labels": page.labels(self._labels),
                     "present": reader.present()}, arrays)
        self._component(key=key, data=data, events=events or {}, on_settings=lambda settings: lesson_settings.keep(
            self._prefix, self._settings, settings))


def closest(options: Sequence[float], value: float) -> int:
    """The index of the option that is nearest to a value."""
    return min(range(len(options)), key=lambda k: abs(options[k] - value))
