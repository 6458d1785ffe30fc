"""Every page, with every kind of prompt, through AppTest: all seven parts stand, nothing fails, the prompt stays
as it was typed.
"""
from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.lesson.experiments import first_ones
from core.app.lesson.lesson import PICTURE_SEEN
from core.base import catalogue, devices, prose
from core.model.transformer import Transformer
from tests.helpers import lessons
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PAGES = sorted(entry.id for entry in catalogue.existing())      # the lessons; pages/ has others beside them


def opened(page: str, prompt: str | None) -> AppTest:
    return lessons.open_at(page, prompt=prompt)


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
@pytest.mark.parametrize("page", PAGES)
def test_page_opens_whole(page: str, prompt: str | None):
    at = opened(page, prompt)
    assert not at.exception and not at.error, [e.value for e in (*at.exception, *at.error)]
    headings = "\n".join(m.value for m in at.markdown)
    words, frame = prose.load(page), prose.load("app")
    assert words.section("title") in headings and words.section("sentence") in headings
    for part in ("numbers", "check", "code"):
        assert f"## {frame.label(part)}" in headings, f"the part {part} is missing"
    assert at.get("bidi_component"), "the instrument is missing"
    if prompt is not None:
        assert at.session_state["prompt"] == prompt


@pytest.mark.parametrize("page", PAGES)
def test_what_is_said_of_a_picture_waits_until_a_new_session_has_seen_it(page: str):
    at = lessons.open_at(page, seen=False)
    assert (lessons.fine(at) and len(at.get("bidi_component")) > 1
            and not any(m.value == f"## {prose.load('app').label('numbers')}" for m in at.markdown))
    assert sum(c.proto.component_name == "standing" for c in at.get("bidi_component")) == 1
    at.session_state[PICTURE_SEEN] = True           # what the component's callback does
    at.run()
    assert (any(m.value == f"## {prose.load('app').label('numbers')}" for m in at.markdown)
            and all(c.proto.component_name != "standing" for c in at.get("bidi_component")))


@pytest.mark.parametrize("page", PAGES)
def test_every_lesson_is_explained_in_at_most_three_paragraphs_and_has_experiments(page: str):
    """Three or four experiments, or one a view where there are more views; the steps of a walk are one."""
    words = prose.load(page)
    texts = [body for key, body in words.sections.items() if key.startswith("explanation")]
    assert texts and all(1 <= len([p for p in text.split("\n\n") if p.strip()]) <= 3 for text in texts)
    assert 3 <= len(first_ones(words.experiments)) <= max(4, len(words.names("about")))


MARKS = re.compile(r"\$[^$]*\$|`[^`]*`|\]\([^)]*\)")         # a formula, a token and a link count as a word


@pytest.mark.parametrize("file", sorted(path.stem for path in (prose.FOLDER / prose.LANGUAGE).glob("*.md")))
def test_a_paragraph_of_an_explanation_has_at_most_sixty_words(file: str):
    texts = [body for key, body in prose.load(file).sections.items()
             if "explanation" in key or file == "evaluation" and key != "words"]
    assert [part for text in texts for part in text.split("\n\n")
            if not part.startswith(("|", "- ")) and len(MARKS.sub("x", part).split()) > 60] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_experiment_runs_and_the_question_beside_it_can_be_answered(page: str):
    """The lesson's own tests hold that an answer is right: each asks a second, independent computation."""
    frame = prose.load("app")
    verdicts = tuple(frame.label(f"check_{name}", given="", answer="").partition(":")[0]
                     for name in ("right", "wrong"))
    experiments, at = prose.load(page).experiments, None
    for experiment in experiments:
        is_first = experiment in first_ones(experiments)
        if is_first:
            at = opened(page, None)
        # the next step of a walk stands beside the same question
        at.button(f"do_{page}_{experiment.id}" if is_first else "try_next").click().run()
        assert any(m.value.startswith(f"**{experiment.title}.**") for m in at.markdown)
        assert not at.exception and not at.error, experiment.id
        assert at.session_state["prompt"] == experiment.settings.get("prompt", at.session_state["prompt"])
        if not is_first:
            continue
        question = next(radio for radio in at.radio if radio.key.endswith("_given"))
        assert len(set(question.options)) == len(question.options) > 1, experiment.id
        question.set_value(0).run()
        at.button(question.key.replace("_given", "_commit")).click().run()
        assert (any(m.value.startswith(verdicts) for m in at.markdown) and not at.exception
                and not at.error), experiment.id


@pytest.mark.parametrize("page", PAGES)
def test_what_to_look_for_stands_above_the_picture_until_the_reader_goes_on(page: str):
    experiment, at = prose.load(page).experiments[0], opened(page, None)

    def looks() -> list[str]:
        return [m.value for m in at.markdown if m.value == f"**{experiment.title}.** {experiment.look}"]

    assert not looks()
    at.button(f"do_{page}_{experiment.id}").click().run()
    assert lessons.fine(at) and len(looks()) == 1
    at.run()
    assert len(looks()) == 1
    at.session_state["prompt"] = "The dog ran to the door and barked."
    at.run()
    assert lessons.fine(at) and not looks()
    at.button(f"do_{page}_{experiment.id}").click().run()
    at.button("try_close").click().run()
    assert lessons.fine(at) and not looks()


@pytest.mark.parametrize("page", PAGES)
def test_present_mode_opens_with_its_line_of_experiments(page: str):
    at = lessons.open_at(page, present="true")
    assert not at.exception and not at.error
    count = prose.load("app").label("try_step", i=0, n=len(prose.load(page).experiments))
    assert any(m.value.startswith(count) for m in at.markdown)


FULL = (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"), MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: not enough memory: you tried to "
                     "allocate 21474836480 bytes."))
BROKEN = RuntimeError("The size of tensor a (3) must match the size of tensor b (4).")


def test_full_memory_is_known_by_its_many_names():
    assert all(map(devices.is_out_of_memory, FULL)) and not devices.is_out_of_memory(BROKEN)


@pytest.mark.parametrize("error, label", [(FULL[0], "error_memory"), (BROKEN, "error")],
                         ids=["full memory", "a broken pass"])
@pytest.mark.parametrize("page", PAGES)
def test_a_pass_that_fails_is_said_in_plain_words_and_costs_the_reader_nothing(
        page: str, error: Exception, label: str, monkeypatch: pytest.MonkeyPatch, empty_caches: None):
    passes = []

    def forward(*_args, **_kwargs):
        passes.append(page)
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(Transformer, "forward", forward)
        at = opened(page, "The cat sat on")
        passes.clear()                                           # those of the page that the app opened with
        at.run()
        said = prose.load("app").label(label) in [e.value for e in at.error]
        assert not at.exception and said == bool(passes)         # Positions opens on waves, which need no pass
        assert at.session_state["prompt"] == "The cat sat on"
    at.run()
    assert not at.exception and not at.error and at.session_state["prompt"] == "The cat sat on"
