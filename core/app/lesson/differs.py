"""Say how the loaded model differs from the one that a lesson's paragraphs describe: sentences of the lesson's file,
each shown only if it holds.
"""
from core.base.prose import TextFile
from core.figures.numbers import readable
from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer


def facts(config: ModelConfig, tokenizer: Tokenizer) -> dict[str, bool]:
    """Whether each difference from the plain model of the paragraphs holds. The plain model has a token that begins
    every text, learned positions, tied E, LayerNorm before each part, a causal mask, heads of width d/h.
    """
    schemes = {scheme: config.positions == scheme for scheme in ("rotary", "alibi", "relative", "none")}
    return schemes | {
        "rounded_alibi": config.positions == "alibi" and config.position_bias.rounded_alibi,
        "unmarked": not tokenizer.begin,
        "scaled_embedding": config.embedding.embedding_scale != 1,
        "part_rotary": config.positions == "rotary" and config.rotary_width < config.d_k,
        "slowed_rotary": bool(config.rotary.rotary_scaling or config.rotary.rotary_factors),
        "mixed_bases": config.positions == "rotary" and len(bases(config)) > 1,
        "unturned": config.positions == "rotary" and 0 in config.rotary.block_rotary_bases,
        "mixed_windows": "sliding-window" in config.scores.block_masks, "own_divisor": config.scores.score_divisor > 0,
        "undivided": config.score == "dot" and not config.scores.scale_scores,
        "normed_embedding": config.embedding.embedding_norm, "plain_maps": config.embedding.plain_maps,
        "mapped_embedding": config.embedding.embedding_width > 0 and not config.embedding.plain_maps,
        "capped_scores": config.scores.score_cap > 0, "capped_logits": config.head.logit_cap > 0,
        "sinks": config.scores.attention_sinks,
        "joint_norm": config.sublayer.qk_norm_joint, "output_norm": config.norm_placement == "output",
        "sandwich": config.norm_placement == "sandwich", "deepnorm": config.norm_placement == "deepnorm",
        "residual_scale": config.sublayer.residual_scale != 1,
        "two_sided": "bidirectional-window" in config.scores.block_masks,
        "first_unnormed": not config.sublayer.first_norm,
        "one_kv_head": 1 == config.n_kv_heads < config.n_heads, "grouped": 1 < config.n_kv_heads < config.n_heads,
        "wide": config.d_k * config.n_heads != config.d_model,
        "qk_norm": config.sublayer.qk_norm and not (config.sublayer.qk_norm_joint or config.sublayer.qk_norm_heads),
        "norm_per_head": config.sublayer.qk_norm_heads, "window": config.mask == "sliding-window",
        "parallel": config.sublayer.parallel_residual, "postnorm": config.norms_sums,
        "rmsnorm": config.norm == "rmsnorm", "ungained": not config.sublayer.norm_gain,
        "unshifted": config.norm == "layernorm" and not config.sublayer.norm_bias,
        "scaled_logits": config.head.logit_scale != 1,
        "experts": config.experts.n_experts > 0, "text_alone": config.head.text_alone,
        "gated": config.gated, "bare_mlp": not config.mlp_bias,
        "untied": not config.tied_embeddings, "unembedding_bias": config.head.unembedding_bias}


def bases(config: ModelConfig) -> list[float]:
    """The rotary bases of its blocks, smallest first."""
    return sorted({base for base in map(config.rotary.base_of, range(config.n_layers)) if base})


def _scale(config: ModelConfig) -> str:
    """The factor on the rows of E, written as √d if it is √d."""
    return f"{'√d = ' if config.root_scaled else ''}{readable(config.embedding.embedding_scale, 4)}"


def sentences(words: TextFile, view: str, config: ModelConfig, tokenizer: Tokenizer) -> list[str]:
    """The sentences of a lesson's file that hold for this model: its labels `differs_<fact>` and, for the open view,
    `differs_<view>_<fact>`.
    """
    values = {"d": config.d_model, "e": config.d_embedding, "h": config.n_heads, "h_kv": config.n_kv_heads,
              "group": config.n_heads // config.n_kv_heads, "d_k": config.d_k, "window": config.scores.window,
              "experts": config.experts.n_experts, "active": config.experts.n_active_experts,
              "turned": config.rotary_width, "L": config.n_layers,
              "near": config.scores.block_masks.count("bidirectional-window"), "reach": config.scores.window - 1,
              "windowed": config.scores.block_masks.count("sliding-window"),
              "unturned": config.rotary.block_rotary_bases.count(0),
              "bases": " and ".join(readable(base, 7) for base in bases(config)),
              "divisor": readable(config.divisor, 5), "score_cap": readable(config.scores.score_cap, 5),
              "logit_cap": readable(config.head.logit_cap, 5), "share": readable(config.sublayer.residual_scale, 4),
              "base": readable(config.rotary.rotary_base, 5), "scale": _scale(config),
              "logit_scale": readable(config.head.logit_scale, 4),
              "first": "" if tokenizer.first is None else tokenizer.visible(tokenizer.first)}
    keys = [key for fact, holds in facts(config, tokenizer).items() if holds
            for key in (f"differs_{fact}", f"differs_{view}_{fact}")]
    return [words.label(key, **values) for key in keys if key in words.labels]
