"""A block taken apart: its rows add up as its formula says, by numpy; a token that is exchanged is seen by attention
alone; the norms can be moved.
"""
import dataclasses

import numpy as np
import pytest
import torch

from core.analysis import one_block
from core.analysis.norm_inputs import feed_forward_input
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from tests.core.analysis.test_stream_and_heads import run

# name of a wiring: its settings, and its rows
SERIAL = "X norm attention O norm2 hidden mlp H"
WIRINGS = {
    "pre": ({}, SERIAL),
    "post": ({"norm_placement": "post"}, "X attention sum O hidden mlp sum2 H"),
    "sandwich": ({"norm_placement": "sandwich"}, "X norm attention added O norm2 hidden mlp added2 H"),
    "output": ({"norm_placement": "output"}, "X attention added O hidden mlp added2 H"),
    "deepnorm": ({"norm_placement": "deepnorm"}, "X attention sum O hidden mlp sum2 H"),
    "parallel": ({"parallel_residual": True}, "X norm attention norm2 hidden mlp H"),
    "parallel, one norm": ({"parallel_residual": True, "shared_norm": True}, "X norm attention hidden mlp H"),
    "smaller shares": ({"residual_scale": 0.25}, "X norm attention added O norm2 hidden mlp added2 H"),
    "attention alone": ({"d_ff": None}, "X norm attention H"),
    "attention alone, post": ({"d_ff": None, "norm_placement": "post"}, "X attention sum H"),
    "experts": ({"n_experts": 4, "n_active_experts": 2}, "X norm attention O norm2 mlp H"),
    "experts in a sandwich": ({"n_experts": 4, "n_active_experts": 2, "norm_placement": "sandwich"},
                              "X norm attention added O norm2 mlp added2 H"),
}
LAYER, EXACT = 1, {"rtol": 0, "atol": 1e-12}
wirings = pytest.mark.parametrize("wiring", WIRINGS)


def shaken(wiring: str):
    """A random model of this wiring, gains and biases of its norms random too, and its trace."""
    model, trace = run(**WIRINGS[wiring][0])
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for p in model.parameters():
            if p.ndim == 1:
                p.add_(0.3 * torch.randn(p.shape, generator=generator, dtype=p.dtype))
        return model, model(trace.token_ids)


def array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().numpy()


def layer_norm(x: np.ndarray, norm) -> np.ndarray:
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + norm.epsilon)
    return y * array(norm.weight) + array(norm.bias)


def attended(block, z: np.ndarray) -> np.ndarray:
    """Causal attention by hand: softmax of q·k / √d_k times the values, head by head, and their sum through W_O."""
    total, later = array(block.b_O).copy(), np.triu(np.ones((len(z), len(z)), dtype=bool), 1)
    for head in range(block.config.n_heads):
        q, k, v = (z @ array(W)[head] + array(b)[head]
                   for W, b in ((block.W_Q, block.b_Q), (block.W_K, block.b_K), (block.W_V, block.b_V)))
        scores = np.exp(np.where(later, -np.inf, q @ k.T / np.sqrt(block.config.d_k)))
        total = total + scores / scores.sum(-1, keepdims=True) @ v @ array(block.W_O)[head]
    return total


def inner(part, z: np.ndarray) -> np.ndarray:
    return array(torch.nn.functional.gelu(torch.from_numpy(z @ array(part.W_1) + array(part.b_1))))


def fed(block, z: np.ndarray) -> np.ndarray:
    """The feed-forward part's output, by hand; of experts the two likeliest, by their shares of their sum."""
    if block.mixture is None:
        return inner(block, z) @ array(block.W_2) + array(block.b_2)
    out = np.zeros_like(z)
    for token, p in enumerate(np.exp(z @ array(block.mixture.W_R))):
        chosen = np.argsort(p)[-2:]
        for expert in chosen:
            part = block.mixture.experts[expert]
            out[token] += p[expert] / p[chosen].sum() * (inner(part, z[token]) @ array(part.W_2) + array(part.b_2))
    return out


