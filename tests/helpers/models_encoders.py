"""Small Hugging Face encoders and encoder-decoders of the families that joined BERT, RoBERTa, DistilBERT and T5."""
from __future__ import annotations

import transformers as hf

from tests.helpers.model_sizes import SIZES, T5

ROBERTA = SIZES | dict(max_position_embeddings=42, type_vocab_size=1)
CASES: dict[str, tuple[type, dict]] = {
    "xlm-roberta": (hf.XLMRobertaConfig, ROBERTA),
    "xlm-roberta untied": (hf.XLMRobertaConfig, ROBERTA | dict(tie_word_embeddings=False, layer_norm_eps=1e-5)),
    "camembert": (hf.CamembertConfig, ROBERTA), "camembert of two texts": (hf.CamembertConfig,
                                                                          ROBERTA | dict(type_vocab_size=2)),
    "mt5": (hf.MT5Config, T5), "mt5 without gate": (hf.MT5Config, T5 | dict(feed_forward_proj="relu", d_kv=6)),
}
ENCODER_CONFIGS = (hf.XLMRobertaConfig, hf.CamembertConfig)
# cases that are tried with heads for other tasks
TASK_CASES = ("bert", "roberta", "distilbert", "xlm-roberta", "camembert")
GAINS: dict[str, float] = {}
OWN_UNEMBEDDING = ("mt5",)      # as the published ones have it, whatever the config says of ties


def unused(config: hf.PretrainedConfig) -> int:
    """How many parameters transformers counts that compute nothing: rows for positions before the first."""
    return {"xlm-roberta": 2 * 24, "camembert": 2 * 24}.get(config.model_type, 0)
