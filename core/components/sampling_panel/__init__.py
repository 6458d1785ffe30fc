"""The sampling panel: the whole distribution under the reader's hand, computed in the browser for every frame.

Python sends a model's float32 logits once for each prompt. They widen exactly to the float64 numbers that
`core.model.sampling.truncate` works on; JavaScript mirrors `truncate` and `draw` and answers every move. When the hand
lets go, Python gets the settings.
"""
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.components import declare
from core.components.lib.bytes import pack
from core.components.sampling_panel.settings import PanelSettings

_FOLDER = Path(__file__).parent
CONTENT, STYLES = '<div class="component sampling-panel"></div>', (_FOLDER / "panel.css",)

_component = declare("live_transformer.sampling_panel", _FOLDER / "panel.js", html=CONTENT, styles=STYLES)


@dataclass(frozen=True, eq=False)
class Context:
    """One distribution to show: its name, the text it follows, and its logits (|V|,)."""

    name: str
    text: str
    logits: np.ndarray


def message(contexts: Sequence[Context], tokens: Sequence[str], labels: dict[str, str], settings: PanelSettings,
            settings_version: int, named: int | None = None, scale: float = 1.0) -> bytes:
    """The message to the panel: a header, and `logits` (contexts · |V|,) float32, context by context.

    The first context is the panel's own, two more stand below it side by side. The panel takes over `settings` and
    `named` (the id of a token to point at) only if `settings_version` differs from that of the last message: the panel
    leads while it is in use, and an unchanged message is not sent again. `scale` enlarges the whole drawing. Raises
    ValueError if logits and tokens differ in number.
    """
    logits = np.stack([context.logits for context in contexts]).astype(np.float32)
    if logits.shape[1] != len(tokens):
        raise ValueError(f"There are {logits.shape[1]} logits for {len(tokens)} tokens.")
    header = {
        "tokens": list(tokens), "labels": labels,
        "settings": settings.to_browser(), "settings_version": settings_version,
        "named": named, "scale": scale,
        "contexts": [{"name": context.name, "text": context.text} for context in contexts],
        "logits_key": hashlib.sha256(logits.tobytes()).hexdigest(),
    }
    return pack(header, {"logits": logits})


def sampling_panel(sent: bytes, key: str, on_settings: Callable[[dict], None],
                   on_append: Callable[[int], None]) -> None:
    """Mount the panel on a `message`.

    The callbacks get the settings when the reader lets go (see `PanelSettings.from_browser`; with "named"), and the id
    of the candidate that was clicked.
    """
    _component(key=key, data=sent, on_settings=on_settings, events={"append": on_append})


def seeded_uniforms(seed: int, n: int) -> np.ndarray:
    """n numbers in [0, 1), multiples of 2^-32, from this seed: mulberry32, the same as the panel's in the browser.

    >>> seeded_uniforms(1, 2).round(6).tolist()
    [0.627074, 0.002736]
    """
    state = ((seed + 0x6D2B79F5 * np.arange(1, n + 1, dtype=np.uint64)) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    # uint32 arithmetic wraps around, as the generator wants it
    t = (state ^ state >> np.uint32(15)) * (state | np.uint32(1))
    t = (t + (t ^ t >> np.uint32(7)) * (t | np.uint32(61))) ^ t
    return (t ^ t >> np.uint32(14)) / 2.0**32
