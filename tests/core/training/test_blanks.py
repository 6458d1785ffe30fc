"""Filling in blanks: what is hidden and how, rows of one length, the loss by hand, and what the bundled model can do.
"""
import itertools
import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from core.model import checkpoints
from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import teaching_text
from core.training.blanks import (
    CLASSES,
    BlanksBatch,
    MaskedLanguageModelling,
    excerpts,
    held_out_sentiment,
    hide,
    labelled,
    sentiment_sentences,
)
from core.training.corpus import IGNORE, of_one_length
from core.training.language_modelling import TaskContext

STORY = 'The cat sat on the mat. "Are you a dog?" said the rat! The cat was not. It ran. The dog ran too.\nThe end.'
TASK = MaskedLanguageModelling((("story.txt", 1.5),), sentences=3)


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.train([STORY] * 4, 300).with_mask()


@pytest.fixture(scope="module")
def context(tok, tmp_path_factory) -> TaskContext:
    folder: Path = tmp_path_factory.mktemp("corpus")
    (folder / "story.txt").write_text(f"{STORY}\n<|endoftext|>\n" * 20)
    config = ModelConfig.of(vocab_size=tok.vocab_size, d_model=16, n_layers=2, n_heads=2, n_context=48, kind="encoder",
                         n_classes=2, mask_token=tok.mask_token)
    return TaskContext(config, tok, folder, batch_size=4, seed=5)


@pytest.fixture(scope="module")
def model(context) -> Transformer:
    return Transformer(context.model).initialise(torch.Generator().manual_seed(1)).requires_grad_(False)


def rows_to_hide(tok: Tokenizer, n_rows: int, length: int) -> np.ndarray:
    ids = np.random.default_rng(0).integers(1, tok.vocab_size - 1, (n_rows, length))
    ids[:, 0] = tok.end_of_text
    return ids


# Hiding

@pytest.mark.parametrize("length, hidden", [(2, 1), (5, 1), (11, 2), (21, 3), (41, 6), (128, 19)])
def test_fifteen_percent_of_each_row_are_targets(tok, length, hidden):
    """By hand: 15 % of 10, 20, 40, 127 tokens are 1.5, 3, 6, 19.05; and never none."""
    rows = rows_to_hide(tok, 50, length)
    inputs, targets = hide(rows, tok, np.random.default_rng(1))
    assert ((targets != IGNORE).sum(1) == hidden).all()


def test_targets_are_what_stood_there_and_all_else_stays(tok):
    rows = rows_to_hide(tok, 200, 30)
    inputs, targets = hide(rows, tok, np.random.default_rng(1))
    chosen = targets != IGNORE
    assert (targets[chosen] == rows[chosen]).all() and (inputs[~chosen] == rows[~chosen]).all()
    assert not chosen[:, 0].any() and (inputs[:, 0] == tok.end_of_text).all()
    assert not (inputs[:, 1:] == tok.end_of_text).any()


def test_how_the_hidden_are_shown(tok):
    """The 12,000 hidden tokens: 80 % are blanks, 10 % random and 10 % themselves (and one random token in 299 happens
    to be): four deviations allowed.
    """
    rows = rows_to_hide(tok, 4000, 21)
    inputs, targets = hide(rows, tok, np.random.default_rng(2))
    chosen = targets != IGNORE
    shown, n = inputs[chosen], chosen.sum()
    assert n == 12_000
    same = 0.1 + 0.1 / (tok.vocab_size - 2)
    for share, expected in (((shown == tok.mask_token).mean(), 0.8), ((shown == targets[chosen]).mean(), same)):
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / n)
    # no place is preferred
    assert np.abs(chosen[:, 1:].mean(0) - 0.15).max() < 4 * math.sqrt(0.15 * 0.85 / 4000)


def test_hiding_again_hides_the_same(tok):
    rows = rows_to_hide(tok, 5, 12)
    first, again, other = (hide(rows, tok, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first, again)) and (first[1] != other[1]).any()


def test_a_row_needs_something_to_hide(tok):
    with pytest.raises(ValueError, match="besides its first"):
        hide(np.zeros((2, 1), dtype=np.int64), tok, np.random.default_rng(0))


# Rows

def test_excerpts_are_the_document():
    sentences = ["The cat sat on the mat.", '"Are you a dog?"', "said the rat!", "The cat was not.", "It ran.",
                 "The dog ran too.", "The end."]
    for seed in range(20):
        pieces = excerpts(STORY, np.random.default_rng(seed))
        assert " ".join(pieces).split() == STORY.split()
        assert all(any(piece.startswith(sentence) for sentence in sentences) for piece in pieces)
    assert len({len(excerpts(STORY, np.random.default_rng(seed))) for seed in range(20)}) > 2


