"""Checks of the ideas that lead to Overview, Embeddings, Next token and Generation."""
from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from core.base import tables
from core.model.sampling import SamplingConfig, draw, truncate
from tests.browser.ideas import formulas, seen
from tests.claims.passes import opening, run, says
from tests.helpers.messages import numbers_in, value_of

PROMPTS = {idea.id: idea.place.settings.get("prompt") for idea in tables.ideas()}


def marks(page: Page, place: str, words: str) -> list[str]:
    """A screen reader's names of a chart's marks that begin with these words."""
    return [mark.get_attribute("aria-label") for mark in page.locator(f"{place} [aria-label^='{words}']").all()]


# ---- embeddings ------------------------------------------------------------------------------------------------------


@seen("A1")
def the_paths_of_a_word_part_from_one_row_of_E(page: Page) -> None:
    settings = next(idea.place.settings for idea in tables.ideas() if idea.id == "A1")
    one, other = (run(settings[name]).trace for name in ("prompt", "embeddings_other"))
    found = (re.match(r"depth: (\d+); cosine of A and B: ([\d.]+)", mark) for mark in
             marks(page, ".st-key-embeddings_alike", "depth:"))
    said = dict(match.groups() for match in found if match)
    ends = [trace.depths[-1][-1] for trace in (one, other)]
    assert float(said["0"]) == 1 and float(said[max(said)]) < 0.6
    assert float(said[max(said)]) == pytest.approx(float(torch.cosine_similarity(*ends, dim=0)), abs=1e-4)


@seen("B8")
def the_nearest_vector_is_of_a_word_used_alike_and_no_id_says_so(page: Page) -> None:
    there = opening()
    E = there.model.E
    [big] = there.tokenizer.encode(" big")
    cosines = torch.cosine_similarity(E, E[big], dim=-1)
    cosines[big] = -1
    nearest = int(cosines.argmax())
    title = page.locator(".st-key-embeddings_stage strong").first.inner_text()
    said = re.search(r"Nearest to (\S+) is (\S+): cosine (\d\.\d+)", title).groups()
    assert said[:2] == (there.tokenizer.visible(big), there.tokenizer.visible(nearest))
    assert float(said[2]) == pytest.approx(float(cosines[nearest]), abs=6e-4)
    names = {there.tokenizer.visible(int(i)) for i in cosines.topk(5).indices}
    assert names == {"·huge", "·large", "·small", "·bigger", "·tall"} and (big, nearest) == (431, 2515)
    assert f"E_{{{big}}} \\cdot E_{{{nearest}}}" in formulas(page)[0]


# ---- the whole model -------------------------------------------------------------------------------------------------


@seen("A10", "B12")
def as_many_numbers_leave_the_blocks_as_go_in(page: Page) -> None:
    there = run(PROMPTS["B12"] if "apples" in page.url else PROMPTS["A10"])
    said = page.locator(".st-key-overview_map .stage").first.text_content()
    rows = f"{len(there.token_ids)} × {there.model.config.d_model}"
    assert f"{rows} numbers go in, {rows} come out" in said and "TransformerBlock" in said
    assert said.count("Block ") >= there.model.config.n_layers


@seen("A14", "D10")
def the_whole_model_ends_on_a_word_with_its_probability(page: Page) -> None:
    there = run(PROMPTS["D10"] if "Tom" in page.url else PROMPTS["A14"])
    token, p = says(there)
    heard = page.locator(f".st-key-overview_map [aria-label*='expects {token}']").first.get_attribute("aria-label")
    assert value_of(re.search(r"\S+\s%$", heard)[0]) == pytest.approx(p, abs=6e-4)
    drawn = page.locator(".st-key-overview_map .stage").first.text_content()
    assert all(stage in drawn for stage in "①②③④")


# ---- the next token --------------------------------------------------------------------------------------------------


@seen("D6")
def the_logit_is_a_dot_product_and_the_probability_its_share_of_the_exponentials(page: Page) -> None:
    logit, _, share, *_ = page.locator(".st-key-lesson_numbers annotation").all_text_contents()
    u = opening().trace.logits[-1].double()
    assert numbers_in(logit)[-1] == pytest.approx(float(u.max()), abs=1e-3)
    assert numbers_in(share)[-1] == pytest.approx(float((u.max() - u.logsumexp(0)).exp()), abs=6e-5)


def spoken(page: Page, words: str) -> str:
    """The panel's words for a screen reader, once it says these: it waits for the hand to rest."""
    said = page.locator(".sampling-panel .twin.spoken")
    expect(said).to_contain_text(words)
    return said.text_content()


@seen("D4")
def xi_falls_into_the_interval_of_the_token_that_is_drawn(page: Page) -> None:
    said = spoken(page, "top-k 10 ")
    xi, token = re.search(r"ξ = ([\d.]+) draws “(\S+)”", said).groups()
    there = opening()
    kept = truncate(there.logits(), SamplingConfig(top_k=10))
    assert token == there.tokenizer.visible(int(kept.token_ids[draw(kept, float(xi))]))


