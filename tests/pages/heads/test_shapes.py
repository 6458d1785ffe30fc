"""The shapes of multi-head attention: those of the Trace's own tensors, and those of the first transformer."""
from __future__ import annotations

import functools

import pytest

from pages.heads.shapes import of_model
from tests.helpers import lessons, messages
from tests.pages.attention.test_steps import ids_of, loaded

opened = functools.partial(lessons.opened, "heads", prompt=None)


@pytest.mark.parametrize("name", ["stories", "positions-alibi"])
def test_the_shapes_are_those_of_the_tensors(name):
    ids, model = ids_of(name), loaded(name).model
    block, weights = model(ids).blocks[0], model.blocks[0]
    given = messages.given(opened({"panel": "write"}, model=name), "heads_shapes")["widths"]
    n, d, h, d_k, d_v = (given[key] for key in ("n", "d", "h", "d_k", "d_v"))
    assert block.X.shape == (n, d) and block.head_out.shape == (h, n, d_v) and block.Q.shape == (h, n, d_k)
    assert weights.W_Q.shape == (h, d, d_k) and weights.W_O.shape == (h, d_v, d)
    assert given["both"] == h * d_v and block.attn_out.shape == (n, d)
    matrices = (weights.W_Q, weights.W_K, weights.W_V, weights.W_O)
    assert of_model(model.config, n).parameters == sum(W.numel() for W in matrices)


def test_the_first_transformer_is_512_8_64():
    given = messages.given(opened({"panel": "write", "shapes": "first"}), "heads_shapes")["widths"]
    assert (given["d"], given["h"], given["d_k"], given["d_v"], given["both"]) == (512, 8, 64, 64, 512)
