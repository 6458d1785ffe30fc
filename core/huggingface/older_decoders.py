"""Decoders besides GPT-2 and Llama: GPT-Neo, BLOOM, StarCoder2, StableLM, GPT-J, Falcon, MPT, GPT-BigCode and CodeGen.
"""
from collections.abc import Collection

import torch

from core.huggingface import entries
from core.huggingface.entries import Entry
from core.huggingface.errors import PretrainedError
from core.huggingface.fields import Fields, masks, rotary, unsupported
from core.huggingface.keys import passed_over
from core.huggingface.plan import LLAMA_BLOCK, NORMS, Plan, blocks, config_of, finished, head_width, usual_blocks
from core.model.config import ModelConfig

GPT_NEO_BLOCK = {part: f"attn.attention.{part}_proj" for part in "qkv"} | dict(
    o="attn.attention.out_proj", up="mlp.c_fc", down="mlp.c_proj", attn_norm="ln_1", mlp_norm="ln_2")
STARCODER2_BLOCK = {part: name for part, name in LLAMA_BLOCK.items() if part != "gate"} | dict(
    up="mlp.c_fc", down="mlp.c_proj")
STABLELM_BLOCK = LLAMA_BLOCK | {f"{part}_norm": f"self_attn.{part}_layernorm.norms.{{}}" for part in "qk"}
GPTJ_BLOCK = {part: f"attn.{part}_proj" for part in "qkv"} | dict(o="attn.out_proj", up="mlp.fc_in", down="mlp.fc_out")
GPT_NEO_KINDS = {"global": "full_attention", "local": "sliding_attention"}
# keys of rotary positions that only GPT-NeoX has
OF_GPT_NEOX = dict(rotary_pct=None, rotary_emb_base=None)


def _renamed(f: Fields, **names: str) -> Fields:
    """The fields, also under the names that most families use, with a feed-forward part of 4 d if the file gives no
    width. names: the family's own name of each; if a file has both, transformers takes the usual one.
    """
    values = {usual: f.values[own] for usual, own in names.items() if f.get(own) is not None} | {
        name: value for name, value in f.values.items() if value is not None}
    f = Fields(values, f.read, f.passed)
    return f.changed(intermediate_size=f.whole("intermediate_size", default=4 * f.whole("hidden_size")))


def gpt_neo(f: Fields, names: Collection[str]) -> Plan:
    """GPT-2 with separate queries, keys and values, whose scores are not divided, and with a window in every other
    block.
    """
    f = _renamed(f, num_hidden_layers="num_layers", num_attention_heads="num_heads")
    config = config_of(
        f, tied=True, norm_epsilon=f.number("layer_norm_epsilon", 1e-5),
        activation=f.activation("activation_function", "gelu_new"),
        attention_bias=False, output_bias_alone=True, scale_scores=False, **_gpt_neo_masks(f))
    tensors = [entries.as_is("transformer.wte.weight", "E", config.vocab_size, config.d_model),
               entries.as_is("transformer.wpe.weight", "P", config.n_context, config.d_model),
               *entries.norm(config, "final_norm", "transformer.ln_f"),
               *usual_blocks(config, "transformer.h.", GPT_NEO_BLOCK)]
    return finished(config, tensors, "transformer.", "lm_head")


def _gpt_neo_masks(f: Fields) -> dict:
    """The mask of each block from attention_layers, or from attention_types: pairs of a list of kinds and how often it
    is repeated.
    """
    types = f.get("attention_types", [[["global", "local"], 12]])
    kinds = f.get("attention_layers", [kind for repeated, times in types for kind in repeated * times])
    if len(kinds) != f.layers("num_hidden_layers"):
        raise PretrainedError("config", f"config.json gives {len(kinds)} kinds of attention for "
                                        f"{f.layers('num_hidden_layers')} blocks. Fetch the original file again.")
    size = f.whole("window_size", default=256)
    if size >= f.whole("max_position_embeddings"):          # a window that the longest text fits in counts as none
        return {}
    return masks([GPT_NEO_KINDS.get(kind, kind) for kind in kinds], size)


