"""Checks of the kinds of model and of the known models, idea by idea, in the lesson Architectures."""
from __future__ import annotations

import json
import math
import re
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from core.app.compute import cache
from core.app.state import prompts
from core.model.generation import translations
from core.model.intervention import Intervention
from core.training import tables
from core.training.teaching_text import DATA
from tests.browser.ideas import formulas, seen
from tests.browser.serving import settle
from tests.claims.passes import opening, run
from tests.helpers.messages import numbers_in, value_of

# as the papers print them: Raffel et al. 2020; Brown et al. 2020, table 2.2; Hoffmann et al. 2022, table A1 (Gopher and
# Chinchilla); Chowdhery et al. 2022, table 2; Touvron et al. 2023, table 1
MIXES = {"T5": [100], "GPT-3": [60 + 22, 8 + 8, 3], "Gopher": [48 + 10, 27, 10, 2, 3],
         "Chinchilla": [45 + 10, 30, 10, 1, 4], "PaLM": [27, 13, 1, 4, 5, 50],
         "LLaMA": [67 + 15, 4.5, 4.5, 4.5, 2.5, 2]}


def told(name: str) -> dict:
    """A file of assets/teaching."""
    return json.loads((DATA / f"{name}.json").read_text())


def headline(page: Page, words: str) -> str:
    """The view's bold sentence that holds these words."""
    return page.locator("strong", has_text=words).first.inner_text()


# ---- kinds of model --------------------------------------------------------------------------------------------------


def of_blank(sentence: str, hidden: str) -> tuple[float, int, float, int]:
    """p of a hidden token and its rank, from both sides by the encoder and from the left by the decoder."""
    said = []
    for name, mask in (("blanks", True), ("stories", False)):
        model = cache.shared_model(name, "cpu")
        ids = list(opening().tokenizer.encode(sentence))
        [true] = opening().tokenizer.encode(hidden)
        at = ids.index(true)
        row = [*model.tokenizer.begin, *ids] if mask else list(run("").token_ids) + ids
        at += len(row) - len(ids)
        if mask:
            row[at] = model.tokenizer.mask_token
        with torch.inference_mode():
            p = model.model(torch.tensor(row)).logits[at if mask else at - 1].double().softmax(-1)
        said += [float(p[true]), int((p > p[true]).sum()) + 1]
    return tuple(said)


@seen("B9", "B10")
def the_hidden_word_comes_first_from_both_sides_alone(page: Page) -> None:
    on_film = "film" in page.url
    both, first, left, rank = of_blank("The film was not boring." if on_film else
                                       "The little dog was very sad because he lost his bone.",
                                       " not" if on_film else " sad")
    rows = {side: page.locator(f".side.{side} tr.true").first for side in ("encoder", "decoder")}
    shown = {side: value_of(row.locator(".number").inner_text()) for side, row in rows.items()}
    assert shown == pytest.approx({"encoder": both, "decoder": left}, abs=6e-4)
    assert [int(rows[side].locator(".mark").first.inner_text().split(".")[-1]) for side in rows] == [first, rank]
    assert first == 1 and both > 3 * left and "[CLS]" in page.locator(".class").inner_text()
    loss = re.search(r"= ([\d.]+) nats", page.locator(".blank-picture .objective").inner_text())
    assert value_of(loss[1]) == pytest.approx(-math.log(both), abs=6e-3)
    assert page.locator(".side.encoder .sure").count() > 3 and not page.locator(".side.decoder .sure").count()


def written(name: str = "translator", text: str = "the twenty-first of march nineteen eighty-four"
            ) -> tuple[list[str], list[str], np.ndarray]:
    """The source and what a model writes for it, the lesson's date at first, and the cross-attention (L, h, N, M) while
    it is written.
    """
    model = cache.shared_model(name, "cpu")
    source = tuple(model.tokenizer.encode(text))
    with torch.inference_mode():
        [(_, target)] = translations(model.model, [source], 40)
        ids = torch.tensor([model.model.config.first_token, *target[:-1]])
        trace = model.model(ids, source_ids=torch.tensor(source))
    patterns = np.stack([block.cross.pattern.numpy() for block in trace.blocks])
    return [model.tokenizer.visible(i) for i in source], [model.tokenizer.visible(i) for i in target], patterns


