"""A logit taken apart: the parts add up to it in every architecture, and agree with numbers worked by hand."""
import itertools

import pytest
import torch

from core.analysis.contributions import (
    Part,
    carry_to_final,
    final_parts,
    follow_token,
    frozen_norm,
    logit_contributions,
    logit_lens,
    neuron_promotions,
    read_lens,
)
from core.model.config import NORM_PLACEMENTS, ModelConfig
from core.model.intervention import Intervention, SublayerEdit
from core.model.norms import Norm
from core.model.transformer import Transformer

IDS = torch.tensor([0, 5, 3, 5, 11, 2])


def random_model(dtype=torch.float64, **settings) -> Transformer:
    """Every parameter random, gains and biases too: a part that were forgotten would show."""
    config = ModelConfig.of(
        **{"vocab_size": 19, "d_model": 12, "n_layers": 3, "n_heads": 4, "n_context": 8, "n_kv_heads": 2} | settings)
    model, generator = Transformer(config).to(dtype), torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if name.endswith("norm.weight") else 0.0, 0.4, generator=generator)
    return model.requires_grad_(False)


def tolerance(contributions) -> float:
    return float(contributions.values.abs().sum())


ARCHITECTURES = [
    dict(norm=norm, norm_placement=placement, **rest)
    for norm, placement in itertools.product(("layernorm", "rmsnorm"), NORM_PLACEMENTS)
    for rest in (dict(), dict(d_ff=None),
                 dict(attention_bias=False, mlp_bias=False, norm_bias=False, tied_embeddings=False),
                 dict(activation="swiglu", positions="rotary", d_k=4), dict(positions="sinusoidal", kind="encoder"))
] + [dict(parallel_residual=True, norm=norm, positions="alibi") for norm in ("layernorm", "rmsnorm")] + [
    dict(embedding_norm=True, n_token_types=2, unembedding_bias=True, norm_placement=placement)
    for placement in NORM_PLACEMENTS
] + [dict(parallel_residual=True, shared_norm=True, embedding_scale=3.5, logit_scale=0.3,
          qk_norm=True, output_bias=False)] + [
              dict(kind="encoder", head_transform=True, embedding_norm=True, n_token_types=2, unembedding_bias=True,
                   norm_placement="post", activation=activation, **rest)
              for activation in ("gelu", "relu", "swish")
              for rest in (dict(), dict(norm="rmsnorm", norm_bias=False, tied_embeddings=False))]


@pytest.mark.parametrize("settings", ARCHITECTURES, ids=lambda s: "-".join(f"{k}={v}" for k, v in s.items()))
def test_parts_add_up_to_every_logit(settings):
    model = random_model(**settings)
    trace = model(IDS)
    for position, token_id in itertools.product((0, 5), range(19)):
        found = logit_contributions(model, trace, position, token_id)
        assert found.logit == float(trace.logits[position, token_id])
        assert abs(found.total - found.logit) <= 1e-10 * max(abs(found.logit), 1e-3 * tolerance(found))


CROSSED = [dict(kind="encoder-decoder", n_encoder_layers=2, norm_placement=placement, **rest)
           for placement in NORM_PLACEMENTS
           for rest in (dict(), dict(norm="rmsnorm", activation="swiglu", norm_bias=False),
                        dict(d_ff=None, attention_bias=False))]


@pytest.mark.parametrize("settings", CROSSED, ids=str)
def test_the_parts_of_an_encoder_decoder_add_up_to_every_logit(settings):
    model = random_model(**settings)
    trace = model(IDS, source_ids=torch.tensor([3, 1, 4, 1]))
    for position, token_id in itertools.product((0, 5), range(19)):
        found = logit_contributions(model, trace, position, token_id)
        assert abs(found.total - found.logit) <= 1e-10 * max(abs(found.logit), 1e-3 * tolerance(found))
        assert sum(part.kind == "cross head" for part in found.parts) == 3 * 4


def test_a_cross_head_adds_what_it_wrote_into_the_stream():
    model = random_model(kind="encoder-decoder", n_layers=1)
    trace = model(IDS, source_ids=torch.tensor([3, 1, 4, 1]))
    parts, vectors = final_parts(model, trace, 2)
    written = frozen_norm(model.final_norm, "layernorm", trace.resid_final[2],
                          trace.blocks[0].cross.head_contribution[3, 2])
    assert torch.allclose(vectors[parts.index(Part("cross head", 0, 3))], written)
    assert [part.kind for part in parts] == ["embedding", "position", *["head"] * 4, "attention bias",
                                             *["cross head"] * 4, "cross attention bias",
                                             "mlp", "mlp bias", "final norm bias"]
    post = random_model(kind="encoder-decoder", n_layers=1, norm_placement="post")
    kinds = [part.kind for part in final_parts(post, post(IDS, source_ids=IDS), 2)[0]]
    assert (kinds.index("cross attention bias") + 1 == kinds.index("cross attention norm bias")
            and "final norm bias" not in kinds)


@pytest.mark.parametrize("placement", NORM_PLACEMENTS)
def test_parts_add_up_in_float32(placement):
    model = random_model(torch.float32, norm_placement=placement)
    trace = model(IDS)
    for token_id in range(19):
        found = logit_contributions(model, trace, 5, token_id)
        assert abs(found.total - found.logit) <= 1e-5 * max(abs(found.logit), 0.1 * tolerance(found))


