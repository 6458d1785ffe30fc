"""Checks of lecture B, idea by idea."""
from __future__ import annotations

import math
import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core.app.state.run import telling
from core.base import tables
from tests.browser.ideas import formulas, seen
from tests.browser.pictures import comes
from tests.claims.passes import opening, run
from tests.helpers.messages import numbers_in, value_of

PLACES = {idea.id: idea.place.settings for idea in tables.ideas()}


@seen("B14")
def the_inner_row_is_four_times_as_wide(page: Page) -> None:
    height, width = (page.locator(f".residual_block .row.{kind} canvas").first.evaluate("(c) => [c.height, c.width]")
                     for kind in ("hidden", "mlp"))
    assert height == [4, width[1]] and width[0] == 1
    there = run(PLACES["B14"]["prompt"])
    row = page.locator(".residual_block .row.hidden .part").inner_text()
    zeros = int((there.trace.blocks[-2].mlp_pre[-1] <= 0).sum())
    assert row.startswith("GELU(") and f"ReLU: {zeros} would be 0" in row


@seen("B15")
def a_sum_adds_up_under_the_pointer(page: Page) -> None:
    page.locator(".residual_block .row.O .strip").first.hover()
    said = page.locator(".residual_block .reading").inner_text()
    x, a, total = (value_of(re.search(rf"{name} ([^ ,;.]+(?:\.\d+)?(?: · 10\S+)?)", said)[1]) for name in
                   ("X", "attention", "O"))
    assert x + a == pytest.approx(total, abs=0.01 * max(abs(x), abs(a)) + 0.01)


@seen("B17")
def a_pair_is_the_sine_and_the_cosine_of_one_angle(page: Page) -> None:
    [entries] = [formula for formula in formulas(page) if formula.startswith("P_{") and r"\sin(" in formula]
    (angle, sine), (same, cosine) = (map(float, found) for found in
                                     re.findall(r"\\(?:sin|cos)\((-?[\d.]+)\) = (-?[\d.]+)", entries))
    assert angle == same and (sine, cosine) == pytest.approx((math.sin(angle), math.cos(angle)), abs=2e-4)


@seen("B1")
def the_order_without_sense_has_the_most_bits_a_token(page: Page) -> None:
    sums = page.locator(".sentences-list .sums").all_text_contents()
    rates = [float(re.search(r"([\d.]+) per token", line)[1]) for line in sums]
    assert len(rates) == 3 and rates == sorted(rates) and rates[2] > rates[1] + 2


@seen("B3")
def the_factors_multiply_to_the_probability_and_the_logarithms_add_up(page: Page) -> None:
    chain, logs, *_ = formulas(page)
    there = run(" the mouse ate the cheese")
    log_p = there.trace.logits.double().log_softmax(-1)
    each = [float(log_p[i, token]) for i, token in enumerate(there.token_ids[1:])]
    mantissa, power = re.search(r"= ([\d.]+) \\cdot 10\^\{(-\d+)\}$", chain).groups()
    assert len(each) == 5 and numbers_in(logs)[-6:] == pytest.approx([*each, sum(each)], abs=2e-4)
    assert math.log(float(mantissa)) + int(power) * math.log(10) == pytest.approx(sum(each), abs=2e-4)


@seen("B4")
def spaces_leave_long_words_whole_and_other_ways_do_not(page: Page) -> None:
    counts = {row[0][0]: row[1] for row in table_of(page)}
    texts = ("我今天去了商店", "Abwasserbehandlungsanlage", "father-in-law mother-in-law", "don't")
    assert counts["A"][:4] == [1, 1, 2, 1] == [len(text.split(" ")) for text in texts]
    assert counts["C"][:4] == [len(text.encode()) for text in texts]
    assert counts["D"][:4] == [len(opening().tokenizer.encode(text)) for text in texts]


def table_of(page: Page) -> list[tuple[str, list[int]]]:
    """The ways to cut: each with its counts of tokens, text by text."""
    return [(row.locator("td, th").first.inner_text(), [int(n) for n in row.locator("td.count").all_text_contents()])
            for row in page.locator(".token_methods tbody tr").all()]


@seen("B5")
def a_larger_vocabulary_of_learned_pieces_cuts_into_fewer(page: Page) -> None:
    counts = {name[0]: each[1] for name, each in table_of(page)}
    assert counts["C"] == len("Abwasserbehandlungsanlage") > counts["E"] > counts["D"] > counts["A"] == 1
    heights = {letter: page.locator(".methods-chart text", has_text=re.compile(f"^{letter}$")).bounding_box()["y"]
               for letter in "CED"}
    assert heights["C"] < heights["E"] < heights["D"]


@seen("B6")
def the_most_frequent_pair_is_joined_and_counted_again(page: Page) -> None:
    counts, forward = page.locator(".token_bpe .pair .count"), page.get_by_role("button", name="One merge on")
    assert counts.all_text_contents()[:3] == ["9", "9", "8"]              # e s and s t in newest and widest, w e
    forward.click()
    forward.click()
    assert page.locator(".token_bpe .chip.made").all_text_contents() == ["est"] * 2
    assert counts.first.text_content() == "7" and "".join(
        page.locator(".token_bpe .pair").first.locator(".chip").all_text_contents()) == "lo"


@seen("B7")
def what_is_missed_least_is_dropped(page: Page) -> None:
    losses = [value_of(loss) for loss in page.locator(".dropped-list .loss").all_text_contents()]
    kept = [value_of(loss) for loss in page.locator(".kept .measure").all_text_contents()]
    assert len(losses) > 10 and max(losses) <= min(kept)
    assert page.locator(".token_unigram .said .chip").all_text_contents() == ["·slow", "ness"]


