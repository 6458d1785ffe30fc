"""The time that a download still takes, by a clock that the test holds."""
from core.app.compute.library.pace import FIRST, Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def told(pace: Pace, clock: Clock, seconds: float, done: int, total: int) -> float | None:
    clock.now += seconds
    pace.tell(done, total)
    return pace.seconds_left()


def test_the_rest_takes_as_long_as_what_came():
    clock = Clock()
    pace = Pace(clock)
    assert told(pace, clock, 50, 0, 1000) is None, "nothing has come"
    assert told(pace, clock, FIRST / 2, 10, 1000) is None, "too early to tell"
    assert told(pace, clock, 9, 100, 1000) == 90, "100 bytes in 10 s, 900 to come"
    assert told(pace, clock, 10, 500, 1000) == 20, "500 in 20 s"
    clock.now += 20
    assert pace.seconds_left() == 40, "nothing comes any more"
    assert told(pace, clock, 1, 1000, 1000) is None


def test_what_was_there_before_counts_as_no_pace():
    clock = Clock()
    pace = Pace(clock)
    told(pace, clock, 0, 900, 1000)
    assert told(pace, clock, 10, 950, 1000) == 10


def test_the_reading_after_a_download_is_timed_anew():
    clock = Clock()
    pace = Pace(clock)
    told(pace, clock, 0, 0, 1000)
    told(pace, clock, 100, 1000, 1000)
    assert told(pace, clock, 1, 0, 4000) is None
    assert told(pace, clock, 4, 2000, 4000) == 4
