"""The first decoders: GPT-2, OPT, GPT-NeoX (Pythia), Llama, Mistral, Qwen2, Qwen3, Gemma and Phi."""
from collections.abc import Collection

from core.huggingface import entries
from core.huggingface.entries import Entry
from core.huggingface.fields import Fields, ends, rotary, switched_window, window
from core.huggingface.plan import (
    LLAMA_BLOCK,
    OPT_BLOCK,
    PHI_BLOCK,
    Plan,
    blocks,
    config_of,
    finished,
    head_width,
    usual_blocks,
)
from core.model.config import ModelConfig


def gpt2(f: Fields, names: Collection[str]) -> Plan:
    f.refuse(scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
    vocab_size, d = f.whole("vocab_size"), f.whole("n_embd", "hidden_size")
    config = ModelConfig.of(
        vocab_size=vocab_size, d_model=d,
        n_layers=f.layers("n_layer", "num_hidden_layers"), n_heads=f.whole("n_head", "num_attention_heads"),
        n_context=f.whole("n_positions", "n_ctx", "max_position_embeddings"), d_ff=f.whole("n_inner", default=4 * d),
        norm_epsilon=f.number("layer_norm_epsilon", 1e-5), activation=f.activation("activation_function", "gelu_new"),
        tied_embeddings=f.get("tie_word_embeddings", True), **ends(f, vocab_size))

    def block(ours: str, theirs: str) -> list[Entry]:
        return [*entries.gpt2_qkv(f"{theirs}attn.c_attn", ours, config),
                *entries.norm(config, f"{ours}attn_norm", f"{theirs}ln_1"),
                *entries.norm(config, f"{ours}mlp_norm", f"{theirs}ln_2"),
                Entry(f"{theirs}attn.c_proj.weight", (d, d), (f"{ours}W_O",),
                      lambda w: (w.reshape(config.n_heads, config.d_v, d),), lambda W: W.flatten(0, 1)),
                entries.as_is(f"{theirs}attn.c_proj.bias", f"{ours}b_O", d),
                entries.as_is(f"{theirs}mlp.c_fc.weight", f"{ours}W_1", d, config.d_ff),
                entries.as_is(f"{theirs}mlp.c_fc.bias", f"{ours}b_1", config.d_ff),
                entries.as_is(f"{theirs}mlp.c_proj.weight", f"{ours}W_2", config.d_ff, d),
                entries.as_is(f"{theirs}mlp.c_proj.bias", f"{ours}b_2", d)]

    tensors = [entries.as_is("transformer.wte.weight", "E", vocab_size, d),
            entries.as_is("transformer.wpe.weight", "P", config.n_context, d),
            *entries.norm(config, "final_norm", "transformer.ln_f"), *blocks(config, "transformer.h.", block)]
    return finished(config, tensors, "transformer.", "lm_head")


def opt(f: Fields, names: Collection[str]) -> Plan:
    """GPT-2 with ReLU. If the rows of E are narrower than the stream, one matrix maps them into it before positions are
    added, and another maps the last vectors back; the norms of its model of 350 million follow each part.
    """
    bias, pre, base = f.get("enable_bias", True), f.get("do_layer_norm_before", True), "model.decoder."
    d, e, affine = f.whole("hidden_size"), _opt_width(f), f.get("layer_norm_elementwise_affine", True)
    f.refuse(_remove_final_layer_norm=False)
    narrow = dict(embedding_width=e, head_transform=True, head_bias=False, plain_maps=True) if e != d else {}
    config = config_of(f, "ffn_dim", tied=True, norm_placement="pre" if pre else "post", attention_bias=bias,
                     mlp_bias=bias, norm_gain=affine, norm_bias=affine,
                     activation=f.activation("activation_function", "relu"), **narrow)
    tensors = [entries.as_is(f"{base}embed_tokens.weight", "E", config.vocab_size, e),
            entries.without_first(f"{base}embed_positions.weight", "P", 2, config.n_context, config.d_model),
            *usual_blocks(config, f"{base}layers.", OPT_BLOCK)]
    if pre:
        tensors += entries.norm(config, "final_norm", f"{base}final_layer_norm")
    if narrow:
        tensors += [entries.transposed(f"{base}project_in.weight", "W_E", d, e),
                    entries.transposed(f"{base}project_out.weight", "W_H", e, d)]
    return finished(config, tensors, "model.", "lm_head")


def _opt_width(f: Fields) -> int:
    """Numbers in a row of OPT's embeddings, 512 under a stream of 1024 in its model of 350 million."""
    return f.whole("word_embed_proj_dim", default=f.whole("hidden_size"))


def gpt_neox(f: Fields, names: Collection[str]) -> Plan:
    config = config_of(
        f, norm_epsilon=f.number("layer_norm_eps", 1e-5), activation=f.activation("hidden_act", "gelu"),
        parallel_residual=f.get("use_parallel_residual", True), attention_bias=f.get("attention_bias", True),
        **rotary(f, head_width(f), 0.25, "rotary_emb_base", "rotary_pct"))
    d = config.d_model

    def block(ours: str, theirs: str) -> list[Entry]:
        dense = f"{theirs}attention.dense"
        return [*entries.neox_qkv(f"{theirs}attention.query_key_value", ours, config),
                entries.out_of_heads(f"{dense}.weight", f"{ours}W_O", config.n_heads, config.d_v, d),
                *([entries.as_is(f"{dense}.bias", f"{ours}b_O", d)] if config.attention_bias else []),
                *entries.feed_forward(config, ours, f"{theirs}mlp.", "dense_h_to_4h", "dense_4h_to_h"),
                *entries.norm(config, f"{ours}attn_norm", f"{theirs}input_layernorm"),
                *entries.norm(config, f"{ours}mlp_norm", f"{theirs}post_attention_layernorm")]

    tensors = [entries.as_is("gpt_neox.embed_in.weight", "E", config.vocab_size, d),
            *entries.norm(config, "final_norm", "gpt_neox.final_layer_norm"),
            *blocks(config, "gpt_neox.layers.", block)]
    return finished(config, tensors, "gpt_neox.", "embed_out")


def llama_like(f: Fields, gain_offset: float = 0.0, tied: bool = False, block: dict[str, str] = LLAMA_BLOCK,
               **differences) -> Plan:
    """Llama with the given differences. block: the names within its blocks."""
    d_k = f.whole("head_dim", default=head_width(f))
    settings = dict(
        d_k=d_k, d_v=d_k, n_kv_heads=f.whole("num_key_value_heads", default=f.whole("num_attention_heads")),
        norm="rmsnorm", norm_bias=False, norm_epsilon=f.number("rms_norm_eps", 1e-6),
        activation=f.activation("hidden_act", "silu", gated=True), attention_bias=f.get("attention_bias", False),
        mlp_bias=f.get("mlp_bias", False), **({} if "positions" in differences else rotary(f, d_k, part=None)))
    config = config_of(f, tied=tied, **settings | differences)
    tensors = [entries.as_is("model.embed_tokens.weight", "E", config.vocab_size, config.d_model),
            *entries.norm(config, "final_norm", "model.norm", gain_offset),
            *usual_blocks(config, "model.layers.", block, gain_offset)]
    return finished(config, tensors, "model.", "lm_head")


def llama(f: Fields, names: Collection[str]) -> Plan:
    return llama_like(f)


def mistral(f: Fields, names: Collection[str]) -> Plan:
    return llama_like(f, n_kv_heads=f.whole("num_key_value_heads", default=8), attention_bias=False, mlp_bias=False,
                      **window(f, 4096))


def qwen2(f: Fields, names: Collection[str]) -> Plan:
    """Llama with biases of only the queries, keys and values."""
    return llama_like(f, attention_bias=True, output_bias=False, mlp_bias=False, **switched_window(f))


def qwen3(f: Fields, names: Collection[str]) -> Plan:
    """Llama with norms of the queries and keys."""
    d_k = f.whole("head_dim", default=128)
    return llama_like(f, qk_norm=True, mlp_bias=False, d_k=d_k, d_v=d_k, **switched_window(f))


def gemma(f: Fields, names: Collection[str]) -> Plan:
    """Llama with embeddings times √d, a GELU gate, and norms whose gain is 1 more than the stored one.

    "gelu" in its config means the tanh form.
    """
    act = f.get("hidden_act", "gelu_pytorch_tanh")
    act = "gelu_pytorch_tanh" if act == "gelu" else act
    f.refuse(use_bidirectional_attention=False, hidden_activation=act)
    f = f.changed(hidden_act=act)
    return llama_like(f, 1.0, tied=True, mlp_bias=False, embedding_scale=f.whole("hidden_size") ** 0.5)


def phi(f: Fields, names: Collection[str]) -> Plan:
    f.refuse(qk_layernorm=False)
    config = config_of(
        f, n_kv_heads=f.whole("num_key_value_heads", default=f.whole("num_attention_heads")),
        norm_epsilon=f.number("layer_norm_eps", 1e-5), activation=f.activation("hidden_act", "gelu_new"),
        parallel_residual=True, shared_norm=True, unembedding_bias=True, **rotary(f, head_width(f), 0.5))
    tensors = [entries.as_is("model.embed_tokens.weight", "E", config.vocab_size, config.d_model),
            *entries.norm(config, "final_norm", "model.final_layernorm"),
            entries.as_is("lm_head.bias", "b_U", config.vocab_size),
            *usual_blocks(config, "model.layers.", PHI_BLOCK),
            *blocks(config, "model.layers.", lambda ours, theirs:
                    entries.shared_norm(config, ours, f"{theirs}input_layernorm"))]
    return finished(config, tensors, "model.", "lm_head")


FAMILIES = (gpt2, opt, gpt_neox, llama, mistral, qwen2, qwen3, gemma, phi)
