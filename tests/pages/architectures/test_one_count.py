"""Operations are counted once: the lessons on recurrence and on the cost of length say the same of the same layer."""
from __future__ import annotations

import re

import pyarrow as pa
import pytest

from core.base import prose
from core.cost import growth, sequence_work
from pages.recurrence import serial
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import formulas

STATEMENT = ("Attention’s own part, 4N²d, grows past the recurrent 4Nd² at N = d; with its maps, 6Nd² + 4N²d, "
             "attention needs more at every N.")


def drawn(at, line: str, place: int = -1) -> dict[tuple[str, int], float]:
    """The values of a page's chart, by line and length."""
    sent = at.get("vega_lite_chart")[place].proto.datasets[0].data.data
    rows = pa.ipc.open_stream(sent).read_pandas()
    return {(row[line], int(row["x"])): row["y"] for row in rows[rows["role"] == "line"].to_dict("records")}


@pytest.mark.parametrize("d", [32, 64, 128])
def test_both_lessons_draw_the_same_numbers_for_the_same_length_and_width(d):
    one = open_at("recurrence", recurrence_view="serial", recurrence_width=str(d))
    other = open_at("architectures", architectures_view="cost", architectures_width=str(d))
    assert fine(one) and fine(other)
    serial_chart, cost_chart = drawn(one, "network"), drawn(other, "method", 0)
    same = {"rnn": "recurrent", "attention": "whole", "pairs": "attention"}
    common = [n for n in serial.LENGTHS if n in growth.LENGTHS]
    assert len(common) == 5
    for n in common:
        for mine, theirs in same.items():
            assert serial_chart[mine, n] == cost_chart[theirs, n], (mine, n)
        assert serial_chart["rnn", n] == 2 * n * (d * d + d * d), "two products of a row with a square matrix"
        assert (serial_chart["pairs", n] > serial_chart["rnn", n]) == (n > d)
        assert serial_chart["attention", n] > serial_chart["rnn", n]
    for at in (one, other):
        assert any(line.endswith(rf"\iff N > d = {d}") for line in formulas(at))


def test_both_lessons_say_the_same_of_the_crossing():
    texts = [prose.load(lesson).section(f"explanation_{view}")
             for lesson, view in (("recurrence", "serial"), ("architectures", "cost"))]
    assert all(STATEMENT in text for text in texts)
    assert not any(re.search(r"8 ?N ?d²", text) for text in texts)


def test_with_its_maps_attention_needs_more_at_every_length_and_its_pairs_alone_from_d_on():
    for d in (1, 16, 64, 257):
        for n in (1, d - 1, d, d + 1, 40 * d):
            assert sequence_work.attention(n, d) == 3 * 2 * n * d * d + 2 * 2 * n * n * d
            assert n < 1 or sequence_work.attention(n, d) > sequence_work.recurrent(n, d)
            assert (sequence_work.attention_pairs(n, d) > sequence_work.recurrent(n, d)) == (n > d)
