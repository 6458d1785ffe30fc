"""Dates from words to digits and back: the pairs, the tokens, the batches, learning a few by heart, and what the
bundled model does.
"""
import dataclasses
import itertools
from datetime import date, timedelta

import numpy as np
import pytest
import torch

from core.model import checkpoints
from core.model.config import ModelConfig
from core.model.generation import beam_search, continuations, generate, translations
from core.model.sampling import SamplingConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.corpus import IGNORE
from core.training.dates import (
    DIRECTIONS,
    FIRST,
    IN_DIGITS,
    LAST,
    MONTHS,
    PHRASINGS,
    TO_DIGITS,
    TO_WORDS,
    Pair,
    in_digits,
    in_words,
    is_held_out,
    ordinal,
    random_pairs,
    year_readings,
)
from core.training.language_modelling import TaskContext
from core.training.recipes import RECIPES, TrainingConfig
from core.training.run import TrainingRun, train
from core.training.translation import (
    DateTranslation,
    alignment,
    batches,
    date_tokenizer,
    exact_match,
    held_out_nats,
    held_out_pairs,
    token_parts,
)

GREEDY = SamplingConfig(temperature=0.0)


def some_pairs(n: int, held_out: bool = False, **settings):
    return list(itertools.islice(random_pairs(np.random.default_rng(5), held_out, **settings), n))


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return date_tokenizer()


@pytest.fixture(scope="module")
def model(tok) -> Transformer:
    """A small one, not trained."""
    config = ModelConfig(kind="encoder-decoder", vocab_size=tok.vocab_size, d_model=32, n_layers=2,
                         n_heads=2, n_context=32)
    return Transformer(config).initialise(torch.Generator().manual_seed(0)).requires_grad_(False)


# The pairs

@pytest.mark.parametrize("day, words", [
    (date(1984, 3, 21), "the twenty-first of march nineteen eighty-four"),
    (date(2000, 1, 1), "the first of january two thousand"),
    (date(2009, 2, 3), "the third of february two thousand and nine"),
    (date(1000, 12, 30), "the thirtieth of december one thousand"),
    (date(1012, 5, 12), "the twelfth of may ten twelve"),
    (date(1500, 8, 20), "the twentieth of august fifteen hundred"),
    (date(1601, 6, 30), "the thirtieth of june sixteen oh one"),
    (date(2099, 10, 31), "the thirty-first of october twenty ninety-nine")])
def test_what_is_written_by_hand(day, words):
    assert in_words(day).text == words
    assert in_digits(day).text == day.isoformat()


def test_every_phrasing_by_hand():
    day = date(1905, 4, 2)
    assert [in_words(day, phrasing).text for phrasing in range(len(PHRASINGS))] == [
        "the second of april nineteen oh five", "the second of april, nineteen oh five",
        "second of april nineteen oh five", "second april nineteen oh five", "april the second, nineteen oh five",
        "april second, nineteen oh five", "in nineteen oh five, on the second of april"]


def test_words_say_one_date_only():
    """No two days are written alike, nor does any reading of a year say another year."""
    days = [FIRST + timedelta(n) for n in range((LAST - FIRST).days + 1)]
    # 275 years divisible by 4; not 8 of the 11 centuries
    assert len(days) == 1100 * 365 + 267 and days[-1] == LAST
    readings = [reading for year in range(1000, 2100) for reading in year_readings(year)]
    assert (len(readings) == len(set(readings)) and len({ordinal(n) for n in range(1, 32)}) == 31
            and len(set(MONTHS)) == 12)
    held_out = sum(map(is_held_out, days))
    assert 0.09 < held_out / len(days) < 0.11


def test_spans_hold_the_parts():
    for pair in some_pairs(200):
        for phrase in (pair.source, pair.target):
            parts = {name: phrase.text[start:stop] for name, (start, stop) in phrase.spans.items()}
            assert set(parts) == {"year", "month", "day"}
            assert phrase.text in [pattern.format(**parts) for pattern in (IN_DIGITS, *PHRASINGS)]
            assert parts["month"] in (*MONTHS, *(f"{month:02}" for month in range(1, 13)))


