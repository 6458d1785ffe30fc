"""A page that is slower than the server: what its fields are made of comes late, and they still stand where the
picture has them.
"""
from __future__ import annotations

import re

from playwright.sync_api import Browser
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.pictures import comes
from tests.browser.serving import settle

# The passage's name and its number of tokens: neither is the first of its list, which an empty field would show.
SHOWN = ("() => [document.querySelector('.st-key-limits_passage_widget input').value, "
         "document.querySelector('.st-key-limits_start_widget input').value]")
# Streamlit loads what a widget is made of when the first of its kind is drawn
FIELDS = re.compile(r"/static/js/(Selectbox|Slider)\.[^/]*\.js$")


def opened(browser: Browser, url: str, late: bool = False) -> list[str]:
    """The controls' values.

    A `late` page gets its fields only when the run for its opening has ended and the one that it asks for itself as
    soon as a first picture stands.
    """
    page = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900}).new_page()
    heard, held = [], []
    page.on("websocket",
            lambda socket: socket.on("framereceived",
                                     lambda message: heard.append(ForwardMsg.FromString(message).WhichOneof("type"))))
    if late:
        page.route(FIELDS, lambda route: held.append(route))
    page.goto(url)
    if late:
        assert comes(page, lambda: len(held) >= 2 and heard.count("script_finished") >= 2), (len(held), heard)
        for route in held:
            route.continue_()
    settle(page)
    shown = page.evaluate(SHOWN)
    page.context.close()
    return shown


def test_controls_stand_where_the_picture_has_them_on_a_page_that_draws_late(browser, server):
    """The page tells that its picture stands before it has any value of a field to tell."""
    url = f"{server.url}/limits?limits_view=memory"
    expected = opened(browser, url)
    assert expected[0].startswith("giant")
    assert opened(browser, url, late=True) == expected
