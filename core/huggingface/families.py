"""The known families of Hugging Face models: the ModelConfig of their config.json, and the names of their weights.

A family is a function from a config.json's Fields (and the names in its weight files, which alone show a few things) to
a Plan. Features that our Transformer lacks are refused by name, never ignored.
"""
from collections.abc import Callable, Collection
from dataclasses import dataclass

from core.huggingface import entries
from core.huggingface.entries import Entry
from core.huggingface.errors import PretrainedError
from core.huggingface.fields import Fields, ends, rotary, switched_window, window
from core.huggingface.keys import refuse_unknown
from core.huggingface.refusals import refuse_quantised, unknown_family
from core.model.config import ModelConfig


@dataclass(frozen=True)
class Plan:
    """How to read one model. prefix: the beginning of the names, unless the file is of the bare model; copies: tensors
    that the file may contain a second time; unembedding: the name of that one, also where it is among the copies.
    """

    config: ModelConfig
    entries: tuple[Entry, ...]
    prefix: str = ""
    copies: tuple[str, ...] = ()
    unembedding: str = ""


# ---- what families have in common ------------------------------------------------------------------------------------


def _config(f: Fields, d_ff: str = "intermediate_size", tied: bool = False, **differences) -> ModelConfig:
    """The config from the fields that most families share. d_ff: the name of the feed-forward width; tied: the default
    for the unembedding; differences: the settings of one family.
    """
    vocab_size = f.whole("vocab_size")
    settings = dict(vocab_size=vocab_size, d_model=f.whole("hidden_size"), n_layers=f.layers("num_hidden_layers"),
                    n_heads=f.whole("num_attention_heads"), n_context=f.whole("max_position_embeddings"),
                    d_ff=f.whole(d_ff), tied_embeddings=f.get("tie_word_embeddings", tied), **ends(f, vocab_size))
    return ModelConfig(**settings | differences)


def _head_width(f: Fields) -> int:
    return f.whole("hidden_size") // max(f.whole("num_attention_heads"), 1)


def _blocks(config: ModelConfig, theirs: str, block: Callable[[str, str], list[Entry]]) -> list[Entry]:
    """The entries of all blocks. block: makes those of one from the beginnings of its names, ours and theirs."""
    return [entry for layer in range(config.n_layers) for entry in block(f"blocks.{layer}.", f"{theirs}{layer}.")]


def _usual_blocks(config: ModelConfig, theirs: str, names: dict[str, str], gain_offset: float = 0.0) -> list[Entry]:
    """Blocks of Linears and norms. names: a table of the names within a block, such as LLAMA_BLOCK."""
    def block(ours: str, theirs: str) -> list[Entry]:
        return [*entries.attention(config, ours, theirs, names),
                *entries.feed_forward(config, ours, theirs, names["up"], names["down"], names.get("gate")),
                *(entry for norm in ("attn_norm", "mlp_norm") if norm in names
                  for entry in entries.norm(config, ours + norm, theirs + names[norm], gain_offset))]

    return _blocks(config, theirs, block)


def _finished(config: ModelConfig, tensors: list[Entry], prefix: str, unembedding: str,
              copies: tuple[str, ...] = ()) -> Plan:
    """The plan, with the unembedding of an untied model; the file of a tied model may contain it as a copy."""
    head = f"{unembedding}.weight"
    if config.tied_embeddings:
        return Plan(config, tuple(tensors), prefix, (*copies, head), head)
    return Plan(config, (*tensors, entries.as_is(head, "W_U", config.vocab_size, config.d_model)), prefix, copies, head)


SELF_ATTENTION = {part: f"self_attn.{part}_proj" for part in "qkvo"}
T5_ATTENTION = {part: part for part in "qkvo"}
OPT_BLOCK = SELF_ATTENTION | dict(o="self_attn.out_proj", up="fc1", down="fc2", attn_norm="self_attn_layer_norm",
                                  mlp_norm="final_layer_norm")
LLAMA_BLOCK = SELF_ATTENTION | dict(up="mlp.up_proj", down="mlp.down_proj", gate="mlp.gate_proj",
                                    q_norm="self_attn.q_norm", k_norm="self_attn.k_norm",
                                    attn_norm="input_layernorm", mlp_norm="post_attention_layernorm")
