"""The activations' curves as the browser computes them: what core/model/activation.py computes."""
import numpy as np
import pytest
import torch

from core.model import activation
from tests.helpers.javascript import evaluate

X = torch.cat([torch.linspace(-8, 8, 129, dtype=torch.float64), torch.tensor([0.0, -1e-9, 1e-9, 40.0, -40.0])])


@pytest.mark.parametrize("name, beta", [("relu", 1.0), ("gelu", 1.0), ("gelu_tanh", 1.0), ("swish", 0.1),
                                        ("swish", 1.0), ("swish", 50.0)])
def test_curves_and_slopes_are_pythons(name, beta):
    values, slopes = evaluate("pages/architectures/activations.js",
                              "[m.VALUE, m.SLOPE].map((curves) => x.map((each) => curves[name](each, beta)))",
                              x=X.tolist(), name=name, beta=beta)
    expected = activation.swish(X, beta) if name == "swish" else activation.activate(name, X)
    np.testing.assert_allclose(values, expected, atol=1e-13)
    np.testing.assert_allclose(slopes, activation.slope(name, X, beta), atol=1e-13)
