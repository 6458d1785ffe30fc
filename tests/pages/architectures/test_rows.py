"""Translate with a row of a table: a text with | goes to the model of rows, whose sentence is checked against the row.
"""
from __future__ import annotations

import numpy as np
import pytest

from core.app.compute import cache
from core.base import prose
from core.model.generation import translations
from core.training import tables, translation
from pages.architectures import translate_work
from tests.helpers import lessons
from tests.helpers.messages import given

pytestmark = pytest.mark.long

WORDS = prose.load("architectures")
ROW = "name: Clowns | food: Indian | price: expensive | area: castle | rating: average"


def opened(text: str, **query: str):
    return lessons.opened("architectures", {"view": "translate", "translate_text": text}, **query)


def shown(text: str) -> dict:
    return given(opened(text), "architecture_translate")


def said(text: str) -> str:
    model = cache.shared_model("restaurants", "cpu")
    [(_, ids)] = translations(model.model, [model.tokenizer.encode(text)], 40)
    return model.tokenizer.decode(ids)


def test_a_row_becomes_one_of_its_sentences():
    sent, model = shown(ROW), cache.shared_model("restaurants", "cpu")
    assert sent["source"] == [model.tokenizer.visible(i) for i in model.tokenizer.encode(ROW)]
    text = "".join(token.replace("·", " ") for token in sent["target"][:-1])
    assert text == said(ROW) and text in tables.sentences(tables.parsed(ROW))
    assert sent["right"] and sent["verdict"] == WORDS.label("translate_row_right")


def test_a_row_without_its_columns_is_the_same_row():
    assert shown("Clowns | Indian | expensive | castle | average")["source"] == shown(ROW)["source"]


def test_the_alignment_is_that_of_held_out_rows():
    model, sent = cache.shared_model("restaurants", "cpu"), shown(ROW)
    pairs = translation.said_in_turn(translation.held_out_rows(translate_work.MEASURED))
    expected = translation.alignment(model.model, model.tokenizer, pairs)
    aligned = np.array(sent["aligned"])
    assert np.allclose(aligned[:, :-1], expected.heads) and np.allclose(aligned[:, -1], expected.means)
    assert "held-out rows" in sent["text"]["aligned"]
    assert "held-out dates" in shown("1984-03-21")["text"]["aligned"]


@pytest.mark.parametrize("value, new", [("Clowns", "Zorb"), ("average", "5")])
def test_an_unknown_value_is_named(value: str, new: str):
    sent = shown(ROW.replace(value, new))
    assert not sent["right"] and f"never taught {new}," in sent["verdict"]


def test_what_is_true_of_a_sentence():
    row = tables.parsed(ROW)
    assert [translate_work.row_verdict(row, text) for text in (
        tables.sentences(row)[3], "Clowns is expensive.",
        "Clowns: expensive Indian food near the castle, rated average.")] == ["right", "unsaid", "other"]
    assert translate_work.row_verdict({**row, "name": "Zorb"}, "") == "unknown"
    assert translate_work.row_verdict(None, "") == "cut"


@pytest.mark.parametrize("text", ["a | b", "|", ROW.replace("Indian", "")])
def test_the_usual_row_stands_in_for_what_is_none(text: str):
    at = opened(text)
    assert WORDS.label("translate_row_empty") in [info.value for info in at.info]
    assert given(at, "architecture_translate")["right"]


def test_a_long_row_is_cut_and_told():
    sent = shown(" | ".join(["abcdefghijklmnopqrst"] * 5))
    assert sent["cut"] and sent["verdict"] in (WORDS.label("translate_row_cut"),
                                               WORDS.label("translate_row_unknown", unknown="abc"))


def test_known_values_are_offered_and_put_in():
    at = opened(ROW)
    boxes = {box.label: box for box in at.selectbox if box.label in tables.COLUMNS}
    assert {label: (tuple(box.options), box.value) for label, box in boxes.items()} == {
        column: (known, tables.parsed(ROW)[column]) for column, known in tables.VALUES.items()}
    boxes["food"].set_value("Greek").run()
    assert at.query_params["architectures_translate_text"] in (ROW.replace("Indian", "Greek"),
                                                               [ROW.replace("Indian", "Greek")])
    assert "·Greek" in given(at, "architecture_translate")["source"]
    assert not [box for box in opened("1984-03-21").selectbox if box.label in tables.COLUMNS]


def test_a_random_row_was_never_trained_on():
    at = opened(ROW)
    at.button("architectures_translate_random").click().run()
    row = tables.parsed(at.session_state["architectures_translate_text"])
    assert tables.is_held_out(row) and given(at, "architecture_translate")["right"]


@pytest.mark.parametrize("chosen", [None, "translator", "restaurants"])
@pytest.mark.parametrize("text", [ROW, "1984-03-21"])
def test_the_text_decides_on_the_bundled_model_whatever_was_chosen(text: str, chosen: str | None):
    assert given(opened(text, model=chosen), "architecture_translate")["right"]