PHI_BLOCK = SELF_ATTENTION | dict(o="self_attn.dense", up="mlp.fc1", down="mlp.fc2")
BERT_BLOCK = dict(q="attention.self.query", k="attention.self.key", v="attention.self.value",
                  o="attention.output.dense", up="intermediate.dense", down="output.dense",
                  attn_norm="attention.output.LayerNorm", mlp_norm="output.LayerNorm")
DISTILBERT_BLOCK = {part: f"attention.{part}_lin" for part in "qkv"} | dict(
    o="attention.out_lin", up="ffn.lin1", down="ffn.lin2", attn_norm="sa_layer_norm", mlp_norm="output_layer_norm")


# ---- decoders --------------------------------------------------------------------------------------------------------


def gpt2(f: Fields, names: Collection[str]) -> Plan:
    f.refuse(scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
    vocab_size, d = f.whole("vocab_size"), f.whole("n_embd", "hidden_size")
    config = ModelConfig(
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
            *entries.norm(config, "final_norm", "transformer.ln_f"), *_blocks(config, "transformer.h.", block)]
    return _finished(config, tensors, "transformer.", "lm_head")


def opt(f: Fields, names: Collection[str]) -> Plan:
    bias, pre, base = f.get("enable_bias", True), f.get("do_layer_norm_before", True), "model.decoder."
    f.refuse(word_embed_proj_dim=f.whole("hidden_size"), layer_norm_elementwise_affine=True,
             _remove_final_layer_norm=False)
    config = _config(f, "ffn_dim", tied=True, norm_placement="pre" if pre else "post", attention_bias=bias,
                     mlp_bias=bias, activation=f.activation("activation_function", "relu"))
    tensors = [entries.as_is(f"{base}embed_tokens.weight", "E", config.vocab_size, config.d_model),
            entries.without_first(f"{base}embed_positions.weight", "P", 2, config.n_context, config.d_model),
            *_usual_blocks(config, f"{base}layers.", OPT_BLOCK)]
    if pre:
        tensors += entries.norm(config, "final_norm", f"{base}final_layer_norm")
    return _finished(config, tensors, "model.", "lm_head")


def gpt_neox(f: Fields, names: Collection[str]) -> Plan:
    config = _config(
        f, norm_epsilon=f.number("layer_norm_eps", 1e-5), activation=f.activation("hidden_act", "gelu"),
        parallel_residual=f.get("use_parallel_residual", True), attention_bias=f.get("attention_bias", True),
        **rotary(f, _head_width(f), 0.25, "rotary_emb_base", "rotary_pct"))
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
            *_blocks(config, "gpt_neox.layers.", block)]
    return _finished(config, tensors, "gpt_neox.", "embed_out")


def _llama_like(f: Fields, gain_offset: float = 0.0, tied: bool = False, **differences) -> Plan:
    """Llama with the given differences."""
    d_k = f.whole("head_dim", default=_head_width(f))
    settings = dict(
        d_k=d_k, d_v=d_k, n_kv_heads=f.whole("num_key_value_heads", default=f.whole("num_attention_heads")),
        norm="rmsnorm", norm_bias=False, norm_epsilon=f.number("rms_norm_eps", 1e-6),
        activation=f.activation("hidden_act", "silu", gated=True), attention_bias=f.get("attention_bias", False),
        mlp_bias=f.get("mlp_bias", False), **rotary(f, d_k, part=None))
    config = _config(f, tied=tied, **settings | differences)
    tensors = [entries.as_is("model.embed_tokens.weight", "E", config.vocab_size, config.d_model),
            *entries.norm(config, "final_norm", "model.norm", gain_offset),
            *_usual_blocks(config, "model.layers.", LLAMA_BLOCK, gain_offset)]
    return _finished(config, tensors, "model.", "lm_head")


def llama(f: Fields, names: Collection[str]) -> Plan:
    return _llama_like(f)


def mistral(f: Fields, names: Collection[str]) -> Plan:
    return _llama_like(f, n_kv_heads=f.whole("num_key_value_heads", default=8), attention_bias=False, mlp_bias=False,
                       **window(f, 4096))


def qwen2(f: Fields, names: Collection[str]) -> Plan:
    """Llama with biases of only the queries, keys and values."""
    return _llama_like(f, attention_bias=True, output_bias=False, mlp_bias=False, **switched_window(f))


