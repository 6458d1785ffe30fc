"""The ideas of the lectures, assets/teaching/ideas.tsv: each once, in order, and each at a place that exists.

Whether its element stands on the page: tests/browser/test_walk.py.
"""
from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest

from core.app.lesson import code_and_data
from core.app.state import address
from core.base import prose, tables
from tests.helpers.lessons import fine, open_at
from tests.helpers.places import nonsense

IDEAS = tables.ideas()
DECKS = {"A": 32, "B": 18, "C": 26, "D": 21}


def test_every_idea_of_every_lecture_is_there_once():
    """In the order of the lectures and their parts; a row that came later stands in its part with a later number."""
    assert "".join(deck for deck, _ in itertools.groupby(idea.deck for idea in IDEAS)) == "ABCD"
    numbers = {deck: sorted(int(idea.id[1:]) for idea in IDEAS if idea.deck == deck) for deck in DECKS}
    assert {deck: found[:DECKS[deck]] for deck, found in numbers.items()} == {
        deck: list(range(1, count + 1)) for deck, count in DECKS.items()}
    assert len({idea.id for idea in IDEAS}) == len(IDEAS)
    assert all(idea.id[0] == idea.deck and idea.part and idea.idea.endswith((".", "?"))
               and idea.element.startswith((".", "[", "svg")) for idea in IDEAS)


def test_the_parts_of_a_lecture_are_not_torn_apart():
    parts = [(idea.deck, idea.part) for idea in IDEAS]
    starts = [part for part, before in zip(parts, [None, *parts]) if part != before]
    assert max(Counter(starts).values()) == 1


@pytest.mark.parametrize("idea", IDEAS, ids=lambda idea: idea.id)
def test_the_place_of_an_idea_makes_sense(idea):
    assert tables.name_of(idea.place) is not None and nonsense(idea.place) == []


def test_a_place_that_does_not_exist_is_told():
    place = tables.Place
    assert (tables.name_of(place("nowhere", "")) is None
            and tables.name_of(place("tokens", "tokens_view=nothing")) is None)
    assert (tables.name_of(place("tokens", "tokens_view=methods")) == "Tokens › Ways to cut"
            and tables.name_of(place("heads", "heads_panel=write")) == "Heads › What they write")
    assert nonsense(place("tokens", "tokens_view=nothing&tokens_colour=red&tokens_merged=2")) == ["tokens_view",
                                                                                                  "tokens_colour"]
    assert nonsense(place("attention", "attention_scaling_d=9999&layer=2")) == ["attention_scaling_d"]
    assert nonsense(place("next_token", "next_token_panel=q3")) == ["next_token_panel"]


@pytest.mark.parametrize("table", [tables.IDEAS, prose.FOLDER / prose.LANGUAGE / "ideas_seen.tsv"],
                         ids=lambda path: path.stem)
def test_no_idea_stands_twice(table):
    ids = [line.partition("\t")[0] for line in table.read_text(encoding="utf-8").splitlines()[1:]]
    assert [name for name, n in Counter(ids).items() if n > 1] == [] and set(ids) == {idea.id for idea in IDEAS}


def led_to(at) -> list[str]:
    """The elements that the page is to show."""
    return [json.loads(element.proto.json)["element"] for element in at.get("bidi_component")
            if element.proto.component_name == "framed"]


def is_asked(at) -> bool:
    """Whether a question stands in place of the picture."""
    return bool(at.session_state[address.COVERED])


def test_the_link_of_an_idea_opens_its_picture_and_shows_its_element():
    lesson, settings = next(idea for idea in IDEAS if idea.id == "A23").target
    assert settings[tables.IDEA] == "A23"
    at = open_at(lesson, ask="true", **settings)
    assert fine(at) and led_to(at) == [".forcing-chart"] and not is_asked(at)
    other = open_at(lesson, ask="true", **{**settings, tables.IDEA: "Z9"})
    assert fine(other) and led_to(other) == [] and is_asked(other)


CODE = [idea for idea in IDEAS if idea.element.startswith(f".st-key-{code_and_data.FUNCTION}")]


@pytest.mark.parametrize("present", ["false", "true"])
@pytest.mark.parametrize("idea", CODE, ids=lambda idea: idea.id)
def test_a_link_to_a_function_opens_the_code_on_it(idea, present):
    lesson, settings = idea.target
    at = open_at(lesson, present=present, **settings)
    name = idea.element.removeprefix(f".st-key-{code_and_data.FUNCTION}").rpartition("-")[2]
    assert fine(at) and at.code[0].value.startswith(f"def {name}(") and led_to(at) == [idea.element]
    at.session_state[f"{lesson}_source_open"] = False          # the reader closes it, and it stays closed
    assert not at.run().code
    del settings[tables.IDEA]
    assert not open_at(lesson, present=present, **settings).code


def test_an_idea_leads_to_no_page_but_its_own():
    assert led_to(open_at("tokens", idea="A23")) == []
