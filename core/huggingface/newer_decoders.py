"""Decoders since 2024, most of them Llama with something of their own: Gemma 3 and 2, SmolLM3, OLMo 1 and 2, Phi-3 and
Phi-4, Granite, Cohere's Command R and R7B.
"""
import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from core.huggingface import entries
from core.huggingface.decoders import llama_like
from core.huggingface.entries import Entry
from core.huggingface.errors import PretrainedError, short
from core.huggingface.fields import Fields, masks, rotary, unsupported
from core.huggingface.keys import passed_over
from core.huggingface.plan import LLAMA_BLOCK, Plan, blocks, config_of, finished, head_width
from core.huggingface.positions import longrope
from core.model.config import ModelConfig

SLIDING, FULL = "sliding_attention", "full_attention"       # transformers' layer_types
GEMMA_BLOCK = LLAMA_BLOCK | dict(attn_out_norm="post_attention_layernorm", mlp_norm="pre_feedforward_layernorm",
                                 mlp_out_norm="post_feedforward_layernorm")


def _layer_types(f: Fields, period: int) -> Sequence[str]:
    """The type of each block: as the config lists them, or a window in all but every `period`-th."""
    return f.get("layer_types") or [FULL if layer % period == 0 else SLIDING
                                    for layer in range(1, f.layers("num_hidden_layers") + 1)]


def _windows(f: Fields, kinds: Sequence[str], default: int | None = None) -> dict:
    """The mask of each block; a window that the longest text fits in counts as none."""
    if SLIDING not in kinds:
        f.get("sliding_window")         # and no block asks for it
        return masks(kinds, 1)
    size = f.whole("sliding_window", default=default)
    found = masks(kinds, size)
    return found if size < f.whole("max_position_embeddings") else {}


def _cap(f: Fields, name: str, default: float = 0.0) -> float:
    """The number beyond which scores or logits cannot go; 0 if the config has null, which is not its default."""
    return f.number(name, 0.0) if name in f.values else default


def _with_defaults(f: Fields, **defaults) -> Fields:
    """The fields with these values where the config has none."""
    return f.changed(**{name: value for name, value in defaults.items() if f.get(name) is None})


def _kv_heads(f: Fields, default: int | None = None) -> int:
    """The number of key/value heads: as many as heads if the config has null, which may not be its default."""
    same = default is None or "num_key_value_heads" in f.values
    return f.whole("num_key_value_heads", default=f.whole("num_attention_heads") if same else default)


def _divided_by(number: float, d_k: int) -> dict:
    """Scores that are q·k divided by `number`."""
    return dict(scale_scores=number != 1,
                score_divisor=0.0 if number == 1 or math.isclose(number, d_k ** 0.5) else number)


def _turned_in(turns: Sequence, settings: dict) -> dict:
    """Rotary positions only in blocks whose entry in `turns` is true."""
    if not any(turns):
        return dict(positions="none")
    base = settings["rotary_base"]
    return settings if all(turns) else settings | dict(block_rotary_bases=tuple(base if turned else 0.0
                                                                                for turned in turns))


def _gemma_like(f: Fields, kinds: Sequence[str], **differences) -> Plan:
    """The plan that Gemma 2 and 3 share: a sandwich of norms whose gains are 1 more than the stored ones, embeddings
    times √d, their own divisor of the scores, windows in some blocks, and caps.
    """
    f.refuse(use_bidirectional_attention=False)
    d_k, asked = f.whole("head_dim", default=256), f.number("query_pre_attn_scalar", 256)
    if asked <= 0:
        raise unsupported(f"query_pre_attn_scalar = {asked!r}")
    return llama_like(
        f, 1.0, tied=True, block=GEMMA_BLOCK, norm_placement="sandwich", d_k=d_k, d_v=d_k,
        n_kv_heads=f.whole("num_key_value_heads", default=4), mlp_bias=False,
        activation=f.activation("hidden_activation", "gelu_pytorch_tanh", gated=True),
        embedding_scale=f.whole("hidden_size") ** 0.5,
        **_divided_by(asked ** 0.5, d_k) | _windows(f, kinds, 4096) | differences)


