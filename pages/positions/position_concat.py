"""Adding a position to a token's vector against standing it beside it: the product with W and its two parts, computed in the browser in float64."""
from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from core.components.lib.bytes import pack
from core.components.lib.position_canvas import instrument

_MOUNT = instrument("position_concat", __file__)


def position_concat(x: np.ndarray, W_X: np.ndarray, W_P: np.ndarray, token: str, settings: Mapping, labels: Mapping[str, str], *, key: str,
                    on_settings: Callable[[], None], present: bool = False) -> None:
    """Draw x (d,) and its position through W_X (d, k) and W_P (256, k), of which the first `width` rows are used.

    settings: mode ("concatenate" or "add"), i (the position, 0 … 255), width (d_p, even). on_settings: called once the hand rests; the settings then
    stand in st.session_state[key].settings.
    """
    header = {"d": W_X.shape[0], "k": W_X.shape[1], "token": token, "settings": dict(settings), "labels": dict(labels), "present": present}
    arrays = {"x": x, "W_X": W_X, "W_P": W_P}
    _MOUNT(key=key, data=pack(header, {name: values.astype(np.float32) for name, values in arrays.items()}),
           on_settings_change=on_settings)
