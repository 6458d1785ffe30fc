"""Activation patching: each cell is a pass of its own with that one vector, or that one head's output, exchanged, for
shapes in which N, h and L differ and for models of several wirings.
"""
from unittest import mock

import numpy as np
import pytest
import torch

from core.analysis import patching
from core.model.config import ModelConfig
from core.model.edits import HeadEdits
from core.model.intervention import Intervention, Patch
from core.model.trace import Trace
from core.model.transformer import Transformer
from tests.helpers.parity import randomised

SIZES = dict(vocab_size=23, d_model=12, n_layers=3, n_heads=2, n_context=16)
HERE, THERE = torch.tensor([0, 4, 5, 6, 7, 8, 4]), torch.tensor([0, 4, 9, 6, 7, 3, 4])       # they differ at 2 and 5
KINDS = {"plain": {}, "rotary, post-norm": dict(positions="rotary", norm_placement="post"),
         "parallel": dict(parallel_residual=True, positions="rotary", tied_embeddings=False),
         "a window in some blocks": dict(positions="rotary", window=2,
                                         block_masks=("causal", "sliding-window", "causal"))}


def model_of(**changes) -> Transformer:
    model = Transformer(ModelConfig.of(**SIZES | changes)).initialise(torch.Generator().manual_seed(1))
    with torch.no_grad():
        model.E.mul_(20)        # so that two tokens differ by more than rounding
    return model


def whole(model: Transformer, here: torch.Tensor = HERE, there: torch.Tensor = THERE) -> patching.Patching:
    *_, last = patching.patched(model, model(here), model(there))
    return last


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_each_cell_is_a_pass_with_that_vector_exchanged(changes):
    model = model_of(**changes)
    found, ids = whole(model), tuple(THERE.tolist())
    assert found.logits.shape == (4, 7, 2)
    for depth in range(4):
        for position in range(7):
            patch = Intervention(patches=(Patch(depth, position, ids, position),))
            logits = model(HERE, patch).logits[-1, [found.own, found.other]].double()
            assert torch.allclose(found.logits[depth, position], logits, atol=1e-4), (depth, position)


def test_the_first_row_is_the_other_word_and_the_last_row_the_last_vector():
    one_word = THERE.clone()
    one_word[5] = HERE[5]
    shares = whole(model_of(), there=one_word).shares.numpy()
    assert shares[0, 2] == pytest.approx(1, abs=1e-3) and np.allclose(np.delete(shares[0], 2), 0, atol=1e-3)
    assert shares[-1, -1] == pytest.approx(1, abs=1e-3) and np.allclose(shares[-1, :-1], 0, atol=1e-3)
    assert (shares[:, :2] == 0).all(), "before the changed word both runs are the same"


def test_the_share_by_hand():
    """Here b is 3 below a, there 1 above it: from −3 to 1 are 4; a gap of −1 is half of the way, −4 a quarter back."""
    pair = patching.Patching(0, 1, torch.tensor([5.0, 2.0]), torch.tensor([2.0, 3.0]),
                             torch.tensor([[[4.0, 3.0], [6.0, 2.0], [0.0, 1.0], [torch.nan, torch.nan]]]))
    assert pair.gaps[0, :3].tolist() == [-1, -4, 1]
    assert pair.shares[0, :3].tolist() == [0.5, -0.25, 1] and bool(pair.shares[0, 3].isnan())


def test_the_answers_are_those_whose_probability_moves_most():
    model = model_of()
    change = (model(THERE).probs[-1] - model(HERE).probs[-1]).detach().numpy()
    assert patching.answers(model(HERE), model(THERE)) == (change.argmin(), change.argmax())


def test_many_tokens_go_through_in_parts(monkeypatch):
    model = model_of()
    at_once = whole(model)
    monkeypatch.setattr(patching, "MOST_TOKENS", 14)        # two rows at a time
    assert torch.allclose(whole(model).logits, at_once.logits, atol=1e-5)


def test_it_grows_row_by_row():
    model = model_of()
    done = [int((~part.logits[:, -1, 0].isnan()).sum()) for part in patching.patched(model, model(HERE), model(THERE))]
    assert done == [1, 2, 3, 4]


