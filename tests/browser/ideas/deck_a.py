"""Checks of lecture A, idea by idea."""
from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from core.app.compute import cache
from core.base import prose
from core.figures.numbers import percent
from core.learning.memory_tasks import Recall
from core.model.intervention import Intervention
from tests.browser.ideas import formulas, seen
from tests.browser.serving import settle
from tests.claims.passes import opening, run
from tests.helpers.messages import value_of

ROOT = Path(__file__).parents[3]


@seen("A12")
def a_one_hot_row_picks_its_row(page: Page) -> None:
    token_id = opening().token_ids[-1]
    assert f"picks row {token_id} of the matrix E" in page.locator(".st-key-embeddings_stage").inner_text()


@seen("A42")
def what_is_left_out_does_not_exist_for_the_model(page: Page) -> None:
    prompt = page.locator(".st-key-prompt_place textarea").input_value()
    there = run(prompt)
    n = len(there.tokenizer.encode(prompt))
    said = page.locator(".st-key-prompt_messages").inner_text()
    assert list(map(value_of, re.findall(r"\d+", said))) == [n, there.model.config.n_context - 1, there.n_cut]
    assert n == 255 + there.n_cut and there.tokenizer.decode(there.tokenizer.encode(prompt)[:5]) == "Ben lost his kite."
    bars = page.locator(".sampling-panel").inner_text()
    assert "·hat" in bars and "·kite" not in bars
    page.locator(".st-key-prompt_place textarea").fill(prompt.replace(" The stars were white and still.", ""))
    page.keyboard.press("Control+Enter")
    settle(page)
    expect(page.locator(".st-key-prompt_messages", has_text="left out")).to_have_count(0)
    expect(page.locator(".sampling-panel")).to_contain_text("·kite")


@seen("A13", "A41", "D41")
def one_strip_reads_a_token_and_scores_it(page: Page) -> None:
    there, picture = opening(), page.locator(".pair-view .stage")
    u, best = there.trace.logits[-1].double(), int(there.trace.logits[-1].argmax())
    stage = page.locator(".st-key-embeddings_stage")
    assert there.model.unembedding is there.model.E
    expect(stage).to_contain_text(f"is one strip, used twice: row {best} of E and column {best} of Eᵀ")
    heard, box = [page.locator(".pair-view .sum").inner_text()], picture.bounding_box()
    picture.click(position={"x": box["width"] - 25, "y": box["height"] / 2})        # the token that was read last
    expect(page.locator(".pair-view .sum")).not_to_have_text(heard[0])
    heard.append(page.locator(".pair-view .sum").inner_text())
    other = there.token_ids[-1]
    expect(stage).to_contain_text(f"row {other} of E and column {other} of Eᵀ")
    for said, j in zip(heard, (best, other)):
        h, row = there.trace.h_final[-1].double(), there.model.E[j].double()
        numbers = [value_of(number) for number in re.findall(r"[-−]?\d+\.\d+", said)]
        assert numbers[:6] == pytest.approx([float(v[c]) for c in range(3) for v in (h, row)], abs=0.006)
        assert numbers[6:8] == pytest.approx([float(h @ row), float(u[j])], abs=0.006)
        assert value_of(re.search(r"\S+\s%$", said)[0]) == pytest.approx(float(u.softmax(-1)[j]), rel=0.02)
    for _ in range(12):                                                    # back to the first column
        picture.press("ArrowLeft")
    expect(stage).to_contain_text(f"row {best} of E and column {best} of Eᵀ")


@seen("A21")
def with_k_of_1_no_chance_is_left(page: Page) -> None:
    kept, entropy, *_ = page.locator(".sampling-panel .numbers td.strong").all_inner_texts()
    assert (kept, float(entropy)) == ("1", 0)


def lengths(page: Page, kind: str) -> list[float]:
    """‖·‖ of the first token in the rows of a kind, in both parts, in their order."""
    return [value_of(said.removeprefix("‖·‖ ")) for said in
            page.locator(f".residual_block .row:is(.{kind}, .{kind}2) .cell:nth-child(2) .length").all_inner_texts()]


