"""The views Packing, Learning rates and Seven numbers in a real Chromium: what the browser computes is what Python
computes, hands and keys move it, and a link gives the same picture.
"""
from __future__ import annotations

import re

import torch
from playwright.sync_api import Page, expect

from core.base import prose
from core.learning import kepler
from tests.browser.own_server import server  # noqa: F401 (a fixture)
from tests.browser.pictures import starting
from tests.browser.serving import Server, go_to, settle
from tests.browser.views import LESSONS, opened, stand
from tests.helpers.messages import value_of
from tests.helpers.orbits import error_at

WORDS = prose.load("training")


def reading(page) -> list[float]:
    """Distance, longitude and error as the page says them."""
    found = re.search(r"has Mars ([\d.]+) au .* longitude ([\d.]+)°. It is off by ([\d.,· ⁻⁰¹²³⁴⁵⁶⁷⁸⁹\u00a0]+)′",
                      page.locator(".instrument .reading").inner_text())
    return list(map(value_of, found.groups()))


def go(page: Page, app: Server, name: str, query: str) -> None:
    """To a view of the lesson by its address, its picture standing, once the hand's last deed is answered."""
    settle(page)
    go_to(page, f"{app.url}/training?training_view={name}{query}")
    settle(page)
    stand(page, LESSONS["training"][name])


def test_the_browser_finds_mars_where_python_does_and_a_fit_plays(open_page, server):  # noqa: F811 (the fixture)
    page = opened(open_page, "training", "kepler")
    the_fit_plays_from_its_start_to_its_end_and_a_step_is_in_the_link(page, server)
    for structure in ("ellipse", "equant", "circle"):
        go(page, server, "kepler", f"&training_structure={structure}&training_day=20000&training_noise=8.0"
                                   "&training_fit_step=-1")
        made = kepler.fit(structure, "lm", *kepler.measure(24, 8.0, 0)).last
        when = torch.tensor([20000 / 365.25], dtype=torch.float64)
        x, y, _ = (position := kepler.STRUCTURES[structure].place(made, when)[0]).tolist()
        distance, longitude, off = reading(page)
        assert (abs(distance - float(position.norm())) < 6e-4
                and abs(longitude - float(torch.atan2(torch.tensor(y), torch.tensor(x)).rad2deg() % 360))
                    < 0.006), structure
        assert abs(off / float(error_at(structure, made, when)) - 1) < 0.006 and page.errors == [], structure
    go(page, server, "kepler", "&training_structure=polynomial&training_day=700&training_fit_step=-1")
    made = kepler.fit("polynomial", "lm", *kepler.measure(24, 1.0, 0)).last
    assert abs(reading(page)[0]
               - float(kepler.on_polynomial(made, torch.tensor([700 / 365.25], dtype=torch.float64)).norm())) < 6e-4


def the_fit_plays_from_its_start_to_its_end_and_a_step_is_in_the_link(page: Page, app: Server) -> None:
    play, step = page.locator(".instrument .controls button"), page.locator(".range.fit_step input")
    loss = page.locator(".panel.loss .caption")
    expect(step).to_have_value("0")
    at_first = loss.text_content()
    play.click()
    play.get_by_text(WORDS.label("orbit_pause")).wait_for()
    play.get_by_text(WORDS.label("orbit_play")).wait_for()
    expect(step).to_have_value(step.get_attribute("max"))
    assert page.errors == []
    step.press("Home")
    step.press("ArrowRight")
    page.wait_for_url(re.compile("training_fit_step=1"))
    settle(page)
    link, after_a_step = page.url, loss.text_content()
    go(page, app, "kepler", "")
    expect(step).to_have_value("0")
    expect(loss).to_have_text(at_first)
    go_to(page, link)
    settle(page)
    expect(loss).to_have_text(after_a_step)
    expect(step).to_have_value("1")


def test_keys_walk_through_the_packed_rows_and_a_schedule_goes_along_into_the_live_run(open_page, server):  # noqa: F811
    page = opened(open_page, "training", "packing", "&training_row_length=8")
    page.locator(".packing_rows .rows").press("ArrowDown")
    page.locator(".packing_rows .rows").press("ArrowRight")
    page.wait_for_url(re.compile("training_row_place=9"))
    expect(page.locator(".packing_rows .title")).to_have_text(starting("Row 2, place 2"), use_inner_text=True)
    for kind in ("picked", "target"):
        expect(page.locator(f".packing_rows .cell.{kind}")).to_have_count(1)
    go(page, server, "schedules", "&training_like=GPT-3%20(175B)")
    page.locator(".st-key-training_schedule [aria-label$='T5 (11B)']").nth(30).hover(force=True)
    expect(page.locator("#vg-tooltip-element")).to_contain_text("T5 (11B)")
    go(page, server, "schedules", "&training_schedule=cosine")
    page.get_by_role("button", name=WORDS.label("train_with")).click()
    page.get_by_text("Learning rate now").wait_for()
    page.wait_for_url(re.compile("training_view=live"))
    expect(page).to_have_url(re.compile("training_schedule=cosine"))
    assert page.errors == []
