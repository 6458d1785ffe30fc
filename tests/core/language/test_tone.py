"""Continuations of calm and rude beginnings: what counts as angry, and that they are drawn from the model."""
import pytest

from core.app.compute import cache
from core.language import tone


def test_angry_words_are_whole_words():
    assert tone.angry_words("He was Angry. They made a meaning of the badge.") == ("angry",)
    assert tone.angry_words("Go away, you are mean!") == ("mean", "go away")


def test_the_beginnings_come_in_pairs_and_none_is_angry_itself_where_it_is_calm():
    sets = tone.sets()
    assert len(sets["calm"]) == len(sets["rude"]) >= 6 and not any(map(tone.angry_words, sets["calm"]))
    assert all(a.split()[0] == b.split()[0] and a.split()[-1] == b.split()[-1]
               for a, b in zip(sets["calm"], sets["rude"]))


def test_more_continuations_are_angry_after_a_rude_beginning():
    shared = cache.shared_model("stories", "cpu")
    parts = list(tone.continuations(shared.model, shared.tokenizer, 4, 16, seed=2))
    found = [one for part in parts for one in part]
    assert len(parts) == 12 and len(found) == 48
    again = next(tone.continuations(shared.model, shared.tokenizer, 4, 16, seed=2))
    assert [one.text for one in again] == [one.text for one in parts[0]]
    calm, rude = (tone.share(found, name) for name in tone.TONES)
    assert calm.n == rude.n == 24 and rude.share > calm.share
    by_hand = sum(any(f" {word}" in f" {one.text.lower()}" for word in tone.sets()["angry"])
                  for one in found if one.tone == "rude")
    assert abs(by_hand - rude.right) <= 2 and rude.share == pytest.approx(rude.right / 24)
