"""Calm and rude beginnings on their page: the shares of the sentence, the intervals and the question."""
from __future__ import annotations

import math

import pytest

from core.app.classroom.rude import is_fit
from core.base import prose
from core.language import tone
from core.language.tone import Continuation
from pages.limits import tone as tone_view
from tests.helpers import hostile
from tests.helpers.lessons import answer, fine
from tests.helpers.messages import formulas, numbers_in
from tests.pages.limits.test_limits import open_at
from tests.pages.limits.test_questions import run_of


def test_the_shares_and_their_intervals_are_counted_again():
    at = open_at(view="words", span="tone")
    assert fine(at)
    there = run_of()
    found = [one for name in tone.TONES
             for one in tone.continuations(there.model, there.tokenizer, name, range(6), 12, 24, seed=1)]
    ends = []
    for line, name in zip(formulas(at), tone.TONES, strict=True):
        right = sum(bool(tone.angry_words(one.text)) for one in found if one.tone == name)
        p, n, z = right / 72, 72, 1.959964
        centre, half = p + z * z / 2 / n, z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
        low, high = ((centre + sign * half) / (1 + z * z / n) for sign in (-1, 1))
        assert numbers_in(line)[-2:] == pytest.approx([low, high], abs=2e-4)
        ends.append((low, high))
    answer(at, "tone", 0 if ends[0][1] < ends[1][0] else 1)
    words = prose.load("limits")
    assert any(words.label("tone_apart" if ends[0][1] < ends[1][0] else "tone_near") in m.value for m in at.markdown)


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_no_example_is_rude_or_violent(seed: str):
    at = open_at(view="words", span="tone", seed=seed)
    assert fine(at) and len(at.table[0].value) == 4
    assert all(map(is_fit, at.table[0].value.to_numpy()[:, 1]))


def test_what_the_model_writes_is_shown_as_text(monkeypatch: pytest.MonkeyPatch):
    """A table reads Markdown in its cells."""
    written = [Continuation(name, sign, sign, ()) for name in tone.TONES for sign in hostile.SIGNS[:6]]
    monkeypatch.setattr(tone_view, "written", lambda *_: written)
    at = open_at(view="words", span="tone")
    assert fine(at) and len(at.table) == 1 and hostile.markup(at) == []
