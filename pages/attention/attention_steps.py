"""One head, one query, step by step: vectors as strips, every number readable and worked out, all in the browser. See attention_steps.js."""
from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import streamlit as st

from core.components.lib.bytes import pack
from core.components.lib.position_canvas import instrument

_MOUNT = instrument("attention_steps", __file__)


def attention_steps(header: Mapping, arrays: Mapping[str, np.ndarray], *, key: str, on_settings: Callable[[dict], None], on_select: Callable[[dict], None]) -> None:
    """Draw the steps of core.analysis.attention_steps for the keys of a window.

    header: settings (step, key, component, variant), labels, the stages of each variant, names of tokens, sizes, path and question of the head's weights,
    which the browser asks for where a number is opened that they made; arrays: float32 by name, any shape.
    on_settings(values) is called once the hand rests; on_select(values) when another layer, head or position is picked.
    """
    _MOUNT(key=key, data=pack(header, arrays),
           on_settings_change=lambda: on_settings(dict(st.session_state[key].settings or {})),
           on_picked_change=lambda: on_select(dict(st.session_state[key].picked or {})))
