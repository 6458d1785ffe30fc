"""Says when what was drawn so far stands in the browser. Draws nothing."""
from collections.abc import Callable
from pathlib import Path

from core.components import declare

KEY = "standing"
_component = declare("standing", Path(__file__).with_name("standing.js"))


def when_it_stands(call: Callable[[], None]) -> None:
    """Put it below what is waited for, in a fragment with it: `call` is called as a callback, and the
    fragment runs again.
    """
    _component(key=KEY, on_stands_change=call)
