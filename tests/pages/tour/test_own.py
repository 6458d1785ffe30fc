"""The tour without Python: what the browser makes of a text and the reader's acts is what Python sends, message by
message.
"""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.app.compute import cache
from core.app.lesson.lesson import Lesson
from core.app.state.run import Run, read
from core.base import catalogue, prose
from pages.tour import steps, takeaway
from pages.tour.shared import STEPS
from tests.helpers import own_files
from tests.helpers.messages import differences, unpacked

pytestmark = pytest.mark.long

HER = "One day Lily lost her ball. She looked for her"
TEXTS = {"her": HER, "nothing": "", "word": "Once", "signs": "I ❤️ 🐶's {n} $x$ ¼ <b>& the_dog’s 12",
         "long": "Once upon a time there was a little dog. The dog ran to the park and saw a big bird. " * 8,
         "space": "The dog ran to the "}
# what a reader does in a step: of each the first is nothing
ACTS = {
    "finish": [{}, {"word": " ball ", "sure": 80}, {"word": "Park", "sure": "7"}, {"word": "qwzxk", "sure": None},
               {"word": ","}, {"word": "ice cream 🍦" * 9, "sure": 1e9}],
    "write": [{}, {"added": [None]}, {"added": [None, 300, None, None]}, {"added": [0]}, {"added": [None] * 70}],
    "change": [{}, {"word": "dog", "place": 2, "moves": True}, {"word": "x", "place": 99, "moves": False},
               {"word": "dog", "place": "a", "moves": True}, {"word": "dog", "place": 1}],
    "pieces": [{}, {"guess": 12}, {"guess": 0}, {"guess": "x"}],
    "near": [{}, {"guess": "cold"}, {"word": "dog", "guess": "cat"}, {"word": "dog", "guess": "dog"},
             {"word": "dog", "guess": "xylophone"}, {"word": "xylophone", "guess": "dog"}, {"guess": "·big"},
             {"word": "dog", "guess": "of"}],
    "numbers": [{}, {"guess": 256}, {"guess": 32}, {"guess": 7}],
    "look": [{}, {"key": 3}, {"key": 99}],
    "heads": [{}, {"off": []}, {"off": [5]}, {"off": [3, 3, 20, 29, 35, 99]}],
    "layers": [{}, {"guess": 3}, {"guess": 6}, {"guess": -1}],
    "dice": [{}, {"guess": "more"}, {"guess": "less"}, {"guess": "x"}],
    "learn": [{}, {"guess": "frequent", "at": 0}, {"guess": "copy", "at": 3}, {"guess": "x"}],
    "map": [{}],
}
EVERYTHING = {step: acts[1] for step, acts in ACTS.items() if len(acts) > 1}


def cases() -> dict[str, dict]:
    """Every act in every step on one text, a few on the others, and one of another model."""
    found = {f"stories.her.{step}.{k}": ("stories", "her", step, {step: act} if act else {})
             for step, acts in ACTS.items() for k, act in enumerate(acts)}
    for text in ("nothing", "word", "signs", "long", "space"):
        found |= {f"stories.{text}.{step}": ("stories", text, step, EVERYTHING) for step in STEPS}
    found |= {f"{model}.her.{step}": (model, "her", step, EVERYTHING)
              for model in ("stories-small", "positions-rotary") for step in STEPS}
    found |= {"stories.her.map.all": ("stories", "her", "map", EVERYTHING)}
    return {name: {"name": name, "model": model, "settings": {
        "prompt": TEXTS[text], "at": STEPS.index(step) + 1, "named": True, "done": done}}
        for name, (model, text, step, done) in found.items()}


CASES = cases()


def page() -> Lesson:
    return Lesson(catalogue.TOUR, prose.load(catalogue.TOUR), prose.load("app"))


def run_of(model: str, text: str) -> Run:
    return read(cache.shared_model(model, "cpu"), text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The messages that the browser makes."""
    folder = tmp_path_factory.mktemp("tour")
    own_files.write_messages(folder, "tour", list(CASES.values()), lambda name: run_of(name, HER),
                             lambda run: takeaway.own_words(page(), run))
    return folder


def sent(case: dict) -> dict:
    """Python's message, as far as a file can have it."""
    settings = case["settings"]
    run = run_of(case["model"], settings["prompt"])
    told = unpacked(steps.message(page(), run, settings["at"], settings["done"], named=True, scale=1))
    if told["asks"] and "ways" in told["asks"]:
        told["asks"]["ways"] = []
    return told | {"leads": False}


@pytest.mark.parametrize("name", CASES)
def test_the_message_is_the_one_that_python_sends(folder: Path, name: str):
    own, python = unpacked((folder / f"{name}.message").read_bytes()), sent(CASES[name])
    texts = own.pop("text"), python.pop("text")
    assert {key for key in texts[1] if texts[0][key] != texts[1][key]} <= {
        "sentence_map", "guesses_learn", "guesses_learn_of"}
    if STEPS[python["at"] - 1] == "learn" and CASES[name]["settings"]["prompt"] != HER:
        own["asks"], python["asks"] = None, None        # the moments are of the text that the file was made with
    assert own.pop("of").replace(",)", ")") == python.pop("of").replace(",)", ")")
    if "logits" in python:
        names_stand_by_their_logits(own.pop("logits"), python.pop("logits"), own["asks"], python["asks"])
    assert differences(own, python, own_files.CLOSE) == []


def names_stand_by_their_logits(own: np.ndarray, python: np.ndarray, asks: dict, told: dict) -> None:
    """The names in falling order of logits are the same, but for neighbours that no float32 can tell apart."""
    names, expected = asks.pop("names"), told.pop("names")
    assert np.abs(own - python).max() < 1e-3 and sorted(names) == sorted(expected)
    moved = [abs(i - expected.index(name)) for i, name in enumerate(names) if name != expected[i]
             and names.count(name) == 1]
    assert len(moved) < 0.01 * len(names) and max(moved, default=0) < 4
