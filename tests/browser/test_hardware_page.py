"""Hardware under a hand: the numbers follow the sliders at once, the address when the hand rests, and the array goes
tick by tick with buttons and keys.
"""
from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pictures import comes
from tests.browser.serving import settle
from tests.helpers.messages import value_of

PLACE = "architectures?architectures_view=hardware"


def share(page: Page) -> float:
    return value_of(page.locator(".instrument .title").inner_text().split("%")[0])


def test_a_longer_text_gives_the_scores_and_their_softmax_a_larger_share(open_page):
    page = open_page(PLACE)
    before, softmax = share(page), page.locator(".pass [data-part=softmax]")
    first = float(softmax.get_attribute("data-value"))
    page.locator(".range.tokens input").focus()
    page.keyboard.press("End")
    expect(page.locator(".range.tokens .value")).to_have_text("N = 256")
    assert comes(page, lambda: share(page) < before)
    assert comes(page, lambda: float(softmax.get_attribute("data-value")) > 30 * first)
    page.wait_for_url("**architectures_machine_length=256*")
    page.reload()
    settle(page)
    expect(page.locator(".range.tokens .value")).to_have_text("N = 256")


def test_a_batch_climbs_the_slope_until_its_cache_stops_it(open_page):
    page = open_page(f"{PLACE}&architectures_machine=roofline")
    dot, speed = page.locator(".roof .dot.write"), page.locator("tr.speed td.write")
    one = float(dot.get_attribute("data-intensity"))
    page.locator(".range.texts input").focus()
    page.keyboard.press("End")
    expect(page.locator(".range.texts .value")).to_have_text("1,024")
    many = float(dot.get_attribute("data-intensity"))
    assert 30 * one < many < 40 * one, "GPT-3's keys and values of 2,048 tokens are nearly all that is moved"
    fast = value_of(speed.inner_text())
    page.get_by_role("radio", name="V100", exact=True).click()
    expect(page.locator(".roof .roofline.picked")).to_have_count(1)
    expect(page.get_by_role("radio", name="V100", exact=True)).to_have_attribute("aria-checked", "true")
    assert comes(page, lambda: value_of(speed.inner_text()) < fast)
    page.wait_for_url("**architectures_machine_device=v100*")


def test_the_array_goes_tick_by_tick_and_a_cell_opens_its_sum(open_page):
    page = open_page(f"{PLACE}&architectures_machine=array")
    title, forward = page.locator(".instrument .title"), page.locator(".bar .buttons button").nth(3)
    working = [page.locator(".array .cell.on").count()]
    for tick in range(1, 8):
        if tick % 2:
            forward.click()
        else:
            page.keyboard.press("ArrowRight")
        expect(title).to_contain_text(f"Tick {tick}")
        working.append(page.locator(".array .cell.on").count())
    assert working == [0, 1, 3, 6, 7, 6, 3, 1]
    page.keyboard.press("Home")
    forward.click()
    page.locator(".array .cell[data-cell='0,0']").click()
    said, opened = re.compile(r": (\S+) · (\S+) = (\S+)\. That is 1 of the 3"), page.locator(".opened")
    expect(opened).to_have_text(said)
    x, w, result = (value_of(number.strip("()")) for number in said.search(opened.inner_text()).groups())
    assert x * w == result
    page.wait_for_url(re.compile(r"architectures_machine_cell=0(,|%2C)0"))


@pytest.mark.parametrize("rows", ["1", "8"])
def test_play_ends_with_the_whole_product(open_page, rows):
    page = open_page(f"{PLACE}&architectures_machine=array&architectures_machine_rows={rows}"
                     f"&architectures_machine_tick={int(rows) + 2}")
    page.locator(".bar .play").click()
    page.locator(".instrument .title", has_text="the last").wait_for()
    expect(page.locator(".matrices table.y td", has_text="·")).to_have_count(0)
    page.wait_for_url(f"**architectures_machine_tick={int(rows) + 4}*")
