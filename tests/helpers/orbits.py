"""How far a model of core.learning.kepler is from the planet, as the browser shows it."""
import math

from torch import Tensor

from core.learning.kepler import ARCMIN, STRUCTURES, mars, on_ellipse


def error_at(structure: str, numbers: Tensor, times: Tensor) -> Tensor:
    """(n,) the root of the mean square over the three coordinates, as an angle at the Sun in minutes of arc."""
    true = on_ellipse(mars(), times)
    return (STRUCTURES[structure].place(numbers, times) - true).norm(dim=-1) / true.norm(dim=-1) / ARCMIN / math.sqrt(3)
