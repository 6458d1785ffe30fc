"""A new prompt in a real Chromium: the picture follows it before the page does, and the page follows whatever becomes of the answer."""
from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route

from core.ui.heads import live as heads
from tests.browser.serving import rest, settle
from tests.browser.test_heads_wall import run_on

NEW, OTHER = "The king saw a small boat near the park", "One day a girl found a key"
# What the page is told over its websocket, with what the picture said at that moment. An event is held back for as long as the answer takes, however busy the machine.
WATCH = """() => {
  const later = window.setTimeout;
  window.setTimeout = (does, wait, ...given) => later(does, String(does).includes("held === again") ? 25000 : wait, ...given);
  const inside = (selector) => [...document.querySelectorAll("[class*=st-key-]")].map((box) => [...box.querySelectorAll("*")].find((node) => node.shadowRoot)?.shadowRoot?.querySelector(selector)).find(Boolean);
  const saying = ".wall button.head, .map .caption, .sampling-panel .headline";
  window.said ??= () => inside(saying).getAttribute("aria-label") + inside(saying).textContent;
  window.sent = [];
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) { window.sent.push(window.said()); return send.call(this, data); };
}"""


def drawn_ahead(page: Page, deed: Callable[[], None]) -> bool:
    """Does what changes the picture that `said` speaks of. Whether the picture had changed before the page heard of it, and the page left it so."""
    rest(page)          # a picture that gets its size only now would be another one when it is compared
    before = page.evaluate("sent = [], said()")
    deed()
    page.wait_for_function("sent.length > 0")
    settle(page)
    rest(page)
    ahead, after = page.evaluate("sent[0]"), page.evaluate("said()")
    print("changed ahead of the page:", ahead != before, "by the page at last:", after != before, "left as it was drawn ahead:", after == ahead)      # shown where a test fails
    return ahead != before and after == ahead


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


# Every letter and every pixel of a component, and every mark of a chart.
WHOLE = """(key) => { window.said = () => {
  const marks = document.querySelectorAll(`.st-key-${key} svg.marks *`);
  if (marks.length) return JSON.stringify([...marks].map((mark) => [...mark.attributes].map((one) => one.value).concat(mark.children.length ? [] : mark.textContent)));
  const root = [...document.querySelector(`.st-key-${key}`).querySelectorAll("*")].find((node) => node.shadowRoot).shadowRoot;
  const words = [...root.querySelectorAll(":not(style)")].flatMap((node) => [node.getAttribute("aria-label"), ...[...node.childNodes].filter((child) => child.nodeType === 3).map((child) => child.data)]);
  return JSON.stringify([words, [...root.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL()), [...root.querySelectorAll("svg *")].map((node) => node.getAttribute("d") ?? node.getAttribute("x"))]);
}; }"""
PICTURES = {"tokens": "tokens_merges_player", "tokens?tokens_view=methods": "tokens_methods_table", "tokens?tokens_view=vocabulary": "tokens_vocabulary_search", "embeddings": "embeddings_product",
            "attention": "attention_steps_instrument", "attention?attention_view=averages": "attention_average", "attention?attention_view=scaling": "attention_scaling",
            "attention?attention_view=switches": "attention_pattern_after", "attention?attention_view=roles": "attention_roles", "residual_stream": "residual_stream_norms", "residual_stream?residual_stream_view=lens": "residual_stream_lens_grid",
            "residual_stream?residual_stream_view=norm&residual_stream_norm_view=batch": "residual_stream_matrix_features", "positions?positions_view=rotary": "positions_rotary_instrument",
            "architectures": "architectures_design_picture", "recurrence": "recurrence_unrolled", "training": "training_columns", "attention?attention_view=switches&lesson=": "attention_switches_bars",
            "residual_stream?residual_stream_view=contributions": "residual_stream_waterfall", "residual_stream?residual_stream_view=norm&position=5": "residual_stream_vector_after",
            "residual_stream?residual_stream_view=mlp": "residual_stream_neurons",
            "residual_stream?residual_stream_view=lens&lesson=": "residual_stream_target", "residual_stream?residual_stream_measure=turn": "residual_stream_cosines",
            "residual_stream?residual_stream_view=cut": "residual_stream_cut_tokens", "embeddings?embeddings_view=contexts": "embeddings_alike",
            "embeddings?embeddings_view=contexts&lesson=": "embeddings_paths"}


