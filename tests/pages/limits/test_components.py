"""Each component of each word vector: the slope of ln p against a finite difference of the test's own."""
from __future__ import annotations

import pytest
import torch

from tests.helpers.lessons import fine
from tests.helpers.messages import formulas, given, numbers_in
from tests.pages.limits.test_limits import open_at
from tests.pages.limits.test_questions import run_of

TEXT = "The cat sat on the mat. The dog sat on the"


@pytest.mark.parametrize("token, component", [(3, 7), (11, 200)])
def test_the_slope_is_that_of_a_finite_difference(token, component):
    at = open_at(view="inputs", detail="components", prompt=TEXT, token=str(token), component=str(component))
    assert fine(at)
    there = run_of(TEXT)
    model, x = there.model, there.model.embed(torch.tensor(there.token_ids)).detach()
    target = int(there.trace.logits[-1].argmax())

    def log_p(step: float) -> float:
        moved = x.clone()
        moved[token, component] += step
        with torch.no_grad():
            return float(model.logits_of_embeddings(moved).double().log_softmax(-1)[target])

    slope, difference, total = formulas(at)
    by_hand = (log_p(0.02) - log_p(-0.02)) / 0.04
    assert numbers_in(slope)[-1] == pytest.approx(by_hand, abs=3e-3)
    assert numbers_in(difference)[-1] == pytest.approx(by_hand, abs=3e-3)
    one, others, whole = numbers_in(total)[-3:]
    assert one + others == pytest.approx(whole, abs=2e-4)
    header = given(at, "limits_components")
    assert header["tokens"] == there.tokens and header["d"] == 256
