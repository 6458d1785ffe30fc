"""Merges, BPE and Unigram against cases worked by hand, against the library, and against slow definitions."""
from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import pytest
import tokenizers
from tokenizers import models

from core.language import segmentation
from core.language.segmentation import (
    LearnedUnigram,
    learn_bpe,
    merge_steps,
    merged,
    objective,
    ranks_of,
    words_of,
)
from core.language.unigram import rounds
from core.model.checkpoints import BUNDLED, TOKENIZER
from core.model.tokenizer import Tokenizer
from tests.helpers.prompts import PROMPTS

# Sennrich et al. 2016 have these words; here the first of each kind has no space before it, so "low" and " low"
# are two words.
NEWEST = "low low low low low lower lower newest newest newest newest newest newest widest widest widest"
TEXT = ("The walker walked and the talker talked. Walking is talking, talking is walking. The slow walker was slower "
        "than the slowest talker. " * 2)


def bytes_of(word: bytes) -> list[bytes]:
    return [bytes([b]) for b in word]


# ---- merges ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stories", "induction", "translator"])
@pytest.mark.parametrize("text",
                         [*filter(None, PROMPTS.values()), "Once upon a time, there was a little girl named Lily.",
                          "我今天去了商店 don't father-in-law\n\n  x 12 thousand"])
def test_the_merges_played_end_at_the_tokenizers_own_tokens(name: str, text: str):
    tokenizer = Tokenizer.load(BUNDLED / name / TOKENIZER)
    words = tokenizer.words(text)
    assert b"".join(words).decode() == text
    steps = list(merge_steps([bytes_of(word) for word in words], ranks_of(tokenizer.merges)))
    final = steps[-1].words if steps else [bytes_of(word) for word in words]
    assert [tokenizer.id_of(piece) for word in final for piece in word] == tokenizer.encode(text)
    assert all(a.rank < b.rank for a, b in zip(steps, steps[1:]))


@pytest.mark.parametrize("name", ["stories", "induction", "translator"])
def test_rule_k_makes_token_256_plus_k(name: str):
    tokenizer = Tokenizer.load(BUNDLED / name / TOKENIZER)
    assert ([tokenizer.id_of(left + right) for left, right in tokenizer.merges]
            == list(range(257, 257 + len(tokenizer.merges))))


def test_steps_of_a_word_by_hand():
    # rules 1: l o, 2: lo w, 3: e r. Rule 1 goes first, in both words at once; then 2, then 3.
    steps = list(merge_steps([list("lower"), list("low")], ranks_of([("l", "o"), ("lo", "w"), ("e", "r")])))
    assert [step.rank for step in steps] == [1, 2, 3]
    assert [step.words for step in steps] == [(("lo", "w", "e", "r"), ("lo", "w")), (("low", "e", "r"), ("low",)),
                                              (("low", "er"), ("low",))]


def test_the_lowest_rank_goes_first_even_if_it_stands_last():
    steps = list(merge_steps([list("abc")], ranks_of([("b", "c"), ("a", "b")])))
    assert [step.words[0] for step in steps] == [("a", "bc")]


def test_merging_goes_from_left_to_right():
    assert merged(list("aaa"), "a", "a") == ["aa", "a"]
    assert merged(list("aaaa"), "a", "a") == ["aa", "aa"]


# ---- BPE learned live ------------------------------------------------------------------------------------------------


def test_words_are_those_of_the_models_own_tokenizers():
    tokenizer = Tokenizer.load(BUNDLED / "stories" / TOKENIZER)
    for text in (TEXT, "I don't,  you\n\n we'll 12 x's!?", "我今天去了商店", "a\tb  c \n"):
        assert [word.encode() for word in words_of(text)] == tokenizer.words(text)


def test_bpe_equals_the_case_worked_by_hand():
    # Words: "low" 1, " low" 4, " lower" 2, " newest" 6, " widest" 3. Pairs at first: e s and s t 9 each
    # (newest 6, widest 3), w e 8 (lower 2, newest 6), l o and o w 7 each, " n", n e and e w 6 each, " l" 6. e s before
    # s t: of equals the pair of the characters that come first. es t: 9. Then l o 7, lo w 7. Then " n", n e, e w, w est
    # 6 each, and " low" 6: " low" is no earlier than " n", for n comes before low.
    merges = learn_bpe(NEWEST).merges
    assert merges[:4] == (("e", "s"), ("es", "t"), ("l", "o"), ("lo", "w"))
    assert merges[4] == (" ", "n")


def slow_bpe(text: str, n: int) -> list[tuple[str, str]]:
    """BPE by its definition: the most frequent pair, n times; of equals the one whose pieces were first known
    (characters in their order, then merges).
    """
    words = {word: list(word) for word in words_of(text)}
    counts, known, merges = Counter(words_of(text)), sorted(set(text)), []
    for _ in range(n):
        pairs: Counter = Counter()
        for word, pieces in words.items():
            for pair in zip(pieces, pieces[1:]):
                pairs[pair] += counts[word]
        if not pairs:
            break
        left, right = min(pairs, key=lambda pair: (-pairs[pair], known.index(pair[0]), known.index(pair[1])))
        merges.append((left, right))
        known.append(left + right)
        words = {word: merged(pieces, left, right) for word, pieces in words.items()}
    return merges


