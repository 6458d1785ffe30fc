"""The model: parity with transformers, the identities of the residual stream, no leak from the future,
symmetry, threads.
"""
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from core.model.config import MASKS, NORM_PLACEMENTS, NORMS, POSITIONS, ModelConfig
from core.model.fused import lay_out
from core.model.intervention import (
    NOTHING,
    HeadEdit,
    Intervention,
    NeuronEdit,
    Patch,
    ScoreEdit,
    SublayerEdit,
    WeightEdit,
)
from core.model.kv_cache import KVCache
from core.model.transformer import Transformer
from tests.helpers import parity
from tests.helpers.pairwise import pairwise


def small(dtype=torch.float64, **changes) -> Transformer:
    """A random model of 2 layers with every parameter away from its initial value."""
    settings = dict(vocab_size=50, d_model=16, n_layers=2, n_heads=4, n_context=24) | changes
    model = Transformer(ModelConfig.of(**settings)).initialise(torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn(p.shape, generator=generator) * 0.2)
    return model.to(dtype).eval().requires_grad_(False)


def tokens(n: int = 10, seed: int = 3, batch: tuple = ()) -> torch.Tensor:
    return torch.randint(0, 50, (*batch, n), generator=torch.Generator().manual_seed(seed))


# Of 864 wirings all that two settings can be together, and a hundred more.
ARCHITECTURES = pairwise([
    dict(zip(("positions", "activation", "norm", "norm_placement", "parallel_residual", "n_kv_heads", "mask"), choice))
    | dict(window=3)
    for choice in itertools.product(POSITIONS, ("gelu", "swiglu"), NORMS, NORM_PLACEMENTS, (False, True), (2, 4),
                                    MASKS[:3])
    if not (choice[4] and choice[3] != "pre")       # a window on both sides, which has no cache: test_encoder_parts
], n_drawn=100)


@pytest.mark.parametrize("make", [parity.gpt2, parity.llama, parity.gpt_neox])
def test_equal_to_transformers(make):
    theirs, ours = make()
    theirs, ours = theirs.double(), ours.double()
    ids = torch.randint(0, 61, (2, 17), generator=torch.Generator().manual_seed(0))
    expected = theirs(ids, output_attentions=True, output_hidden_states=True)
    trace = ours(ids)
    # rotary tables are float32 in transformers
    tolerance = 1e-12 if make is parity.gpt2 else 1e-6
    assert (trace.logits - expected.logits).abs().max() < tolerance
    for block, attentions in zip(trace.blocks, expected.attentions):
        assert (block.pattern - attentions).abs().max() < tolerance
    for block, hidden in zip(trace.blocks, expected.hidden_states):
        assert (block.resid_pre - hidden).abs().max() < tolerance
    assert (trace.h_final - expected.hidden_states[-1]).abs().max() < tolerance


def test_rows_of_every_pattern_sum_to_one_and_the_mask_holds():
    for mask in MASKS:
        for block in small(mask=mask, window=3)(tokens()).blocks:
            assert (block.pattern.sum(dim=-1) - 1).abs().max() < 1e-12
            assert (block.pattern.masked_select(~block.allowed) == 0).all()


@pytest.mark.parametrize("positions", POSITIONS)
def test_nothing_leaks_from_the_future(positions):
    model, ids = small(torch.float32, positions=positions), tokens(12)
    before = model(ids)
    for j in (1, 6, 11):
        changed = ids.clone()
        changed[j] = (changed[j] + 7) % 50
        after = model(changed)
        assert torch.equal(before.logits[:j],
                           after.logits[:j]), "outputs before the changed token must be the same to the bit"
        assert not torch.equal(before.logits[j], after.logits[j])
        for old, new in zip(before.blocks, after.blocks):
            assert (torch.equal(old.pattern[:, :j], new.pattern[:, :j])
                    and torch.equal(old.resid_post[:j], new.resid_post[:j]))