@pytest.mark.parametrize("held_out", [False, True])
def test_no_date_is_on_both_sides(held_out):
    pairs = some_pairs(300, held_out)
    digits = [min(pair.source.text, pair.target.text) for pair in pairs]               # digits come before letters
    assert all(is_held_out(date.fromisoformat(d)) == held_out for d in digits)
    assert {pair.source.text[0].isdigit() for pair in pairs} == {False, True}
    assert some_pairs(300, held_out) == pairs


def test_directions_and_phrasings_vary_in_what_is_read_alone():
    read = some_pairs(400, directions=(TO_DIGITS,))
    assert all(pair.target.text[4] == "-" for pair in read)
    assert all(any(pair.source.text.startswith(start) for pair in read)
               for start in ("the ", "in ", "march ", "first ", "march the "))
    assert all(pair.target == in_words(date.fromisoformat(pair.source.text))
               for pair in some_pairs(400, directions=(TO_WORDS,)))


# Tokens and batches

def test_every_word_and_every_digit_is_one_token(tok):
    assert 300 < tok.vocab_size < 600
    for pair in some_pairs(500) + some_pairs(500, held_out=True):
        for text in (pair.source.text, pair.target.text):
            tokens = [tok.decode([i]) for i in tok.encode(text)]
            n_words = len(text) if text[0].isdigit() else len(text.replace("-", " - ").replace(",", " ,").split())
            assert "".join(tokens) == text and len(tokens) == n_words


def test_the_part_of_every_token_by_hand(tok):
    words, digits = in_words(date(1984, 3, 21), 4), in_digits(date(1984, 3, 21))
    assert [tok.visible(i) for i in tok.encode(words.text)] == ["march", "·the", "·twenty", "-", "first", ",",
                                                                "·nineteen", "·eighty", "-", "four"]
    assert token_parts(tok, words) == ("month", None, "day", "day", "day", None, "year", "year", "year", "year")
    assert token_parts(tok, digits) == (*["year"] * 4, None, *["month"] * 2, None, *["day"] * 2)


def test_batches_hold_sources_of_one_length_and_every_pair(tok):
    made = list(itertools.islice(batches(random_pairs(np.random.default_rng(0), False), tok, 8), 40))
    for batch in made:
        assert batch.source_ids.shape[0] == batch.inputs.shape[0] == 8 and (batch.source_ids != tok.end_of_text).all()
        for source, inputs, targets in zip(batch.source_ids, batch.inputs, batch.targets):
            counted = targets[targets != IGNORE]
            assert (inputs[0] == tok.end_of_text and counted[-1] == tok.end_of_text
                    and (inputs[1:len(counted)] == counted[:-1]).all())
            words, digits = sorted((tok.decode(source), tok.decode(counted)), reverse=True)
            assert digits[:4].isdigit() and any(month in words for month in MONTHS)
    assert batch.n_targets == int((batch.targets != IGNORE).sum())
    assert len({batch.source_ids.shape[1] for batch in made}) > 3


def test_the_same_seed_gives_the_same_batches(tok, model):
    task = DateTranslation()

    def first(seed: int) -> np.ndarray:
        return next(task.batches(TaskContext(model.config, tok, None, 8, seed))).targets

    assert np.array_equal(first(0), first(0)) and not np.array_equal(first(0), first(1))


# Translating

def test_the_loss_of_a_batch_is_that_of_its_rows(tok, model):
    """A model of zero weights gives every token the same probability: ln |V| nats each."""
    blank = Transformer(model.config).requires_grad_(False)
    assert held_out_nats(blank, tok, some_pairs(3)) == pytest.approx(np.log(tok.vocab_size), rel=1e-5)
    pairs = held_out_pairs(TO_DIGITS, 3)
    nats = []
    for pair in pairs:
        source, target = tok.encode(pair.source.text), tok.encode(pair.target.text)
        log_probs = model(torch.tensor([0, *target]), source_ids=torch.tensor(source)).logits.log_softmax(-1)
        nats += [-log_probs[row, token].item() for row, token in enumerate([*target, 0])]
    assert held_out_nats(model, tok, pairs) == pytest.approx(np.mean(nats), rel=1e-5)


