"""The encoder-decoder: parity with torch's, the identities of its trace, who sees whom, and the two roads."""
import math

import pytest
import torch
from torch import nn

from core.model import checkpoints
from core.model.config import POSITIONS, SCORES, ModelConfig
from core.model.edits import NO_EDITS
from core.model.kv_cache import KVCache
from core.model.pass_settings import PassSettings
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from tests.helpers.parity import copied, randomised, split_heads

SETTINGS = dict(kind="encoder-decoder", vocab_size=40, d_model=16, n_layers=2, n_encoder_layers=3, n_heads=4,
                n_context=16, d_ff=24)


def small(dtype=torch.float64, **changes) -> Transformer:
    """A model with every parameter random."""
    config = ModelConfig.of(**SETTINGS | changes)
    return randomised(Transformer(config).initialise(torch.Generator().manual_seed(0))).to(
        dtype)


def ids(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 40, shape, generator=torch.Generator().manual_seed(seed))


# Parity with torch.nn.Transformer

def torchs_model(placement: str) -> nn.Transformer:
    """Ours in torch's modules; without torch's extra norm at the end of a post-norm stack, which Vaswani et al. 2017 do
    not have either.
    """
    options = dict(d_model=16, nhead=4, dim_feedforward=24, dropout=0.0, activation="gelu", batch_first=True,
                   norm_first=placement == "pre")
    last = (lambda: nn.LayerNorm(16)) if placement == "pre" else (lambda: None)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**options), 3, last(), enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**options), 2, last())
    return randomised(nn.Transformer(d_model=16, nhead=4, custom_encoder=encoder, custom_decoder=decoder,
                                     batch_first=True))


def attention_weights(theirs: dict, name: str, ours: str) -> dict:
    weights = {f"{ours}W_O": theirs[f"{name}.out_proj.weight"].T.reshape(4, 4, 16),
               f"{ours}b_O": theirs[f"{name}.out_proj.bias"]}
    for letter, W, b in zip("QKV", theirs[f"{name}.in_proj_weight"].chunk(3), theirs[f"{name}.in_proj_bias"].chunk(3)):
        weights[f"{ours}W_{letter}"], weights[f"{ours}b_{letter}"] = split_heads(W.T, 4), b.reshape(4, 4)
    return weights


def stack_weights(theirs: dict, stack: str, ours: str, n_layers: int, norms: tuple[str, ...], pre: bool) -> dict:
    weights = {}
    for l in range(n_layers):
        there, here = f"{stack}.layers.{l}.", f"{ours}blocks.{l}."
        weights |= attention_weights(theirs, there + "self_attn", here)
        if "cross.norm" in norms:
            weights |= attention_weights(theirs, there + "multihead_attn", here + "cross.")
        for number, norm in enumerate(norms, 1):
            weights |= {f"{here}{norm}.{part}": theirs[f"{there}norm{number}.{part}"] for part in ("weight", "bias")}
        for number in (1, 2):
            weights[f"{here}W_{number}"], weights[f"{here}b_{number}"] = (theirs[f"{there}linear{number}.weight"].T,
                                                                          theirs[f"{there}linear{number}.bias"])
    if pre:
        weights |= {f"{ours}final_norm.{part}": theirs[f"{stack}.norm.{part}"] for part in ("weight", "bias")}
    return weights


def equal_model(theirs: nn.Transformer, placement: str) -> Transformer:
    random, weights = small(norm_placement=placement), theirs.state_dict()
    ours = {name: random.state_dict()[name] for name in ("E", "P", "encoder.P")}
    ours |= stack_weights(weights, "encoder", "encoder.", 3, ("attn_norm", "mlp_norm"), placement == "pre")
    ours |= stack_weights(weights, "decoder", "", 2, ("attn_norm", "cross.norm", "mlp_norm"), placement == "pre")
    return copied(random.config, ours).double()


