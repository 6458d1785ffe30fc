"""How often something may be done."""
from core.app.classroom import rates
from core.app.classroom.rates import Rate


def test_some_at_once_then_an_even_pace(monkeypatch):
    now = 1_000.0
    monkeypatch.setattr(rates.time, "monotonic", lambda: now)
    rate = Rate(a_minute=60, at_once=3)
    assert [rate.take("a") for _ in range(5)] == [True, True, True, False, False] and rate.take("b")
    now += 1
    assert [rate.take("a") for _ in range(2)] == [True, False]
    now += 3_600
    assert [rate.take("a") for _ in range(4)] == [True, True, True, False]


def test_it_remembers_so_many_and_no_more():
    rate = Rate(a_minute=1, at_once=1)
    for i in range(rates.MOST_KNOWN + 50):
        assert rate.take(i)
    assert len(rate) == rates.MOST_KNOWN and not rate.take(rates.MOST_KNOWN + 49)