@seen("A20")
def a_rare_word_is_drawn_where_xi_falls_behind_the_frequent_ones(page: Page) -> None:
    said = spoken(page, "ξ = 0.9000 draws")
    token, p = re.search(r"ξ = 0\.9000 draws “(\S+)”, which has (\S+\s%)", said).groups()
    there = run(PROMPTS["A20"])
    y = truncate(there.logits(), SamplingConfig())
    place = draw(y, 0.9)
    tail = page.locator(".sampling-panel .tail").inner_text()
    rank, mass, landed = re.search(r"past rank (\d+) hold ([\d.]+): (\d+) of 1,000", tail).groups()
    assert value_of(p) < 0.01 and place > int(rank) and token == there.tokenizer.visible(int(y.token_ids[place]))
    assert y.probs[int(rank)] < 0.01 and float(mass) == pytest.approx(y.probs[int(rank):].sum(), abs=6e-4)
    assert 0.3 < float(mass) < 0.4 and int(landed) == pytest.approx(1000 * float(mass), abs=60)


@seen("A22")
def top_p_keeps_few_tokens_of_a_peaked_context_and_many_of_a_flat_one(page: Page) -> None:
    kept = [int(re.search(r"p = 0\.9 alone: ([\d,]+) of", said)[1].replace(",", "")) for said in
            page.locator(".sampling-panel .verdict").all_inner_texts() if "p = 0.9" in said]
    assert kept == [truncate(run(text).logits(), SamplingConfig(top_p=0.9)).n_kept for text in
                    page.locator(".sampling-panel .context q").all_inner_texts()]
    assert max(kept) > 50 and min(kept) == 1


# ---- writing ---------------------------------------------------------------------------------------------------------


@seen("A15")
def what_is_drawn_stands_at_the_end_of_the_text(page: Page) -> None:
    tokens = page.locator(".written-text > *")
    before = tokens.count()
    page.locator(".st-key-generation_stage").locator("button", has_text="▶").click()
    expect(tokens).to_have_count(before + 1)


@seen("D5")
def a_text_ends_by_itself_and_another_seed_writes_another(page: Page) -> None:
    there, texts = run(PROMPTS["D5"]), {}
    for seed in (3, 4):
        text, ids = [], list(there.token_ids)
        while len(text) < 40 and (not text or text[-1] != there.tokenizer.end_of_text):
            p = there.model(torch.tensor(ids)).logits[-1].double().softmax(-1)
            kept, order = p.topk(40)
            n = int((kept.cumsum(0) < 0.9 * kept.sum()).sum()) + 1
            ends = (kept[:n] / kept[:n].sum()).cumsum(0)
            xi = int(10_000 * np.random.default_rng((seed, len(ids))).random()) / 10_000
            text.append(int(order[int((ends <= xi).sum())]))
            ids.append(text[-1])
        texts[seed] = list(map(there.tokenizer.visible, text))
    assert texts[3][-1] == "‹end›" and len(texts[3]) < 40 and texts[3] != texts[4]
    drawn = [title.rpartition(" · token ")[0] for title in page.locator(".written-text title").all_text_contents()]
    assert list(filter(None, drawn)) == texts[3]
    page.get_by_role("spinbutton", name="Seed").fill("4")
    page.get_by_role("spinbutton", name="Seed").press("Enter")
    expect(page.locator(".written-text")).to_contain_text(texts[4][0])


@seen("A19")
def greedy_text_comes_to_repeat_itself(page: Page) -> None:
    said = page.locator("svg.strategies title").all_text_contents()[:40]      # the first row, which is greedy
    tokens = [title.split(" · ")[0] for title in said]
    fours = [tuple(tokens[i:i + 4]) for i in range(len(tokens) - 3)]
    repeated = sum(four in fours[:i] for i, four in enumerate(fours)) / len(fours)
    assert repeated > 0.5 and sum("repeats" in title for title in said) > 20
    assert f"{repeated:.3f}" in page.locator("svg.strategies").text_content()


@seen("B2")
def the_counts_of_the_futures_lie_about_their_exact_probabilities(page: Page) -> None:
    reading = re.compile(r"(\S+) · (\d+) of 200 draws · probability (\S+\s%), expected ([\d.]+) ± ([\d.]+)")
    found = [reading.match(title) for title in
             page.locator("svg.futures-tree title, .futures-tree title").all_text_contents()]
    first = [match.groups() for match in found if match and match[1].count("·") == 1]
    probs = run(PROMPTS["B2"]).trace.probs[-1]
    assert len(first) >= 4 and sum(int(count) for _, count, *_ in first) <= 200
    kept = truncate(run(PROMPTS["B2"]).logits(), SamplingConfig(top_k=40, top_p=0.9))
    for token, count, p, expected, spread in itertools.islice(first, 4):
        exact = float(probs[run(PROMPTS["B2"]).tokenizer.encode(token.replace("·", " "))[0]]) / kept.kept_mass
        assert value_of(p) == pytest.approx(exact, abs=6e-4) and float(expected) == pytest.approx(200 * exact, abs=0.2)
        assert abs(int(count) - float(expected)) <= 4 * float(spread)
