"""The planets' motions as the browser computes them: what core/learning/kepler.py computes."""
import math

import numpy as np
import pytest
import torch

from core.learning import kepler
from tests.helpers.javascript import evaluate
from tests.helpers.orbits import error_at

MOTION = "pages/training/kepler_motion.js"
TIMES = torch.tensor([-3.0, 0.0, 0.1, 1.88, 7.3, 40.0], dtype=torch.float64)


def numbers_of(structure: str) -> torch.Tensor:
    a, _, _, p, q, longitude, period = kepler.mars().tolist()
    made = torch.randn(3 * (kepler.DEGREE + 1), generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return {"ellipse": torch.tensor([a, 0.4, -0.3, p, q, longitude, period], dtype=torch.float64),
            "equant": kepler.mars().double(), "polynomial": made,
            "circle": torch.tensor([a, p, q, longitude, period], dtype=torch.float64)}[structure]


@pytest.mark.parametrize("structure", kepler.STRUCTURES)
def test_a_planet_stands_where_python_says(structure):
    numbers = numbers_of(structure)
    places, errors = evaluate(MOTION, """[times.map((t) => m.MOTIONS[structure](numbers, t, trained)),
        times.map((t) => m.apart(m.MOTIONS[structure](numbers, t, trained), m.MOTIONS.ellipse(truth, t)))]""",
                              times=TIMES.tolist(), structure=structure, numbers=numbers.tolist(),
                              trained=kepler.TRAINED, truth=kepler.mars().tolist())
    np.testing.assert_allclose(places, kepler.STRUCTURES[structure].place(numbers, TIMES), rtol=1e-9,
                               atol=1e-9)
    np.testing.assert_allclose(errors, error_at(structure, numbers, TIMES), rtol=1e-6, atol=1e-6)


def test_a_path_goes_once_round():
    numbers = numbers_of("ellipse")
    path = evaluate(MOTION, "m.pathOf('ellipse', numbers, 1, 60)", numbers=numbers.tolist())
    assert len(path) == 61 and math.dist(path[0], path[-1]) < 1e-9 and math.dist(path[0], path[30]) > 1
