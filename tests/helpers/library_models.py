"""Small Hugging Face models in folders, as an operator offers them: random weights, of families that differ from the
bundled models in most that lessons could take for granted.
"""
from __future__ import annotations

import json
from pathlib import Path

import tokenizers
from tokenizers import processors

from core.base import prose
from core.model.tokenizer import Tokenizer
from tests.core.huggingface import test_tokens
from tests.helpers import huggingface_models, sentencepiece_files
from tests.helpers.huggingface_models import hf

CONTEXT = 300                # longer than what lessons read at once
FAMILIES = {                 # name -> (case of tests.helpers.huggingface_models, its changes)
    # grouped heads, rotary, RMSNorm, gate, no biases, E not tied
    "llama": ("llama", dict(max_position_embeddings=CONTEXT)),
    # the layers and heads of Qwen3-0.6B
    "deep": ("llama", dict(max_position_embeddings=CONTEXT, num_hidden_layers=28, num_attention_heads=16,
                           num_key_value_heads=8, hidden_size=64)),
    # parallel parts, part of each query turned
    "neox": ("pythia", dict(max_position_embeddings=CONTEXT)),
    "mistral": ("mistral", dict(max_position_embeddings=CONTEXT)),                   # a sliding window of 5
    # b_U, a norm that both parts share, half of each query turned
    "phi": ("phi", dict(max_position_embeddings=CONTEXT)),
    "numbers": ("qwen3", dict(max_position_embeddings=CONTEXT)),                     # without a tokenizer
}


def folder(root: Path, name: str, vocab_size: int = 700) -> Path:
    """The model `name` of FAMILIES below `root`. llama and deep begin a text with <s>, the others with nothing;
    "numbers" has no tokenizer.
    """
    case, changes = FAMILIES[name]
    place = root / name
    huggingface_models.saved(case, place, vocab_size=vocab_size, bos_token_id=0, eos_token_id=0,
                             pad_token_id=None, **changes)
    if name != "numbers":
        save_tokenizer(place, vocab_size - 3, begins=case == "llama")
    return place


def save_tokenizer(place: Path, vocab_size: int, begins: bool) -> None:
    """A byte-level tokenizer as published models have it; fewer tokens than rows of E, as many models have."""
    Tokenizer.train(prose.load("app").section("prompts").splitlines() * 3, vocab_size).save(place / "tokenizer.json")
    backend = tokenizers.Tokenizer.from_file(str(place / "tokenizer.json"))
    name = backend.id_to_token(0)
    if begins:
        backend.post_processor = processors.TemplateProcessing(single=f"{name} $A", special_tokens=[(name, 0)])
    backend.save(str(place / "tokenizer.json"))
    (place / "tokenizer_config.json").write_text(json.dumps({"eos_token": name} if begins else {}))


# name -> (case of tests.helpers.huggingface_models, maker of its tokenizer in
# tests.core.huggingface.test_tokens, its changes)
OTHER_KINDS = {
    # WordPiece, post-norm, a head's transform
    "bert": ("bert", "bert", dict(max_position_embeddings=CONTEXT)),
    # embeddings narrower than the stream
    "electra": ("electra narrow", "bert", dict(max_position_embeddings=CONTEXT)),
    # byte-level, positions that begin after the padding token's
    "roberta": ("roberta", "roberta", dict(max_position_embeddings=CONTEXT)),
    # Unigram, relative positions; with more blocks, transformers' own cache fails
    "t5": ("t5", "t5", dict(num_decoder_layers=2)),
}


def other_kind(root: Path, name: str) -> hf.PreTrainedModel:
    """The encoder or encoder-decoder `name` of OTHER_KINDS below `root`, with its tokenizer; as transformers has it."""
    case, maker, changes = OTHER_KINDS[name]
    place = root / name
    place.mkdir()
    vocab_size = test_tokens.written(*getattr(test_tokens, maker)(), place)
    return huggingface_models.saved(case, place, vocab_size=vocab_size, **changes)


def marian(root: Path) -> None:
    """A Marian model below `root`, with its tokenizer in source.spm and vocab.json."""
    size = sentencepiece_files.write_marian(root / "marian")
    huggingface_models.saved("marian", root / "marian", vocab_size=size, pad_token_id=size - 1,
                             decoder_start_token_id=size - 1, max_position_embeddings=CONTEXT)
