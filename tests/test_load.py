"""A few readers without browsers at a real server, for seconds; the long forms are `python -m tests.benchmarks --only
load` and `--only sessions`.
"""
from __future__ import annotations

from core.app.base import catalogue
from tests.benchmarks import large, load
from tests.benchmarks.load import MIX, Answer
from tests.benchmarks.reader import Reader, key_of, query_of
from tests.browser.serving import serve
from tests.helpers.coroutines import finished


async def three_readers(url: str) -> tuple[list[Answer], list[str]]:
    async with Reader(url) as one, Reader(url) as other:
        opened = [await one.open("heads", query_of(prompt="The cat sat")), await other.open()]
        prompt, = one.find(lambda shown: key_of(shown) == "prompt")
        panel = next(shown for shown in one.find(load.OFFERED["view"]) if key_of(shown) == "heads_panel_widget")
        changed = [await one.set("prompt", prompt, "My dog"),
                   await one.set("view", panel, [panel.widget.options[-1].content])]
        here = [one.query, other.query]
    return opened + changed + await load.class_at_work(url, 3, seconds=2), here


def test_three_readers_at_once_are_answered_without_an_error():
    with serve() as server:
        answers, (mine, others) = finished(three_readers(server.url))
    assert ([answer.error for answer in answers if answer.error] == [] and len(answers) >= 4 + 3
            and all(answer.received > 1_000 for answer in answers))
    assert "prompt=My+dog" in mine and "heads_panel=" in mine and "dog" not in others
    figures = {figure.name: figure for figure in load.answer_figures(answers, answers[:2], 3)}
    assert (figures["answers that failed"].value == 0
            and 0 <= figures["whole within a second"].value <= figures["answered within a second"].value <= 100)


def test_the_figures_of_a_class():
    answers = [Answer("prompt", ms / 2, float(ms), 10, 2_000, "" if ms < 1_900 else "gone")
               for ms in range(100, 2_100, 100)]
    figures = {figure.name: figure for figure in load.answer_figures(answers, answers[:10], 2)}
    assert (figures["whole within a second"].value == 50 and figures["whole within a second"].reference == 100
            and figures["answered within a second"].value == 100)
    assert ([figures[f"whole, {q}th percentile"].value for q in (50, 95, 99)] == [1_000, 1_900, 2_000]
            and figures["answered, 95th percentile"].value == 950)
    assert (figures["answers that failed"].value == 2 and figures["answers that failed"].note == "2 × gone"
            and figures["sent to a reader for an answer"].value == 2)
    assert sum(MIX.values()) == 100


def test_a_large_model_is_measured_in_every_view_once():
    measured = list(large.views())
    assert len({(lesson, tuple(settings.items())) for lesson, _, settings in measured}) == len(measured)
    opened = {(lesson, name, option) for lesson, _, settings in measured for name, option in settings.items()}
    for entry in catalogue.existing():
        assert entry.id in {lesson for lesson, _, _ in measured}
        assert all((entry.id, *pair) in opened for view in entry.views for pair in entry.opening(view).items())
    assert {lesson for lesson, _, _ in large.views(["limits", "heads"])} == {"limits", "heads"}
