"""Rotary positions whose pairs are each slowed by a factor of their own, for texts longer than those that a model was
first trained on: YaRN and LongRoPE.
"""
import math

from core.huggingface.errors import PretrainedError


def yarn(table: dict, width: int, base: float, original: int, longest: int) -> dict:
    """ModelConfig's rotary_factors and rotary_gain from the table of rotary positions of the kind "yarn".

    width: dimensions that are turned; original, longest: tokens of the texts before and after the change. A pair that
    turns more than beta_fast times within the original length keeps its frequency, one that turns less than beta_slow
    times has it divided by the factor, and between these two pairs the share of the slow frequency grows evenly with
    the pair's number. Source: Peng et al. 2023, as transformers computes it.
    >>> yarn(dict(factor=4.0, beta_fast=2.0), 8, 10.0, 63, 252)["rotary_factors"]
    (1.0, 1.0, 1.0, 1.3333333333333333)
    """
    try:
        factor = table.get("factor") or longest / original
        low, high = (width * math.log(original / (2 * math.pi * turns)) / (2 * math.log(base))
                     for turns in (table.get("beta_fast") or 32, table.get("beta_slow") or 1))
        if table.get("truncate", True):
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        high += 0.001 if low == high else 0.0
        slow = [min(max((pair - low) / (high - low), 0.0), 1.0) for pair in range(width // 2)]
        return dict(rotary_factors=tuple(1 / (share / factor + 1 - share) for share in slow),
                    rotary_gain=_yarn_gain(table, factor))
    except (ArithmeticError, ValueError, TypeError) as error:
        raise _unreadable(error) from error


def _yarn_gain(table: dict, factor: float) -> float:
    """The factor of queries and keys: the table's attention_factor, or 0.1 ln(factor) + 1, with mscale in it if the
    table has it for both the whole and the part.
    """
    def lengthened(scale: float) -> float:
        return 0.1 * scale * math.log(factor) + 1 if factor > 1 else 1.0

    if table.get("attention_factor") is not None:
        return float(table["attention_factor"])
    scales = table.get("mscale"), table.get("mscale_all_dim")
    return lengthened(scales[0]) / lengthened(scales[1]) if all(scales) else lengthened(1.0)


def longrope(table: dict, original: int, longest: int) -> dict:
    """ModelConfig's rotary_factors, rotary_gain and n_context from the table of rotary positions of the kind
    "longrope".

    A text longer than `original` tokens is turned by other factors, from its first token on, so the short factors hold
    only for texts up to that length, which limits n_context. Source: Ding et al. 2024, as transformers computes it.
    """
    try:
        factor = table.get("factor") or longest / original
        gain = table.get("attention_factor")
        if gain is None:
            gain = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
        return dict(rotary_factors=tuple(float(number) for number in table["short_factor"]), rotary_gain=float(gain),
                    n_context=min(original, longest))
    except (ArithmeticError, ValueError, TypeError, KeyError) as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> PretrainedError:
    return PretrainedError("config", f"config.json gives rotary positions that cannot be computed ({error}). Fetch the "
                                     f"original file again.")
