"""Proportions with confidence intervals, the area under the ROC curve, and the calibration of stated probabilities."""
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

Z_95 = NormalDist().inv_cdf(0.975)
N_BINS, N_DRAWS = 10, 400


@dataclass(frozen=True)
class Proportion:
    """`right` of `n` trials. Raises ValueError if right is not in [0, n] or n is 0."""

    right: int
    n: int

    def __post_init__(self) -> None:
        if not 0 <= self.right <= self.n or self.n == 0:
            raise ValueError(f"{self.right} of {self.n} is no share.")

    @property
    def share(self) -> float:
        return self.right / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share (1927): inside [0, 1], and wider than 0 even for 0 or n right.

        >>> [round(x, 3) for x in Proportion(9, 10).interval]
        [0.596, 0.982]
        """
        p, n, z = self.share, self.n, Z_95
        centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        low, high = ((centre + sign * half) / (1 + z * z / n) for sign in (-1, 1))
        # exact there; else rounding leaves 1e-17
        return (0.0 if self.right == 0 else low), (1.0 if self.right == n else high)


def mann_whitney(positive: np.ndarray, negative: np.ndarray) -> float:
    """The Mann-Whitney statistic U: the number of pairs (positive, negative) in which the positive value is higher; an
    equal pair counts ½. U over the number of pairs is the area under the ROC curve: 1 if a threshold separates the two
    kinds, ½ at chance. Source: Mann and Whitney 1947; Hanley and McNeil 1982.

    >>> mann_whitney(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    3.5
    """
    difference = np.asarray(positive, dtype=float)[:, None] - np.asarray(negative, dtype=float)[None]
    return float((difference > 0).sum() + 0.5 * (difference == 0).sum())


@dataclass(frozen=True)
class Bin:
    """The predictions whose confidence lies in [low, high); the last bin also holds 1. Mean confidence and share right
    are NaN if count is 0.
    """

    low: float
    high: float
    count: int
    confidence: float
    share_right: float


@dataclass(frozen=True)
class Calibration:
    """How often a model's most probable token is the right one, binned by the probability that the model gave it."""

    bins: tuple[Bin, ...]

    @property
    def n(self) -> int:
        return sum(b.count for b in self.bins)

    @property
    def expected_error(self) -> float:
        """The expected calibration error Σ_bins count / n · |share right − mean confidence|, in [0, 1].

        Source: Naeini et al. 2015; Guo et al. 2017, equation 3.
        """
        return sum(b.count * abs(b.share_right - b.confidence) for b in self.bins if b.count) / self.n


def calibrate(confidence: np.ndarray, right: np.ndarray) -> Calibration:
    """The calibration in bins of equal width. confidence (M,): the probability of each prediction, in [0, 1]; right
    (M,) bool: whether it was right. Raises ValueError for M = 0.
    """
    if not len(confidence):
        raise ValueError("There is no prediction to calibrate.")
    place = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    bins = []
    for b in range(N_BINS):
        inside = place == b
        count = int(inside.sum())
        confident, correct = (float(x[inside].mean()) if count else math.nan for x in (confidence, right))
        bins.append(Bin(b / N_BINS, (b + 1) / N_BINS, count, confident, correct))
    return Calibration(tuple(bins))


def chance_errors(confidence: np.ndarray) -> np.ndarray:
    """(N_DRAWS,) sorted, lowest first: the expected calibration error of a perfectly calibrated model with these
    confidences (M,) in samples of this size. Chance alone gives an error above 0, since it is a mean of absolute
    values.
    """
    uniform = np.random.default_rng(0).random((N_DRAWS, len(confidence)))
    return np.sort([calibrate(confidence, draws < confidence).expected_error for draws in uniform])