def qwen3(f: Fields, names: Collection[str]) -> Plan:
    """Llama with norms of the queries and keys."""
    d_k = f.whole("head_dim", default=128)
    return _llama_like(f, qk_norm=True, mlp_bias=False, d_k=d_k, d_v=d_k, **switched_window(f))


def gemma(f: Fields, names: Collection[str]) -> Plan:
    """Llama with embeddings times √d, a GELU gate, and norms whose gain is 1 more than the stored one.

    "gelu" in its config means the tanh form.
    """
    act = f.get("hidden_act", "gelu_pytorch_tanh")
    act = "gelu_pytorch_tanh" if act == "gelu" else act
    f.refuse(use_bidirectional_attention=False, hidden_activation=act)
    f = f.changed(hidden_act=act)
    return _llama_like(f, 1.0, tied=True, mlp_bias=False, embedding_scale=f.whole("hidden_size") ** 0.5)


def phi(f: Fields, names: Collection[str]) -> Plan:
    f.refuse(qk_layernorm=False)
    config = _config(
        f, n_kv_heads=f.whole("num_key_value_heads", default=f.whole("num_attention_heads")),
        norm_epsilon=f.number("layer_norm_eps", 1e-5), activation=f.activation("hidden_act", "gelu_new"),
        parallel_residual=True, shared_norm=True, unembedding_bias=True, **rotary(f, _head_width(f), 0.5))
    tensors = [entries.as_is("model.embed_tokens.weight", "E", config.vocab_size, config.d_model),
            *entries.norm(config, "final_norm", "model.final_layernorm"),
            entries.as_is("lm_head.bias", "b_U", config.vocab_size),
            *_usual_blocks(config, "model.layers.", PHI_BLOCK),
            *_blocks(config, "model.layers.", lambda ours, theirs: [
                _for_both(entry) for entry in entries.norm(config, f"{ours}attn_norm", f"{theirs}input_layernorm")])]
    return _finished(config, tensors, "model.", "lm_head")


def _for_both(entry: Entry) -> Entry:
    """A parameter of the norm that attention and feed-forward share."""
    name, = entry.ours
    return Entry(entry.theirs, entry.shape, (name, name.replace("attn_norm", "mlp_norm")),
                 lambda w: (w, w), lambda w, _: w)


# ---- encoders --------------------------------------------------------------------------------------------------------


def _bert_like(f: Fields, names: Collection[str], base: str, layers: str, block: dict[str, str], head: dict[str, str],
               n_first: int = 0, **settings) -> Plan:
    """The plan of BERT, RoBERTa and DistilBERT.

    layers, block: the name of the blocks under `base`, and the names in each. head: the names of the parts of the
    masked-language head. n_first: the number of rows before the first position.

    The bias of the unembedding counts where the file contains one, and the head's is a copy of it then. A file without
    any part of that head is a model without one: its config has no head_transform, and the logits of our Transformer,
    from E and its last vectors, mean nothing.
    """
    headed = not names or any(name.startswith(tuple(head.values())) for name in names)
    config = ModelConfig(
        kind="encoder", vocab_size=f.whole("vocab_size"), norm_placement="post", embedding_norm=True,
        head_transform=headed, unembedding_bias=headed,
        tied_embeddings=f.get("tie_word_embeddings", True) or not headed, end_of_text=None, **settings)
    d, tables = config.d_model, f"{base}embeddings."
    tensors = [entries.as_is(f"{tables}word_embeddings.weight", "E", config.vocab_size, d),
            *entries.norm(config, "embedding_norm", f"{tables}LayerNorm"),
            entries.without_first(f"{tables}position_embeddings.weight", "P", n_first, config.n_context, d),
            *_usual_blocks(config, base + layers, block)]
    if config.n_token_types:
        tensors.append(entries.as_is(f"{tables}token_type_embeddings.weight", "T", config.n_token_types, d))
    if not headed:
        return _finished(config, tensors, base, head["unembedding"])
    own_bias = f"{head['unembedding']}.bias"
    bias = own_bias if own_bias in names else head["bias"]
    tensors += [entries.transposed(f"{head['dense']}.weight", "W_H", d, d),
             entries.as_is(f"{head['dense']}.bias", "b_H", d), *entries.norm(config, "head_norm", head["norm"]),
             entries.as_is(bias, "b_U", config.vocab_size)]
    return _finished(config, tensors, base, head["unembedding"], tuple({own_bias, head["bias"]} - {bias}))


