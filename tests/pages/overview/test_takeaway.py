"""The file of Overview: the models that it holds, what it says of others, and what stands in it."""
from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from core.app.compute import cache
from core.app.parts import own_file
from core.app.state.run import read
from core.base import prose
from core.files import ASSETS
from core.model.tokenizer import Tokenizer
from pages.overview import takeaway

PLACE = {"at": "head.4.3", "edit": "", "position": None, "layer": 4}


class Other(Tokenizer):
    """A tokenizer of another kind."""


def run_of(name: str, text: str = "The cat"):
    return read(cache.shared_model(name, "cpu"), text)


@pytest.mark.parametrize("name", [name for name in cache.model_names() if cache.kind(name) == "decoder"])
def test_every_bundled_decoder_can_be_taken_along(name: str):
    assert takeaway.refusal(run_of(name)) is None


def test_what_a_file_cannot_hold_is_named():
    stories = run_of("stories")
    assert takeaway.refusal(run_of("blanks")) == "the engine in the file does not compute kind=encoder"

    other = Other.load(ASSETS / "models" / "stories" / "tokenizer.json")
    assert "tokenizer" in takeaway.refusal(replace(stories, loaded=replace(stories.loaded, tokenizer=other)))
    large = SimpleNamespace(config=stories.model.config, n_parameters=own_file.MOST_NUMBERS + 1)
    assert "8 MB" in takeaway.refusal(replace(stories, loaded=replace(stories.loaded, model=large)))


def test_it_holds_the_readers_text_and_place_and_every_label_that_the_map_has():
    run = run_of("stories", "Lily's </script> ball")
    file = own_file.made(run, takeaway.parts(run, PLACE)).decode()
    said = json.loads(re.search(r'id="said">(.*?)</script>', file)[1])
    assert said["state"] == PLACE | {"prompt": "Lily's </script> ball", "xi": takeaway.FIRST_XI}
    labels = prose.load("overview").labels
    used = set(re.findall(r"\btext\.(\w+)", file)) & labels.keys()
    assert {"actual", "dive_hint", "play"} < used <= said["words"]["text"].keys()
    assert said["words"]["edited"].keys() == {key for key in labels if key.startswith("edited_")}
