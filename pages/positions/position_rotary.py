"""Rotary positions under the hand: a dial for each pair of a query and a key, and their score by distance, computed in the browser in float64."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from core.components.lib.bytes import pack
from core.components.lib.position_canvas import instrument

_MOUNT = instrument("position_rotary", __file__)


def position_rotary(q: Sequence[float], k: Sequence[float], settings: Mapping[str, float], labels: Mapping[str, str], names: Mapping[str, str], *, key: str,
                    on_settings: Callable[[], None], present: bool = False) -> None:
    """Draw the dials of a query q and a key k, (d_k,) each with d_k even, before rotation.

    names: the head and the two tokens, for the labels' {head}, {q_token} and {k_token}.
    settings: i, j (0 … 128), shift (0 … 4096, added to both) and base. on_settings: called once the hand rests; the settings then stand in
    st.session_state[key].settings.
    """
    header = {"q": [float(x) for x in q], "k": [float(x) for x in k], "settings": dict(settings), "labels": dict(labels), "names": dict(names), "present": present}
    _MOUNT(key=key, data=pack(header), on_settings_change=on_settings)