def gemma3_text(f: Fields, names: Collection[str]) -> Plan:
    """Gemma 3 without pictures: windows in five of six blocks, norms of the queries and keys, and two rotary bases, one
    for the blocks with a window, the other, which may be slowed, for the rest.
    """
    f.refuse(attn_logit_softcapping=None)
    kinds = _layer_types(f, f.whole("sliding_window_pattern", "_sliding_window_pattern", default=6))
    return _gemma_like(f, kinds, qk_norm=True, logit_cap=_cap(f, "final_logit_softcapping"),
                       **_two_bases(f, f.whole("head_dim", default=256), kinds))


# defaults that a table text_config leaves to its class; the published ones say little
TEXT_DEFAULTS = dict(vocab_size=262_208, hidden_size=2304, intermediate_size=9216, num_hidden_layers=26,
                     num_attention_heads=8, max_position_embeddings=131_072, eos_token_id=1, bos_token_id=2)
PICTURES = ("vision_tower.", "multi_modal_projector.")


def gemma3(f: Fields, names: Collection[str]) -> Plan:
    """The text-reading part of a Gemma 3 that also reads pictures: gemma3_text, by the table text_config. Without a
    picture it computes the same as the whole model, whose attention is causal among words.
    """
    table, tied = f.get("text_config", {}), f.get("tie_word_embeddings", True)
    f.get("vision_config")
    if not isinstance(table, dict):
        raise PretrainedError("config", f"config.json gives text_config as {short(table)}, and not as a table. Fetch "
                                        f"the original file again.")
    text = Fields(table, passed=f.passed)
    # transformers caps the logits of the text part alone, not those of the whole model
    text.refuse(model_type="gemma3_text", tie_word_embeddings=tied, final_logit_softcapping=None)
    ends = {name: f.get(name) for name in ("eos_token_id", "bos_token_id") if f.get(name) is not None}
    plan = gemma3_text(_with_defaults(text, **TEXT_DEFAULTS).changed(tie_word_embeddings=tied, **ends), names)
    f.passed += passed_over(table, text.read, "gemma3_text")
    published = any(name.startswith("language_model.model.") for name in names)
    body, head = (("language_model.model.", "language_model.lm_head.") if published
                  else ("model.language_model.", "lm_head."))

    def renamed(name: str) -> str:
        return name.replace("model.", body, 1) if name.startswith("model.") else name.replace("lm_head.", head, 1)

    return replace(plan, config=plan.config.changed(text_alone=True), prefix="" if published else "model.",
                   entries=tuple(replace(entry, theirs=renamed(entry.theirs)) for entry in plan.entries),
                   copies=tuple(map(renamed, plan.copies)), unembedding=renamed(plan.unembedding), left_out=PICTURES)


def _two_bases(f: Fields, d_k: int, kinds: Sequence[str]) -> dict:
    """Gemma 3's rotary positions, in the format since 2025 (a table for each type of block) or the older one, in which
    rope_scaling applies only to the blocks without a window.
    """
    tables, older = (f.get(name) or {} for name in ("rope_parameters", "rope_scaling"))
    if unknown := set(tables) - {FULL, SLIDING}:
        raise unsupported(f"{sorted(unknown)[0]} in rope_parameters, outside {FULL} and {SLIDING}")
    local, other = tables.get(SLIDING) or {}, {"rope_type": "default"} | (tables.get(FULL) or {}) | older
    for kind, allowed in ((local.get("rope_type", "default"), ("default",)),
                          (other["rope_type"], ("default", "linear")), (other.get("type"), (None, other["rope_type"]))):
        if kind not in allowed:
            raise unsupported(f"rotary positions of the kind {kind!r}")
    base = float(local.get("rope_theta") or f.number("rope_local_base_freq", 10_000.0))
    of_full = rotary(Fields({"rope_parameters": {"rope_theta": f.number("rope_theta", 1e6)} | other}, passed=f.passed),
                     d_k, part=None)
    if FULL not in kinds:
        return dict(positions="rotary", rotary_base=base)
    if SLIDING not in kinds:
        return of_full
    if base == of_full["rotary_base"]:
        if of_full["rotary_scaling"]:
            raise unsupported(f"one rotary base, {base}, slowed in some blocks and not in others")
        return of_full
    return of_full | dict(block_rotary_bases=tuple(base if kind == SLIDING else of_full["rotary_base"]
                                                   for kind in kinds))


