"""The operations beside the matrix products: a pass written out number by number, in which each sum, product, quotient,
comparison and function is noted as it is done, against the formulas; its results against the model's own.
"""
from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from core.cost import counting, elementwise
from core.model.config import STORIES, ModelConfig
from core.model.norms import deepnorm_constants
from core.model.positional import alibi_bias, relative_index, rotary_angles, sinusoidal
from core.model.presets import PRESETS
from core.model.transformer import Transformer

N = 3
SIZES = dict(vocab_size=5, d_model=4, n_layers=2, n_heads=2, n_context=8, d_ff=3)
DESIGNS = [dict(), dict(norm="rmsnorm", norm_bias=False), dict(norm_placement="post"), dict(norm_placement="sandwich"),
           dict(norm_placement="deepnorm"), dict(activation="relu"), dict(activation="gelu_tanh"),
           dict(activation="swish"), dict(activation="swiglu"), dict(positions="rotary", n_kv_heads=1),
           dict(positions="alibi"), dict(positions="relative", relative_max_distance=4), dict(positions="sinusoidal"),
           dict(positions="none", attention_bias=False, mlp_bias=False), dict(scale_scores=False, output_bias=False),
           dict(d_ff=None, tied_embeddings=False), dict(kind="encoder"), dict(d_k=4, d_v=1),
           dict(parallel_residual=True, shared_norm=True), dict(unembedding_bias=True, embedding_scale=2.0),
           dict(n_experts=4, n_active_experts=2, activation="swiglu", experts_renormalised=False),
           dict(n_experts=3, n_active_experts=2, d_expert=2, block_experts=(False, True), router_bias=True,
                activation="swiglu_clamped"),
           dict(n_experts=3, n_active_experts=1, d_shared_expert=5),
           dict(norm="rmsnorm", norm_bias=False, qk_norm=True),
           dict(qk_norm=True, qk_norm_heads=True, positions="rotary", n_kv_heads=1)]


class Noted:
    """Arithmetic of plain numbers that notes each operation under the part of the pass that does it."""

    def __init__(self) -> None:
        self.part, self.counts = "", Counter()

    def __call__(self, function, *values: float) -> float:
        self.counts[self.part] += 1
        return function(*values)

    def add(self, a, b):
        return self(lambda x, y: x + y, a, b)

    def mul(self, a, b):
        return self(lambda x, y: x * y, a, b)

    def div(self, a, b):
        return self(lambda x, y: x / y, a, b)

    def total(self, values):
        result = values[0]
        for value in values[1:]:
            result = self.add(result, value)
        return result

    def product(self, A, B, part):
        """A (n, a) times B (a, b), with one sum for each product, as a multiply-add does it."""
        self.part = part
        out = [[0.0] * len(B[0]) for _ in A]
        for i, row in enumerate(A):
            for j in range(len(B[0])):
                for k, value in enumerate(row):
                    out[i][j] = self.add(out[i][j], self.mul(value, B[k][j]))
        return out

    def plus(self, A, B):
        """Two matrices of the same shape, or a row that is added to every row."""
        self.part = "additions"
        return [[self.add(a, b) for a, b in zip(row, B[i] if isinstance(B[0], list) else B)]
                for i, row in enumerate(A)]

    def norm(self, A, kind, gain, bias, epsilon):
        self.part, out = "norms", []
        for row in A:
            d = len(row)
            if kind == "layernorm":
                mean = self.div(self.total(row), d)
                row = [self(lambda x, y: x - y, x, mean) for x in row]
            square = self.div(self.total([self.mul(x, x) for x in row]), d)
            root = self(math.sqrt, self.add(square, epsilon))
            row = [self.mul(self.div(x, root), g) for x, g in zip(row, gain)]
            out.append(row if bias is None else [self.add(x, b) for x, b in zip(row, bias)])
        return out

    def softmax(self, row):
        self.part = "softmax"
        most = row[0]
        for value in row[1:]:
            most = self(max, most, value)
        powers = [self(math.exp, self(lambda x, y: x - y, value, most)) for value in row]
        whole = self.total(powers)
        return [self.div(power, whole) for power in powers]

    def curve(self, name, x):
        self.part = "activation"
        if name == "relu":
            return self(max, 0.0, x)
        if name in ("swish", "swiglu"):
            return self.div(x, self.add(1.0, self(math.exp, self(lambda y: -y, x))))
        if name == "swiglu_clamped":
            x = self(min, x, 7.0)
            return self.div(x, self.add(1.0, self(math.exp, self(lambda y: -y, self.mul(1.702, x)))))
        if name == "gelu":
            return self.mul(self.mul(0.5, x), self.add(1.0, self(math.erf, self.div(x, math.sqrt(2)))))
        cube = self.mul(0.044715, self.mul(self.mul(x, x), x))
        inner = self.mul(math.sqrt(2 / math.pi), self.add(x, cube))
        return self.mul(self.mul(0.5, x), self.add(1.0, self(math.tanh, inner)))