def bloom(f: Fields, names: Collection[str]) -> Plan:
    """A norm of the embeddings, ALiBi, and queries, keys and values in one matrix, head after head.

    Its ALiBi adds m j to the score of key j, ours −m (i − j): a number m i that is the same for all keys of query i,
    and does not change the softmax.
    """
    f.refuse(apply_residual_connection_post_layernorm=False)
    f = _renamed(_of_width(f), num_hidden_layers="n_layer", num_attention_heads="n_head",
                 max_position_embeddings="seq_length")
    f = Fields({"max_position_embeddings": 2048} | f.values, f.read, f.passed)
    config = config_of(f, tied=True, norm_epsilon=f.number("layer_norm_epsilon", 1e-5), activation="gelu_tanh",
                       positions="alibi", embedding_norm=True)
    tensors = [entries.as_is("transformer.word_embeddings.weight", "E", config.vocab_size, config.d_model),
               *entries.norm(config, "embedding_norm", "transformer.word_embeddings_layernorm"),
               *entries.norm(config, "final_norm", "transformer.ln_f"),
               *blocks(config, "transformer.h.", lambda ours, theirs: [
                   *entries.neox_qkv(f"{theirs}self_attention.query_key_value", ours, config),
                   *_rest_of_block(config, ours, theirs),
                   *_norms(config, ours, f"{theirs}input_layernorm", f"{theirs}post_attention_layernorm")])]
    return finished(config, tensors, "transformer.", "lm_head")


def _of_width(f: Fields) -> Fields:
    """The fields, with the width also under its usual name if it is given as n_embed, which takes precedence."""
    return f.changed(hidden_size=f.whole("n_embed" if f.get("n_embed") is not None else "hidden_size"))


def _rest_of_block(config: ModelConfig, ours: str, theirs: str) -> list[Entry]:
    """The entries of a block of BLOOM or Falcon besides queries, keys, values and norms."""
    dense = f"{theirs}self_attention.dense"
    return [entries.out_of_heads(f"{dense}.weight", f"{ours}W_O", config.n_heads, config.d_v, config.d_model),
            *([entries.as_is(f"{dense}.bias", f"{ours}b_O", config.d_model)] if config.writes_bias else []),
            *entries.feed_forward(config, ours, f"{theirs}mlp.", "dense_h_to_4h", "dense_4h_to_h")]


def _norms(config: ModelConfig, ours: str, attn_norm: str, mlp_norm: str) -> list[Entry]:
    return [*entries.norm(config, f"{ours}attn_norm", attn_norm), *entries.norm(config, f"{ours}mlp_norm", mlp_norm)]


def _fully_turned(f: Fields, d_k: int) -> dict:
    """Rotary positions of a family that turns all d_k dimensions, whatever part the file names."""
    f.refuse(**OF_GPT_NEOX)
    found = rotary(f, d_k)
    if found["d_rotary"]:
        raise unsupported(f"rotary positions of {found['d_rotary']} of {d_k} dimensions")
    return found


def starcoder2(f: Fields, names: Collection[str]) -> Plan:
    """Rotary positions, key/value heads for several queries each and a window, with LayerNorms and biases."""
    d_k = f.whole("head_dim", default=head_width(f))
    bias, size = f.get("use_bias", True), f.get("sliding_window")
    limited = size is not None and f.whole("sliding_window") < f.whole("max_position_embeddings")
    config = config_of(
        f, tied=True, d_k=d_k, d_v=d_k, n_kv_heads=f.whole("num_key_value_heads", default=2),
        norm_epsilon=f.number("norm_epsilon", 1e-5), activation=f.activation("hidden_act", "gelu_pytorch_tanh"),
        attention_bias=bias, mlp_bias=bias, **_fully_turned(f, d_k),
        **(masks(["sliding_attention"], size) if limited else {}))
    tensors = [entries.as_is("model.embed_tokens.weight", "E", config.vocab_size, config.d_model),
               *entries.norm(config, "final_norm", "model.norm"),
               *usual_blocks(config, "model.layers.", STARCODER2_BLOCK)]
    return finished(config, tensors, "model.", "lm_head")


