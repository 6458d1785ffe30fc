"""Firefox, the second engine: every page and every view stands, and answers the hand."""
from __future__ import annotations

import time
import urllib.parse
from collections.abc import Callable, Iterator

import pytest

from core.base import catalogue, prose
from tests.browser.firefox import PATIENCE, Firefox, firefox, program
from tests.browser.serving import Server
from tests.browser.views import LESSONS, address
from tests.helpers.class_phones import Teacher

pytestmark = pytest.mark.skipif(program() is None, reason="needs firefox-esr (.ci/run installs it)")
OTHERS = ("tour", "course", "map", "models")
QUESTION = {"ask": "Which?", "guess": {"kind": "options", "texts": ["ball", "dog"]}}
ADDRESS = "() => location.href"
GO = "(to) => { history.pushState({}, '', to); window.dispatchEvent(new PopStateEvent('popstate')); }"
FAILED = """() => [...document.querySelectorAll("[data-testid=stException], [data-testid=stAlertContentError]")]
    .map((node) => node.innerText)"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Firefox]:
    with firefox() as tab:
        tab.resize(1280, 900)
        yield tab


@pytest.fixture
def at(tab: Firefox, server: Server) -> Iterator[Callable[[str], Firefox]]:
    """at("heads?layer=2"): the tab, settled there; at the end nothing has failed."""
    tab.errors.clear()

    def opened(path: str) -> Firefox:
        tab.open(f"{server.url}/{path}")
        tab.settle()
        return tab

    yield opened
    assert tab.errors == [] and tab.call(FAILED) == []


def becomes(tab: Firefox, condition: Callable[[Firefox], bool]) -> None:
    """As soon as it holds."""
    ends = time.monotonic() + PATIENCE
    while not condition(tab):
        assert time.monotonic() < ends, tab.call(ADDRESS)
        time.sleep(0.05)


def leads_to(tab: Firefox, *pieces: str) -> None:
    """As soon as the address has all of these."""
    becomes(tab, lambda tab: all(piece in urllib.parse.unquote_plus(tab.call(ADDRESS)) for piece in pieces))
    tab.settle()


@pytest.mark.parametrize("lesson", [*(entry.id for entry in catalogue.existing()), *OTHERS])
def test_every_view_stands(at, server: Server, lesson: str):
    tab = at("" if lesson == catalogue.HOME else lesson) if lesson in OTHERS else at(catalogue.url_path(lesson))
    for name, view in LESSONS.get(lesson, {}).items():
        query = urllib.parse.urlencode(address(lesson, name))
        tab.call(GO, f"{server.url}/{catalogue.url_path(lesson)}?{query}")
        tab.settle()
        *before, last = view.end.split()            # which may stand in the shadow root of what is before it
        tab.find(before[-1] if last == "canvas" else last)
        assert tab.errors == [] and tab.call(FAILED) == [], name


def test_a_prompt_a_view_and_the_way_back(at):
    tab = at("embeddings")
    tab.click(".st-key-prompt textarea")
    tab.type("Control+a", *"The cat sat", "Control+Enter")
    leads_to(tab, "prompt=The cat sat")
    tab.click(".st-key-embeddings_bar [role=radio]", prose.load("embeddings").label("view_product"))
    leads_to(tab, "embeddings_view=product", "The cat sat")
    tab.call("() => history.back()")
    becomes(tab, lambda tab: "product" not in tab.call(ADDRESS))
    tab.settle()
    tab.find(LESSONS["embeddings"]["neighbours"].end)


def test_a_head_is_picked_on_the_wall_and_a_slider_cuts_the_distribution(at):
    tab = at("heads")
    before = tab.call(ADDRESS)
    tab.click(".wall button.head:not(.selected)")
    becomes(tab, lambda tab: tab.call(ADDRESS) != before)
    tab.settle()            # what the page still has to say is said before it is left
    tab = at("next_token")
    tab.click(".sampling-panel input[type=range]")
    said = tab.text(".sampling-panel output.value")

    def moved(tab: Firefox) -> bool:        # again, where the page was drawn anew and lost the key
        tab.click(".sampling-panel input[type=range]")
        tab.type("ArrowRight", "ArrowRight")
        return tab.text(".sampling-panel output.value") != said

    becomes(tab, moved)


def test_merges_step_and_the_finder_finds(at):
    tab = at("tokens?tokens_view=merges&tokens_merged=0")
    tab.click(f"[aria-label='{prose.load('tokens').label('merges_forward')}']")
    leads_to(tab, "tokens_merged=1")
    tab.call("() => document.activeElement?.blur()")
    tab.find(".opener[aria-keyshortcuts]")
    tab.type("/")
    tab.find("[role=option]")
    tab.type(*"softmax")
    tab.find("[role=option]", "softmax")
    tab.type("Escape")


def test_the_tour_goes_on_and_a_question_is_answered(at):
    tab = at("tour?tour=2")
    tab.click(".foot .next")
    leads_to(tab, "tour_step=3")
    tab = at(f"{catalogue.url_path('overview')}?ask=true")
    tab.click(".prediction .option")
    tab.click(".prediction .commit")
    tab.find(".prediction .strip")
    tab.settle()


def test_a_phone_joins_votes_and_sees_the_answer(tab: Firefox, server: Server):
    teacher = Teacher(server.url)
    teacher.act("ask", asked=QUESTION)
    tab.errors.clear()
    tab.open(f"{server.url}/j/{teacher.code}")
    tab.click(".option", "dog")
    tab.click(".commit")
    tab.find(".said", "✓")
    teacher.act("reveal", model={"answer": 1})
    tab.find(".tally .note.answer")
    assert teacher.act("report")["questions"][0]["tally"]["counts"] == [0, 1] and tab.errors == []
