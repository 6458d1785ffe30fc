"""Claims of Architectures about `stories`, `blanks`, `translator` and `restaurants`."""
import re

import pytest
import torch

from core.app.compute import cache
from core.app.state import prompts
from core.base.tables import ideas
from core.cost import counting
from core.training import blanks, tables, translation
from pages.architectures import blank, translate_work
from tests.claims import claims, shows
from tests.claims.passes import experiment, run

[ROW] = [tables.parsed(idea.place.settings["architectures_translate_text"]) for idea in ideas() if idea.id == "B23"]


def filled(sentence: str) -> blank.Filled:
    encoder, decoder = (cache.shared_model(name, "cpu") for name in ("blanks", "stories"))
    return blank.fill(encoder, decoder, blanks.marked_text(sentence, encoder.tokenizer, 128), None)


def probabilities(text: str) -> tuple[str, list[float]]:
    """The translation of a text, and the probability of each token."""
    model = cache.shared_model("translator", "cpu")
    found = translate_work.translate(model, tuple(model.tokenizer.encode(text)))
    return found.text, [float(p) for p in found.probabilities]


@shows("B10")
@claims("architectures.md", "From both sides *not* is the clear favourite; from the left alone it is one word among "
        "many. In the last column, *not* makes the sentence positive, *very* or *so* negative.")
def test_one_word_turns_the_verdict():
    found = filled(experiment("architectures", "flip").settings["architectures_blank_text"])
    [position] = found.blanks
    true = found.true_id(position)
    left, right = found.p_decoder(position), found.p_encoder(position)
    assert right.argmax() == true and right[true] > 0.5
    assert left[true] < 0.25 and (left > left[true] / 4).sum() > 4
    rows = {row["token"]: row["class"] for row in blank.candidates(found, position, True)["rows"]}
    assert (rows["·not"], rows["·very"], rows["·so"]) == (1, 0, 0)


@claims("architectures.md", "The model writes it without a doubt: it learned words and digits, not the calendar. Then "
        "pick *once upon a time*, and watch the probabilities fall.",
        "on dates like those it learned, every token is nearly certain")
def test_a_date_that_does_not_exist():
    text, sure = probabilities(experiment("architectures", "no_date").settings["architectures_translate_text"])
    assert text == "1990-02-31" and min(sure) > 0.99
    assert min(probabilities("once upon a time")[1]) < 0.6
    assert min(probabilities("the twenty-first of march nineteen eighty-four")[1]) > 0.99


@shows("B23")
@claims("architectures.md", "Training had four sentences for every row, equally often: so the first token is a choice "
        "among four, and after it every token is nearly certain. Of 1,000 held-out rows, 1,000 were said with every "
        "value.")
def test_rows_that_no_training_met_are_said_with_every_value():
    """The card's figures on a sample: its card says the same of 1,000 rows."""
    model = cache.shared_model("restaurants", "cpu")
    card = (cache.checkpoints.BUNDLED / "restaurants" / "README.md").read_text()
    scores = translation.row_scores(model.model, model.tokenizer, 150)
    assert scores.every_value == scores.one_of_four == scores.exact == 1
    for line in ("rows whose sentence has every value", "rows whose sentence is one of their four, to the last sign",
                 "sentences followed to their end after the first token"):
        assert f"| {line} | 1,000 of 1,000 |" in card
    [nats] = re.findall(r"nats/token \| (\d\.\d+)", card)
    assert scores.nats == pytest.approx(float(nats), rel=0.03)
    pairs = translation.said_in_turn(translation.held_out_rows(150))
    [aligned] = re.findall(r"best aligned mean of a block \| 1: (\d+\.\d) %", card)
    means = translation.alignment(model.model, model.tokenizer, pairs).means
    assert 100 * float(means[1]) == pytest.approx(float(aligned), abs=1) and means[1] > means[0]
    text, [first, *later] = said(ROW)
    assert tables.is_held_out(ROW) and text in tables.sentences(ROW) and f"`{text}`" in card
    assert first == pytest.approx(0.25, abs=0.05) and min(later) > 0.99


@claims("architectures.md", "It knows 45 values, and writes one of them for any other. The probability need not betray "
        "it: a *rating: 5* is said as *poor*, with 0.999.")
def test_an_unknown_value_becomes_a_known_one():
    assert sum(map(len, tables.VALUES.values())) == 45
    text, sure = said({**ROW, "rating": "5"})
    words = text.replace(",", "").split()
    assert "poor" in words and sure[words.index("poor")] > 0.9985
    for column, value in (("name", "Zorb"), ("food", "pizza"), ("price", "free"), ("area", "park"), ("rating", "5")):
        text, _ = said({**ROW, column: value})
        assert value not in text and any(known in text for known in tables.VALUES[column])


def said(row: tables.Row) -> tuple[str, list[float]]:
    """The model of rows' text for one, and the probability of each token."""
    model = cache.shared_model("restaurants", "cpu")
    found = translate_work.translate(model, tuple(model.tokenizer.encode(tables.in_a_row(row).text)))
    return found.text, [float(p) for p in found.probabilities]


@claims("architectures.md", "In `stories` most lie between −2 and 0, just where the curves differ most.")
def test_where_the_inputs_of_the_curves_lie():
    inputs = torch.stack([block.mlp_pre for block in run(prompts.default_prompt()).trace.blocks])
    assert ((inputs < 0) & (inputs > -2)).double().mean() > 0.6
    x = torch.linspace(-6, 6, 1201)
    gaps = [(torch.nn.functional.relu(x) - curve(x)).abs() for curve in (torch.nn.functional.gelu,
                                                                         torch.nn.functional.silu)]
    assert all(-2 < -abs(float(x[gap.argmax()])) < 0 for gap in gaps)


@claims("architectures.md", "fills 60.7 % of such blanks correctly.",
        "blank_both_note: blanks: small, 3.0 million parameters, right in 60.7 % of blanks like those it learned from.",
        "blank_left_note: stories, 5.9 million parameters.", "This small encoder (3 million parameters;")
def test_sizes_and_the_share_on_the_card():
    assert "| 60.7 % |" in (cache.checkpoints.BUNDLED / "blanks" / "README.md").read_text()
    sizes = [cache.shared_model(name, "cpu").model.n_parameters / 1e6 for name in ("blanks", "stories")]
    assert [round(size, 1) for size in sizes] == [3.0, 5.9]


@claims("architectures.md", "It knows only two answers: a sentence without any feeling gets one of them too.")
def test_two_answers():
    assert cache.shared_model("blanks", "cpu").model.config.head.n_classes == 2


@claims("architectures.md", "Move *n* to 16: the numbers in all nearly double, those of a token hardly change.",
        "Every token goes to every expert, so a token pays for all of them: nothing is saved.")
def test_experts_are_held_by_the_model_and_paid_for_by_the_token():
    config = cache.shared_model("stories", "cpu").model.config
    settings = experiment("architectures", "experts_one").settings
    eight, sixteen = (config.changed(n_experts=n, n_active_experts=int(settings["architectures_experts_k"]))
                      for n in (int(settings["architectures_experts_n"]), 16))
    assert 1.8 < counting.n_parameters(sixteen) / counting.n_parameters(eight) < 2
    assert counting.active_parameters(sixteen) < 1.01 * counting.active_parameters(eight)
    every = config.changed(n_experts=4, n_active_experts=4)
    assert counting.active_parameters(every) == counting.n_parameters(every)