def _bert_sizes(f: Fields, n_first: int = 0) -> dict:
    f.refuse(is_decoder=False, add_cross_attention=False, position_embedding_type="absolute")
    return dict(d_model=f.whole("hidden_size"), n_layers=f.layers("num_hidden_layers"),
                n_heads=f.whole("num_attention_heads"), d_ff=f.whole("intermediate_size"),
                n_context=f.whole("max_position_embeddings") - n_first, activation=f.activation("hidden_act", "gelu"),
                n_token_types=f.whole("type_vocab_size", default=2),
                norm_epsilon=f.number("layer_norm_eps", 1e-12))


def bert(f: Fields, names: Collection[str]) -> Plan:
    head = dict(dense="cls.predictions.transform.dense", norm="cls.predictions.transform.LayerNorm",
                bias="cls.predictions.bias", unembedding="cls.predictions.decoder")
    return _bert_like(f, names, "bert.", "encoder.layer.", BERT_BLOCK, head, **_bert_sizes(f))


def roberta(f: Fields, names: Collection[str]) -> Plan:
    """BERT with positions that begin after the padding token's, and a head that always has GELU."""
    f.refuse(hidden_act="gelu")
    n_first = f.whole("pad_token_id", default=1) + 1
    head = dict(dense="lm_head.dense", norm="lm_head.layer_norm", bias="lm_head.bias", unembedding="lm_head.decoder")
    return _bert_like(f, names, "roberta.", "encoder.layer.", BERT_BLOCK, head, n_first, **_bert_sizes(f, n_first))


def distilbert(f: Fields, names: Collection[str]) -> Plan:
    head = dict(dense="vocab_transform", norm="vocab_layer_norm", bias="vocab_projector.bias",
                unembedding="vocab_projector")
    return _bert_like(f, names, "distilbert.", "transformer.layer.", DISTILBERT_BLOCK, head,
                      d_model=f.whole("dim", "hidden_size"), n_layers=f.layers("n_layers", "num_hidden_layers"),
                      n_heads=f.whole("n_heads", "num_attention_heads"), d_ff=f.whole("hidden_dim"),
                      n_context=f.whole("max_position_embeddings"), activation=f.activation("activation", "gelu"),
                      norm_epsilon=1e-12)


# ---- encoder-decoders ------------------------------------------------------------------------------------------------


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
    config = ModelConfig(
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
                                    config.relative_buckets, config.n_heads)]
        for layer in range(depth):
            tensors += _t5_block(config, f"{ours}blocks.{layer}.", f"{theirs}block.{layer}.layer.", crossed=not ours)
    return _finished(config, tensors, "", "lm_head", ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"))


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


FAMILIES: dict[str, Callable[[Fields, Collection[str]], Plan]] = {family.__name__: family for family in (
    gpt2, opt, gpt_neox, llama, mistral, qwen2, qwen3, gemma, phi, bert, roberta, distilbert, t5)}
# as a reader is told them: where a name goes on to models of another kind, which are meant
TITLES = {"gpt2": "GPT-2", "opt": "OPT", "gpt_neox": "GPT-NeoX (Pythia)", "llama": "Llama", "mistral": "Mistral",
          "qwen2": "Qwen2", "qwen3": "Qwen3", "gemma": "Gemma (the first)", "phi": "Phi (1 and 2)",
          "bert": "BERT", "roberta": "RoBERTa", "distilbert": "DistilBERT", "t5": "T5"}


def plan_of(values: dict, names: Collection[str]) -> Plan:
    """The plan for a model with this config.json and weights of these names.

    Raises PretrainedError for an unknown family or option.
    """
    family = values.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        raise unknown_family(values, TITLES.values())
    refuse_quantised(values)
    try:
        fields = Fields(values)
        plan = FAMILIES[family](fields, names)
        refuse_unknown(values, fields.read)
        return plan
    except PretrainedError:
        raise
    except (ValueError, TypeError, AttributeError) as error:
        raise PretrainedError("config", f"config.json describes no model that can be built: {error} Fetch the original "
                                        f"file again.") from error