def gemma2(f: Fields, names: Collection[str]) -> Plan:
    """Gemma 2: a window in every second block, capped scores and logits."""
    return _gemma_like(f, _layer_types(f, 2), score_cap=_cap(f, "attn_logit_softcapping", 50.0),
                       logit_cap=_cap(f, "final_logit_softcapping", 30.0))


def smollm3(f: Fields, names: Collection[str]) -> Plan:
    """SmolLM3: Llama with no positions in every fourth block. no_rope_layers has 1 for a block that has them."""
    n_layers, period = f.layers("num_hidden_layers"), f.whole("no_rope_layer_interval", default=4)
    turns = f.get("no_rope_layers") or [int(layer % period != 0) for layer in range(1, n_layers + 1)]
    windowed = f.get("use_sliding_window", False) and f.get("sliding_window") is not None
    kinds = f.get("layer_types") or [SLIDING if windowed and not turned else FULL for turned in turns]
    f = _with_defaults(f, rope_theta=2e6)
    return llama_like(f, tied=True, n_kv_heads=_kv_heads(f, 4), **_windows(f, kinds),
                      **_turned_in(turns, rotary(f, f.whole("head_dim", default=head_width(f)), part=None)))


def olmo2(f: Fields, names: Collection[str]) -> Plan:
    """OLMo 2: Llama with norms on each part's output and not on its input, with one norm for the queries of all heads
    together, and one for their keys.
    """
    block = {name: part for name, part in GEMMA_BLOCK.items() if name not in ("attn_norm", "mlp_norm")}
    return llama_like(f, block=block, norm_placement="output", norm_epsilon=f.number("rms_norm_eps", 1e-5),
                      qk_norm=True, qk_norm_joint=True, mlp_bias=False)


def olmo(f: Fields, names: Collection[str]) -> Plan:
    """OLMo, the first: Llama with LayerNorms that learn nothing."""
    f.refuse(clip_qkv=None)
    return llama_like(f, norm="layernorm", norm_gain=False, norm_epsilon=1e-5, mlp_bias=False)


def phi3(f: Fields, names: Collection[str]) -> Plan:
    """Phi-3 and Phi-4: Llama with merged matrices, part of each query and key turned, and a window in all blocks.

    The models for long texts turn a text longer than original_max_position_embeddings by other factors, from its first
    token on. We read the model for texts up to that length, which is its n_context.
    """
    positions = _long_positions(f, f.whole("head_dim", default=head_width(f)))
    n_context = positions.setdefault("n_context", f.whole("max_position_embeddings"))
    size, d_k = f.get("sliding_window"), f.whole("head_dim", default=head_width(f))
    config = config_of(
        f, d_k=d_k, d_v=d_k, n_kv_heads=_kv_heads(f), norm="rmsnorm", norm_bias=False,
        norm_epsilon=f.number("rms_norm_eps", 1e-5), activation=f.activation("hidden_act", "silu", gated=True),
        attention_bias=False, mlp_bias=False, **positions,
        **({} if size is None or size >= n_context else masks([SLIDING], f.whole("sliding_window"))))
    tensors = [entries.as_is("model.embed_tokens.weight", "E", config.vocab_size, config.d_model),
               *entries.norm(config, "final_norm", "model.norm"),
               *blocks(config, "model.layers.", lambda ours, theirs: _merged_block(config, ours, theirs))]
    return finished(config, tensors, "model.", "lm_head")


def _long_positions(f: Fields, d_k: int) -> dict:
    """The positions of a Phi-3, of the kinds "default" and "longrope", which has also been called "su" and "yarn"."""
    table = f.get("rope_scaling") or f.get("rope_parameters") or {}
    kind = table.get("rope_type") or table.get("type") or "default"
    if kind not in ("default", "longrope", "su", "yarn"):
        raise unsupported(f"rotary positions of the kind {kind!r}")
    known = {name: table[name] for name in ("rope_theta", "partial_rotary_factor") if name in table}
    plain = rotary(f.changed(rope_parameters=known, rope_scaling=None), d_k)
    return plain if kind == "default" else plain | longrope(
        table, f.whole("original_max_position_embeddings", default=4096), f.whole("max_position_embeddings"))