def test_the_stream_is_a_sum_in_a_pre_norm_model():
    model = small()
    trace = model(tokens())
    written = trace.embedding + trace.position
    for block, parameters in zip(trace.blocks, model.blocks):
        assert torch.equal(block.resid_mid, block.resid_pre + block.attn_out)
        assert torch.equal(block.resid_post, block.resid_mid + block.mlp_out)
        assert (block.head_contribution.sum(dim=-3) + parameters.b_O - block.attn_out).abs().max() < 1e-12
        written = written + block.attn_out + block.mlp_out
    assert (written - trace.resid_final).abs().max() / trace.resid_final.abs().max() < 1e-12
    assert torch.equal(trace.blocks[1].resid_pre, trace.blocks[0].resid_post)


def test_the_stream_adds_up_in_float32():
    trace = small(torch.float32)(tokens())
    written = trace.embedding + trace.position + sum(b.attn_out + b.mlp_out for b in trace.blocks)
    assert (written - trace.resid_final).norm() / trace.resid_final.norm() < 1e-5


def test_wiring_of_the_parallel_and_the_post_norm_block():
    block = small(parallel_residual=True)(tokens()).blocks[0]
    assert (block.resid_post - (block.resid_pre + block.attn_out + block.mlp_out)).abs().max() < 1e-12
    model = small(norm_placement="post")
    block, norm = model(tokens()).blocks[0], model.blocks[0].attn_norm
    total = block.resid_pre + block.attn_out
    by_hand = ((total - total.mean(-1, keepdim=True)) / (total.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
               * norm.weight + norm.bias)
    assert (block.resid_mid - by_hand).abs().max() < 1e-12
    assert torch.equal(block.X, block.resid_pre)


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda a: "-".join(map(str, a.values())))
def test_a_row_alone_gives_what_a_pass_gives_in_which_attention_writes_nothing(architecture):
    model, ids = small(**architecture), tokens()
    off = tuple(SublayerEdit(layer, "attention", "zero") for layer in range(model.config.n_layers))
    alone = model.logits_without_attention(model(ids).blocks[0].resid_pre)
    assert (model(ids, Intervention(sublayers=off)).logits - alone).abs().max() < 1e-12


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda a: "-".join(map(str, a.values())))
def test_fast_road_cache_and_batches_equal_the_plain_forward(architecture):
    model, ids = small(**architecture), tokens(batch=(3,))
    plain = model(ids).logits
    assert (plain - model.logits(ids)).abs().max() < 1e-6  # the ALiBi bias is the same; fused kernels round elsewhere
    assert (plain[1] - model(ids[1]).logits).abs().max() < 1e-12
    if architecture["mask"] != "bidirectional":
        cache = KVCache()
        pieces = [model.logits(piece, cache) for piece in ids.split([4, 1, 1, 4], dim=-1)]
        assert (torch.cat(pieces, dim=-2) - plain).abs().max() < 1e-6
        assert cache.n_tokens == 10
    last = model.logits(ids, last_only=True)
    assert last.shape == (3, 1, 50) and (last[:, 0] - plain[:, -1]).abs().max() < 1e-6


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_permuting_tokens_permutes_outputs_without_positions_and_mask(dtype, tolerance):
    model, ids, order = small(dtype), tokens(8), (3, 1, 7, 0, 6, 2, 5, 4)
    bare = dict(positions="none", mask="bidirectional")
    plain, permuted = model(ids, Intervention(**bare)), model(ids, Intervention(**bare, permutation=order))
    assert torch.equal(permuted.token_ids, ids[list(order)])
    assert (plain.h_final[list(order)] - permuted.h_final).abs().max() < tolerance
    for only in (dict(positions="none"), dict(mask="bidirectional")):
        plain, permuted = model(ids, Intervention(**only)), model(ids, Intervention(**only, permutation=order))
        assert (plain.h_final[list(order)] - permuted.h_final).abs().max() > 1e-3, f"{only} alone must not be symmetric"


