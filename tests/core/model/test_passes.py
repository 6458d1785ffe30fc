"""How a pass is set up: its masks and positions without a model, and the sentences for what cannot be run."""
import pytest
import torch

from core.model import passes
from core.model.config import MASKS, POSITIONS, ModelConfig
from core.model.intervention import HeadEdit, Intervention, NeuronEdit, Patch, ScoreEdit, SublayerEdit, WeightEdit
from core.model.passes import Span

SIZES = dict(vocab_size=50, d_model=16, n_layers=3, n_heads=4, n_context=24, window=3)
E = torch.zeros(50, 16, dtype=torch.float64)
P, R = (torch.randn(shape, generator=torch.Generator().manual_seed(0)) for shape in ((24, 16), (4, 8)))


def span(n: int, start: int = 0, encoder: bool = False, **changes) -> Span:
    return Span(ModelConfig.of(**SIZES | changes), E, n, start, P, R, encoder)


@pytest.mark.parametrize("changes", [dict(positions=positions) for positions in POSITIONS]
                                    + [dict(positions="relative", relative_buckets=8, relative_max_distance=16)])
@pytest.mark.parametrize("mask", MASKS)
def test_tokens_after_a_cache_are_set_up_as_the_last_of_the_whole_text(changes, mask):
    whole, last = span(9, mask=mask, **changes), span(3, 6, mask=mask, **changes)
    all_settings, last_settings = passes.settings(whole), passes.settings(last)
    assert last.total == 9 and last_settings.allowed.shape == (3, 9)
    for name in ("allowed", "angles", "bias", "relative"):
        expected, found = getattr(all_settings, name), getattr(last_settings, name)
        assert (found is None) == (expected is None), name
        assert found is None or torch.equal(found, expected[..., 6:, :]), name
    expected, found = passes.added_positions(whole), passes.added_positions(last)
    assert (found is None) == (expected is None) == (changes["positions"] not in ("learned", "sinusoidal"))
    assert found is None or torch.equal(found, expected[6:])


def test_a_change_stands_in_for_the_models_own_choice():
    own = passes.settings(span(5), dropout=0.1)
    assert (own.norm, own.mask, own.scale_scores, own.score, own.dropout) == ("layernorm", "causal", True, "dot", 0.1)
    change = Intervention(norm="none", mask="sliding-window", window=2, scale_scores=False, score="additive",
                          score_seed=4, activation="relu", residual=False, positions="rotary")
    changed = passes.settings(span(5), change)
    assert (changed.norm, changed.mask, changed.scale_scores, changed.score, changed.score_seed, changed.activation,
            changed.residual) == ("none", "sliding-window", False, "additive", 4, "relu", False)
    assert changed.allowed.sum(-1).tolist() == [1, 2, 2, 2, 2] and changed.angles.shape == (5, 2)
    assert passes.added_positions(span(5), change) is None
    identity = tuple(tuple(i == j for j in range(5)) for i in range(5))
    given = passes.settings(span(5), Intervention(allowed=identity, mask="bidirectional"))
    assert given.mask == "" and torch.equal(given.allowed, torch.eye(5, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"\(5, 5\), but the prompt has 4 tokens"):
        passes.settings(span(4), Intervention(allowed=identity))


def test_blocks_that_are_alike_share_their_settings():
    alike = span(5)
    common = passes.settings(alike)
    assert all(own.allowed is common.allowed for own in passes.block_settings(alike, common))
    unlike = span(5, positions="rotary", block_masks=("causal", "sliding-window", "causal"),
                  block_rotary_bases=(10_000.0, 0.0, 10_000.0))
    first, second, third = passes.block_settings(unlike, passes.settings(unlike))
    assert first is third and (second.mask, second.angles) == ("sliding-window", None)
    assert second.allowed.sum(-1).tolist() == [1, 2, 3, 3, 3] and first.angles.shape == (5, 2)
    narrow = Intervention(window=2)
    assert passes.block_settings(unlike, passes.settings(unlike, narrow), narrow)[1].allowed.sum(-1).max() == 2
    change = Intervention(mask="bidirectional", positions="none")
    assert all(own.allowed.all() and own.angles is None
               for own in passes.block_settings(unlike, passes.settings(unlike, change), change))


def test_an_encoder_keeps_of_a_change_what_is_neither_mask_nor_position():
    config = dict(kind="encoder-decoder", positions="relative", relative_buckets=8, relative_max_distance=16)
    change = Intervention(mask="causal", window=2, positions="none", norm="none", residual=False, score="additive")
    encoder = passes.settings(span(6, encoder=True, **config), passes.in_encoder(change))
    assert encoder.allowed.all() and (encoder.norm, encoder.residual, encoder.score) == ("none", False, "additive")
    decoder = passes.settings(span(6, **config))
    assert torch.equal(decoder.bias[:, 0, 5], R[:, 0])      # for the decoder all keys after the query are one bucket's
    assert not torch.equal(encoder.bias[:, 0, 5], encoder.bias[:, 0, 0])


def test_what_is_made_is_of_the_models_own_format():
    for positions in ("sinusoidal", "alibi"):
        for dtype in (torch.float32, torch.float64):
            read = Span(ModelConfig.of(**SIZES, positions=positions), E.to(dtype), 5)
            made = passes.added_positions(read) if positions == "sinusoidal" else passes.settings(read).bias
            assert made.dtype == dtype


def test_a_sentence_says_what_cannot_be_run():
    config, ids = ModelConfig.of(**SIZES), torch.arange(20)
    passes.check_tokens(config, ids)
    for bad, message in [(ids[:0], "no token"), (ids + 31, "outside the vocabulary"), (ids - 1, "outside")]:
        with pytest.raises(ValueError, match=message):
            passes.check_tokens(config, bad)
    with pytest.raises(ValueError, match="learned 24 positions, and the text has 25 tokens"):
        passes.check_tokens(config, ids, start=5)
    passes.check_tokens(config, ids, 5, Intervention(positions="none"))
    passes.check_change(config, Intervention(heads=(HeadEdit(2, 3),), patches=(Patch(3, 19, (1, 2), 1),)), 20)
    for change, message in [(dict(heads=(HeadEdit(3, 0),)), "no layer 3"), (dict(heads=(HeadEdit(0, -1),)), "no head"),
                            (dict(sublayers=(SublayerEdit(3, "mlp"),)), "layers 0 to 2"),
                            (dict(weights=(WeightEdit(0, 0, 20, 1),)), "no position 20"),
                            (dict(weights=(WeightEdit(0, 9, 2, 1),)), "no head 9"),
                            (dict(scores=(ScoreEdit(0, 0, 2, -1, 1.0),)), "no position -1"),
                            (dict(neurons=(NeuronEdit(0, 99),)), "no neuron 99"),
                            (dict(patches=(Patch(0, 20, (1,), 0),)), "patch"),
                            (dict(permutation=(1, 0)), "of 2 tokens")]:
        with pytest.raises(ValueError, match=message):
            passes.check_change(config, Intervention(**change), 20)
    with pytest.raises(ValueError, match="feed-forward"):
        passes.check_change(ModelConfig.of(**SIZES, d_ff=None), Intervention(sublayers=(SublayerEdit(0, "mlp"),)), 20)


def test_a_source_is_for_a_model_that_translates():
    plain, translates = ModelConfig.of(**SIZES), ModelConfig.of(**SIZES, kind="encoder-decoder")
    passes.check_source(plain, False)
    passes.check_source(translates, True)
    for config, given, message in [(plain, True, "no encoder"), (translates, False, "give it a source")]:
        with pytest.raises(ValueError, match=message):
            passes.check_source(config, given)
