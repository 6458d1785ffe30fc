"""The keys of a tokenizer_config.json: those that core.huggingface.tokenizer_forms uses, those that are known to be
without effect on the ids of a text, each under its reason; every other is refused by name and value.
"""
from collections.abc import Mapping

from core.huggingface.errors import PretrainedError, short

USED = frozenset((
    "tokenizer_class", "added_tokens_decoder", "additional_special_tokens", "extra_special_tokens", "add_bos_token",
    "add_eos_token", "add_prefix_space", "do_lower_case", "strip_accents", "tokenize_chinese_chars", "legacy",
    "extra_ids", "src_lang"))
BY_REASON: dict[str, tuple[str, ...]] = {
    "says where the tokenizer comes from": (
        "name_or_path", "_name_or_path", "_commit_hash", "special_tokens_map_file", "tokenizer_file", "vocab_file",
        "merges_file", "auto_map", "use_fast", "from_slow", "backend", "is_local", "local_files_only",
        "processor_class", "tokenizer_type", "transformers_version", "device_map", "unsloth_version"),
    "is about texts that are cut, filled up or put together": (
        "model_max_length", "max_length", "max_len", "stride", "padding", "padding_side", "pad_to_multiple_of",
        "pad_token_type_id", "truncation", "truncation_side", "truncation_strategy", "model_input_names",
        "return_token_type_ids", "token_type_ids_pattern"),
    "is about the text that ids are turned back into": (
        "clean_up_tokenization_spaces", "spaces_between_special_tokens", "errors", "trim_offsets"),
    "names languages, which nothing reads when a text is cut": ("source_lang", "target_lang", "tgt_lang"),
    "is about conversations": ("chat_template", "use_default_system_prompt", "response_schema"),
    "is about special tokens in a reader's text, which here stay text": ("split_special_tokens", "never_split"),
    "is written in the tokenizer's own file": (
        "do_basic_tokenize", "wordpieces_prefix", "model_specific_special_tokens", "unk_id", "offset",
        "mask_token_sent"),
}
WITHOUT_EFFECT = {name: reason for reason, names in BY_REASON.items() for name in names}
HARMLESS: dict[str, object] = {"fix_mistral_regex": False, "sp_model_kwargs": {}, "init_inputs": [],
                               "separate_vocabs": False}


def refuse_unknown(settings: Mapping[str, object]) -> None:
    """Raise PretrainedError, with name and value, for the first setting that is not used and not known to be without
    effect. Names of special tokens (bos_token, image_token) and null and empty values pass.
    """
    for name, value in settings.items():
        if not (name in USED or name in WITHOUT_EFFECT or value is None or value in ({}, [], "")
                or value == HARMLESS.get(name, object()) or name.endswith("_token") and _is_token(value)):
            raise refused(name, value)


def refused(name: str, value: object) -> PretrainedError:
    return PretrainedError("tokenizer", f"This model's tokenizer_config.json sets {name} = {short(value)}, which this "
                                        f"program cannot do or does not know: a text might be cut otherwise than the "
                                        f"model was taught. Choose another model.")


def _is_token(value: object) -> bool:
    return isinstance(value, str) or isinstance(value, dict) and isinstance(value.get("content"), str)


def content(token: object) -> str | None:
    """The spelling of a special token, a string or part of a table in the settings."""
    return token.get("content") if isinstance(token, dict) else token
