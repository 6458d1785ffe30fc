"""Small Hugging Face encoders and encoder-decoders of the families that joined BERT, RoBERTa, DistilBERT and T5."""
from __future__ import annotations

import transformers as hf

from tests.helpers.model_sizes import SIZES, T5

ROBERTA = SIZES | dict(max_position_embeddings=42, type_vocab_size=1)
MODERNBERT = SIZES | dict(num_hidden_layers=4, local_attention=8, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                          cls_token_id=1, sep_token_id=2)
CASES: dict[str, tuple[type, dict]] = {
    "xlm-roberta": (hf.XLMRobertaConfig, ROBERTA),
    "xlm-roberta untied": (hf.XLMRobertaConfig, ROBERTA | dict(tie_word_embeddings=False, layer_norm_eps=1e-5)),
    "camembert": (hf.CamembertConfig, ROBERTA), "camembert of two texts": (hf.CamembertConfig,
                                                                          ROBERTA | dict(type_vocab_size=2)),
    "modernbert": (hf.ModernBertConfig, MODERNBERT),
    "modernbert with biases": (hf.ModernBertConfig, MODERNBERT | dict(
        attention_bias=True, mlp_bias=True, norm_bias=True, classifier_bias=True, decoder_bias=False,
        tie_word_embeddings=False, layer_types=["sliding_attention"] * 2 + ["full_attention"] * 2,
        rope_parameters={"full_attention": dict(rope_type="default", rope_theta=300.0),
                         "sliding_attention": dict(rope_type="default", rope_theta=20.0)})),
    "mt5": (hf.MT5Config, T5), "mt5 without gate": (hf.MT5Config, T5 | dict(feed_forward_proj="relu", d_kv=6)),
}
ENCODER_CONFIGS = (hf.XLMRobertaConfig, hf.CamembertConfig, hf.ModernBertConfig)
# cases that are tried with heads for other tasks
TASK_CASES = ("bert", "roberta", "distilbert", "xlm-roberta", "camembert", "modernbert", "modernbert with biases")
GAINS: dict[str, float] = {}
OWN_UNEMBEDDING = ("mt5",)      # as the published ones have it, whatever the config says of ties


def unused(config: hf.PretrainedConfig) -> int:
    """How many parameters transformers counts that compute nothing: rows for positions before the first. Less the bias
    that the caller takes for a second one of every untied model with BERT in its name.
    """
    untied = config.model_type == "modernbert" and not config.tie_word_embeddings
    return {"xlm-roberta": 2 * 24, "camembert": 2 * 24}.get(config.model_type, 0) - 61 * untied
