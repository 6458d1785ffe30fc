"""The keys of a config.json that no plan reads: those that are known to be without effect, each under its reason.

Every key of a config is read by its family's plan, or is listed here, or is refused by name and value if transformers
declares or reads it (core.huggingface.reference): it may mean that the model computes something else. A key that
transformers does not know either has no effect there; it is passed over, and named to the reader. A new family adds a
row to IN_FAMILY for the other keys of its published configs.

A key without effect is one that no forward pass in eval mode reads, in the modelling code of transformers 5.23.
"""
import re
from collections.abc import Mapping

from core.huggingface import reference
from core.huggingface.errors import PretrainedError, short

# only training: what is dropped out, how the parameters begin
TRAINING = re.compile(r"dropout(_(prob|rate))?$|_pdrop$|^(initializer_(range|factor)|init_std|layerdrop)$")
# ids of tokens beside those that a plan reads: for padding, separating or masking a text
TOKEN = re.compile(r"_token_ids?$")

BY_REASON: dict[str, tuple[str, ...]] = {
    "says where the model comes from": (
        "model_type", "architectures", "auto_map", "transformers_version", "_name_or_path", "name_or_path",
        "_model_name_or_path", "_commit_hash", "model_name", "language", "license", "tags", "tokenizer_class",
        "unsloth_version", "unsloth_fixed", "is_llama_config", "transformers.js_config",
        "custom_pipelines", "max_sequence_length", "vocab_file", "merges_file"),
    "says in which number format to keep the weights": ("dtype", "torch_dtype", "use_bfloat16"),
    "says how to compute the same numbers": (
        "use_cache", "output_past", "attn_implementation", "_attn_implementation", "_attn_implementation_internal",
        "_attn_implementation_autoset", "_flash_attn_2_enabled", "use_flash_attn", "use_flash_attention",
        "experts_implementation", "_experts_implementation_internal", "torchscript", "chunk_size_feed_forward",
        "gradient_checkpointing", "pretraining_tp", "tensor_parallel", "tie_weights_", "keys_to_ignore_at_inference",
        "tf_legacy_loss", "cache_implementation"),
    "says what a pass returns": (
        "output_attentions", "output_hidden_states", "return_dict", "use_return_dict", "tie_last_hidden_states"),
    "belongs to training": ("problem_type", "finetuning_task", "router_aux_loss_coef", "output_router_logits"),
    "belongs to a head for another task": (
        "id2label", "label2id", "num_labels", "_num_labels", "summary_type", "summary_use_proj", "summary_activation",
        "summary_proj_to_labels"),
    "forbids tokens, which no translation has (read with the tokenizer); what a reader samples is the reader's": (
        "bad_words_ids",),
    "is a habit of writing, which a reader sets in the app": (
        "task_specific_params", "max_length", "max_new_tokens", "min_length", "do_sample", "early_stopping",
        "num_beams", "num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p", "typical_p",
        "epsilon_cutoff", "eta_cutoff", "repetition_penalty", "encoder_repetition_penalty", "length_penalty",
        "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "num_return_sequences",
        "return_dict_in_generate", "output_scores", "remove_invalid_values", "exponential_decay_length_penalty",
        "suppress_tokens", "begin_suppress_tokens", "prefix"),
}
WITHOUT_EFFECT = {name: reason for reason, names in BY_REASON.items() for name in names}

# one value of these is without effect: the feature is off
HARMLESS: dict[str, object] = {
    "is_causal": True, "is_decoder": False, "is_encoder_decoder": False, "add_cross_attention": False,
    "tie_encoder_decoder": False, "cross_attention_hidden_size": None, "use_mrope": False, "rope_interleaved": False,
    "partial_rotary_factor": 1.0, "quantization_config": None,
    "attn_uses_sequence_id": False}
# null switches these off as false would, so null counts as a value here
NULL_IS_A_VALUE = frozenset({"is_causal"})

