"""The arithmetic coder: what goes in comes out, and it takes the bits that the probabilities ask for."""
from __future__ import annotations

import lzma
from fractions import Fraction

import numpy as np
import pytest

from core.language import compression
from core.language.arithmetic_coding import TOTAL, Encoder, decode, encode, quantise
from core.model import checkpoints


def distributions(seed: int, n: int, length: int) -> list[np.ndarray]:
    """Frequencies as skewed as they come: from flat to nearly certain, with zeros among the probabilities."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(length):
        p = rng.dirichlet(np.full(n, 10 ** rng.uniform(-3, 1)))
        p[rng.random(n) < 0.2] = 0
        made.append(quantise(p / p.sum() if p.sum() else np.full(n, 1 / n)))
    return made


@pytest.mark.parametrize("n", [1, 2, 7, 300])
@pytest.mark.parametrize("seed", range(6))
def test_what_was_coded_comes_back_and_costs_what_it_should(seed: int, n: int):
    tables = distributions(seed, n, 120)
    rng = np.random.default_rng(seed + 100)
    symbols = [int(rng.choice(n, p=table / TOTAL) if rng.random() < 0.8 else rng.integers(n)) for table in tables]
    bits = encode(symbols, lambda before: tables[len(before)])
    assert set(bits) <= {0, 1} and decode(bits, lambda before: tables[len(before)], len(symbols)) == symbols
    ideal = -sum(np.log2(table[symbol] / TOTAL) for table, symbol in zip(tables, symbols))
    assert ideal - 1e-6 <= len(bits) <= ideal + 2 + 1e-6


def test_the_bits_are_a_number_in_the_exact_interval():
    """The interval in fractions, without registers: the number that the bits write, and every one that begins with
    them, lies in it.
    """
    tables = [np.array([7, 1, 8]), np.array([1, 14, 1]), np.array([5, 5, 6])] * 3
    symbols = [1, 1, 2, 0, 1, 0, 2, 2, 1]
    low, width = Fraction(0), Fraction(1)
    for table, symbol in zip(tables, symbols):
        low += width * Fraction(int(table[:symbol].sum()), 16)
        width *= Fraction(int(table[symbol]), 16)
    bits = encode(symbols, lambda before: tables[len(before)])
    number = Fraction(int("".join(map(str, bits)), 2), 2 ** len(bits))
    assert low <= number and number + Fraction(1, 2 ** len(bits)) <= low + width


def test_a_worked_case():
    # three halvings, and two bits that stay inside
    assert encode([0, 0, 0], lambda before: np.array([8, 8])) == [0, 0, 0, 0, 1]
    assert encode([], lambda before: np.array([1])) == [0, 1]


def test_frequencies_are_near_their_probabilities_and_never_nothing():
    for seed in range(5):
        p = np.random.default_rng(seed).dirichlet(np.full(4096, 0.02))
        frequencies = quantise(p)
        assert frequencies.sum() == TOTAL and frequencies.min() >= 1
        assert (np.log2(p[p > 1e-3] * TOTAL / frequencies[p > 1e-3]) <= 4096 / TOTAL * 1.4427 + 1e-3).all()
    for wrong in (np.array([0.5, 0.6]), np.array([-0.5, 1.5]), np.array([np.nan, 1.0]), np.zeros(0)):
        with pytest.raises(ValueError):
            quantise(wrong)
    for start, end, total in ((3, 3, 4), (0, 5, 4), (-1, 2, 4), (0, 1, 2 * TOTAL)):
        with pytest.raises(ValueError):
            Encoder().encode(start, end, total)


@pytest.mark.parametrize("text", ["", "The cat sat on the mat.", "Zq§ 我 🐶\n\n"])
def test_a_text_comes_back_from_the_bits_of_the_model(text: str):
    model, tokenizer = checkpoints.load_bundled("stories")
    ids = tokenizer.encode(text)
    bits, steps = compression.compress(model, ids)
    assert (list(compression.decompress(model, bits)) == ids
            and [step.token_id for step in steps] == [*ids, tokenizer.end_of_text])
    # below the ideal for tokens under p = 2^-24, which get a place none the less
    quantised = -sum(np.log2((step.end - step.start) / step.total) for step in steps)
    assert (quantised - 1e-3 <= len(bits) <= quantised + 2.001
            and quantised <= compression.ideal_bits(steps) + 0.001 * len(steps))
    assert all(one.sent <= other.sent for one, other in zip(steps, steps[1:])) and steps[-1].sent <= len(bits)
    assert bits != compression.compress(model, [*ids, 300])[0]


@pytest.mark.parametrize("n", [0, 1, 100, 4096, 4097, 20_000])
def test_lzma_needs_no_larger_window_than_its_data(n: int):
    data = b"".join(b"%d, " % (i * i % 1009) for i in range(n // 3 + 1))[:n]
    assert (compression.sizes(data)["lzma"]
            == len(lzma.compress(data, format=lzma.FORMAT_RAW,
                                 filters=[{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}])))
