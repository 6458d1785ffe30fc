"""A planet on its ellipse as the smallest model there is: structure, parameters, data, training, testing and inference.

The seven numbers are a, h, k, p, q, λ₀, T: half the major axis; h = e sin ϖ and k = e cos ϖ, eccentricity and direction
ϖ of the perihelion; p = tan(i/2) sin Ω and q = tan(i/2) cos Ω, the direction perpendicular to the orbit; the mean
longitude at time 0 and the period. They say the same as Kepler's own, with no place where a direction is undefined (a
circle, an orbit in the plane of the Earth's), so that they can be fitted (Broucke and Cefola 1972). Lengths in au,
times in years of 365.25 days, angles in radians, positions (…, 3) float64 as seen from the Sun: x towards the spring
point, z perpendicular to the Earth's orbit.
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
# years: measurements up to the first are fitted, those from there to the second held out
TRAINED, TESTED = 4.0, 20.0
N_TESTED = 40
MOST_ECCENTRIC = 0.95                       # beyond it a step of a fit is refused
DEGREE = 12                                 # of the polynomials
LM_STEPS, LM_ENOUGH = 60, 1e-12             # steps at most; a step that lowers the loss by a smaller share is the last
ADAM_STEPS, ADAM_RATE, ADAM_KEPT = 300, 0.03, 5


def eccentric_longitude(mean_longitude: Tensor, h: Tensor | float, k: Tensor | float) -> Tensor:
    """K of Kepler's equation λ = K + h cos K − k sin K, by Newton's method from Danby's start; e = √(h² + k²) below 1,
    else ValueError. With h = 0 it is M = E − e sin E.

    Differentiable: the last step of Newton is taken inside the graph, where its derivative is that of the solution.
    """
    h, k = (torch.as_tensor(value, dtype=torch.float64) for value in (h, k))
    K = _solved(mean_longitude.detach(), h.detach(), k.detach())
    return K - _newton_step(K, mean_longitude, h, k)


def _newton_step(K: Tensor, mean_longitude: Tensor, h: Tensor, k: Tensor) -> Tensor:
    return (K + h * K.cos() - k * K.sin() - mean_longitude) / (1 - h * K.sin() - k * K.cos())


def _solved(mean_longitude: Tensor, h: Tensor, k: Tensor) -> Tensor:
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
    """E of Kepler's equation M = E − e sin E.

    >>> round(float(eccentric_anomaly(torch.tensor([math.pi], dtype=torch.float64), 0.5)), 6)
    3.141593
    """
    return eccentric_longitude(mean_anomaly, 0.0, e)


def _in_space(X: Tensor, Y: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """(…, 3) the points X, Y (…) of the plane of the orbit, by two perpendicular directions in it."""
    scale = 1 / (1 + p * p + q * q)
    f = torch.stack([scale * (1 - p * p + q * q), scale * 2 * p * q, -2 * scale * p], dim=-1)
    g = torch.stack([scale * 2 * p * q, scale * (1 + p * p - q * q), 2 * scale * q], dim=-1)
    return X[..., None] * f + Y[..., None] * g


def on_ellipse(numbers: Tensor, times: Tensor) -> Tensor:
    """Kepler: an ellipse with the Sun in a focus, equal areas in equal times. numbers (7,)."""
    a, h, k, p, q, longitude, period = numbers
    K = eccentric_longitude(longitude + 2 * math.pi * times / period, h, k)
    beta = 1 / (1 + (1 - h * h - k * k).sqrt())
    X = a * ((1 - beta * h * h) * K.cos() + beta * h * k * K.sin() - k)
    return _in_space(X, a * ((1 - beta * k * k) * K.sin() + beta * h * k * K.cos() - h), p, q)


def on_equant(numbers: Sequence[Tensor], times: Tensor) -> Tensor:
    """Ptolemy, with the eccentricity halved: a circle whose centre is a e from the Sun, run through at an even angle as
    seen from 2 a e. The same seven numbers.
    """
    a, h, k, p, q, longitude, period = numbers
    angle = longitude + 2 * math.pi * times / period
    along, across = k * angle.cos() + h * angle.sin(), k * angle.sin() - h * angle.cos()
    s = a * (along + (1 - across * across).clamp(min=0).sqrt())
    return _in_space(s * angle.cos() - 2 * a * k, s * angle.sin() - 2 * a * h, p, q)


def on_circle(numbers: Tensor, times: Tensor) -> Tensor:
    """A circle around the Sun, run through evenly. numbers (5,): a, p, q, λ₀, T."""
    a, *others = numbers
    return on_equant((a, torch.zeros_like(a), torch.zeros_like(a), *others), times)


def on_polynomial(numbers: Tensor, times: Tensor) -> Tensor:
    """No law at all: each coordinate a polynomial of the time, as Legendre's up to DEGREE over the years of the
    measurements. numbers (3 (DEGREE + 1),).
    """
    powers = torch.from_numpy(np.polynomial.legendre.legvander((2 * times / TRAINED - 1).numpy(), DEGREE))
    return (powers.T[:, None] * numbers.reshape(DEGREE + 1, 3, -1)).sum(0).T


@dataclass(frozen=True)
class Structure:
    """The form of a law before its numbers are known. place(numbers, times (n,)) -> (n, 3), the numbers one vector or a
    column (n_numbers, n) for each time; h_at: where h and k stand in the numbers, None if there are none.
    """

    place: Callable[[Tensor, Tensor], Tensor]
    n_numbers: int
    h_at: int | None = None


STRUCTURES = {"ellipse": Structure(on_ellipse, 7, 1), "equant": Structure(on_equant, 7, 1),
              "circle": Structure(on_circle, 5), "polynomial": Structure(on_polynomial, 3 * (DEGREE + 1))}
METHODS = ("lm", "adam")


@functools.cache
def planet() -> Tensor:
    """The seven numbers of Mars in the table."""
    mars = read_json(FILE)["planets"]["Mars"]
    perihelion, node, longitude, tilt = (math.radians(mars[key])
                                         for key in ("perihelion", "node", "longitude", "inclination"))
    return torch.tensor([mars["a"], mars["e"] * math.sin(perihelion), mars["e"] * math.cos(perihelion),
                         math.tan(tilt / 2) * math.sin(node), math.tan(tilt / 2) * math.cos(node),
                         longitude, 100 * 360 / mars["degrees_per_century"]], dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class Observations:
    """Positions (n, 3) at times (n,), in the order of time."""

    times: Tensor
    positions: Tensor


def measure(n: int, noise: float, seed: int) -> tuple[Observations, Observations]:
    """Mars measured at n times of the first TRAINED years, and at N_TESTED of the years after them up to TESTED.

    noise: standard deviation in minutes of arc, of each coordinate as a share of the distance: as if the position was
    off by this angle, in every direction.
    """
    generator = np.random.default_rng(seed)
    parts = []
    for low, high, count in ((0.0, TRAINED, n), (TRAINED, TESTED, N_TESTED)):
        times = torch.from_numpy(np.sort(generator.uniform(low, high, count)))
        true = on_ellipse(planet(), times)
        errors = torch.from_numpy(generator.standard_normal((count, 3)))
        parts.append(Observations(times, true + noise * ARCMIN * true.norm(dim=-1, keepdim=True) * errors))
    return parts[0], parts[1]


def residuals(structure: str, numbers: Tensor, data: Observations) -> Tensor:
    """(3 n,) what the model says minus what was measured, as an angle at the Sun in minutes of arc."""
    errors = STRUCTURES[structure].place(numbers, data.times) - data.positions
    return (errors / data.positions.norm(dim=-1, keepdim=True) / ARCMIN).reshape(-1)


def rms(structure: str, numbers: Tensor, data: Observations) -> float:
    """The root of the mean square of the residuals, minutes of arc: the root of the loss."""
    return float(residuals(structure, numbers, data).square().mean().sqrt())


def rough_start(structure: str, data: Observations) -> Tensor:
    """Where a fit begins: a circle of 1.2 au in the plane of the Earth's orbit, of 1.8 years, beginning where the
    planet was first seen; polynomials at 0.
    """
    if structure == "polynomial":
        return torch.zeros(STRUCTURES[structure].n_numbers, dtype=torch.float64)
    period, (x, y, _) = 1.8, data.positions[0].tolist()
    longitude = math.atan2(y, x) - 2 * math.pi * float(data.times[0]) / period
    middle = [0.0] * (4 if STRUCTURES[structure].h_at else 2)
    return torch.tensor([1.2, *middle, longitude, period], dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class Fit:
    """A training. numbers (s, n_numbers): at the start and after each kept step; steps (s,): which step it was; train,
    test (s,): rms in minutes of arc.
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
    """Fit the structure's numbers to `train`, by Levenberg and Marquardt's method ("lm") or by gradient descent with
    Adam ("adam"), both with torch's derivatives.
    """
    kept = list({"lm": _levenberg_marquardt, "adam": _adam}[method](structure, train))
    errors = [np.array([rms(structure, numbers, data) for _, numbers in kept]) for data in (train, test)]
    return Fit(structure, torch.stack([numbers for _, numbers in kept]).numpy(), np.array([step for step, _ in kept]),
               *errors)


