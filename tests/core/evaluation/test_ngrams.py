"""The trigram model by hand and as a distribution."""
import math

import numpy as np
import pytest

from core.evaluation.ngrams import NgramCounts, TrigramModel

END = 0


def ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint16)


def test_one_level_by_hand():
    """Vocabulary of 4; after token 1: 2 three times, 3 once; after 2: 1 once, 3 twice.

    D = (2 + 1) / (2 + 2 · 1 + 2) = 1/2.
    """
    counts = NgramCounts.count(np.array([1 * 4 + 2, 1 * 4 + 3, 2 * 4 + 1, 2 * 4 + 3]),
                               np.array([3, 1, 1, 2]), vocab_size=4)
    assert counts.discount == 0.5
    shorter = np.full(4, 0.25)
    p = counts.probability(np.array([1 * 4 + 2, 1 * 4 + 0, 2 * 4 + 3, 3 * 4 + 3]), shorter, 4)
    assert p == pytest.approx([(3 - 0.5) / 4 + 0.5 * 2 / 4 * 0.25, 0.5 * 2 / 4 * 0.25,
                               (2 - 0.5) / 3 + 0.5 * 2 / 3 * 0.25, 0.25])


def test_counts_by_hand():
    """Documents 1 2 and 1 3: trigrams 001 twice, 012, 013, 120, 130; bigram 01 follows one token, 0; unigram 0
    follows 2 and 3.
    """
    trigrams, bigrams, unigrams = TrigramModel([ids(1, 2), ids(1, 3)], vocab_size=4, end_of_text=END).levels
    assert dict(zip(trigrams.keys.tolist(), trigrams.counts.tolist())) == {0o001: 2, 1 * 4 + 2: 1, 1 * 4 + 3: 1,
                                                                           1 * 16 + 2 * 4: 1, 1 * 16 + 3 * 4: 1}
    assert dict(zip(bigrams.keys.tolist(), bigrams.counts.tolist())) == {1: 1, 4 + 2: 1, 4 + 3: 1, 8: 1, 12: 1}
    assert dict(zip(unigrams.keys.tolist(), unigrams.counts.tolist())) == {0: 2, 1: 1, 2: 1, 3: 1}


def test_probabilities_sum_to_1_after_every_context():
    generator = np.random.default_rng(0)
    model = TrigramModel([generator.integers(1, 6, size=30).astype(np.uint16) for _ in range(20)],
                         vocab_size=7, end_of_text=END)
    for a in range(7):
        for b in range(7):
            p = [model.probabilities(ids(a, b, c))[2] for c in range(7)]
            assert sum(p) == pytest.approx(1) and min(p) > 0


def test_it_learns_what_always_follows():
    model = TrigramModel([ids(1, 2, 3)] * 50 + [ids(3, 2, 1)] * 50 + [ids(4), ids(4, 4), ids(5, 4)],
                         vocab_size=8, end_of_text=END)
    assert model.probabilities(ids(1, 2, 3))[2] > 0.9 > 0.1 > model.probabilities(ids(3, 2, 3))[2]


def test_trigram_loss_counts_the_closing_end_of_text():
    model = TrigramModel([ids(1, 2), ids(1, 3)], vocab_size=4, end_of_text=END)
    loss = model.held_out_loss([ids(1, 2), ids(3)], n_bytes=6)
    assert loss.n_tokens == 5 and loss.n_bytes == 6
    assert (loss.nats
            == pytest.approx(-math.fsum(math.log(p) for d in (ids(1, 2), ids(3)) for p in model.probabilities(d))))


def test_a_vocabulary_too_large_for_keys_is_refused():
    with pytest.raises(ValueError, match="do not fit 64 bits"):
        TrigramModel([ids(1)], vocab_size=2 ** 22, end_of_text=END)
