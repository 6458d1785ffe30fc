"""ξ is one number for one prompt, in every lesson and in the address, until it is thrown anew or the prompt changes."""
import pytest

from core.app.state import reader
from core.app.state.dice import Dice
from core.components.sampling_panel import PanelSettings
from tests.helpers import lessons
from tests.helpers.messages import given


def shown(lesson: str, **address: str) -> float:
    """ξ of the draw after the prompt, as the lesson's picture was given it."""
    at = lessons.open_at(lesson, **address)
    if lesson == "overview":
        return given(at, "overview_map")["draw"]["xi"]
    if lesson == "next_token":
        return given(at, "live_transformer.sampling_panel")["settings"]["xi"]
    return given(at, "generation_writing")["steps"][0]["xi"]


@pytest.mark.parametrize("address", [{}, {"prompt": "The cat sat"}, {"seed": "7"}, {"xi": "0.25"}])
def test_all_lessons_show_the_same_number(address: dict):
    found = {shown(lesson, **address) for lesson in ("overview", "next_token", "generation")}
    assert len(found) == 1 and (found == {0.25}) == ("xi" in address)


def test_one_seed_writes_one_text():
    assert [Dice(3, 8).xi(i) for i in range(4)] == [Dice(3, 8 + i).xi() for i in range(4)]
    assert [Dice(3, 8, 0.5).xi(i) for i in range(2)] == [0.5, Dice(3, 9).xi()]
    assert all(0 <= xi < 1 and round(xi, 4) == xi for xi in (Dice(seed, 5).xi() for seed in range(200)))


def test_a_link_of_the_panel_sets_the_number_of_all_lessons():
    at = lessons.open_at("next_token", next_token_panel="k1_x0.25_s1")
    assert at.session_state["selection"]["xi"] == 0.25 and at.session_state["next_token_panel"] == "k1_s1"
    assert given(at, "live_transformer.sampling_panel")["settings"]["xi"] == 0.25
    assert PanelSettings.from_link("k1_s1").xi is None


def test_a_number_set_by_hand_belongs_to_its_prompt():
    at = lessons.open_at("overview", xi="0.25")
    at.text_area("prompt").set_value("The cat sat").run()
    n = len(given(at, "overview_map")["ids"])
    assert given(at, "overview_map")["draw"]["xi"] == Dice(reader.FIRST_SEED, n).xi() != 0.25


@pytest.mark.parametrize("nonsense", ["1", "-0.1", "nan", "x", "1e999"])
def test_a_number_that_makes_no_sense_is_left_out_with_a_notice(nonsense: str):
    at = lessons.open_at("overview", xi=nonsense)
    assert at.session_state["selection"].get("xi") is None and at.session_state["notices"]