def by_hand(wiring: str, block, X: np.ndarray) -> dict[str, np.ndarray]:
    """The rows of a block from its weights and from what enters it, each wiring written out."""
    a, b = block.attn_norm, getattr(block, "mlp_norm", None)
    if wiring in ("parallel", "parallel, one norm"):
        one = layer_norm(X, a)
        two = one if wiring == "parallel, one norm" else layer_norm(X, b)
        attention, mlp = attended(block, one), fed(block, two)
        return {"X": X, "norm": one, "attention": attention, "norm2": two, "mlp": mlp, "H": X + attention + mlp}
    if wiring == "attention alone":
        return {"X": X, "attention": attended(block, layer_norm(X, a)), "H": X + attended(block, layer_norm(X, a))}
    if wiring == "attention alone, post":
        return {"X": X, "sum": X + attended(block, X), "H": layer_norm(X + attended(block, X), a)}
    if wiring in ("post", "deepnorm"):
        alpha = 6 ** 0.25 if wiring == "deepnorm" else 1            # (2 L)^(1/4) of 3 blocks
        attention = attended(block, X)
        middle = layer_norm(alpha * X + attention, a)
        total = alpha * middle + fed(block, middle)
        return {"X": X, "attention": attention, "sum": alpha * X + attention, "O": middle, "mlp": fed(block, middle),
                "sum2": total, "H": layer_norm(total, b)}
    share = 0.25 if wiring == "smaller shares" else 1

    def read(x: np.ndarray, norm) -> np.ndarray:
        return x if wiring == "output" else layer_norm(x, norm)

    def added(x: np.ndarray, norm) -> np.ndarray:
        return share * x if norm is None else layer_norm(x, norm)

    attention = attended(block, read(X, a))
    middle = X + added(attention, block.attn_out_norm)
    mlp = fed(block, read(middle, b))
    return {"X": X, "norm": read(X, a), "attention": attention, "added": added(attention, block.attn_out_norm),
            "O": middle, "norm2": read(middle, b), "mlp": mlp, "added2": added(mlp, block.mlp_out_norm),
            "H": middle + added(mlp, block.mlp_out_norm)}


@wirings
def test_every_row_is_what_the_formula_of_the_block_makes_of_what_enters(wiring):
    model, trace = shaken(wiring)
    block, rows = model.blocks[LAYER], one_block.rows(model, trace.blocks[LAYER], LAYER)
    assert " ".join(row.name for row in rows) == WIRINGS[wiring][1]
    expected = by_hand(wiring, block, array(trace.blocks[LAYER].resid_pre))
    assert {"X", "H"} <= expected.keys()
    for row in rows:
        assert row.name in expected or row.name in ("norm", "attention", "hidden")
        assert row.name not in expected or np.allclose(array(row.values), expected[row.name], **EXACT), row.name
    if hidden := [row.values for row in rows if row.name == "hidden"]:
        assert hidden[0].shape == (7, 48)
        assert np.allclose(array(hidden[0]) @ array(block.W_2) + array(block.b_2), expected["mlp"], **EXACT)
    assert torch.equal(rows[-1].values, trace.blocks[LAYER].resid_post)
    assert torch.equal(rows[-1].values, trace.blocks[LAYER + 1].resid_pre)


@wirings
def test_each_row_is_computed_of_rows_above_it_and_every_row_is_used(wiring):
    names = WIRINGS[wiring][1].split()
    found = one_block.wiring(run(**WIRINGS[wiring][0])[0].config, LAYER)
    assert all(names.index(each) < names.index(name) for name, of in found.items() for each in of)
    assert {each for of in found.values() for each in of} == set(names) - {"H"}
    sums = [of for of in found.values() if len(of) > 1]
    assert [of[0] for of in sums] == (["X"] if "O" not in names else ["X", "O"])


