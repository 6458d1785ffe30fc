"""Next token without Python: what the browser makes of a text is what Python sends."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.app.compute import cache
from core.app.lesson import Lesson
from core.app.state.run import Run, read
from core.base import prose
from core.components.sampling_panel import PanelSettings, message
from core.model.sampling import SamplingConfig
from pages.next_token import panel, takeaway
from tests.helpers import own_files
from tests.helpers.messages import differences, unpacked

pytestmark = pytest.mark.long

HER = "One day Lily lost her ball. She looked for her"
TEXTS = {"her": HER, "nothing": "", "signs": "I ❤️ 🐶's {n} $x$ <b>& 12", "long": "Once there was a big red dog. " * 60}
OTHERS = {"flat": "The", "peaked": "Once upon a"}
SETTINGS = PanelSettings(SamplingConfig(temperature=0.7, top_k=40), xi=0.25, pinned=SamplingConfig(top_p=0.9))
CASES = [{"name": f"{model}.{text}", "model": model, "settings": {
    "prompt": TEXTS[text], "settings": SETTINGS.to_browser(), "version": 3, "named": None}}
    for model, text in (*(("stories", text) for text in TEXTS), ("positions-alibi", "her"))]


def page() -> Lesson:
    return Lesson("next_token", prose.load("next_token"), prose.load("app"))


def run_of(model: str, text: str = HER) -> Run:
    return read(cache.shared_model(model, "cpu"), text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The messages that the browser makes."""
    folder = tmp_path_factory.mktemp("next_token")
    own_files.write_messages(folder, "next_token", CASES, run_of, lambda run: takeaway.own_words(page(), OTHERS))
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_message_is_the_one_that_python_sends(folder: Path, case: dict):
    run = run_of(case["model"], case["settings"]["prompt"])
    others = {page().label(f"{name}_context"): text for name, text in OTHERS.items()}
    python = unpacked(message(panel.contexts(page(), run, len(run.token_ids) - 1, others), panel.vocabulary(run),
                              panel.panel_labels(page()), SETTINGS, 3))
    own = unpacked((folder / f"{case['name']}.message").read_bytes())
    assert own.pop("logits_key") == run.text and python.pop("logits_key")
    assert differences(own, python, own_files.CLOSE) == []


def test_the_file_holds_the_text_up_to_the_position_that_is_shown_and_the_settings():
    run = run_of("stories")
    for position, text in ((len(run.token_ids) - 1, HER), (4, "One day Lily lost")):
        state = takeaway.parts(run, position, SETTINGS, OTHERS).state
        assert state["prompt"] == text and json.loads(state["panel"]) == SETTINGS.to_browser()
    last = run_of("stories", text).trace.logits[-1].numpy()
    assert np.allclose(last, run.trace.logits[4].numpy(), atol=1e-4)
