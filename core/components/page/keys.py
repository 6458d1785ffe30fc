"""The arrow keys of the keyboard as steps, for present mode. Draws nothing."""
from pathlib import Path

from core.components import declare

_component = declare("arrow_keys", Path(__file__).with_name("keys.js"))


def arrow_keys(key: str) -> int:
    """+1 when the right arrow or Page Down (a presenter's remote) was just pressed outside any control, −1 for left or
    Page Up, else 0.
    """
    result = _component(key=key, on_step_change=lambda: None)
    return int(result.step or 0)
