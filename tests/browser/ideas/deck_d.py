"""Checks of lecture D, idea by idea."""
from __future__ import annotations

import itertools
import json
import math
import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect
from torch.utils.flop_counter import FlopCounterMode

from core.base import prose
from core.learning import backprop
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


@seen("D2")
def the_code_is_undone_but_for_a_few_letters(page: Page) -> None:
    pairs = page.locator(".lm_cipher .lines .pair")
    pairs.first.wait_for()
    secret = prose.load("language_models").section("secret").strip()
    true, given, read = ([sign.lower() for sign in signs if sign.isalpha()] for signs in (
        secret, *("".join(pairs.locator(f".{name}").all_inner_texts()) for name in ("given", "read"))))
    right, kept = (sum(map(str.__eq__, true, signs)) for signs in (read, given))
    assert len(true) == len(read) > 80 and right >= 0.9 * len(true) and kept < 0.2 * len(true)
    assert page.locator(".lm_cipher .lines .pair.wrong").count() == len(true) - right


@seen("D11")
def the_derivative_of_a_weight_is_found_three_times(page: Page) -> None:
    x, W, V = np.split(np.array(backprop.drawn(0)), [2, 6])
    W, V = W.reshape(2, 2), V.reshape(2, 3)

    def loss(nudge: float) -> float:
        z = x @ (W + nudge * np.array([[0, 1], [0, 0]]))
        u = np.tanh(z) @ V
        return float(np.log(np.exp(u).sum()) - u[0])

    slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
    line = page.locator(".instrument .lines .line").first
    assert value_of(line.locator(".result").inner_text().lstrip("= ")) == pytest.approx(slope, abs=1e-4)
    factors = [value_of(factor) for factor in line.locator(".factor span").all_inner_texts()]
    assert len(factors) > 1 and math.prod(factors) == pytest.approx(slope, abs=1e-3)
    found = [value_of(number) for number in re.findall(r": (−?\d\.\d{4})", page.locator(".checks").inner_text())[:2]]
    assert found == pytest.approx([slope, slope], abs=1e-4)
    opened = line.locator("button.factor.back").first
    opened.click()
    page.locator(".instrument .lines .line").nth(1).wait_for()


@seen("D12")
def the_slides_sizes_are_counted_and_its_rule_says_less_than_half(page: Page) -> None:
    d, L, tokens, window = 2 ** 13 + 2 ** 12, 96, 2 ** 17, 2 ** 15
    block = 4 * d * d + 2 * d * 4 * d + 4 * d + (4 * d + d) + 4 * d      # maps, biases, two norms
    counted, rule = (tokens + window) * d + L * block + 2 * d, tokens * d + 5 * L * d * d
    lines = [formula.replace("{,}", "") for formula in formulas(page)]
    assert lines[0].endswith(f"= {counted}") and counted == pytest.approx(1.76e11, rel=0.01)
    [lecture] = [line for line in lines if "|T|" in line]
    assert lecture.endswith(f"= {rule}") and rule == pytest.approx(7.4e10, rel=0.01)


@seen("D13")
def a_sliver_of_a_pass_is_no_matrix_product(page: Page) -> None:
    there = opening()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        there.model(torch.tensor(there.token_ids))
    parts = page.locator(".pass .mark.products")
    values, wide = ([float(part.get_attribute("data-value")) for part in parts.all()],
                    [float(part.locator("rect").get_attribute("width")) for part in parts.all()])
    assert len(values) == 6 and sum(values) == counter.get_total_flops()
    sliver, whole = (float(page.locator(selector).get_attribute("width")) for selector in (".pass .part.rest", ".pass"))
    assert sum(wide) + sliver == pytest.approx(whole) and 0 < sliver < 0.01 * whole
    said = page.locator(".instrument .title").inner_text()
    assert value_of(said.split("%")[0]) == pytest.approx(100 * (1 - sliver / whole), abs=0.006)


@seen("D33")
def reading_stands_under_the_roof_and_writing_on_the_slope(page: Page) -> None:
    weights, token, pair = 2 * 174_604_259_328, 96 * 2 * 12_288 * 2, 96 * 4 * 12_288
    work, moved = 2 * 174.6e9 + 2048 * pair, weights + 2048 * token
    (read, write), rates = ([float(page.locator(f".roof .dot.{kind}").get_attribute(name))
                             for kind in ("read", "write")] for name in ("data-intensity", "data-rate"))
    assert write == pytest.approx(work / moved, rel=0.01) and read == pytest.approx(2048, rel=0.01)
    assert rates == pytest.approx([989e12, 3.35e12 * work / moved], rel=0.01)
    speed = page.locator(".instrument tr.speed td.write").inner_text()
    assert value_of(speed) == pytest.approx(5 / (moved / 3.35e12), rel=0.01), "on the five that hold it"


