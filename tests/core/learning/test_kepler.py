"""Kepler's equation, the ellipse it runs on, and the fit of its seven numbers: hand-worked cases, identities, and
derivatives by another road.
"""
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from core.learning import kepler
from core.learning.kepler import ARCMIN, STRUCTURES
from tests.helpers.orbits import error_at

MERCURY = 0.2056
ANGLES = torch.linspace(-7, 7, 57, dtype=torch.float64)


@pytest.mark.parametrize("e", [0.0, MERCURY, 0.6, 0.99])
def test_keplers_equation_holds_where_it_is_solved(e: float):
    E = kepler.eccentric_anomaly(ANGLES, e)
    assert torch.allclose(E - e * E.sin(), ANGLES, atol=1e-12, rtol=0)
    if e == 0:
        assert torch.equal(E, ANGLES)


def test_a_hand_worked_case_and_an_ellipse_that_is_none():
    # at E = π/2 the mean anomaly is π/2 − e
    E = kepler.eccentric_anomaly(torch.tensor([math.pi / 2 - MERCURY], dtype=torch.float64), MERCURY)
    assert float(E) == pytest.approx(math.pi / 2, abs=1e-14)
    for e in (1.0, math.nan, -0.1):
        with pytest.raises(ValueError):
            kepler.eccentric_anomaly(ANGLES, e)


def test_the_derivatives_of_the_solution_are_those_of_finite_differences():
    M, h, k, step = 0.7, 0.05, 0.2, 1e-6

    def solved(values):
        return float(kepler.eccentric_longitude(torch.tensor(values[0], dtype=torch.float64), *values[1:]))

    leaves = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (M, h, k)]
    kepler.eccentric_longitude(*leaves).backward()
    for place, leaf in enumerate(leaves):
        up, down = ([value + sign * step * (i == place) for i, value in enumerate((M, h, k))] for sign in (1, -1))
        assert float(leaf.grad) == pytest.approx((solved(up) - solved(down)) / (2 * step), abs=1e-8)


def flat(e: float) -> torch.Tensor:
    """An orbit in the plane of the Earth's, its perihelion at longitude 0 at time 0."""
    return torch.tensor([1.5, 0.0, e, 0.0, 0.0, 0.0, 2.0], dtype=torch.float64)


def test_equal_areas_are_swept_in_equal_times_and_both_ends_of_the_axis_are_where_they_should_be():
    times = torch.linspace(0, 2, 20_001, dtype=torch.float64)
    x, y, z = kepler.on_ellipse(flat(MERCURY), times).T
    swept = (0.5 * (x[:-1] * y[1:] - x[1:] * y[:-1])).reshape(10, -1).sum(1)
    assert (torch.allclose(swept, swept.mean(), rtol=1e-6)
            and float(swept.sum()) == pytest.approx(math.pi * 1.5 ** 2 * math.sqrt(1 - MERCURY ** 2), rel=1e-6))
    assert (float(x.max()) == pytest.approx(1.5 * (1 - MERCURY))
            and float(x.min()) == pytest.approx(-1.5 * (1 + MERCURY)) and float(z.abs().max()) == 0)
    assert float(y.max()) == pytest.approx(1.5 * math.sqrt(1 - MERCURY ** 2), rel=1e-6)


def test_the_classical_formula_gives_the_same_place():
    numbers = kepler.mars()
    told = kepler.elements(numbers)
    perihelion, e, t = math.radians(told.perihelion), told.e, 1.3
    M = math.radians(told.longitude) - perihelion + 2 * math.pi * t / told.period
    E = M
    for _ in range(100):
        E = M + e * math.sin(E)
    x, y, z = kepler.on_ellipse(numbers, torch.tensor([t], dtype=torch.float64))[0].tolist()
    assert math.sqrt(x * x + y * y + z * z) == pytest.approx(told.a * (1 - e * math.cos(E)), abs=1e-12)
    longitude, latitude = (math.radians(angle) for angle in told.pole)
    pole = (math.cos(latitude) * math.cos(longitude), math.cos(latitude) * math.sin(longitude), math.sin(latitude))
    assert (sum(p * q for p, q in zip(pole, (x, y, z))) == pytest.approx(0, abs=1e-12)
            and 90 - told.pole[1] == pytest.approx(1.84969142))
    assert (told.e, told.period) == (pytest.approx(0.0933941), pytest.approx(686.98 / 365.25, abs=1e-4))