@pytest.mark.parametrize("text",
                         [NEWEST, "the cat sat on the mat, the bat sat on the cat", "我今天去了商店 我今天去了"])
def test_bpe_learned_by_the_library_is_bpe_by_its_definition(text: str):
    merges = learn_bpe(text).merges
    assert list(merges) == slow_bpe(text, len(merges))


def test_a_smaller_vocabulary_is_the_beginning_of_a_larger_one():
    bpe = learn_bpe(NEWEST)
    assert bpe.alphabet == tuple(sorted(set(NEWEST))) and bpe.vocab_size == len(bpe.alphabet) + len(bpe.merges)
    assert bpe.cut(" newest", 0) == tuple(" newest")
    assert bpe.cut(" newest", 2) == (" ", "n", "e", "w", "est")
    assert bpe.cut(" lowest", 4) == (" ", "low", "est")              # a word that it has not met, of pieces that it has
    assert all(bpe.cut(word, len(bpe.merges)) == (word,) for word in words_of(NEWEST))


def test_a_text_without_characters_teaches_nothing():
    for learn in (learn_bpe, lambda text: next(rounds(text))):
        with pytest.raises(ValueError):
            learn("")


def test_pair_counts_weigh_words_by_how_often_they_come():
    found = segmentation.pair_counts({("a", "b", "a", "b"): 3, ("b", "a"): 1})
    assert found == {("a", "b"): 6, ("b", "a"): 4}


# ---- Unigram ---------------------------------------------------------------------------------------------------------


def every_way(word: str, log_p: dict[str, float]) -> list[tuple[float, tuple[str, ...]]]:
    """All ways to cut a word into known pieces: every subset of the places between its letters is tried."""
    ways = []
    for places in itertools.chain.from_iterable(itertools.combinations(range(1, len(word)), k)
                                                for k in range(len(word))):
        pieces = tuple(word[a:b] for a, b in zip((0, *places), (*places, len(word))))
        if all(piece in log_p for piece in pieces):
            ways.append((sum(log_p[piece] for piece in pieces), pieces))
    return sorted(ways, key=lambda way: -way[0])


def learned(text: str, size: int) -> LearnedUnigram:
    """Unigram pruned to at most that many pieces."""
    return next(one.model for one in rounds(text, (size,)) if len(one.log_p) <= max(size, len(set(text))))


def test_unigram_by_hand():
    # p(a) = 0.4, p(b) = 0.4, p(ab) = 0.2: "ab" is a·b with 0.16 or ab with 0.2; together 0.36.
    unigram = LearnedUnigram({"a": math.log(0.4), "b": math.log(0.4), "ab": math.log(0.2)})
    assert [pieces for _, pieces in unigram.segmentations("ab", 5)] == [("ab",), ("a", "b")]
    assert math.exp(unigram.log_likelihood("ab")) == pytest.approx(0.36, abs=1e-12)
    # "abb": ab·b 0.08, a·b·b 0.064; the text "ab abb" has ln 0.36 + ln 0.144.
    assert objective(unigram, {"ab": 1, "abb": 1}) == pytest.approx(math.log(0.36) + math.log(0.144), abs=1e-12)


@pytest.mark.parametrize("word", [" walking", "Walking", " slowest", " t"])
def test_the_ways_to_cut_a_word_are_those_of_trying_all(word: str):
    unigram = learned(TEXT, 40)
    ways = every_way(word, dict(unigram.log_p))
    found = unigram.segmentations(word, 7)
    assert [score for score, _ in found] == pytest.approx([score for score, _ in ways[:7]], abs=1e-9)
    assert all(score == pytest.approx(sum(unigram.log_p[piece] for piece in pieces)) and "".join(pieces) == word
               for score, pieces in found)
    assert unigram.log_likelihood(word) == pytest.approx(math.log(sum(math.exp(score) for score, _ in ways)), abs=1e-9)


def test_the_best_way_is_as_probable_as_the_librarys():
    unigram = learned(TEXT, 45)
    library = tokenizers.Tokenizer(models.Unigram([("<unk>", 0.0), *unigram.log_p.items()], unk_id=0))
    for word in set(words_of(TEXT)):
        pieces = library.encode(word).tokens
        assert sum(unigram.log_p[piece] for piece in pieces) == pytest.approx(unigram.segmentations(word, 1)[0][0],
                                                                              abs=1e-9)


def test_an_unknown_character_stands_by_itself():
    unigram = learned(TEXT, 40)
    assert "".join(unigram.cut("我walk我")) == "我walk我" and unigram.cut("我walk我")[0] == "我"
    assert unigram.log_likelihood("我") == -math.inf and unigram.segmentations("我", 3) == []


def test_a_word_of_thousands_of_letters_is_cut_in_parts():
    assert max(map(len, words_of("ab" * 3000))) <= 60 and "".join(words_of("ab" * 3000)) == "ab" * 3000


@pytest.mark.parametrize("text", [text for text in PROMPTS.values() if text] + ["a", "\n\n", "\x00"])
def test_any_text_can_be_learned_from(text: str):
    bpe = learn_bpe(text)
    unigram = learned(text, bpe.vocab_size)
    for word in words_of(text):
        assert "".join(bpe.cut(word, len(bpe.merges))) == "".join(unigram.cut(word)) == word
    json.dumps([*unigram.log_p])