def listed(tensor):
    return None if tensor is None else tensor.detach().double().tolist()


def transposed(A):
    return [list(column) for column in zip(*A)]


def attend(noted, config, block, X, layer_bias):
    heads, allowed = [], config.kind == "encoder"
    for h in range(config.n_heads):
        kv = h * config.n_kv_heads // config.n_heads
        made = {}
        for name, at in (("Q", h), ("K", kv), ("V", kv)):
            if name != "Q" and h % (config.n_heads // config.n_kv_heads):
                made[name] = heads[-1][1][name]
                continue
            made[name] = noted.product(X, listed(getattr(block, f"W_{name}")[at]), "qkv")
            if config.attention_bias:
                made[name] = noted.plus(made[name], listed(getattr(block, f"b_{name}")[at]))
            if config.sublayer.qk_norm and name != "V":
                norm = getattr(block, f"{name.lower()}_norm")
                made[name] = (noted.norm(made[name], "layernorm", listed(norm.weight[at]), None, config.norm_epsilon)
                              if config.sublayer.qk_norm_heads else
                              noted.norm(made[name], "rmsnorm", listed(norm.weight), None, config.norm_epsilon))
            if config.positions == "rotary" and name != "V":
                made[name] = turned(noted, made[name], config)
        scores = noted.product(made["Q"], transposed(made["K"]), "scores")
        if config.scores.scale_scores:
            noted.part = "softmax"
            scores = [[noted.div(score, math.sqrt(config.d_k)) for score in row] for row in scores]
        if layer_bias is not None:
            scores = noted.plus(scores, layer_bias[h])
        scores = [[score if allowed or j <= i else -math.inf for j, score in enumerate(row)]
                  for i, row in enumerate(scores)]
        pattern = [noted.softmax(row) for row in scores]
        heads.append((noted.product(pattern, made["V"], "weighted"), made))
    joined = [[value for out, _ in heads for value in out[i]] for i in range(N)]
    out = noted.product(joined, listed(block.W_O.flatten(0, 1)), "maps_out")
    return noted.plus(out, listed(block.b_O)) if block.b_O is not None else out


def turned(noted, A, config):
    noted.part, half = "additions", config.d_k // 2
    out = []
    for row, angles in zip(A, rotary_angles(N, config.d_k).tolist()):
        first, second = row[:half], row[half:]
        pairs = [(noted(lambda x, y: x - y, noted.mul(a, math.cos(t)), noted.mul(b, math.sin(t))),
                  noted.add(noted.mul(a, math.sin(t)), noted.mul(b, math.cos(t))))
                 for a, b, t in zip(first, second, angles)]
        out.append([a for a, _ in pairs] + [b for _, b in pairs])
    return out


def feed_forward(noted, config, block, X):
    up = noted.product(X, listed(block.W_1), "mlp")
    up = noted.plus(up, listed(block.b_1)) if config.mlp_bias else up
    if config.gated:
        gate = noted.product(X, listed(block.W_gate), "mlp")
        gate = noted.plus(gate, listed(block.b_gate)) if config.mlp_bias else gate
        noted.part = "activation"
        if config.activation == "swiglu_clamped":
            up = [[noted.add(1.0, noted(max, -7.0, noted(min, 7.0, u))) for u in row] for row in up]
        post = [[noted.mul(noted.curve(config.activation, g), u) for g, u in zip(*rows)] for rows in zip(gate, up)]
    else:
        post = [[noted.curve(config.activation, value) for value in row] for row in up]
    out = noted.product(post, listed(block.W_2), "mlp")
    return noted.plus(out, listed(block.b_2)) if config.mlp_bias else out


def experts(noted, config, mixture, X):
    """Each token through the experts of its own, one after the other."""
    logits = noted.product(X, listed(mixture.W_R), "mlp")
    logits = noted.plus(logits, listed(mixture.b_R)) if config.experts.router_bias else logits
    outputs = []
    for row, read in zip(logits, X):
        probs = noted.softmax(row)
        chosen = sorted(range(len(probs)), key=lambda e, probs=probs: -probs[e])[:config.experts.n_active_experts]
        shares = [probs[e] for e in chosen]
        if config.experts.experts_renormalised:
            whole = noted.total(shares)
            shares = [noted.div(share, whole) for share in shares]
        written = [feed_forward(noted, config, mixture.experts[e], [read])[0] for e in chosen]
        if mixture.shared is not None:
            written.append(feed_forward(noted, config, mixture.shared, [read])[0])
            (gate,), = noted.product([read], listed(mixture.W_shared), "mlp")
            noted.part = "activation"
            shares.append(noted.div(1.0, noted.add(1.0, noted(math.exp, noted(lambda y: -y, gate)))))
        noted.part = "additions"
        written = [[noted.mul(share, value) for value in vector] for share, vector in zip(shares, written)]
        outputs.append([noted.total(values) for values in zip(*written)])
    return outputs


def block_pass(noted, config, block, x, layer_bias):
    alpha, _ = deepnorm_constants(config)

    def norm(part, A):
        return noted.norm(A, config.norm, listed(part.weight), listed(part.bias), config.norm_epsilon)

    def add(stream, written, own, out_norm):
        written = written if out_norm is None else norm(out_norm, written)
        if alpha != 1:
            noted.part = "additions"
            stream = [[noted.mul(alpha, value) for value in row] for row in stream]
        stream = noted.plus(stream, written)
        return stream if config.reads_normed else norm(own, stream)

    read = norm(block.attn_norm, x) if config.reads_normed else x
    stream = add(x, attend(noted, config, block, read, layer_bias), block.attn_norm, block.attn_out_norm)
    if config.d_ff is None:
        return stream
    if not config.sublayer.shared_norm:
        source = x if config.sublayer.parallel_residual else stream
        read = norm(block.mlp_norm, source) if config.reads_normed else stream
    fed = (feed_forward(noted, config, block, read) if block.mixture is None
           else experts(noted, config, block.mixture, read))
    return add(stream, fed, block.mlp_norm, block.mlp_out_norm)


def written_out(model, ids):
    """The logits of a pass over ids, and how many operations each part of it took."""
    config, noted = model.config, Noted()
    x = [listed(model.E[token]) for token in ids]
    if config.embedding.embedding_scale != 1:
        noted.part = "additions"
        x = [[noted.mul(config.embedding.embedding_scale, value) for value in row] for row in x]
    if config.positions in ("learned", "sinusoidal"):
        table = model.P[:N] if config.positions == "learned" else sinusoidal(N, config.d_model)
        x = noted.plus(x, listed(table))
    for block in model.blocks:
        layer_bias = (listed(alibi_bias(N, N, config.n_heads)) if config.positions == "alibi" else
                      listed(block.r[:, relative_index(N, N, config.position_bias.relative_max_distance)])
                      if config.positions == "relative" else None)
        x = block_pass(noted, config, block, x, layer_bias)
    if model.final_norm is not None:
        x = noted.norm(x, config.norm, listed(model.final_norm.weight), listed(model.final_norm.bias),
                       config.norm_epsilon)
    logits = noted.product(x, transposed(listed(model.unembedding)), "output")
    logits = noted.plus(logits, listed(model.b_U)) if model.b_U is not None else logits
    for row in logits:
        noted.softmax(row)
    return logits, noted.counts


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_the_formulas_are_what_a_pass_written_out_takes(design):
    config = ModelConfig.of(**SIZES | design)
    model, ids = Transformer(config).initialise(torch.Generator().manual_seed(3)).double(), [1, 4, 2]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "b_" in name or "bias" in name:
                parameter.normal_(generator=torch.Generator().manual_seed(len(name)))
        logits, counts = written_out(model, ids)
        own = model(torch.tensor(ids)).logits
    assert torch.allclose(torch.tensor(logits, dtype=torch.float64), own, atol=1e-6)
    assert counts == Counter(counting.products(config, N) | elementwise.elementwise(config, N))


def test_one_block_by_hand():
    """d = 4, h = 2, d_ff = 3, |V| = 5, N = 3, L = 2: a LayerNorm of 4 takes 4 + 4 + 4 + 4 + 2 + 4 + 4 + 4 = 30, and
    there are 5 a token; a softmax over 3 takes 13 and its scores 3 quotients; GELU takes 5 a number.
    """
    found = elementwise.elementwise(ModelConfig.of(**SIZES), N)
    assert elementwise.norm(ModelConfig.of(**SIZES), 4) == 30 and elementwise.softmax(3) == 13
    assert found == {"norms": 3 * 5 * 30, "softmax": 2 * 2 * 3 * (13 + 3) + 3 * 23, "activation": 2 * 3 * 3 * 5,
                     "additions": 3 * (4 + 2 * (2 * 4 + 16 + 7))}


@pytest.mark.parametrize("design", [dict(), dict(positions="alibi"), dict(positions="rotary", activation="swiglu")],
                         ids=str)
def test_a_token_after_cached_ones_adds_what_the_whole_takes_more(design):
    """But for the softmax of the pairs and what is added to them: without a cache the earlier rows are also longer."""
    config = ModelConfig.of(**SIZES | design)
    one, whole, less = (elementwise.elementwise(config, 1, cached=6), elementwise.elementwise(config, 7),
                        elementwise.elementwise(config, 6))
    for part in ("norms", "activation"):
        assert whole[part] - less[part] == one[part]
    row = elementwise.softmax(7) + 7
    assert one["softmax"] == 2 * 2 * row + elementwise.softmax(5)


def test_an_encoder_decoder_takes_its_two_stacks_and_what_lies_between():
    config = ModelConfig.of(**SIZES | dict(kind="encoder-decoder", n_encoder_layers=1, positions="none"))
    found = elementwise.elementwise(config, 3, n_source=5)
    norm, row = elementwise.norm(config, 4), lambda keys: elementwise.softmax(keys) + keys
    assert found["norms"] == 5 * (2 + 1) * norm + 3 * (2 * 3 + 1) * norm
    assert found["softmax"] == 2 * 5 * row(5) + 2 * 2 * 3 * row(3) + 2 * 2 * 3 * row(5) + 3 * elementwise.softmax(5)
    assert found["additions"] == (5 * (2 * 4 + 16 + 7) + 2 * 3 * (3 * 4 + 2 * 16 + 7) + 2 * (5 - 3) * 8)


@pytest.mark.parametrize("name", PRESETS)
def test_matrix_products_are_nearly_all_of_every_known_model(name):
    config = PRESETS[name].config
    products, rest = (sum(count(config, 256).values()) for count in (counting.products, elementwise.elementwise))
    assert 0.98 < products / (products + rest) < 1


def test_longer_texts_make_the_softmax_a_larger_share():
    shares = [elementwise.elementwise(STORIES, n)["softmax"] / sum(counting.products(STORIES, n).values())
              for n in (16, 64, 256)]
    assert shares == sorted(shares)
