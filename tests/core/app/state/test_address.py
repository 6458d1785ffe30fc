"""The address of a page and the browser's history: what an address does not name is at its default, and a change is
told to the browser in one message.
"""
from __future__ import annotations

import urllib.parse

import pytest

from core.app.state import address, lesson_settings, model_choice, prompts, reader
from core.app.state.lesson_settings import Setting, Settings
from tests.helpers.sessions import Query, stand_in

SETTINGS = Settings("heads", {"panel": Setting("head", options=("head", "wall")),
                              "factor": Setting(1.0, low=0, high=2)})
OTHER = Settings("tokens", {"view": Setting("ids", options=("ids", "merges"))})


class Reader:
    """A reader at one page after the other, each a run of the whole page."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch, self.session, self.query = monkeypatch, {}, Query()

    def runs(self, page: str = "heads", link: dict[str, str] | None = None, *, from_history: bool = False) -> dict:
        """Runs the page, by a link or the browser's history at an address; returns the values of its settings."""
        if link is not None:
            self.query = Query(link)
        stand_in(self.monkeypatch, self.session, self.query, from_history)
        reader.begin()
        model_choice.enter(page)
        address.open_page()
        own = SETTINGS if page == "heads" else OTHER
        values = {name: own.read(name) for name in own.each}
        address.close_page()
        return values

    def goes_back_to(self, page: str, **link: str) -> dict:
        return self.runs(page, link, from_history=True)


@pytest.fixture
def visitor(monkeypatch: pytest.MonkeyPatch) -> Reader:
    return Reader(monkeypatch)


def test_a_way_back_to_a_bare_address_finds_every_default(visitor):
    link = {"prompt": "A dog", "layer": "2", "present": "true", "class": "3", "heads_panel": "wall",
            "heads_factor": "0.5"}
    assert visitor.runs(link=link) == {"panel": "wall", "factor": 0.5}
    assert visitor.goes_back_to("heads") == {"panel": "head", "factor": 1.0}
    assert visitor.session["prompt"] == prompts.default_prompt() and visitor.session["selection"] == {}
    assert (visitor.session["present"], visitor.session["class"]) == (False, 0) and visitor.query == {}


def test_a_way_back_finds_what_the_address_says_and_nothing_else(visitor):
    visitor.runs()
    SETTINGS.keep(panel="wall", factor=0.25)
    reader.select(layer=3)
    assert visitor.goes_back_to("heads", heads_factor="0.5", head="1") == {"panel": "head", "factor": 0.5}
    assert visitor.session["selection"] == {"head": 1} and visitor.query == {"heads_factor": "0.5", "head": "1"}


def test_a_setting_of_a_view_that_is_not_shown_goes_back_too(visitor):
    visitor.runs()
    SETTINGS.keep(factor=0.25)
    stand_in(visitor.monkeypatch, visitor.session, Query(), from_history=True)
    reader.begin()
    address.open_page()
    stand_in(visitor.monkeypatch, visitor.session, Query())
    assert SETTINGS.read("factor") == 1.0


def test_the_settings_of_another_page_stay_and_are_no_part_of_this_pages_address(visitor):
    visitor.runs("tokens", {"tokens_view": "merges"})
    visitor.runs("heads", {})
    assert "tokens_view" not in visitor.query
    visitor.goes_back_to("heads")
    assert visitor.runs("tokens", {}) == {"view": "merges"} and visitor.query == {"tokens_view": "merges"}


