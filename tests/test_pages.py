"""Every page, with every kind of prompt, through AppTest: all seven parts stand, nothing fails, the prompt stays as it was typed."""
from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.ui import text
from tests.prompts import PROMPTS

ROOT = Path(__file__).parent.parent
PAGES = sorted(path.stem for path in ROOT.glob("pages/*.py"))


def opened(page: str, prompt: str | None) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    if prompt is not None:
        at.query_params["prompt"] = prompt
    return at.run().switch_page(f"pages/{page}.py").run()


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
@pytest.mark.parametrize("page", PAGES)
def test_page_opens_whole(page: str, prompt: str | None):
    at = opened(page, prompt)
    assert not at.exception and not at.error, [e.value for e in (*at.exception, *at.error)]
    headings = "\n".join(m.value for m in at.markdown)
    words, frame = text.load(page), text.load("app")
    assert words.section("title") in headings and words.section("sentence") in headings
    for part in ("numbers", "try", "check", "code"):
        assert f"### {frame.label(part)}" in headings, f"the part {part} is missing"
    assert at.get("bidi_component"), "the instrument is missing"
    if prompt is not None:
        assert at.session_state["prompt"] == prompt


@pytest.mark.parametrize("page", PAGES)
def test_every_lesson_is_explained_in_at_most_three_paragraphs_and_has_experiments(page: str):
    words = text.load(page)
    assert 1 <= len([p for p in words.section("explanation").split("\n\n") if p.strip()]) <= 3
    assert 3 <= len(words.experiments) <= 4


@pytest.mark.parametrize("page", PAGES)
def test_every_experiment_runs(page: str):
    for experiment in text.load(page).experiments:
        at = opened(page, None)
        at.button(f"do_{page}_{experiment.id}").click().run()
        assert not at.exception and not at.error, experiment.id
        assert at.session_state["prompt"] == experiment.settings.get("prompt", at.session_state["prompt"])
