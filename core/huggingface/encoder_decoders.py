"""Encoder-decoders: T5, its version 1.1 and mT5."""
from collections.abc import Collection

from core.huggingface import entries
from core.huggingface.entries import Entry
from core.huggingface.fields import Fields, ends
from core.huggingface.plan import T5_ATTENTION, Plan, finished
from core.model.config import ModelConfig


def t5(f: Fields, names: Collection[str]) -> Plan:
    """T5 and its version 1.1.

    The first scales its logits by d^−½ and ties the unembedding to the embeddings; the second has a separate
    unembedding.
    """
    d, d_kv, n_layers = (f.whole("d_model", "hidden_size"), f.whole("d_kv", "head_dim"),
                         f.layers("num_layers", "num_hidden_layers"))
    vocab_size = f.whole("vocab_size")
    scaled = f.get("scale_decoder_outputs", f.get("tie_word_embeddings", True))
    act = f.get("feed_forward_proj", "relu")
    gated, curve = act.startswith("gated-"), "gelu_new" if act == "gated-gelu" else act.removeprefix("gated-")
    f.refuse(is_gated_act=gated, dense_act_fn=curve)
    config = ModelConfig.of(
        kind="encoder-decoder", vocab_size=vocab_size, d_model=d,
        n_layers=f.layers("num_decoder_layers", default=n_layers),
        n_encoder_layers=n_layers, n_heads=f.whole("num_heads", "num_attention_heads"),
        d_k=d_kv, d_v=d_kv, d_ff=f.whole("d_ff"), n_context=f.whole("n_positions", default=512), norm="rmsnorm",
        norm_bias=False, norm_epsilon=f.number("layer_norm_epsilon", 1e-6),
        activation=Fields({"act": curve}).activation("act", curve, gated), positions="relative",
        relative_buckets=f.whole("relative_attention_num_buckets", default=32),
        relative_max_distance=f.whole("relative_attention_max_distance", default=128), scale_scores=False,
        attention_bias=False, mlp_bias=False, tied_embeddings=scaled or "lm_head.weight" not in names,
        logit_scale=d ** -0.5 if scaled else 1.0, **ends(f, vocab_size, "decoder_start_token_id"))
    tensors = [entries.as_is("shared.weight", "E", vocab_size, d)]
    for ours, theirs, depth in (("encoder.", "encoder.", n_layers), ("", "decoder.", config.n_layers)):
        tensors += [*entries.norm(config, f"{ours}final_norm", f"{theirs}final_layer_norm"),
                 entries.transposed(f"{theirs}block.0.layer.0.SelfAttention.relative_attention_bias.weight", f"{ours}r",
                                    config.position_bias.relative_buckets, config.n_heads)]
        for layer in range(depth):
            tensors += _t5_block(config, f"{ours}blocks.{layer}.", f"{theirs}block.{layer}.layer.", crossed=not ours)
    return finished(config, tensors, "", "lm_head", ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"))


def _t5_block(config: ModelConfig, ours: str, theirs: str, crossed: bool) -> list[Entry]:
    tensors = [*entries.attention(config, ours, f"{theirs}0.SelfAttention.", T5_ATTENTION),
            *entries.norm(config, f"{ours}attn_norm", f"{theirs}0.layer_norm")]
    if crossed:
        tensors += [*entries.attention(config, f"{ours}cross.", f"{theirs}1.EncDecAttention.", T5_ATTENTION),
                 *entries.norm(config, f"{ours}cross.norm", f"{theirs}1.layer_norm")]
    last = f"{theirs}{2 if crossed else 1}."
    up, gate = ("wi_1", "wi_0") if config.gated else ("wi", None)
    return tensors + [*entries.feed_forward(config, ours, f"{last}DenseReluDense.", up, "wo", gate),
                   *entries.norm(config, f"{ours}mlp_norm", f"{last}layer_norm")]


def mt5(f: Fields, names: Collection[str]) -> Plan:
    """T5 1.1, which never scales its logits, whatever its config says about ties."""
    act = f.get("feed_forward_proj", "gated-gelu")
    return t5(f.changed(scale_decoder_outputs=False, feed_forward_proj=act), names)


FAMILIES = (t5, mt5)
