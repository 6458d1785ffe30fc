"""One answer is one bar, however it was typed; what cannot be seen is no answer. Python and JavaScript alike."""
from __future__ import annotations

import json
import unicodedata

import pytest

from core.app.classroom import tally, words
from core.app.classroom.guesses import MOST_CHARACTERS, Word
from tests.helpers.javascript import evaluate

ALIKE = [("don't", "don’t", "Don‘t", "DON`T"), ("café", "cafe\u0301", "CAFÉ"), ("...", "…"), ('"hi"', "“hi”", "„HI“"),
         ("ice-cream", "ice\u2011cream", "Ice–Cream", "ice‐cream"), ("zerowidth", "zero\u200bwidth", "\ufeffzerowidth"),
         ("two words", "two\u00a0words", " two \t words ", "·two·words"), ("strasse", "straße", "STRASSE"),
         ("fish", "ﬁsh"), ("οδος", "ΟΔΟΣ"), ("abc", "a\u202ebc", "abc\x07")]
UNSEEN = ("\u200b", "\ufeff", "\u202e", "\x00\x1f", "\u2060 \u200d", " \u00ad")


@pytest.mark.parametrize("alike", ALIKE, ids=[first for first, *_ in ALIKE])
def test_what_is_typed_otherwise_is_the_same_answer(alike: tuple[str, ...]):
    guess = Word()
    told, word = [json.dumps({"guess": guess.accept(one)}) for one in alike], words.plain(alike[0])
    assert tally.of(guess.offer(), told, allowed=(word,))["words"] == [[word, len(told)]]
    assert all(guess.is_right(one, f"·{alike[0]}") for one in alike)


@pytest.mark.parametrize("unseen", UNSEEN, ids=map(ascii, UNSEEN))
def test_what_cannot_be_seen_is_no_answer(unseen: str):
    assert Word().accept(unseen) is None and Word().accept(f"a{unseen}b").isprintable() is not ("\u200d" in unseen)


def test_a_word_that_is_written_with_an_invisible_letter_keeps_it():
    for word in ("می\u200cروم", "👩\u200d🔬"):
        assert Word().accept(word) == words.plain(word) == word


def test_javascript_counts_words_by_the_same_rule():
    letters = [chr(code) for code in range(0x3000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    texts = [one for alike in ALIKE for one in alike] + [f"a{letter}b" for letter in letters]
    found = evaluate("core/components/class_tally/tally.js", "texts.map(m.plain)", texts=texts)
    assert [(text, theirs) for text, theirs in zip(texts, found) if words.plain(text) != theirs] == []


def test_a_long_word_is_cut_and_no_half_of_a_sign_is_left():
    assert Word().accept("a" * 100) == "a" * MOST_CHARACTERS and Word().accept("\ud83d") == "?"
