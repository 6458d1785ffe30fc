"""Rows of a table and their sentences: what is generated, the tokens, and what the bundled model makes of held-out
rows.
"""
import itertools
import re

import numpy as np
import pytest

from core.model import checkpoints
from core.model.transformer import Transformer
from core.training import tables
from core.training.recipes import RECIPES
from core.training.tables import COLUMNS, PHRASINGS, VALUES, in_a_row, parsed, random_rows, sentence, sentences
from core.training.translation import (
    held_out_rows,
    is_followed,
    row_scores,
    said_in_turn,
    table_tokenizer,
    token_parts,
)

ROW = dict(name="Clowns", food="Indian", price="expensive", area="castle", rating="average")
EVERY_ROW = [dict(zip(COLUMNS, values)) for values in itertools.product(*VALUES.values())]


def test_the_sentences_of_a_row_by_hand():
    assert sentences(ROW) == [
        "Clowns is an expensive Indian restaurant near the castle, and its rating is average.",
        "Near the castle you find Clowns, an expensive Indian restaurant with an average rating.",
        "Rated average, Clowns serves expensive Indian food near the castle.",
        "The Indian restaurant Clowns near the castle is expensive and rated average."]
    assert sentence({**ROW, "price": "cheap", "rating": "poor", "area": "river"}, 1).text == (
        "By the river you find Clowns, a cheap Indian restaurant with a poor rating.")


def test_every_sentence_says_every_value_and_spans_hold_them():
    for row in EVERY_ROW[::97]:
        for phrase in (in_a_row(row), *(sentence(row, k) for k in range(len(PHRASINGS)))):
            assert {name: phrase.text[start:stop] for name, (start, stop) in phrase.spans.items()} == row
            assert not tables.unsaid(row, phrase.text) and not re.search(r"\b(a [aeiou]|an [^aeiouAEIOU])", phrase.text)
        assert len({text.split()[0] for text in sentences(row)}) == len(PHRASINGS)


def test_a_tenth_of_the_rows_is_held_out_and_never_trained_on():
    assert 0.09 < np.mean([tables.is_held_out(row) for row in EVERY_ROW]) < 0.11
    drawn = list(itertools.islice(random_rows(np.random.default_rng(3), held_out=False), 500))
    assert not any(map(tables.is_held_out, drawn)) and all(map(tables.is_held_out, held_out_rows(200)))


def test_a_row_is_read_with_its_columns_or_without():
    text = in_a_row(ROW).text
    assert parsed(text) == parsed(" Clowns|Indian | expensive |castle|average ") == ROW
    for wrong in ("", "Clowns", "a | b", text.replace("Indian", ""), f"{text} | more"):
        assert parsed(wrong) is None
    assert tables.unknown({**ROW, "name": "Zorb", "rating": "5"}) == {"name": "Zorb", "rating": "5"}


def test_every_word_and_sign_is_one_token():
    tokenizer = table_tokenizer()
    assert tokenizer.vocab_size == RECIPES["restaurants"].model.vocab_size
    for row in EVERY_ROW[::301]:
        for text in (in_a_row(row).text, *sentences(row)):
            assert len(tokenizer.encode(text)) == len(re.findall(r"\w+|[^\w\s]", text))
    parts = token_parts(tokenizer, sentence(ROW, 2))
    assert parts == (None, "rating", None, "name", None, "price", "food", None, None, None, "area", None)


def test_the_bundled_model_is_under_a_megabyte_and_says_held_out_rows():
    model, tokenizer = checkpoints.load_bundled("restaurants")
    assert (checkpoints.BUNDLED / "restaurants" / "model.safetensors").stat().st_size < 1e6
    scores = row_scores(model, tokenizer, 120)
    assert scores.every_value > 0.98 and scores.one_of_four > 0.98 and scores.exact > 0.98
    assert scores.nats == pytest.approx(np.log(4) / 15, rel=0.2)         # a choice among four, in about 15 tokens


def test_a_model_of_zeros_says_nothing():
    model, tokenizer = checkpoints.load_bundled("restaurants")
    blank = Transformer(model.config).requires_grad_(False)
    assert not is_followed(blank, tokenizer, said_in_turn(held_out_rows(1))[0])
    scores = row_scores(blank, tokenizer, 2)
    assert scores.every_value == scores.one_of_four == scores.exact == 0
    assert scores.nats == pytest.approx(np.log(tokenizer.vocab_size), rel=1e-5)
