"""The averages as the browser computes them: weights under a temperature, and the hull of the values."""
import numpy as np
import pytest
import torch

from core.analysis.attention_steps import tempered_weights
from tests.helpers.javascript import evaluate

AVERAGES = "pages/attention/averages.js"


@pytest.mark.parametrize("temperature", [1 / 64, 0.5, 1.0, 64.0])
def test_the_weights_under_a_temperature_are_pythons(temperature):
    scores = torch.tensor([0.3, -2.0, 5.0, 5.0, 700.0, -700.0], dtype=torch.float64)
    got = evaluate(AVERAGES, "m.weightsAt(Float64Array.from(scores), tau)", scores=scores.tolist(), tau=temperature)
    np.testing.assert_allclose(got, tempered_weights(scores, temperature), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 60])
def test_every_point_lies_within_the_hull_whose_corners_are_points(n):
    points = np.random.default_rng(n).normal(size=(n, 2))
    hull = np.array(evaluate(AVERAGES, "m.hullOf(points)", points=points.tolist()))
    assert {tuple(corner) for corner in hull} <= {tuple(point) for point in points}
    if n < 3:
        assert len(hull) == n
        return
    edges = np.roll(hull, -1, axis=0) - hull
    turns = edges[:, 0] * np.roll(edges, -1, axis=0)[:, 1] - edges[:, 1] * np.roll(edges, -1, axis=0)[:, 0]
    assert (turns > 0).all() or (turns < 0).all()
    offsets = points[:, None] - hull
    sides = edges[:, 0] * offsets[..., 1] - edges[:, 1] * offsets[..., 0]
    assert (np.sign(turns[0]) * sides > -1e-12).all()
