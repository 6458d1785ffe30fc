"""The cost of an architecture, from its config alone: parameters part by part, floating-point operations of a pass,
memory of weights and of the KV cache.

Symbols as in core.model.config; L blocks (of three sublayers each in an encoder-decoder's decoder). A multiplication
and an addition are two operations.
"""
import functools
import json
import zlib
from collections.abc import Iterable
from pathlib import Path

from core.model.config import ModelConfig

PARTS = ("E", "P", "attention", "mlp", "norms", "biases", "output")
PRODUCTS = ("qkv", "scores", "weighted", "maps_out", "mlp", "output")     # in the order of a pass
BYTES = {"float32": 4, "bf16": 2, "int8": 1}      # of one number
# the modules of a forward pass
_FORWARD = ("transformer", "block", "attention", "scores", "ends", "positional", "normalisation", "norms", "activation",
            "feed_forward", "experts")
# parameter names by part; all others belong to attention
_LEAVES = {"output": ("W_U", "W_C", "W_H", "W_P"), "P": ("P", "r"), "E": ("E", "T", "W_E"),
           "mlp": ("W_1", "W_2", "W_gate", "W_R", "W_shared"),
           "biases": ("b_Q", "b_K", "b_V", "b_O", "b_1", "b_2", "b_gate", "b_C", "b_H", "b_U", "b_P", "b_R",
                      "b_E")}


def attention_parameters(config: ModelConfig) -> int:
    """The maps of one attention without biases: h d d_k + h_kv d (d_k + d_v) + h d_v d, which is 4 d² if d_k = d_v =
    d/h and h_kv = h; in addition W_S or v of other scores, and the sinks.
    """
    d, h, h_kv, d_k, d_v = config.d_model, config.n_heads, config.n_kv_heads, config.d_k, config.d_v
    score = {"dot": 0, "multiplicative": h * d_k * d_k, "additive": h * d_k}[config.score]
    return h * d * d_k + h_kv * d * (d_k + d_v) + h * d_v * d + score + h * config.scores.attention_sinks


def attention_biases(config: ModelConfig) -> int:
    """The biases of one attention: h d_k + h_kv (d_k + d_v) for queries, keys and values, and d for b_O, if there are
    any.
    """
    inputs = config.n_heads * config.d_k + config.n_kv_heads * (config.d_k + config.d_v)
    return inputs * config.attention_bias + config.d_model * config.writes_bias


def mlp_parameters(config: ModelConfig, width: int | None = None) -> int:
    """The maps of one feed-forward part of this width, d_ff if not given: 2 d d_ff, 3 d d_ff with a gate, 0 without the
    part.
    """
    return (3 if config.gated else 2) * config.d_model * ((config.d_ff or 0) if width is None else width)


def mlp_biases(config: ModelConfig, width: int | None = None) -> int:
    """d_ff + d, 2 d_ff + d with a gate, or 0; likewise for another width."""
    width = config.d_ff if width is None else width
    return (2 if config.gated else 1) * width + config.d_model if config.mlp_bias and width else 0


def expert_blocks(config: ModelConfig) -> int:
    """The number of blocks of experts."""
    return sum(map(config.experts.in_block, range(config.n_layers)))


def experts_parameters(config: ModelConfig, experts: int) -> int:
    """The maps of one block of experts, counting `experts` of them, with the router's d n and the shared expert's maps
    and gate.
    """
    d, of = config.d_model, config.experts
    shared = mlp_parameters(config, of.d_shared_expert) + d if of.d_shared_expert else 0
    return experts * mlp_parameters(config, of.d_expert) + d * of.n_experts + shared


def experts_biases(config: ModelConfig, experts: int) -> int:
    """The biases of one block of experts, counting `experts` of them, and the router's."""
    return (experts * mlp_biases(config, config.experts.d_expert) + mlp_biases(config, config.experts.d_shared_expert)
            + config.experts.router_bias * config.experts.n_experts)


def active_neurons(config: ModelConfig, blocks: int) -> int:
    """The neurons of `blocks` blocks, all of a stack, that compute something for one token."""
    of_experts = expert_blocks(config)
    return ((blocks - of_experts) * (config.d_ff or 0)
            + of_experts * (config.experts.n_active_experts * config.experts.d_expert + config.experts.d_shared_expert))


