"""Decoders whose feed-forward parts are mixtures of experts: Mixtral, Qwen1.5-MoE and Qwen2-MoE, Qwen3-MoE, OLMoE and
gpt-oss. All have Llama's attention and norms.

Files hold the experts one by one, as published, or all of a block in two tensors, as transformers 5 keeps them in
memory; a plan depends on the names that are there.
"""
from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.huggingface import entries
from core.huggingface.entries import Entry
from core.huggingface.errors import PretrainedError
from core.huggingface.fields import MASK_OF, Fields, masks, rotary, unsupported, window
from core.huggingface.plan import LLAMA_BLOCK, Plan, config_of, finished, head_width
from core.huggingface.refusals import MXFP4
from core.model.config import ModelConfig

MERGED = "mlp.experts.gate_up_proj"         # all experts of a block
# gpt-oss's rotary positions if its config gives none
GPT_OSS_ROTARY = {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
                  "original_max_position_embeddings": 4096}


@dataclass(frozen=True)
class Names:
    """The names in a file of separate experts: the router, and an expert's gate, up and down map after its number."""

    router: str = "mlp.gate"
    experts: str = "mlp.experts."
    gate: str = "gate_proj"
    up: str = "up_proj"
    down: str = "down_proj"


QWEN = Names()
MIXTRAL = Names("block_sparse_moe.gate", "block_sparse_moe.experts.", "w1", "w3", "w2")


def mixtral(f: Fields, names: Collection[str]) -> Plan:
    n = f.whole("num_local_experts", "num_experts", default=8)
    config = _config(f, 1e6, 1e-5, n_kv_heads=f.whole("num_key_value_heads", default=8), n_experts=n,
                     n_active_experts=f.whole("num_experts_per_tok", default=2), **window(f))
    return _plan(config, names, MIXTRAL)


def qwen2_moe(f: Fields, names: Collection[str]) -> Plan:
    """Qwen2's attention; beside the experts one that reads every token."""
    first_full = f.whole("max_window_layers", default=28)
    kinds = f.get("layer_types") or [
        "sliding_attention" if layer % 2 == 0 and layer < first_full and f.get("use_sliding_window", False)
        else "full_attention" for layer in range(f.layers("num_hidden_layers"))]
    if not f.get("use_sliding_window", False) and "sliding_attention" in kinds:
        raise unsupported("blocks of the type 'sliding_attention' beside use_sliding_window = False")
    config = _config(
        f, n_kv_heads=f.whole("num_key_value_heads", default=16), attention_bias=f.get("qkv_bias", True),
        output_bias=False, **_windows(f, kinds),
        **_some_blocks(f, 60, 4, f.whole("moe_intermediate_size", default=1408),
                       f.whole("shared_expert_intermediate_size", default=5632)))
    return _plan(config, names, QWEN)


def qwen3_moe(f: Fields, names: Collection[str]) -> Plan:
    """Qwen3's attention, with norms of the queries and keys."""
    kind = "sliding_attention" if f.get("use_sliding_window", False) and f.get("sliding_window") else "full_attention"
    config = _config(
        f, n_kv_heads=f.whole("num_key_value_heads", default=4), attention_bias=f.get("attention_bias", False),
        qk_norm=True, **_windows(f, [kind]),
        **_some_blocks(f, 128, 8, f.whole("moe_intermediate_size", default=768)))
    return _plan(config, names, QWEN)


def olmoe(f: Fields, names: Collection[str]) -> Plan:
    """Norms of the queries and keys of all heads together."""
    f.refuse(clip_qkv=None)
    heads = f.whole("num_attention_heads")
    config = _config(
        f, epsilon=1e-5, n_kv_heads=f.whole("num_key_value_heads", default=heads), qk_norm=True, qk_norm_joint=True,
        attention_bias=f.get("attention_bias", False), n_active_experts=f.whole("num_experts_per_tok", default=8),
        n_experts=f.whole("num_experts", "num_local_experts", default=64),
        experts_renormalised=f.get("norm_topk_prob", False))
    return _plan(config, names, QWEN)