@seen("B11")
def three_squares_of_three_shapes(page: Page) -> None:
    source, target, patterns = written()
    shapes = re.findall(r"= \[(\d+) × (\d+)\]", page.locator(".architecture_translate .picks").inner_text())
    m, n = str(len(source)), str(len(target))
    assert sorted(shapes) == sorted([(m, m), (n, m), (n, n)])
    row = patterns[1].mean(0)[0]
    said = page.locator(".architecture_translate .title").first.inner_text()
    assert value_of(said.split()[-1]) == pytest.approx(float(row.max()), rel=0.01)
    assert source[int(row.argmax())] in said and target[0] in said and "nineteen" in source[int(row.argmax())]


@seen("B23")
def the_sentence_says_every_value_of_a_new_row(page: Page) -> None:
    row = tables.parsed(dict(parse_qsl(urlsplit(page.url).query))["architectures_translate_text"])
    _, target, _ = written("restaurants", tables.in_a_row(row).text)
    tokens = page.locator(".tokens-row.target .written:not(.later)")
    assert tables.is_held_out(row) and tokens.locator(".chip").all_text_contents() == target
    assert not tables.unsaid(row, " ".join(target).replace("·", ""))
    first, *later = map(value_of, tokens.locator("small").all_text_contents())
    assert first == pytest.approx(0.25, abs=0.05) and min(later) > 0.99
    expect(page.locator(".architecture_translate .verdict")).to_contain_text("every value is said")


@seen("C9")
def the_parts_of_the_date_look_at_their_words(page: Page) -> None:
    source, target, patterns = written()
    looked = [source[int(row.argmax())] for row in patterns[1, 0]]
    assert [looked[i] for i in (1, 2, 3, 6, 8, 9)] == ["·nineteen", "·eighty", "four", "·march", "·twenty", "first"]
    said = page.locator(".architecture_translate .title").first.inner_text()
    assert re.search(rf"{target[8]}\s+is written,\s+·twenty", said)
    assert value_of(said.split()[-1]) == pytest.approx(float(patterns[1, 0, 8].max()), rel=0.01)


def card(page: Page, kind: str) -> str:
    """The words on a kind's card."""
    return " ".join(page.locator(f".architecture_masks .card.{kind}").inner_text().split())


def after(intervention: Intervention) -> tuple[str, float, float]:
    """The likeliest next token of the opening prompt under a change, its probability, and KL from the unchanged one."""
    p, q = (opening().trace_with(one).logits[-1].double().log_softmax(-1) for one in (Intervention(), intervention))
    return opening().tokenizer.visible(int(q.argmax())), float(q.max().exp()), float((p.exp() * (p - q)).sum())


@seen("B25")
def three_squares_and_what_each_kind_is_for(page: Page) -> None:
    n = len(opening().token_ids)
    triangle = int(np.tri(n).sum())
    source = n // 2
    both = triangle + int((1 - np.tri(source)).sum())
    for kind, cells, names in (("encoder", n * n, "BERT, RoBERTa"), ("decoder", triangle, "GPT-3, LLaMA 2"),
                               ("encoder-decoder", both, "T5, BART")):
        said = card(page, kind)
        assert f"{cells} of {n * n} cells" in said and names in said
        assert all(row in said for row in ("sees", "writes", "learns from", "pro", "con"))
    token, p, kl = after(Intervention(mask="bidirectional"))
    found = re.search(r"says here (\S+) (\S+ %) ?KL (\S+)", card(page, "encoder")).groups()
    assert found[0] == token and list(map(value_of, found[1:])) == pytest.approx([p, kl], rel=0.01, abs=6e-4)


@seen("C31")
def the_corner_grows_and_the_next_token_moves(page: Page) -> None:
    n = len(opening().token_ids)

    def held(prefix: int) -> None:
        seen_by = np.tri(n, dtype=bool)
        seen_by[:, :prefix] = True
        _, p, kl = after(Intervention(allowed=tuple(map(tuple, seen_by.tolist()))))
        expect(page.locator(".architecture_masks .card.prefix")).to_contain_text(f"{seen_by.sum()} of {n * n} cells")
        found = re.search(r"says here \S+ (\S+ %) ?KL (\S+)", card(page, "prefix")).groups()
        assert list(map(value_of, found)) == pytest.approx([p, kl], rel=0.01, abs=6e-4)

    held(13)
    page.locator(".st-key-architectures_stage").get_by_role("slider", name=re.compile("^M of")).press("ArrowRight")
    settle(page)
    held(14)


