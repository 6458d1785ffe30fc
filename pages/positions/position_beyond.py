"""Past the trained length, as geometry: rows that do not exist, angles never seen, biases that go on falling, shared entries."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from core.components.lib.bytes import pack
from core.components.lib.position_canvas import instrument

_MOUNT = instrument("position_beyond", __file__)


def position_beyond(pairs: int, slopes: Sequence[float], settings: Mapping, labels: Mapping[str, str], *, key: str, on_settings: Callable[[], None],
                    present: bool = False) -> None:
    """Draw the schemes over positions 0 … read − 1 for a model trained on `trained` positions, with `pairs` pairs of dimensions and ALiBi's `slopes`.

    settings: trained, read, base and clip (the longest distance with an entry of its own). on_settings: called once the hand rests; the settings
    then stand in st.session_state[key].settings.
    """
    header = {"pairs": pairs, "slopes": [float(m) for m in slopes], "settings": dict(settings), "labels": dict(labels),
              "present": present}
    _MOUNT(key=key, data=pack(header), on_settings_change=on_settings)
