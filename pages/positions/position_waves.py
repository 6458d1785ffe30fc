"""Sinusoidal positions under the hand: heatmap, waves, wavelengths and dot products, computed in the browser in float64."""
from __future__ import annotations

from collections.abc import Callable, Mapping

from core.components.lib.bytes import pack
from core.components.lib.position_canvas import instrument

_MOUNT = instrument("position_waves", __file__)


def position_waves(settings: Mapping[str, float], labels: Mapping[str, str], *, key: str, on_settings: Callable[[], None], present: bool = False) -> None:
    """Draw the instrument.

    settings: n (length), d (even width), base, pair (0 … d/2 − 1), i and j (positions below n).
    labels: the texts, templates with {names} that the browser fills in.
    on_settings: called once the hand rests; the settings then stand in st.session_state[key].settings.
    """
    _MOUNT(key=key, data=pack({"settings": dict(settings), "labels": dict(labels), "present": present}),
           on_settings_change=on_settings)