def test_a_prompt_too_long_for_any_address_is_not_lost_on_the_way_back(visitor):
    visitor.runs()
    long = "word " * (address.MAX_LINK_CHARACTERS // 5)
    visitor.session["prompt"] = long
    visitor.goes_back_to("heads", heads_panel="wall")
    assert visitor.session["prompt"] == long
    visitor.goes_back_to("heads", prompt="A dog")
    assert visitor.session["prompt"] == "A dog"


def test_whether_a_reader_wants_to_be_asked_first_stays_on_the_way_back(visitor):
    visitor.runs(link={"ask": "true"})
    visitor.goes_back_to("heads", heads_panel="wall")
    assert visitor.session["ask"] is True and visitor.query == {"heads_panel": "wall", "ask": "true"}


def test_the_way_back_takes_back_what_was_asked_for_and_not_done_yet(visitor):
    visitor.runs()
    visitor.session["asked_for"] = {"prompt": "A dog", "heads_panel": "wall", "class": 4}
    assert visitor.goes_back_to("heads") == {"panel": "head", "factor": 1.0}
    assert visitor.session["prompt"] == prompts.default_prompt() and visitor.session["class"] == 0


def test_a_link_stays_as_it_is_until_the_page_stands_and_then_says_no_default(visitor):
    link = {"prompt": prompts.default_prompt(), "heads_panel": "head", "heads_factor": "0.5", "unknown": "1"}
    visitor.runs(link=link)
    assert visitor.query == link and not visitor.query.messages
    address.write_url_now()
    assert visitor.query == {"heads_factor": "0.5"} and visitor.query.messages == 1


def test_a_run_from_the_history_writes_what_the_browser_may_have_lost(visitor):
    """The words of a run that the reader left stand in the entry that they went to."""
    visitor.runs()
    visitor.goes_back_to("heads", heads_panel="wall")
    assert visitor.query == {"heads_panel": "wall"} and visitor.query.messages == 1


def test_several_settings_and_what_all_lessons_share_are_one_message(visitor):
    visitor.runs()
    before = visitor.query.messages
    visitor.session["prompt"], visitor.session["model"] = "A dog", "stories-mini"
    SETTINGS.keep(panel="wall", factor=0.5)
    assert visitor.query.messages == before + 1
    assert visitor.query == {"prompt": "A dog", "model": "stories-mini", "heads_panel": "wall", "heads_factor": "0.5"}
    SETTINGS.keep(panel="head", factor=1.0)
    assert visitor.query.messages == before + 2 and "heads_panel" not in visitor.query


def test_another_page_and_what_it_is_asked_for_are_one_message(visitor):
    visitor.runs("tokens", {"tokens_view": "merges"})
    visitor.session["asked_for"] = {"prompt": "A dog", "heads_panel": "wall", "heads_factor": 0.5, "layer": 2}
    visitor.runs("heads", {"tokens_view": "merges"})
    assert visitor.query == {"prompt": "A dog", "layer": "2", "heads_panel": "wall", "heads_factor": "0.5"}
    assert visitor.query.messages == 1


def test_while_the_address_waits_nothing_is_written(visitor):
    visitor.runs()
    before = visitor.query.messages
    address.let_url_wait()
    SETTINGS.keep(panel="wall")
    reader.select(layer=1)
    assert visitor.query.messages == before
    address.write_url_now()
    assert visitor.query == {"heads_panel": "wall", "layer": "1"} and visitor.query.messages == before + 1


def test_a_pinned_state_is_the_defaults_too(visitor):
    visitor.runs()
    pinned = reader.settings_of("heads")
    SETTINGS.keep(panel="wall")
    visitor.session["asked_for"] = pinned
    assert visitor.runs() == {"panel": "head", "factor": 1.0}


def test_a_brief_link_opens_the_same_state_without_what_is_at_its_default(visitor):
    visitor.runs("heads", {"prompt": "The cat, isn't it? 5 + 5 & so on %20"})
    brief, whole = (urllib.parse.parse_qs(address.link(brief=is_brief)[1:], strict_parsing=True)
                    for is_brief in (True, False))
    assert brief == {"prompt": whole["prompt"]} and set(whole) == {"prompt", "model"}
    assert len(address.link(brief=True)) < len(address.link()) - 20
    visitor.goes_back_to("heads")
    assert address.link(brief=True) == "?" and "prompt=" in address.link()


def test_a_link_of_this_page_has_its_settings_alone(visitor):
    visitor.runs("tokens", {"tokens_view": "merges"})
    visitor.runs("heads", {"heads_factor": "0.5"})
    assert "heads_factor=0.5" not in address.link()      # the session led: an address that is written by hand is a link
    SETTINGS.keep(factor=0.5)
    assert "heads_factor=0.5" in address.link() and "tokens_view" not in address.link()
    assert "heads_factor" not in address.link({"heads_factor": None}) and "heads_factor" not in address.link(alone=True)
    assert lesson_settings.read("heads", {"factor": SETTINGS.each["factor"]}) == {"factor": 0.5}