def jacobian(structure: str, numbers: Tensor, data: Observations) -> Tensor:
    """(3 n, n_numbers) the derivatives of the residuals.

    Every time is given numbers of its own, so that one backward pass a coordinate says all of them.
    """
    each = numbers[:, None].expand(-1, len(data.times)).clone().requires_grad_()
    coordinates = residuals(structure, each, data).reshape(-1, 3).sum(0)
    rows = [torch.autograd.grad(coordinate, each, retain_graph=True)[0].T for coordinate in coordinates]
    return torch.stack(rows, dim=1).reshape(-1, len(numbers))


def _too_eccentric(structure: str, numbers: Tensor) -> bool:
    at = STRUCTURES[structure].h_at
    return at is not None and float(numbers[at:at + 2].norm()) >= MOST_ECCENTRIC


def _levenberg_marquardt(structure: str, data: Observations) -> Iterator[tuple[int, Tensor]]:
    """Solve (JᵀJ + μ diag JᵀJ) δ = −Jᵀr again and again; μ falls by 10 after a step that lowers the loss, and rises by
    10 until there is one.
    """
    numbers, damping = rough_start(structure, data), 1e-3
    yield 0, numbers
    for step in range(1, LM_STEPS + 1):
        r, J = residuals(structure, numbers, data), jacobian(structure, numbers, data)
        before, square = float(r @ r), J.T @ J
        while damping < 1e12:
            moved = numbers - torch.linalg.solve(square + damping * torch.diag(square.diagonal() + 1e-12), J.T @ r)
            after = (math.inf if _too_eccentric(structure, moved)
                     else float(residuals(structure, moved, data).square().sum()))
            if after < before:
                break
            damping *= 10
        else:
            return
        numbers, damping = moved, max(damping / 10, 1e-12)
        yield step, numbers
        if before - after < LM_ENOUGH * before:
            return


def _adam(structure: str, data: Observations) -> Iterator[tuple[int, Tensor]]:
    """ADAM_STEPS steps of torch's Adam on the mean square in au², the learning rate falling in a straight line to 0;
    every ADAM_KEPT-th is kept.
    """
    numbers = rough_start(structure, data).requires_grad_()
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
    """Kepler's seven as a reader knows them. pole: longitude and latitude of the direction perpendicular to the orbit;
    perihelion: direction of the major axis; degrees.
    a, b: half the major and the minor axis, au. longitude: mean longitude at time 0, degrees from 0 to 360.
    period: years.
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
    """The seven numbers of `on_ellipse` in Kepler's terms."""
    a, h, k, p, q, longitude, period = (float(value) for value in numbers)
    scale = 1 + p * p + q * q
    pole = (2 * p / scale, -2 * q / scale, (1 - p * p - q * q) / scale)
    return Elements((math.degrees(math.atan2(pole[1], pole[0])) % 360, math.degrees(math.asin(pole[2]))),
                    math.degrees(math.atan2(h, k)) % 360, a, a * math.sqrt(1 - h * h - k * k),
                    math.degrees(longitude) % 360, period)