def test_head_edits():
    model, ids = small(), tokens()
    plain = model(ids)
    off = model(ids, Intervention(heads=(HeadEdit(0, 2),)))
    assert (off.blocks[0].head_out[2] == 0).all()
    assert ((plain.blocks[0].attn_out - plain.blocks[0].head_contribution[2] - off.blocks[0].attn_out).abs().max()
            < 1e-12)
    assert (torch.equal(off.blocks[0].head_out[1], plain.blocks[0].head_out[1])
            and not torch.equal(off.logits, plain.logits))
    doubled = model(ids, Intervention(heads=(HeadEdit(1, 0, "scale", 2.0),)))
    assert torch.equal(doubled.blocks[1].head_out[0], 2 * plain.blocks[1].head_out[0])
    uniform = model(ids, Intervention(heads=(HeadEdit(1, 3, "uniform"),))).blocks[1]
    assert (uniform.pattern[3] - torch.tril(torch.ones(10, 10)) / torch.arange(1, 11)[:, None]).abs().max() < 1e-7
    assert (uniform.head_out[3, 4] - plain.blocks[1].V[3, :5].mean(dim=0)).abs().max() < 1e-7
    assert torch.equal(model(ids).logits, plain.logits), "an intervention must leave the model as it was"


def test_a_weight_and_a_neuron_are_switched_off():
    model, ids = small(), tokens()
    plain = model(ids)
    off = model(ids, Intervention(weights=(WeightEdit(1, 2, 7, 3),)))
    block, before = off.blocks[1], plain.blocks[1]
    assert block.pattern[2, 7, 3] == 0 and (block.pattern != before.pattern).sum() == 1
    fetched = before.head_out[2, 7] - before.pattern[2, 7, 3] * before.V[2, 3]
    assert (block.head_out[2, 7] - fetched).abs().max() < 1e-12
    assert torch.equal(off.logits[:7], plain.logits[:7]) and not torch.equal(off.logits[7], plain.logits[7])
    off = model(ids, Intervention(neurons=(NeuronEdit(0, 5),)))
    block, before = off.blocks[0], plain.blocks[0]
    assert (block.mlp_post[:, 5] == 0).all() and torch.equal(block.mlp_pre, before.mlp_pre)
    assert (block.mlp_out - (before.mlp_out - before.mlp_post[:, 5, None] * model.blocks[0].W_2[5])).abs().max() < 1e-12
    assert not torch.equal(off.logits, plain.logits)


def test_a_score_is_set_before_the_softmax():
    model, ids = small(), tokens()
    plain = model(ids)
    edited = model(ids, Intervention(scores=(ScoreEdit(1, 2, 7, 3, 1.5),)))
    block, before = edited.blocks[1], plain.blocks[1]
    assert block.scores[2, 7, 3] == 1.5 and (block.scores != before.scores).sum() == 1
    row = before.scores[2, 7, :8].clone()
    row[3] = 1.5
    assert (block.pattern[2, 7, :8] - row.softmax(-1)).abs().max() < 1e-12
    assert (block.pattern != before.pattern).any(-1).sum() == 1
    assert torch.equal(edited.logits[:7], plain.logits[:7]) and not torch.equal(edited.logits[7], plain.logits[7])
    own = model(ids, Intervention(scores=(ScoreEdit(1, 2, 7, 3, float(before.scores[2, 7, 3])),)))
    assert torch.equal(own.logits, plain.logits)


def test_mean_edits_put_in_the_mean_over_the_reference_text():
    model, ids, reference = small(), tokens(), tokens(7, seed=9)
    edit = Intervention(heads=(HeadEdit(1, 1, "mean"),), sublayers=(SublayerEdit(0, "mlp", "mean"),),
                        reference_ids=tuple(reference.tolist()))
    trace, source = model(ids, edit), model(reference)
    assert (trace.blocks[1].head_out[1] - source.blocks[1].head_out[1].mean(dim=0)).abs().max() < 1e-12
    assert (trace.blocks[0].mlp_out - source.blocks[0].mlp_out.mean(dim=0)).abs().max() < 1e-12
    with pytest.raises(ValueError, match="reference_ids"):
        Intervention(heads=(HeadEdit(0, 0, "mean"),))