def stablelm(f: Fields, names: Collection[str]) -> Plan:
    """Llama with LayerNorms and a rotation of a quarter of each head; the larger ones with a parallel residual, and
    with norms of each head's queries and keys.
    """
    f.refuse(**OF_GPT_NEOX)
    parallel, normed = f.get("use_parallel_residual", False), f.get("qk_layernorm", False)
    config = config_of(
        f, n_kv_heads=f.whole("num_key_value_heads", default=32), norm_epsilon=f.number("layer_norm_eps", 1e-5),
        activation=f.activation("hidden_act", "silu", gated=True), attention_bias=f.get("use_qkv_bias", False),
        output_bias=False, mlp_bias=False, parallel_residual=parallel, shared_norm=parallel, qk_norm=normed,
        qk_norm_heads=normed, **rotary(f, head_width(f), 0.25))
    in_block = {part: name for part, name in STABLELM_BLOCK.items() if not parallel or part not in NORMS}
    tensors = [entries.as_is("model.embed_tokens.weight", "E", config.vocab_size, config.d_model),
               *entries.norm(config, "final_norm", "model.norm"),
               *usual_blocks(config, "model.layers.", in_block)]
    if parallel:
        tensors += blocks(config, "model.layers.", lambda ours, theirs:
                          entries.shared_norm(config, ours, f"{theirs}input_layernorm"))
    return finished(config, tensors, "model.", "lm_head")


def gptj(f: Fields, names: Collection[str]) -> Plan:
    """A parallel residual behind one norm, no biases in attention, rotary positions of neighbouring dimensions."""
    config = _gptj_config(f)
    return _gptj_plan(config, usual_blocks(config, "transformer.h.", GPTJ_BLOCK))


def _gptj_config(f: Fields) -> ModelConfig:
    f.refuse(rotary=True, scale_attn_weights=True)
    f = _renamed(f, hidden_size="n_embd", num_hidden_layers="n_layer", num_attention_heads="n_head",
                 max_position_embeddings="n_positions", intermediate_size="n_inner")
    width = f.whole("rotary_dim", default=64)
    if width < 1:
        raise unsupported(f"rotary_dim = {width}")
    return config_of(
        f, norm_epsilon=f.number("layer_norm_epsilon", 1e-5),
        activation=f.activation("activation_function", "gelu_new"), positions="rotary", d_rotary=width,
        attention_bias=False, parallel_residual=True, shared_norm=True, unembedding_bias=True)


def _gptj_plan(config: ModelConfig, of_blocks: list[Entry]) -> Plan:
    """The plan of GPT-J with these entries of its blocks, apart from each block's shared norm."""
    tensors = [entries.as_is("transformer.wte.weight", "E", config.vocab_size, config.d_model),
               *entries.norm(config, "final_norm", "transformer.ln_f"),
               entries.as_is("lm_head.bias", "b_U", config.vocab_size),
               *(entries.paired_side_by_side(entry, config.rotary.d_rotary) for entry in of_blocks),
               *blocks(config, "transformer.h.", lambda ours, theirs:
                       entries.shared_norm(config, ours, f"{theirs}ln_1"))]
    return finished(config, tensors, "transformer.", "lm_head")