def test_groups_of_one_length_by_hand():
    rows = [([1], 10), ([1, 2], 20), ([3], 30), ([4], 40), ([5, 6], 50)]
    groups = [tuple(map(list, zip(*group))) for group in of_one_length(rows, lambda length: 2)]
    assert groups == [([[1], [3]], [10, 30]), ([[1, 2], [5, 6]], [20, 50])]
    for size, numbers in ((3, [[10, 30, 40], [20, 50]]), (2, [[10, 30], [20, 50], [40]])):
        groups = of_one_length(rows, lambda length, size=size: size, emptied=True)
        assert [[number for _, number in group] for group in groups] == numbers


def test_sentences_come_bare_with_their_label_and_none_is_held_out():
    kept_back = {labelled(exercise) for exercise in teaching_text.held_out("sentiment", 200)}
    met = list(itertools.islice(sentiment_sentences(random.Random(0)), 3000))
    assert not kept_back & set(met)
    assert all(label in (0, 1) and "sentiment" not in sentence and '"' not in sentence for sentence, label in met)
    assert 0.4 < np.mean([label for _, label in met]) < 0.6
    assert all(CLASSES[label] == ("positive" if " love " in sentence else "negative") for sentence, label in met
               if " love " in sentence or " hate " in sentence)


def test_batches(context, tok):
    """Each of one length, within the context, as many tokens as 4 rows of 48; the same context gives the same."""
    batches = list(itertools.islice(TASK.batches(context), 30))
    for batch in batches:
        n_rows, length = batch.inputs.shape
        assert batch.targets.shape == batch.inputs.shape and length <= 48 and n_rows == 4 * 48 // length
        assert (batch.inputs[:, 0] == tok.end_of_text).all() and (batch.sentences[:, 0] == tok.end_of_text).all()
        assert tok.mask_token not in batch.sentences and len(batch.sentences) == len(batch.labels) == 3
        assert batch.n_targets == (batch.targets != IGNORE).sum() + 3
    again = list(itertools.islice(TASK.batches(context), 30))
    assert all((a.inputs == b.inputs).all() and (a.targets == b.targets).all() and (a.sentences == b.sentences).all()
               for a, b in zip(batches, again))


def test_without_a_corpus_the_files_are_named(context):
    with pytest.raises(ValueError, match="story.txt"):
        next(TASK.batches(TaskContext(context.model, context.tokenizer, None, 4, 5)))


# Loss

def test_loss_by_hand(model, context):
    """Two hidden tokens and one label: a third of the sum of the three −log p, each read off the plain forward pass."""
    mask = context.tokenizer.mask_token
    inputs, sentence = torch.tensor([[0, 5, mask, 7], [0, mask, 9, 9]]), torch.tensor([[0, 20, 30]])
    targets = torch.full((2, 4), IGNORE)
    targets[0, 2], targets[1, 1] = 6, 8
    logits, class_logits = model(inputs).logits, model(sentence).class_logits
    by_hand = -(torch.log_softmax(logits[0, 2], -1)[6] + torch.log_softmax(logits[1, 1], -1)[8]
                + torch.log_softmax(class_logits[0], -1)[1]) / 3
    assert (float(TASK.loss(model, BlanksBatch(inputs, targets, sentence, torch.tensor([1]))))
            == pytest.approx(float(by_hand), abs=1e-5))


def test_an_even_head_loses_ln_2_on_every_label(context):
    """Zero weights: all tokens and both classes equally probable, so (n ln |V| + m ln 2) / (n + m)."""
    zero = Transformer(context.model)
    batch = next(TASK.batches(context))
    n, m = int((batch.targets != IGNORE).sum()), len(batch.labels)
    as_tensors = BlanksBatch(*(torch.from_numpy(a)
                               for a in (batch.inputs, batch.targets, batch.sentences, batch.labels)))
    expected = (n * math.log(context.tokenizer.vocab_size) + m * math.log(2)) / (n + m)
    assert float(TASK.loss(zero, as_tensors).detach()) == pytest.approx(expected, abs=1e-5)


def test_what_is_measured_is_always_the_same(model, context):
    task = MaskedLanguageModelling((), measured="story.txt", measured_sentences=20)
    measures = task.held_out(model, context)
    assert (set(measures) == {"story", "story, right", "sentiment", "sentiment, right"}
            and measures == task.held_out(model, context))
    assert measures["story"] > 0 and 0 <= measures["sentiment, right"] <= 1
    assert held_out_sentiment(model, context.tokenizer, 20).n == 20


def test_a_model_and_a_tokenizer_with_another_mask_do_not_fit(context, tmp_path):
    config = ModelConfig.of(vocab_size=context.tokenizer.vocab_size, d_model=8, n_layers=1, n_heads=1,
                         n_context=8, mask_token=5)
    with pytest.raises(ValueError, match="mask is token 5, its tokenizer's"):
        checkpoints.save(tmp_path, Transformer(config), context.tokenizer, "")
