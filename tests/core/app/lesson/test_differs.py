"""Sentences on how the loaded model differs from a lesson's paragraphs: said where they hold, and only there."""
from __future__ import annotations

import pytest

from core.app.lesson import differs
from core.base import prose
from core.huggingface.tokens import NumberedTokens
from core.model.config import ModelConfig

PLAIN = {"vocab_size": 9, "d_model": 8, "n_layers": 2, "n_heads": 4, "n_context": 16}


def said(lesson: str, view: str, **settings) -> str:
    return " ".join(differs.sentences(prose.load(lesson), view, ModelConfig.of(**PLAIN | settings), NumberedTokens(9)))


@pytest.mark.parametrize(("lesson", "view"), [("heads", "wall"), ("attention", "steps")])
def test_one_head_of_keys_and_values_is_told_in_the_singular(lesson: str, view: str):
    assert "share one head of keys and values" in said(lesson, view, n_kv_heads=1)
    assert "share 2 heads of keys and values" in said(lesson, view, n_kv_heads=2)
    assert "heads of keys and values" not in said(lesson, view) and "1 heads" not in said(lesson, view, n_kv_heads=1)


def test_a_second_norm_behind_each_part_is_told():
    for lesson, view in (("overview", ""), ("residual_stream", "norms")):
        assert "a second norm stands behind it" in said(lesson, view, norm_placement="sandwich")
        assert "second norm" not in said(lesson, view)


def test_a_window_longer_than_the_texts_promises_no_hatch_in_them():
    windows = dict(mask="causal", block_masks=("sliding-window", "causal"), window=12)
    assert "in a longer text more cells are hatched there" in said("heads", "wall", **windows)


def test_shares_are_spoken_of_where_there_are_shares():
    post = dict(norm_placement="post")
    assert "share" in said("residual_stream", "contributions", **post)
    assert "norms every sum" in said("residual_stream", "norms", **post)
    assert "share" not in said("residual_stream", "norms", **post)


@pytest.mark.parametrize("view", ["mlp", "block"])
def test_a_feed_forward_part_without_biases_is_told(view: str):
    assert "no biases" in said("residual_stream", view, mlp_bias=False)
    assert "no biases" not in said("residual_stream", view)
