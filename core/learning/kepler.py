"""A planet on its ellipse as a minimal model: structure, parameters, data, training, testing and inference.

The seven numbers are a, h, k, p, q, λ₀, T: the semi-major axis; h = e sin ϖ and k = e cos ϖ, with the eccentricity e
and the longitude ϖ of the perihelion; p = tan(i/2) sin Ω and q = tan(i/2) cos Ω, with the inclination i and the
ascending node Ω; the mean longitude at time 0; the period. These equinoctial elements are equivalent to Kepler's, but
are also defined for a circle and for an orbit in the ecliptic, so that they can be fitted (Broucke and Cefola 1972).
Lengths in au, times in years of 365.25 days, angles in radians, positions (…, 3) float64 relative to the Sun: x towards
the vernal point, z perpendicular to the ecliptic.
"""
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.files import ASSETS, read_json

FILE = ASSETS / "teaching" / "orbits.json"
ARCMIN = math.pi / 180 / 60                 # in radians
# years: measurements before the first are fitted, those between the two are held out
TRAINED, TESTED = 4.0, 20.0
N_TESTED = 40
MOST_ECCENTRIC = 0.95                       # a fit rejects steps with a larger eccentricity
DEGREE = 12                                 # degree of the polynomials
LM_STEPS, LM_ENOUGH = 60, 1e-12             # most steps; relative decrease of the loss below which the fit ends
ADAM_STEPS, ADAM_RATE, ADAM_KEPT = 300, 0.03, 5


def eccentric_longitude(mean_longitude: Tensor, h: Tensor | float, k: Tensor | float) -> Tensor:
    """The solution K of Kepler's equation λ = K + h cos K − k sin K by Newton's method from Danby's initial value. With
    h = 0 the equation is M = E − e sin E. Raises ValueError for e = √(h² + k²) ≥ 1.

    Differentiable: the last Newton step is inside the autograd graph, where its derivative is that of the solution.
    """
    h, k = (torch.as_tensor(value, dtype=torch.float64) for value in (h, k))
    K = _newton(mean_longitude.detach(), h.detach(), k.detach())
    return K - _newton_step(K, mean_longitude, h, k)


def _newton_step(K: Tensor, mean_longitude: Tensor, h: Tensor, k: Tensor) -> Tensor:
    return (K + h * K.cos() - k * K.sin() - mean_longitude) / (1 - h * K.sin() - k * K.cos())


def _newton(mean_longitude: Tensor, h: Tensor, k: Tensor) -> Tensor:
    if not (h * h + k * k < 1).all():
        raise ValueError("An ellipse has an eccentricity below 1.")
    K = mean_longitude + 0.85 * (h * h + k * k).sqrt() * torch.sign(k * mean_longitude.sin() - h * mean_longitude.cos())
    for _ in range(50):
        step = _newton_step(K, mean_longitude, h, k)
        K = K - step
        if step.abs().max() < 1e-13:
            break
    return K


def eccentric_anomaly(mean_anomaly: Tensor, e: float) -> Tensor:
    """The solution E of Kepler's equation M = E − e sin E. Raises ValueError for e outside [0, 1).

    >>> round(float(eccentric_anomaly(torch.tensor([math.pi], dtype=torch.float64), 0.5)), 6)
    3.141593
    """
    if e < 0:
        raise ValueError(f"An eccentricity is at least 0, not {e}.")
    return eccentric_longitude(mean_anomaly, 0.0, e)


