"""One matrix for queries and keys, and the bow of the feed-forward part, as their pages show them: computed again by
numpy from the model's weights, in several states of their settings.
"""
from __future__ import annotations

import functools

import numpy as np
import pytest
import torch

from core.analysis import symmetries
from core.figures.numbers import percent
from tests.helpers import lessons
from tests.helpers.messages import formulas, numbers_in
from tests.pages.attention.test_steps import ids_of, loaded

opened = functools.partial(lessons.opened, "attention", prompt=None)


@pytest.mark.parametrize("name", ["stories", "positions-alibi"])
def test_the_matrix_gives_every_product_and_has_the_rank_of_a_head(name):
    model, trace = loaded(name).model, loaded(name).model(ids_of(name))
    for layer, head in ((0, 1), (1, 2)):
        M = symmetries.score_matrix(model.blocks[layer], head).numpy()
        x = np.pad(trace.blocks[layer].X.double().numpy(), ((0, 0), (0, 1)), constant_values=1)
        products = trace.blocks[layer].Q[head].double() @ trace.blocks[layer].K[head].double().T
        assert np.allclose(x @ M @ x.T, products, atol=1e-3)
        assert np.linalg.matrix_rank(M) == model.config.d_k


@pytest.mark.parametrize("layer, head, position", [(5, 6, 25), (0, 0, 3), (3, 5, 12)])
def test_the_two_parts_add_up_to_the_product(layer, head, position):
    at = opened({"view": "roles", "roles_part": "product"}, layer=str(layer), head=str(head), position=str(position))
    block = loaded().model(ids_of()).blocks[layer]
    j = int(block.pattern[head, position].argmax())
    own, biases, both = (numbers_in(line.split("=")[-1])[-1] for line in formulas(at)[:3])
    assert own + biases == pytest.approx(both, abs=1e-3)
    assert both == pytest.approx(float(block.Q[head, position] @ block.K[head, j]), abs=1e-3)
    assert f"rank {loaded().model.config.d_k}, " in at.markdown[[m.value.startswith("**Head") for m in
                                                                at.markdown].index(True)].value


@pytest.mark.parametrize("layer, position, other", [(2, 25, 18), (0, 5, 3), (5, 12, 10)])
def test_the_half_mixture_is_no_average_of_the_outputs(layer, position, other):
    at = opened({"view": "averages", "average_part": "bend", "bend_other": str(other)}, layer=str(layer),
                position=str(position))
    model, block = loaded().model, loaded().model(ids_of()).blocks[layer]
    with torch.no_grad():
        z = model.blocks[layer].mlp_norm(block.resid_mid, model.config.norm)
        mixtures = torch.stack([z[position], z[other], (z[position] + z[other]) / 2])
        first, last, half = model.blocks[layer].feed_forward(mixtures)["mlp_out"].double()
    average, output, away = (numbers_in(line.split("=")[-1])[-1] for line in formulas(at))
    assert average == pytest.approx(float(first[0] + last[0]) / 2, abs=2e-4)
    assert output == pytest.approx(float(half[0]), abs=2e-4)
    gap = (half - (first + last) / 2).norm() / (last - first).norm()
    assert away == pytest.approx(float(gap), abs=2e-4)
    # the headline says how far the output is from the line, on the plane that is drawn
    with torch.no_grad():
        shares = torch.linspace(0, 1, 41, dtype=z.dtype)[:, None]
        outputs = model.blocks[layer].feed_forward((1 - shares) * z[position] + shares * z[other])["mlp_out"].double()
    line = (last - first) / (last - first).norm()
    aside = (outputs - first) - ((outputs - first) @ line)[:, None] * line
    far = aside[aside.norm(dim=1).argmax()]
    drawn = abs(float(aside[20] @ far / far.norm() / (last - first).norm()))
    title = next(m.value for m in at.markdown if m.value.startswith(f"**Block {layer}: half"))
    assert percent(drawn) in title and drawn <= away


@pytest.mark.parametrize("other", ["-1", "25", "999"])
def test_a_second_token_that_is_none_gives_way_to_one(other):
    at = opened({"view": "averages", "average_part": "bend", "bend_other": other}, position="25")
    assert at.session_state["attention_bend_other"] not in (0, 25)
