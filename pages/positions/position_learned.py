"""The positions a model has learned, beside sinusoids of the same shape: both matrices, their cosines, lengths and spectra under one cursor."""
from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping

import numpy as np

from core.components.lib.bytes import pack
from core.components.lib.position_canvas import instrument

SHOWN_AXES = 48   # the strongest principal axes are drawn, so that their waves can be seen
_MOUNT = instrument("position_learned", __file__)


def position_learned(learned, sinusoidal, settings: Mapping, labels: Mapping[str, str], *, key: str, on_settings: Callable[[], None], present: bool = False) -> None:
    """Draw two core.figures.positions.Geometry of the same shape (n, d).

    settings: i (0 … n − 1) and principal (draw the matrices on their principal axes). on_settings: called once the hand rests; the settings
    then stand in st.session_state[key].settings.
    """
    n, d = learned.P.shape
    axes = min(SHOWN_AXES, d)
    both = {"learned": learned, "sinusoidal": sinusoidal}
    header = {"n": n, "d": d, "axes": axes, "digest": zlib.crc32(np.ascontiguousarray(learned.P)), "settings": dict(settings), "labels": dict(labels), "present": present,
              "lengths": {name: one.lengths.tolist() for name, one in both.items()}, "spectrum": {name: one.spectrum[:64].tolist() for name, one in both.items()},
              "rank": {name: one.rank for name, one in both.items()}}
    arrays = {"learned": learned.P, "learned_turned": learned.turned[:, :axes], "sinusoidal_turned": sinusoidal.turned[:, :axes]}
    _MOUNT(key=key, data=pack(header, {name: values.astype(np.float32) for name, values in arrays.items()}),
           on_settings_change=on_settings)
