"""Truncated sampling: from logits over the whole vocabulary to the tokens that may be drawn, and the draw.

Everything is float64, because the browser computes the same in JavaScript's numbers. The notes' letters: u the logits,
T the temperature, y = softmax(u / T), k, p, and xi (ξ) the uniform number in [0, 1) that decides a draw.
"""
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np

# Two numbers closer than this count as equal where a rule compares, so that 0.5 + 0.3 reaches p = 0.8 whatever the last
# bit of exp() was, in Python and in the browser alike.
TOLERANCE = 1e-12

HEAD = 1024     # a draw is looked for among this many most probable tokens first


class Rule(NamedTuple):
    """A sampling rule, one field of SamplingConfig.

    letter   before the value in a link
    wanted   a value, in words, which `accepts` knows
    cuts     cuts(value, z, w): True for each token that it cuts, of those that the rules before it left, (n,) as z, w
    """

    letter: str
    wanted: str
    accepts: Callable
    cuts: Callable


def _rule(neutral: float | None, *entry):
    """A field of SamplingConfig that is a rule; it is off at the neutral value."""
    return field(default=neutral, metadata={"rule": Rule(*entry)})


def _is_number(value, kind: type = Real) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


_SHARE = "a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1


def _beyond_mass(top_p: float, z: np.ndarray, w: np.ndarray) -> np.ndarray:
    """True for the tokens with mass p or more before them, never for the first."""
    running = np.cumsum(w)
    return np.append(False, running[:-1] / running[-1] >= top_p - TOLERANCE)


def _not_typical(typical_p: float, z: np.ndarray, w: np.ndarray) -> np.ndarray:
    """True for the tokens whose surprisal lies too far from the entropy."""
    surprisal = math.log(np.cumsum(w)[-1]) - z
    distance = np.abs(surprisal - _entropy(z, w))
    order = np.argsort(distance, kind="stable")
    running = np.cumsum(w[order])
    last = min(int(np.count_nonzero(running / running[-1] < typical_p - TOLERANCE)), len(w) - 1)
    return distance > distance[order[last]] + TOLERANCE


@dataclass(frozen=True)
class SamplingConfig:
    """How the next token is picked. The defaults change nothing: every token may be drawn with its own probability.

    temperature  T >= 0, finite: y = softmax(u / T). Below 1 sharper, above 1 flatter, 0 always the most probable token.
    top_k        whole number >= 1: only the k most probable stay. None: no limit.
    top_p        0 to 1: only the fewest most probable that hold mass p stay. 1: all, 0: the most probable one.
    min_p        0 to 1: only tokens at least min_p times as probable as the most probable stay. 0: all.
    typical_p    0 to 1: only the tokens whose surprisal is nearest to the entropy, up to this mass, stay. 1: all.

    A value out of range raises ValueError with the sentence to show a reader.
    Sources: Fan et al. 2018 (top-k), Holtzman et al. 2020 (top-p), Nguyen et al. 2024 (min-p), Meister et al.
    2023 (typical).
    """

    # in the order in which they cut; only the last one cuts a place before one that stays
    temperature: float = _rule(1.0, "T", "a number from 0 up", lambda t: _is_number(t) and 0 <= t < math.inf,
                               lambda t, z, w: (t == 0) & (np.arange(len(w)) > 0))
    top_k: int | None = _rule(None, "k", "a whole number of at least 1, or None for no limit",
                              lambda k: k is None or _is_number(k, Integral) and k >= 1,
                              lambda k, z, w: np.arange(len(w)) >= k)
    top_p: float = _rule(1.0, "p", *_SHARE, _beyond_mass)
    min_p: float = _rule(0.0, "m", *_SHARE, lambda least, z, w: w < least * (1 - TOLERANCE))
    typical_p: float = _rule(1.0, "t", *_SHARE, _not_typical)

    def __post_init__(self) -> None:
        for name, rule in OF_RULE.items():
            if not rule.accepts(value := getattr(self, name)):
                raise ValueError(f"{name} must be {rule.wanted}, not {value!r}.")

    def active(self) -> dict[str, float]:
        """The values of the rules that are on, by name, in the order in which they cut."""
        return {name: value for name in OF_RULE if (value := getattr(self, name)) != getattr(SamplingConfig, name)}


