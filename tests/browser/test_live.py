"""Live answers: the wall follows the hand that still holds the slider, and the route gives everyone else a
plain refusal.
"""
from __future__ import annotations

import json
import re
import socket
import urllib.error
import urllib.request

import numpy as np
import pytest
from playwright.sync_api import expect

from core.analysis.stream_and_heads import rollout
from core.app.server.routes import MOST_BYTES
from core.base import prose
from core.model.intervention import HeadEdit, Intervention
from pages.heads.route import question, rollout_question
from pages.heads.shared import Change, reached
from tests.browser.pictures import comes
from tests.browser.serving import Server, settle
from tests.browser.test_heads_wall import heads_page, on_the_scale, pixel, run_on
from tests.helpers.messages import unpacked

SCALED = dict(heads_panel="change", heads_changed="0.*", heads_action="scale")


def scaled(factor: float) -> np.ndarray:
    """(L, h, N, N) with every head of block 0 scaled, from a pass of its own."""
    run = run_on()
    heads = tuple(HeadEdit(0, head, "scale", factor) for head in range(run.model.config.n_heads))
    return np.stack([block.pattern.numpy() for block in run.trace_with(Intervention(heads=heads)).blocks])


def differing_cells(a: np.ndarray, b: np.ndarray) -> list[tuple[int, ...]]:
    """The three cells at which the patterns of two factors differ most."""
    return [tuple(int(i) for i in np.unravel_index(at, a.shape)) for at in np.abs(a - b).reshape(-1).argsort()[-3:]]


def test_the_wall_follows_the_hand_before_it_lets_go_and_the_page_afterwards(open_page):
    page = heads_page(open_page, **SCALED)
    slider = page.locator(".st-key-heads_wall input[type=range]")
    box, before, n = (slider.bounding_box(), page.locator(".stMarkdown strong").all_text_contents(),
                      len(run_on().token_ids))
    page.mouse.move(box["x"] + box["width"] * 0.375, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2, steps=6)
    factor = float(slider.input_value())
    assert factor > 2
    expect(page.locator(".wall button.head").first).to_have_attribute("aria-label", re.compile(rf"^0\.0 ×{factor:g} "))
    shown, plain = scaled(factor), scaled(0.5)
    for layer, head, query, key in differing_cells(shown, plain):
        assert np.abs(np.array(pixel(page, layer, head, query, key, n))
                      - on_the_scale(float(shown[layer, head, query, key]))).max() <= 3
    assert "heads_factor" not in page.url
    expect(page.locator(".stMarkdown strong")).to_have_text(before)
    page.mouse.up()
    expect(page).to_have_url(re.compile(rf"heads_factor={factor:g}(&|$)"))
    # the words come after the address and the picture
    expect(page.locator(".stMarkdown strong")).not_to_have_text(before)
    assert comes(page, lambda: float(slider.input_value()) == factor)
    assert page.errors == []


def test_the_rollout_follows_the_hand_and_the_page_keeps_its_block(open_page):
    page, run = heads_page(open_page, heads_panel="rollout", heads_block=5), run_on()
    slider, title = page.locator(".st-key-heads_rollout input[type=range]"), page.locator(".view .title")
    slider.focus()
    before = page.url
    for block in range(run.model.config.n_layers - 2, 0, -1):
        page.keyboard.down("ArrowLeft")
        expect(title).to_have_text(reached(run, block, len(run.token_ids) - 1).title(prose.load("heads"), run))
        assert slider.evaluate("(node) => Number(node.value)") == block
        expect(page.locator(".st-key-heads_rollout .hand output")).to_have_text(str(block), use_inner_text=True)
    page.keyboard.up("ArrowLeft")
    expect(page).to_have_url(re.compile("heads_block=1(&|$)"))
    settle(page)
    assert (page.url != before and page.evaluate("document.activeElement.closest('.st-key-heads_rollout') !== null")
            and page.errors == [])
    follows = reached(run, 1, len(run.token_ids) - 1)
    expect(title).to_have_text(follows.title(prose.load("heads"), run), use_inner_text=True)


