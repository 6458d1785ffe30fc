"""Recorded times of attention, a window and a recurrent network, so that their chart has something to show before a
reader measures them.

They are in assets/teaching/length_times.json, made by `python -m core.recordings length_times`.
"""
import functools

from core.cost import growth
from core.cost.growth import Timing
from core.files import ASSETS, read_json

FILE = ASSETS / "teaching" / "length_times.json"
WIDTH, WINDOW = 64, 64
ROUNDS = 60              # the fastest counts: other work on the machine slows most of them


@functools.cache
def recorded(width: int, window: int) -> tuple[Timing, ...]:
    """The recorded times of vectors of this width and a window of this size; empty if there are none."""
    kept = read_json(FILE)
    if (width, window) != (kept["width"], kept["window"]):
        return ()
    return tuple(Timing(*row) for row in kept["times"])


def record() -> dict:
    """Time them; return what is kept."""
    times = growth.fastest(growth.measure(WIDTH, WINDOW, rounds=ROUNDS))
    return {"width": WIDTH, "window": WINDOW,
            "times": [[time.method, time.n, float(f"{time.seconds:.4g}")] for time in times]}
