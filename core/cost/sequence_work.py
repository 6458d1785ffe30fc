"""The operations of one layer over N tokens of width d, counted once for every lesson: a recurrent network, one head of
attention in its parts, and attention in a window.

Inputs, states, queries, keys and values have d numbers each. A product of (n, a) with (a, b) takes 2 n a b operations;
the maps of the output, softmax, tanh and biases are left out.
"""
import math


def recurrent(n: int, d: int) -> int:
    """4 N d²: at each step one product with W_x and one with W_h."""
    return 4 * n * d * d


def attention_maps(n: int, d: int) -> int:
    """6 N d²: queries, keys and values."""
    return 6 * n * d * d


def attention_pairs(n: int, d: int) -> int:
    """4 N² d: every query with every key, and the weighted sums of the values. They outgrow `recurrent` where N > d."""
    return 4 * n * n * d


def attention(n: int, d: int) -> int:
    """6 N d² + 4 N² d, more than `recurrent` at every N, since the maps alone are more."""
    return attention_maps(n, d) + attention_pairs(n, d)


def window_pairs(n: int, d: int, window: int) -> int:
    """4 N · 2w · d: blocks of w queries, each of which meets 2w keys."""
    return 4 * math.ceil(n / window) * window * 2 * window * d