OF_RULE = {one.name: one.metadata["rule"] for one in fields(SamplingConfig)}
RULES = ("", "minus_infinity", *OF_RULE)            # Truncation.cut_by holds indices into this tuple
KEPT, MINUS_INFINITY = 0, 1


@dataclass(frozen=True, eq=False)
class Truncation:
    """A truncated distribution. Arrays are (|V|,), read-only, in the order of `token_ids`: most probable first.

    token_ids      int64    every token of the vocabulary, by falling logit, equal logits by rising id
    probs          float64  y = softmax(u / T), before anything is cut; sums to 1
    cumulative     float64  running sum of probs; the last is exactly 1
    kept           bool     whether the token may be drawn
    cut_by         int8     index into RULES of the rule that cut it; 0 (KEPT) where kept
    renormalised   float64  probs of the kept tokens over kept_mass, 0 for the rest; sums to 1
    interval_ends  float64  running sum of renormalised; the last is exactly 1. Token i owns [interval_ends[i-1],
                            interval_ends[i]) of [0, 1), from 0 for the first: an empty interval if it was cut
    entropy_*      nats     of probs (before) and of renormalised (after); perplexity_* = exp(entropy_*)
    kept_mass               sum of probs over the kept tokens
    n_kept                  how many tokens are kept, at least 1
    config                  the SamplingConfig that was applied
    """

    token_ids: np.ndarray
    probs: np.ndarray
    cumulative: np.ndarray
    kept: np.ndarray
    cut_by: np.ndarray
    renormalised: np.ndarray
    interval_ends: np.ndarray
    entropy_before: float
    entropy_after: float
    perplexity_before: float
    perplexity_after: float
    kept_mass: float
    n_kept: int
    config: SamplingConfig

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)      # sessions share cached results


def truncate(logits, config: SamplingConfig = SamplingConfig()) -> Truncation:
    """Cut the distribution of logits (|V|,) (numpy, torch or a list) down to the tokens that `config` lets be drawn.

    The kept set is that of transformers' logits processors in their order, on finite logits without ties. Exactly, all
    in float64, with i the place in falling order of logits (equal logits: the lower id first) and eps = TOLERANCE:

    0. a logit of -inf is cut by "minus_infinity"; the n others are places 0..n-1.
    1. temperature: z_i = (u_i - u_0) / T, w_i = exp(z_i), W_i = w_0 + ... + w_i, added in this order from the left;
       probs_i = w_i / W_{n-1}, cumulative_i = W_i / W_{n-1}. T = 0: w_0 = 1, the others 0, cut by "temperature", n = 1.
    2. top-k: places >= k are cut, so exactly min(k, n) stay, ties or not; n becomes that number.
    3. top-p, if p < 1: place i > 0 is cut if the mass before it reaches p: W_{i-1} / W_{n-1} >= p - eps.
       It works on what top-k left, renormalised; of equally probable tokens the lower ids stay. n becomes
       the number left.
    4. min-p: place i is cut if w_i < min_p * (1 - eps); w_0 = 1 is the largest. Equally probable tokens
       share their fate.
    5. typical, if typical_p < 1, on the n left, renormalised: H = ln W_{n-1} - sum_i (w_i / W_{n-1}) z_i, over w_i > 0;
       the distance of token i is |ln W_{n-1} - z_i - H|. In rising order of distance (equal: lower i first) V_j is the
       running sum of w; the bound is the distance at place m = min(#{j: V_j / V_{n-1} < typical_p - eps}, n - 1).
       Tokens with a distance > bound + eps are cut: equally typical tokens share their fate.
    6. renormalised_i = w_i / (sum of w over kept), interval_ends their running sum before the division, divided by its
       last value. Entropies as H in 5, never below 0.

    Raises ValueError if logits are not one row, or hold NaN or +inf, or nothing but -inf.

    >>> t = truncate(np.log([0.2, 0.5, 0.3]), SamplingConfig(top_p=0.8))
    >>> t.token_ids.tolist(), t.kept.tolist(), t.renormalised.round(3).tolist()
    ([1, 2, 0], [True, True, False], [0.625, 0.375, 0.0])
    """
    logits = _checked(logits)
    token_ids = np.argsort(-logits, kind="stable")
    sorted_logits = logits[token_ids]
    z, w = _weights(sorted_logits, config.temperature)
    cut_by = _cut_by(sorted_logits, z, w, config)
    kept = cut_by == KEPT
    running, kept_running = np.cumsum(w), np.cumsum(np.where(kept, w, 0.0))
    entropy_before, entropy_after = _entropy(z, w), _entropy(z[kept], w[kept])
    return Truncation(
        token_ids=token_ids, probs=w / running[-1], cumulative=running / running[-1], kept=kept, cut_by=cut_by,
        renormalised=np.where(kept, w, 0.0) / kept_running[-1], interval_ends=kept_running / kept_running[-1],
        entropy_before=entropy_before, entropy_after=entropy_after,
        perplexity_before=math.exp(entropy_before), perplexity_after=math.exp(entropy_after),
        kept_mass=float(kept_running[-1] / running[-1]), n_kept=int(kept.sum()), config=config)


