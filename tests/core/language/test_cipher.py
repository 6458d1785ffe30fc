"""Substitution ciphers: counting, the search for a key, and the model's repairs, against countings by hand and
readings written out.
"""
from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from core.app.compute import cache
from core.base import prose
from core.language import cipher
from core.language.cipher import ALPHABET, GAP, N_SIGNS
from tests.helpers import lessons, messages
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas

pytestmark = pytest.mark.long

WORDS = prose.load("language_models")
SECRET = WORDS.section("secret").strip()
HOSTILE = "<img src=x onerror=alert(1)>"


def letters_right(read: str, truth: str) -> int:
    return sum(a == b for a, b in zip(read.lower(), truth.lower()) if b.isalpha())


def open_at(**settings: str):
    return lessons.open_at("language_models", language_models_view="decipher",
                           **{f"language_models_{name}": value for name, value in settings.items()})


def given(at) -> dict:
    return messages.given(at, "lm_cipher")


def test_triples_are_counted_as_they_stand_in_a_text():
    written = ["ab Ab!", "b"]
    counted = Counter(three for one in (" ab ab ", " b ") for three in zip(one, one[1:], one[2:]))
    found = cipher.triple_counts(written)
    assert found.sum() == sum(counted.values())
    assert all(found[tuple(GAP if sign == " " else ALPHABET.index(sign) for sign in three)] == n
               for three, n in counted.items())


@pytest.mark.parametrize("order", (1, 2, 3))
def test_a_sign_after_others_has_probabilities_that_sum_to_one(order: int):
    p = np.exp(cipher.log_probs(order))
    assert p.shape == (N_SIGNS,) * order and np.allclose(p.sum(-1), 1.0)


def test_the_score_is_the_sum_over_the_text_written_out():
    table, s = cipher.log_probs(3), cipher.signs("The cat.")
    assert len(s) == 9 and cipher.score(s, 3) == pytest.approx(sum(table[s[i], s[i + 1], s[i + 2]] for i in range(7)))
    assert cipher.score(s, 1) == pytest.approx(sum(cipher.log_probs(1)[k] for k in s))


def test_no_key_reads_more_commonly_than_the_one_by_frequency():
    hidden = cipher.encipher(SECRET, cipher.random_key(7))
    best = cipher.score(cipher.signs(cipher.encipher(hidden, cipher.by_frequency(hidden))), 1)
    others = ([cipher.score(cipher.signs(cipher.encipher(hidden, cipher.random_key(seed))), 1) for seed in range(200)]
              + [cipher.score(cipher.signs(SECRET), 1)])
    assert best >= max(others) and best > min(others)


@pytest.mark.parametrize(("order", "enough"), ((2, 70), (3, 88)))
def test_the_search_finds_the_key_and_says_what_each_reading_is_worth(order: int, enough: int):
    hidden = cipher.encipher(SECRET, cipher.random_key(11))
    walk = cipher.search(hidden, order)
    assert walk == cipher.search(hidden, order), "the same seed walks the same way"
    assert list(walk.scores) == sorted(walk.scores) and list(walk.steps) == sorted(walk.steps)
    for key, worth in zip(walk.keys, walk.scores):
        assert (sorted(key) == list(ALPHABET)
                and cipher.score(cipher.signs(cipher.encipher(hidden, key)), order) == pytest.approx(worth, abs=1e-6))
    assert letters_right(cipher.encipher(hidden, walk.keys[-1]), SECRET) >= enough
    assert letters_right(cipher.encipher(hidden, walk.keys[0]), SECRET) < enough


def test_the_model_finds_the_letters_that_counting_left_open():
    loaded, hidden = cache.shared_model("stories", "cpu"), cipher.encipher(SECRET, cipher.random_key(1))
    start = cipher.search(hidden, 3).keys[-1]
    steps = list(cipher.repairs(loaded.model, loaded.tokenizer, hidden, start))
    rounds = [(step.key, step.log_prob) for step in steps if step.new]
    assert ([step.n_read for step in steps if not step.new]
            == list(range(2, 2 + cipher.N_CANDIDATES * len(rounds)))), "each reading is told"
    assert rounds[0][0] == start and letters_right(cipher.encipher(hidden, start), SECRET) < 94
    for (before, low), (after, high) in zip(rounds, rounds[1:]):
        assert high > low and sum(a != b for a, b in zip(before, after)) == 2
    assert cipher.encipher(hidden, rounds[-1][0]) == SECRET
    assert rounds[-1][1] == pytest.approx(cipher.model_scores(loaded.model, loaded.tokenizer, [SECRET])[0], abs=1e-3)


