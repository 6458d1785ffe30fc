"""Limits with a model that others have published: what it has read is not known, and no page says that it is.
"""
import re
from collections.abc import Iterator

import pytest

from core.base import prose
from tests.helpers import kinds
from tests.helpers.lessons import opened
from tests.helpers.messages import given

MODEL = "folder:gpt2-shaped"
WORDS = prose.load("limits").of_kind(prose.PUBLISHED)


@pytest.fixture(scope="module", autouse=True)
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with kinds.loaded(tmp_path_factory.mktemp("models")):
        yield


def test_facts_are_grouped_by_what_the_bundled_model_was_taught():
    at = opened("limits", {"view": "facts"}, model=MODEL)
    sent = given(at, "limits_facts")
    assert [row["name"] for row in sent["rows"]] == ["Taught to stories", "Not taught to stories", "Made up"]
    assert sent["title_line"].endswith("Right is Daniel Defoe; whether it has read that is not known.")
    assert "gpt2-shaped was published by others: what it has read is not known here" in sent["note"]
    assert any(one.value.startswith(WORDS.section("explanation_facts")[:80]) for one in at.markdown)
    assert not [text for text in kinds.said(at) if re.search("trained in this app|It was never taught", text)]


def test_its_questions_are_asked_in_a_form_that_other_texts_have():
    """As `stories` was taught they were nobody's but its own; picked, that form is asked still."""
    pages = [opened("limits", {"view": "facts"} | picked, model=model)
             for model, picked in ((MODEL, {}), (MODEL, {"phrasing": "taught"}), (None, {"phrasing": "taught"}))]
    asked = [given(at, "limits_facts")["rows"][0]["ask"].split(":")[0] for at in pages]
    kept = [at.session_state["limits_phrasing"] for at in pages]
    assert asked == ["Question", "Q", "Q"] and kept == ["usual", "taught", "usual"]


def test_passages_are_those_that_the_bundled_model_read():
    at = opened("limits", {"view": "memory"}, model=MODEL)
    title = next(one.value for one in at.markdown if one.value.startswith("**Given the first 8 tokens"))
    assert "*giant*, which stories read 100 times, the model recites" in title and "published by others" in title
    assert [row["name"] for row in given(at, "limits_recital")["rows"]] == ["giant, which stories read 100 times",
                                                                       "its twin, which stories never read"]
    assert any(one.value.startswith(WORDS.section("explanation_memory")[:80]) for one in at.markdown)


def test_the_texts_of_a_bundled_model_are_as_they_were():
    words = prose.load("limits")
    assert words.label("group_taught") == "Taught" and words.label("once") == "read once"
    assert "published" not in words.section("explanation_facts")
