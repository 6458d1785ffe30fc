"""ALiBi's biases and a relative table r_{i-j} under the hand, with the attention that each makes where all q · k are equal."""
from __future__ import annotations

from collections.abc import Callable, Mapping

from core.components.lib.bytes import pack
from core.components.lib.position_canvas import instrument

_MOUNT = instrument("position_biases", __file__)


def position_biases(settings: Mapping, labels: Mapping[str, str], *, key: str, on_settings: Callable[[], None], present: bool = False) -> None:
    """Draw the instrument.

    settings: heads (1 … 32), head, n (4 … 96 positions), clip (longer distances share an entry of the table), distance (the entry picked) and r, the
    table as text, "r_{-c},…,r_c". on_settings: called once the hand rests; the settings then stand in st.session_state[key].settings.
    """
    _MOUNT(key=key, data=pack({"settings": dict(settings), "labels": dict(labels), "present": present}),
           on_settings_change=on_settings)
