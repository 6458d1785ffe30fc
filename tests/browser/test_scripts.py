"""How Streamlit's script of a component brings in the component's own module, in a browser with no server behind it."""
from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
import streamlit as st

from core import components
from core.components import scripts

HOST = "http://app.test"
MODULE = """export default ({ data }) => {
  told.push(`draw ${data}`);
  return () => told.push(`end ${data}`);
};"""
# What Streamlit does: it calls for new data without waiting for the call before, and ends a call that was overtaken.
AS_STREAMLIT_DOES = """async (loader) => {
  const script = URL.createObjectURL(new Blob([loader], { type: "text/javascript" }));
  const { default: call } = await import(script), told = (window.told = []);
  const there = {}, beside = {}, draw = (data, parentElement) => call({ data, parentElement });
  const [first, second] = await Promise.all([draw(1, there), draw(2, there)]);
  const third = await draw(3, there), other = await draw("other", beside);
  for (const end of [first, second, other, third]) end();
  return told;
}"""


@pytest.fixture
def page(browser):
    page = browser.new_page()
    page.route(f"{HOST}/", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto(HOST)
    yield page
    page.close()


def script(url: str) -> str:
    """The component's module, and beside it the app's own."""
    own = Path(components.__file__).parent / "lib" / "events.js"
    return own.read_text(encoding="utf-8") if url.endswith(own.name) else MODULE


def loader() -> str:
    """The text that Streamlit is given as the script of a component."""
    with mock.patch.object(st.components.v2, "component") as component:
        components.declare("picture", Path(components.__file__).with_name("strip") / "strip.js")
    return component.call_args.kwargs["js"]


def test_a_component_is_drawn_once_for_what_came_while_its_module_was_on_its_way_and_ended_once(page):
    page.route(f"{HOST}/js/**", lambda route: route.fulfill(body=script(route.request.url),
                                                            content_type="text/javascript"))
    told = page.evaluate(AS_STREAMLIT_DOES, loader())
    assert told == ["draw 2", "draw 3", "draw other", "end other", "end 3"]


def test_a_module_that_does_not_come_is_asked_for_once_more_at_another_address(page):
    """Some browsers remember that an address failed; so the modules it imports also need another one."""
    asked = []

    def answer(route) -> None:
        is_own = route.request.url.endswith("/strip.js")        # and not one of those that it imports
        asked.extend([route.request.url] * is_own)
        if is_own and len(asked) == 1:
            route.abort()
        else:
            route.fulfill(body=script(route.request.url), content_type="text/javascript")

    page.route(f"{HOST}/js/**", answer)
    assert page.evaluate(AS_STREAMLIT_DOES, loader())[0] == "draw 2"
    first, second = (url.removesuffix("core/components/strip/strip.js") for url in asked)
    assert second == f"{first.removesuffix('/')}{scripts.AGAIN}/"
