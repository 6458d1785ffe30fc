"""What the context keeps, on its page: its formulas and its questions against passes of the test's own."""
from __future__ import annotations

import math
import random

import numpy as np
import pytest
import torch

from tests.helpers.lessons import answer, fine
from tests.helpers.messages import formulas, numbers_in
from tests.helpers.predictions import told
from tests.pages.limits.test_limits import open_at
from tests.pages.limits.test_questions import run_of

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


def test_how_alike_the_vector_is_after_the_farthest_word_is_exchanged():
    found = told("limits", "context", 0.5, prompt=TEXT)
    assert found["answer"] == pytest.approx(cosines_and_kl(1)[0], abs=0.006)
