"""Continuations of calm and rude beginnings: what counts as angry, and that they are drawn from the model."""
import pytest
import torch

from core.app.compute import cache
from core.language import tone


def test_angry_words_are_whole_words():
    assert tone.angry_words("He was Angry. They made a meaning of the badge.") == ("angry",)
    assert tone.angry_words("Go away, you are mean!") == ("mean", "go away")


@pytest.mark.parametrize("calm", ["Stop! I'm here.", "I didn't mean to disturb you.", "It's just a silly toy.",
                                  "Ben felt bad.", "Ben shouted with joy."])
def test_words_that_are_angry_only_sometimes_do_not_count(calm: str):
    assert tone.angry_words(calm) == ()


def test_the_beginnings_come_in_pairs_and_none_is_angry_itself_where_it_is_calm():
    sets = tone.sets()
    assert len(sets["calm"]) == len(sets["rude"]) >= 6 and not any(map(tone.angry_words, sets["calm"]))
    assert all(a.split()[0] == b.split()[0] and a.split()[-1] == b.split()[-1]
               for a, b in zip(sets["calm"], sets["rude"]))


def test_more_continuations_are_angry_after_a_rude_beginning():
    shared = cache.shared_model("stories", "cpu")
    found = [one for name in tone.TONES
             for one in tone.continuations(shared.model, shared.tokenizer, name, range(6), 8, 24, seed=2)]
    assert len(found) == 96
    calm, rude = (tone.share(found, name) for name in tone.TONES)
    assert calm.n == rude.n == 48 and rude.share > calm.share
    by_hand = sum(any(f" {word}" in f" {one.text.lower()}" for word in tone.sets()["angry"])
                  for one in found if one.tone == "rude")
    assert abs(by_hand - rude.right) <= 2 and rude.share == pytest.approx(rude.right / 48)


def test_a_beginning_is_continued_in_the_same_way_whichever_others_are():
    """Six beginnings of different lengths side by side; each alone is drawn token by token from its own passes."""
    shared = cache.shared_model("stories", "cpu")
    together = tone.continuations(shared.model, shared.tokenizer, "rude", range(6), 3, 8, seed=5)
    assert len({len(shared.tokenizer.encode(beginning)) for beginning in tone.sets()["rude"]}) > 1
    for place in (0, 4):
        alone = tone.continuations(shared.model, shared.tokenizer, "rude", [place], 3, 8, seed=5)
        assert [one.text for one in together if one.beginning == tone.sets()["rude"][place]] == [
            one.text for one in alone]
        generator = torch.Generator().manual_seed(1_000_000 * place + 5)
        begun = (shared.tokenizer.first, *shared.tokenizer.encode(tone.sets()["rude"][place]))
        texts = [begun] * 3
        for _ in range(8):
            xi = torch.rand(3, 1, generator=generator, dtype=torch.float64)[:, 0].tolist()
            ends = [shared.model(torch.tensor(text)).logits[-1].double().softmax(-1).cumsum(-1) for text in texts]
            texts = [(*text, int((end <= x).sum())) for text, end, x in zip(texts, ends, xi)]
        end = shared.tokenizer.end_of_text
        assert [one.text for one in alone] == [
            shared.tokenizer.decode([*text[len(begun):], end][:[*text[len(begun):], end].index(end)])
            for text in texts]