@seen("A8")
def a_block_is_two_parts_two_sums_and_two_norms(page: Page) -> None:
    assert page.locator(".residual_block circle.plus").count() == 2
    assert "LayerNorm" in page.locator(".st-key-residual_stream_stage .katex").first.text_content()
    kinds = [row.get_attribute("class").removeprefix("row ") for row in page.locator(".residual_block .row").all()]
    assert kinds == ["X", "attention", "sum", "O", "hidden", "mlp", "sum2", "H"]
    [before, _], [after], d = lengths(page, "sum"), lengths(page, "H"), opening().model.config.d_model
    assert before > 0 and 0.3 < after / d ** 0.5 < 3, "a norm brings every sum to about the root of d"
    page.get_by_role("radio", name="pre-norm", exact=True).click()
    page.locator(".residual_block .row.norm").first.wait_for()
    assert len(lengths(page, "norm")) == 2


@seen("A9")
def the_other_token_leaves_no_trace_in_a_feed_forward_part(page: Page) -> None:
    assert page.locator(".residual_block .changed.same").count() == page.locator(".residual_block .row").count() == 8


@seen("A3")
def three_weights_follow_the_arrows(page: Page) -> None:
    picture, table = page.locator(".st-key-attention_three .picture"), page.locator(".st-key-attention_three tbody")
    box = picture.bounding_box()
    middle, unit = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2), min(box["width"], box["height"]) / 5.6
    x_1 = [float(table.locator("input").nth(c).input_value()) for c in range(2)]
    for (x, y), act in ((x_1, page.mouse.down), ((-1.5, -1), page.mouse.up)):
        page.mouse.move(middle[0] + x * unit, middle[1] - y * unit)
        act()
    page.wait_for_function("(field) => field.value === '-1.5'", arg=table.locator("input").first.element_handle())
    x = np.array([float(field.input_value()) for field in table.locator("input").all()]).reshape(3, 2)
    assert x[0] == pytest.approx([-1.5, -1])
    powers = np.exp(x @ x[2])
    shown = [value_of(cell) for cell in table.locator("td:nth-child(5)").all_inner_texts()]
    assert shown == pytest.approx([*powers / powers.sum(), 1], abs=6e-4)
    out = table.locator("tr.sum td.a").inner_text().strip("()").split(", ")
    assert [value_of(number) for number in out] == pytest.approx(powers / powers.sum() @ x, abs=6e-3)


@seen("A2")
def both_ways_the_next_word_is_seen(page: Page) -> None:
    there, at = opening(), 17
    before, after = (float(trace.probs[at, there.token_ids[at + 1]])
                     for trace in (there.trace, there.trace_with(Intervention(mask="bidirectional"))))
    said = page.locator(".st-key-attention_stage").inner_text()
    assert percent(before) in said or percent(after) in said
    assert after > 3 * before and "BERT" in page.locator(".st-key-lesson_explanation").inner_text()


@seen("A4")
def the_three_matrices_have_their_shapes(page: Page) -> None:
    config = opening().model.config
    picture = page.locator(".st-key-attention_steps_instrument")
    for size in (config.d_k, config.d_v):
        expect(picture.locator(".title")).to_contain_text(f"[{config.d_model} × {size}]", use_inner_text=True)
    expect(picture.locator(".detail .term")).to_have_count(config.d_model + 1)