@pytest.mark.parametrize("there", [[1, 2], [1, 2, 3, 4]])
def test_texts_of_other_lengths_are_refused(there):
    with pytest.raises(ValueError, match="only places of equal number can be"):
        patching.first_difference([1, 2, 3], there)


# ---- outputs of heads and of feed-forward parts ----------------------------------------------------------------------

WIRINGS = {"pre-norm": {}, "post-norm, rotary": dict(positions="rotary", norm_placement="post"),
           "parallel": dict(parallel_residual=True, positions="rotary", tied_embeddings=False),
           "sandwich, heads that share keys": dict(norm_placement="sandwich", n_heads=4, n_kv_heads=2, norm="rmsnorm"),
           "norms on outputs, no biases": dict(norm_placement="output", attention_bias=False, mlp_bias=False),
           "DeepNorm, ALiBi": dict(norm_placement="deepnorm", positions="alibi"),
           "experts": dict(n_experts=3, n_active_experts=2), "without a feed-forward part": dict(d_ff=None)}


def plain_pass(model: Transformer, there: Trace, layer: int, head: int | None) -> torch.Tensor:
    """(|V|,) a whole traced pass over HERE in which this head (None: the feed-forward part) writes what it writes in
    the run `there`.
    """
    def on_head_out(_, head_out: torch.Tensor, at: int) -> torch.Tensor:
        head_out = head_out.clone()
        if at == layer and head is not None:
            head_out[head] = there.blocks[layer].head_out[head]
        return head_out

    def on_sublayer(_, out: torch.Tensor, at: int, sublayer: str) -> torch.Tensor:
        return there.blocks[layer].mlp_out if (at, sublayer, head) == (layer, "mlp", None) else out

    with mock.patch.object(HeadEdits, "on_head_out", on_head_out), \
            mock.patch.object(HeadEdits, "on_sublayer", on_sublayer):
        return model(HERE).logits[-1]


def outputs(model: Transformer, here: torch.Tensor = HERE, there: torch.Tensor = THERE) -> patching.Patching:
    *_, last = patching.patched_outputs(model, model(here), model(there))
    return last


@pytest.mark.parametrize("changes", WIRINGS.values(), ids=WIRINGS)
def test_each_cell_is_a_pass_with_that_output_exchanged(changes):
    model = randomised(model_of(**changes)).double()
    found, there = outputs(model), model(THERE)
    n_heads, has_mlp = model.config.n_heads, model.config.d_ff is not None
    assert found.logits.shape == (3, n_heads + has_mlp, 2)
    for layer in range(3):
        for column in range(n_heads + has_mlp):
            logits = plain_pass(model, there, layer, column if column < n_heads else None)
            assert torch.allclose(found.logits[layer, column], logits[[found.own, found.other]], atol=1e-9), (layer,
                                                                                                              column)
    assert found.shares.abs().max() > 0.01, "outputs that move nothing hold nothing"


def test_one_cell_is_the_same_as_in_the_whole():
    model = model_of()
    here, there, found = model(HERE), model(THERE), outputs(model)
    pair = [found.own, found.other]
    assert torch.allclose(patching.with_heads(model, here, there, 1, [1])[0, pair].double(), found.logits[1, 1],
                          atol=1e-5)
    assert torch.allclose(patching.with_feed_forward(model, here, there, 2)[pair].double(), found.logits[2, 2],
                          atol=1e-5)


@pytest.mark.parametrize("changes", WIRINGS.values(), ids=WIRINGS)
def test_all_heads_together_carry_all_of_it_where_the_last_token_is_the_same(changes):
    model = randomised(model_of(**changes)).double()
    here, there = model(HERE), model(THERE)
    assert torch.allclose(patching.with_all_heads(model, here, there), there.logits[-1], atol=1e-9)


def test_the_outputs_of_many_heads_go_through_in_parts_and_block_by_block(monkeypatch):
    model = model_of(n_heads=3)
    at_once = outputs(model)
    monkeypatch.setattr(patching, "MOST_TOKENS", 14)        # two heads at a time
    assert torch.allclose(outputs(model).logits, at_once.logits, atol=1e-5)
    parts = patching.patched_outputs(model, model(HERE), model(THERE))
    assert [int((~part.logits[:, 0, 0].isnan()).sum()) for part in parts] == [1, 2, 3]