def draw(truncation: Truncation, xi: float) -> int:
    """The place i in `truncation.token_ids` whose interval holds xi: interval_ends[i-1] <= xi < interval_ends[i].

    xi in [0, 1); a boundary belongs to the interval that begins there. A cut token is never drawn. The token's id is
    `truncation.token_ids[i]`. ValueError if xi lies outside.

    >>> t = truncate(np.log([0.2, 0.5, 0.3]))
    >>> [int(t.token_ids[draw(t, xi)]) for xi in (0.0, 0.6, 0.9)]
    [1, 2, 0]
    """
    if not 0 <= xi < 1:
        raise ValueError(f"xi must be at least 0 and below 1, not {xi!r}.")
    return int(np.searchsorted(truncation.interval_ends, xi, side="right"))


def drawn(logits, config: SamplingConfig, xis) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The places, the token ids and the probabilities, each (M,), of the tokens that xis (M,) draw from logits (|V|,).

    They are those of `draw` after `truncate`, up to the last bit; where the head of the distribution decides, the
    whole vocabulary is not sorted.

    >>> places, token_ids, probs = drawn(np.log([0.2, 0.5, 0.3]), SamplingConfig(top_p=0.8), [0.0, 0.7])
    >>> places.tolist(), token_ids.tolist(), probs.round(3).tolist()
    ([0, 1], [1, 2], [0.625, 0.375])
    """
    logits, xis = _checked(logits), np.asarray(xis, dtype=np.float64)
    token_ids, renormalised, ends = _head(logits, config, float(xis.max())) or _whole(logits, config)
    places = np.searchsorted(ends, xis, side="right")
    return places, token_ids[places], renormalised[places]


def _whole(logits: np.ndarray, config: SamplingConfig) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens, their probabilities among the kept, and the ends of their intervals, as `truncate` has them."""
    truncation = truncate(logits, config)
    return truncation.token_ids, truncation.renormalised, truncation.interval_ends


