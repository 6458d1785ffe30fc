"""Gradient descent on two weights: a loss with a long narrow valley, and the paths of torch's optimizers over it."""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from core.learning.learner import Knobs

FURTHEST = 1e9          # a path with a larger coordinate has diverged and ends
MOMENTUM = 0.9          # of `core.learning.learner`'s gradient descent with momentum


@dataclass(frozen=True)
class Surface:
    """loss(points (…, 2)) -> (…). level(c, angles (n,)) -> (n, 2): the contour line of loss c. start and minimum: (x,
    y); x and y: the drawn ranges.
    """

    loss: Callable[[Tensor], Tensor]
    level: Callable[[float, np.ndarray], np.ndarray]
    start: tuple[float, float]
    minimum: tuple[float, float]
    x: tuple[float, float]
    y: tuple[float, float]

    @property
    def curvatures(self) -> tuple[float, float]:
        """The eigenvalues of the Hessian at the minimum, the smaller first."""
        hessian = torch.autograd.functional.hessian(self.loss, torch.tensor(self.minimum, dtype=torch.float64))
        low, high = torch.linalg.eigvalsh(hessian).tolist()
        return low, high

    @property
    def bound(self) -> float:
        """2 / λ_max: with a higher learning rate plain gradient descent diverges."""
        return 2 / self.curvatures[1]


def bowl(points: Tensor) -> Tensor:
    """½ (x² + 25 y²): 25 times as steep across the valley as along it."""
    return 0.5 * (points[..., 0] ** 2 + 25 * points[..., 1] ** 2)


def ravine(points: Tensor) -> Tensor:
    """(1 − x)² + 10 (y − x²)²: a curved valley (Rosenbrock 1960, with 10 in place of 100)."""
    x, y = points[..., 0], points[..., 1]
    return (1 - x) ** 2 + 10 * (y - x ** 2) ** 2


def bowl_level(c: float, angles: np.ndarray) -> np.ndarray:
    """(n, 2) the contour of `bowl` at c, an ellipse."""
    return np.sqrt(2 * c) * np.stack([np.cos(angles), np.sin(angles) / 5], axis=-1)


def ravine_level(c: float, angles: np.ndarray) -> np.ndarray:
    """(n, 2) the contour of `ravine` at c, an ellipse bent along the parabola y = x²."""
    x = 1 + np.sqrt(c) * np.cos(angles)
    return np.stack([x, x ** 2 + np.sqrt(c / 10) * np.sin(angles)], axis=-1)


SURFACES = {
    "bowl": Surface(bowl, bowl_level, (-4.0, 1.2), (0.0, 0.0), (-5.0, 5.0), (-2.0, 2.0)),
    "ravine": Surface(ravine, ravine_level, (-1.3, 0.6), (1.0, 1.0), (-2.0, 2.0), (-0.8, 2.4)),
}


def path(surface: Surface, optimizer: str, learning_rate: float, n_steps: int) -> np.ndarray:
    """(at most n_steps + 1, 2) the path of an optimizer of `core.learning.learner` from the start; it ends early if it
    diverges.
    """
    weights = nn.ParameterList([torch.tensor(surface.start, dtype=torch.float64)])
    descent, points = Knobs(optimizer, learning_rate).make(weights), [weights[0].detach().clone()]
    for _ in range(n_steps):
        descent.zero_grad()
        surface.loss(weights[0]).backward()
        descent.step()
        points.append(weights[0].detach().clone())
        if not points[-1].abs().max() < FURTHEST:
            break
    return torch.stack(points).numpy()


def growth(learning_rate: float, curvature: float) -> float:
    """|1 − η λ|: the factor by which a step of plain gradient descent multiplies the distance from the minimum along a
    direction of curvature λ.

    >>> growth(0.1, 25.0), growth(0.08, 25.0)
    (1.5, 1.0)
    """
    return abs(1 - learning_rate * curvature)
