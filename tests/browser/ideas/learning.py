"""Checks of the ideas that lead to Training, and of the norm and the path of the residual stream."""
from __future__ import annotations

import json
import math
import re

import pytest
import torch
from playwright.sync_api import Page

from core.training.teaching_text import DATA
from tests.browser.ideas import seen
from tests.claims.passes import opening
from tests.helpers.messages import value_of

STEP = re.compile(r"after (\S+) the model says (\S+) \((.+)\); the true next token is (\S+) \((.+)\), and its loss is "
                  r"(.+)$")


def steps(page: Page) -> list[tuple[str, ...]]:
    """Each place of the text: the token read, the model's guess, its probability, the true token, its p and its loss.
    """
    found = [STEP.search(title) for title in page.locator(".forcing-chart title").all_text_contents()]
    return [match.groups() for match in found if match]


@seen("A23")
def the_loss_of_each_place_is_the_surprisal_of_the_true_token(page: Page) -> None:
    losses = [(value_of(p), value_of(loss)) for *_, p, loss in steps(page)]
    assert len(losses) == 12 and all(p == pytest.approx(math.exp(-loss), rel=0.02, abs=6e-4) for p, loss in losses)
    said = page.locator(".st-key-training_stage strong").first.inner_text()
    mean = sum(loss for _, loss in losses) / len(losses)
    assert float(re.search(r"mean loss of ([\d.]+) nats", said)[1]) == pytest.approx(mean, abs=0.02)


@seen("A24")
def the_true_token_is_read_next_whatever_the_model_says(page: Page) -> None:
    rows = steps(page)
    assert all(after[0] == before[3] for before, after in zip(rows, rows[1:]))
    assert any(said != true for _, said, _, true, *_ in rows)


@seen("A26")
def documents_share_a_row_with_a_mark_between_them(page: Page) -> None:
    reads = [re.match(r"Row (\d+), place (\d+): the model reads (\S+)", title) for title in
             page.locator(".packing_rows title, .packing_rows [title]").evaluate_all(
                 "(nodes) => nodes.map((node) => node.getAttribute('title') ?? node.textContent)")]
    inner = [match.groups() for match in reads if match and match[3] == "‹end›" and match[2] != "1"]
    assert inner, "a document begins within a row, after the mark of an end"


@seen("B18")
def the_loss_falls_by_gradient_descent(page: Page) -> None:
    heard = page.locator(".st-key-training_loss [aria-label^='steps: ']").evaluate_all(
        "(marks) => marks.map((mark) => mark.ariaLabel)")
    found = [re.match(r"steps: ([\d,]+); nats a token: ([\d.]+); +(?:line)?: new rows", said) for said in heard]
    losses = dict((int(match[1].replace(",", "")), float(match[2])) for match in found if match)
    axis = page.locator(".st-key-training_loss [aria-label*='for a linear scale with values from 0 to']").last
    top = float(re.search(r"'nats a token' .* to ([\d.]+)", axis.get_attribute("aria-label"))[1])
    assert losses[0] == pytest.approx(math.log(294), abs=0.1) and losses[max(losses)] < 1.1 < losses[0] < top + 0.5


@seen("C24", "C25")
def a_tuning_moves_what_is_held_out_and_has_its_price(page: Page) -> None:
    runs = json.loads((DATA / "tuning_runs.json").read_text())["runs"]
    kind = "aligned happy" if "stage=aligned" in page.url else "tuned instructions"
    first, last = (runs[kind]["history"][k] for k in (0, -1))
    said = page.locator(".st-key-training_stage strong", has_text="own texts went").first.inner_text()
    old = re.search(r"own texts went from ([\d.]+) to (\d+\.\d+)", said).groups()
    assert [float(value) for value in old] == pytest.approx([first["old"], last["old"]], abs=6e-3)
    assert f"{100 * last['right']:.0f}" in said and last["old"] > first["old"]
    assert "tuned" not in kind or last["held_out"] == pytest.approx(first["held_out"] / 5, rel=0.1)