# those that torch has; the others are in test_norm_placements.py
@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "batch"])
def test_equal_to_torch(placement, batch):
    theirs = torchs_model(placement).double()
    ours = equal_model(theirs, placement)
    source, target = ids(*batch, 9), ids(*batch, 6, seed=1)
    memory = theirs.encoder(ours.E[source] + ours.encoder.P[:9])
    expected = theirs.decoder(ours.E[target] + ours.P[:6], memory,
                              tgt_mask=nn.Transformer.generate_square_subsequent_mask(6, dtype=torch.float64))
    trace = ours(target, source_ids=source)
    assert (trace.encoder.h_final - memory).abs().max() < 1e-12
    assert (trace.h_final - expected).abs().max() < 1e-12
    assert (trace.logits - expected @ ours.E.T).abs().max() < 1e-12


# The trace

@pytest.mark.parametrize("settings", [dict(), dict(norm_placement="post"), dict(n_kv_heads=2), dict(positions="alibi"),
                                      dict(score="additive")], ids=str)
def test_the_identities_of_cross_attention(settings):
    model = small(**settings)
    trace = model(ids(2, 6, seed=1), source_ids=ids(2, 9))
    for block, weights in zip(trace.blocks, model.blocks):
        cross = block.cross
        assert cross.pattern.shape == (2, 4, 6, 9) and (cross.pattern.sum(-1) - 1).abs().max() < 1e-12
        assert (torch.softmax(cross.scores, -1) - cross.pattern).abs().max() < 1e-12
        assert (cross.head_contribution.sum(-3) + weights.cross.b_O - cross.attn_out).abs().max() < 1e-12
        assert cross.K.shape[-2] == cross.V.shape[-2] == 9 and cross.Q.shape[-2] == 6
    assert all(block.cross is None for block in trace.encoder.blocks) and len(trace.encoder.blocks) == 3


def test_the_streams_add_up():
    trace = small()(ids(6, seed=1), source_ids=ids(9))
    for stack, first in ((trace, trace.embedding + trace.position),
                         (trace.encoder, trace.encoder.embedding + trace.encoder.position)):
        written = first + sum(b.attn_out + b.mlp_out + (b.cross.attn_out if b.cross else 0) for b in stack.blocks)
        assert (written - stack.resid_final).abs().max() < 1e-12
    for block in trace.blocks:
        assert torch.equal(block.cross.resid_post, block.resid_mid + block.cross.attn_out)
        assert torch.equal(block.resid_post, block.cross.resid_post + block.mlp_out)


def test_cross_attention_by_hand():
    """One head.

    The first query, 1, meets the keys 0 and ln 3: a quarter and three quarters of the values 0 and 4 make 3. The
    second, 0, halves them.
    """
    cross = Transformer(ModelConfig(kind="encoder-decoder", vocab_size=2, d_model=2, n_layers=1, n_heads=1, n_context=2,
                                    d_k=1, d_v=1)).blocks[0].cross
    with torch.no_grad():
        cross.W_Q[0, 0, 0], cross.W_K[0, 1, 0], cross.W_V[0, 1, 0], cross.W_O[0, 0, 0] = 1.0, math.log(3), 4.0, 1.0
        queries, memory = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        made = cross.attend_traced(queries, memory,
                                   PassSettings("layernorm", True, True, torch.ones(2, 2, dtype=torch.bool)), NO_EDITS)
    assert torch.allclose(made["pattern"][0], torch.tensor([[0.25, 0.75], [0.5, 0.5]]))
    assert torch.allclose(made["attn_out"], torch.tensor([[3.0, 0.0], [2.0, 0.0]]))


# Who sees whom

def test_the_encoder_sees_all_of_the_source_and_nothing_of_the_decoder():
    model, source = small(), ids(9)
    first, second = (model(ids(6, seed=seed), source_ids=source) for seed in (1, 2))
    assert torch.equal(first.encoder.h_final, second.encoder.h_final)
    assert all(block.allowed.all() and (block.pattern > 0).all() for block in first.encoder.blocks)
    changed = source.clone()
    changed[8] = (changed[8] + 1) % 40
    assert (model(ids(6, seed=1), source_ids=changed).encoder.h_final != first.encoder.h_final).any(-1).all()


def test_the_decoder_sees_the_whole_source_and_no_later_token():
    model, source, target = small(torch.float32), ids(9), ids(6, seed=1)
    before = model(target, source_ids=source)
    for j in (1, 5):
        changed = target.clone()
        changed[j] = (changed[j] + 7) % 40
        after = model(changed, source_ids=source)
        assert torch.equal(before.logits[:j], after.logits[:j]) and not torch.equal(before.logits[j], after.logits[j])
        assert all(torch.equal(a.cross.pattern[:, :j], b.cross.pattern[:, :j])
                   for a, b in zip(before.blocks, after.blocks))
    changed = source.clone()
    changed[8] = (changed[8] + 1) % 40
    assert (model(target, source_ids=changed).logits != before.logits).any(-1).all()


