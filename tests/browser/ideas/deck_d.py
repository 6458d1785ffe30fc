"""What is seen of lecture D, idea by idea."""
from __future__ import annotations

import itertools
import json
import math
import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Page

from core.model.checkpoints import BUNDLED as MODELS
from tests.browser.ideas import formulas, seen
from tests.claims.passes import opening
from tests.helpers.messages import numbers_in, value_of


@seen("D9")
def outputs_follow_their_inputs_without_positions_and_mask(page: Page) -> None:
    apart = [value_of(number) for number in page.locator(".instrument .cases .number").all_inner_texts()]
    verdicts = page.locator(".instrument .cases .verdict").all_inner_texts()
    assert apart[0] < 1e-4 and min(apart[1:]) > 0.1 and len(set(verdicts[1:])) == 1 and verdicts[0] != verdicts[1]


@seen("D8")
def the_feed_forward_part_stands_as_one_formula_with_its_biases(page: Page) -> None:
    formulas = page.locator(".st-key-lesson_numbers annotation").all_text_contents()
    [whole] = [formula for formula in formulas if "FFN" in formula and "W_2 + b_2" in formula]
    assert "z W_1 + b_1" in whole
    [out] = [formula for formula in formulas if r"\operatorname{FFN}(z)_0" in formula]
    *terms, total = numbers_in(out)
    assert len(terms) == 5 and sum(terms) == pytest.approx(total, abs=1e-3)


@seen("D7")
def one_matrix_of_rank_d_k_gives_the_product(page: Page) -> None:
    config = opening().model.config
    assert f"rank {config.d_k}, " in page.locator(".st-key-attention_stage").inner_text()
    formulas = page.locator(".st-key-lesson_numbers annotation").all_text_contents()
    [one], [biases], [product] = ([numbers_in(line.split("=")[-1])[-1] for line in formulas if line.startswith(start)]
                                  for start in ("x_{25} (W_Q", "x_{25} W_Q", "q_{25}"))
    assert one + biases == pytest.approx(product, abs=1e-3)


@seen("D14")
def three_positions_and_what_each_predicts(page: Page) -> None:
    rows = page.locator(".st-key-limits_positions tbody tr")
    names = ["Bender", "Chomsky", "Bloomfield", "Harris", "Wittgenstein", "Trager", "Soatto", "Mill", "Kripke",
             "Frege"]
    assert rows.count() == 3 and all(name in " ".join(rows.all_inner_texts()) for name in names)
    assert all(row.locator("td").nth(3).inner_text() for row in rows.all())
    said = page.get_by_text(re.compile("Better than guessing and than shuffled text:")).first.inner_text()
    assert "Verb over a noun" in said or "Which name is whose" in said or "A new name" in said


@seen("D16")
def each_component_of_each_vector_has_its_slope(page: Page) -> None:
    canvas, there = page.locator(".limits_components canvas"), opening()
    width, height = canvas.evaluate("(c) => [c.width, c.height]")
    assert (width, height) == (there.model.config.d_model, len(there.token_ids))
    box = canvas.bounding_box()
    i, c = height - 2, 101
    canvas.hover(position={"x": box["width"] * (c + 0.5) / width, "y": box["height"] * (i + 0.5) / height})
    said = page.locator(".limits_components .reading").inner_text()
    x, slope = (value_of(found) for found in re.search(r"x = (.+?), slope ∂ ln p/∂x = (.+?)\. Over", said).groups())
    embedding = there.model.embed(torch.tensor(there.token_ids)).detach()
    assert f"component {c}:" in said and x == pytest.approx(float(embedding[i, c]), rel=0.01, abs=1e-3)
    nudges = torch.zeros(2, *embedding.shape)
    nudges[:, i, c] = torch.tensor([-0.01, 0.01])
    target = int(there.trace.logits[-1].argmax())
    low, high = (float(there.model.logits_of_embeddings(embedding + nudge).double().log_softmax(-1)[target].detach())
                 for nudge in nudges)
    assert slope == pytest.approx((high - low) / 0.02, abs=2e-3)


@seen("D19")
def a_reader_of_frequencies_is_calibrated_and_its_log_loss_is_worse(page: Page) -> None:
    errors = [re.search(r"ECE ([\d.]+)\s%", said)[1] for said in
              page.locator(".st-key-limits_diagrams p", has_text="ECE").all_inner_texts()]
    assert len(errors) == 3 and float(errors[2]) == 0 < float(errors[0])
    said = page.get_by_text(re.compile("Log loss:")).first.inner_text()
    model, blind = re.search(r"Log loss: ([\d.]+) nats a token; without reading, ([\d.]+?)\.?$", said, re.M).groups()
    assert float(blind) > float(model)


