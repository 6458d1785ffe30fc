"""The families of Hugging Face models that this program knows: what their config.json says as a ModelConfig, and where
each weight stands.

A family is a function from a config.json's Fields (and the names in its weight files, which alone tell a few things) to
a Plan. Whatever a config asks for that our Transformer does not do is refused by name, never left out.
"""
from collections.abc import Callable, Collection
from dataclasses import dataclass

from core.huggingface import entries
from core.huggingface.entries import Entry
from core.huggingface.errors import PretrainedError
from core.huggingface.fields import Fields, ends, rotary, unsupported, window
from core.model.config import ModelConfig


@dataclass(frozen=True)
class Plan:
    """How one model is read. prefix: what the names begin with, unless the file holds the bare model; copies: tensors
    that may stand in the file a second time.
    """

    config: ModelConfig
    entries: tuple[Entry, ...]
    prefix: str = ""
    copies: tuple[str, ...] = ()


def gpt2(f: Fields, names: Collection[str]) -> Plan:
    f.refuse(scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
    vocab_size, d = f.whole("vocab_size"), f.whole("n_embd", "hidden_size")
    config = ModelConfig(
        vocab_size=vocab_size, d_model=d,
        n_layers=f.layers("n_layer", "num_hidden_layers"), n_heads=f.whole("n_head", "num_attention_heads"),
        n_context=f.whole("n_positions", "n_ctx", "max_position_embeddings"), d_ff=f.whole("n_inner", default=4 * d),
        norm_epsilon=f.number("layer_norm_epsilon", 1e-5), activation=f.activation("activation_function", "gelu_new"),
        tied_embeddings=f.get("tie_word_embeddings", True), **ends(f, vocab_size))
    made = [entries.as_is("transformer.wte.weight", "E", vocab_size, d),
            entries.as_is("transformer.wpe.weight", "P", config.n_context, d),
            *entries.norm(config, "final_norm", "transformer.ln_f")]
    for layer in range(config.n_layers):
        here, there = f"blocks.{layer}.", f"transformer.h.{layer}."
        made += [*entries.gpt2_qkv(f"{there}attn.c_attn", here, config),
                 *entries.norm(config, f"{here}attn_norm", f"{there}ln_1"),
                 *entries.norm(config, f"{here}mlp_norm", f"{there}ln_2"),
                 Entry(f"{there}attn.c_proj.weight", (d, d), (f"{here}W_O",),
                       lambda w: (w.reshape(config.n_heads, config.d_v, d),), lambda W: W.flatten(0, 1)),
                 entries.as_is(f"{there}attn.c_proj.bias", f"{here}b_O", d),
                 entries.as_is(f"{there}mlp.c_fc.weight", f"{here}W_1", d, config.d_ff),
                 entries.as_is(f"{there}mlp.c_fc.bias", f"{here}b_1", config.d_ff),
                 entries.as_is(f"{there}mlp.c_proj.weight", f"{here}W_2", config.d_ff, d),
                 entries.as_is(f"{there}mlp.c_proj.bias", f"{here}b_2", d)]
    return _finished(config, made, "transformer.", "lm_head")


def opt(f: Fields, names: Collection[str]) -> Plan:
    d, vocab_size, pre = f.whole("hidden_size"), f.whole("vocab_size"), f.get("do_layer_norm_before", True)
    f.refuse(word_embed_proj_dim=d, layer_norm_elementwise_affine=True, _remove_final_layer_norm=False)
    config = ModelConfig(
        vocab_size=vocab_size, d_model=d, n_layers=f.layers("num_hidden_layers"),
        n_heads=f.whole("num_attention_heads"), n_context=f.whole("max_position_embeddings"),
        d_ff=f.whole("ffn_dim"), norm_placement="pre" if pre else "post",
        activation=f.activation("activation_function", "relu"), attention_bias=f.get("enable_bias", True),
        mlp_bias=f.get("enable_bias", True), tied_embeddings=f.get("tie_word_embeddings", True), **ends(f, vocab_size))
    base = "model.decoder."
    made = [entries.as_is(f"{base}embed_tokens.weight", "E", vocab_size, d),
            entries.without_first(f"{base}embed_positions.weight", "P", 2, config.n_context, d)]
    made += entries.norm(config, "final_norm", f"{base}final_layer_norm") if pre else []
    for layer in range(config.n_layers):
        here, there = f"blocks.{layer}.", f"{base}layers.{layer}."
        made += [*entries.attention(config, here, f"{there}self_attn.", "q_proj", "k_proj", "v_proj", "out_proj"),
                 *entries.feed_forward(config, here, there, "fc1", "fc2"),
                 *entries.norm(config, f"{here}attn_norm", f"{there}self_attn_layer_norm"),
                 *entries.norm(config, f"{here}mlp_norm", f"{there}final_layer_norm")]
    return _finished(config, made, "model.", "lm_head")


def gpt_neox(f: Fields, names: Collection[str]) -> Plan:
    d, vocab_size, n_heads = f.whole("hidden_size"), f.whole("vocab_size"), f.whole("num_attention_heads")
    bias = f.get("attention_bias", True)
    config = ModelConfig(
        vocab_size=vocab_size, d_model=d, n_layers=f.layers("num_hidden_layers"), n_heads=n_heads,
        n_context=f.whole("max_position_embeddings"), d_ff=f.whole("intermediate_size"),
        norm_epsilon=f.number("layer_norm_eps", 1e-5), activation=f.activation("hidden_act", "gelu"),
        parallel_residual=f.get("use_parallel_residual", True), attention_bias=bias,
        tied_embeddings=f.get("tie_word_embeddings", False), **rotary(f, d // max(n_heads, 1), 0.25),
        **ends(f, vocab_size))
    made = [entries.as_is("gpt_neox.embed_in.weight", "E", vocab_size, d),
            *entries.norm(config, "final_norm", "gpt_neox.final_layer_norm")]
    for layer in range(config.n_layers):
        here, there = f"blocks.{layer}.", f"gpt_neox.layers.{layer}."
        made += [*entries.neox_qkv(f"{there}attention.query_key_value", here, config),
                 entries.out_of_heads(f"{there}attention.dense.weight", f"{here}W_O", n_heads, config.d_v, d),
                 *([entries.as_is(f"{there}attention.dense.bias", f"{here}b_O", d)] if bias else []),
                 *entries.feed_forward(config, here, f"{there}mlp.", "dense_h_to_4h", "dense_4h_to_h"),
                 *entries.norm(config, f"{here}attn_norm", f"{there}input_layernorm"),
                 *entries.norm(config, f"{here}mlp_norm", f"{there}post_attention_layernorm")]
    return _finished(config, made, "gpt_neox.", "embed_out")


def _llama_like(f: Fields, gain_offset: float = 0.0, activation: str = "silu", tied: bool = False,
                **differences) -> Plan:
    """Llama, and what differs from it in the fields given."""
    d, vocab_size, n_heads, n_context = (
        f.whole(name) for name in ("hidden_size", "vocab_size", "num_attention_heads", "max_position_embeddings"))
    n_layers = f.layers("num_hidden_layers")
    d_k = f.whole("head_dim", default=d // max(n_heads, 1))
    settings = dict(
        vocab_size=vocab_size, d_model=d, n_layers=n_layers, n_heads=n_heads, n_context=n_context, d_k=d_k, d_v=d_k,
        d_ff=f.whole("intermediate_size"), n_kv_heads=f.whole("num_key_value_heads", default=n_heads), norm="rmsnorm",
        norm_bias=False, norm_epsilon=f.number("rms_norm_eps", 1e-6),
        activation=f.activation("hidden_act", activation, gated=True),
        attention_bias=f.get("attention_bias", False), mlp_bias=f.get("mlp_bias", False),
        tied_embeddings=f.get("tie_word_embeddings", tied), **rotary(f, d_k), **ends(f, vocab_size))
    config = ModelConfig(**settings | differences)
    made = [entries.as_is("model.embed_tokens.weight", "E", vocab_size, d),
            *entries.norm(config, "final_norm", "model.norm", gain_offset)]
    for layer in range(n_layers):
        here, there = f"blocks.{layer}.", f"model.layers.{layer}."
        made += [*entries.attention(config, here, f"{there}self_attn.", "q_proj", "k_proj", "v_proj", "o_proj"),
                 *entries.feed_forward(config, here, f"{there}mlp.", "up_proj", "down_proj", "gate_proj"),
                 *entries.norm(config, f"{here}attn_norm", f"{there}input_layernorm", gain_offset),
                 *entries.norm(config, f"{here}mlp_norm", f"{there}post_attention_layernorm", gain_offset)]
    return _finished(config, made, "model.", "lm_head")


def llama(f: Fields, names: Collection[str]) -> Plan:
    return _llama_like(f)


def mistral(f: Fields, names: Collection[str]) -> Plan:
    return _llama_like(f, n_kv_heads=f.whole("num_key_value_heads", default=8), attention_bias=False, mlp_bias=False,
                       **window(f, f.layers("num_hidden_layers"), f.whole("max_position_embeddings")))


def qwen2(f: Fields, names: Collection[str]) -> Plan:
    """Llama with biases of the queries, keys and values alone."""
    return _llama_like(f, attention_bias=True, output_bias=False, mlp_bias=False,
                       **window(f, f.layers("num_hidden_layers"), f.whole("max_position_embeddings")))


def qwen3(f: Fields, names: Collection[str]) -> Plan:
    """Llama with norms of the queries and keys."""
    return _llama_like(f, qk_norm=True, mlp_bias=False,
                       d_k=f.whole("head_dim", default=128), d_v=f.whole("head_dim", default=128),
                       **window(f, f.layers("num_hidden_layers"), f.whole("max_position_embeddings")))


def gemma(f: Fields, names: Collection[str]) -> Plan:
    """Llama with embeddings times √d, a GELU gate, and norms whose gain is 1 more than what is stored.

    "gelu" in its config means the tanh form.
    """
    f.refuse(use_bidirectional_attention=False)
    act = f.get("hidden_activation") or f.get("hidden_act", "gelu_pytorch_tanh")
    f = Fields(f.values | {"hidden_act": "gelu_pytorch_tanh" if act == "gelu" else act})
    return _llama_like(f, 1.0, tied=True, mlp_bias=False, embedding_scale=f.whole("hidden_size") ** 0.5)


def phi(f: Fields, names: Collection[str]) -> Plan:
    f.refuse(qk_layernorm=False)
    d, vocab_size, n_heads = f.whole("hidden_size"), f.whole("vocab_size"), f.whole("num_attention_heads")
    config = ModelConfig(
        vocab_size=vocab_size, d_model=d, n_layers=f.layers("num_hidden_layers"), n_heads=n_heads,
        n_kv_heads=f.whole("num_key_value_heads", default=n_heads),
        n_context=f.whole("max_position_embeddings"), d_ff=f.whole("intermediate_size"),
        norm_epsilon=f.number("layer_norm_eps", 1e-5), activation=f.activation("hidden_act", "gelu_new"),
        parallel_residual=True, shared_norm=True, unembedding_bias=True,
        tied_embeddings=f.get("tie_word_embeddings", False), **rotary(f, d // max(n_heads, 1), 0.5),
        **ends(f, vocab_size))
    made = [entries.as_is("model.embed_tokens.weight", "E", vocab_size, d),
            *entries.norm(config, "final_norm", "model.final_layernorm"),
            entries.as_is("lm_head.bias", "b_U", vocab_size)]
    for layer in range(config.n_layers):
        here, there = f"blocks.{layer}.", f"model.layers.{layer}."
        made += [*entries.attention(config, here, f"{there}self_attn.", "q_proj", "k_proj", "v_proj", "dense"),
                 *entries.feed_forward(config, here, f"{there}mlp.", "fc1", "fc2"),
                 *map(_for_both, entries.norm(config, f"{here}attn_norm", f"{there}input_layernorm"))]
    return _finished(config, made, "model.", "lm_head")


def _for_both(entry: Entry) -> Entry:
    """A part of the norm that attention and feed-forward share."""
    name, = entry.ours
    return Entry(entry.theirs, entry.shape, (name, name.replace("attn_norm", "mlp_norm")),
                 lambda w: (w, w), lambda w, _: w)


def _bert_like(f: Fields, names: Collection[str], base: str, head: dict[str, str], n_first: int, **settings) -> Plan:
    """What BERT, RoBERTa and DistilBERT have in common: all but the blocks.

    `head` names the parts of the masked-language head; n_first rows of the positions stand for none.

    An untied unembedding has its own bias, where the file holds it; the head's is not used then. A file without any
    part of that head is a model without one: its config has no head_transform, and the logits that our Transformer
    makes with E of its last vectors say nothing.
    """
    vocab_size, headed = f.whole("vocab_size"), not names or any(
        name.startswith((head["dense"], head["norm"], head["bias"], head["unembedding"])) for name in names)
    config = ModelConfig(
        kind="encoder", vocab_size=vocab_size, norm_placement="post", embedding_norm=True, head_transform=headed,
        unembedding_bias=headed, norm_epsilon=f.number("layer_norm_eps", 1e-12),
        tied_embeddings=f.get("tie_word_embeddings", True) or not headed, end_of_text=None, **settings)
    d, bias = config.d_model, f"{head['unembedding']}.bias"
    made = [entries.as_is(f"{base}embeddings.word_embeddings.weight", "E", vocab_size, d),
            *entries.norm(config, "embedding_norm", f"{base}embeddings.LayerNorm"),
             entries.without_first(f"{base}embeddings.position_embeddings.weight", "P", n_first, config.n_context, d)]
    if config.n_token_types:
        made.append(entries.as_is(f"{base}embeddings.token_type_embeddings.weight", "T", config.n_token_types, d))
    if not headed:
        return _finished(config, made, base, head["unembedding"])
    made += [entries.transposed(f"{head['dense']}.weight", "W_H", d, d),
             entries.as_is(f"{head['dense']}.bias", "b_H", d), *entries.norm(config, "head_norm", head["norm"]),
             entries.as_is(head["bias"] if config.tied_embeddings or bias not in names else bias, "b_U", vocab_size)]
    return _finished(config, made, base, head["unembedding"], (bias, head["bias"]))


def _bert_blocks(plan: Plan, base: str, names: dict[str, str]) -> Plan:
    made, config = list(plan.entries), plan.config
    for layer in range(config.n_layers):
        here, there = f"blocks.{layer}.", f"{base}layer.{layer}."
        made += [*entries.attention(config, here, there, names["q"], names["k"], names["v"], names["o"]),
                 *entries.feed_forward(config, here, there, names["up"], names["down"]),
                 *entries.norm(config, f"{here}attn_norm", there + names["attn_norm"]),
                 *entries.norm(config, f"{here}mlp_norm", there + names["mlp_norm"])]
    return Plan(config, tuple(made), plan.prefix, plan.copies)


BERT_BLOCK = dict(q="attention.self.query", k="attention.self.key", v="attention.self.value",
                  o="attention.output.dense", up="intermediate.dense", down="output.dense",
                  attn_norm="attention.output.LayerNorm", mlp_norm="output.LayerNorm")
DISTILBERT_BLOCK = dict(q="attention.q_lin", k="attention.k_lin", v="attention.v_lin", o="attention.out_lin",
                        up="ffn.lin1", down="ffn.lin2", attn_norm="sa_layer_norm", mlp_norm="output_layer_norm")


def _bert_sizes(f: Fields, n_first: int) -> dict:
    f.refuse(is_decoder=False, add_cross_attention=False, position_embedding_type="absolute")
    return dict(d_model=f.whole("hidden_size"), n_layers=f.layers("num_hidden_layers"),
                n_heads=f.whole("num_attention_heads"), d_ff=f.whole("intermediate_size"),
                n_context=f.whole("max_position_embeddings") - n_first, activation=f.activation("hidden_act", "gelu"),
                n_token_types=f.whole("type_vocab_size", default=2))


def bert(f: Fields, names: Collection[str]) -> Plan:
    head = dict(dense="cls.predictions.transform.dense", norm="cls.predictions.transform.LayerNorm",
                bias="cls.predictions.bias", unembedding="cls.predictions.decoder")
    return _bert_blocks(_bert_like(f, names, "bert.", head, 0, **_bert_sizes(f, 0)), "bert.encoder.", BERT_BLOCK)


def roberta(f: Fields, names: Collection[str]) -> Plan:
    """BERT whose positions begin after that of the padding token, and whose head always has GELU."""
    f.refuse(hidden_act="gelu")
    head, n_first = dict(dense="lm_head.dense", norm="lm_head.layer_norm", bias="lm_head.bias",
                         unembedding="lm_head.decoder"), f.whole("pad_token_id", default=1) + 1
    return _bert_blocks(_bert_like(f, names, "roberta.", head, n_first, **_bert_sizes(f, n_first)),
                        "roberta.encoder.", BERT_BLOCK)


def distilbert(f: Fields, names: Collection[str]) -> Plan:
    head = dict(dense="vocab_transform", norm="vocab_layer_norm", bias="vocab_projector.bias",
                unembedding="vocab_projector")
    sizes = dict(d_model=f.whole("dim"), n_layers=f.layers("n_layers"), n_heads=f.whole("n_heads"),
                 d_ff=f.whole("hidden_dim"), n_context=f.whole("max_position_embeddings"),
                 activation=f.activation("activation", "gelu"))
    return _bert_blocks(_bert_like(f, names, "distilbert.", head, 0, **sizes), "distilbert.transformer.",
                        DISTILBERT_BLOCK)


def t5(f: Fields, names: Collection[str]) -> Plan:
    """T5 and its version 1.1.

    The first scales its logits by d^−½ and ties them to the embeddings; files of the second hold an
    unembedding of their own.
    """
    d, vocab_size, d_kv, n_layers = f.whole("d_model"), f.whole("vocab_size"), f.whole("d_kv"), f.layers("num_layers")
    scaled = f.get("scale_decoder_outputs", f.get("tie_word_embeddings", True))
    act = f.get("feed_forward_proj", "relu")
    gated, curve = act.startswith("gated-"), "gelu_new" if act == "gated-gelu" else act.removeprefix("gated-")
    config = ModelConfig(
        kind="encoder-decoder", vocab_size=vocab_size, d_model=d,
        n_layers=f.layers("num_decoder_layers", default=n_layers),
        n_encoder_layers=n_layers, n_heads=f.whole("num_heads"),
        d_k=d_kv, d_v=d_kv, d_ff=f.whole("d_ff"), n_context=f.whole("n_positions", default=512), norm="rmsnorm",
        norm_bias=False, norm_epsilon=f.number("layer_norm_epsilon", 1e-6),
        activation=Fields({"act": curve}).activation("act", curve, gated), positions="relative",
        relative_buckets=f.whole("relative_attention_num_buckets", default=32),
        relative_max_distance=f.whole("relative_attention_max_distance", default=128), scale_scores=False,
        attention_bias=False, mlp_bias=False, tied_embeddings=scaled or "lm_head.weight" not in names,
        logit_scale=d ** -0.5 if scaled else 1.0, **ends(f, vocab_size, "decoder_start_token_id"))
    made = [entries.as_is("shared.weight", "E", vocab_size, d)]
    for here, there, depth in (("encoder.", "encoder.", n_layers), ("", "decoder.", config.n_layers)):
        made += [*entries.norm(config, f"{here}final_norm", f"{there}final_layer_norm"),
                 entries.transposed(f"{there}block.0.layer.0.SelfAttention.relative_attention_bias.weight", f"{here}r",
                                    config.relative_buckets, config.n_heads)]
        for layer in range(depth):
            made += _t5_block(config, f"{here}blocks.{layer}.", f"{there}block.{layer}.layer.", crossed=not here)
    return _finished(config, made, "", "lm_head", ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"))


def _t5_block(config: ModelConfig, here: str, there: str, crossed: bool) -> list[Entry]:
    made = [*entries.attention(config, here, f"{there}0.SelfAttention.", "q", "k", "v", "o"),
            *entries.norm(config, f"{here}attn_norm", f"{there}0.layer_norm")]
    if crossed:
        made += [*entries.attention(config, f"{here}cross.", f"{there}1.EncDecAttention.", "q", "k", "v", "o"),
                 *entries.norm(config, f"{here}cross.norm", f"{there}1.layer_norm")]
    last = f"{there}{2 if crossed else 1}."
    up, gate = ("wi_1", "wi_0") if config.gated else ("wi", None)
    return made + [*entries.feed_forward(config, here, f"{last}DenseReluDense.", up, "wo", gate),
                   *entries.norm(config, f"{here}mlp_norm", f"{last}layer_norm")]


def _finished(config: ModelConfig, made: list[Entry], prefix: str, unembedding: str,
              copies: tuple[str, ...] = ()) -> Plan:
    """The plan, with the unembedding of an untied model; a tied one's file may hold it as a copy."""
    if config.tied_embeddings:
        return Plan(config, tuple(made), prefix, (*copies, f"{unembedding}.weight"))
    return Plan(config, (*made, entries.as_is(f"{unembedding}.weight", "W_U", config.vocab_size, config.d_model)),
                prefix, copies)


FAMILIES: dict[str, Callable[[Fields, Collection[str]], Plan]] = {family.__name__: family for family in (
    gpt2, opt, gpt_neox, llama, mistral, qwen2, qwen3, gemma, phi, bert, roberta, distilbert, t5)}
TITLES = {"gpt2": "GPT-2", "opt": "OPT", "gpt_neox": "GPT-NeoX (Pythia)", "llama": "Llama", "mistral": "Mistral",
          "qwen2": "Qwen2", "qwen3": "Qwen3", "gemma": "Gemma", "phi": "Phi",
          "bert": "BERT", "roberta": "RoBERTa", "distilbert": "DistilBERT", "t5": "T5"}


def plan_of(values: dict, names: Collection[str]) -> Plan:
    """The plan for a model with this config.json and weights of these names.

    PretrainedError for a family or an option that this program does not know.
    """
    family = values.get("model_type")
    if family not in FAMILIES:
        raise PretrainedError("family", f"This program does not know models of the family {family!r}. It knows "
                                        f"{', '.join(TITLES.values())}: choose one of those.")
    if values.get("quantization_config"):
        raise unsupported("quantised weights")
    try:
        return FAMILIES[family](Fields(values), names)
    except PretrainedError:
        raise
    except (ValueError, TypeError, AttributeError) as error:
        raise PretrainedError("config", f"config.json describes no model that can be built: {error} Fetch the original "
                                        f"file again.") from error