# The two roads

@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("settings", [dict(), dict(norm_placement="post", n_kv_heads=2, activation="swiglu"),
                                      dict(norm_placement="sandwich"), dict(norm_placement="deepnorm"),
                                      dict(score="multiplicative"), dict(score="additive")], ids=str)
def test_the_faster_road_and_the_cache_equal_the_plain_forward(positions, settings):
    model, source, target = small(torch.float32, positions=positions, **settings), ids(3, 9), ids(3, 6, seed=1)
    trace = model(target, source_ids=source)
    memory = model.encode(source)
    assert (memory - trace.encoder.h_final).abs().max() < 1e-5
    assert (model.logits(target, memory=memory) - trace.logits).abs().max() < 1e-5
    cache = KVCache()
    pieces = [model.logits(piece, cache, memory=memory) for piece in target.split([1, 3, 1, 1], dim=-1)]
    assert (torch.cat(pieces, dim=-2) - trace.logits).abs().max() < 1e-5
    assert (model(target[1], source_ids=source[1]).logits - trace.logits[1]).abs().max() < 1e-5


def test_a_word_begins_at_length_one():
    """The embeddings of an encoder-decoder have variance 1/d, those of a decoder 0.02 squared."""
    settings = dict(vocab_size=500, d_model=64, n_layers=1, n_heads=4, n_context=8)
    for kind, deviation in (("encoder-decoder", 1 / 8), ("decoder", 0.02)):
        model = Transformer(ModelConfig.of(kind=kind, **settings)).initialise(torch.Generator().manual_seed(0))
        assert (model.E.std().item() == pytest.approx(deviation, rel=0.02)
                and model.P.std().item() == pytest.approx(0.02, rel=0.1))


def test_gradients_reach_every_parameter():
    model = small().requires_grad_(True)
    loss = model.logits(ids(2, 6, seed=1), memory=model.encode(ids(2, 9))).logsumexp(-1).sum()
    loss.backward()
    idle = [name for name, p in model.named_parameters() if not p.grad.any()]
    # A bias of the keys adds the same to all scores of a query, and the softmax takes it out again.
    assert all(name.endswith("b_K") for name in idle)
    assert all(p.grad.abs().max() < 1e-10 for name, p in model.named_parameters() if name.endswith("b_K"))


# Refusals and files

def test_a_source_that_is_missing_or_needless_is_named():
    model, decoder = small(), Transformer(ModelConfig(vocab_size=40, d_model=16, n_layers=1, n_heads=4, n_context=16))
    for call in (lambda: model(ids(6)), lambda: model.logits(ids(6))):
        with pytest.raises(ValueError, match="This model translates: give it a source text as well"):
            call()
    for call in (lambda: decoder(ids(6), source_ids=ids(9)), lambda: decoder.encode(ids(9)),
                 lambda: decoder.logits(ids(6), memory=torch.zeros(9, 16))):
        with pytest.raises(ValueError, match="This model has no encoder"):
            call()
    with pytest.raises(ValueError, match="There is no token to read"):
        model(ids(6), source_ids=ids(0))
    with pytest.raises(ValueError, match="outside the vocabulary"):
        model(ids(6), source_ids=torch.tensor([40]))
    with pytest.raises(ValueError, match="learned 16 positions, and the text has 17 tokens"):
        model(ids(6), source_ids=ids(17))


def test_an_encoder_decoder_comes_back_from_disk(tmp_path):
    tokenizer = Tokenizer.train(["the cat"], 260)
    model = small(torch.float32, vocab_size=260, score=SCORES[1])
    checkpoints.save(tmp_path, model, tokenizer, "", dtype=torch.float32)
    loaded, _ = checkpoints.load(tmp_path)
    assert loaded.config == model.config and loaded.config.n_encoder_layers == 3
    assert torch.equal(loaded(ids(6), source_ids=ids(9)).logits, model(ids(6), source_ids=ids(9)).logits)