def gpt_oss(f: Fields, names: Collection[str]) -> Plan:
    """Windows in every second block, a sink beside every head's scores, biases everywhere, and a clamped gate."""
    f.refuse(hidden_act="silu", swiglu_alpha=1.702, swiglu_limit=7.0)
    if any(name.endswith("_blocks") for name in names):
        raise PretrainedError("architecture", f"The experts of this model stand under the names of quantised weights "
                                              f"(MXFP4, …_blocks). {MXFP4}")
    kinds = f.get("layer_types") or ["full_attention" if layer % 2 else "sliding_attention"
                                     for layer in range(f.layers("num_hidden_layers"))]
    config = _config(
        f, 150_000.0, 1e-5, GPT_OSS_ROTARY, width=f.whole("head_dim", default=64), activation="swiglu_clamped",
        n_kv_heads=f.whole("num_key_value_heads", default=8), attention_bias=f.get("attention_bias", True),
        mlp_bias=True, attention_sinks=True, router_bias=True, **_windows(f, kinds, 128),
        n_experts=f.whole("num_local_experts", "num_experts", default=128),
        n_active_experts=f.whole("num_experts_per_tok", default=4))
    return _plan(config, names, Names(router="mlp.router"), gpt_oss_experts)


def _config(f: Fields, base: float = 10_000.0, epsilon: float = 1e-6, default_rope: dict | None = None, width: int = 0,
            **differences) -> ModelConfig:
    """Llama's settings with the differences of a family. base, default_rope: for rotary positions, if the config gives
    none; width: for a head, likewise.
    """
    f.refuse(partial_rotary_factor=1.0)
    d_k = width or f.whole("head_dim", default=head_width(f))
    settings = dict(d_k=d_k, d_v=d_k, norm="rmsnorm", norm_bias=False, norm_epsilon=f.number("rms_norm_eps", epsilon),
                    attention_bias=False, mlp_bias=False, **_rotary(f, d_k, base, default_rope or {}))
    if "activation" not in differences:
        settings["activation"] = f.activation("hidden_act", "silu", gated=True)
    config = config_of(f, **settings | differences)
    # if no block is dense, the config's width of dense blocks means nothing
    experts = config.experts
    return replace(config, d_ff=experts.d_expert) if experts.n_experts and not experts.block_experts else config


def _some_blocks(f: Fields, n: int, active: int, d_expert: int, d_shared: int = 0) -> dict:
    """The experts of Qwen's configs, which may leave some blocks dense. n, active: the numbers if none is given."""
    n, step = f.whole("num_experts", "num_local_experts", default=n), f.whole("decoder_sparse_step", default=1)
    dense = f.get("mlp_only_layers", [])
    of_experts = tuple(n > 0 and layer not in dense and (layer + 1) % step == 0
                       for layer in range(f.layers("num_hidden_layers")))
    active, renormalised = f.whole("num_experts_per_tok", default=active), f.get("norm_topk_prob", False)
    if not any(of_experts):
        return {}
    return dict(n_experts=n, n_active_experts=active, d_expert=d_expert, d_shared_expert=d_shared,
                experts_renormalised=renormalised, block_experts=() if all(of_experts) else of_experts)


def _windows(f: Fields, kinds: list[str], default: int = 4096) -> dict:
    """The mask of each block; a window that the longest text fits in counts as none."""
    if "sliding_attention" not in kinds:
        f.get("sliding_window")         # and no block asks for it
        return masks(kinds, 1)
    size = f.whole("sliding_window", default=default)
    fits = size >= f.whole("max_position_embeddings")
    return masks([next(iter(MASK_OF)) if fits and kind == "sliding_attention" else kind for kind in kinds], size)


def _rotary(f: Fields, d_k: int, base: float, default: dict) -> dict:
    """Rotary positions with a family's own base, and its own table, if the config has none."""
    f = f.changed(rope_theta=f.number("rope_theta", base))
    if not (f.get("rope_parameters") or f.get("rope_scaling")):
        f = f.changed(rope_parameters=default)
    return rotary(f, d_k, part=None)


def _plan(config: ModelConfig, names: Collection[str], own: Names,
          merged: Callable[[ModelConfig, str, str], list[Entry]] | None = None) -> Plan:
    """The plan of a model of experts. own: their names in its files; merged: the entries of all experts of a block in a
    few tensors, if the family's files have them in this way only.
    """
    d, tensors = config.d_model, []
    if merged is None and any(name.endswith(MERGED) for name in names):
        merged, own = merged_experts, QWEN
    for layer in range(config.n_layers):
        ours, theirs = f"blocks.{layer}.", f"model.layers.{layer}."
        tensors += [*entries.attention(config, ours, theirs, LLAMA_BLOCK),
                    *entries.norm(config, f"{ours}attn_norm", f"{theirs}input_layernorm"),
                    *entries.norm(config, f"{ours}mlp_norm", f"{theirs}post_attention_layernorm")]
        if config.scores.attention_sinks:
            tensors.append(entries.as_is(f"{theirs}self_attn.sinks", f"{ours}sinks", config.n_heads))
        if config.experts.in_block(layer):
            tensors += _mixture(config, ours, theirs, own, merged or separate_experts(own))
        else:
            tensors += entries.feed_forward(config, ours, theirs, "mlp.up_proj", "mlp.down_proj", "mlp.gate_proj")
    tensors += [entries.as_is("model.embed_tokens.weight", "E", config.vocab_size, d),
                *entries.norm(config, "final_norm", "model.norm")]
    return finished(config, tensors, "model.", "lm_head")


