"""The steps of a model whose heads norm their queries and keys, in a real Chromium: mean, deviation and the component
follow from the numbers that are written out below them.
"""
from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from core.base import deployment, prose
from tests.browser.serving import prepare, serve, settle
from tests.browser.test_models_page import load
from tests.core.huggingface import test_tokens
from tests.helpers import huggingface_models
from tests.helpers.messages import value_of

WORDS = prose.load("attention")
ADDRESS = ("attention?model=folder:normed&prompt=The%20cat%20sat%20on%20the%20mat.&layer=1&head=3&position=4"
           "&attention_view=steps&attention_step=norm&attention_component=1")


def test_mean_and_deviation_follow_from_the_numbers_that_are_shown(browser: Browser, tmp_path):
    place = tmp_path / "normed"
    place.mkdir()
    size = test_tokens.written(*test_tokens.gpt2(), place)
    huggingface_models.saved("stablelm with a norm for each head", place, vocab_size=size, bos_token_id=0,
                             eos_token_id=0, pad_token_id=None)
    with serve(env={deployment.ROOTS: str(tmp_path)}) as server:
        page, errors = browser.new_page(bypass_csp=True, viewport={"width": 1280, "height": 900}), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        prepare(page)
        page.goto(f"{server.url}/{ADDRESS}")
        load(page, page.locator(".st-key-model_drawer", has_text="normed"))
        settle(page)
        expect(page.locator(".instrument .title")).to_have_text(re.compile("standard deviation"))
        expect(page.locator(".detail .formula")).to_have_count(3)
        component, mean, square = page.locator(".detail .formula").all_text_contents()
        terms = page.locator(".detail .term:not(.legend)")
        columns = [[value_of(text) for text in column.locator("span, b").all_text_contents()] for column in terms.all()]
        page.close()
    q, centred, squares = zip(*columns, strict=True)
    gain, x, mu, sigma, result = map(value_of, re.search(
        r"= (\S+) · \((\S+) − \((\S+)\)\) / (\S+) = (\S+)$", component).groups())
    assert len(q) == 8 and x == pytest.approx(q[1], abs=6e-5) and mu == pytest.approx(sum(q) / 8, abs=6e-5)
    assert centred == pytest.approx([value - mu for value in q], abs=1.1e-4)
    assert squares == pytest.approx([value ** 2 for value in centred], abs=6e-4)
    assert sigma ** 2 == pytest.approx(sum(squares) / 8 + 0.1, abs=1e-4)
    assert result == pytest.approx(gain * (x - mu) / sigma, abs=6e-5)
    assert value_of(mean.split("= ")[-1]) == mu and value_of(square.split("= ")[-1]) == pytest.approx(sigma ** 2, 1e-4)
    assert errors == []
