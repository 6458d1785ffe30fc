"""The division's work on the scores of a model's heads, worked again from its pass: of those whose queries and keys
are turned, and of those whose scores get a bias.
"""
import numpy as np
import pytest
import torch

from core.analysis import score_scaling
from tests.core.analysis.test_stream_and_heads import run


@pytest.mark.parametrize("settings", [{"positions": "rotary"}, {"positions": "rotary", "n_kv_heads": 1},
                                      {"positions": "alibi"}, {"positions": "relative", "score_cap": 0.5}], ids=str)
def test_the_products_are_those_of_the_scores_and_the_spread_is_that_of_the_weights(settings: dict):
    model, trace = run(**settings)
    block = trace.blocks[1]
    if settings["positions"] == "rotary":
        products = score_scaling.head_products(block, model.config)
        torch.testing.assert_close(products / model.config.d_k ** 0.5, block.scores)
    found, n = score_scaling.head_scaling(block, model.config), len(trace.token_ids)
    weights = block.pattern.numpy()
    entropy = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1)[:, 1:] / np.log(np.arange(2, n + 1))
    assert found.entropy_scaled == pytest.approx(entropy.mean(-1))