def _mixture(config: ModelConfig, ours: str, theirs: str, own: Names,
             experts: Callable[[ModelConfig, str, str], list[Entry]]) -> list[Entry]:
    """The router, the experts, and the shared one with its gate, of one block."""
    ours, d = f"{ours}mixture.", config.d_model
    tensors = [entries.transposed(f"{theirs}{own.router}.weight", f"{ours}W_R", config.experts.n_experts, d),
               *experts(config, ours, theirs)]
    if config.experts.router_bias:
        tensors.append(entries.as_is(f"{theirs}{own.router}.bias", f"{ours}b_R", config.experts.n_experts))
    if width := config.experts.d_shared_expert:
        tensors += [entries.transposed(f"{theirs}mlp.shared_expert_gate.weight", f"{ours}W_shared", 1, d),
                    *_expert(f"{theirs}mlp.shared_expert.", f"{ours}shared.", QWEN, d, width)]
    return tensors


def _expert(theirs: str, ours: str, own: Names, d: int, width: int) -> list[Entry]:
    """The three Linears of one expert."""
    return [entries.transposed(f"{theirs}{own.gate}.weight", f"{ours}W_gate", width, d),
            entries.transposed(f"{theirs}{own.up}.weight", f"{ours}W_1", width, d),
            entries.transposed(f"{theirs}{own.down}.weight", f"{ours}W_2", d, width)]


def separate_experts(own: Names) -> Callable[[ModelConfig, str, str], list[Entry]]:
    """Entries of experts that a file holds one by one."""
    def made(config: ModelConfig, ours: str, theirs: str) -> list[Entry]:
        return [entry for e in range(config.experts.n_experts)
                for entry in _expert(f"{theirs}{own.experts}{e}.", f"{ours}experts.{e}.", own, config.d_model,
                                     config.experts.d_expert)]

    return made


def _of_all(config: ModelConfig, ours: str, *leaves: str) -> tuple[str, ...]:
    """The names of these parameters of all experts of a block, leaf after leaf."""
    return tuple(f"{ours}experts.{e}.{leaf}" for leaf in leaves for e in range(config.experts.n_experts))


def merged_experts(config: ModelConfig, ours: str, theirs: str) -> list[Entry]:
    """All experts of a block: (n, 2 width, d), each expert's gate over its up map, and (n, d, width)."""
    n, d, width = config.experts.n_experts, config.d_model, config.experts.d_expert
    return [Entry(f"{theirs}{MERGED}", (n, 2 * width, d), _of_all(config, ours, "W_gate", "W_1"),
                  lambda w: (*w[:, :width].mT, *w[:, width:].mT),
                  lambda *parts: torch.cat([torch.stack(parts[:n]), torch.stack(parts[n:])], -1).mT),
            Entry(f"{theirs}mlp.experts.down_proj", (n, d, width), _of_all(config, ours, "W_2"),
                  lambda w: tuple(w.mT), lambda *parts: torch.stack(parts).mT)]


def gpt_oss_experts(config: ModelConfig, ours: str, theirs: str) -> list[Entry]:
    """All experts of a block, as maps (inputs, outputs): (n, d, 2 width), gate and up map in every second column, and
    (n, width, d), each with its biases.
    """
    n, d, width = config.experts.n_experts, config.d_model, config.experts.d_expert

    def split(w: Tensor) -> tuple[Tensor, ...]:
        return *w[..., 0::2], *w[..., 1::2]

    def join(*parts: Tensor) -> Tensor:
        return torch.stack([torch.stack(parts[:n]), torch.stack(parts[n:])], -1).flatten(-2)

    def stacked(name: str, leaf: str, *shape: int) -> Entry:
        return Entry(f"{theirs}mlp.experts.{name}", (n, *shape), _of_all(config, ours, leaf), tuple,
                     lambda *parts: torch.stack(parts))

    return [Entry(f"{theirs}{MERGED}", (n, d, 2 * width), _of_all(config, ours, "W_gate", "W_1"), split, join),
            Entry(f"{theirs}{MERGED}_bias", (n, 2 * width), _of_all(config, ours, "b_gate", "b_1"), split, join),
            stacked("down_proj", "W_2", width, d), stacked("down_proj_bias", "b_2", d)]


FAMILIES = (mixtral, qwen2_moe, qwen3_moe, olmoe, gpt_oss)
# the sentence for families that look like one of these but are not


