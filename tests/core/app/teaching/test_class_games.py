"""The model's words to a class that plays, against the logits themselves."""
import numpy as np
import pytest
import torch

from core.app.compute import cache
from core.app.state import run
from core.app.teaching import class_games
from core.model.intervention import HeadEdit, Intervention

TEXT = "Once upon a time, there was a little"


def test_each_word_has_the_probability_of_its_first_token_and_the_likeliest_tokens_follow():
    loaded = cache.shared_model("stories", "cpu")
    told = class_games.next_words(run.read(loaded, "Another prompt"), TEXT, ("girl", "dog", "zebra"))
    logits = run.read(loaded, TEXT).trace.logits[-1].double().numpy()
    p = np.exp(logits) / np.exp(logits).sum()
    ids = [loaded.tokenizer.encode(f" {word}")[0] for word in ("girl", "dog", "zebra")]
    assert [word for word, _ in told["bars"][:3]] == ["girl", "dog", "zebra"]
    assert [share for _, share in told["bars"][:3]] == pytest.approx(p[ids], rel=1e-5)
    assert [share for _, share in told["bars"][3:]] == pytest.approx(np.sort(p)[::-1][:4], rel=1e-5)
    assert told["bits"] == pytest.approx(-np.log2(p[ids[0]]), rel=1e-5)
    assert told["entropy"] == pytest.approx(-(p * np.log2(p)).sum(), rel=1e-5) and told["text"] == TEXT


@pytest.mark.parametrize("words", [(), ("",), ("x" * 60,), ("\U0001f4a9",), ("<b>", "`")])
def test_any_words_are_borne(words):
    told = class_games.next_words(run.read(cache.shared_model("stories", "cpu"), ""), TEXT, words)
    assert all(0 <= share <= 1 for _, share in told["bars"]) and len(told["bars"]) == len([*filter(None, words)]) + 4


def test_the_effect_of_each_head_is_the_divergence_of_a_pass_without_it():
    shown = run.read(cache.shared_model("stories", "cpu"), TEXT)
    found = class_games.effects(shown)
    assert found.shape == (shown.model.config.n_layers, shown.model.config.n_heads) and (found >= 0).all()
    for layer, head in ((0, 0), (3, 5), np.unravel_index(found.argmax(), found.shape)):
        with torch.inference_mode():
            without = shown.model(torch.tensor(shown.token_ids),
                                  Intervention(heads=(HeadEdit(int(layer), int(head)),))).logits[-1].double()
        log_p = torch.log_softmax(shown.trace.logits[-1].double(), -1)
        kl = (log_p.exp() * (log_p - torch.log_softmax(without, -1))).sum()
        assert found[layer, head] == pytest.approx(float(kl), rel=1e-4, abs=1e-9)


def test_a_head_to_choose_has_its_pattern_as_a_picture():
    shown = run.read(cache.shared_model("stories", "cpu"), TEXT)
    n = len(shown.tokens)
    for one in class_games.head_truth(shown, "x", None)["candidates"]:
        pattern = shown.trace.blocks[one["block"]].pattern[one["head"]].numpy()
        levels = np.array([int(digit, 16) for digit in one["picture"]]).reshape(n, n)
        assert abs(levels / 15 - pattern).max() <= 1 / 30 + 1e-6 and levels.any()
    long = run.read(cache.shared_model("stories", "cpu"), "The cat sat on the mat. " * 9)
    assert {len(one["picture"]) for one in class_games.head_truth(long, "x", None)["candidates"]} == {
        class_games.MOST_SIDE ** 2}


@pytest.mark.parametrize("guess", [None, True, -1, 48, 10 ** 9, "1", 2.5, []])
def test_a_pick_that_is_no_head_is_left_out(guess):
    shown = run.read(cache.shared_model("stories", "cpu"), TEXT)
    told = class_games.head_truth(shown, "x", guess)
    assert told["own"] == "" and "own_head" not in told and told["answer"] == int(class_games.effects(shown).argmax())
    assert class_games.head_truth(shown, "x", told["answer"])["own"] == told["said"]