@seen("D20")
def fewer_functions_are_reached_than_there_are_parameters(page: Page) -> None:
    weights = (-3, -1, 1, 3)
    reached = {sum(1 << place for place in range(8) if sum(w * (place >> i & 1) for i, w in enumerate(row[:3]))
                   + row[3] > 0) for row in itertools.product(weights, repeat=4)}
    shaded = page.locator(".limits_functions .tile:not(.shade0)")
    assert page.locator(".limits_functions .tile").count() == 256 == len(weights) ** 4
    assert {int(tile.get_attribute("data-function")) for tile in shaded.all()} == reached and len(reached) < 128
    said, left = (float(page.locator(f".limits_functions .bits .{name}").first.get_attribute("width"))
                  for name in ("said", "left"))
    assert said / (said + left) == pytest.approx(math.log2(len(reached)) / 8, abs=1e-3)


@seen("D18")
def the_mask_alone_is_worth_most_of_what_positions_are(page: Page) -> None:
    nats = {path.parent.name.removeprefix("positions-"): np.mean([part["nats_per_token"] for part in
            json.loads(path.read_text()) if part["last"] <= 128]) for path in MODELS.glob("positions-*/lengths.json")}
    said = page.get_by_text(re.compile("by the mask alone")).first.inner_text()
    gap, under = (float(found) for found in re.search(r"loss is ([\d.]+) nats .* ([\d.]+) nats below", said).groups())
    assert gap == pytest.approx(nats["none"] - min(nats.values()), abs=0.006) and 0.2 < gap < 0.3
    assert under == pytest.approx(nats["sinusoidal"] - nats["none"], abs=0.006)


@seen("D21")
def even_the_token_that_matters_least_leaves_a_trace(page: Page) -> None:
    charts = [page.locator(f".st-key-limits_context_{name} .mark-symbol path") for name in ("kl", "cosine")]
    n = len(opening().token_ids) - 1
    assert [chart.count() for chart in charts] == [n, n]
    said = page.get_by_text(re.compile("differ, rounded to 16 bits")).first.inner_text()
    changed, d = map(int, re.search(r"least (\d+) of the (\d+) numbers", said).groups())
    assert d == opening().model.config.d_model and d / 2 < changed <= d


@seen("D15")
def the_parameters_hold_as_many_bits_as_the_text_compressed(page: Page) -> None:
    found = [re.search(r"= ([\d.{},]+) \\cdot 10\^6", formula) for formula in formulas(page)]
    text, weights, left, packed = (float(re.sub(r"[{},]", "", one[1])) for one in found if one)
    assert weights == pytest.approx(16e-6 * opening().model.n_parameters, abs=1e-3) and weights < left < text
    assert packed == pytest.approx(weights, rel=0.1)


@seen("D3")
def the_table_is_a_power_and_hardly_ever_read(page: Page) -> None:
    formula = page.locator(".lm_table .formula").inner_text().replace(",", "")
    assert str(16 * (2 ** 11 + 1)) in formula and "227" not in formula
    known = [float(cell.split()[0]) for cell in page.locator(".seen td.bar").all_inner_texts()]
    assert known == sorted(known, reverse=True) and known[0] > 99 > 50 > known[4]


@seen("D31")
def a_predicted_text_takes_few_bits(page: Page) -> None:
    said = page.locator(".lm_coder").inner_text().replace(",", "")
    n_bytes, bits = map(int, re.search(r"has (\d+) bytes and takes (\d+) bits", said).groups())
    assert bits < n_bytes


@seen("D32")
def the_text_without_the_slip_is_first(page: Page) -> None:
    assert page.locator(".sentences-list .row .name").first.text_content() == "the mouse ate the cheese"
    assert value_of(page.locator(".sentences-list .row .label").first.text_content()) > 0.9


@seen("D17")
def another_basis_changes_no_score(page: Page) -> None:
    said = page.locator(".matrices").locator("xpath=..").inner_text()
    numbers = re.search(r"queries change by up to (\S+) and keys by up to (\S+), scores by no more than (.+?), and the "
                        r"model’?'?s logits by (.+?): rounding", said).groups()
    q, k, scores, logits = map(value_of, numbers)
    assert min(q, k) > 0.1 and max(scores, logits) < 1e-9