# ---- known models ----------------------------------------------------------------------------------------------------


def circles(page: Page) -> dict[str, tuple[float, float, str]]:
    """The circles of the timeline: the model's name, and the place in pixels and the fill."""
    found = page.locator(".st-key-architectures_timeline .mark-symbol path").evaluate_all(
        "(marks) => marks.map((mark) => [mark.ariaLabel, mark.getAttribute('transform'), mark.getAttribute('fill')])")
    return {said.split(":")[0]: (*map(float, re.findall(r"[-\d.]+", place)), fill) for said, place, fill in found}


@seen("C19")
def what_is_not_published_has_a_lane_of_its_own(page: Page) -> None:
    models, drawn = {row["name"]: row for row in told("models")["models"]}, circles(page)
    assert set(drawn) == set(models) and len(drawn) > 55
    lane = {name for name, row in models.items() if row["billions"] is None}
    assert lane == {"GPT-4", "PaLM 2", "ChatGPT"} and models["Flan-U-PaLM"]["billions"] == models["PaLM"]["billions"]
    lowest = max(y for name, (_, y, _) in drawn.items() if name not in lane)
    assert {y for name, (_, y, _) in drawn.items() if name in lane} == {drawn["GPT-4"][1]}
    assert drawn["GPT-4"][1] > lowest + 10
    decade = drawn["GPT"][1] - drawn["Codex"][1]                    # 0.117 and 12 billion
    assert drawn["GPT"][1] - drawn["GLaM"][1] == pytest.approx(
        decade * math.log(1200 / 0.117) / math.log(12 / 0.117), rel=0.01)
    fills = {access: {drawn[name][2] for name, row in models.items() if row["access"] == access}
             for access in ("open", "closed")}
    assert not fills["open"] & fills["closed"]


@seen("A43")
def layers_grow_from_twelve_to_ninety_six_and_more(page: Page) -> None:
    layers = {row["name"]: row["layers"] for row in told("models")["models"] if row.get("layers")}
    drawn = circles(page)
    assert set(drawn) == set(layers) and (layers["GPT"], layers["GPT-3"]) == (12, 96)
    above = {name for name in drawn if drawn[name][1] < drawn["GPT-3"][1] - 1}
    assert above == {name for name in layers if layers[name] > 96} and len(above) == 2
    small, large = (numbers_in(line)[-1] for line in formulas(page)[:2])
    assert (small, large) == (pytest.approx(12 * 12 * 768 ** 2), pytest.approx(12 * 96 * 12288 ** 2))


@seen("A35")
def contexts_stand_on_a_few_lines(page: Page) -> None:
    contexts = {row["name"]: row["context"] for row in told("models")["models"] if row.get("context")}
    drawn = circles(page)
    assert set(drawn) == set(contexts)
    heights = {n: {round(drawn[name][1], 3) for name in contexts if contexts[name] == n} for n in contexts.values()}
    assert all(len(places) == 1 for places in heights.values()) and sorted(heights) == [512, 1024, 2048, 4096, 8192]
    steps = np.diff([min(heights[n]) for n in sorted(heights)])
    assert steps == pytest.approx(np.full(4, steps[0]), abs=0.01) and steps[0] < 0
    for name, n in (("GPT-2", 1024), ("GPT-3", 2048), ("LLaMA 2", 4096)):
        assert contexts[name] == n, "the three of lecture A"


@seen("C32")
def a_pressed_model_lights_the_line_it_came_by(page: Page) -> None:
    boxes = page.locator(".architecture_family .member")
    assert boxes.locator("b").all_inner_texts() == [
        "GPT-1", "GPT-2", "GPT-3", "Codex", "InstructGPT", "code-davinci-002", "text-davinci-002", "text-davinci-003",
        "ChatGPT", "GPT-4"]
    page.locator(".architecture_family .member", has_text="code-davinci-002").click()
    settle(page)
    lit = page.locator(".architecture_family .member.lit b").all_inner_texts()
    assert lit == ["GPT-1", "GPT-2", "GPT-3", "Codex", "code-davinci-002"]
    assert "blend of text and code" in page.locator(".architecture_family .said").inner_text()
    assert page.locator(".architecture_family path.branch").count() == 12
    assert page.locator(".architecture_family path.branch.guessed").count() == 6


