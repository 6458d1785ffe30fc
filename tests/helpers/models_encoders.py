"""Small Hugging Face encoders and encoder-decoders of the families that joined BERT, RoBERTa, DistilBERT and T5."""
from __future__ import annotations

import torch
import transformers as hf

from tests.helpers.model_sizes import SIZES, T5

ROBERTA = SIZES | dict(max_position_embeddings=42, type_vocab_size=1)
MODERNBERT = SIZES | dict(num_hidden_layers=4, local_attention=8, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                          cls_token_id=1, sep_token_id=2)
BART = dict(vocab_size=61, d_model=24, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=40, decoder_ffn_dim=40, max_position_embeddings=40,
            pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None)
MARIAN = BART | dict(scale_embedding=True, activation_function="swish", pad_token_id=60, decoder_start_token_id=60,
                     eos_token_id=0, bos_token_id=None)
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
    "electra": (hf.ElectraConfig, SIZES | dict(embedding_size=24)),
    "electra untied": (hf.ElectraConfig, SIZES | dict(embedding_size=24, tie_word_embeddings=False,
                                                      type_vocab_size=3)),
    "electra narrow": (hf.ElectraConfig, SIZES | dict(embedding_size=12)),
    "electra narrow untied": (hf.ElectraConfig, SIZES | dict(embedding_size=12, tie_word_embeddings=False)),
    "bart": (hf.BartConfig, BART),
    "bart scaled": (hf.BartConfig, BART | dict(scale_embedding=True, activation_function="relu")),
    "mbart": (hf.MBartConfig, BART | dict(scale_embedding=True)),
    "marian": (hf.MarianConfig, MARIAN),
    "marian without scale": (hf.MarianConfig, MARIAN | dict(scale_embedding=False, activation_function="relu")),
    "pegasus": (hf.PegasusConfig, BART | dict(scale_embedding=True)),
    "mt5": (hf.MT5Config, T5), "mt5 without gate": (hf.MT5Config, T5 | dict(feed_forward_proj="relu", d_kv=6)),
}
ENCODER_CONFIGS = (hf.XLMRobertaConfig, hf.CamembertConfig, hf.ModernBertConfig, hf.ElectraConfig)
ELECTRA = dict(
    architectures=["ElectraForMaskedLM"], attention_probs_dropout_prob=0.1, hidden_act="gelu", hidden_dropout_prob=0.1,
    hidden_size=24, initializer_range=0.02, intermediate_size=40, layer_norm_eps=1e-12, max_position_embeddings=40,
    model_type="electra", num_attention_heads=4, num_hidden_layers=2, pad_token_id=0,
    position_embedding_type="absolute", summary_activation="gelu", summary_last_dropout=0.1, summary_type="first",
    summary_use_proj=True, type_vocab_size=2, vocab_size=61)
