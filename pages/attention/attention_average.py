"""The values that a head averages, on the plane of their widest spread, their hull, and the output inside it under a temperature. See attention_average.js."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import streamlit as st

from core.components.lib.bytes import pack
from core.components.lib.position_canvas import instrument

_MOUNT = instrument("attention_average", __file__)


def attention_average(points: np.ndarray, scores: np.ndarray, tokens: Sequence[str], positions: Sequence[int], temperature: float, labels: Mapping[str, str], *, key: str,
                      on_temperature: Callable[[float], None], present: bool = False) -> None:
    """Draw values (n, 2) on their plane, weighted by softmax(scores / τ), scores (n,), τ = 2^temperature, temperature in [-6, 6].

    on_temperature is called once the hand rests.
    """
    header = {"tokens": list(tokens), "positions": list(positions), "labels": dict(labels), "settings": {"temperature": temperature}, "present": present}
    arrays = {"points": points.astype(np.float32), "scores": scores.astype(np.float32)}
    _MOUNT(key=key, data=pack(header, arrays),
           on_settings_change=lambda: on_temperature(st.session_state[key].settings["temperature"]))