@seen("A29")
def code_is_a_small_part_of_every_mix(page: Page) -> None:
    bars = page.locator(".st-key-architectures_mixes .mark-rect path")
    wide, said = [bar.bounding_box()["width"] for bar in bars.all()], [bar.get_attribute("aria-label")
                                                                      for bar in bars.all()]
    shares = [share / sum(mix) for mix in MIXES.values() for share in mix]
    whole = sum(wide) / len(MIXES)
    assert [one / whole for one in wide] == pytest.approx(shares, abs=0.01)
    code = {bar: share for bar, share in re.findall(r"bar: ([^;]+); part: code;.*?: ([\d.]+) %", "\n".join(said))}
    assert code == {"Gopher": "3", "Chinchilla": "4", "PaLM": "5", "LLaMA": "4.5"}


@seen("A44")
def eight_heads_end_left_of_one(page: Page) -> None:
    losses = {row["variant"]: row["losses"] for row in told("modification_runs")["runs"]}
    base = np.array(losses["baseline"])
    assert max(losses["eight_heads"]) < min(losses["one_head"])
    assert np.mean(losses["eight_heads"]) < base.mean() - 2 * base.std(ddof=1)
    chart = page.locator(".st-key-architectures_modifications")
    at = {name: [float(dot.get_attribute("aria-label").partition("nats: ")[2].partition(";")[0])
                 for dot in chart.locator(f"path[aria-label*='variant: {name}'][aria-label*='kind']").all()]
          for name in ("one head", "eight narrow heads")}
    assert [len(found) for found in at.values()] == [4, 4] and max(at["eight narrow heads"]) < min(at["one head"])


@seen("C18")
def most_changes_lie_in_the_band_of_the_baseline(page: Page) -> None:
    losses = {row["variant"]: row["losses"] for row in told("modification_runs")["runs"]}
    base = np.array(losses.pop("baseline"))
    low, high = base.mean() - 2 * base.std(ddof=1), base.mean() + 2 * base.std(ddof=1)
    means = [np.mean(values) for values in losses.values()]
    said = headline(page, "modifications")
    counts = [len(means), sum(low <= mean <= high for mean in means), sum(mean < low for mean in means),
              sum(mean > high for mean in means)]
    assert list(map(int, re.findall(r"\d+", said))) == counts and counts[1] > counts[0] / 2
    assert "Narang et al." in page.locator(".st-key-lesson_explanation").inner_text()


@seen("C21")
def another_curve_moves_the_next_token(page: Page) -> None:
    picture = " ".join(page.locator(".architecture_curves").inner_text().split())
    gelu, swish = -0.5 * (1 - math.erf(2 ** -0.5)), -1 / (1 + math.e)
    assert f"ReLU 0.0000 0.0000 GELU (this model) −{-gelu:.4f}" in picture and f"β = 1 −{-swish:.4f}" in picture
    p, q = (run(prompts.default_prompt()).trace_with(one).logits[-1].double().log_softmax(-1)
            for one in (Intervention(), Intervention(activation="relu")))
    kl = value_of(re.search(r"GELU 0 \S+ \S+ % ReLU (\S+)", picture)[1])
    assert kl == pytest.approx(float((p.exp() * (p - q)).sum()), rel=0.01) and kl > 0.5


@seen("C33")
def a_hundred_steps_suffice_after_pretraining(page: Page) -> None:
    history = told("tuning_runs")["runs"]["tuned feeling"]["history"]
    said = headline(page, "held-out answers")
    before, now = map(value_of, re.search(r"their loss fell from (\S+) to (\S+) nats", said).groups())
    assert [before, now] == pytest.approx([history[0]["held_out"], history[-1]["held_out"]], rel=0.01)
    assert (history[-1]["step"], history[-1]["right"]) == (100, 1.0) and re.search(r"\b100\s% of the held-out", said)
    assert before > 1000 * now
    control = told("tuning_runs")["runs"]["scratch feeling"]["history"]
    assert control[-1]["step"] == 100 and round(24 * control[-1]["right"]) == 24 - 4
    drawn = page.locator(".st-key-training_tuning_losses").inner_text()
    assert "pretrained: 24 of 24 right" in drawn and "random weights: 20 of 24 right" in drawn