def test_sublayer_edits_and_the_cut_path():
    model, ids = small(), tokens()
    off = model(ids, Intervention(sublayers=(SublayerEdit(0, "attention"), SublayerEdit(0, "mlp"))))
    assert torch.equal(off.blocks[0].resid_post, off.blocks[0].resid_pre)
    cut = model(ids, Intervention(residual=False)).blocks[1]
    assert torch.equal(cut.resid_mid, cut.attn_out) and torch.equal(cut.resid_post, cut.mlp_out)


def test_switches_of_scaling_positions_norms_and_masks():
    model, ids = small(), tokens()
    plain = model(ids).blocks[0]
    assert ((model(ids, Intervention(scale_scores=False)).blocks[0].scores - 2 * plain.scores).abs().max()
            < 1e-12), "d_k is 4"
    assert model(ids, Intervention(positions="none")).position is None
    rotated = model(ids, Intervention(positions="rotary")).blocks[0]
    assert torch.equal(rotated.Q_rotated[:, 0], rotated.Q[:, 0]) and not torch.equal(rotated.Q_rotated, rotated.Q)
    assert model(ids, Intervention(mask="sliding-window", window=2)).blocks[0].allowed.sum() == 19
    own = tuple(tuple(i == j for j in range(10)) for i in range(10))
    assert (model(ids, Intervention(allowed=own)).blocks[0].pattern - torch.eye(10)).abs().max() == 0
    bare = model(ids, Intervention(norm="none")).blocks[0]
    norm = model.blocks[0].attn_norm
    assert torch.equal(bare.X, bare.resid_pre * norm.weight + norm.bias)


def test_patching_a_stream_from_another_run():
    model, ids, source = small(), tokens(), tokens(10, seed=8)
    patched = model(ids, Intervention(patches=(Patch(1, 4, tuple(source.tolist()), 6),)))
    assert torch.equal(patched.blocks[1].resid_pre[4], model(source).blocks[1].resid_pre[6])
    assert torch.equal(patched.logits[:4], model(ids).logits[:4])
    everything = tuple(Patch(2, i, tuple(source.tolist()), i) for i in range(10))
    assert torch.equal(model(ids, Intervention(patches=everything)).logits, model(source).logits)


def test_a_patch_of_a_decoder_comes_from_a_run_behind_the_same_source():
    model = small(kind="encoder-decoder", n_encoder_layers=1)
    ids, other, source = tokens(), tokens(seed=9), tokens(6, seed=4)
    patched = model(ids, Intervention(patches=(Patch(1, 4, tuple(other.tolist()), 7),)), source_ids=source)
    from_there = model(other, source_ids=source)
    assert torch.equal(patched.blocks[1].resid_pre[4], from_there.blocks[1].resid_pre[7])
    everything = tuple(Patch(1, i, tuple(other.tolist()), i) for i in range(10))
    assert torch.equal(model(ids, Intervention(patches=everything), source_ids=source).logits, from_there.logits)


def test_arguments_that_cannot_be_run_are_refused_with_a_sentence():
    model, ids = small(), tokens()
    for bad, message in [(dict(heads=(HeadEdit(2, 0),)), "no layer 2"), (dict(heads=(HeadEdit(0, 4),)), "no head 4"),
                         (dict(permutation=(1, 0)), "permutation"), (dict(allowed=((True,),)), "mask"),
                         (dict(patches=(Patch(3, 0, (1,), 0),)), "patch")]:
        with pytest.raises(ValueError, match=message):
            model(ids, Intervention(**bad))
    for bad_ids, message in [(torch.zeros(0, dtype=torch.long), "no token"), (torch.tensor([50]), "outside"),
                             (torch.tensor([-1]), "outside"), (torch.zeros(25, dtype=torch.long), "24 positions")]:
        with pytest.raises(ValueError, match=message):
            model(bad_ids)


