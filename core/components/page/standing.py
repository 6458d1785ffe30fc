"""Tell Python when the browser has painted all that was drawn so far. Draws nothing."""
import time
from collections.abc import Callable
from pathlib import Path

from core.components import declare

KEY = "standing"
_component = declare("standing", Path(__file__).with_name("standing.js"))


def when_it_stands(call: Callable[[], None]) -> None:
    """Call `call`, as a callback, once the browser has painted everything above in the same fragment, which then runs
    again.
    """
    _component(key=KEY, data=time.monotonic_ns(), events={"stands": lambda _: call()})
