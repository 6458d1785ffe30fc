"""Structure or parameters on its page: in every state the picture, its sentence and its formulas say the same."""
from __future__ import annotations

import itertools
import math
import re

import pytest

from core.base import prose
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas, unpacked
from tests.pages.limits.test_limits import numbers_in, open_at

WORDS = prose.load("limits")


def component(at) -> tuple[dict, dict]:
    [found] = [element for element in at.get("bidi_component") if element.proto.component_name == "limits_functions"]
    header = unpacked(found.proto.bytes)
    return header, header


@pytest.mark.parametrize("family, n, bits", [
    *itertools.product(["threshold", "parity"], "13", "2"), ("network", "2", "1"), ("table", "2", "1"),
    ("threshold", "2", "4")])
def test_the_bits_of_the_bars_are_those_of_the_formulas(family, n, bits):
    at = open_at(view="structure", family=family, inputs=n, weight_bits=bits, entries="3")
    assert fine(at)
    header, _ = component(at)
    reached = sum(bool(solution) for solution in header["solutions"])
    assert len(header["solutions"]) == 2 ** 2 ** int(n) and header["bits"]["all"] == 2 ** int(n)
    assert header["bits"]["said"] == pytest.approx(math.log2(reached)) and header["thetas"] == 2 ** header["bits"]["p"]
    lines = formulas(at)
    assert numbers_in(lines[0])[-1] == header["thetas"] and str(2 ** 2 ** int(n)) in lines[0].replace(",", "")
    assert f"\\log_2 {reached}" in lines[1].replace("{,}", "") and f"{2 ** int(n) - math.log2(reached):.4f}" in (
        lines[2] + f"{0:.4f}" * (2 ** int(n) == math.log2(reached)))
    assert lines[3].endswith(str(2 ** (int(n) - 1)))


@pytest.mark.parametrize("n, exponent, kind", [(28, 26, "structure"), (28, 27, "equal"), (28, 28, "all"),
                                               (1, 0, "equal"), (48, 3, "structure")])
def test_the_verdict_follows_from_zeta(n, exponent, kind):
    at = open_at(view="structure", wide=str(n), budget=str(exponent))
    said = [m.value for m in at.markdown if m.value.startswith(f"**n = {n}, p = ")]
    part = {"structure": "more than θ has", "equal": "need half of their", "all": "θ can list all"}[kind]
    assert len(said) == 1 and part in said[0]
    if exponent < n:
        assert str(2 ** n - 2 ** exponent) in formulas(at)[-1].replace("{,}", "").replace(",", "")


def test_errors_have_no_more_digits_than_they_carry():
    cells = [str(cell) for table in (*open_at(view="structure").table, *open_at(view="structure").dataframe)
             for cell in table.value.to_numpy().ravel() if str(cell).endswith("′")]
    assert len(cells) == 8 and max(len(re.sub(r"\D", "", cell)) for cell in cells) <= 4
