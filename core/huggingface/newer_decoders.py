"""Decoders since 2024, most of them Llama with something of their own: Gemma 3 and Gemma 2."""
from collections.abc import Collection, Sequence

from core.huggingface.decoders import llama_like
from core.huggingface.errors import PretrainedError
from core.huggingface.fields import Fields, masks, rotary, unsupported
from core.huggingface.plan import LLAMA_BLOCK, Plan

SLIDING, FULL = "sliding_attention", "full_attention"       # transformers' layer_types
GEMMA_BLOCK = LLAMA_BLOCK | dict(attn_out_norm="post_attention_layernorm", mlp_norm="pre_feedforward_layernorm",
                                 mlp_out_norm="post_feedforward_layernorm")


def _layer_types(f: Fields, period: int) -> Sequence[str]:
    """The type of each block: as the config lists them, or a window in all but every `period`-th."""
    return f.get("layer_types") or [FULL if layer % period == 0 else SLIDING
                                    for layer in range(1, f.layers("num_hidden_layers") + 1)]


def _windows(f: Fields, kinds: Sequence[str], default: int | None = None) -> dict:
    """The mask of each block; a window that the longest text fits in is none."""
    if SLIDING not in kinds:
        return masks(kinds, 1)
    size = f.whole("sliding_window", default=default)
    found = masks(kinds, size)
    return found if size < f.whole("max_position_embeddings") else {}


def _cap(f: Fields, name: str, default: float = 0.0) -> float:
    """The number beyond which scores or logits cannot go; 0 where the config has null, which is not its default."""
    return f.number(name, 0.0) if name in f.values else default


def _gemma_like(f: Fields, kinds: Sequence[str], **differences) -> Plan:
    """What Gemma 2 and 3 share: a sandwich of norms whose gains are 1 more than the stored ones, embeddings times √d, a
    divisor of the scores of their own, windows in some blocks, and caps.
    """
    f.refuse(use_bidirectional_attention=False)
    d_k, asked = f.whole("head_dim", default=256), f.number("query_pre_attn_scalar", 256)
    if asked <= 0:
        raise unsupported(f"query_pre_attn_scalar = {asked!r}")
    return llama_like(
        f, 1.0, tied=True, block=GEMMA_BLOCK, norm_placement="sandwich", d_k=d_k, d_v=d_k,
        n_kv_heads=f.whole("num_key_value_heads", default=4), mlp_bias=False,
        activation=f.activation("hidden_activation", "gelu_pytorch_tanh", gated=True),
        score_divisor=0.0 if asked == d_k else asked ** 0.5, embedding_scale=f.whole("hidden_size") ** 0.5,
        **_windows(f, kinds, 4096) | differences)


def gemma3_text(f: Fields, names: Collection[str]) -> Plan:
    """Gemma 3 without pictures: windows in five of six blocks, norms of the queries and keys, and a rotary base for the
    blocks with a window and one, which may be slowed, for the others.
    """
    f.refuse(attn_logit_softcapping=None)
    kinds = _layer_types(f, f.whole("sliding_window_pattern", default=6))
    return _gemma_like(f, kinds, qk_norm=True, logit_cap=_cap(f, "final_logit_softcapping"),
                       **_two_bases(f, f.whole("head_dim", default=256), kinds))


def gemma3(f: Fields, names: Collection[str]) -> Plan:
    """Gemma 3 with pictures, which is refused."""
    raise PretrainedError("architecture", "This Gemma 3 reads pictures as well as text, and this program reads text "
                                          "alone. Choose a Gemma 3 without pictures, of 270M or 1B parameters.")


def _two_bases(f: Fields, d_k: int, kinds: Sequence[str]) -> dict:
    """Gemma 3's rotary positions, in the format since 2025 (a table for each type of block) or the older one, in which
    rope_scaling is of the blocks without a window alone.
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
    of_full = rotary(Fields({"rope_parameters": {"rope_theta": f.number("rope_theta", 1e6)} | other}), d_k)
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


FAMILIES = (gemma3_text, gemma3, gemma2)
