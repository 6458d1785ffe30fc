"""The common part of all families of Hugging Face models: the Plan by which a model is read, the settings that most
share, and the entries of usual blocks.
"""
import re
from collections.abc import Callable
from dataclasses import dataclass

from core.huggingface import entries
from core.huggingface.entries import Entry
from core.huggingface.fields import Fields, ends
from core.model.config import ModelConfig


@dataclass(frozen=True)
class Plan:
    """How to read one model. prefix: the beginning of the names, unless the file holds the bare model; copies: tensors
    that the file may contain a second time; unembedding: its name, even if it is among the copies.
    """

    config: ModelConfig
    entries: tuple[Entry, ...]
    prefix: str = ""
    copies: tuple[str, ...] = ()
    unembedding: str = ""
    besides: re.Pattern | None = None       # tensors of heads for other tasks, which are not read
    left_out: tuple[str, ...] = ()          # the beginnings of names of parts that are not read, told to a reader
    passed_over: tuple[str, ...] = ()       # keys of config.json with their values that transformers does not know


def config_of(f: Fields, d_ff: str = "intermediate_size", tied: bool = False, **differences) -> ModelConfig:
    """The config from the fields that most families share. d_ff: the name of the feed-forward width; tied: the default
    for the unembedding; differences: the settings of one family.
    """
    vocab_size = f.whole("vocab_size")
    settings = dict(vocab_size=vocab_size, d_model=f.whole("hidden_size"), n_layers=f.layers("num_hidden_layers"),
                    n_heads=f.whole("num_attention_heads"), n_context=f.whole("max_position_embeddings"),
                    d_ff=f.whole(d_ff), tied_embeddings=f.get("tie_word_embeddings", tied), **ends(f, vocab_size))
    return ModelConfig.of(**settings | differences)


def head_width(f: Fields) -> int:
    return f.whole("hidden_size") // max(f.whole("num_attention_heads"), 1)


def blocks(config: ModelConfig, theirs: str, block: Callable[[str, str], list[Entry]]) -> list[Entry]:
    """The entries of all blocks. block: makes the entries of one block from the beginnings of its names, ours and
    theirs.
    """
    return [entry for layer in range(config.n_layers) for entry in block(f"blocks.{layer}.", f"{theirs}{layer}.")]


def usual_blocks(config: ModelConfig, theirs: str, names: dict[str, str], gain_offset: float = 0.0) -> list[Entry]:
    """Blocks of Linears and norms. names: a table of the names within a block, such as LLAMA_BLOCK."""
    def block(ours: str, theirs: str) -> list[Entry]:
        return [*entries.attention(config, ours, theirs, names, gain_offset),
                *entries.feed_forward(config, ours, theirs, names["up"], names["down"], names.get("gate")),
                *(entry for norm in NORMS if norm in names
                  for entry in entries.norm(config, ours + norm, theirs + names[norm], gain_offset))]

    return blocks(config, theirs, block)


def finished(config: ModelConfig, tensors: list[Entry], prefix: str, unembedding: str,
              copies: tuple[str, ...] = (), besides: re.Pattern | None = None) -> Plan:
    """The plan, with the unembedding of an untied model; the file of a tied model may contain it as a copy."""
    head = f"{unembedding}.weight"
    if config.tied_embeddings:
        return Plan(config, tuple(tensors), prefix, (*copies, head), head, besides)
    return Plan(config, (*tensors, entries.as_is(head, "W_U", config.vocab_size, config.d_embedding)), prefix, copies,
                head,
                besides)


NORMS = ("attn_norm", "attn_out_norm", "mlp_norm", "mlp_out_norm")      # those of a block, if it has them
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