def test_translations_side_by_side_are_those_of_each_text_alone(tok, model):
    sources = [tok.encode(pair.source.text) for pair in some_pairs(12)]
    together = dict(translations(model, sources, 7, batch_size=5))
    assert sorted(together) == list(range(12))
    for i, source in enumerate(sources):
        alone = [step.token_id for step in generate(model, [0], GREEDY, max_new_tokens=7, source_ids=source)]
        ids = (0,)
        # the plain way: the whole text through the whole model at each step
        for _ in range(7):
            ids += (int(model(torch.tensor(ids), source_ids=torch.tensor(source)).logits[-1].argmax()),)
        assert together[i] == tuple(alone) == (ids[1:] if 0 not in ids[1:] else ids[1:ids.index(0, 1) + 1])


def test_generation_names_a_source_that_is_missing_or_needless(tok, model):
    decoder = Transformer(ModelConfig(vocab_size=tok.vocab_size, d_model=8, n_layers=1, n_heads=1, n_context=8))
    for call in (lambda: generate(model, [0]), lambda: continuations(model, [[0]]), lambda: beam_search(model, [0], 2)):
        with pytest.raises(ValueError, match="This model translates: give it a source text as well"):
            call()
    with pytest.raises(ValueError, match="This model has no encoder"):
        generate(decoder, [0], source_ids=[1, 2])
    with pytest.raises(ValueError, match="This model has no encoder"):
        list(translations(decoder, [[1, 2]]))
    with pytest.raises(ValueError, match="no token to read"):
        generate(model, [0], source_ids=[])


def test_a_few_pairs_are_learned_by_heart(tok):
    """The whole road: batches, loss, training, greedy translation, and attention that can be read."""
    config = ModelConfig(kind="encoder-decoder", vocab_size=tok.vocab_size, d_model=64, n_layers=1,
                         n_heads=2, n_context=24)
    pairs = some_pairs(6)
    run = TrainingRun.start(config, TrainingConfig(steps=200, learning_rate=3e-3, warmup_steps=10))
    list(train(run, batches(itertools.cycle(pairs), tok, 2), DateTranslation().loss))
    assert run.finished and exact_match(run.model, tok, pairs) == 1.0
    assert held_out_nats(run.model, tok, pairs) < 0.2 < held_out_nats(run.model, tok, held_out_pairs(TO_WORDS, 20))


def test_alignment_by_hand(tok, model):
    """Cross-attention that looks at the first source token alone: "march", so that the 2 digits of the month are
    aligned, and 6 are not.
    """
    config = dataclasses.replace(model.config, d_model=2, n_heads=1, n_kv_heads=1, n_layers=1, n_encoder_layers=1)
    blank = Transformer(config).requires_grad_(False)                 # all scores equal: argmax is the first token
    found = alignment(blank, tok, [Pair(in_words(date(1984, 3, 21), 4), in_digits(date(1984, 3, 21)))])
    assert found.heads.shape == (1, 1) and found.heads.item() == found.means.item() == pytest.approx(2 / 8)


# The recipe and the bundled model

def test_the_recipe_makes_a_small_translator():
    recipe = RECIPES["translator"]
    assert recipe.model.kind == "encoder-decoder" and recipe.tokenizer is date_tokenizer
    assert 0.5e6 < Transformer(recipe.model).n_parameters < 1.5e6


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_bundled_model_translates_dates_that_it_never_saw(direction):
    model, tokenizer = checkpoints.load_bundled("translator")
    pairs = held_out_pairs(direction, 300)
    assert exact_match(model, tokenizer, pairs) > 0.98