def test_the_paths_of_a_parallel_block_all_arrive_at_its_one_sum():
    config, one = (run(**WIRINGS[name][0])[0].config for name in ("parallel", "parallel, one norm"))
    assert one_block.wiring(config, 1) == {
        "X": (), "norm": ("X",), "attention": ("norm",), "norm2": ("X",), "hidden": ("norm2",), "mlp": ("hidden",),
        "H": ("X", "attention", "mlp")}
    of = one_block.wiring(one, 1)
    assert of["hidden"] == ("norm",) and of["H"] == ("X", "attention", "mlp")


def test_a_first_block_without_a_norm_has_no_row_of_it():
    config = run(first_norm=False, embedding_norm=True)[0].config
    assert list(one_block.wiring(config, 0)) == ["X", "attention", "O", "norm2", "hidden", "mlp", "H"]
    assert list(one_block.wiring(config, 1)) == SERIAL.split()


def test_a_block_has_neurons_where_it_is_not_of_experts():
    config = run(n_experts=4, n_active_experts=2, block_experts=(True, False, True))[0].config
    assert ["hidden" in one_block.wiring(config, layer) for layer in range(3)] == [False, True, False]


@wirings
def test_a_token_that_is_exchanged_before_the_feed_forward_part_changes_its_own_rows_alone(wiring):
    model, trace = shaken(wiring)
    block, names = trace.blocks[LAYER], WIRINGS[wiring][1].split()
    same, other = (one_block.rows(model, block, LAYER, one_block.Exchange("mlp", 2, source)) for source in (2, 5))
    plain = one_block.rows(model, block, LAYER)
    assert all(torch.allclose(a.values, b.values, **EXACT) for a, b in zip(plain, same))
    changed = {row.name: (row.values != before.values).any(-1).nonzero().flatten().tolist()
               for row, before in zip(other, same)}
    from_here = names.index("O") if "O" in names else names.index("norm2") if "norm2" in names else len(names)
    if wiring == "parallel, one norm":
        from_here = names.index("hidden")       # attention reads the same norm
    assert changed == {name: [2] * (k >= from_here) for k, name in enumerate(names)}
    if "mlp" in names:
        mlp = other[names.index("mlp")].values
        assert torch.allclose(mlp[2], mlp[5], **EXACT)


def test_the_norms_can_stand_at_their_other_place_with_the_very_same_weights():
    model, trace = run()
    post = one_block.rewired(model, "post")
    assert post.blocks[0].W_1.data_ptr() == model.blocks[0].W_1.data_ptr() and model.config.norm_placement == "pre"
    again = Transformer(dataclasses.replace(model.config, norm_placement="post")).double()
    again.load_state_dict({name: w for name, w in model.state_dict().items() if not name.startswith("final_norm")})
    assert torch.equal(post(trace.token_ids).logits, again(trace.token_ids).logits)
    back = one_block.rewired(again.eval(), "pre")
    assert float(back.final_norm.weight.sum()) == model.config.d_model and not back.final_norm.bias.any()


@pytest.mark.parametrize(("settings", "rewired"), [
    ({}, True), ({"norm_placement": "post"}, True), ({"norm_placement": "sandwich"}, False),
    ({"norm_placement": "output"}, False), ({"norm_placement": "deepnorm"}, False),
    ({"parallel_residual": True}, False), ({"d_ff": None}, True),
    ({"first_norm": False, "embedding_norm": True}, False),
    ({"n_experts": 4, "n_active_experts": 2}, True),
    ({"kind": "encoder-decoder", "n_encoder_layers": 1}, False)])
def test_which_blocks_can_be_wired_anew(settings, rewired):
    config = ModelConfig.of(**{"vocab_size": 9, "d_model": 8, "n_layers": 1, "n_heads": 2, "n_context": 4} | settings)
    assert one_block.can_be_rewired(config) == rewired
    if rewired:
        for placement in one_block.PLACEMENTS:
            assert one_block.rewired(Transformer(config), placement).config.norm_placement == placement


# ---- the decoder behind an encoder -----------------------------------------------------------------------------------

T5 = {"norm": "rmsnorm", "norm_bias": False, "attention_bias": False, "mlp_bias": False, "positions": "relative",
      "relative_buckets": 8, "relative_max_distance": 16, "scale_scores": False}