def test_the_equant_runs_evenly_around_its_own_point_on_a_circle_and_is_a_circle_without_eccentricity():
    times = torch.linspace(0, 2, 41, dtype=torch.float64)
    x, y, _ = kepler.on_equant(flat(0.1), times).T
    assert torch.allclose((x + 0.15) ** 2 + y ** 2, torch.full_like(x, 1.5 ** 2))
    seen = torch.atan2(y, x + 0.3)
    assert torch.allclose(torch.remainder(seen - math.pi * times + 1, 2 * math.pi), torch.ones_like(x))
    circle = kepler.on_circle(torch.tensor([1.5, 0, 0, 0, 2.0], dtype=torch.float64), times)
    assert all(torch.allclose(place(flat(0.0), times), circle) for place in (kepler.on_ellipse, kepler.on_equant))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_jacobian_is_that_of_finite_differences(structure: str):
    train, _ = kepler.measure(5, 1.0, 0)
    numbers = kepler.first_guess(structure, train) + 0.01
    J = kepler.jacobian(structure, numbers, train)
    for column in range(min(len(numbers), 7)):
        step = torch.zeros_like(numbers)
        step[column] = 1e-6
        other = (kepler.residuals(structure, numbers + step, train)
                 - kepler.residuals(structure, numbers - step, train)) / 2e-6
        assert torch.allclose(J[:, column], other, rtol=1e-5, atol=1e-2), column


@pytest.mark.parametrize("method", kepler.METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_the_numbers_come_back_from_measurements_without_noise(method: str, seed: int):
    made = kepler.fit("ellipse", method, *kepler.measure(12, 0.0, seed))
    assert (np.allclose(made.numbers[-1], kepler.mars().numpy(), rtol=0, atol=1e-4 if method == "adam" else 1e-9)
            and made.train[0] > 500 > 1 > made.test[-1])
    assert (len(made.steps) == len(made.numbers) == len(made.train)
            and (method == "adam" or np.all(np.diff(made.train) <= 0)))


def test_a_fit_errs_as_much_as_its_measurements_and_a_wrong_structure_more():
    fits = {structure: kepler.fit(structure, "lm", *kepler.measure(60, 1.0, 0)) for structure in STRUCTURES}
    assert (fits["ellipse"].train[-1] == pytest.approx(math.sqrt(1 - 7 / 180), abs=0.15)
            and fits["ellipse"].test[-1] < 1.3)
    assert (3 < fits["equant"].train[-1] < fits["equant"].test[-1] and fits["circle"].train[-1] > 100
            and fits["polynomial"].test[-1] > 1e9)
    assert {name: fit.numbers.shape[1] for name, fit in fits.items()} == {"ellipse": 7, "equant": 7,
                                                                          "circle": 5, "polynomial": 39}


def test_the_noise_is_the_angle_it_says_and_the_seed_says_all():
    train, test = kepler.measure(2000, 2.0, 3)
    assert kepler.rms("ellipse", kepler.mars(), train) == pytest.approx(2.0, abs=0.08)
    assert (torch.equal(train.positions, kepler.measure(2000, 2.0, 3)[0].positions)
            and not torch.equal(test.positions, kepler.measure(2000, 2.0, 4)[1].positions))
    assert float(train.times.max()) <= kepler.TRAINED <= float(test.times.min())
    shifted = kepler.mars() + torch.tensor([0, 0, 0, 0, 0, ARCMIN, 0], dtype=torch.float64)
    assert (float(error_at("ellipse", shifted, torch.tensor([10.0], dtype=torch.float64)))
            == pytest.approx(1 / math.sqrt(3), rel=0.2))
