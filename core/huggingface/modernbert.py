"""ModernBERT: an encoder with rotary positions, norms before each part, gates, and windows in two of three blocks."""
from collections.abc import Collection

from core.huggingface import entries, task_heads
from core.huggingface.entries import Entry
from core.huggingface.fields import Fields, unsupported
from core.huggingface.plan import Plan, blocks, finished
from core.model.config import ModelConfig

MASK_OF = {"full_attention": "bidirectional", "sliding_attention": "bidirectional-window"}
BASES = {"full_attention": ("global_rope_theta", 160_000.0), "sliding_attention": ("local_rope_theta", 10_000.0)}


def modernbert(f: Fields, names: Collection[str]) -> Plan:
    """ModernBERT. A classifier also has the language head's transform, and reads the first token's vector or the mean
    of all.
    """
    curve = f.get("hidden_activation", "gelu")
    f.refuse(classifier_activation=curve, position_embedding_type="absolute")
    headed = not names or any(name.startswith("decoder.") for name in names)
    head = "language" if headed else task_heads.head_of(f, names)
    transformed = head in ("language", "classes", "labels")
    kinds, pooling = _kinds(f), f.get("classifier_pooling", "cls")
    config = ModelConfig.of(
        kind="encoder", vocab_size=f.whole("vocab_size"), d_model=f.whole("hidden_size"),
        n_layers=f.layers("num_hidden_layers"), n_heads=f.whole("num_attention_heads"),
        d_ff=f.whole("intermediate_size"), n_context=f.whole("max_position_embeddings"),
        activation=f.activation("hidden_activation", "gelu", gated=True), embedding_norm=True, first_norm=False,
        norm_epsilon=f.number("norm_eps", 1e-5), norm_bias=f.get("norm_bias", False),
        attention_bias=f.get("attention_bias", False), mlp_bias=f.get("mlp_bias", False), **_reach(f, kinds),
        head_transform=transformed, head_bias=f.get("classifier_bias", False),
        unembedding_bias=f.get("decoder_bias", True) and headed,
        tied_embeddings=f.get("tie_word_embeddings", True) or not headed, end_of_text=None,
        **task_heads.class_settings(f, head, "head"),
        class_pooling="mean" if transformed and not headed and pooling == "mean" else "first")
    d = config.d_model

    def block(ours: str, theirs: str) -> list[Entry]:
        first = ours.startswith("blocks.0.")
        return [*entries.merged_qkv(f"{theirs}attn.Wqkv", ours, config),
                entries.out_of_heads(f"{theirs}attn.Wo.weight", f"{ours}W_O", config.n_heads, config.d_v, d),
                *([entries.as_is(f"{theirs}attn.Wo.bias", f"{ours}b_O", d)] if config.attention_bias else []),
                *([] if first else entries.norm(config, f"{ours}attn_norm", f"{theirs}attn_norm")),
                *entries.merged_gate(f"{theirs}mlp.Wi", ours, config),
                entries.transposed(f"{theirs}mlp.Wo.weight", f"{ours}W_2", d, config.d_ff),
                *([entries.as_is(f"{theirs}mlp.Wo.bias", f"{ours}b_2", d)] if config.mlp_bias else []),
                *entries.norm(config, f"{ours}mlp_norm", f"{theirs}mlp_norm")]

    tensors = [entries.as_is("model.embeddings.tok_embeddings.weight", "E", config.vocab_size, d),
               *entries.norm(config, "embedding_norm", "model.embeddings.norm"),
               *entries.norm(config, "final_norm", "model.final_norm"), *blocks(config, "model.layers.", block),
               *_head(config)]
    return finished(config, tensors, "model.", "decoder", besides=task_heads.MODERNBERT)


def _kinds(f: Fields) -> list[str]:
    """The kind of each block: full attention in every third one, the first among them, unless the config says."""
    every = f.whole("global_attn_every_n_layers", default=3)
    kinds = f.get("layer_types") or ["sliding_attention" if layer % every else "full_attention"
                                     for layer in range(f.layers("num_hidden_layers"))]
    if unknown := [kind for kind in kinds if kind not in MASK_OF]:
        raise unsupported(f"blocks of the type {unknown[0]!r}")
    return kinds


def _reach(f: Fields, kinds: list[str]) -> dict:
    """The mask and the rotary base of each block, and the window: a query sees half of local_attention to each side,
    and itself.
    """
    tables, bases = f.get("rope_parameters") or {}, {}
    f.refuse(rope_scaling=None)
    for kind, (name, default) in BASES.items():
        table = Fields(tables.get(kind) or {})
        if (how := table.get("rope_type", "default")) != "default":
            raise unsupported(f"rotary positions of the kind {how!r}")
        bases[kind] = table.number("rope_theta", f.number(name, default))
    return dict(positions="rotary", rotary_base=bases["full_attention"], window=f.whole("local_attention", default=128)
                // 2 + 1, block_masks=tuple(MASK_OF[kind] for kind in kinds),
                block_rotary_bases=tuple(bases[kind] for kind in kinds))


def _head(config: ModelConfig) -> list[Entry]:
    """The transform of the language head, or a classifier's, and the map that reads it."""
    if not config.head.head_transform:
        return []
    d = config.d_model
    tensors = [entries.transposed("head.dense.weight", "W_H", d, d), *entries.norm(config, "head_norm", "head.norm")]
    if config.head.head_bias:
        tensors.append(entries.as_is("head.dense.bias", "b_H", d))
    if config.head.unembedding_bias:
        tensors.append(entries.as_is("decoder.bias", "b_U", config.vocab_size))
    return tensors + task_heads.class_entries(config, "", "classifier")


FAMILIES = (modernbert,)