def _head(logits: np.ndarray, config: SamplingConfig,
          largest_xi: float) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """`_whole` from the most probable tokens alone; None if they do not decide what is kept, or what the largest xi
    draws.
    """
    n = 1 if config.temperature == 0 else config.top_k or HEAD
    alone = config.temperature == 0 or config.top_k         # no later rule looks at what these leave out
    if n > len(logits) // 2 or not alone and config.active().keys() - {"temperature", "top_p", "min_p"}:
        return None
    token_ids = _leading(logits, n)
    if alone:
        _, renormalised, ends = _whole(logits[token_ids], config)
        return token_ids, renormalised, ends
    _, w = _weights(logits[token_ids], config.temperature)
    total = np.exp((logits - logits[token_ids[0]]) / config.temperature).sum()
    running = np.cumsum(w)
    before = np.concatenate([[0.0], running[:-1]]) / total
    kept = w >= config.min_p * (1 - TOLERANCE)
    if config.top_p < 1:
        kept &= before < max(config.top_p - TOLERANCE, TOLERANCE)       # the first stays always
    cuts = config.top_p < 1 or config.min_p > 0
    if kept[-1] if cuts else largest_xi >= running[-1] / total:
        return None
    w, mass = np.where(kept, w, 0.0), running[kept][-1] if cuts else total
    return token_ids, w / mass, np.cumsum(w) / mass


def _leading(logits: np.ndarray, n: int) -> np.ndarray:
    """The ids of the n largest logits, as `truncate` orders them."""
    least = np.partition(logits, len(logits) - n)[len(logits) - n]
    above, equal = np.flatnonzero(logits > least), np.flatnonzero(logits == least)
    token_ids = np.concatenate([above, equal[:n - len(above)]])
    return token_ids[np.argsort(-logits[token_ids], kind="stable")]


def _checked(logits) -> np.ndarray:
    """The logits as a float64 row (|V|,), or ValueError with a sentence for a reader."""
    if hasattr(logits, "detach"):                # a torch tensor, wherever it lives and whatever its precision
        logits = logits.detach().cpu().double().numpy()
    logits = np.asarray(logits, dtype=np.float64)
    if logits.ndim != 1 or not len(logits):
        raise ValueError(f"Sampling needs one row of logits, one number for each token, not an array of shape "
                         f"{logits.shape}.")
    for wrong, name in ((np.isnan(logits), "not a number (NaN)"), (logits == np.inf, "plus infinity")):
        if wrong.any():
            raise ValueError(f"The logit of token {int(wrong.argmax())} is {name}; there is no "
                             f"distribution to draw from.")
    if (logits == -np.inf).all():
        raise ValueError("Every logit is minus infinity: no token is possible, so there is none to draw.")
    return logits


def _weights(sorted_logits: np.ndarray, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """z = (u - max u) / T and w = exp(z), both (|V|,).

    The largest is taken off before dividing, so no T overflows exp.
    """
    if temperature == 0:
        z = np.full(len(sorted_logits), -np.inf)
        z[0] = 0.0
    else:
        with np.errstate(over="ignore"):         # a distance beyond float64 is -inf, and its weight 0
            z = (sorted_logits - sorted_logits[0]) / temperature
    return z, np.exp(z)


def _cut_by(sorted_logits: np.ndarray, z: np.ndarray, w: np.ndarray, config: SamplingConfig) -> np.ndarray:
    """The code of the rule that cuts each token (|V|,)."""
    cut_by = np.where(sorted_logits > -np.inf, KEPT, MINUS_INFINITY).astype(np.int8)
    n = np.count_nonzero(cut_by == KEPT)
    for name, value in config.active().items():
        cut = OF_RULE[name].cuts(value, z[:n], w[:n])
        cut_by[:n][cut] = RULES.index(name)
        n -= np.count_nonzero(cut)
    return cut_by


def _entropy(z: np.ndarray, w: np.ndarray) -> float:
    """Entropy in nats of the distribution proportional to w = exp(z): ln W - sum p z. A weight of 0 adds nothing."""
    total = np.cumsum(w)[-1]
    possible = w > 0
    return max(0.0, float(math.log(total) - np.sum(w[possible] / total * z[possible])))