def _merged_block(config: ModelConfig, ours: str, theirs: str) -> list[Entry]:
    """A block of Phi-3: queries, keys and values in one matrix, gate and map of the feed-forward part in another."""
    h, h_kv, d, d_k, d_ff = config.n_heads, config.n_kv_heads, config.d_model, config.d_k, config.d_ff
    return [entries.stacked(f"{theirs}self_attn.qkv_proj.weight", [
                entries.into_heads("", f"{ours}W_{name}", heads, d, d_k)
                for name, heads in (("Q", h), ("K", h_kv), ("V", h_kv))]),
            entries.out_of_heads(f"{theirs}self_attn.o_proj.weight", f"{ours}W_O", h, d_k, d),
            entries.stacked(f"{theirs}mlp.gate_up_proj.weight", [
                entries.transposed("", f"{ours}W_{name}", d_ff, d) for name in ("gate", "1")]),
            entries.transposed(f"{theirs}mlp.down_proj.weight", f"{ours}W_2", d, d_ff),
            *entries.norm(config, f"{ours}attn_norm", f"{theirs}input_layernorm"),
            *entries.norm(config, f"{ours}mlp_norm", f"{theirs}post_attention_layernorm")]


def granite(f: Fields, names: Collection[str]) -> Plan:
    """Granite: Llama with a number before the embeddings, the scores, what each part adds, and the logits."""
    for name in ("attention_multiplier", "logits_scaling"):
        if f.number(name, 1.0) <= 0:
            raise unsupported(f"{name} = {f.get(name)!r}")
    divided = _divided_by(1 / f.number("attention_multiplier", 1.0), f.whole("head_dim", default=head_width(f)))
    return llama_like(
        f, embedding_scale=f.number("embedding_multiplier", 1.0), residual_scale=f.number("residual_multiplier", 1.0),
        logit_scale=1 / f.number("logits_scaling", 1.0), **divided)


def cohere(f: Fields, names: Collection[str]) -> Plan:
    """Cohere's Command R: attention and feed-forward part read the stream side by side through one LayerNorm. Command
    R+ norms each head's queries and keys.
    """
    normed = f.get("use_qk_norm", False)
    f = _with_defaults(f, rope_theta=500_000.0)
    positions = rotary(f, f.whole("head_dim", default=head_width(f)), part=None)
    return _cohere_like(f, positions | dict(qk_norm=normed, qk_norm_heads=normed))


def cohere2(f: Fields, names: Collection[str]) -> Plan:
    """Cohere's Command R7B: Command R with windows in three of four blocks, and positions only in those."""
    f.refuse(use_qk_norm=False, use_parallel_block=True, use_gated_activation=True, head_dim=head_width(f),
             rotary_pct=1.0, partial_rotary_factor=1.0, position_embedding_type="rope_gptj")
    period = f.whole("sliding_window_pattern", default=4)
    f.refuse(_sliding_window_pattern=period)
    kinds = _layer_types(f, period)
    positions = _turned_in([kind == SLIDING for kind in kinds], rotary(f, head_width(f), part=None))
    return _cohere_like(f, positions | _windows(f, kinds, 4096))


def _cohere_like(f: Fields, differences: dict) -> Plan:
    d_k = f.whole("head_dim", default=head_width(f))
    config = config_of(
        f, tied=True, d_k=d_k, d_v=d_k, n_kv_heads=_kv_heads(f), norm_bias=False,
        norm_epsilon=f.number("layer_norm_eps", 1e-5), activation=f.activation("hidden_act", "silu", gated=True),
        attention_bias=f.get("attention_bias", False), mlp_bias=False, parallel_residual=True, shared_norm=True,
        logit_scale=f.number("logit_scale", 0.0625), **differences)

    def block(ours: str, theirs: str) -> list[Entry]:
        maps = entries.attention(config, ours, theirs, LLAMA_BLOCK)
        return [*(entries.paired_side_by_side(entry, d_k) for entry in maps),
                *entries.feed_forward(config, ours, f"{theirs}mlp.", "up_proj", "down_proj", "gate_proj"),
                *entries.shared_norm(config, ours, f"{theirs}input_layernorm")]

    tensors = [entries.as_is("model.embed_tokens.weight", "E", config.vocab_size, config.d_model),
               *entries.norm(config, "final_norm", "model.norm"), *blocks(config, "model.layers.", block)]
    return finished(config, tensors, "model.", "lm_head")


FAMILIES = (gemma3_text, gemma3, gemma2, smollm3, olmo2, olmo, phi3, granite, cohere, cohere2)