def post(server: Server, body: bytes, path: str = "heads", **headers: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{server.url}/live/{path}", body, headers),
                                    timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def asked(**changes) -> dict:
    return question(run_on(), Change("0.1", "scale", 0.5)) | {"factor": 2.0, "exact_heads": [0]} | changes


def test_the_route_answers_with_the_weights_of_the_pass(server):
    status, body = post(server, json.dumps(asked(changed="0.*")).encode())
    shown = scaled(2.0)
    lower = np.tril(np.ones(shown.shape[2:], bool))
    assert status == 200 and unpacked(body)["values"].tobytes() == shown[:, :, lower].tobytes()


def rollout_asked(**changes) -> bytes:
    return json.dumps(rollout_question(run_on(), 3) | {"block": 2} | changes).encode()


def test_the_route_of_the_rollout_answers_with_its_shares_and_refuses_what_is_not_there(server):
    status, body = post(server, rollout_asked(), "heads_rollout")
    shares = rollout([block.pattern for block in run_on().trace.blocks])[2].numpy()
    assert (status == 200
            and unpacked(body)["values"].tobytes() == shares[np.tril(np.ones(shares.shape, bool))].tobytes()
            and unpacked(body)["query"] == 3)
    for wrong in (dict(block=99), dict(block=-1), dict(block="x"), dict(query=999), dict(query=None),
                  dict(token_ids=[])):
        assert post(server, rollout_asked(**wrong), "heads_rollout")[0] == 400, wrong


def test_the_route_of_the_sparse_patterns_answers_with_the_picture_of_the_settings_and_refuses_others(server):
    asked = {f"architectures_{name}": value
             for name, value in (("length", 12), ("near", 2), ("central", 1), ("drawn", 0), ("seed", 3))}
    status, body = post(server, json.dumps(asked).encode(), "sparse_patterns")
    answered = unpacked(body)
    window = next(pattern for pattern in answered["patterns"]
                  if pattern["name"] == prose.load("architectures").label("pattern_window"))
    # layers of a window of two on either side
    reach = [[-(-abs(i - j) // 2) or 1 for j in range(12)] for i in range(12)]
    assert status == 200 and answered["n"] == 12 and [ord(cell) - 48 for cell in window["cells"]] == sum(reach, [])
    for wrong in ({}, asked | {"architectures_near": "many"}, asked | {"architectures_seed": None}):
        assert post(server, json.dumps(wrong).encode(), "sparse_patterns")[0] == 400, wrong


@pytest.mark.parametrize("body, status", [
    (b"", 400), (b"[" * 60_000, 400), (b"[]", 400), (b"{}", 400), (b"\xff", 400), (b" " * (MOST_BYTES + 1), 413),
    *((json.dumps(asked(**changes)).encode(), 400) for changes in (
        dict(model="../../etc"), dict(model=["stories"]), dict(device={}), dict(device="cuda:9"), dict(token_ids=[]),
        dict(token_ids=[-1]), dict(token_ids=[10 ** 9]), dict(token_ids=[1] * 9999),
        dict(token_ids=["<b>"]), dict(action="explode"), dict(factor="nan"), dict(factor=None), dict(exact_heads=[999]),
        dict(exact_heads=["x"])))])
def test_what_makes_no_sense_is_refused_in_plain_words(server, body, status):
    code, said = post(server, body)
    assert code == status and b"Traceback" not in said and said.decode().startswith("The question")


def test_a_page_of_another_address_is_answered_nothing(server):
    """Neither a question nor a session: what a page elsewhere sends from a reader's browser carries that
    page's address.
    """
    own, body = server.url.removeprefix("http://"), json.dumps(asked()).encode()
    for origin, status in ((server.url, 200), ("http://evil.example", 403),
                           (f"http://{own.replace(':', '.evil.example:')}", 403), ("null", 403),
                           (f"https://evil.example//{own}", 403)):
        assert post(server, body, Origin=origin)[0] == status, origin
        said = websocket(own, origin)
        assert said.startswith(b"HTTP/1.1 " + (b"101" if status == 200 else b"403")), origin


def websocket(host: str, origin: str) -> bytes:
    """The beginning of what the server answers to a page that opens a session."""
    with socket.create_connection(tuple(host.split(":")), timeout=30) as line:
        line.sendall(f"GET /_stcore/stream HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nUpgrade: "
                     "websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: MDAwMDAwMDAwMDAwMDAwMA==\r\n\r\n".encode())
        return line.recv(64)
