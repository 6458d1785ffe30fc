"""A new prompt in a real Chromium: the picture follows it before the page does, and the page follows whatever becomes of the answer."""
from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, Route

from core.ui.heads import live as heads
from tests.browser.serving import rest, settle
from tests.browser.test_heads_wall import run_on

NEW, OTHER = "The king saw a small boat near the park", "One day a girl found a key"
# What the page is told over its websocket, with what the picture said at that moment.
WATCH = """() => {
  const inside = (selector) => [...document.querySelectorAll("[class*=st-key-]")].map((box) => [...box.querySelectorAll("*")].find((node) => node.shadowRoot)?.shadowRoot?.querySelector(selector)).find(Boolean);
  const saying = ".wall button.head, .map .caption, .sampling-panel .headline";
  window.said ??= () => inside(saying).getAttribute("aria-label") + inside(saying).textContent;
  window.sent = [];
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) { window.sent.push(window.said()); return send.call(this, data); };
}"""


def type_and_send(page: Page, text: str) -> None:
    page.locator(".st-key-prompt textarea").fill(text)
    page.evaluate("window.sent = []")
    page.keyboard.press("Control+Enter")


@pytest.mark.parametrize("lesson", ["", "heads", "next_token"])
def test_the_picture_follows_a_new_prompt_before_the_page_hears_of_it(open_page, lesson: str):
    page = open_page(lesson)
    page.evaluate(WATCH)
    before = page.evaluate("said()")
    type_and_send(page, NEW)
    page.wait_for_function("sent.length > 0")
    ahead = page.evaluate("sent[0]")
    page.wait_for_url("**prompt=*")
    page.wait_for_timeout(800)
    assert ahead != before and page.evaluate("said()") == ahead and page.errors == []


# Every letter and every pixel of a component.
WHOLE = """(key) => { window.said = () => {
  const root = [...document.querySelector(`.st-key-${key}`).querySelectorAll("*")].find((node) => node.shadowRoot).shadowRoot;
  const words = [...root.querySelectorAll(":not(style)")].flatMap((node) => [node.getAttribute("aria-label"), ...[...node.childNodes].filter((child) => child.nodeType === 3).map((child) => child.data)]);
  return JSON.stringify([words, [...root.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL()), [...root.querySelectorAll("svg *")].map((node) => node.getAttribute("d") ?? node.getAttribute("x"))]);
}; }"""
PICTURES = {"tokens": "tokens_merges_player", "tokens?tokens_view=methods": "tokens_methods_table", "tokens?tokens_view=vocabulary": "tokens_vocabulary_search", "embeddings": "embeddings_product",
            "attention": "attention_steps_instrument", "attention?attention_view=averages": "attention_average", "attention?attention_view=scaling": "attention_scaling",
            "attention?attention_view=roles": "attention_roles", "residual_stream": "residual_stream_norms", "residual_stream?residual_stream_view=lens": "residual_stream_lens_grid",
            "recurrence": "recurrence_unrolled", "training": "training_columns"}


@pytest.mark.parametrize(("address", "key"), PICTURES.items(), ids=PICTURES)
def test_a_page_draws_what_was_drawn_ahead_of_it(open_page, address: str, key: str):
    page = open_page(address)
    page.evaluate(WHOLE, key)
    page.evaluate(WATCH)
    before = page.evaluate("said()")
    type_and_send(page, NEW)
    page.wait_for_function("sent.length > 0")
    page.wait_for_url("**prompt=*")
    settle(page)
    rest(page)
    ahead = page.evaluate("sent[0]")
    assert ahead != before and page.evaluate("said()") == ahead and page.errors == []


def late(route: Route) -> None:
    """Answers when the key has long gone on, and with another text's wall."""
    route.request.frame.page.wait_for_timeout(1500)
    route.fulfill(body=heads.answer(json.loads(route.request.post_data) | {"text": OTHER}), content_type="application/octet-stream")


@pytest.mark.parametrize("becomes", [lambda route: route.abort(), lambda route: route.fulfill(status=503, body="Too many questions are waiting."), late], ids=["lost", "refused", "late"])
def test_the_page_has_the_prompt_whatever_becomes_of_the_answer(open_page, becomes):
    page = open_page("heads")
    page.evaluate(WATCH)
    page.route("**/live/heads", becomes)
    type_and_send(page, NEW)
    page.wait_for_url("**prompt=*")
    page.wait_for_timeout(2500)
    page.unroute_all()
    page.locator(".wall button.head").first.hover()
    tokens, run = page.evaluate("said()"), run_on(NEW)
    shown = heads.answer({"model": "stories", "device": "cpu", "position": None, "text": NEW, "exact_heads": [0]})
    length = int.from_bytes(shown[:4], "little")
    notes = json.loads(shown[4:4 + length])["notes"]
    assert len(run.token_ids) > 5 and notes[0] in tokens
