"""Images, sounds and proteins as sequences, and what GPT-3 read: counted a second time."""
from __future__ import annotations

import math

import pytest

from core.base import prose
from core.cost import built_models
from pages.architectures import pieces
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import formulas, given

WORDS = prose.load("architectures")


@pytest.mark.parametrize("patch", pieces.SIZES)
def test_the_tokens_are_the_patches_that_cover_the_image(patch):
    corners = {(row, column) for row in range(0, 224, patch) for column in range(0, 224, patch)}
    assert 224 % patch == 0 and pieces.lengths(patch)["image"] == len(corners)
    points = {(row + i, column + j) for row, column in corners for i in range(patch) for j in range(patch)}
    assert len(points) == 224 * 224


@pytest.mark.parametrize("patch", ["8", "16", "56"])
def test_the_formulas_and_the_picture_say_the_same(patch):
    at = open_at("architectures", architectures_view="record", architectures_record="pieces",
                 architectures_patch=patch)
    assert fine(at)
    sent, (tokens, flat, pairs, sound, protein, video) = given(at, "architecture_pieces"), formulas(at)
    n = (224 // int(patch)) ** 2
    results = [int(line.split(" = ")[-1]) for line in (tokens, flat, pairs, sound, protein, video)]
    assert results == [n, 3 * int(patch) ** 2, n ** 2, 1500, 51, 8 * 14 ** 2]
    assert sent["lengths"] == {"text": 512, "image": n, "sound": 1500, "protein": 51}
    assert sent["patch"] == int(patch) and len(sent["protein"]) == 51 and set(sent["protein"]) < set(
        "ACDEFGHIKLMNPQRSTVWY")


def opened(**settings: str):
    at = open_at("architectures", architectures_view="record", architectures_record="pieces",
                 **{f"architectures_{name}": value for name, value in settings.items()})
    assert fine(at)
    return at


@pytest.mark.parametrize("sequence", ["head", "joined"])
def test_a_head_reads_no_patches_that_would_be_slow(sequence):
    sent = given(opened(sequence=sequence, patch="8"), "architecture_pieces")
    assert sent["sizes"] == [14, 16, 28, 32, 56] and sent["patch"] == 14
    assert given(opened(patch="8"), "architecture_pieces")["patch"] == 8


def test_what_is_set_is_told_to_the_picture():
    sent = given(opened(sequence="head", piece="12", placed="true", mixed="true"), "architecture_pieces")
    assert sent["settings"] == {"sequence": "head", "piece": 12, "placed": True, "mixed": True}
    sent = given(opened(), "architecture_pieces")
    assert sent["settings"] == {"sequence": "lengths", "piece": 39, "placed": False, "mixed": False}
    for absurd in ("-999", "1e9", "x"):
        assert -16 <= given(opened(sequence="joined", piece=absurd), "architecture_pieces")["settings"]["piece"] <= 783


def test_words_and_patches_make_four_blocks():
    at = opened(sequence="joined", patch="32")
    words = given(at, "architecture_pieces")["words"]
    assert {"sun", "house", "tree"} < set(words) and len(set(words)) == len(words)
    squares = [int(part) for part in formulas(at)[-1].split(" = ")[2].split(" + ")]
    t, n = len(words), 49
    assert squares == [t * t, 2 * t * n, n * n] and int(formulas(at)[-1].split(" = ")[-1]) == (t + n) ** 2


def test_an_absurd_patch_is_the_nearest_one():
    for value in ("9e99", "-4", "nan", "15"):
        at = open_at("architectures", architectures_view="record", architectures_record="pieces",
                     architectures_patch=value)
        assert fine(at) and given(at, "architecture_pieces")["patch"] in pieces.SIZES


def test_half_the_side_makes_sixteen_times_the_pairs():
    at = open_at("architectures", architectures_view="record", architectures_record="pieces")
    at.radio("architectures_patches_given").set_value(2).run()
    at.button("architectures_patches_commit").click().run()
    assert any(m.value.startswith("Yes") for m in at.markdown)


def test_the_text_says_that_no_image_model_is_there_and_nothing_was_learned():
    assert "No image model is bundled" in WORDS.section("explanation_record_pieces")
    notes = [WORDS.label(f"pieces_note_{name}") for name in ("head", "joined")]
    assert all(note.startswith("No weight here was learned") for note in notes)


def test_what_gpt3_read_is_its_published_mix():
    _, mix = built_models.load().mixture
    parts = {row["name"]: row for row in mix}
    web = parts["Common Crawl"]["billions"] + parts["WebText2"]["billions"]
    assert (web, parts["books"]["billions"], parts["Wikipedia"]["billions"]) == (429, 67, 3)
    assert math.isclose(sum(row["percent"] for row in mix), 100, abs_tol=1.5), "rounded where it was published"
    often = {name: 300 * row["percent"] / 100 / row["billions"] for name, row in parts.items()}
    assert often["Wikipedia"] == pytest.approx(3) and often["Common Crawl"] < 0.5
    assert max(often, key=often.get) == "WebText2"
    at = open_at("architectures", architectures_view="record", architectures_record="data")
    assert fine(at)
    collected, read = formulas(at)
    assert float(collected.split(" = ")[-1]) == pytest.approx(410 / 499, abs=5e-5)
    assert [float(part.split(" = ")[-1]) for part in read.split(r", \qquad ")] == pytest.approx(
        [often["Common Crawl"], often["Wikipedia"]], abs=5e-5)
    at.radio("architectures_read_given").set_value(1).run()
    at.button("architectures_read_commit").click().run()
    assert any(m.value.startswith("Yes") for m in at.markdown)