# name -> (case of the same model as transformers 5 saves it, the config.json that the published one has)
PUBLISHED: dict[str, tuple[str, dict]] = {
    "xlm-roberta-base": ("xlm-roberta", dict(
        architectures=["XLMRobertaForMaskedLM"], attention_probs_dropout_prob=0.1, bos_token_id=0, eos_token_id=2,
        hidden_act="gelu", hidden_dropout_prob=0.1, hidden_size=24, initializer_range=0.02, intermediate_size=40,
        layer_norm_eps=1e-12, max_position_embeddings=42, model_type="xlm-roberta", num_attention_heads=4,
        num_hidden_layers=2, output_past=True, pad_token_id=1, position_embedding_type="absolute",
        transformers_version="4.17.0.dev0", type_vocab_size=1, use_cache=True, vocab_size=61)),
    "camembert-base": ("camembert", dict(
        architectures=["CamembertForMaskedLM"], attention_probs_dropout_prob=0.1, bos_token_id=5, eos_token_id=6,
        hidden_act="gelu", hidden_dropout_prob=0.1, hidden_size=24, initializer_range=0.02, intermediate_size=40,
        layer_norm_eps=1e-12, max_position_embeddings=42, model_type="camembert", num_attention_heads=4,
        num_hidden_layers=2, output_past=True, pad_token_id=1, type_vocab_size=1, vocab_size=61)),
    "ModernBERT-base": ("modernbert", dict(
        architectures=["ModernBertForMaskedLM"], attention_bias=False, attention_dropout=0.0, bos_token_id=1,
        classifier_activation="gelu", classifier_bias=False, classifier_dropout=0.0, classifier_pooling="mean",
        cls_token_id=1, decoder_bias=True, deterministic_flash_attn=False, embedding_dropout=0.0, eos_token_id=2,
        global_attn_every_n_layers=3, global_rope_theta=160000.0, gradient_checkpointing=False,
        hidden_activation="gelu", hidden_size=24, initializer_cutoff_factor=2.0, initializer_range=0.02,
        intermediate_size=40, layer_norm_eps=1e-05, local_attention=8, local_rope_theta=10000.0,
        max_position_embeddings=40, mlp_bias=False, mlp_dropout=0.0, model_type="modernbert", norm_bias=False,
        norm_eps=1e-05, num_attention_heads=4, num_hidden_layers=4, pad_token_id=0,
        position_embedding_type="absolute", sep_token_id=2, tie_word_embeddings=True, torch_dtype="float32",
        transformers_version="4.47.0.dev0", vocab_size=61)),
    "electra-base-generator, embeddings as wide as the stream": ("electra", ELECTRA | dict(embedding_size=24)),
    "electra-small-generator": ("electra narrow", ELECTRA | dict(embedding_size=12)),
    "mt5-small": ("mt5", dict(
        architectures=["MT5ForConditionalGeneration"], d_ff=40, d_kv=8, d_model=24, decoder_start_token_id=0,
        dropout_rate=0.1, eos_token_id=1, feed_forward_proj="gated-gelu", initializer_factor=1.0,
        is_encoder_decoder=True, layer_norm_epsilon=1e-06, model_type="mt5", num_decoder_layers=3, num_heads=4,
        num_layers=2, pad_token_id=0, relative_attention_num_buckets=8, relative_attention_max_distance=12,
        tie_word_embeddings=False, tokenizer_class="T5Tokenizer", use_cache=True, vocab_size=61)),
    "bart-base": ("bart", dict(
        _num_labels=3, activation_dropout=0.1, activation_function="gelu", add_bias_logits=False,
        add_final_layer_norm=False, architectures=["BartModel"], attention_dropout=0.1, bos_token_id=0,
        classif_dropout=0.1, classifier_dropout=0.0, d_model=24, decoder_attention_heads=4, decoder_ffn_dim=40,
        decoder_layerdrop=0.0, decoder_layers=3, decoder_start_token_id=2, dropout=0.1, early_stopping=True,
        encoder_attention_heads=4, encoder_ffn_dim=40, encoder_layerdrop=0.0, encoder_layers=2, eos_token_id=2,
        forced_eos_token_id=2, forced_bos_token_id=0, gradient_checkpointing=False,
        id2label={"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, init_std=0.02, is_encoder_decoder=True,
        max_position_embeddings=40, model_type="bart", no_repeat_ngram_size=3, normalize_before=False,
        normalize_embedding=True, num_beams=4, num_hidden_layers=2, pad_token_id=1, scale_embedding=False,
        use_cache=True, vocab_size=61)),
    "opus-mt-en-de": ("marian", dict(
        activation_dropout=0.0, activation_function="swish", add_bias_logits=False, add_final_layer_norm=False,
        architectures=["MarianMTModel"], attention_dropout=0.0, bad_words_ids=[[60]], bos_token_id=0,
        classif_dropout=0.0, classifier_dropout=0.0, d_model=24, decoder_attention_heads=4, decoder_ffn_dim=40,
        decoder_layerdrop=0.0, decoder_layers=3, decoder_start_token_id=60, decoder_vocab_size=61, dropout=0.1,
        encoder_attention_heads=4, encoder_ffn_dim=40, encoder_layerdrop=0.0, encoder_layers=2, eos_token_id=0,
        forced_eos_token_id=0, init_std=0.02, is_encoder_decoder=True, max_length=512, max_position_embeddings=40,
        model_type="marian", normalize_before=False, normalize_embedding=False, num_beams=6, num_hidden_layers=2,
        pad_token_id=60, scale_embedding=True, share_encoder_decoder_embeddings=True,
        static_position_embeddings=True, use_cache=True, vocab_size=61)),
}
# cases that are tried with heads for other tasks
TASK_CASES = ("bert", "roberta", "distilbert", "xlm-roberta", "camembert", "electra",
              "electra narrow", "modernbert",
              "modernbert with biases")
# its embeddings come in √d times as long
GAINS = {"mbart": 24 ** -0.5, "marian": 0.3, "pegasus": 24 ** -0.5}
OWN_UNEMBEDDING = ("mt5",)      # as the published ones have it, whatever the config says of ties


def unused(config: hf.PretrainedConfig) -> int:
    """How many parameters transformers counts that compute nothing: rows for positions before the first. Less the bias
    that the caller takes for a second one of every untied model with BERT in its name.
    """
    if config.model_type in ("bart", "mbart", "marian", "pegasus"):
        rows = {"bart": 2 * 2 * 24, "mbart": 2 * 2 * 24}.get(config.model_type, 2 * 40 * 24)
        return rows - 61        # transformers does not count the logits' bias
    untied = config.model_type == "modernbert" and not config.tie_word_embeddings
    return {"xlm-roberta": 2 * 24, "camembert": 2 * 24}.get(config.model_type, 0) - 61 * untied


def completed(model: hf.PreTrainedModel, generator: torch.Generator) -> None:
    """Make the bias of a BART's logits random, which is no parameter in transformers, and its sinusoids the sinusoids
    again, which are.
    """
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.copy_(0.3 * torch.randn(model.final_logits_bias.shape, generator=generator))
    for part in model.modules():
        if hasattr(part, "create_weight"):
            part.weight.copy_(part.create_weight())