@seen("D1")
def the_same_six_phases_stand_for_the_planet_and_for_the_model(page: Page) -> None:
    said = page.locator(".st-key-training_stage").inner_text()
    assert all(f"{k} {name}" in said for k, name in enumerate(
        ("Architecture", "Parameters", "Data", "Training", "Testing", "Inference"), 1))
    assert f"{sum(p.numel() for p in opening().model.parameters()):,}" in said and "Ellipse, 7 numbers" in said


@seen("B16")
def a_norm_takes_out_mean_and_deviation(page: Page) -> None:
    said = page.locator(".st-key-residual_stream_stage strong").first.inner_text()
    mean, deviation = map(value_of, re.search(r"mean μ = (\S+), deviation σ = (\S+)\.", said).groups())
    x = opening().trace.blocks[0].resid_pre[-1].double()
    layers = [block.resid_pre[-1].double() for block in opening().trace.blocks]
    assert any(float(v.mean()) == pytest.approx(mean, rel=0.01) and
               float(v.std(correction=0)) == pytest.approx(deviation, rel=0.01) for v in [x, *layers])
    assert value_of(re.search(r"from \S+ to (\S+);", said)[1]) == pytest.approx(len(x) ** 0.5, rel=0.01)


@seen("C11")
def without_the_path_all_tokens_become_alike(page: Page) -> None:
    heard = page.locator(".st-key-residual_stream_cut_lines [aria-label^='after how many']").evaluate_all(
        "(marks) => marks.map((mark) => mark.ariaLabel)")
    found = [re.match(r"after how many blocks: (\d+); mean cosine between tokens: ([\d.]+); [^:]*: (with[^;]*)", said)
             for said in heard]
    last = {match[3]: float(match[2]) for match in found if match and match[1] == "6"}
    assert last["without it"] > 0.9 > last["with the path"]


@seen("C12")
def one_norm_reads_a_row_and_the_other_a_column(page: Page) -> None:
    row, column, _ = page.locator(".st-key-lesson_numbers annotation").all_text_contents()
    mean, deviation = map(float, re.findall(r"= ([-\d.]+)", row))
    rows = torch.stack([block.resid_pre[-1].double() for block in opening().trace.blocks])
    assert (rows.mean(-1) - mean).abs().min() < 1e-4 and (rows.std(-1, correction=0) - deviation).abs().min() < 1e-3
    assert column != row and page.locator(".st-key-residual_stream_matrix_tokens").count() == 1


@seen("C23")
def a_schedule_rises_and_falls_as_its_settings_say(page: Page) -> None:
    heard = page.locator(".st-key-training_schedule [aria-label^='% of the run: ']").evaluate_all(
        "(marks) => marks.map((mark) => mark.ariaLabel)")
    rates = re.findall(r"^% of the run: ([\d.]+); learning rate η: ([\d.e−-]+);.*: (.+)$", "\n".join(heard), re.M)
    assert len({name for _, _, name in rates}) == 1 + 12
    drawn = {float(x): float(y.replace("−", "-")) for x, y, name in rates if name == "GPT-3 (175B)"}
    peak = max(drawn.values())
    assert drawn[min(drawn)] < 0.1 * peak and drawn[max(drawn)] == pytest.approx(0.1 * peak, rel=0.05)
    told = page.locator(".st-key-training_facts").inner_text()
    assert peak == pytest.approx(6e-5, rel=0.01)
    assert all(f"{name}: " in told for name in ("Tokens a step", "Warm-up", "Weight decay", "Gradient clipped at"))


def listed_words(text: str) -> int:
    """The rule of RLHF, counted anew: +1 for a happy word at its first place, −1 for every other listed one."""
    lists = json.loads((DATA / "tuning.json").read_text())
    words = [word for word in re.findall(r"[a-z]+", text.lower()) if word in lists["happy"] + lists["sad"]]
    return sum(1 if word in lists["happy"] and word not in words[:i] else -1 for i, word in enumerate(words))


