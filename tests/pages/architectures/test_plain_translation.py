"""Translate with an encoder-decoder of others: a task stands in front of the text where the model was taught so, and
nowhere else.
"""
from __future__ import annotations

import pytest

from core.base import prose
from tests.core.huggingface import test_tokens
from tests.helpers import huggingface_models, kinds
from tests.helpers.lessons import opened

CASES = {"t5": ("translate English to German:", "T5 was trained on many tasks"),
         "bart": ("The little dog", "the one thing that it was trained for"),
         "marian": ("The little dog", "the one thing that it was trained for")}
FIELDS = {prose.load("architectures").label(f"translate_{name}_text_field") for name in ("loaded", "plain")}


@pytest.mark.parametrize("name", CASES)
def test_the_text_and_what_is_said_below_it_are_of_such_a_model(name: str, tmp_path):
    place = tmp_path / name
    place.mkdir()
    vocab_size = test_tokens.written(*test_tokens.t5(), place)
    huggingface_models.saved(name, place, vocab_size=vocab_size, **({} if name == "t5" else dict(
        max_position_embeddings=80, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, bos_token_id=None)))
    with kinds.offered(tmp_path):
        at = opened("architectures", {"view": "translate"}, model=f"folder:{name}")
        begins, explained = CASES[name]
        [field] = [each for each in at.text_input if each.label in FIELDS]
        assert field.value.startswith(begins) and any(explained in text.value for text in at.markdown)
        assert sum("**Three attentions.**" in text.value for text in at.markdown) == 1
        assert name == "t5" or not any("T5" in text.value for text in at.markdown if "**" in text.value)