@seen("B19")
def three_products_are_the_lectures(page: Page) -> None:
    products = page.locator(".toy-picture .product").all_text_contents()
    for line, p in zip(products, (0.02, 0.01, 0.0001), strict=True):
        *factors, total = re.findall(r"[\d.]+", line)
        assert float(total) == p and math.prod(map(float, factors)) == pytest.approx(p)


@seen("B31")
def each_word_is_drawn_about_as_often_as_p_expects(page: Page) -> None:
    def shown() -> np.ndarray:
        """(30, 3) p, how often the word was drawn, and how often p expects it."""
        cells = page.locator(".toy-picture .entry").all_inner_texts()
        return np.array([[float(number) for number in re.findall(r"[\d.]+", cell)] for cell in cells])

    p, count, expected = shown().T
    rows = count.reshape(6, 5).sum(1)
    assert count.sum() == 1000 and rows[0] == 200
    assert expected == pytest.approx(p * rows.repeat(5), abs=0.51)
    assert (abs(count - expected) < 4 * np.sqrt(expected + 1)).all()
    title = page.locator(".lm_toy .title")
    off = [abs(value_of(re.search(r"p̂ = ([\d.]+) \(p = 0\.40\)", title.inner_text())[1]) - 0.4)]
    assert page.locator(".toy-curves path.shares").get_attribute("d").count("L") > 150
    assert page.locator(".toy-curves line.true").count() == 1
    page.get_by_role("button", name="Draw 200").click()
    expect(title).to_contain_text("400 drawn")
    off.append(abs(value_of(re.search(r"p̂ = ([\d.]+)", title.inner_text())[1]) - 0.4))
    assert shown()[:, 1].sum() == 2000 and off[1] < off[0]
    assert page.locator(".toy-picture .entry.used").count() >= 1 and page.locator(".part", has_text="No. 400").count()


def way_of(page: Page) -> list[str]:
    """The pieces of the most probable way to cut the word."""
    return page.locator(".token_unigram .said .chip").all_text_contents()


@seen("B20")
def a_phrase_in_one_word_is_cut_into_its_parts(page: Page) -> None:
    text = PLACES["B20"]["prompt"].split()
    assert way_of(page) == ["·evler", "iniz", "den"] and "evlerinizden" not in text
    assert all(sum(part in word for word in text) > 1 for part in ("evler", "iniz", "den"))


@seen("B21")
def a_sentence_without_spaces_is_cut_into_its_words(page: Page) -> None:
    assert way_of(page) == ["·", "我", "今天", "去了", "商店"]
    assert all("我今天去了商店" not in sentence for sentence in PLACES["B21"]["prompt"].split())
    said = page.locator(".st-key-lesson_explanation").inner_text()
    assert all(name in said for name in ("SentencePiece", "T5", "Llama"))


@seen("B22")
def five_words_are_six_tokens_and_rows(page: Page) -> None:
    said = page.locator(".st-key-tokens_rows").inner_text()
    assert "6 tokens" in said and "256 numbers" in said          # I love cat s and dogs


@seen("B26")
def no_row_is_put_into_words(page: Page) -> None:
    assert "0 of 12" in page.locator(".lm_tasks .title").inner_text()
    assert page.locator(".answer-steps .step").count() > 1


@seen("B24")
def loss_and_product_agree_on_the_best_p(page: Page) -> None:
    upper, lower = (page.locator(".toy-curves line.best").nth(k).get_attribute("x1") for k in (0, 1))
    ends = [float(page.locator(".toy-curves line:not(.best)").first.get_attribute(name)) for name in ("x1", "x2")]
    assert upper == lower and float(upper) == pytest.approx(sum(ends) / 2, abs=1)       # 3 of 6 come after *the*


@seen("B27", "B28", "B29", "B30")
def the_function_that_ran_stands_open(page: Page) -> None:
    """Check the one function of four that the address opens: its lines in the order of the sentence."""
    lesson = page.url.rpartition("?")[0].rpartition("/")[2] or "overview"
    element, lines = {
        "attention": ("B27", ("Q, K, V = ", "causal_mask", "dot_product_scores(Q, K)", "masked_softmax(", "weights @")),
        "heads": ("B28", ("Q, K, V, ", "scores, bias = ", "pattern = ", "head_out = ", "attn_out = ")),
        "residual_stream": ("B29", ('parts["attn_out"]', "self.feed_forward(", "mlp_added, stream = add(")),
        "overview": ("B30", ("self.embed(", "added_positions(", "for layer, block in enumerate(self.blocks)"))}[lesson]
    code = page.locator(next(idea.element for idea in tables.ideas() if idea.id == element)).text_content()
    places = [code.index(line) for line in lines]
    assert places == sorted(places)


@seen("B13")
def every_step_is_filled_to_what_the_head_adds(page: Page) -> None:
    picture = page.locator(".st-key-attention_steps_instrument")
    expect(picture.locator(".title")).to_contain_text("W")
    expect(picture.locator(".detail .term").nth(30)).to_be_attached()
    alpha = page.locator(".st-key-lesson_numbers annotation").filter(has_text=re.compile(r"^\s*\\alpha"))
    expect(alpha).to_have_count(1)
    block, layer, head = opening().trace.blocks, *telling(opening())
    most = pytest.approx(float(block[layer].pattern[head, -1].max()), abs=1e-4)
    assert comes(page, lambda: numbers_in(alpha.text_content())[-1] == most)