def test_how_much_text_one_key_needs():
    assert (cipher.unicity(0.0) == pytest.approx(sum(math.log2(k) for k in range(1, 27)) / math.log2(26))
            and cipher.unicity(5.0) == math.inf)
    assert math.isnan(cipher.bits_per_letter("?!", 2))


def test_a_letter_is_paid_for_among_the_letters_alone_since_where_a_gap_stands_is_known():
    counts = np.load(cipher.TRIPLES).astype(float)
    pairs, singles = counts.sum(axis=0) + 1, counts.sum(axis=(0, 1)) + 1
    letters = singles[:GAP] / singles[:GAP].sum()
    first, second = pairs[GAP, 0] / pairs[GAP, :GAP].sum(), pairs[0, 1] / pairs[0, :GAP].sum()
    assert cipher.bits_per_letter("ab", 2) == pytest.approx(-math.log2(first * second) / 2)
    # as many of each letter as English has: its entropy, 4.18 bits, and no bit for the gaps
    text = " ".join(chr(97 + i) * round(10_000 * share) for i, share in enumerate(letters))
    assert cipher.bits_per_letter(text, 1) == pytest.approx(-(letters * np.log2(letters)).sum(), abs=0.01)
    assert cipher.bits_per_letter(text, 1) == pytest.approx(4.18, abs=0.01)


# ---- the view --------------------------------------------------------------------------------------------------------


def test_the_view_shows_the_search_and_the_answer_holds():
    at = open_at(key="11")
    shown, hidden = given(at), cipher.encipher(SECRET, cipher.random_key(11))
    assert (shown["cipher"] == hidden and shown["truth"] == SECRET
            and shown["keys"][-1] == cipher.search(hidden, 3).keys[-1])
    assert (shown["goal"] == pytest.approx(cipher.score(cipher.signs(SECRET), 3))
            and sum(shown["shares"].values()) == pytest.approx(100))
    counts = Counter(letter for letter in hidden.lower() if letter.isalpha())
    assert [counts[letter] for letter in shown["used"]] == sorted(counts.values(), reverse=True)
    found = letters_right(cipher.encipher(hidden, cipher.by_frequency(hidden)), SECRET) / sum(counts.values())
    at.radio("language_models_counted_given").set_value(0 if found < 0.2 else 1 if found < 0.5 else 2).run()
    at.button("language_models_counted_commit").click().run()
    assert fine(at) and any(m.value.startswith("Yes") for m in at.markdown)
    best = letters_right(cipher.encipher(hidden, shown["keys"][-1]), SECRET)
    assert (any(f"{best} of {sum(counts.values())} letters are right" in m.value for m in at.markdown)
            and "26!" in formulas(at)[0])


@pytest.mark.parametrize("by", ("letters", "pairs", "model"))
def test_every_way_of_reading_ends_with_its_best(by: str):
    shown = given(open_at(by=by, secret="We meet at the old mill when the moon is up"))
    assert (len(shown["keys"]) == len(shown["scores"]) == len(shown["steps"])
            and list(shown["scores"]) == sorted(shown["scores"]))


@pytest.mark.parametrize("secret", ("", "12 !?", HOSTILE, "é漢字🙂", "x" * 5_000, "\x00\u202eabc"),
                         ids=("empty", "no letter", "html", "no ascii", "long", "controls"))
def test_any_text_is_borne(secret: str):
    for already in ("false", "true"):
        at = open_at(secret=secret, given=already, key="-3", tried="99999")
        assert fine(at)
        shown = given(at)
        assert (0 < len(shown["cipher"]) <= 160
                and (shown["truth"] is None)
                    == (already == "true" and any(c.isascii() and c.isalpha() for c in secret)))


def test_the_smallest_context_still_fits_the_worst_reading():
    at = lessons.open_at("language_models", language_models_view="decipher", language_models_by="model",
                         model="scores-additive")
    assert fine(at) and len(given(at)["cipher"]) < cache.shared_model("scores-additive", "cpu").model.config.n_context
