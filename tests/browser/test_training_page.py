"""The lesson Training in a real Chromium: a model learns while the page answers, the arrow keys walk over the prices,
links give the same picture.
"""
from __future__ import annotations

import re
from urllib.parse import urlsplit

from playwright.sync_api import expect

from core.base import prose
from tests.browser.own_server import server  # noqa: F401 (a fixture)
from tests.browser.serving import rest, settle
from tests.browser.views import opened

WORDS = prose.load("training")
STAGE = ".st-key-training_stage"


def steps(page) -> int:
    """The steps of the run on the page; 0 for a recorded one."""
    text = page.locator(STAGE).inner_text()
    found = re.search(r"After step (\d+)", text)
    return int(found[1]) if found and WORDS.label("recorded") not in text else 0


def button(page, name: str):
    return page.get_by_role("button", name=WORDS.label(name), exact=True)


def test_a_model_learns_while_the_page_answers_and_pauses(open_page):
    page = opened(open_page, "training", "live", "&training_task=copying")
    expect(page.locator(STAGE)).to_contain_text(WORDS.label("recorded"), use_inner_text=True)
    button(page, "train_here").click()
    page.wait_for_function("recorded => (text => !text.includes(recorded) && /After step [1-9]/.test(text))"
                           "(document.querySelector('.st-key-training_stage').innerText)",
                           arg=WORDS.label("recorded"))
    button(page, "pause").wait_for()
    button(page, "reset").wait_for()          # the last that comes to stand among the controls
    # turned while it runs
    page.locator(".st-key-training_optimizer_widget").get_by_text(WORDS.label("optimizer_sgd"), exact=True).click()
    page.get_by_text(WORDS.label("numbers_sgd")).wait_for()
    page.wait_for_url(re.compile("training_optimizer=sgd"))
    button(page, "pause").click()
    button(page, "resume").wait_for()
    settle(page)
    stopped = steps(page)
    # the stage is drawn anew, as far as the model has learned by then
    page.locator(".st-key-training_optimizer_widget").get_by_text(WORDS.label("optimizer_momentum"), exact=True).click()
    page.get_by_text(WORDS.label("numbers_momentum")).wait_for()
    settle(page)
    assert stopped > 0 and steps(page) == stopped and page.errors == []
    button(page, "more").click()
    with page.expect_download() as download:
        button(page, "take").click()
    assert download.value.suggested_filename == "copying-tiny.zip"
    page.keyboard.press("Escape")
    button(page, "reset").click()
    button(page, "train").wait_for()          # of momentum there is no recorded run
    settle(page)
    assert steps(page) == 0 and page.errors == []


def test_the_arrow_keys_walk_over_the_prices_and_the_link_stays_there(open_page):
    page = opened(open_page, "training", "forcing", "&position=3")
    page.locator(".teacher_forcing .place").press("ArrowRight")
    page.wait_for_url(re.compile("position=4"))
    settle(page)
    picked = ".teacher_forcing .column.picked title"
    other = open_page("training?" + urlsplit(page.url).query)
    expect(page.locator(picked)).not_to_be_empty()
    expect(other.locator(picked)).to_have_text(page.locator(picked).text_content())
    assert page.errors == []


def test_the_slider_travels_and_play_goes_on_by_itself(open_page):
    page = opened(open_page, "training", "childhood", "&training_milestone=21")
    page.locator(".st-key-training_milestone_pick input[type=range]").press("ArrowRight")
    page.get_by_text(re.compile("after 2.250 steps")).first.wait_for()
    button(page, "play").click()
    page.get_by_text(re.compile("after 2.400 steps")).first.wait_for()
    button(page, "play").wait_for()
    assert page.errors == []


def test_a_number_of_back_propagation_opens_and_a_weight_that_is_moved_keeps_what_its_derivative_promised(open_page):
    page = opened(open_page, "training", "backprop", "&training_net_picked=w12")
    factors = page.locator(".factor.back")
    expect(factors).to_have_count(1)
    factors.first.click()                                   # ∂L/∂z₂ opens to its own product, with ∂L/∂h₂ in it
    page.locator(".lines .line").nth(1).wait_for()
    factors.nth(1).click()
    factors.nth(4).wait_for()                               # three paths are added
    page.locator(".range.value input").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"training_net=0%3A"))
    settle(page)
    text = page.locator(".checks").inner_text().replace("−", "-")
    found = re.search(r"ΔL/Δ = (-?[\d.]+)\. The derivative there: (-?[\d.]+)", text)
    assert found and abs(float(found[1]) - float(found[2])) < 0.02 * abs(float(found[2])) + 0.002
    before = page.locator(".said").inner_text()
    page.get_by_role("button", name=WORDS.label("backprop_ten"), exact=True).click()
    page.wait_for_url(re.compile("training_net_updates=10"))
    settle(page)
    losses = [float(number) for number in re.findall(r"\d\.\d+", page.locator(".said").inner_text())]
    expect(page.locator(".said")).not_to_have_text(before, use_inner_text=True)
    assert losses[1] < losses[0] and page.errors == []


def test_a_projector_shows_the_scores_over_steps_and_the_matrix_beside_them(open_page):
    """The numbers on the axis lie as far apart as the steps do, and the matrix is high enough for its rows."""
    page = opened(open_page, "training", "childhood", "&training_late=true&training_milestone=18&present=true&class=8"
                  "&class_revealed=8", width=1280, height=720)
    rest(page)
    labels = page.locator(".st-key-training_childhood_scores .role-axis-label text").all()
    places = {int(label.text_content().replace(",", "")): label.bounding_box() for label in labels
              if "," in label.text_content()}
    (first, left), (second, middle), *_, (last, right) = sorted(places.items())
    at = [box["x"] + box["width"] / 2 for box in (left, middle, right)]
    assert last > second > first and abs((at[1] - at[0]) / (at[2] - at[0]) - (second - first) / (last - first)) < 0.05
    matrix = page.locator(".residual-grid canvas").first.bounding_box()
    bar = page.locator(".st-key-class_bar").bounding_box()
    assert matrix["height"] > 240 and matrix["y"] + matrix["height"] <= bar["y"]
