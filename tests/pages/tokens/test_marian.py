"""The pages with a model whose tokenizer is a SentencePiece file and a vocabulary, as Marian's are."""
from collections.abc import Iterator

import pytest

from core.base import catalogue
from tests.helpers import kinds, lessons, library_models, sentencepiece_files
from tests.helpers.messages import given
from tests.helpers.stories_only import told

MODEL = "folder:marian"


@pytest.fixture(scope="module", autouse=True)
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    root = tmp_path_factory.mktemp("marian")
    library_models.marian(root)
    with kinds.offered(root):
        yield


@pytest.mark.parametrize("lesson, view", [*(("tokens", view) for view in catalogue.entry("tokens").views
                                            if catalogue.is_shown("tokens", view, "encoder-decoder")),
                                          ("architectures", "translate")])
def test_every_view_that_is_shown_with_it_stands(lesson, view):
    at = lessons.open_at(lesson, model=MODEL, **catalogue.entry(lesson).opening(view))
    assert lessons.fine(at), [e.value for e in (*at.exception, *at.error)]
    assert at.session_state["model"] == MODEL
    assert lesson == "architectures" or [line for text in kinds.said(at) for line in told(text)] == []


def test_ways_to_cut_calls_it_unigram_and_cuts_as_it_does():
    sent = given(lessons.opened("tokens", {"view": "methods"}, model=MODEL, prompt="the  cat ж"), "token_methods")
    row, example = sent["methods"][3], sent["examples"].index("the  cat ж")
    assert (row["name"], row["vocabulary"]) == ("Unigram of marian", len(sentencepiece_files.numbers()))
    assert (row["pieces"][example], row["counts"][example]) == (["·the", "·cat", "·", "ж"], 4)


@pytest.mark.parametrize("prompt", ["▁", "\u200b", ">>fra<<", "</s>", "👍🏽 שלום e\u0301\u0301"])
@pytest.mark.parametrize("lesson, view", [("tokens", "methods"), ("tokens", "vocabulary"),
                                          ("architectures", "translate")])
def test_a_prompt_that_is_hard_to_cut_is_shown(lesson, view, prompt):
    example = {"example": "6"} if view == "methods" else {}         # the prompt
    at = lessons.opened(lesson, {"view": view, **example}, model=MODEL, prompt=prompt)
    assert lessons.fine(at), [e.value for e in (*at.exception, *at.error)]


def test_the_vocabulary_lists_pieces_with_a_probability_and_special_tokens():
    sent = given(lessons.opened("tokens", {"view": "vocabulary"}, model=MODEL), "token_vocabulary")
    numbers = sentencepiece_files.numbers()
    assert {sent["origins"][numbers[name]] for name in ("</s>", "<unk>", "<pad>")} == {"special"}
    assert {sent["origins"][numbers[name]] for name in ("▁the", "a", ">>fra<<")} == {"probable"}
