"""A planet's orbit being fitted: the path over the measurements, the loss over the steps, the error over the years; every position computed in the browser in float64."""
from __future__ import annotations

from collections.abc import Callable, Mapping

from core.components.lib.bytes import pack
from core.components.lib.position_canvas import instrument

_MOUNT = instrument("kepler_orbit", __file__)


def kepler_orbit(settings: Mapping[str, int], told: Mapping, labels: Mapping[str, str], *, key: str, on_settings: Callable[[], None], height: int, present: bool = False) -> None:
    """Draw the instrument.

    settings: fit_step (index of the kept step, −1 the last) and day (days after the epoch).
    told: structure (a name of core.learning.kepler.STRUCTURES), numbers, steps, train, test (of core.learning.kepler.Fit, as lists), truth (the planet's seven numbers), measured and held_out
    ([t, x, y, z] each), errors of both by step, noise, trained and tested (years), epoch (a year). labels: the texts, templates with {names}.
    on_settings: called once the hand rests; the settings then stand in st.session_state[key].settings. height: pixels of the picture.
    """
    _MOUNT(key=key, data=pack({"settings": dict(settings), "told": dict(told), "labels": dict(labels), "height": height, "present": present}), on_settings_change=on_settings)
