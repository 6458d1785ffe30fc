"""Going on with what repeats: the rows by hand, what counts in them, and what the bundled model's heads do."""
import itertools

import numpy as np
import pytest
import torch

from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.training.corpus import IGNORE
from core.training.language_modelling import TaskContext
from core.training.recipes import stories_tokenizer
from core.training.repetition import RepeatedPassages, TwoBack, random_tokens, repeated, running_text, small_tokenizer

pytestmark = pytest.mark.long

RANDOM, TEXT = RepeatedPassages(text_share=0.0), RepeatedPassages(text_share=1.0)


@pytest.fixture(scope="module")
def context() -> TaskContext:
    config = ModelConfig(vocab_size=4096, d_model=16, n_layers=2, n_heads=2, n_context=40, d_ff=None)
    return TaskContext(config, stories_tokenizer(), None, batch_size=6, seed=3)


def first(task: RepeatedPassages, context: TaskContext, n: int = 20) -> list:
    return list(itertools.islice(task.batches(context), n))


def test_a_row_by_hand():
    inputs, targets = repeated(np.array([5, 6, 7]), 8, end_of_text=0, counted_from=1)
    assert inputs.tolist() == [0, 5, 6, 7, 5, 6, 7, 5] and targets.tolist() == [IGNORE, 6, 7, 5, 6, 7, 5, 6]


@pytest.mark.parametrize("task, reads_first", [(RANDOM, False), (TEXT, True)])
def test_rows_repeat_and_the_first_reading_counts_in_text_alone(context, task, reads_first):
    """Every row is periodic; a random row counts from its second period on, a row of text from its second token on."""
    for batch in first(task, context):
        assert batch.inputs.shape == batch.targets.shape == (6, 40) and (batch.inputs[:, 0] == 0).all()
        for inputs, targets in zip(batch.inputs, batch.targets):
            counted = targets != IGNORE
            assert (targets[:-1][counted[:-1]] == inputs[1:][counted[:-1]]).all()
            start = int(counted.argmax())
            assert counted[start:].all() and not counted[:start].any()
            if reads_first:
                assert start == 1
            else:
                row = np.append(inputs[1:], targets[-1])
                assert 8 <= start <= 20 and (row[start:] == row[:-start]).all()


def test_the_same_context_gives_the_same_rows(context):
    task = RepeatedPassages()
    assert all((a.inputs == b.inputs).all() and (a.targets == b.targets).all()
               for a, b in zip(first(task, context), first(task, context)))


def test_half_of_the_passages_are_text(context):
    """A row of text counts from its second token; random rows never do. Of 1,200, half, within four deviations."""
    shares = [(batch.targets[:, 1] != IGNORE).mean() for batch in first(RepeatedPassages(), context, 200)]
    assert abs(np.mean(shares) - 0.5) < 4 * (0.25 / 1200) ** 0.5


def test_random_tokens_are_all_but_the_end_of_text(context):
    ids = random_tokens(200_000, context.tokenizer, np.random.default_rng(0))
    counts = np.bincount(ids, minlength=4096)
    assert counts[0] == 0 and (counts[1:] > 0).all() and len(counts) == 4096
    assert abs(counts[1:] - 200_000 / 4095).max() < 6 * (200_000 / 4095) ** 0.5


def test_text_is_the_teaching_text(context):
    text = running_text(context.tokenizer)
    assert "The sentiment of the sentence" in context.tokenizer.decode(text[:20_000])


def test_two_back(context):
    """Every target is the input two places before; the end of text is never one."""
    batch = first(TwoBack(), context, 1)[0]
    assert batch.inputs.shape == (6, 40) and (batch.inputs[:, 0] == 0).all() and (batch.inputs[:, 1:] > 0).all()
    assert (batch.targets[:, :3] == IGNORE).all() and (batch.targets[:, 3:] == batch.inputs[:, 1:-2]).all()
    assert ((first(TwoBack(), context, 1)[0].inputs == batch.inputs).all()
            and (first(TwoBack(), context, 2)[1].inputs != batch.inputs).any())


def test_the_small_tokenizer():
    tokenizer = small_tokenizer()
    assert tokenizer.vocab_size == 512 and tokenizer.decode(tokenizer.encode("Zoë likes 🍎.")) == "Zoë likes 🍎."


def test_what_is_measured_is_always_the_same(context):
    """Zero weights: every token equally probable, so ln 4096 on each, and a guess that is right as often as one
    token is asked for.
    """
    zero = Transformer(context.model).requires_grad_(False)
    measures = RANDOM.held_out(zero, context)
    assert measures["repeated"] == pytest.approx(np.log(4096), abs=1e-5) and measures["repeated, right"] == 0.0
    model = Transformer(context.model).initialise(torch.Generator().manual_seed(0)).requires_grad_(False)
    assert RANDOM.held_out(model, context) == TEXT.held_out(model, context)
