"""Where the loaded model differs from the one that a lesson's paragraphs describe: sentences of the lesson's file, each
said only where it holds.
"""
from core.app.base.prose import TextFile
from core.figures.numbers import readable
from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer


def facts(config: ModelConfig, tokenizer: Tokenizer) -> dict[str, bool]:
    """What may be otherwise in a model than in the plain one of the paragraphs: a token that begins every text, learned
    positions, tied E, LayerNorm before each part, a causal mask, heads of width d/h.
    """
    schemes = {scheme: config.positions == scheme for scheme in ("rotary", "alibi", "relative", "none")}
    return schemes | {
        "unmarked": not tokenizer.begin,
        "scaled_embedding": config.embedding_scale != 1,
        "part_rotary": config.positions == "rotary" and config.rotary_width < config.d_k,
        "slowed_rotary": bool(config.rotary_scaling),
        "grouped": config.n_kv_heads < config.n_heads, "wide": config.d_k * config.n_heads != config.d_model,
        "unscaled": not config.scale_scores, "qk_norm": config.qk_norm, "window": config.mask == "sliding-window",
        "parallel": config.parallel_residual, "postnorm": not config.reads_normed, "rmsnorm": config.norm == "rmsnorm",
        "gated": config.gated, "untied": not config.tied_embeddings, "unembedding_bias": config.unembedding_bias}


def sentences(words: TextFile, view: str, config: ModelConfig, tokenizer: Tokenizer) -> list[str]:
    """The sentences of a lesson's file that hold for this model: its labels `differs_<fact>`, and
    `differs_<view>_<fact>` of the view that is shown.
    """
    values = {"d": config.d_model, "h": config.n_heads, "h_kv": config.n_kv_heads,
              "group": config.n_heads // config.n_kv_heads, "d_k": config.d_k, "window": config.window,
              "turned": config.rotary_width,
              "base": readable(config.rotary_base, 5), "scale": readable(config.embedding_scale, 4),
              "first": "" if tokenizer.first is None else tokenizer.visible(tokenizer.first)}
    keys = [key for fact, holds in facts(config, tokenizer).items() if holds
            for key in (f"differs_{fact}", f"differs_{view}_{fact}")]
    return [words.label(key, **values) for key in keys if key in words.labels]
