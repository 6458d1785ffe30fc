"""Mixtures of experts: routing and output worked again by hand, the roads equal, the parts of a logit, the counts."""
import pytest
import torch

from core.analysis.contributions import Part, logit_contributions
from core.analysis.symmetries import WIDTH_AXES
from core.cost import counting
from core.model.activation import activate, gate_factor
from core.model.config import MOST_EXPERTS, ModelConfig
from core.model.experts import route
from core.model.intervention import Intervention, SublayerEdit
from core.model.kv_cache import KVCache
from core.model.transformer import Transformer
from tests.helpers.parity import randomised

SIZES = dict(vocab_size=40, d_model=16, n_layers=3, n_heads=4, n_context=32, d_ff=24, positions="rotary")
IDS = torch.randint(0, 40, (13,), generator=torch.Generator().manual_seed(3))
MIXTRAL = dict(n_experts=5, n_active_experts=2, d_expert=12, activation="swiglu", norm="rmsnorm", norm_bias=False,
               attention_bias=False, mlp_bias=False)
QWEN2 = MIXTRAL | dict(d_shared_expert=20, block_experts=(True, False, True), experts_renormalised=False)
GPT_OSS = dict(n_experts=6, n_active_experts=3, activation="swiglu_clamped", router_bias=True, attention_sinks=True)
PLAIN = dict(n_experts=4, n_active_experts=1, norm_placement="sandwich", residual_scale=0.5)
CASES = dict(mixtral=MIXTRAL, qwen2=QWEN2, gpt_oss=GPT_OSS, plain=PLAIN)


def model_of(settings) -> Transformer:
    return (randomised(Transformer(ModelConfig.of(**SIZES | settings)).initialise(torch.Generator().manual_seed(0)))
            .double())