@seen("C41")
def the_reward_rises_while_the_rule_falls(page: Page) -> None:
    kept = json.loads((DATA / "rlhf_runs.json").read_text())["policies"]["0.0"]
    heard = page.locator(".st-key-training_rlhf_reward [aria-label^='steps: ']").evaluate_all(
        "(marks) => marks.map((mark) => mark.ariaLabel.replace('−', '-'))")
    found = [re.match(r"steps: ([\d,]+); [^:;]*: (-?[\d.]+); +(?:line)?: ([^;]+)", said) for said in heard]
    ends = {match[3]: float(match[2]) for match in found if match and match[1] == "60"}
    reward, rule = ends["reward model r"], ends["the rule"]
    assert (reward, rule) == pytest.approx((kept[-1]["reward"], kept[-1]["value"]), abs=0.02)
    assert reward > kept[0]["reward"] + 1 and rule < kept[0]["value"] - 0.5
    rows = [row.split("\t") for row in page.locator("[class*=training_rlhf_table] tbody tr").all_inner_texts()]
    assert len(rows) >= 3 and all(listed_words(text.split("…", 1)[1]) == value_of(value) for text, _, value in rows)


@seen("C42")
def collections_from_data_sets_lie_to_the_right(page: Page) -> None:
    rows = [row.split("\t") for row in (DATA / "instructions.tsv").read_text().splitlines()[1:]]
    sizes = {name: (built, int(n)) for name, built, _, n, _ in rows}
    heard = page.locator(".st-key-training_collections [aria-label*='instances: ']").evaluate_all(
        "(marks) => marks.map((mark) => mark.ariaLabel)")
    drawn = {match[2]: float(match[1].replace(",", "")) for said in heard
             if (match := re.search(r"instances: ([\d,]+); name: ([^;]+)", said))}
    assert drawn == {name: n for name, (_, n) in sizes.items()} and len(drawn) == 17
    assert (min(n for built, n in sizes.values() if built == "datasets")
            > max(n for built, n in sizes.values() if built == "people"))
    share = sum(n for built, n in sizes.values() if built == "datasets") / sum(n for _, n in sizes.values())
    assert f"{100 * share:.1f}" == "98.5" and "98.5" in page.locator(".st-key-training_stage strong").first.inner_text()


@seen("C43")
def a_row_fills_a_template_and_a_text_like_another_is_struck_off(page: Page) -> None:
    row, template, instance = page.locator(".training_cards .card").all()
    fields = dict(line.split(": ", 1) for line in row.locator(".line").all_inner_texts())
    prompt, answer = (line.inner_text() for line in template.locator(".line").all())
    read, learned = (line.inner_text() for line in instance.locator(".line").all())
    assert (prompt.format(**fields), answer.format(**fields)) == (read, learned)
    assert instance.locator(".answer").all_inner_texts() == [fields["label"]]
    page.locator(".st-key-training_built_widget").get_by_text("by a model", exact=True).click()
    page.locator(".training_cards .line.dropped").first.wait_for()
    lines = page.locator(".training_cards .card").last.locator(".line")
    overlaps = [(float(line.locator(".note").inner_text()), "kept" in line.get_attribute("class"))
                for line in lines.all()]
    assert len(overlaps) == 6 and all(kept == (overlap < 0.7) for overlap, kept in overlaps)


@seen("C45")
def four_tasks_are_rows_and_a_layer_reads_the_last_vector(page: Page) -> None:
    lines = page.locator(".training_cards .card").first.locator(".line")
    names = [name.strip() for name in lines.locator(".name").all_inner_texts()]
    assert [name for name in names if name] == ["classification", "entailment", "similarity", "multiple choice"]
    assert len(names) == 6 and all("extract" in line.locator(".chip").last.get_attribute("class")
                                   for line in lines.all())
    head, text = page.locator(".training_cards .card").last, page.get_by_placeholder("Lily lost her ball")
    assert text.input_value() == "" and "24 of 24 others are right" in head.inner_text()
    u = [value_of(each.removeprefix("u = ")) for each in head.locator(".number").all_inner_texts()[1:]]
    said = re.search(r"says (\w+): ([\d.]+)\s%", page.locator(".st-key-training_stage strong").first.inner_text())
    assert said[1] == "negative" and float(said[2]) == pytest.approx(100 / (1 + math.exp(u[0] - u[1])), abs=0.01)
    text.fill("Lily found her ball")
    text.press("Enter")
    page.locator(".st-key-training_stage strong", has_text="says positive").wait_for()
