"""What is seen of lecture B, idea by idea."""
from __future__ import annotations

import math
import re

import pytest
import torch
from playwright.sync_api import Page, expect

from core.app.compute import cache
from core.app.state.run import telling
from core.training import blanks
from tests.browser.ideas import formulas, seen
from tests.browser.pictures import comes
from tests.claims.passes import opening, run
from tests.helpers.messages import numbers_in, value_of


@seen("B14")
def the_inner_row_is_four_times_as_wide(page: Page) -> None:
    height, width = (page.locator(f".residual_block .row.{kind} canvas").first.evaluate("(c) => [c.height, c.width]")
                     for kind in ("hidden", "mlp"))
    assert height == [4, width[1]] and width[0] == 1


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


def blank_in(text: str, hidden: int) -> torch.Tensor:
    """(|V|,) what the encoder gives the token at that place of the text when it is hidden."""
    loaded = cache.shared_model("blanks", "cpu")
    ids = list(blanks.marked_text(text, loaded.tokenizer, 128).token_ids)
    ids[hidden] = loaded.tokenizer.mask_token
    return loaded.model(torch.tensor(ids)).logits[hidden].double().softmax(-1)


def shares(page: Page, side: str) -> dict[str, float]:
    """The probability of each candidate on one side of the picture."""
    rows = page.locator(f".side.{side} tbody tr:not(.rest)")
    return {row.locator(".chip").text_content(): value_of(row.locator(".number").text_content()) for row in rows.all()}


@seen("B9", "B10")
def the_encoder_reads_what_stands_after_the_blank(page: Page) -> None:
    sentence = page.get_by_role("textbox").nth(1).input_value() if "blank_text" not in page.url else ""
    words = re.search(r"\[(\w+)\]", sentence or "The film was [not] boring.")
    plain = (sentence or "The film was [not] boring.").replace("[", "").replace("]", "")
    tokenizer = cache.shared_model("blanks", "cpu").tokenizer
    names = [tokenizer.visible(i) for i in blanks.marked_text(plain, tokenizer, 128).token_ids]
    true = f"·{words[1]}"
    place = names.index(true)
    p = blank_in(plain, place)
    encoder, decoder = shares(page, "encoder"), shares(page, "decoder")
    assert encoder[true] == pytest.approx(float(p[tokenizer.encode(f" {words[1]}")[0]]), rel=6e-3)
    left = run(plain[:plain.index(f" {words[1]}")])
    [token] = left.tokenizer.encode(f" {words[1]}")
    assert decoder[true] == pytest.approx(float(left.trace.probs[-1, token]), rel=6e-3)
    assert encoder[true] > decoder[true]
    loss = page.locator(".blank-picture .objective").inner_text()
    assert value_of(re.search(r"= ([\d.]+) nats", loss)[1]) == pytest.approx(-math.log(encoder[true]), abs=6e-3)
    assert page.locator(".side.encoder .sure").count() > 3 and not page.locator(".side.decoder .sure").count()


@seen("B11")
def a_digit_is_written_from_the_word_that_says_it(page: Page) -> None:
    said = page.locator(".st-key-architectures_translate_instrument .title").first.inner_text()
    source, weight = re.search(r"is written, (\S+) gets ([\d.]+)", " ".join(said.split())).groups()
    loaded = cache.shared_model("translator", "cpu")
    ids = loaded.tokenizer.encode("the twenty-first of march nineteen eighty-four")
    trace = loaded.model(torch.tensor([loaded.tokenizer.first]), source_ids=torch.tensor(ids))
    row = trace.blocks[1].cross.pattern[:, 0].mean(0)
    assert source == loaded.tokenizer.visible(ids[int(row.argmax())]) == "·nineteen"
    assert float(weight) == pytest.approx(float(row.max()), abs=6e-4)
    shapes = ["".join(pick.split()) for pick in
              page.locator(".st-key-architectures_translate_instrument .pick").all_text_contents()]
    assert [shape.partition("[")[2] for shape in shapes] == ["M×M]=[10×10]", "N×M]=[11×10]", "N×N]=[11×11]"]


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


@seen("B20")
def two_turkish_words_are_many_pieces(page: Page) -> None:
    counts = [int(text) for text in page.locator(".token_methods td.count.picked").all_text_contents()]
    assert counts[0] == 2 and min(counts[1:]) > 8


@seen("B21")
def sentencepiece_is_explained(page: Page) -> None:
    said = page.locator(".st-key-lesson_explanation").inner_text()
    assert all(name in said for name in ("SentencePiece", "T5", "Llama"))


@seen("B22")
def five_words_are_six_tokens_and_rows(page: Page) -> None:
    said = page.locator(".st-key-tokens_rows").inner_text()
    assert "6 tokens" in said and "256 numbers" in said          # I love cat s and dogs


@seen("B23")
def no_row_is_put_into_words(page: Page) -> None:
    assert "0 of 12" in page.locator(".lm_tasks .title").inner_text()
    assert page.locator(".answer-steps .step").count() > 1


@seen("B24")
def loss_and_product_agree_on_the_best_p(page: Page) -> None:
    upper, lower = (page.locator(".toy-curves line.best").nth(k).get_attribute("x1") for k in (0, 1))
    ends = [float(page.locator(".toy-curves line:not(.best)").first.get_attribute(name)) for name in ("x1", "x2")]
    assert upper == lower and float(upper) == pytest.approx(sum(ends) / 2, abs=1)       # 3 of 6 come after *the*


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