@seen("D34")
def each_cell_adds_its_product_to_the_sum_from_above(page: Page) -> None:
    X, W = ([[value_of(cell) for cell in row.locator("td").all_inner_texts()]
             for row in page.locator(f".matrices table.{name} tr").all()] for name in "xw")
    Y, working = np.array(X) @ np.array(W), page.locator(".array .cell.on")
    at = {tuple(map(int, cell.get_attribute("data-cell").split(","))): cell for cell in working.all()}
    assert set(at) == {(i, j) for i in range(3) for j in range(3) if 0 <= 3 - i - j <= 2}       # tick 4: row 3 − i − j
    for (i, j), cell in at.items():
        sums = value_of(cell.locator(".sum").text_content().strip("= ↓"))
        assert sums == sum(X[3 - i - j][k] * W[k][j] for k in range(i + 1))
    left = page.locator(".array text.value.y").all_text_contents()
    assert [value_of(text.split("=")[1]) for text in left] == [Y[1, 0], Y[0, 1]]
    page.locator(".instrument .bar .buttons button").last.click()
    page.locator(".instrument .title", has_text="the last").wait_for()
    done = [value_of(cell) for cell in page.locator(".matrices table.y td").all_inner_texts()]
    assert done == Y.flatten().tolist()


@seen("D35")
def a_ring_stands_at_gpt3_and_the_other_dots_lie_lower(page: Page) -> None:
    energy = {"GPT-3": 1287e6, "OPT": 356e6, "BLOOM": 433e6, "LLaMA": 449e6}      # Wh, each from its paper
    hours = {"GPT-3": 10_000 * 14.8 * 24, "BLOOM": 384 * 105 * 24, "LLaMA": 2048 * 21 * 24}
    flops = 6 * 175e9 * 300e9
    own = flops / (125e12 * 0.2 * 3600), flops / (125e12 * 0.2 * 3600) * 300 * 1.1
    assert own == (pytest.approx(3.5e6), pytest.approx(1155e6))
    for chart, values, value in (("hours", hours, own[0]), ("energy", energy, own[1])):
        svg = page.locator(f".chart.{chart}")
        places = {name: svg.locator(f"[data-model='{name}'] circle").evaluate("(dot) => dot.cy.baseVal.value")
                  for name in values}
        ring = svg.locator("circle.own")
        y, radius = ring.evaluate("(ring) => [ring.cy.baseVal.value, ring.r.baseVal.value]")
        assert svg.locator("[data-model]").count() == len(values)
        assert float(ring.get_attribute("data-value")) == pytest.approx(value)
        assert 0 <= y - places["GPT-3"] < radius and min(places, key=places.get) == "GPT-3"
        decade = (places["BLOOM"] - places["GPT-3"]) / math.log10(values["GPT-3"] / values["BLOOM"])
        assert y - places["GPT-3"] == pytest.approx(decade * math.log10(values["GPT-3"] / value), abs=0.1)


@seen("D42")
def both_formulas_stand_beside_what_is_published(page: Page) -> None:
    cell = page.locator(".instrument .side tr").filter
    assert "6 N D" in cell(has_text="training").inner_text() and "2 N" in cell(has_text="inference").inner_text()
    found, reported = cell(has_text="training").locator("td").all_inner_texts()[1:]
    assert (value_of(found), value_of(reported)) == (6 * 175e9 * 300e9, 3.14e23)
    assert cell(has_text="inference").locator("td.computed").inner_text() == f"{2 * 175} GFLOP"


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
    said = page.get_by_text(re.compile("differ in 16 bits")).first.inner_text()
    changed, d = map(int, re.search(r"least (\d+) of the (\d+) numbers", said).groups())
    assert d == opening().model.config.d_model and d / 2 < changed <= d
    page.get_by_role("radio", name="Read it off").or_(page.get_by_role("button", name="Read it off")).first.click()
    cells = page.locator(".st-key-limits_probe .role-mark.mark-text text")
    kept = json.loads((MODELS.parent / "teaching" / "probe_runs.json").read_text())
    rows = [*reversed(kept["accuracy"]), kept["commonest"], kept["shuffled"]]
    expect(cells).to_have_count(len(rows) * len(kept["distances"]))
    assert sorted(map(int, cells.all_text_contents())) == sorted(round(100 * share) for row in rows for share in row)
    near, far = kept["distances"].index(1), kept["distances"].index(16)
    assert rows[0][near] > 5 * kept["commonest"][near] and rows[0][far] < 1.5 * kept["commonest"][far]


@seen("D15")
def the_parameters_hold_as_many_bits_as_the_text_compressed(page: Page) -> None:
    found = [re.search(r"= ([\d.{},]+) \\cdot 10\^6", formula) for formula in formulas(page)]
    text, weights, packed, left = (float(re.sub(r"[{},]", "", one[1])) for one in found if one)
    assert weights == pytest.approx(16e-6 * opening().model.n_parameters, abs=1e-3) and left < weights < text
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
                        r"model’?'?s outputs by (.+?): rounding", said).groups()
    q, k, scores, logits = map(value_of, numbers)
    assert min(q, k) > 0.1 and max(scores, logits) < 1e-9
