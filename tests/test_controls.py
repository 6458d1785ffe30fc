"""The pictures that a page was sent, to compare a control with, in the containers around them and without all else."""
from __future__ import annotations

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from core.base import catalogue
from tests.benchmarks.controls import Recorded, latency, place_of
from tests.browser.views import has_stage


def sent(*path: int, column: float = 0, words: str | None = None, chart: str | None = None) -> bytes:
    """A container, where there are neither words nor a chart."""
    message = ForwardMsg()
    message.metadata.delta_path[:] = path
    if words is not None:
        message.delta.new_element.markdown.body = words
    elif chart is not None:
        message.delta.new_element.vega_lite_chart.spec = chart
    else:
        message.delta.add_block.allow_empty = True
        if column:
            message.delta.add_block.column.weight = column
    return message.SerializeToString()


def replayed(recorded: Recorded) -> list[tuple[list[int], str | float | None]]:
    """By message its place, and the chart that it puts there, or the weight of a column."""
    found = []
    for message in recorded.alone():
        delta = message.delta
        told = (delta.new_element.vega_lite_chart.spec if delta.WhichOneof("type") == "new_element"
                else delta.add_block.column.weight or None)
        found.append((list(message.metadata.delta_path), told))
    return found


def page(*messages: bytes) -> Recorded:
    recorded = Recorded()
    for message in messages:
        recorded._take(message)
    return recorded


def test_a_chart_stands_in_its_column_beside_one_without_a_picture():
    recorded = page(sent(0, 0, words="title"), sent(0, 3), sent(0, 3, 0), sent(0, 3, 0, 0, column=2),
                    sent(0, 3, 0, 1, column=1), sent(0, 3, 0, 0, 0, words="told"),
                    sent(0, 3, 0, 1, 5, chart="a"), sent(0, 4))
    assert replayed(recorded) == [([0], None), ([0, 0], None), ([0, 0, 0], 2), ([0, 0, 1], 1), ([0, 0, 1, 0], "a")]


def test_what_stood_in_a_container_before_it_was_drawn_anew_is_gone():
    recorded = page(sent(0, 1), sent(0, 1, 0, column=1), sent(0, 1, 1, column=1), sent(0, 1), sent(0, 1, 0, column=3),
                    sent(0, 1, 0, 0, chart="a"), sent(0, 1, 0, 0, chart="b"))
    assert replayed(recorded) == [([0], None), ([0, 0], 3), ([0, 0, 0], "b")]


def test_a_message_that_the_browser_knows_is_looked_up_for_the_place_that_is_named_now():
    known = ForwardMsg.FromString(sent(0, 0, chart="a"))
    known.hash = "known"
    again = ForwardMsg(ref_hash="known")
    again.metadata.delta_path[:] = (0, 7)
    recorded = page(known.SerializeToString())
    recorded.pictures.clear()
    recorded._take(again.SerializeToString())
    assert replayed(recorded) == [([0], "a")]


def test_a_picture_that_hangs_elsewhere_than_on_the_page_is_left_out():
    assert page(sent(1, 0, chart="a")).alone() == []


def test_every_lesson_that_can_be_named_has_a_place_in_which_its_pictures_are_watched():
    for entry in catalogue.existing():
        place = place_of(entry.id)
        assert place == (f".st-key-{entry.id}_stage" if has_stage(entry.id) else f"[class*='st-key-{entry.id}_']")
        assert f'closest("{place}")' in latency(place)
