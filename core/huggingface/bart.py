"""Encoder-decoders after BART: BART, mBART, Marian and Pegasus, which differ in where they norm and in their positions.
"""
import re
from collections.abc import Collection

from core.huggingface import entries
from core.huggingface.entries import Entry
from core.huggingface.fields import Fields, ends
from core.huggingface.plan import OPT_BLOCK, Plan, finished
from core.model.config import ModelConfig

CROSS = {part: f"encoder_attn.{part}_proj" for part in "qkv"} | dict(o="encoder_attn.out_proj")
# sinusoidal positions, which follow from the config, unless others are stored (weights.with_stored_positions)
TABLES = re.compile(r"embed_positions\.weight$")
COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")


def bart(f: Fields, names: Collection[str]) -> Plan:
    return _bart_like(f, names, norm_placement="post", embedding_norm=True)


def mbart(f: Fields, names: Collection[str]) -> Plan:
    """BART with norms before each part."""
    return _bart_like(f, names, norm_placement="pre", embedding_norm=True)


def marian(f: Fields, names: Collection[str]) -> Plan:
    """BART with sinusoidal positions and no norm of the embeddings."""
    f.refuse(share_encoder_decoder_embeddings=True, decoder_vocab_size=f.whole("vocab_size"))
    return _bart_like(f, names, norm_placement="post", positions="sinusoidal", sinusoidal_halves=True)


def pegasus(f: Fields, names: Collection[str]) -> Plan:
    """Marian with norms before each part."""
    return _bart_like(f, names, norm_placement="pre", positions="sinusoidal", sinusoidal_halves=True)


def _bart_like(f: Fields, names: Collection[str], **differences) -> Plan:
    """BART with the given differences. Stacks of different heads or widths are refused, and untied stacks, each with
    embeddings of its own.
    """
    n_heads = f.whole("encoder_attention_heads", "num_attention_heads")
    f.refuse(tie_word_embeddings=True, decoder_attention_heads=n_heads, decoder_ffn_dim=f.whole("encoder_ffn_dim"))
    d, vocab_size = f.whole("d_model", "hidden_size"), f.whole("vocab_size")
    config = ModelConfig.of(
        kind="encoder-decoder", vocab_size=vocab_size, d_model=d, n_layers=f.layers("decoder_layers"),
        n_encoder_layers=f.layers("encoder_layers", "num_hidden_layers"), n_heads=n_heads,
        d_ff=f.whole("encoder_ffn_dim"), n_context=f.whole("max_position_embeddings"),
        activation=f.activation("activation_function", "gelu"),
        embedding_scale=d ** 0.5 if f.get("scale_embedding", False) else 1.0,
        unembedding_bias="final_logits_bias" in names, **ends(f, vocab_size, "decoder_start_token_id"), **differences)
    tensors = [entries.as_is("model.shared.weight", "E", vocab_size, d)]
    for ours, theirs, depth in (("encoder.", "model.encoder.", config.n_encoder_layers),
                                ("", "model.decoder.", config.n_layers)):
        tensors += _ends_of_stack(config, ours, theirs)
        for layer in range(depth):
            tensors += _block(config, f"{ours}blocks.{layer}.", f"{theirs}layers.{layer}.", crossed=not ours)
    if config.head.unembedding_bias:
        tensors.append(Entry("final_logits_bias", (1, vocab_size), ("b_U",), lambda w: (w[0],), lambda b: b[None]))
    return finished(config, tensors, "model.", "lm_head", COPIES,
                    TABLES if config.embedding.sinusoidal_halves else None)


def _ends_of_stack(config: ModelConfig, ours: str, theirs: str) -> list[Entry]:
    """The positions of a stack, and the norms before its first block and after its last one, if it has them."""
    tensors = []
    if config.positions == "learned":
        tensors.append(entries.without_first(f"{theirs}embed_positions.weight", f"{ours}P", 2, config.n_context,
                                             config.d_model))
    if config.embedding.embedding_norm:
        tensors += entries.norm(config, f"{ours}embedding_norm", f"{theirs}layernorm_embedding")
    return tensors + ([] if config.norms_sums else entries.norm(config, f"{ours}final_norm", f"{theirs}layer_norm"))


def _block(config: ModelConfig, ours: str, theirs: str, crossed: bool) -> list[Entry]:
    tensors = [*entries.attention(config, ours, theirs, OPT_BLOCK),
               *entries.norm(config, f"{ours}attn_norm", theirs + OPT_BLOCK["attn_norm"])]
    if crossed:
        tensors += [*entries.attention(config, f"{ours}cross.", theirs, CROSS),
                    *entries.norm(config, f"{ours}cross.norm", f"{theirs}encoder_attn_layer_norm")]
    return tensors + [*entries.feed_forward(config, ours, theirs, OPT_BLOCK["up"], OPT_BLOCK["down"]),
                      *entries.norm(config, f"{ours}mlp_norm", theirs + OPT_BLOCK["mlp_norm"])]


FAMILIES = (bart, mbart, marian, pegasus)