def fed_parameters(config: ModelConfig, blocks: int, active: bool = False) -> tuple[int, int]:
    """(maps, biases) of the feed-forward parts of `blocks` blocks, all of a stack; `active`: only what one token goes
    through.
    """
    experts, of_experts = config.experts.n_active_experts if active else config.experts.n_experts, expert_blocks(config)
    return ((blocks - of_experts) * mlp_parameters(config) + of_experts * experts_parameters(config, experts),
            (blocks - of_experts) * mlp_biases(config) + of_experts * experts_biases(config, experts))


def stacks(config: ModelConfig) -> list[tuple[int, int]]:
    """(blocks, attentions in each) of every stack: one stack, or an encoder and a decoder whose blocks also have
    cross-attention.
    """
    if config.kind == "encoder-decoder":
        return [(config.n_encoder_layers, 1), (config.n_layers, 2)]
    return [(config.n_layers, 1)]


def stack_norms(config: ModelConfig, blocks: int, attentions: int) -> int:
    """Norms of d features in one stack: one for each sublayer (one for both, if they share it), two in a sandwich, and
    one more at the end of a stack that norms no sums.
    """
    feed_forward = 0 if config.d_ff is None or config.sublayer.shared_norm else 1
    inside = blocks * (attentions + feed_forward) * (2 if config.norm_placement == "sandwich" else 1)
    return inside + (not config.norms_sums)


def qk_norm_width(config: ModelConfig) -> int:
    """Gains of the norms of queries and keys in one attention: d_k each, or one for every component of every head."""
    if not config.sublayer.qk_norm:
        return 0
    each = config.sublayer.qk_norm_joint or config.sublayer.qk_norm_heads
    return config.d_k * (config.n_heads + config.n_kv_heads if each else 2)


def norm_count(config: ModelConfig) -> int:
    """Norms of d features in the whole model: those of its stacks, one for the embeddings of each, one for a head's
    transform.
    """
    return (sum(stack_norms(config, *stack) + config.embedding.embedding_norm for stack in stacks(config))
            + config.head_curves - (not config.sublayer.first_norm))


def parameters_by_part(config: ModelConfig, active: bool = False) -> dict[str, int]:
    """The learned numbers by PARTS; they add up to the model's. `active`: without the experts that a token does not go
    to.

    E: |V| d and n_token_types d; if the rows have another width e, e instead of d, and e d for their map. P: n_context
    d for every stack that learns positions; or h (2 r + 1) a block for relative biases up to distance r, or h times the
    buckets a stack if its blocks share them. attention, mlp: the maps of all blocks. norms: d gains each (d_k for
    queries and keys), and as many shifts if they have them. biases: of those maps and of the unembedding. output: |V| d
    of an untied unembedding, d² of a head's transform, d n_classes of a classification head and d² of its transform.
    """
    d, e, blocks = config.d_model, config.d_embedding, sum(count for count, _ in stacks(config))
    attentions, embedding, head = sum(count * each for count, each in stacks(config)), config.embedding, config.head
    positions = {"learned": config.n_context * config.d_entering * len(stacks(config)),
                 "relative": config.n_heads * (len(stacks(config)) * config.position_bias.relative_buckets
                                               or blocks * (2 * config.position_bias.relative_max_distance + 1))}
    fed = fed_parameters(config, blocks, active)
    of_queries = attentions * qk_norm_width(config)
    gains = norm_count(config) * d + of_queries - (d - e) * (embedding.embedding_norm + config.head_curves)
    shifts = gains - of_queries * config.sublayer.qk_norm_heads
    return {
        "E": (config.vocab_size + embedding.n_token_types) * e + (e * d if embedding.embedding_width else 0),
        "P": positions.get(config.positions, 0),
        "attention": attentions * attention_parameters(config),
        "mlp": fed[0],
        "norms": gains * config.sublayer.norm_gain + shifts * config.sublayer.norm_bias,
        "biases": attentions * attention_biases(config) + fed[1] + head.n_classes
                  + (config.vocab_size if head.unembedding_bias else 0)
                  + (e if head.head_transform and head.head_bias else 0) + (d if head.classifies_alone else 0)
                  + (d if embedding.embedding_width and not embedding.plain_maps else 0),
        "output": (0 if config.tied_embeddings else config.vocab_size * e) + d * head.n_classes
                  + (d * e if head.head_transform else 0) + (d * d if head.classifies_alone else 0),
    }