# name of a decoder's block: its settings, its rows, and the fields of the trace that they are, where they are one
CROSSED = {
    "crossed pre": ({}, "X norm attention O cross_norm cross C norm2 hidden mlp H"),
    "crossed post": ({"norm_placement": "post"}, "X attention sum O cross cross_sum C hidden mlp sum2 H"),
    "T5": (T5 | {"activation": "relu"}, "X norm attention O cross_norm cross C norm2 hidden mlp H"),
    "T5, gated": (T5 | {"activation": "geglu"}, "X norm attention O cross_norm cross C norm2 hidden mlp H"),
    "Marian": ({"norm_placement": "post", "positions": "sinusoidal", "sinusoidal_halves": True, "activation": "swish",
                "embedding_scale": 12 ** 0.5}, "X attention sum O cross cross_sum C hidden mlp sum2 H"),
    "crossed sandwich": ({"norm_placement": "sandwich"},
                         "X norm attention added O cross_norm cross cross_added C norm2 hidden mlp added2 H"),
    "crossed deepnorm": ({"norm_placement": "deepnorm"}, "X attention sum O cross cross_sum C hidden mlp sum2 H"),
    "crossed attention alone": ({"d_ff": None}, "X norm attention O cross_norm cross H"),
}
FIELDS = {"X": "resid_pre", "norm": "X", "attention": "attn_out", "added": "attn_added", "O": "resid_mid",
          "hidden": "mlp_post", "mlp": "mlp_out", "added2": "mlp_added", "H": "resid_post", "cross_norm": "cross.X",
          "cross": "cross.attn_out", "cross_added": "cross.attn_added", "C": "cross.resid_post"}
N, M = 5, 8                 # beside 3 blocks of 4 heads, behind an encoder of 2
crossings = pytest.mark.parametrize("crossing", CROSSED)


def crossed(crossing: str):
    """A random encoder-decoder in float64 with such a block, all its weights shaken, and its trace."""
    config = ModelConfig.of(**{"kind": "encoder-decoder", "n_encoder_layers": 2, "vocab_size": 23, "d_model": 12,
                            "n_layers": 3, "n_heads": 4, "n_context": 16} | CROSSED[crossing][0])
    model, generator = Transformer(config).double(), torch.Generator().manual_seed(11)
    model.initialise(generator)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator, dtype=p.dtype))
        ids, source = (torch.randint(0, 23, (n,), generator=generator) for n in (N, M))
        return model, model(ids, source_ids=source)