@seen("A7", "D36")
def the_heads_stand_side_by_side_as_wide_as_x(page: Page) -> None:
    def said() -> list[str]:
        return page.locator(".heads_shapes .shape").all_inner_texts()

    there = opening()
    config, n = there.model.config, len(there.token_ids)
    h, d, d_v = config.n_heads, config.d_model, config.d_v
    assert said() == [f"[{n} × {d}]", f"{h} × [{n} × {d_v}]", f"[{n} × {h * d_v}]", f"[{n} × {d}]"]
    wide, joined = (page.locator(f".heads_shapes .cells.{kind}").bounding_box()["width"] for kind in ("x", "joined"))
    assert joined == pytest.approx(wide, rel=0.02)
    page.get_by_role("radio", name="512, 8, 64").click()
    page.locator(".heads_shapes .shape", has_text="512").first.wait_for()
    assert said() == [f"[{n} × 512]", f"8 × [{n} × 64]", f"[{n} × 512]", f"[{n} × 512]"]
    page.get_by_role("radio", name="This model").click()
    page.locator(".heads_shapes .shape", has_text=f"{d}").first.wait_for()


@seen("A31")
def each_harm_is_listed_with_what_is_shown_and_what_is_left_out(page: Page) -> None:
    assert page.locator(".st-key-limits_movers").count() == 1
    rows = page.locator(".st-key-limits_harms tbody tr")
    assert rows.count() == 6 and all(word in " ".join(rows.all_inner_texts()) for word in
                                     ("Stereotypes", "Toxic", "Misinformation", "Privacy", "Copyright", "confidence"))
    assert all(cell for row in rows.all() for cell in row.locator("td").all_inner_texts())


@seen("A11")
def a_row_of_E_and_a_row_of_P_make_the_input(page: Page) -> None:
    there, strips, slider = opening(), page.locator(".canvas-sum"), page.locator(".range.i input")
    last = len(there.token_ids) - 1

    def summed(i: int) -> None:
        strips.hover(position={"x": strips.bounding_box()["width"] / 2, "y": 10})
        said = page.locator(".instrument .reading").inner_text()
        c, *shown = map(value_of, re.search(r"number (\d+): (\S+) \+ (\S+) = (\S+)", said).groups())
        e, p = (float(rows[at, int(c)]) for rows, at in ((there.trace.embedding, last), (there.model.P, i)))
        assert shown == pytest.approx([e, p, e + p], abs=6e-5)

    assert slider.input_value() == str(last)
    summed(last)
    assert torch.allclose(there.trace.blocks[0].resid_pre[last], there.trace.embedding[last] + there.model.P[last])
    slider.press("ArrowRight")
    expect(page.locator(".sum .caption")).to_contain_text(f"at {last + 1} it would")
    summed(last + 1)


@seen("A30")
def what_was_never_taught_is_answered_and_wrong(page: Page) -> None:
    marked = page.locator(".limits_facts svg text", has_text="✗").all_text_contents()
    assert marked and all(0 < value_of(text.replace("✗", "").strip()) <= 1 for text in marked)


@seen("A32")
def what_was_read_often_is_recited_and_its_twin_is_not(page: Page) -> None:
    said = re.findall(r"(\d+) of (\d+) tokens recited", page.locator(".limits_recital").inner_text())
    (n, whole), (other, of) = ((int(a), int(b)) for a, b in said)
    assert n == whole > 40 and other < 0.1 * of


@seen("A38")
def gates_and_attention_both_reach_far_and_one_reads_all_at_once(page: Page) -> None:
    said = page.locator("strong", has_text="the share right over 40 blanks").inner_text()
    shown = {name: float(re.search(rf"{name} ([\d.]+)", said)[1]) / 100 for name in ("attention", "LSTM", "tanh")}
    ends = recorded_recall()
    assert shown == pytest.approx({name: ends[name] for name in shown}, abs=6e-4)
    assert shown["attention"] > shown["LSTM"] > 0.95 and shown["tanh"] < 0.5
    inputs, _ = Recall(2, 40).batch(1, 40, torch.Generator().manual_seed(0))
    [waits] = [formula for formula in formulas(page) if formula.startswith("T + 2k")]
    assert waits.split(" = ")[-1].split(", ")[0] == str(inputs.shape[1]) and waits.endswith(" 1")


