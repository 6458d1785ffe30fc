"""Another prompt changes nothing if the bar says that the prompt is not used; elsewhere it changes the view. A list
that names its tokens is another list.
"""
from __future__ import annotations

import functools

import pytest

from core.base import catalogue, prose
from tests.helpers.lessons import fine, open_at

pytestmark = pytest.mark.long

PROMPTS = ("The cat sat on the mat. The dog sat on the", "Tom and Mia went to the park. Tom gave the ball to")
# components with links, or with no picture
AROUND = {"navigation", "strip", "palette", "next_view", "page", "standing"}
# views that read the prompt at a press, among other texts, and in a table that present mode leaves out
ELSEWHERE = {("generation", "cache"), ("language_models", "guess"), ("training", "kepler")}
UNLESS = [(entry.id, name, setting, value, view.prompt) for entry in catalogue.existing()
          for name, view in entry.each.items() for setting, values in view.prompt_unless.items() for value in values]


def shown(lesson: str, prompt: str, **settings: str) -> list[bytes]:
    """All that a page in present mode draws for a prompt but its field and links."""
    return [proto.SerializeToString() for name, proto in drawn(lesson, prompt, tuple(settings.items()))
            if name not in ("TextArea", "DownloadButton") and getattr(proto, "component_name", "") not in AROUND]


def lists(lesson: str, prompt: str, **settings: str) -> dict[str, list[str]]:
    """The names that each list of a page in present mode offers, by the list's id; but for answers to a question, which
    are taken back with it.
    """
    return {proto.id: list(proto.options) for name, proto in drawn(lesson, prompt, tuple(settings.items()))
            if name in ("Selectbox", "SelectSlider", "Radio") and not proto.id.endswith(("_given", "_given_of_many"))}


@functools.cache
def drawn(lesson: str, prompt: str, settings: tuple[tuple[str, str], ...]) -> list[tuple]:
    """The elements that a page in present mode draws for a prompt, each with the name of its kind."""
    at = open_at(lesson, prompt=prompt, present="true", **dict(settings))
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    found: list[tuple] = []

    def gather(node) -> None:
        for child in getattr(node, "children", {}).values():
            gather(child)
        proto = getattr(node, "proto", None)
        if proto is not None and not getattr(node, "children", None):
            found.append((type(node).__name__, proto))

    gather(at._tree)
    return found


def unread(at) -> bool:
    return any(caption.value == prose.load("app").label("prompt_unread") for caption in at.caption)


@pytest.mark.parametrize("lesson", [entry.id for entry in catalogue.existing()])
def test_the_bar_says_of_every_view_whether_the_prompt_counts(lesson):
    entry = catalogue.entry(lesson)
    for name, view in entry.each.items():
        if (lesson, name) in ELSEWHERE:
            continue
        first, second = (shown(lesson, prompt, **entry.opening(name)) for prompt in PROMPTS)
        assert (first != second) == view.prompt, name


@pytest.mark.parametrize("lesson", [entry.id for entry in catalogue.existing()])
def test_a_list_that_names_its_options_otherwise_is_another_one(lesson):
    """A browser keeps the name of what was picked, and sends it where it may mean nothing any more."""
    entry = catalogue.entry(lesson)
    for view in entry.views or ("",):
        first, second = (lists(lesson, prompt, **entry.opening(view)) for prompt in PROMPTS)
        assert all(first[key] == second[key] for key in first.keys() & second.keys()), view


@pytest.mark.parametrize(("lesson", "view", "setting", "value", "is_read"), UNLESS)
def test_a_setting_makes_a_view_read_the_prompt_or_leave_it_unread(lesson, view, setting, value, is_read):
    asked = catalogue.entry(lesson).opening(view)
    at = open_at(lesson, **asked)
    assert fine(at) and unread(at) == (not is_read)
    asked |= {f"{lesson}_{setting}": value}
    at = open_at(lesson, **asked)
    assert fine(at) and unread(at) == is_read
    if is_read:
        first, second = (shown(lesson, prompt, **asked) for prompt in PROMPTS)
        assert first == second


@pytest.mark.parametrize(("lesson", "settings", "model"), [
    ("training", {"training_view": "childhood"}, "stories-small"),
    ("training", {"training_view": "tuning"}, "stories-small"),
    ("training", {"training_view": "tuning", "training_base": "loaded"}, "stories · "),
    ("training", {"training_view": "forcing"}, "stories · "),
    ("architectures", {"architectures_view": "blank"}, "blanks"),
    ("architectures", {"architectures_view": "translate"}, "translator"),
    ("architectures", {"architectures_view": "translate", "architectures_translate_text": "a | b"}, "restaurants"),
    ("architectures", {"architectures_view": "translate", "architectures_translate_text": "a | b",
                       "model": "translator"}, "restaurants"),
])
def test_the_status_says_the_model_that_the_view_shows(lesson, settings, model):
    at = open_at(lesson, **settings)
    labels = [block.proto.popover.label for block in blocks(at) if block.proto.HasField("popover")]
    assert fine(at) and any(label.replace("\\", "").startswith(model) for label in labels), labels


def blocks(at) -> list:
    found = []

    def gather(node) -> None:
        for child in getattr(node, "children", {}).values():
            if hasattr(getattr(child, "proto", None), "popover"):
                found.append(child)
            gather(child)

    gather(at._tree)
    return found