def cross_attended(cross, z: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """Cross-attention by hand: queries of z, keys and values of the memory, no mask and no positions."""
    config, total = cross.config, 0.0 if cross.b_O is None else array(cross.b_O)
    for head in range(config.n_heads):
        q, k, v = (x @ array(W)[head] + (0.0 if b is None else array(b)[head]) for x, W, b in (
            (z, cross.W_Q, cross.b_Q), (memory, cross.W_K, cross.b_K), (memory, cross.W_V, cross.b_V)))
        scores = np.exp(q @ k.T / (np.sqrt(config.d_k) if config.scores.scale_scores else 1.0))
        total = total + scores / scores.sum(-1, keepdims=True) @ v @ array(cross.W_O)[head]
    return total


@crossings
def test_the_rows_of_a_decoder_are_those_of_the_trace_to_the_bit(crossing):
    model, trace = crossed(crossing)
    block = trace.blocks[LAYER]
    rows = {row.name: row.values for row in one_block.rows(model, block, LAYER)}
    assert " ".join(rows) == CROSSED[crossing][1]
    for name, values in rows.items():
        place, _, field = FIELDS.get(name, "").rpartition(".")
        if field:
            assert torch.equal(values, getattr(block.cross if place else block, field)), name
    if "norm2" in rows:
        assert torch.equal(rows["norm2"], model.blocks[LAYER].mlp_norm(rows["C"], model.config.norm))
    assert torch.equal(rows["H"], trace.blocks[LAYER + 1].resid_pre)


@crossings
def test_what_cross_attention_adds_and_each_sum_are_those_of_the_formula(crossing):
    model, trace = crossed(crossing)
    weights, config = model.blocks[LAYER], model.config
    rows = {row.name: row for row in one_block.rows(model, trace.blocks[LAYER], LAYER)}
    read = rows[rows["cross"].of[0]].values
    by_hand = cross_attended(weights.cross, array(read), array(trace.encoder.h_final))
    assert by_hand.shape == (N, 12) and np.allclose(array(rows["cross"].values), by_hand, **EXACT)
    alpha = (3 * 3) ** 0.25 if crossing == "crossed deepnorm" else 1            # (3 L)^(1/4) of a decoder
    sums = [row for row in rows.values() if len(row.of) > 1]
    assert [row.of[0] for row in sums] == ["X", "O", "C"][:len(one_block.parts(config))]
    for row in sums:
        stream, added = (rows[name].values for name in row.of)
        assert torch.allclose(row.values, alpha * stream + added, **EXACT), row.name
    if config.norms_sums:
        norms = {"sum": weights.attn_norm, "cross_sum": weights.cross.norm, "sum2": weights.mlp_norm}
        ends = {row.of[0]: row for row in rows.values() if row.of and row.of[0] in norms}
        assert list(ends) == list(norms)
        assert all(torch.equal(row.values, norms[name](rows[name].values, config.norm)) for name, row in ends.items())


@crossings
def test_each_row_of_a_decoder_is_computed_of_rows_above_it_and_every_row_is_used(crossing):
    names = CROSSED[crossing][1].split()
    found = one_block.wiring(crossed(crossing)[0].config, LAYER)
    assert all(names.index(each) < names.index(name) for name, of in found.items() for each in of)
    assert {each for of in found.values() for each in of} == set(names) - {"H"}


@crossings
@pytest.mark.parametrize("before", ["cross", "mlp"])
def test_a_token_exchanged_in_a_decoder_changes_its_own_rows_alone(crossing, before):
    model, trace = crossed(crossing)
    block, memory, names = trace.blocks[LAYER], trace.encoder.h_final, CROSSED[crossing][1].split()
    plain = one_block.rows(model, block, LAYER)
    same, other = (one_block.rows(model, block, LAYER, one_block.Exchange(before, 1, source), memory)
                   for source in (1, 3))
    assert all(torch.allclose(a.values, b.values, **EXACT) for a, b in zip(plain, same))
    changed = {row.name: (row.values != again.values).any(-1).nonzero().flatten().tolist()
               for row, again in zip(other, same)}
    stream = {"cross": "O", "mlp": "C" if "C" in names else ""}[before]
    from_here = names.index(stream) if stream else len(names)
    assert changed == {name: [1] * (place >= from_here) for place, name in enumerate(names)}
    for row in other[from_here + 1:]:                   # as the other token's own
        assert torch.allclose(row.values[1], row.values[3], **EXACT), row.name


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_relu_in_the_place_of_the_curve_is_that_of_plain_numpy(activation: str):
    """The neurons below 0 are counted from the weights; a gate goes on multiplying the second projection."""
    model, trace = run(activation=activation)
    model.requires_grad_(False)
    weights, block = model.blocks[LAYER], trace.blocks[LAYER]
    read = feed_forward_input(weights, block, model.config.norm)[-1]
    found = one_block.with_relu(weights, read)
    z, up = block.mlp_pre[-1].numpy(), (read @ weights.W_1 + weights.b_1).numpy()
    post = np.maximum(z, 0) * (up if model.config.gated else 1)
    out = post @ weights.W_2.numpy() + weights.b_2.numpy()
    own = block.mlp_out[-1].numpy()
    assert found.zeros == (z <= 0).sum() > 0
    assert found.share == pytest.approx(np.linalg.norm(out - own) / np.linalg.norm(own), abs=1e-6)
    assert (found.share < 1e-6) is (activation == "relu")