def recorded_recall() -> dict[str, float]:
    """The share right at the longest delay in the recorded run, as its file has it."""
    last = json.loads((ROOT / "assets/teaching/recurrence_runs.json").read_text())["runs"]["Recall 2 40 0"][-1]
    names = {"attention": "attention", "lstm": "LSTM", "rnn": "tanh", "gru": "GRU"}
    return {names[name]: values[-1] for name, values in last["accuracy"].items()}


@seen("A25")
def losses_come_in_one_by_one_or_all_at_once(page: Page) -> None:
    there = cache.shared_model("stories-small@0", "cpu").model
    blocks, even = there.config.n_layers, math.log(there.config.vocab_size)

    def counts() -> list[int]:
        return [page.locator(f".recurrence_waiting .loss.{row}.done").count() for row in ("recurrent", "transformer")]

    n = page.locator(".recurrence_waiting .loss.recurrent").count()
    assert counts() == [blocks, n]
    page.locator(".recurrence_waiting").get_by_title("One step back").click()
    assert counts() == [blocks - 1, 0]
    page.locator(".recurrence_waiting").get_by_title("To the end").click()
    assert counts() == [n, n]
    for row in ("recurrent", "transformer"):
        losses = [*map(float, page.locator(f".recurrence_waiting .loss.{row}").all_inner_texts())]
        assert sum(losses) / n == pytest.approx(even, rel=0.05), "neither is trained"


@seen("A36")
def what_was_collected_and_what_was_read_stand_as_two_bars(page: Page) -> None:
    bars = page.locator(".st-key-architectures_mixture .mark-rect path")
    wide = [bar.bounding_box()["width"] for bar in bars.all()]
    assert len(wide) == 8
    collected, read = ([part / sum(row) for part in row] for row in (wide[:4], wide[4:]))
    assert collected == pytest.approx([410 / 499, 19 / 499, 67 / 499, 3 / 499], abs=0.01)
    assert read == pytest.approx([60 / 101, 22 / 101, 16 / 101, 3 / 101], abs=0.01)


@seen("A16")
def the_more_probable_of_two_words_is_said_of_each_sentence(page: Page) -> None:
    entries = page.locator(".lm_tasks .entry")
    assert entries.count() == 24
    right = 0
    for asked, said, mark in zip(*(entries.locator(f".{name}").all_text_contents() for name in ("ask", "said", "mark")),
                                 strict=True):
        logs = {word: answer_log_p(asked, f" {word}") for word in ("positive", "negative")}
        assert said == max(logs, key=logs.get)
        right += mark == "✓"
    assert f"{right} of 24" in page.locator(".lm_tasks .title").inner_text() and right > 18


def answer_log_p(prompt: str, answer: str) -> float:
    """ln p of an answer after a prompt, token by token."""
    there, whole = run(prompt), run(prompt + answer)
    n = len(there.token_ids)
    log_p = whole.trace.logits.double().log_softmax(-1)
    return sum(float(log_p[i - 1, whole.token_ids[i]]) for i in range(n, len(whole.token_ids)))


@seen("A18")
def the_most_probable_tokens_after_tl_dr_are_the_summary(page: Page) -> None:
    entries = page.locator(".lm_tasks .entry")
    assert entries.count() == 8
    for k in (0, 1):
        asked, said = (entries.nth(k).locator(f".{name}").text_content() for name in ("ask", "said"))
        assert asked.endswith("\ntl;dr")
        there = run(asked)
        tokens = list(there.token_ids)
        for _ in range(len(there.tokenizer.encode(f" {said}"))):
            tokens.append(int(there.model(torch.tensor(tokens)).logits[-1].argmax()))
        assert there.tokenizer.decode(tokens[len(there.token_ids):]).strip() == said
    marks = entries.locator(".mark").all_text_contents()
    assert f"{marks.count('✓')} of 8" in page.locator(".lm_tasks .title").inner_text() and marks.count("✓") > 4


@seen("A17")
def the_second_name_follows_the_first(page: Page) -> None:
    title, first = page.locator(".lm_tasks .bars-title"), page.locator(".lm_tasks .bars text").first
    assert title.inner_text().endswith("A: Charles)") and first.text_content() == "·D"
    page.locator(".answer-steps .step").first.click()
    assert title.inner_text().endswith("A:)") and first.text_content() == "·Ch"