@pytest.mark.parametrize(("address", "key"), PICTURES.items(), ids=PICTURES)
def test_a_page_draws_what_was_drawn_ahead_of_it(open_page, address: str, key: str):
    page = open_page(address)
    page.evaluate(WHOLE, key)
    page.evaluate(WATCH)
    for text in (NEW, OTHER, NEW):
        assert drawn_ahead(page, lambda text=text: type_and_send(page, text))
    assert page.errors == []


PRESSES = {"tokens?tokens_view=train": ("tokens_training", "tokens_source_widget"), "positions?positions_view=symmetry": ("positions_symmetry_instrument", "positions_order_widget"),
           "attention?attention_view=averages": ("attention_average", "attention_pick_position"), "attention?attention_view=switches": ("attention_pattern_after", "attention_pick_head"),
           "attention?attention_view=scaling": ("attention_scaling", "attention_scaling_keys_widget"), "residual_stream": ("residual_stream_norms", "residual_stream_log_widget"),
           "recurrence": ("recurrence_unrolled", "recurrence_both_widget"),
           "architectures": ("architectures_design_picture", "architectures_positions_widget"), "architectures?architectures_view=norms": ("architectures_norms_table", "architectures_norms_where_widget"),
           "training": ("training_columns", "training_packed_widget"), "limits?limits_view=meaning": ("limits_items", "limits_test_widget"),
           "generation?generation_view=beam": ("generation_beam", "generation_source_widget"),
           "training?training_view=tuning": ("training_next_token", "training_asked_widget"), "positions?positions_view=measured": ("positions_measured_losses", "positions_measured_scheme_widget"),
           "training?training_view=kepler": ("training_kepler_instrument", "training_structure_widget"),
           "residual_stream?residual_stream_view=norm": ("residual_stream_vector_after", "residual_stream_norm_where_widget"),
           "limits?limits_view=memory": ("limits_memory_nats", "limits_passage_widget"), "limits?limits_view=words": ("limits_ratios", "limits_by_widget"),
           "embeddings?embeddings_view=neighbours": ("embeddings_spread", "embeddings_centred_widget"), "embeddings?embeddings_view=contexts": ("embeddings_paths", "embeddings_shared_widget"), "attention?attention_view=switches&lesson=": ("attention_switches_bars", "attention_scaling_widget")}


def press(page: Page, control: str) -> None:
    """The control's first choice that is not its present one."""
    box = page.locator(f".st-key-{control}")
    if box.locator("[role=combobox]").count():
        box.locator("input").click()
        page.get_by_role("option", selected=False).first.click()
    else:
        box.locator("label, [role=radio][aria-checked=false]").last.click()


@pytest.mark.parametrize(("address", "key", "control"), [(address, *names) for address, names in PRESSES.items()], ids=PRESSES)
def test_a_page_draws_what_a_press_on_its_control_drew_ahead_of_it(open_page, address: str, key: str, control: str):
    page = open_page(address)
    page.evaluate(WHOLE, key)
    page.evaluate(WATCH)
    for _ in range(4):
        assert drawn_ahead(page, lambda: press(page, control))
    assert page.errors == []


@pytest.mark.parametrize(("address", "key", "control"), [(address, *PRESSES[address]) for address in ("attention?attention_view=switches", "attention?attention_view=scaling", "recurrence")], ids=["list", "choices", "box"])
def test_a_press_that_is_answered_late_is_still_one_press(open_page, address: str, key: str, control: str):
    """Where a list or a row of choices has seen no click for 80 ms after the pointer let go, it clicks itself."""
    page = open_page(address)
    page.evaluate(WHOLE, key)
    page.evaluate(WATCH)
    page.evaluate("clicks = 0; document.addEventListener('click', (event) => { clicks += !event.target.matches('input, [role=combobox]'); }, true)")
    page.route("**/live/prerender", lambda route: (route.request.frame.page.wait_for_timeout(200), route.continue_()))
    ahead = drawn_ahead(page, lambda: press(page, control))
    page.unroute_all(behavior="ignoreErrors")
    assert ahead and page.evaluate("clicks") == 1 and page.errors == []


