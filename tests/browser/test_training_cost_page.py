"""The cost of a training under a hand: charts, table and headline follow at once, the address when it rests."""
from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.serving import settle
from tests.helpers.messages import value_of

PLACE = "architectures?architectures_view=record&architectures_measure=energy"


def ring(page: Page, chart: str) -> float:
    return float(page.locator(f".chart.{chart} circle.own").get_attribute("data-value"))


def test_a_newer_device_takes_less_time_and_energy_and_a_preset_brings_the_published_training_back(open_page):
    page = open_page(PLACE)
    hours, energy = ring(page, "hours"), ring(page, "energy")
    page.get_by_role("radio", name="H100", exact=True).click()
    expect(page.locator(".chart.energy .line.picked")).to_have_attribute("data-device", "h100")
    assert round(hours / ring(page, "hours"), 3) == 989 / 125
    assert round(energy / ring(page, "energy"), 3) == round(989 / 125 * 300 / 700, 3)
    expect(page.locator("tr.hours td.published")).to_have_text("3.55 M")
    page.wait_for_url("**architectures_hardware=h100*")
    page.get_by_role("radio", name="LLaMA", exact=True).click()
    expect(page.locator(".range.devices .value")).to_have_text("2,048")
    expect(page.locator(".range.share .value")).to_have_text("47 %")
    expect(page.locator("tr.days td.published")).to_have_text("21")
    page.wait_for_url("**architectures_parameters=65.0*")
    page.reload()
    settle(page)
    expect(page.get_by_role("radio", name="LLaMA", exact=True)).to_have_attribute("aria-checked", "true")
    assert page.errors == []


def test_a_key_moves_a_slider_and_what_is_published_goes_with_the_model(open_page):
    page = open_page(PLACE)
    hours, days = ring(page, "hours"), value_of(page.locator("tr.days td.computed").inner_text())
    page.locator(".range.devices input").focus()
    page.keyboard.press("End")
    expect(page.locator(".range.devices .value")).to_have_text("1,000,000")
    assert value_of(page.locator("tr.days td.computed").inner_text()) < days / 99 and ring(page, "hours") == hours
    page.locator(".range.parameters input").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("tr.hours td.published")).to_have_text("–")
    expect(page.locator(".presets [aria-checked=true]")).to_have_count(0)
    assert ring(page, "hours") > hours
    page.keyboard.press("End")
    page.locator(".range.tokens input").focus()
    page.keyboard.press("End")
    expect(page.locator(".instrument .title")).to_contain_text("10 T parameters and 100 T tokens")
    for name in ("V100", "H100"):           # its line leaves the chart close to another's
        page.get_by_role("radio", name=name, exact=True).click()
        for chart in ("hours", "energy"):
            expect(page.locator(f".chart.{chart} text.strong", has_text=name)).to_have_count(1)
    page.locator(".chart.hours .grid").first.wait_for(state="attached")
    rings = page.locator(".chart:is(.hours, .energy) circle.own")      # asked at once: each drawing makes them anew
    tops = rings.evaluate_all("(rings) => rings.map((ring) => ring.getBoundingClientRect().y)")
    assert len(tops) == 2 and min(tops) >= 0
    assert page.errors == []
