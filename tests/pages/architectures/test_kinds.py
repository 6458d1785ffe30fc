"""Kinds of model: the masks by hand, what each makes of the next token against a pass with a mask of one's own, and the
numbers that the page says of them.
"""
import re

import numpy as np
import pytest
import torch

from core.figures.numbers import percent
from core.model import attention, masks
from core.model.intervention import Intervention
from pages.architectures import kinds
from tests.claims.passes import opening
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import formulas, given, value_of
from tests.helpers.predictions import ask, commit, statements

N = 26      # tokens of the opening prompt


def test_a_prefix_mask_by_hand():
    assert masks.prefix_mask(4, 2).int().tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert torch.equal(masks.prefix_mask(5, 0), attention.causal_mask(5, 5)) and masks.prefix_mask(5, 5).all()
    assert torch.equal(masks.prefix_mask(5, 1), attention.causal_mask(5, 5)), "one token sees itself anyway"


@pytest.mark.parametrize("n, prefix", [(3, 0), (7, 3), (7, 7)])
def test_the_cells_of_the_four_masks(n: int, prefix: int):
    place = np.arange(n)
    left, right = place[:, None] >= place, place[:, None] < place
    assert (kinds.cells("encoder", n, prefix) == kinds.LEFT * left + kinds.RIGHT * right).all()
    assert (kinds.cells("decoder", n, prefix) == kinds.LEFT * left).all()
    corner = right & (place < prefix)
    assert (kinds.cells("prefix", n, prefix) == kinds.LEFT * left + kinds.RIGHT * corner).all()
    two = kinds.cells("encoder-decoder", n, prefix)
    assert ((two > 0) == (kinds.cells("prefix", n, prefix) > 0)).all(), "cell by cell the same"
    assert (two == kinds.CROSS).sum() == (n - prefix) * prefix


def test_targets_by_hand():
    assert [kinds.targets(kind, 20, 8) for kind in kinds.KINDS] == [3, 19, 12, 12]
    assert kinds.targets("prefix", 20, 0) == 19 and kinds.targets("encoder", 4, 0) == 1


@pytest.mark.parametrize("prefix", [2, 13, N])
def test_the_page_says_what_a_pass_with_ones_own_mask_says(prefix: int):
    at = open_at("architectures", architectures_view="kinds", architectures_prefix=str(prefix))
    assert fine(at)
    cards = {card["id"]: card for card in given(at, "architecture_masks")["kinds"]}
    seen = np.tri(N, dtype=bool)
    seen[:, :prefix] = True
    mine = opening().trace_with(Intervention(allowed=tuple(map(tuple, seen.tolist()))))
    p, q = (trace.logits[-1].double().log_softmax(-1) for trace in (opening().trace, mine))
    kl = float((p.exp() * (p - q)).sum())
    assert value_of(cards["prefix"]["next"]["kl"]) == pytest.approx(kl, rel=0.01)
    assert value_of(cards["prefix"]["next"]["p"]) == pytest.approx(float(q.max().exp()), rel=0.01)
    assert cards["decoder"]["next"]["own"] and not cards["encoder"]["next"]["own"]
    assert cards["encoder-decoder"]["next"] is None
    assert cards["prefix"]["open"].startswith(f"{seen.sum()} of {N * N}")
    open_cells, divergence, *losses = formulas(at)
    assert list(map(int, re.findall(r"= (\d+)", open_cells))) == [N * N, N * (N + 1) // 2, seen.sum()]
    assert float(divergence.split("= ")[-1]) == pytest.approx(kl, abs=5e-4)
    ids = torch.tensor(opening().token_ids[1:prefix])
    own, under = (float(-trace.logits[:prefix - 1].double().log_softmax(-1)[torch.arange(prefix - 1), ids].mean())
                  for trace in (opening().trace, mine))
    assert list(map(float, losses[0].split(r" \;\to\; "))) == pytest.approx([own, under], abs=5e-4)


def test_a_text_of_two_tokens_cannot_be_cut():
    at = open_at("architectures", architectures_view="kinds", prompt="Tom")
    assert fine(at) and any("too short" in info.value for info in at.info)


def test_the_probability_that_is_left_is_asked_and_told():
    at = ask("architectures", "kinds", architectures_prefix="20")
    shown = commit(at, "architectures", "kinds", 0)
    seen = np.tri(N, dtype=bool)
    seen[:, :20] = True
    top = int(opening().trace.logits[-1].argmax())
    p = float(opening().trace_with(Intervention(allowed=tuple(map(tuple, seen.tolist())))).logits[-1].double()
              .softmax(-1)[top])
    ratio = p / float(opening().trace.probs[-1].double()[top])
    assert ratio != 1 and shown["answer"] == 1 + (ratio >= 0.8) + (ratio >= 1.25) and shown["said"] == percent(p)
    assert shown["true"] == statements("architectures", "kinds")[0]
