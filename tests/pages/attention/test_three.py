"""Three vectors in the plane: a₃ calculated a second time by numpy, in the page, in its script and in its formulas, in
every state of its settings.
"""
from __future__ import annotations

import functools
import re

import numpy as np
import pytest

from core.base import prose
from core.figures.numbers import probability
from pages.attention.three import MATRICES
from tests.helpers import lessons, messages
from tests.helpers.javascript import evaluate
from tests.helpers.messages import formulas
from tests.helpers.predictions import ask, modes, statements, told
from tests.pages.attention.test_steps import value_of

WORDS = prose.load("attention")
opened = functools.partial(lessons.opened, "attention", prompt=None)
PLACES = [[[1.6, 0.4], [-0.8, 1.4], [1.2, 1.0]], [[0, 0], [0, 0], [0, 0]], [[2.5, 2.5], [-2.5, -2.5], [2.5, 2.5]],
          *np.random.default_rng(0).uniform(-2.5, 2.5, (3, 3, 2)).round(1).tolist()]


def by_hand(points: list, weights: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores (3,), weights (3,) and the output (2,) of the third vector."""
    X = np.array(points, float)
    Q, K, V = (X @ np.array(MATRICES[f"W_{name}"]) if weights == "on" else X for name in "QKV")
    scores = K @ Q[2] / (2 ** 0.5 if weights == "on" else 1)
    powers = np.exp(scores - scores.max())
    return scores, powers / powers.sum(), (powers / powers.sum()) @ V


def written(points: list) -> str:
    return ";".join(f"{x:g},{y:g}" for x, y in points)


@pytest.mark.parametrize("weights", ["off", "on"])
@pytest.mark.parametrize("points", PLACES, ids=str)
def test_the_script_arrives_at_the_same_output(points, weights):
    found = evaluate("pages/attention/three_work.js", "m.attend(points, matrices)", points=points,
                     matrices=MATRICES if weights == "on" else None)
    scores, alpha, out = by_hand(points, weights)
    assert np.allclose([item["score"] for item in found["items"]], scores)
    assert np.allclose([item["alpha"] for item in found["items"]], alpha) and np.allclose(found["out"], out)


@pytest.mark.parametrize("weights", ["off", "on"])
@pytest.mark.parametrize("points", [PLACES[0], PLACES[1], PLACES[3]], ids=str)
def test_the_formulas_calculate_it_number_by_number(points, weights):
    at = opened({"view": "three", "three_points": written(points), "three_weights": weights})
    given = messages.given(at, "attention_three")
    assert given["settings"] == {"points": points, "weights": weights}
    scores, alpha, out = by_hand(points, weights)
    shown = formulas(at)
    for start, values in (("s_{3,", scores), ("a_{3,", out), (r"\alpha_{3,3}", alpha[2:])):
        lines = [line for line in shown if line.startswith(start)]
        assert [value_of(line.split("=")[-1]) for line in lines] == pytest.approx(list(values), abs=6e-5)
        if start != r"\alpha_{3,3}":
            assert [value_of(line.split("=")[-2]) for line in lines] == pytest.approx(list(values), abs=6e-5)
    [weight] = [line for line in shown if line.startswith(r"\alpha_{3,3}")]
    powers = [np.exp(float(power)) for power in re.findall(r"e\^\{(.+?)\}", weight)]
    assert powers[0] / sum(powers[1:]) == pytest.approx(alpha[2], abs=1e-5)


@pytest.mark.parametrize("points", ["", "1,2,3", "a,b;c,d;e,f", "9,9;9,9;9,9", "nan,0;0,0;0,0", "1e400,0;0,0;0,0"])
def test_points_that_make_no_sense_give_way_to_those_at_the_start(points):
    assert messages.given(opened({"view": "three", "three_points": points}),
                          "attention_three")["settings"]["points"] == PLACES[0]


def test_the_answer_is_the_weight_of_vectors_twice_as_long():
    for points in PLACES:
        at = opened({"view": "three", "three_points": written(points)})
        then = by_hand((2 * np.array(points)).tolist(), "off")[1][2]
        assert probability(float(then)) in [option for radio in at.radio for option in radio.options]


ASKED = [(PLACES[0], 2), (PLACES[1], 3), (PLACES[2], 3), (PLACES[3], 2), ([[2.4, 2], [-0.8, 1.4], [1.2, 1]], 0),
         ([[0.1, 0], [1, 2], [0.3, 0.5]], 1)]


@pytest.mark.parametrize(("points", "right"), ASKED, ids=str)
def test_the_right_option_is_the_vector_with_the_largest_product(points, right):
    scores, alpha, _ = by_hand(points, "off")
    best = np.flatnonzero(np.isclose(scores, scores.max()))
    assert right == (best[0] if len(best) == 1 else 3)
    found = told("attention", "three", 0, attention_three_points=written(points))
    assert found["answer"] == right and found["guess"]["texts"] == [WORDS.label(f"guess_three_{k}") for k in range(4)]
    seen = 2 if right != 2 else 0 if alpha[2] >= 0.5 else 1
    assert found["true"] == statements("attention", "three")[seen]


def test_nothing_is_asked_of_vectors_whose_weights_hide_the_products():
    assert "ask" not in modes(ask("attention", "three", attention_three_weights="on"))