def falcon(f: Fields, names: Collection[str]) -> Plan:
    """Rotary positions, and few key/value heads or one; attention and feed-forward side by side, behind one norm (7B),
    two (40B), or one after the other. RW has ALiBi instead of rotary positions.

    Its ALiBi is added to q·k before the division by √d_k, once, as in training. transformers 5.23 does this in its pass
    through the fused kernel ("sdpa"); its pass "eager", which returns the weights, adds ALiBi twice.
    """
    f.refuse(apply_residual_connection_post_layernorm=False)
    f = _falcon_fields(f)
    n_norms, bias = _falcon_norms(f), f.get("bias", False)
    turned = _fully_turned(f, head_width(f))
    config = config_of(
        f, tied=True, n_kv_heads=_falcon_kv_heads(f), norm_epsilon=f.number("layer_norm_epsilon", 1e-5),
        activation=f.activation("activation", "gelu"), attention_bias=bias, mlp_bias=bias,
        parallel_residual=n_norms is not None, shared_norm=n_norms == 1,
        **(dict(positions="alibi", rounded_alibi=True) if f.get("alibi", False) else turned))

    def block(ours: str, theirs: str) -> list[Entry]:
        first = f"{theirs}input_layernorm"
        return [*entries.neox_qkv(f"{theirs}self_attention.query_key_value", ours, config),
                *_rest_of_block(config, ours, theirs),
                *(entries.shared_norm(config, ours, first) if n_norms == 1
                  else _norms(config, ours, f"{theirs}ln_attn", f"{theirs}ln_mlp") if n_norms == 2
                  else _norms(config, ours, first, f"{theirs}post_attention_layernorm"))]

    tensors = [entries.as_is("transformer.word_embeddings.weight", "E", config.vocab_size, config.d_model),
               *entries.norm(config, "final_norm", "transformer.ln_f"), *blocks(config, "transformer.h.", block)]
    return finished(config, tensors, "transformer.", "lm_head")


def _falcon_fields(f: Fields) -> Fields:
    """The fields under the usual names; null instead of true or false means false, as in transformers."""
    null = {name: False for name in ("parallel_attn", "multi_query") if f.values.get(name, True) is None}
    f = _renamed(_of_width(f), intermediate_size="ffn_hidden_size")
    return Fields({"max_position_embeddings": 2048} | f.values | null, f.read, f.passed)


def _falcon_norms(f: Fields) -> int | None:
    """How many norms the parallel residual of a block has; None: its sublayers follow one another."""
    if f.get("new_decoder_architecture", False):
        f.refuse(parallel_attn=True)
        found = f.whole("num_ln_in_parallel_attn", default=2)
        if found not in (1, 2):
            raise unsupported(f"num_ln_in_parallel_attn = {found}")
        return found
    if not f.get("parallel_attn", True):
        return None
    f.refuse(num_ln_in_parallel_attn=1)
    return 1


def _falcon_kv_heads(f: Fields) -> int:
    n_heads = f.whole("num_attention_heads")
    if f.get("new_decoder_architecture", False):
        return f.whole("num_kv_heads", default=n_heads)
    if f.get("multi_query", True):
        return 1
    f.refuse(num_kv_heads=n_heads)
    return n_heads


def mpt(f: Fields, names: Collection[str]) -> Plan:
    """ALiBi and no biases, not even in the norms."""
    f.refuse(no_bias=True, logit_scale=None, expansion_ratio=4)
    attention = Fields(f.get("attn_config", {}))
    attention.refuse(alibi=True, alibi_bias_max=8, attn_type="multihead_attention", clip_qkv=None, prefix_lm=False,
                     qk_ln=False, softmax_scale=None)
    f.passed += passed_over(attention.values, attention.read, "mpt")
    if f.get("norm_type", "layernorm") not in ("layernorm", "low_precision_layernorm"):
        raise unsupported(f"norm_type = {f.get('norm_type')!r}")
    f = _renamed(f, hidden_size="d_model", num_hidden_layers="n_layers", num_attention_heads="n_heads",
                 max_position_embeddings="max_seq_len")
    config = config_of(f, tied=True, norm_epsilon=f.number("layer_norm_epsilon", 1e-5), activation="gelu",
                       positions="alibi", attention_bias=False, mlp_bias=False, norm_bias=False)
    d = config.d_model
    tensors = [entries.as_is("transformer.wte.weight", "E", config.vocab_size, d),
               *entries.norm(config, "final_norm", "transformer.norm_f"),
               *blocks(config, "transformer.blocks.", lambda ours, theirs: [
                   _stacked_qkv(config, ours, f"{theirs}attn.Wqkv.weight"),
                   entries.out_of_heads(f"{theirs}attn.out_proj.weight", f"{ours}W_O", config.n_heads, config.d_v, d),
                   *entries.feed_forward(config, ours, f"{theirs}ffn.", "up_proj", "down_proj"),
                   *_norms(config, ours, f"{theirs}norm_1", f"{theirs}norm_2")])]
    return finished(config, tensors, "transformer.", "lm_head")


