"""Activation patching: each cell is a pass of its own with that one vector exchanged, for shapes in which N, h and L
differ and for models of several wirings.
"""
import numpy as np
import pytest
import torch

from core.analysis import patching
from core.model.config import ModelConfig
from core.model.intervention import Intervention, Patch
from core.model.transformer import Transformer

SIZES = dict(vocab_size=23, d_model=12, n_layers=3, n_heads=2, n_context=16)
HERE, THERE = torch.tensor([0, 4, 5, 6, 7, 8, 4]), torch.tensor([0, 4, 9, 6, 7, 3, 4])       # they differ at 2 and 5
KINDS = {"plain": {}, "rotary, post-norm": dict(positions="rotary", norm_placement="post"),
         "parallel": dict(parallel_residual=True, positions="rotary", tied_embeddings=False),
         "a window in some blocks": dict(positions="rotary", window=2,
                                         block_masks=("causal", "sliding-window", "causal"))}


def model_of(**changes) -> Transformer:
    model = Transformer(ModelConfig(**SIZES, **changes)).initialise(torch.Generator().manual_seed(1))
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
