"""A short form of tests.browser.monkey, which goes on for minutes when it is run by hand."""
from __future__ import annotations

from tests.browser.monkey import let_loose


def test_a_hand_without_sense_breaks_nothing(browser, server):
    monkey = let_loose(browser, server.url, seconds=12, seed=4)
    assert monkey.n_deeds > 0 and monkey.failures == []
