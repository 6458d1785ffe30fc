"""The places of the norms: each recomputed with torch's own modules, DeepNorm's constants and its first weights, the
sums of the stream, the way to disk and back.
"""
import pytest
import torch
from torch import nn

from core.analysis import stream_and_heads
from core.model import checkpoints
from core.model.config import NORM_PLACEMENTS, ModelConfig
from core.model.norms import deepnorm_constants
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from tests.helpers.parity import randomised

SIZES = dict(vocab_size=40, d_model=16, n_layers=3, n_heads=4, n_context=16, d_ff=24)
KINDS = [dict(), dict(kind="encoder"), dict(kind="encoder-decoder", n_encoder_layers=2)]
IDS, SOURCE = (torch.randint(0, 40, (n,), generator=torch.Generator().manual_seed(n)) for n in (7, 9))


def random_model(**settings) -> Transformer:
    return (randomised(Transformer(ModelConfig.of(**SIZES | settings)).initialise(torch.Generator().manual_seed(0)))
            .double())


def source_of(model: Transformer) -> torch.Tensor | None:
    return SOURCE if model.encoder is not None else None


# ---- the whole model again, with torch's modules ---------------------------------------------------------------------


def torchs_norm(ours) -> nn.LayerNorm:
    made = nn.LayerNorm(16).double()
    made.load_state_dict({"weight": ours.weight, "bias": ours.bias})
    return made


def torchs_attention(ours) -> nn.MultiheadAttention:
    made = nn.MultiheadAttention(16, 4, batch_first=True).double()
    flat = {letter: getattr(ours, f"W_{letter}").permute(1, 0, 2).reshape(16, 16) for letter in "QKV"}
    made.load_state_dict({"in_proj_weight": torch.cat([flat[letter].T for letter in "QKV"]),
                          "in_proj_bias": torch.cat([getattr(ours, f"b_{letter}").reshape(16) for letter in "QKV"]),
                          "out_proj.weight": ours.W_O.reshape(16, 16).T, "out_proj.bias": ours.b_O})
    return made


def joined(x: torch.Tensor, placement: str, alpha: float, norm, out_norm, sublayer) -> torch.Tensor:
    """x after one sublayer, by the five formulas of the placements."""
    if placement == "pre":
        return x + sublayer(torchs_norm(norm)(x))
    if placement == "sandwich":
        return x + torchs_norm(out_norm)(sublayer(torchs_norm(norm)(x)))
    if placement == "output":
        return x + torchs_norm(out_norm)(sublayer(x))
    return torchs_norm(norm)(x * (alpha if placement == "deepnorm" else 1) + sublayer(x))


def stack(x: torch.Tensor, blocks, final_norm, placement: str, alpha: float, causal: bool, memory=None) -> torch.Tensor:
    mask = nn.Transformer.generate_square_subsequent_mask(len(x), dtype=torch.float64) if causal else None
    for block in blocks:
        own = torchs_attention(block)
        x = joined(x, placement, alpha, block.attn_norm, block.attn_out_norm,
                   lambda X: own(X[None], X[None], X[None], attn_mask=mask)[0][0])
        if memory is not None:
            across = torchs_attention(block.cross)
            x = joined(x, placement, alpha, block.cross.norm, block.cross.out_norm,
                       lambda X: across(X[None], memory[None], memory[None])[0][0])
        x = joined(x, placement, alpha, block.mlp_norm, block.mlp_out_norm,
                   lambda X: nn.functional.gelu(X @ block.W_1 + block.b_1) @ block.W_2 + block.b_2)
    return x if final_norm is None else torchs_norm(final_norm)(x)