def _stacked_qkv(config: ModelConfig, ours: str, theirs: str) -> Entry:
    """A Linear (3 h k, d): the queries of all heads, then all keys, then all values."""
    h, k, d = config.n_heads, config.d_k, config.d_model
    return Entry(theirs, (3 * h * k, d), tuple(f"{ours}W_{letter}" for letter in "QKV"),
                 lambda w: tuple(w.reshape(3, h, k, d).mT), lambda *parts: torch.stack(parts).mT.reshape(3 * h * k, d))


def gpt_bigcode(f: Fields, names: Collection[str]) -> Plan:
    """GPT-2 with one key/value head for all queries."""
    f.refuse(add_cross_attention=False)
    f = _renamed(f, hidden_size="n_embd", num_hidden_layers="n_layer", num_attention_heads="n_head",
                 max_position_embeddings="n_positions", intermediate_size="n_inner")
    n_kv_heads = 1 if f.get("multi_query", True) else f.whole("num_attention_heads")
    f.refuse(num_key_value_heads=n_kv_heads)
    config = config_of(
        f, tied=True, n_kv_heads=n_kv_heads,
        norm_epsilon=f.number("layer_norm_epsilon", 1e-5), scale_scores=f.get("scale_attn_weights", True),
        activation=f.activation("activation_function", "gelu_pytorch_tanh"))
    d = config.d_model
    tensors = [entries.as_is("transformer.wte.weight", "E", config.vocab_size, d),
               entries.as_is("transformer.wpe.weight", "P", config.n_context, d),
               *entries.norm(config, "final_norm", "transformer.ln_f"),
               *blocks(config, "transformer.h.", lambda ours, theirs: [
                   *entries.neox_qkv(f"{theirs}attn.c_attn", ours, config),
                   entries.out_of_heads(f"{theirs}attn.c_proj.weight", f"{ours}W_O", config.n_heads, config.d_v, d),
                   entries.as_is(f"{theirs}attn.c_proj.bias", f"{ours}b_O", d),
                   *entries.feed_forward(config, ours, f"{theirs}mlp.", "c_fc", "c_proj"),
                   *_norms(config, ours, f"{theirs}ln_1", f"{theirs}ln_2")])]
    return finished(config, tensors, "transformer.", "lm_head")


def codegen(f: Fields, names: Collection[str]) -> Plan:
    """GPT-J with queries, keys and values in one matrix."""
    config = _gptj_config(f)
    d = config.d_model
    return _gptj_plan(config, blocks(config, "transformer.h.", lambda ours, theirs: [
        _codegen_qkv(config, ours, f"{theirs}attn.qkv_proj.weight"),
        entries.out_of_heads(f"{theirs}attn.out_proj.weight", f"{ours}W_O", config.n_heads, config.d_v, d),
        *entries.feed_forward(config, ours, f"{theirs}mlp.", "fc_in", "fc_out")]))


def _codegen_qkv(config: ModelConfig, ours: str, theirs: str) -> Entry:
    """A Linear (3 h k, d) in four parts, one for each processor that it was trained on: in each the queries of a
    quarter of the heads, then their values, then their keys.
    """
    h, k, d = config.n_heads, config.d_k, config.d_model
    if h % 4:
        raise unsupported(f"{h} heads, which four processors cannot share")
    return Entry(theirs, (3 * h * k, d), tuple(f"{ours}W_{letter}" for letter in "QVK"),
                 lambda w: tuple(part.reshape(h, k, d).mT for part in w.reshape(4, 3, h // 4, k, d).unbind(1)),
                 lambda *parts: torch.stack([W.mT.reshape(4, h // 4, k, d) for W in parts], dim=1).flatten(0, 3))


FAMILIES = (gpt_neo, bloom, starcoder2, stablelm, gptj, falcon, mpt, gpt_bigcode, codegen)
