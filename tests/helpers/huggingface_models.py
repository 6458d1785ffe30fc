"""Small Hugging Face models of every family, made from their configs with every parameter random and saved as
transformers saves them.
"""
from __future__ import annotations

from pathlib import Path

import torch
import transformers as hf
from torch import Tensor

from tests.helpers import models_encoders, models_experts, models_newer, models_pictures
from tests.helpers.model_sizes import BERT, GPT2, GROUPED, LLAMA3, N_SOURCE, N_TOKENS, OPT, SIZES, T5
from tests.helpers.models_older import CASES as OLDER
from tests.helpers.models_older import add_alibi_once

__all__ = ["CASES", "ENCODERS", "N_SOURCE", "N_TOKENS", "hf", "ids", "made", "randomised", "saved"]

hf.logging.set_verbosity_error()
hf.logging.disable_progress_bar()

CASES: dict[str, tuple[type, dict]] = {
    "gpt2": (hf.GPT2Config, GPT2),
    "gpt2 untied, relu": (hf.GPT2Config,
                          GPT2 | dict(tie_word_embeddings=False, activation_function="relu", n_inner=50)),
    "opt": (hf.OPTConfig, OPT), "opt post-norm": (hf.OPTConfig, OPT | dict(do_layer_norm_before=False)),
    "opt narrow post-norm": (hf.OPTConfig, OPT | dict(word_embed_proj_dim=12, do_layer_norm_before=False)),
    "opt narrow untied": (hf.OPTConfig, OPT | dict(word_embed_proj_dim=12, tie_word_embeddings=False)),
    "opt without gains": (hf.OPTConfig, OPT | dict(layer_norm_elementwise_affine=False)),
    "opt without biases": (hf.OPTConfig, OPT | dict(enable_bias=False, tie_word_embeddings=False)),
    "pythia": (hf.GPTNeoXConfig, SIZES | dict(hidden_size=32, rotary_pct=0.25)),
    "gpt-neox in sequence": (hf.GPTNeoXConfig,
                             SIZES | dict(use_parallel_residual=False, rotary_pct=1.0, attention_bias=False,
                                          tie_word_embeddings=True, hidden_act="gelu_new")),
    "llama": (hf.LlamaConfig, GROUPED | dict(rope_parameters=LLAMA3)),
    "llama with biases": (hf.LlamaConfig,
                          GROUPED | dict(attention_bias=True, mlp_bias=True, head_dim=10, tie_word_embeddings=True)),
    "llama stretched": (hf.LlamaConfig,
                        SIZES | dict(rope_parameters=dict(rope_type="linear", factor=4.0, rope_theta=100.0))),
    "mistral": (hf.MistralConfig, GROUPED | dict(sliding_window=5)),
    "mistral without window": (hf.MistralConfig, GROUPED | dict(sliding_window=None, tie_word_embeddings=True)),
    "qwen2": (hf.Qwen2Config, GROUPED | dict(tie_word_embeddings=True)),
    "qwen2 with window": (hf.Qwen2Config,
                          GROUPED | dict(use_sliding_window=True, sliding_window=6, max_window_layers=0)),
    "qwen2 with windows from block 1": (hf.Qwen2Config,
                                        GROUPED | dict(use_sliding_window=True, sliding_window=6, max_window_layers=1)),
    "qwen3": (hf.Qwen3Config, GROUPED | dict(head_dim=8)),
    "qwen3 tied": (hf.Qwen3Config, GROUPED | dict(head_dim=10, tie_word_embeddings=True, attention_bias=True)),
    "gemma": (hf.GemmaConfig, SIZES | dict(num_key_value_heads=1, head_dim=8)),
    "phi": (hf.PhiConfig, SIZES | dict(hidden_size=32)), "phi grouped": (hf.PhiConfig, GROUPED | dict(
        hidden_size=40, rope_parameters=dict(rope_type="default", rope_theta=500.0, partial_rotary_factor=0.4))),
    "bert": (hf.BertConfig, BERT),
    "bert untied": (hf.BertConfig, BERT | dict(tie_word_embeddings=False, type_vocab_size=3, hidden_act="gelu_new")),
    "roberta untied": (hf.RobertaConfig, SIZES | dict(max_position_embeddings=42, tie_word_embeddings=False)),
    "roberta": (hf.RobertaConfig, SIZES | dict(max_position_embeddings=42, type_vocab_size=1)),
    "distilbert": (hf.DistilBertConfig,
                   dict(vocab_size=61, dim=24, n_layers=2, n_heads=4, hidden_dim=40, max_position_embeddings=40)),
    "t5": (hf.T5Config, T5),
    "t5 v1.1": (hf.T5Config, T5 | dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
    **OLDER,
}
CASES |= models_newer.CASES | models_encoders.CASES | models_experts.CASES | models_pictures.CASES
ENCODER_CONFIGS = (hf.BertConfig, hf.RobertaConfig, hf.DistilBertConfig, *models_encoders.ENCODER_CONFIGS)
ENCODERS = tuple(name for name, (config, _) in CASES.items() if config in ENCODER_CONFIGS)


def randomised(model: hf.PreTrainedModel, seed: int = 1) -> hf.PreTrainedModel:
    """The model with every parameter random, norms and biases too: maps that keep a vector's length, so that every part
    of a block weighs as much in the stream as the embedding does, and unembeddings long enough for logits that spread.
    """
    generator = torch.Generator().manual_seed(seed)
    # gemma's embeddings come in √d times as long; t5's logits go out 1/√d times
    gains = {"gemma": 24 ** -0.5, "t5": 2.0, **models_newer.GAINS, **models_encoders.GAINS,
             **models_pictures.GAINS}
    gain = gains.get(model.config.model_type, 1.0)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            embedding, out = (any(part in name for part in parts)
                              for parts in (("wte", "embed", "shared", "word_embeddings"),
                                            ("lm_head.weight", "embed_out", "decoder.weight")))
            p.copy_(p + 0.3 * noise if p.ndim == 1 or name.endswith(("q_norm.weight", "k_norm.weight"))
                    else noise * (gain if embedding else 1.0 if out else p.shape[-1] ** -0.5))
        models_encoders.completed(model, generator)
    if model.config.model_type == "falcon" and model.config.alibi and model.config._attn_implementation == "eager":
        add_alibi_once(model)
    return model.eval().requires_grad_(False)


def made(name: str, **changes) -> hf.PreTrainedModel:
    """The random model of CASES[name]; T5 version 1.1 with an unembedding of its own, as the published ones have."""
    kind, settings = CASES[name]
    auto = (hf.AutoModelForMaskedLM if name in ENCODERS else hf.AutoModelForSeq2SeqLM if kind().is_encoder_decoder
            else hf.AutoModelForCausalLM)
    model = auto.from_config(kind(**settings | changes), attn_implementation="eager")
    if name in ("t5 v1.1", *models_encoders.OWN_UNEMBEDDING):
        model.lm_head.weight = torch.nn.Parameter(torch.empty(61, 24))
    return randomised(model)


def saved(name: str, folder: Path, **changes) -> hf.PreTrainedModel:
    model = made(name, **changes)
    model.save_pretrained(folder)
    return model


def ids(*shape: int, seed: int = 0) -> Tensor:
    """Random token ids, none of them of those that config defaults give to padding."""
    return torch.randint(4, 61, shape, generator=torch.Generator().manual_seed(seed))