def test_a_router_by_hand():
    """Router logits ln 1, ln 2, ln 5 give 1/8, 2/8, 5/8; the two largest are kept, or 2/7 and 5/7 of the two."""
    logits = torch.tensor([[1.0, 2.0, 5.0]], dtype=torch.float64).log()
    for renormalised, expected in ((False, [0, 2 / 8, 5 / 8]), (True, [0, 2 / 7, 5 / 7])):
        probs, weights = route(logits, 2, renormalised)
        torch.testing.assert_close(probs[0], torch.tensor([1 / 8, 2 / 8, 5 / 8], dtype=torch.float64))
        torch.testing.assert_close(weights[0], torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_the_output_is_the_weighted_sum_of_the_chosen_experts(settings):
    model = model_of(settings)
    config, norm = model.config, model.config.norm
    for layer, (weights, block) in enumerate(zip(model.blocks, model(IDS).blocks)):
        if not config.experts.in_block(layer):
            assert block.router_probs is None and block.mlp_post.shape == (13, 24)
            continue
        assert block.mlp_pre is None and block.mlp_post is None
        x, mixture = weights.mlp_norm(block.resid_mid, norm), weights.mixture
        logits = x @ mixture.W_R + (0 if mixture.b_R is None else mixture.b_R)
        torch.testing.assert_close(block.router_probs, torch.softmax(logits, -1))
        for position in range(13):
            largest = sorted(range(config.experts.n_experts), key=lambda e, row=logits[position]: -row[e])
            chosen = sorted(largest[:config.experts.n_active_experts])
            assert block.expert_weights[position].nonzero().flatten().tolist() == chosen
            renormalised = config.experts.experts_renormalised
            shares = torch.softmax(logits[position, chosen] if renormalised else logits[position], -1)
            shares = shares if config.experts.experts_renormalised else shares[chosen]
            torch.testing.assert_close(block.expert_weights[position, chosen], shares)
            out = sum(share * by_hand(mixture.experts[e], x[position], config) for share, e in zip(shares, chosen))
            if mixture.shared is not None:
                gate = 1 / (1 + torch.exp(-(x[position] * mixture.W_shared[:, 0]).sum()))
                out = out + gate * by_hand(mixture.shared, x[position], config)
            torch.testing.assert_close(block.mlp_out[position], out)


def by_hand(expert, x, config):
    up = x @ expert.W_1 + (expert.b_1 if config.mlp_bias else 0)
    if config.gated:
        gate = x @ expert.W_gate + (expert.b_gate if config.mlp_bias else 0)
        post = activate(config.activation, gate) * gate_factor(config.activation, up)
    else:
        post = activate(config.activation, up)
    return post @ expert.W_2 + (expert.b_2 if config.mlp_bias else 0)


def test_the_clamped_gate_by_hand():
    x = torch.tensor([-2.0, 1.0, 7.0, 30.0], dtype=torch.float64)
    held = torch.tensor([-2.0, 1.0, 7.0, 7.0], dtype=torch.float64)
    torch.testing.assert_close(activate("swiglu_clamped", x), held / (1 + torch.exp(-1.702 * held)))
    assert gate_factor("swiglu_clamped", torch.tensor([-9.0, 2.0, 9.0])).tolist() == [-6.0, 3.0, 8.0]
    assert gate_factor("swiglu", x) is x


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_both_roads_the_cache_the_parts_and_the_count_agree(settings):
    model = model_of(settings)
    config, trace = model.config, model(IDS)
    torch.testing.assert_close(model.logits(IDS), trace.logits)
    batch = torch.stack([IDS, IDS.flip(0)])
    torch.testing.assert_close(model(batch).logits[0], trace.logits)
    torch.testing.assert_close(model.logits(batch)[0], trace.logits)
    cache = KVCache()
    torch.testing.assert_close(torch.cat([model.logits(piece, cache) for piece in IDS.split([6, 1, 6])]), trace.logits)
    found = logit_contributions(model, trace, 8, 5)
    assert abs(found.total - found.logit) < 1e-10 * float(found.values.abs().sum())
    for layer, block in enumerate(trace.blocks):
        of_experts = [part.expert for part in found.parts if part.kind == "expert" and part.layer == layer]
        assert of_experts == ([] if block.expert_weights is None
                              else block.expert_weights[8].nonzero().flatten().tolist())
        assert (Part("mlp", layer) in found.parts) == (not config.experts.in_block(layer))
        assert (Part("shared expert", layer) in found.parts) == (config.experts.in_block(layer)
                                                                 and config.experts.d_shared_expert > 0)
    assert counting.n_parameters(config) == model.n_parameters
    sizes = [(name, p.numel()) for name, p in model.named_parameters()]
    assert counting.totals(sizes) == counting.parameters_by_part(config)
    assert not {name.rsplit(".", 1)[-1] for name, _ in sizes} & {"W_R", "W_shared"} - set(WIDTH_AXES)


def test_the_active_parameters_are_those_that_move_the_token():
    """For one token alone, the gradient of a logit reaches the parameters of its own experts only."""
    model = model_of(QWEN2).requires_grad_(True)
    config = model.config
    model(IDS[:1]).logits.sum().backward()
    idle = sum(p.numel() for name, p in model.named_parameters() if ".experts." in name and p.grad is None)
    expert = 3 * 16 * 12
    assert idle == 2 * 3 * expert == model.n_parameters - counting.active_parameters(config)
    assert counting.flops(config, 7)["mlp"] == 2 * 7 * (2 * (2 * expert + 16 * 5 + 3 * 16 * 20 + 16) + 3 * 16 * 24)


def test_edits_and_curves_reach_the_experts():
    model = model_of(MIXTRAL)
    silent = model(IDS, Intervention(sublayers=(SublayerEdit(1, "mlp"),))).blocks[1]
    assert torch.equal(silent.resid_post, silent.resid_mid)
    first = model(IDS, Intervention(activation="relu")).blocks[0]
    x, mixture = model.blocks[0].mlp_norm(first.resid_mid, "rmsnorm"), model.blocks[0].mixture
    position, weights = 4, first.expert_weights[4]
    out = sum(weights[e] * (torch.relu(x[position] @ mixture.experts[e].W_gate) * (x[position] @ mixture.experts[e].W_1)
                            @ mixture.experts[e].W_2) for e in weights.nonzero().flatten().tolist())
    torch.testing.assert_close(first.mlp_out[position], out)


@pytest.mark.parametrize("settings, sentence", [
    (dict(n_experts=4), "is from 1 to n_experts"), (dict(n_experts=2, n_active_experts=3), "is from 1 to n_experts"),
    (dict(n_active_experts=2), "is from 1 to n_experts"), (dict(d_expert=8), "belong to n_experts"),
    (dict(router_bias=True), "belong to n_experts"), (dict(MIXTRAL, d_ff=None), "has no experts"),
    (dict(MIXTRAL, block_experts=(True,)), "an entry for each of 3 blocks"),
    (dict(MIXTRAL, block_experts=(False,) * 3), "names no block of experts"),
    (dict(MIXTRAL, n_experts=MOST_EXPERTS // 3 + 1), "at most 32,768"),
    (dict(MIXTRAL, kind="encoder-decoder"), "one stack only")], ids=str)
def test_what_cannot_be_is_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        ModelConfig.of(**SIZES | settings)


def test_the_config_goes_to_disk_and_back():
    config = ModelConfig.of(**SIZES | QWEN2)
    assert ModelConfig.of(**config.to_dict() | dict(block_experts=[True, False, True])) == config