def test_every_part_is_named_once_and_in_order():
    parts, vectors = final_parts(random_model(n_layers=1), random_model(n_layers=1)(IDS), 2)
    assert parts == (Part("embedding"), Part("position"), *(Part("head", 0, head) for head in range(4)),
                     Part("attention bias", 0), Part("mlp", 0), Part("mlp bias", 0), Part("final norm bias"))
    assert vectors.shape == (10, 12) and vectors.dtype == torch.float64
    post, _ = final_parts(*(lambda m: (m, m(IDS)))(random_model(n_layers=1, norm_placement="post")), 2)
    assert (Part("attention norm bias", 0) in post and Part("mlp norm bias", 0) in post
            and Part("final norm bias") not in post)


def test_frozen_norm_by_hand():
    norm = Norm(ModelConfig(vocab_size=2, d_model=2, n_layers=1, n_heads=1, n_context=2, norm_epsilon=1e-12)).double()
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([2.0, 1.0])), norm.bias.copy_(torch.tensor([0.5, 0.0]))
        # x = (1, 5): μ = 3, σ = 2. The addends (1, 1) and (0, 4) of x: the first is all mean; the second (−2, 2)/2
        # times the gain.
        x, addends = torch.tensor([1.0, 5.0]), torch.tensor([[1.0, 1.0], [0.0, 4.0]])
        shares = frozen_norm(norm, "layernorm", x, addends)
        assert torch.allclose(shares, torch.tensor([[0.0, 0.0], [-2.0, 1.0]]).double())
        assert torch.allclose(shares.sum(0) + norm.bias, norm(x.double(), "layernorm"))
        # RMS: sqrt((1 + 25)/2) = sqrt(13), no mean taken out.
        assert torch.allclose(frozen_norm(norm, "rmsnorm", x, addends), addends.double() / 13 ** 0.5 * norm.weight)


def test_a_run_with_a_sublayer_off_is_refused():
    model = random_model()
    with pytest.raises(ValueError, match="do not add up"):
        logit_contributions(model, model(IDS, Intervention(sublayers=(SublayerEdit(1, "attention"),))), 5, 3)


@pytest.mark.parametrize("settings", [dict(), dict(norm_placement="post"),
                                      dict(norm="rmsnorm", activation="geglu", norm_placement="post"),
                                      dict(kind="encoder", head_transform=True, norm_placement="post"),
                                      dict(kind="encoder-decoder", norm_placement="post"),
                                      dict(norm_placement="sandwich"), dict(norm_placement="deepnorm"),
                                      dict(kind="encoder-decoder", norm_placement="sandwich"),
                                      dict(kind="encoder-decoder", norm_placement="deepnorm")], ids=str)
@pytest.mark.parametrize("layer", [0, 2])
def test_neurons_add_up_to_their_feed_forward_part(settings, layer):
    model = random_model(**settings)
    trace = model(IDS, source_ids=IDS if model.encoder else None)
    promotions = neuron_promotions(model, trace, layer, 4, torch.arange(model.config.d_ff))
    for token_id in (1, 17):
        parts = logit_contributions(model, trace, 4, token_id)
        share = parts.values[parts.parts.index(Part("mlp", layer))]
        assert promotions[:, token_id].sum().item() == pytest.approx(share.item(), rel=1e-10)


def test_carry_to_final_of_the_last_block_is_the_final_norm():
    model = random_model()
    trace, vector = model(IDS), torch.ones(12).double()
    assert torch.equal(carry_to_final(model, trace, 3, 1, vector),
                       frozen_norm(model.final_norm, "layernorm", trace.resid_final[3], vector))


@pytest.mark.parametrize("placement", NORM_PLACEMENTS)
def test_the_last_row_of_the_lens_is_the_prediction(placement):
    model = random_model(norm_placement=placement)
    trace = model(IDS)
    assert torch.equal(logit_lens(model, trace.resid_final), trace.logits)
    reading = read_lens(model, trace)
    assert reading.token_ids.shape == reading.probs.shape == (4, 6)
    assert (torch.equal(reading.token_ids[-1], trace.probs.argmax(-1))
            and torch.equal(reading.probs[-1], trace.probs.max(-1).values))
    first = torch.softmax(logit_lens(model, trace.embedding + trace.position), -1)
    assert torch.equal(reading.probs[0], first.max(-1).values)


@pytest.mark.parametrize("placement", NORM_PLACEMENTS)
def test_a_followed_token_ends_at_its_probability_and_rank(placement):
    model = random_model(norm_placement=placement)
    trace = model(IDS)
    probs, ranks = follow_token(model, trace, 2, 7)
    assert torch.allclose(probs[-1], trace.probs[2, 7], rtol=1e-12)
    assert ranks[-1].item() == trace.logits[2].argsort(descending=True).tolist().index(7)
    middle = torch.softmax(logit_lens(model, trace.blocks[1].resid_pre[2]), -1)
    assert torch.allclose(probs[1], middle[7], rtol=1e-12) and ranks[1] == (middle > middle[7]).sum()