def n_parameters(config: ModelConfig) -> int:
    """All learned numbers.

    >>> n_parameters(ModelConfig(vocab_size=50257, d_model=768, n_layers=12, n_heads=12, n_context=1024))    # GPT-2
    124439808
    """
    return sum(parameters_by_part(config).values())


def active_parameters(config: ModelConfig) -> int:
    """The learned numbers that one token goes through: all but the experts that it does not go to. All of E counts,
    although a token reads only one row of it.

    >>> sizes = dict(vocab_size=32_000, d_model=4096, n_layers=32, n_heads=32, n_kv_heads=8, d_ff=14_336,
    ...              n_context=32_768, norm="rmsnorm", norm_bias=False, activation="swiglu", positions="rotary",
    ...              attention_bias=False, mlp_bias=False, tied_embeddings=False, n_experts=8, n_active_experts=2)
    >>> n_parameters(ModelConfig.of(**sizes)), active_parameters(ModelConfig.of(**sizes))    # Mixtral 8x7B
    (46702792704, 12879925248)
    """
    return sum(parameters_by_part(config, active=True).values())


def totals(sizes: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The same table from a model's parameters: the name of each in core.model.transformer and its number of entries.
    """
    counts = dict.fromkeys(PARTS, 0)
    for name, size in sizes:
        counts[part_of(name)] += size
    return counts


def part_of(name: str) -> str:
    """The entry of PARTS that a parameter of core.model.transformer belongs to.

    >>> list(map(part_of, ("blocks.3.cross.W_Q", "encoder.blocks.0.mlp_norm.bias", "encoder.P", "blocks.0.b_1")))
    ['attention', 'norms', 'P', 'biases']
    """
    *path, leaf = name.split(".")
    if any(step.endswith("norm") for step in path):
        return "norms"
    return next((part for part, leaves in _LEAVES.items() if leaf in leaves), "attention")


def structure_bits(config: ModelConfig) -> int:
    """Bits that describe the structure: the sources of the forward pass and the config, compressed.

    An upper bound, since a shorter program would do.
    """
    return 8 * len(zlib.compress(_sources() + json.dumps(config.to_dict()).encode(), 9))


@functools.cache
def _sources() -> bytes:
    return b"".join((Path(__file__).parents[1] / "model" / f"{name}.py").read_bytes() for name in _FORWARD)


def rough_parameters(config: ModelConfig) -> int:
    """Kaplan et al.'s estimate of the parameters beyond the embeddings, 12 L d², which holds for d_ff = 4 d and one
    stack of usual heads.
    """
    return 12 * config.n_layers * config.d_model ** 2


def lecture_parameters(config: ModelConfig) -> int:
    """The rule of lecture D, |T| d + 5 L d²: embeddings, and in each block d² for each of W_Q, W_K, W_V, W_1 and W_2.
    It leaves out W_O and takes d_ff = d.

    >>> sizes = dict(vocab_size=2 ** 17, d_model=12_288, n_layers=96, n_heads=96, n_context=2 ** 15)
    >>> lecture_parameters(ModelConfig(**sizes))       # 7.4 · 10¹⁰
    74088185856
    """
    return config.vocab_size * config.d_model + 5 * config.n_layers * config.d_model ** 2


def products(config: ModelConfig, n_tokens: int, cached: int = 0, n_source: int | None = None) -> dict[str, int]:
    """Operations of the matrix products in one pass over n_tokens new tokens, after `cached` tokens whose keys and
    values are cached, by PRODUCTS.

    qkv, maps_out, mlp: 2 a token for each parameter of the maps, in a block of experts only for the token's own
    experts. scores, weighted: 2 h d_k and 2 h d_v for each pair of a query and a key, masked ones too, as a plain
    product computes them. output: 2 |V| d a token, with the head's transform, the classification head and the map of
    narrower embeddings, if there are any. An encoder-decoder also reads n_source tokens (n_tokens, if not given; the
    encoder's work and the cross-attention's keys and values belong to a pass without cached tokens only). The score is
    the dot product.
    """
    n, d, e, h = n_tokens, config.d_model, config.d_embedding, config.n_heads
    writing = h * config.d_v * d
    operations = dict.fromkeys(PRODUCTS, 0)
    operations["output"] = 2 * n * (
        (e if config.head.head_transform else d) * config.vocab_size + config.head.head_transform * d * e
        + (e * d if config.embedding.embedding_width else 0)) + 2 * d * (
        config.head.n_classes + d * config.head.classifies_alone)

    def add(blocks: int, length: int, keys: int) -> None:
        operations["qkv"] += blocks * 2 * length * (attention_parameters(config) - writing)
        operations["scores"] += blocks * 2 * h * config.d_k * length * keys
        operations["weighted"] += blocks * 2 * h * config.d_v * length * keys
        operations["maps_out"] += blocks * 2 * length * writing
        operations["mlp"] += 2 * length * fed_parameters(config, blocks, active=True)[0]

    add(config.n_layers, n, cached + n)
    if config.kind == "encoder-decoder":
        source = n if n_source is None else n_source
        reading = config.n_kv_heads * d * (config.d_k + config.d_v)
        operations["qkv"] += config.n_layers * 2 * (n * (attention_parameters(config) - reading - writing)
                                                    + (0 if cached else source * reading))
        operations["scores"] += config.n_layers * 2 * h * config.d_k * n * source
        operations["weighted"] += config.n_layers * 2 * h * config.d_v * n * source
        operations["maps_out"] += config.n_layers * 2 * n * writing
        if not cached:
            add(config.n_encoder_layers, source, source)
    return operations


def flops(config: ModelConfig, n_tokens: int, cached: int = 0, n_source: int | None = None) -> dict[str, int]:
    """The operations of `products` in four groups: the maps of attention, what every pair of tokens takes, the
    feed-forward part, and the output. Norms, softmax and activations, a few percent at most, are in `elementwise`.
    """
    found = products(config, n_tokens, cached, n_source)
    return {"projections": found["qkv"] + found["maps_out"], "scores": found["scores"] + found["weighted"],
            "mlp": found["mlp"], "output": found["output"]}


def weight_bytes(config: ModelConfig, dtype: str) -> int:
    """Memory of all weights in `dtype` (a key of BYTES), in bytes."""
    return n_parameters(config) * BYTES[dtype]


def kv_cache_bytes(config: ModelConfig, n_tokens: int, dtype: str = "bf16") -> int:
    """Memory of the keys and values of n_tokens tokens, L h_kv (d_k + d_v) numbers each, in bytes; twice that in an
    encoder-decoder, which also keeps those of as many source tokens. An encoder generates nothing and keeps none: 0.
    """
    attentions = {"decoder": 1, "encoder": 0, "encoder-decoder": 2}[config.kind]
    return attentions * config.n_layers * config.n_kv_heads * (config.d_k + config.d_v) * n_tokens * BYTES[dtype]


def trace_bytes(config: ModelConfig, n_tokens: int) -> int:
    """Memory of the trace of one decoder pass in bytes, float32, to a few per cent: the logits N |V|; in every block
    the stream and the additions to it, queries, keys, values (twice with rotary positions), the heads' outputs, scores
    and pattern 2 h N², and the feed-forward part before and after its activation, or the router's probabilities and
    the weights.
    """
    n, d, h = n_tokens, config.d_model, config.n_heads
    heads = (h * (config.d_k + config.d_v) + config.n_kv_heads * (config.d_k + config.d_v)
             + (config.positions == "rotary") * (h + config.n_kv_heads) * config.d_k)
    block, of_experts = n * (5 * d + heads) + 2 * h * n * n, expert_blocks(config)
    fed = (config.n_layers - of_experts) * (config.d_ff or 0) + of_experts * config.experts.n_experts
    return 4 * (config.n_layers * block + n * (2 * fed + config.vocab_size + 3 * d))
