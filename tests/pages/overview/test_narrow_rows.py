"""The pages for a decoder with rows of E narrower than its stream, and for the text part of a model that reads
pictures: in the offer, and once it is loaded.
"""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.huggingface import test_tokens
from tests.helpers import huggingface_models, kinds, lessons
from tests.helpers.messages import formulas


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    kinds.saved(root, "opt-350m-shaped")
    place = root / "pictures"
    place.mkdir()
    words = dict(vocab_size=test_tokens.written(*test_tokens.llama(), place), bos_token_id=0, eos_token_id=0,
                 pad_token_id=None, max_position_embeddings=kinds.CONTEXT)
    _, settings = huggingface_models.CASES["gemma3 with pictures"]
    huggingface_models.saved("gemma3 with pictures", place, text_config=settings["text_config"] | words)
    return root


@pytest.fixture(scope="module")
def loaded(root: Path) -> Iterator[None]:
    with kinds.offered(root):
        yield


def text_of(lesson: str, model: str, **settings: str) -> tuple[str, str]:
    at = lessons.open_at(lesson, model=f"folder:{model}", **settings)
    assert lessons.fine(at)
    return "\n".join(kinds.said(at)), "\n".join(formulas(at))


def test_overview_tells_both_maps_and_counts_them(loaded):
    said, latex = text_of("overview", "opt-350m-shaped")
    assert "A row of E has 12 numbers. A matrix maps it to the d = 24 of the stream" in said
    assert "(E W_E)" in latex and r"W\_H, back to the width of E" in latex and "after the norm, a matrix" not in said
    assert "u = h W_H Eᵀ" in said and "u = h Eᵀ" not in said and "reads pictures" not in said


def test_embeddings_and_next_token_tell_of_rows_of_their_own_width(loaded):
    said, _ = text_of("embeddings", "opt-350m-shaped")
    assert "a matrix W_E maps it to the d = 24" in said and "maps it, normed" not in said
    assert "a row of E has 12 numbers and a vector of the stream 24" in text_of(
        "embeddings", "opt-350m-shaped", embeddings_view="contexts")[0]
    said, _ = text_of("next_token", "opt-350m-shaped")
    assert "mapped to the width of E" in said and "final transform of the head" not in said


def test_overview_says_that_the_part_for_pictures_is_not_loaded(loaded):
    said, _ = text_of("overview", "pictures")
    assert "The published model reads pictures as well." in said and "the part for pictures is not loaded" in said
