"""The operations of a pass beside its matrix products: norms, softmax, activations, and sums of single numbers.

Each sum, product, quotient or comparison of two numbers, and each exp, tanh, erf or square root, is one operation.
Picking numbers (a row of E, what a mask hides) counts as none, like making the tables that are known before a pass,
such as sines and the slopes of ALiBi. Symbols as in core.model.config.
"""

from core.cost.counting import (
    active_neurons,
    attention_biases,
    expert_blocks,
    fed_parameters,
    stack_norms,
    stacks,
)
from core.model.activation import GATE_CURVES
from core.model.config import ModelConfig

PARTS = ("norms", "softmax", "activation", "additions")
# of one number: max(0, x); ½ x (1 + erf(x / √2)); ½ x (1 + tanh(√(2/π) (x + 0.044715 x x x))); x / (1 + exp(−x))
# m / (1 + exp(−1.702 m)) with m = min(x, 7)
CURVES = {"tanh": 1, "relu": 1, "gelu": 5, "gelu_tanh": 9, "swish": 4, "swish_clamped": 6}


def norm(config: ModelConfig, width: int, kind: str = "") -> int:
    """One norm of a vector: its mean and the differences from it (LayerNorm), the mean square, ε, the root, the
    quotient, and the gain and the bias if there are any.
    """
    shift = 2 * width if (kind or config.norm) == "layernorm" else 0
    return shift + (3 + config.sublayer.norm_gain + config.sublayer.norm_bias) * width + 2


def softmax(n: int) -> int:
    """One softmax over n numbers: the largest, the differences from it, their exponentials, the sum, the quotients."""
    return 5 * n - 2


def activation(config: ModelConfig) -> int:
    """One number's activation, and the product with its gate's second projection, which a clamped gate compares with
    ±7 and adds 1 to.
    """
    return CURVES[_curve(config)] + config.gated + 3 * (config.activation == "swiglu_clamped")


def _curve(config: ModelConfig) -> str:
    return GATE_CURVES.get(config.activation, config.activation)


def elementwise(config: ModelConfig, n_tokens: int, cached: int = 0, n_source: int | None = None) -> dict[str, int]:
    """Operations beside the products in one pass over n_tokens new tokens after `cached` ones, by PARTS; as
    `counting.products`, with the same arguments.

    norms: those of the stream, and of queries and keys. softmax: over the scores, with their division by √d_k, and over
    the logits. activation: of the feed-forward part. additions: residual sums, biases, and what positions add or turn.
    """
    operations, source = dict.fromkeys(PARTS, 0), n_tokens if n_source is None else n_source
    *encoder, decoder = stacks(config)
    _add_stack(config, operations, decoder, n_tokens, cached + n_tokens)
    if encoder:
        _add_cross(config, operations, n_tokens, 0 if cached else source, source)
        if not cached:
            _add_stack(config, operations, encoder[0], source, source)
    _add_ends(config, operations, n_tokens)
    return operations


def _add_stack(config: ModelConfig, operations: dict[str, int], stack: tuple[int, int], n: int, keys: int) -> None:
    """Add the operations of n new tokens in one stack (its blocks, the attentions of each), but for those that only
    cross-attentions have.
    """
    (blocks, attentions), feed_forward = stack, config.d_ff is not None
    operations["norms"] += n * (stack_norms(config, *stack) * norm(config, config.d_model)
                                + blocks * _query_norms(config, config.n_heads + config.n_kv_heads))
    operations["softmax"] += blocks * _weights(config, n, keys)
    operations["activation"] += n * active_neurons(config, blocks) * activation(config)
    for part, count in _experts(config).items():
        operations[part] += n * expert_blocks(config) * count
    # the stream is multiplied by α under DeepNorm, what a sublayer adds by a residual scale; then they are added
    kept = 1 + (config.norm_placement == "deepnorm") + (config.sublayer.residual_scale != 1)
    summed = (attentions + feed_forward) * kept * config.d_model + attention_biases(config)
    biases = fed_parameters(config, blocks, active=True)[1]
    operations["additions"] += n * (blocks * summed + biases) + _positions(config, blocks, n, keys)


def _experts(config: ModelConfig) -> dict[str, int]:
    """The operations of one token in one block of experts beside products, biases and the neurons' activations: the
    router's softmax, with the division of the weights by their sum; each output times its weight, and their sum; and
    for a shared expert the sigmoid, the product with it and its sum with the others.
    """
    k, d, shared = config.experts.n_active_experts, config.d_model, config.experts.d_shared_expert
    return {"softmax": (softmax(config.experts.n_experts)
                        + (2 * k - 1) * config.experts.experts_renormalised) if k else 0,
            "activation": 4 * (shared > 0),
            "additions": (2 * k - 1) * d + 2 * d * (shared > 0) if k else 0}


def _query_norms(config: ModelConfig, vectors: int) -> int:
    """The norms of `vectors` queries or keys of one token, in a model that has them; those of each head have no bias.
    """
    if config.sublayer.qk_norm_heads:
        return vectors * norm(config.changed(norm_bias=False), config.d_k, "layernorm")
    return vectors * norm(config, config.d_k, "rmsnorm") if config.sublayer.qk_norm else 0


def _weights(config: ModelConfig, n: int, keys: int) -> int:
    """The softmax of every query's scores in one block, and their division by √d_k."""
    return config.n_heads * n * (softmax(keys) + config.scores.scale_scores * keys)


def _positions(config: ModelConfig, blocks: int, n: int, keys: int) -> int:
    """The sums that add positions to the stream or to the scores of a stack, or the products and sums that turn its
    queries and keys: three for each number of a pair.
    """
    turned = 3 * n * blocks * (config.n_heads + config.n_kv_heads) * config.rotary_width
    biased = blocks * config.n_heads * n * keys
    return {"learned": n * config.d_entering, "sinusoidal": n * config.d_entering, "rotary": turned, "alibi": biased,
            "relative": biased}.get(config.positions, 0)


def _add_cross(config: ModelConfig, operations: dict[str, int], n: int, read: int, source: int) -> None:
    """Add the operations that only cross-attentions have: the weights of n tokens over the source, and their biases and
    norms, those of keys and values for `read` source tokens.
    """
    reading = config.n_kv_heads * (config.d_k + config.d_v) if config.attention_bias else 0
    operations["softmax"] += config.n_layers * _weights(config, n, source)
    operations["norms"] += config.n_layers * (n * _query_norms(config, config.n_heads)
                                              + read * _query_norms(config, config.n_kv_heads))
    operations["additions"] += config.n_layers * (n * (attention_biases(config) - reading) + read * reading)


def _add_ends(config: ModelConfig, operations: dict[str, int], n: int) -> None:
    """Add the operations before the first block and after the last one."""
    d, e = config.d_model, config.d_embedding
    operations["norms"] += n * (config.embedding.embedding_norm + config.head_curves) * norm(config, e)
    operations["softmax"] += n * softmax(config.vocab_size)
    operations["activation"] += n * config.head_curves * e * CURVES[_curve(config)]
    operations["additions"] += n * ((config.embedding.embedding_scale != 1) * e
                                    + (config.embedding.n_token_types > 0) * e
                                    + config.head.head_transform * config.head.head_bias * e
                                    + (config.embedding.embedding_width > 0 and not config.embedding.plain_maps) * d
                                    + config.head.unembedding_bias * config.vocab_size)
    operations["activation"] += d * CURVES.get(config.head.class_transform, 0)
    operations["norms"] -= n * (not config.sublayer.first_norm) * norm(config, d)
    operations["additions"] += config.head.n_classes + d * config.head.classifies_alone