@pytest.mark.parametrize("placement", NORM_PLACEMENTS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_equal_to_the_same_model_written_with_torchs_modules(placement, kind):
    model = random_model(norm_placement=placement, **kind)
    assert (model.final_norm is None) == (placement in ("post", "deepnorm"))
    memory, alpha = None, (2 * 3) ** 0.25
    if model.encoder is not None:
        alpha = (3 * 3) ** 0.25
        memory = stack(model.E[SOURCE] + model.encoder.P[:9], model.encoder.blocks, model.encoder.final_norm, placement,
                       0.81 * (2 ** 4 * 3) ** (1 / 16), causal=False)
    expected = stack(model.E[IDS] + model.P[:7], model.blocks, model.final_norm, placement, alpha,
                     causal=model.config.kind != "encoder", memory=memory)
    trace = model(IDS, source_ids=source_of(model))
    assert (trace.h_final - expected).abs().max() < 1e-12
    assert ((trace.logits - model.logits(IDS, memory=None if memory is None else model.encode(SOURCE))).abs().max()
            < 1e-6)


# ---- the stream ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_a_sandwich_adds_is_the_norm_of_what_was_written_and_it_adds_up(kind):
    model = random_model(norm_placement="sandwich", **kind)
    trace = model(IDS, source_ids=source_of(model))
    written = trace.embedding + trace.position
    for block, weights in zip(trace.blocks, model.blocks):
        assert (torch.equal(block.attn_added, weights.attn_out_norm(block.attn_out, "layernorm"))
                and not torch.allclose(block.attn_added, block.attn_out))
        assert (block.head_contribution.sum(-3) + weights.b_O - block.attn_out).abs().max() < 1e-12
        written = written + block.attn_added + block.mlp_added + (0 if block.cross is None else block.cross.attn_added)
    assert (written - trace.resid_final).abs().max() < 1e-12
    attention, mlp = stream_and_heads.written_norms(trace)
    assert (torch.equal(attention[1], trace.blocks[1].attn_added.norm(dim=-1))
            and torch.equal(mlp[2], trace.blocks[2].mlp_added.norm(dim=-1)))


@pytest.mark.parametrize("placement", ["pre", "post", "deepnorm"])
def test_what_is_added_elsewhere_is_what_was_written(placement):
    for block in random_model(norm_placement=placement)(IDS).blocks:
        assert block.attn_added is block.attn_out and block.mlp_added is block.mlp_out


# ---- DeepNorm's constants --------------------------------------------------------------------------------------------


def test_deepnorms_constants_by_hand():
    one = ModelConfig.of(**SIZES | dict(n_layers=8, norm_placement="deepnorm"))
    assert deepnorm_constants(one) == pytest.approx((2.0, 64 ** -0.25))                       # (2·8)^¼ = 2
    two = ModelConfig.of(**SIZES
                        | dict(n_layers=27, n_encoder_layers=3, kind="encoder-decoder", norm_placement="deepnorm"))
    assert deepnorm_constants(two) == pytest.approx((3.0, 324 ** -0.25))                      # (3·27)^¼ = 3
    # 3⁴·27 = 3⁷
    assert deepnorm_constants(two, encoder=True) == pytest.approx((0.81 * 3 ** (7 / 16), 0.87 * 3 ** (-7 / 16)))
    assert deepnorm_constants(ModelConfig.of(**SIZES)) == (1.0, 1.0)


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[2]], ids=str)
def test_a_new_deepnorm_model_begins_with_maps_that_are_beta_times_as_large(kind):
    sizes = SIZES | dict(d_model=64, d_ff=96, vocab_size=50) | kind
    model = Transformer(ModelConfig.of(**sizes, norm_placement="deepnorm")).initialise(torch.Generator().manual_seed(1))
    for stack_, encoder in [(model.blocks, False)] + ([(model.encoder.blocks, True)] if model.encoder else []):
        _, beta = deepnorm_constants(model.config, encoder)
        for name, fan_in, factor in (("W_Q", 64, 1), ("W_K", 64, 1), ("W_V", 64, beta), ("W_O", 64, beta),
                                     ("W_1", 64, beta), ("W_2", 96, beta)):
            spread = torch.stack([getattr(block, name) for block in stack_]).std().item()
            assert spread == pytest.approx(factor * fan_in ** -0.5, rel=0.05), name
    plain = Transformer(ModelConfig.of(**sizes)).initialise(torch.Generator().manual_seed(1))
    assert plain.blocks[0].W_O.std().item() == pytest.approx((64 * 6) ** -0.5, rel=0.05)


def test_a_deep_post_norm_stream_forgets_its_embedding_and_deepnorm_keeps_it():
    """The use of α: after 50 blocks a token's stream still lies along its embedding."""
    kept = {}
    for placement in ("post", "deepnorm"):
        config = ModelConfig.of(**SIZES | dict(d_model=64, d_ff=256, n_layers=50, norm_placement=placement))
        model = (Transformer(config)
                 .initialise(torch.Generator().manual_seed(0)))
        with torch.no_grad():
            trace = model(IDS)
        kept[placement] = stream_and_heads.cosines(trace.resid_final, trace.embedding + trace.position).mean().item()
    assert kept["deepnorm"] > kept["post"] + 0.05


# ---- disk ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("placement", NORM_PLACEMENTS)
def test_to_disk_and_back(placement, tmp_path):
    tokenizer = Tokenizer.train(["the cat sat on the mat"] * 3, 270)
    model = Transformer(ModelConfig.of(**SIZES | dict(vocab_size=tokenizer.vocab_size, norm_placement=placement,
                                                   end_of_text=tokenizer.end_of_text))).initialise(
                                                       torch.Generator().manual_seed(0))
    checkpoints.save(tmp_path, model, tokenizer, "A card.", dtype=torch.float32)
    again, _ = checkpoints.load(tmp_path)
    assert again.config == model.config and torch.equal(again(IDS).logits, model(IDS).logits)
