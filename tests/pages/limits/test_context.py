"""The page of the context: its formulas and its questions against passes of the test's own."""
from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.helpers.lessons import answer, fine
from tests.helpers.messages import formulas, numbers_in
from tests.helpers.predictions import told
from tests.pages.limits.test_limits import open_at
from tests.pages.limits.test_questions import run_of

ROOT = Path(__file__).parents[3]
TEXT = "The cat sat on the mat. The dog sat on the"


def cosines_and_kl(i: int) -> tuple[float, float]:
    """The means over four exchanges of token i, by traced passes."""
    there = run_of(TEXT)
    ids, before = list(there.token_ids), there.model(torch.tensor(there.token_ids))
    cosines, kl = [], []
    for other in random.Random(f"1 {i}").sample(sorted(set(ids[1:]) - {ids[i]}), 4):
        after = there.model(torch.tensor([*ids[:i], other, *ids[i + 1:]]))
        p, q = (trace.logits[-1].double().softmax(-1) for trace in (before, after))
        kl.append(float((p * (p / q).log()).sum()))
        cosines.append(float(torch.cosine_similarity(before.h_final[-1], after.h_final[-1], dim=0)))
    return float(np.mean(cosines)), float(np.mean(kl))


def test_the_page_says_what_passes_say():
    at = open_at(view="context", prompt=TEXT)
    assert fine(at)
    each = [cosines_and_kl(i) for i in range(1, len(run_of(TEXT).token_ids))]
    cosine, kl = min(each, key=lambda pair: pair[1])
    vector, text, crossing, exchange = formulas(at)
    assert numbers_in(exchange) == pytest.approx([kl, cosine], abs=2e-4)
    assert "= 4096" in vector and f"{12 * len(run_of(TEXT).token_ids):.4f}" in text
    assert numbers_in(crossing)[-1] == pytest.approx(4096 / 12, abs=1e-3)
    options = sorted({math.floor(4096 / 12) + 1, 256, 4096, 342 // 16})
    answer(at, "context", options.index(342))


def test_what_of_the_vector_changes_when_the_farthest_word_is_exchanged():
    found = told("limits", "context", 0, prompt=TEXT)
    changed, all_, angle = numbers_in(found["said"], whole=True)
    assert found["answer"] == 2 and changed > all_ / 2 and all_ == 256
    assert angle == pytest.approx(math.degrees(math.acos(cosines_and_kl(1)[0])), abs=0.06) and angle < 25


def test_the_vector_of_another_model_turns_far():
    prompt = "Once upon a time, there was a little girl named Lily. She had a red ball. One day, Lily lost her"
    found = told("limits", "context", 0, prompt=prompt, model="induction")
    assert found["answer"] == 3 and numbers_in(found["said"], whole=True)[-1] > 25


def test_what_a_probe_reads_is_told_as_it_was_recorded():
    kept = json.loads((ROOT / "assets" / "teaching" / "probe_runs.json").read_text())
    i = kept["distances"].index(2)
    at = open_at(view="context", trace="probe", probe_block="3", probe_back="2")
    share, commonest = kept["accuracy"][3][i], kept["commonest"][i]
    assert fine(at) and any(f"After block 3 a linear probe names the token 2 back in {100 * share:.1f}" in m.value
                            and f"would be right in {100 * commonest:.1f}" in m.value for m in at.markdown)
    right, bits, total = map(numbers_in, formulas(at))
    assert right[-1] == pytest.approx(round(share * kept["counted"]) / kept["counted"], abs=6e-5)
    assert bits[-1] == pytest.approx(kept["entropy"][i] - kept["bits"][3][i], abs=2e-3)
    assert total[-1] == pytest.approx(sum(kept["entropy"][1:]) - sum(kept["bits"][-1][1:]), abs=0.02)
    four = [row[kept["distances"].index(4)] for row in kept["accuracy"]]
    answer(at, "probe", four.index(max(four)))


def test_a_distance_between_two_that_were_measured_is_the_nearer_one():
    at = open_at(view="context", trace="probe", probe_back="9")
    assert fine(at) and any(" 8 back in " in m.value for m in at.markdown)
