"""The page's rules find what they are for: Streamlit may rename what it calls its elements by."""
from __future__ import annotations

import re
from pathlib import Path

from tests.browser.serving import go_to, settle

CSS = Path(__file__).parents[2] / "core" / "app" / "frame" / "page.css"
# Together they show every element that a rule names: a notice, a code drawer, number fields, charts, a page that loads.
PAGES = ("overview?layer=none", "architectures", "heads", "next_token", "training?training_view=live",
         "positions?positions_view=waves&present=true")
HIDDEN = {"stCode", "stBidiComponentRegular"}      # code stands in closed drawers; components of ours are isolated
SEEN = """(() => {
    window.seen = new Set();
    const note = (node) => node.dataset?.testid && window.seen.add(node.dataset.testid);
    new MutationObserver((changes) => {
        for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes])) {
            note(node);
            node.querySelectorAll?.("[data-testid]").forEach(note);
        }
    }).observe(document, {childList: true, subtree: true});
})()"""


def test_every_element_that_a_rule_names_exists(open_page, server):
    named = set(re.findall(r'data-testid="([^"]+)"', CSS.read_text(encoding="utf-8")))
    page = open_page("course")
    page.add_init_script(SEEN)
    page.reload()
    for address in PAGES:
        go_to(page, f"{server.url}/{address}")
        settle(page)
    assert len(named) > 15 and named - set(page.evaluate("[...window.seen]")) - HIDDEN == set()