@seen("A33")
def a_token_of_the_summary_is_the_most_probable_one(page: Page) -> None:
    steps = page.locator(".answer-steps .step")
    assert steps.count() > 8
    for k in (4, 6):
        steps.nth(k).click()
        assert steps.nth(k).text_content() == page.locator(".lm_tasks .bars text").first.text_content()


@seen("A5", "C13")
def the_variance_is_d_k_and_the_division_keeps_the_entropy(page: Page) -> None:
    said = page.locator(".scaling-charts").inner_text()
    slider = page.get_by_role("slider", name=prose.load("attention").label("scaling_slider"))
    variance = re.search(r"q · k: ([\d.,]+) ±", said)
    entropy = re.search(r"ln 16: ([\d.]+) with, ([\d.]+) without", said)
    d, variance, divided, undivided = map(value_of, (slider.get_attribute("aria-valuetext").split()[-1],
                                                     *variance.groups(), *entropy.groups()))
    assert variance == pytest.approx(d, rel=0.15) and divided > 0.7 and undivided < (0.4 if d == 64 else 0.2)


@seen("A6")
def all_queries_at_once_as_matrices(page: Page) -> None:
    config, n = opening().model.config, len(opening().token_ids)
    shapes = [re.search(r"\[.*\]", caption)[0] for caption in
              page.locator(".st-key-attention_steps_instrument figcaption").all_inner_texts()]
    Q, K, A, V = (f"[{rows} × {columns}]" for rows, columns in
                  ((n, config.d_k), (config.d_k, n), (n, n), (n, config.d_v)))
    assert shapes == [Q, K, A, V, V]
    assert "+ mask" in page.locator(".st-key-attention_steps_instrument .detail").inner_text()


@seen("A40")
def lily_looks_at_itself_and_at_girl(page: Page) -> None:
    there = opening()
    x = there.trace.blocks[0].resid_pre[:13].double().numpy()
    powers = np.exp(x @ x[12] / x.shape[1] ** 0.5)
    alpha = powers / powers.sum()
    assert [there.tokens[j] for j in np.argsort(-alpha)[:2]] == ["·Lily", "·girl"] and alpha[12] > 0.5
    picture = page.locator(".st-key-attention_steps_instrument")
    assert value_of(picture.locator(".title").inner_text().split("=")[-1]) == pytest.approx(alpha[12], abs=6e-5)
    shown = [value_of(number) for number in picture.locator(".detail .term:not(.legend) b").all_inner_texts()]
    assert sum(shown) == pytest.approx(1, abs=1e-3) and any(abs(a - alpha[10]) < 6e-5 for a in shown)


@seen("A27")
def size_data_and_computing_have_a_law_each(page: Page) -> None:
    said = page.locator("strong", has_text="operations,").first.inner_text()
    joint = ((6.4e13 / 175e9) ** (0.076 / 0.103) + 1.8e13 / 300e9) ** 0.103
    assert "3.15" in said and pytest.approx(3.15e23) == 6 * 175e9 * 300e9 and f"{joint:.4f} nats" in said
    for law in ("parameters", "tokens", "compute"):
        page.locator(f".st-key-architectures_law_{law}").wait_for()


@seen("A28")
def the_parameters_of_gpt3_add_up(page: Page) -> None:
    numbers = page.locator(".st-key-lesson_numbers .katex-display annotation")
    numbers.nth(1).wait_for(state="attached")
    whole, rough = (line.replace("{,}", "").replace("\\,", "") for line in numbers.all_text_contents()[:2])
    parts, total = whole.split(" = ")
    assert sum(map(int, parts.split(" + "))) == int(total) and round(int(total) / 1e9, 1) == 174.6
    assert int(rough.split(" = ")[-1]) == 12 * 96 * 12_288 ** 2