# keys in the configs of only one family, and why they have no effect there
IN_FAMILY: dict[str, dict[str, str]] = {
    "gpt2": {"reorder_and_upcast_attn": "the same numbers, and here all are float32"},
    "gpt_neox": {"is_decoder": "its blocks are causal either way"},
    "bert": dict.fromkeys(
        ("directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
         "pooler_size_per_head", "pooler_type"), "describes the pooler, which reads the last vectors for another task"),
    "distilbert": {"sinusoidal_pos_embds": "how the positions began; the file has them"},
    "bloom": dict.fromkeys(
        ("slow_but_exact", "attention_softmax_in_fp32", "bias_dropout_fusion", "masked_softmax_fusion", "offset_alibi",
         "skip_bias_add", "skip_bias_add_qkv"), "how its training program computed the same numbers"),
    "starcoder2": {"layer_norm_epsilon": "norm_epsilon is what counts", "mlp_type": "its only one is the default",
                   "norm_type": "its only one is LayerNorm"},
    "falcon": {"num_kv_heads": "counts in the new architecture alone, whose plan reads it",
               "multi_query": "counts in the old architecture alone, whose plan reads it",
               "ff_factor": "ffn_hidden_size is what counts"},
    "mpt": {"embedding_fraction": "scales a gradient", "init_device": "where the parameters are made",
            "learned_pos_emb": "ALiBi takes their place", "verbose": "what is printed",
            "init_config": "how the parameters begin", "attn_impl": "how to compute the same numbers",
            "tokenizer_name": "where the tokenizer comes from"},
    "gpt_bigcode": dict.fromkeys(
        ("attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "inference_runner", "pad_key_length",
         "pre_allocate_kv_cache", "validate_runner_input", "max_batch_size", "max_sequence_length"),
        "how to compute the same numbers"),
    "gemma3": dict.fromkeys(("mm_tokens_per_image", "boi_token_index", "eoi_token_index", "image_token_index"),
                            "says how a picture stands in a text, and none does here"),
    "cohere": {"model_max_length": "max_position_embeddings is what counts"},
    "smollm3": {"max_window_layers": "layer_types say which blocks have a window"},
    "phi3": dict.fromkeys(("full_attn_mod", "interpolate_factor"), "was read by the code it was published with"),
    "cohere2": dict.fromkeys(("layer_switch", "order_of_interleaved_layers", "use_embedding_sharing",
                              "use_parallel_embedding"), "layer_types or sliding_window_pattern are what counts"),
    "mixtral": {"router_jitter_noise": "belongs to training"},
    "qwen3_moe": {"max_window_layers": "its window is in all blocks or in none"},
    "gpt_oss": {"experts_per_token": "num_experts_per_tok is what counts",
                "initial_context_length": "its rope_scaling says it"},
    "codegen": {"n_ctx": "says what n_positions says, and is not read"},
    "modernbert": {"layer_norm_eps": "norm_eps is what counts", "initializer_cutoff_factor": "how the parameters begin",
                   **dict.fromkeys(("sparse_prediction", "sparse_pred_ignore_index"), "belongs to training"),
                   **dict.fromkeys(("reference_compile", "deterministic_flash_attn", "repad_logits_with_grad"),
                                   "how to compute the same numbers")},
    **dict.fromkeys(("bart", "mbart", "marian", "pegasus"), {
        **dict.fromkeys(("normalize_before", "normalize_embedding", "add_bias_logits", "add_final_layer_norm",
                         "static_position_embeddings", "extra_pos_embeddings"), "the family alone says it"),
        **dict.fromkeys(("encoder_layerdrop", "decoder_layerdrop"), "belongs to training"),
        "force_bos_token_to_be_generated": "is a habit of writing"}),
}
# as HARMLESS, in one family
HARMLESS_IN_FAMILY: dict[str, dict[str, object]] = {
    **dict.fromkeys(("t5", "mt5", "bart", "mbart", "marian", "pegasus"), {"is_encoder_decoder": True}),
    "phi3": dict.fromkeys(("attention_bias", "mlp_bias", "lm_head_bias"), False)}


def passed_over(values: Mapping[str, object], read: set[str], family: str) -> list[str]:
    """The keys of a config.json, with their values, that were not read and that transformers does not know either.

    values: the whole table, or a table in it; read: the keys in it that the plan has read. null and empty values say
    nothing. Raises PretrainedError, with name and value, for the first key that was not read and that transformers
    knows, unless it is known to be without effect.
    """
    unread = {name: value for name, value in values.items()
              if name not in read and not _says_nothing(name, value, family)}
    for name, value in unread.items():
        if reference.knows(name, family):
            raise PretrainedError("architecture", f"This model's config.json sets {name} = {short(value)}, which "
                                                  f"transformers reads and this program does not: it may compute "
                                                  f"something else than would be shown. Choose another model of the "
                                                  f"family.")
    return [f"{name} = {short(value, 40)}" for name, value in unread.items()]


def _says_nothing(name: str, value: object, family: str) -> bool:
    if name in HARMLESS or name in HARMLESS_IN_FAMILY.get(family, {}):
        harmless = HARMLESS_IN_FAMILY.get(family, {}).get(name, HARMLESS.get(name))
        return value == harmless or value is None and name not in NULL_IS_A_VALUE
    return (value is None or value in ({}, [], "") or name in WITHOUT_EFFECT or name in IN_FAMILY.get(family, {})
            or TRAINING.search(name) is not None or TOKEN.search(name) is not None)
