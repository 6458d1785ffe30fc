"""Scaling laws: the operations, days and energy of a training, and the loss that a model can reach by its parameters,
tokens and compute (Kaplan et al. 2020).
"""
import math

PETAFLOP_DAY = 8.64e19                 # operations
DAY = 86_400                           # seconds
# Exponent and critical scale of each power law, Kaplan et al. 2020, sections 1.2 and 3: parameters beyond the
# embeddings, tokens, petaflop-days.
LAWS = {"parameters": (0.076, 8.8e13), "tokens": (0.095, 5.4e13), "compute": (0.050, 3.1e8)}
# The parts of N and of D in the joint law, ibid., table 2.
JOINT = {"parameters": (0.076, 6.4e13), "tokens": (0.103, 1.8e13)}
# about the best ratio for a given compute budget, according to Hoffmann et al. 2022 (Chinchilla)
TOKENS_PER_PARAMETER = 20


def training_flops(n_parameters: float, n_tokens: float) -> float:
    """Operations of one training, about 6 N D: two a parameter and token forward, four backward.

    >>> f"{training_flops(175e9, 300e9):.3g}"      # GPT-3, whose paper says 3.14e23
    '3.15e+23'
    """
    return 6 * n_parameters * n_tokens


def writing_flops(n_parameters: float) -> float:
    """Operations for each token that is written, about 2 N: a multiplication and an addition a parameter.

    >>> writing_flops(175e9)
    350000000000.0
    """
    return 2 * n_parameters


def device_days(flops: float, teraflops: float, share: float) -> float:
    """Days that one device needs for `flops` operations. teraflops: its peak in 10¹² operations a second; share: the
    part of the peak that it reaches, in (0, 1], else ValueError.
    """
    if not 0 < share <= 1:
        raise ValueError(f"The share of the peak is above 0 and at most 1, not {share}.")
    return flops / (teraflops * 1e12 * share) / DAY


def training_energy(days: float, watts: float, pue: float) -> float:
    """Watt hours of a training of `days` device-days. watts: of one device at full power; pue: the power of the whole
    site over that of its devices (power usage effectiveness), at least 1, else ValueError.

    >>> round(training_energy(1, 400, 1.1))
    10560
    """
    if pue < 1:
        raise ValueError(f"A site draws at least what its devices draw, not {pue} of it.")
    return days * 24 * watts * pue


def law(quantity: str, scale: float) -> float:
    """Nats a token on web text if only `quantity` ("parameters" without embeddings, "tokens", "compute" in
    petaflop-days) limits the loss: (critical / scale)^exponent.
    """
    power, critical = LAWS[quantity]
    return (critical / scale) ** power


def joint_loss(n_parameters: float, n_tokens: float) -> float:
    """Nats a token if N parameters and D tokens both limit the loss: [(N_c/N)^(α_N/α_D) + D_c/D]^α_D."""
    (a_n, n_c), (a_d, d_c) = JOINT["parameters"], JOINT["tokens"]
    return ((n_c / n_parameters) ** (a_n / a_d) + d_c / n_tokens) ** a_d


def best_tokens(n_parameters: float) -> float:
    """The compute-optimal number of tokens for N parameters, about 20 N (Hoffmann et al. 2022)."""
    return TOKENS_PER_PARAMETER * n_parameters


def best_split(flops: float) -> tuple[float, float]:
    """(N, D) with 6 N D = flops and D = 20 N."""
    n = math.sqrt(flops / 6 / TOKENS_PER_PARAMETER)
    return n, best_tokens(n)