def test_config_refuses_what_cannot_be_built():
    good = dict(vocab_size=10, d_model=8, n_layers=1, n_heads=2, n_context=4)
    for bad in (dict(n_heads=0), dict(norm="batch"), dict(n_kv_heads=3), dict(positions="rotary", d_k=3),
                dict(end_of_text=10), dict(norm_placement="post", parallel_residual=True),
                dict(norm_placement="sandwich", parallel_residual=True), dict(d_ff=-1), dict(n_layers=1.5),
                dict(d_rotary=6), dict(d_rotary=3, positions="rotary"), dict(rotary_scaling=(1.0, 2.0)),
                dict(rotary_scaling=(0.0,)), dict(relative_buckets=6), dict(shared_norm=True),
                dict(positions="relative", relative_buckets=32, relative_max_distance=16),
                dict(begin_of_text=10), dict(n_token_types=-1), dict(kind="encoder-decoder", head_transform=True)):
        with pytest.raises(ValueError):
            ModelConfig.of(**(good | bad))
    config = ModelConfig.of(**good)
    assert ModelConfig.of(**config.to_dict()) == config and hash(config) == hash(ModelConfig.of(**good))
    slowed = ModelConfig.of(**good, rotary_scaling=[2.0])      # as JSON has it
    assert slowed == ModelConfig.of(**good, rotary_scaling=(2.0,)) and hash(slowed)
    with pytest.raises(ValueError, match="Unknown"):
        ModelConfig.of(**config.to_dict() | {"colour": 1})
    with pytest.raises(ValueError, match="Missing"):
        ModelConfig.of(**{"d_model": 8})


def test_a_model_without_feed_forward():
    model = small(d_ff=None)
    block = model(tokens()).blocks[0]
    assert block.mlp_out is None and torch.equal(block.resid_post, block.resid_mid)
    with pytest.raises(ValueError, match="feed-forward"):
        model(tokens(), Intervention(sublayers=(SublayerEdit(0, "mlp"),)))


def test_sixteen_threads_with_other_prompts_and_interventions_equal_the_serial_results():
    model = small(torch.float32)
    edits = [NOTHING, Intervention(heads=(HeadEdit(0, 1),)), Intervention(mask="bidirectional"),
             Intervention(positions="none")]
    jobs = [(tokens(4 + i, seed=i), edits[i % 4]) for i in range(16)]
    serial = [model(*job) for job in jobs]
    with ThreadPoolExecutor(16) as pool:
        for _ in range(10):
            for expected, got in zip(serial, pool.map(lambda job: model(*job), jobs)):
                assert torch.equal(expected.logits, got.logits)
                assert all(torch.equal(a.pattern, b.pattern) for a, b in zip(expected.blocks, got.blocks))


def test_weights_laid_out_are_the_same_numbers_and_multiplied_without_a_copy():
    model, ids = small(torch.float32), tokens()
    before, weights = model(ids).logits, {name: weight.clone() for name, weight in model.state_dict().items()}
    lay_out(model)
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())
    assert torch.equal(model(ids).logits, before)
    W = model.blocks[0].W_Q
    assert W.transpose(0, 1).reshape(16, 16).data_ptr() == W.data_ptr()


def test_a_trace_moves_whole():
    trace = small(torch.float32)(tokens())
    moved = trace.to("meta")
    tensors = [t for record in (moved, *moved.blocks) for t in vars(record).values() if isinstance(t, torch.Tensor)]
    assert len(tensors) > 30 and all(t.device.type == "meta" for t in tensors)
    assert trace.to("cpu").logits is trace.logits


def test_trace_counts_its_bytes_once():
    trace = small(torch.float32)(tokens())
    h, n = 4, 10
    patterns = 2 * 2 * h * n * n * 4
    assert patterns < trace.n_bytes < 20 * patterns
    assert trace.probs.sum(dim=-1).sub(1).abs().max() < 1e-5
