"""The schemes of positions as the browser computes them: what core/model/positional.py computes."""
import math

import numpy as np
import pytest
import torch

from core.figures import positions as figures
from core.model import positional
from tests.helpers.javascript import evaluate

SCHEMES = "pages/positions/schemes.js"


@pytest.mark.parametrize("n, d, base", [(5, 6, 10_000.0), (40, 7, 37.0), (256, 64, 1.0), (3, 2, 1e6)])
def test_sinusoids_their_cosines_and_their_products_are_pythons(n, d, base):
    got = evaluate(SCHEMES, """(({ P, omega }) => ({ P, omega, distances: m.byDistance(P, n, d),
        row: m.productsWith(P, n, d, i), cosines: m.cosines(P, n, d) }))(m.sinusoids(n, d, base))""",
                   n=n, d=d, base=base, i=n // 2)
    P, omega = positional.sinusoidal(n, d, base).numpy(), positional.frequencies(d, base).numpy()
    np.testing.assert_allclose(got["omega"], omega, rtol=1e-13)
    np.testing.assert_allclose(got["P"], P.ravel(), atol=1e-12)
    np.testing.assert_allclose(got["distances"], P[:, 1::2].sum(1), atol=1e-11)
    np.testing.assert_allclose(got["row"], P @ P[n // 2], atol=1e-11)
    lengths = np.linalg.norm(P, axis=1)
    np.testing.assert_allclose(got["cosines"], (P @ P.T / lengths / lengths[:, None]).ravel(), atol=1e-6)


def test_a_vector_is_turned_as_the_model_turns_it():
    x, d = torch.randn(8, generator=torch.Generator().manual_seed(2), dtype=torch.float64), 8
    angles = positional.rotary_angles(12, d)
    got = evaluate(SCHEMES, "angles.map((each) => m.rotated(Float64Array.from(x), each))", x=x.tolist(),
                   angles=angles.tolist())
    np.testing.assert_allclose(got, positional.rotate(x.expand(12, d), angles), atol=1e-12)


def test_slopes_are_the_models_for_any_number_of_heads():
    got = evaluate(SCHEMES, "heads.map((h) => m.slopes(h))", heads=list(range(1, 33)))
    for heads, slopes in enumerate(got, start=1):
        np.testing.assert_allclose(slopes, positional.alibi_slopes(heads), rtol=1e-14)


def test_the_attention_of_biases_is_their_softmax():
    bias = np.random.default_rng(4).normal(0, 3, (6, 6))
    causal, whole = evaluate(SCHEMES, "[true, false].map((causal) => m.attention((i, j) => bias[i][j], 6, causal))",
                             bias=bias.tolist())
    causal, whole = (np.array(row, float).reshape(6, 6) for row in (causal, whole))
    for i in range(6):
        np.testing.assert_allclose(causal[i, :i + 1], figures.softmax_of_bias(bias, i), rtol=1e-12)
        assert np.isnan(causal[i, i + 1:]).all()
        np.testing.assert_allclose(whole[i], np.exp(bias[i]) / np.exp(bias[i]).sum(), rtol=1e-12)


def test_an_angle_is_new_where_no_trained_position_came_so_far():
    trained, omegas = 8, [2.0, 0.5, 0.1, 0.01]
    got = evaluate(SCHEMES, """omegas.map((omega) => Array.from({ length: 200 }, (_, i) =>
        m.isNewAngle(i, omega, trained)))""", omegas=omegas, trained=trained)
    for omega, new in zip(omegas, got):
        closed = omega * trained >= 2 * math.pi
        assert new == [not closed and i >= trained and i * omega % (2 * math.pi) > (trained - 1) * omega
                       for i in range(200)]


def test_a_row_times_some_rows_of_a_matrix():
    rng = np.random.default_rng(1)
    row, W = rng.normal(size=3), rng.normal(size=(5, 4))
    got = evaluate("pages/positions/concat.js", "m.times(Float64Array.from(row), Float64Array.from(W), 4, 2)",
                   row=row.tolist(), W=W.ravel().tolist())
    np.testing.assert_allclose(got, row @ W[2:], rtol=1e-13)