def _to_space(X: Tensor, Y: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """(…, 3) the positions of points X, Y (…) in the plane of the orbit."""
    scale = 1 / (1 + p * p + q * q)
    f = torch.stack([scale * (1 - p * p + q * q), scale * 2 * p * q, -2 * scale * p], dim=-1)
    g = torch.stack([scale * 2 * p * q, scale * (1 + p * p - q * q), 2 * scale * q], dim=-1)
    return X[..., None] * f + Y[..., None] * g


def on_ellipse(numbers: Tensor, times: Tensor) -> Tensor:
    """Kepler's law: an ellipse with the Sun in a focus, equal areas in equal times. numbers (7,)."""
    a, h, k, p, q, longitude, period = numbers
    K = eccentric_longitude(longitude + 2 * math.pi * times / period, h, k)
    beta = 1 / (1 + (1 - h * h - k * k).sqrt())
    X = a * ((1 - beta * h * h) * K.cos() + beta * h * k * K.sin() - k)
    return _to_space(X, a * ((1 - beta * k * k) * K.sin() + beta * h * k * K.cos() - h), p, q)


def on_equant(numbers: Sequence[Tensor], times: Tensor) -> Tensor:
    """Ptolemy's model with bisected eccentricity: a circle with its centre at distance a e from the Sun, and uniform
    angular motion about the equant at 2 a e. numbers (7,) as in `on_ellipse`.
    """
    a, h, k, p, q, longitude, period = numbers
    angle = longitude + 2 * math.pi * times / period
    along, across = k * angle.cos() + h * angle.sin(), k * angle.sin() - h * angle.cos()
    s = a * (along + (1 - across * across).clamp(min=0).sqrt())
    return _to_space(s * angle.cos() - 2 * a * k, s * angle.sin() - 2 * a * h, p, q)


def on_circle(numbers: Tensor, times: Tensor) -> Tensor:
    """Uniform motion on a circle around the Sun. numbers (5,): a, p, q, λ₀, T."""
    a, *others = numbers
    return on_equant((a, torch.zeros_like(a), torch.zeros_like(a), *others), times)


def on_polynomial(numbers: Tensor, times: Tensor) -> Tensor:
    """No physical law: each coordinate is a polynomial of the time, with Legendre coefficients up to DEGREE over the
    first TRAINED years. numbers (3 (DEGREE + 1),).
    """
    powers = torch.from_numpy(np.polynomial.legendre.legvander((2 * times / TRAINED - 1).numpy(), DEGREE))
    return (powers.T[:, None] * numbers.reshape(DEGREE + 1, 3, -1)).sum(0).T


@dataclass(frozen=True)
class Structure:
    """The form of a law without its numbers. place(numbers, times (n,)) -> (n, 3), with one vector of numbers or a
    column (n_numbers, n) for each time; h_index: the index of h, before k, in the numbers, None if there are none.
    """

    place: Callable[[Tensor, Tensor], Tensor]
    n_numbers: int
    h_index: int | None = None


STRUCTURES = {"ellipse": Structure(on_ellipse, 7, 1), "equant": Structure(on_equant, 7, 1),
              "circle": Structure(on_circle, 5), "polynomial": Structure(on_polynomial, 3 * (DEGREE + 1))}
METHODS = ("lm", "adam")


@functools.cache
def mars() -> Tensor:
    """(7,) the numbers of Mars in orbits.json."""
    row = read_json(FILE)["planets"]["Mars"]
    perihelion, node, longitude, tilt = (math.radians(row[key])
                                         for key in ("perihelion", "node", "longitude", "inclination"))
    return torch.tensor([row["a"], row["e"] * math.sin(perihelion), row["e"] * math.cos(perihelion),
                         math.tan(tilt / 2) * math.sin(node), math.tan(tilt / 2) * math.cos(node),
                         longitude, 100 * 360 / row["degrees_per_century"]], dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class Observations:
    """Positions (n, 3) at times (n,), sorted by time."""

    times: Tensor
    positions: Tensor


def measure(n: int, noise: float, seed: int) -> tuple[Observations, Observations]:
    """Measurements of Mars at n random times in the first TRAINED years, and at N_TESTED between TRAINED and TESTED.

    noise: the standard deviation of each coordinate in minutes of arc, times the distance from the Sun.
    """
    generator = np.random.default_rng(seed)
    parts = []
    for low, high, count in ((0.0, TRAINED, n), (TRAINED, TESTED, N_TESTED)):
        times = torch.from_numpy(np.sort(generator.uniform(low, high, count)))
        true = on_ellipse(mars(), times)
        errors = torch.from_numpy(generator.standard_normal((count, 3)))
        parts.append(Observations(times, true + noise * ARCMIN * true.norm(dim=-1, keepdim=True) * errors))
    return parts[0], parts[1]


def residuals(structure: str, numbers: Tensor, data: Observations) -> Tensor:
    """(3 n,) prediction minus measurement, as an angle at the Sun in minutes of arc."""
    errors = STRUCTURES[structure].place(numbers, data.times) - data.positions
    return (errors / data.positions.norm(dim=-1, keepdim=True) / ARCMIN).reshape(-1)


def rms(structure: str, numbers: Tensor, data: Observations) -> float:
    """The root mean square of the residuals in minutes of arc, the square root of the loss."""
    return float(residuals(structure, numbers, data).square().mean().sqrt())


def first_guess(structure: str, data: Observations) -> Tensor:
    """The initial numbers of a fit: a circle of 1.2 au and 1.8 years in the ecliptic, through the direction of the
    first measurement; zeros for polynomials.
    """
    if structure == "polynomial":
        return torch.zeros(STRUCTURES[structure].n_numbers, dtype=torch.float64)
    period, (x, y, _) = 1.8, data.positions[0].tolist()
    longitude = math.atan2(y, x) - 2 * math.pi * float(data.times[0]) / period
    middle = [0.0] * (4 if STRUCTURES[structure].h_index else 2)
    return torch.tensor([1.2, *middle, longitude, period], dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit. numbers (s, n_numbers): at the start and after each kept step; steps (s,): the indices of these steps;
    train, test (s,): rms in minutes of arc.
    """

    structure: str
    numbers: np.ndarray
    steps: np.ndarray
    train: np.ndarray
    test: np.ndarray

    @property
    def last(self) -> Tensor:
        return torch.from_numpy(self.numbers[-1])


def fit(structure: str, method: str, train: Observations, test: Observations) -> Fit:
    """Fit the structure's numbers to `train` by the Levenberg-Marquardt method ("lm") or by gradient descent with Adam
    ("adam"), both with derivatives by autograd.
    """
    kept = list({"lm": _levenberg_marquardt, "adam": _adam}[method](structure, train))
    errors = [np.array([rms(structure, numbers, data) for _, numbers in kept]) for data in (train, test)]
    return Fit(structure, torch.stack([numbers for _, numbers in kept]).numpy(), np.array([step for step, _ in kept]),
               *errors)


def jacobian(structure: str, numbers: Tensor, data: Observations) -> Tensor:
    """(3 n, n_numbers) the Jacobian of the residuals.

    Each time has a copy of the numbers, so that one backward pass per coordinate gives all derivatives.
    """
    copies = numbers[:, None].expand(-1, len(data.times)).clone().requires_grad_()
    coordinates = residuals(structure, copies, data).reshape(-1, 3).sum(0)
    rows = [torch.autograd.grad(coordinate, copies, retain_graph=True)[0].T for coordinate in coordinates]
    return torch.stack(rows, dim=1).reshape(-1, len(numbers))


def _too_eccentric(structure: str, numbers: Tensor) -> bool:
    at = STRUCTURES[structure].h_index
    return at is not None and float(numbers[at:at + 2].norm()) >= MOST_ECCENTRIC


def _levenberg_marquardt(structure: str, data: Observations) -> Iterator[tuple[int, Tensor]]:
    """Repeatedly solve (JᵀJ + μ diag JᵀJ) δ = −Jᵀr; divide μ by 10 after a step that lowers the loss, and multiply it
    by 10 until there is one.
    """
    numbers, damping = first_guess(structure, data), 1e-3
    yield 0, numbers
    for step in range(1, LM_STEPS + 1):
        r, J = residuals(structure, numbers, data), jacobian(structure, numbers, data)
        before, square = float(r @ r), J.T @ J
        while damping < 1e12:
            trial = numbers - torch.linalg.solve(square + damping * torch.diag(square.diagonal() + 1e-12), J.T @ r)
            after = (math.inf if _too_eccentric(structure, trial)
                     else float(residuals(structure, trial, data).square().sum()))
            if after < before:
                break
            damping *= 10
        else:
            return
        numbers, damping = trial, max(damping / 10, 1e-12)
        yield step, numbers
        if before - after < LM_ENOUGH * before:
            return


def _adam(structure: str, data: Observations) -> Iterator[tuple[int, Tensor]]:
    """ADAM_STEPS steps of torch's Adam on the mean squared residual, with a learning rate that falls linearly to 0;
    every ADAM_KEPT-th step is kept.
    """
    numbers = first_guess(structure, data).requires_grad_()
    optimizer = torch.optim.Adam([numbers], lr=ADAM_RATE)
    yield 0, numbers.detach().clone()
    for step in range(1, ADAM_STEPS + 1):
        optimizer.param_groups[0]["lr"] = ADAM_RATE * (1 - (step - 1) / ADAM_STEPS)
        loss = residuals(structure, numbers, data).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if _too_eccentric(structure, numbers.detach()):
            return
        if step % ADAM_KEPT == 0:
            yield step, numbers.detach().clone()


@dataclass(frozen=True)
class Elements:
    """The orbit's elements. pole: longitude and latitude of the direction perpendicular to the orbit; perihelion: its
    longitude; longitude: the mean longitude at time 0, in [0, 360); all in degrees. a, b: semi-major and semi-minor
    axis, au. period: years.
    """

    pole: tuple[float, float]
    perihelion: float
    a: float
    b: float
    longitude: float
    period: float

    @property
    def e(self) -> float:
        """The eccentricity √(1 − b²/a²)."""
        return math.sqrt(max(0.0, 1 - (self.b / self.a) ** 2))


def elements(numbers: Tensor) -> Elements:
    """The elements of the seven numbers of `on_ellipse`."""
    a, h, k, p, q, longitude, period = (float(value) for value in numbers)
    scale = 1 + p * p + q * q
    pole = (2 * p / scale, -2 * q / scale, (1 - p * p - q * q) / scale)
    return Elements((math.degrees(math.atan2(pole[1], pole[0])) % 360, math.degrees(math.asin(pole[2]))),
                    math.degrees(math.atan2(h, k)) % 360, a, a * math.sqrt(1 - h * h - k * k),
                    math.degrees(longitude) % 360, period)
