"""Structure against parameters: known counts of Boolean functions, and a second computation in plain loops."""
import itertools
import math

import pytest

from core.analysis.boolean_functions import FAMILIES, Family, reached, zeta


@pytest.mark.parametrize("n, bits, count", [(1, 3, 4), (2, 3, 14), (3, 3, 104), (2, 4, 14), (3, 4, 104)])
def test_as_many_functions_are_thresholds_as_is_known(n, bits, count):
    """Muroga: 4, 14, 104 threshold functions of 1, 2, 3 variables."""
    found = reached(Family("threshold", n, bits))
    assert found.n_reached == count and found.counts.sum() == 2 ** ((n + 1) * bits)


def by_loops(family: Family, theta: int) -> int:
    """The function of one θ, bit by bit."""
    n, g = family.n, 0
    width = family.bits if family.name in ("threshold", "network") else 1
    w = [(theta >> (width * i)) % 2 ** width for i in range(family.n_weights)]
    signed = [2 * value - 2 ** width + 1 for value in w]
    for place, x in enumerate(itertools.product((0, 1), repeat=n)):
        x = x[::-1]                                   # the first bit is the lowest
        if family.name == "table":
            y = w[place] if place < family.bits else 0
        elif family.name == "parity":
            y = (sum(a * b for a, b in zip(w, x)) + w[n]) % 2
        else:
            units = [int(sum(a * b for a, b in zip(signed[k:], x)) + signed[k + n] > 0)
                     for k in range(0, len(signed) - n, n + 1)]
            y = units[0] if family.name == "threshold" else int(
                signed[-3] * units[0] + signed[-2] * units[1] + signed[-1] > 0)
        g += y << place
    return g


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("n, bits", [(1, 1), (2, 1), (2, 2), (3, 1)])
def test_each_function_is_reached_by_as_many_parameters_as_loops_count(name, n, bits):
    family = Family(name, n, bits)
    if family.p > 12:
        return
    found, by_hand = reached(family), [by_loops(family, theta) for theta in range(2 ** family.p)]
    assert [int(count) for count in found.counts] == [by_hand.count(g) for g in range(2 ** 2 ** n)]
    assert all(theta == by_hand.index(g) if g in by_hand else theta == -1 for g, theta in enumerate(found.first))


@pytest.mark.parametrize("name, n, bits", [("threshold", 3, 4), ("network", 2, 2), ("parity", 3, 1), ("table", 3, 5)])
def test_no_family_reaches_more_than_its_parameters_can_say(name, n, bits):
    found = reached(Family(name, n, bits))
    assert found.n_reached <= min(2 ** found.family.p, 2 ** 2 ** n)
    assert found.said_by_parameters + found.said_by_structure == pytest.approx(2 ** n)
    if name in ("parity", "table"):                  # no two θ are the same function
        assert found.n_reached == 2 ** found.family.p


def test_exclusive_or_needs_the_network():
    exclusive = 0b0110
    assert reached(Family("threshold", 2, 4)).counts[exclusive] == 0
    assert reached(Family("network", 2, 2)).counts[exclusive] > 0
    assert reached(Family("network", 2, 2)).n_reached == 16


def test_at_zeta_half_of_the_bits_are_the_structures():
    for n in range(1, 9):
        assert 2 ** n - zeta(n) == zeta(n)
        assert math.log2(zeta(n)) == n - 1
