"""A block taken apart: its rows add up as its formula says, by numpy; a token that is exchanged is seen by attention
alone; the norms can be moved.
"""
import dataclasses

import numpy as np
import pytest
import torch

from core.analysis import one_block
from core.app.base import prose
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from tests.core.analysis.test_stream_and_heads import run


def named(rows) -> list[tuple[str, np.ndarray]]:
    return [(row.name, row.values.detach().numpy()) for row in rows]


def layer_norm(x: np.ndarray, norm) -> np.ndarray:
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + norm.epsilon)
    return y * norm.weight.detach().numpy() + norm.bias.detach().numpy()


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_the_rows_follow_the_two_lines_of_the_block(placement):
    model, trace = run(norm_placement=placement)
    block, rows = model.blocks[1], named(one_block.rows(model, trace.blocks[1], 1))
    W_1, b_1, W_2, b_2 = (w.detach().numpy() for w in (block.W_1, block.b_1, block.W_2, block.b_2))
    values = dict(rows)
    X, attention, O, H = (values[name] for name in ("X", "attention", "O", "H"))       # noqa: E741
    if placement == "pre":
        assert [name for name, _ in rows] == ["X", "norm", "attention", "O", "norm", "hidden", "mlp", "H"]
        assert np.allclose(rows[1][1], layer_norm(X, block.attn_norm)) and np.allclose(O, X + attention)
        z = layer_norm(O, block.mlp_norm)
        assert np.allclose(rows[4][1], z) and np.allclose(H, O + values["mlp"])
    else:
        assert [name for name, _ in rows] == ["X", "attention", "sum", "O", "hidden", "mlp", "sum", "H"]
        assert np.allclose(rows[2][1], X + attention) and np.allclose(O, layer_norm(X + attention, block.attn_norm))
        z = O
        assert np.allclose(H, layer_norm(O + values["mlp"], block.mlp_norm))
    assert values["hidden"].shape[-1] == 4 * X.shape[-1]
    up = torch.nn.functional.gelu(torch.from_numpy(z @ W_1 + b_1)).numpy()
    assert np.allclose(values["hidden"], up) and np.allclose(values["mlp"], up @ W_2 + b_2)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_a_token_that_is_exchanged_before_the_feed_forward_part_changes_its_own_row_alone(placement):
    model, trace = run(norm_placement=placement)
    block = trace.blocks[1]
    same, other = (one_block.exchanged(model, block, 1, 2, source) for source in (2, 5))
    assert torch.allclose(same.resid_post, block.resid_post)
    apart = (other.resid_post != same.resid_post).any(-1)
    assert apart.nonzero().flatten().tolist() == [2]
    assert torch.equal(other.mlp_out[2], other.mlp_out[5])


def test_the_norms_can_stand_at_their_other_place_with_the_very_same_weights():
    model, trace = run()
    post = one_block.rewired(model, "post")
    assert post.blocks[0].W_1.data_ptr() == model.blocks[0].W_1.data_ptr() and model.config.norm_placement == "pre"
    again = Transformer(dataclasses.replace(model.config, norm_placement="post")).double()
    again.load_state_dict({name: w for name, w in model.state_dict().items() if not name.startswith("final_norm")})
    assert torch.equal(post(trace.token_ids).logits, again(trace.token_ids).logits)
    back = one_block.rewired(again.eval(), "pre")
    assert float(back.final_norm.weight.sum()) == model.config.d_model and not back.final_norm.bias.any()


@pytest.mark.parametrize(("settings", "can"), [({}, True), ({"norm_placement": "sandwich"}, False),
                                               ({"parallel_residual": True}, False), ({"d_ff": None}, False)])
def test_which_blocks_can_be_shown(settings, can):
    config = ModelConfig(**{"vocab_size": 9, "d_model": 8, "n_layers": 1, "n_heads": 2, "n_context": 4} | settings)
    assert one_block.can_be_shown(config) is can


@pytest.mark.parametrize(("settings", "obstacle"), [
    ({}, ""), ({"norm_placement": "post"}, ""), ({"norm_placement": "sandwich"}, "sandwich"),
    ({"norm_placement": "output"}, "output"), ({"norm_placement": "deepnorm"}, "deepnorm"),
    ({"parallel_residual": True}, "parallel"), ({"d_ff": None}, "one_part"),
    ({"n_experts": 4, "n_active_experts": 2, "norm_placement": "sandwich"}, "experts"),
    ({"kind": "encoder-decoder", "n_encoder_layers": 1}, "crossed")])
def test_what_keeps_a_block_from_being_shown_has_its_sentence(settings, obstacle):
    config = ModelConfig(**{"vocab_size": 9, "d_model": 8, "n_layers": 1, "n_heads": 2, "n_context": 4} | settings)
    assert one_block.obstacle(config) == obstacle
    assert not obstacle or "{model}" in prose.load("residual_stream").labels[f"block_{obstacle}"]