def test_a_press_that_is_answered_late_is_not_undone(open_page):
    """Asked once more before the page runs for the press, the picture before it would come when the page has drawn its own, and stay."""
    page, asked = open_page("attention?attention_view=switches"), []
    page.evaluate(WHOLE, "attention_pattern_after")
    page.evaluate("() => { const send = WebSocket.prototype.send; WebSocket.prototype.send = function (data) { setTimeout(() => send.call(this, data), 200); }; }")
    page.evaluate(WATCH)

    def late(route: Route) -> None:
        began = time.monotonic()
        asked.append(json.loads(route.request.post_data))
        response = route.fetch()
        page.wait_for_timeout(max(0, (0.7 if len(asked) == 1 else 1.6) - (time.monotonic() - began)) * 1000)
        route.fulfill(response=response)

    page.route("**/live/prerender", late)
    assert drawn_ahead(page, lambda: press(page, "attention_pick_head"))
    ahead = page.evaluate("said()")
    page.wait_for_timeout(2500)
    assert len(asked) > 1 and asked[-1].get("again") and page.evaluate("said()") == ahead
    page.unroute_all(behavior="ignoreErrors")
    assert page.errors == []


def test_what_was_asked_before_the_page_had_heard_of_all_is_asked_once_more(open_page):
    """A press that changes nothing of the chart, asked of a state that the page is not in: the page gives the chart what it had, which Streamlit does not draw again."""
    page, asked = open_page("attention?attention_view=switches"), []
    page.evaluate(WHOLE, "attention_switches_bars")
    before = page.evaluate("said()")

    def astray(route: Route) -> None:
        asked.append(json.loads(route.request.post_data))
        if len(asked) == 1:
            route.fulfill(response=route.fetch(post_data=json.dumps(asked[0] | {"query": f"{asked[0]['query']}&attention_scaling=own"})))
        else:
            route.continue_()

    page.route("**/live/prerender", astray)
    press(page, "attention_pick_head")
    page.wait_for_function("(before) => said() !== before", arg=before)
    page.wait_for_function("(before) => said() === before", arg=before)
    page.unroute_all(behavior="ignoreErrors")
    assert page.url.endswith("&head=1") and [question["query"] for question in asked[1:]] == [asked[0]["query"]]


def test_a_press_that_puts_other_pictures_there_is_soon_held_back_no_longer(open_page):
    page, asked = open_page("limits?limits_view=words"), []
    page.on("request", lambda request: asked.extend(json.loads(request.post_data).get("pressed", ())[:1]) if "prerender" in request.url else None)
    for n in range(6):
        press(page, "limits_span_widget")
        page.wait_for_url("**limits_span=all*" if n % 2 == 0 else lambda url: "limits_span" not in url)
        settle(page)
    press(page, "limits_by_widget")
    page.wait_for_url("**limits_by=*")
    assert asked.count("limits_span") in (2, 3) and asked[-1] == "limits_by" and page.errors == []       # what is computed for the first time may come too late to count


def test_what_is_asked_of_a_page_at_rest_is_asked_once(open_page):
    page, asked = open_page("recurrence"), []
    page.on("request", lambda request: asked.append(request.url) if "prerender" in request.url else None)
    page.wait_for_timeout(800)
    press(page, "recurrence_layers_widget")
    page.wait_for_timeout(2500)
    assert len(asked) == 1


@pytest.mark.parametrize("becomes", [lambda route: route.abort(), lambda route: route.fulfill(status=503, body="Too many questions are waiting."), lambda route: None], ids=["lost", "refused", "never"])
def test_the_page_has_every_press_in_their_order_whatever_becomes_of_the_answers(open_page, becomes):
    page = open_page("recurrence")
    page.route("**/live/prerender", becomes)
    press(page, "recurrence_both_widget")
    press(page, "recurrence_layers_widget")
    press(page, "recurrence_both_widget")
    press(page, "recurrence_both_widget")
    page.wait_for_url("**recurrence_both=true*")
    settle(page)
    page.unroute_all(behavior="ignoreErrors")
    assert "recurrence_layers=3" in page.url and page.locator(".st-key-recurrence_both_widget input").is_checked()


def test_the_sign_that_explains_a_box_and_the_choice_that_stands_are_not_asked_ahead(open_page):
    page, asked = open_page("recurrence"), []
    page.on("request", lambda request: asked.append(request.url) if "prerender" in request.url else None)
    page.locator(".st-key-recurrence_layers_widget [role=radio][aria-checked=true]").click()
    page.locator(".st-key-recurrence_both_widget button").click()
    page.wait_for_timeout(500)
    assert asked == []


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
