"""The recipes: what the settings of a run mean, and what every bundled model is trained with."""
import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch

from core.model.config import POSITIONS, SCORES
from core.model.tokenizer import SYSTEM, Tokenizer
from core.model.transformer import Transformer
from core.training.language_modelling import LanguageModelling, Mixture, TaskContext
from core.training.loss import to_tensors
from core.training.recipes import RECIPES, TrainingConfig, stories_tokenizer
from core.training.repetition import RepeatedPassages
from core.training.run import parser

# Settings

def test_learning_rate_by_hand():
    config = TrainingConfig(steps=100, learning_rate=1.0, warmup_steps=9)
    assert config.learning_rate_at(0) == pytest.approx(0.1)
    assert config.learning_rate_at(4) == pytest.approx(0.5 * 0.5 * (1 + math.cos(0.04 * math.pi)))
    assert config.learning_rate_at(50) == pytest.approx(0.5)
    assert config.learning_rate_at(100) == pytest.approx(0.0)


def test_a_rate_that_is_constant_and_then_goes_down_in_a_straight_line():
    config = TrainingConfig(steps=100, learning_rate=1.0, warmup_steps=9, decay=0.4)
    assert config.learning_rate_at(0) == pytest.approx(0.1)
    assert config.learning_rate_at(10) == config.learning_rate_at(60) == 1.0
    assert config.learning_rate_at(80) == pytest.approx(0.5) and config.learning_rate_at(100) == 0


def test_minutes_bring_the_end_of_the_schedule_forward():
    config = TrainingConfig(steps=1000, minutes=10, learning_rate=1.0, warmup_steps=0)
    assert config.learning_rate_at(100, seconds=300) == pytest.approx(0.5)
    assert config.progress(100, 300) == 0.5 and config.progress(700, 300) == 0.7 and config.progress(1, 601) == 1.0


@pytest.mark.parametrize("wrong", [dict(steps=0), dict(minutes=0), dict(learning_rate=-1), dict(warmup_steps=-1),
                                   dict(precision="int8"), dict(clip_norm=math.nan), dict(optimizer="sgd"),
                                   dict(decay=0.0), dict(decay=1.5)])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError):
        TrainingConfig(**wrong)


# The bundled models

def difference(name: str, other: str) -> set[str]:
    """The fields in which two recipes' architectures differ."""
    a, b = (RECIPES[n].model.to_dict() for n in (name, other))
    return {field for field in a if a[field] != b[field]}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_a_command_and_a_vocabulary_that_fits(name):
    arguments = parser().parse_args([name, "--run-folder", "r"])
    assert (arguments.name, arguments.steps, arguments.seed) == (name, None, None)
    recipe = RECIPES[name]
    assert recipe.name == name and recipe.stages
    assert (list(recipe.milestones) == sorted(set(recipe.milestones))
            and all(m <= sum(stage.training.steps for stage in recipe.stages) for m in recipe.milestones))


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith(("stories", "positions", "scores"))])
def test_models_of_text_share_one_tokenizer(name):
    assert RECIPES[name].tokenizer is stories_tokenizer
    assert RECIPES[name].model.vocab_size == stories_tokenizer().vocab_size
    assert all(isinstance(stage.task, (LanguageModelling, Mixture)) for stage in RECIPES[name].stages)


def test_the_small_model_is_small_and_has_a_dense_childhood():
    recipe = RECIPES["stories-small"]
    assert 2e6 < Transformer(recipe.model).n_parameters < 3e6
    assert recipe.model.d_k == 32 and 16 <= len(recipe.milestones) <= 24 and recipe.milestones[:5] == (0, 1, 2, 4, 8)


def test_a_family_differs_in_one_thing_alone():
    schemes, scores = ([f"positions-{scheme}" for scheme in POSITIONS],
                       [f"scores-{score}" for score in SCORES if score != "dot"])
    for names, field in ((schemes, "positions"), (["positions-learned", *scores], "score")):
        for name in names[1:]:
            assert difference(names[0], name) == {field}
            assert RECIPES[name].stages == RECIPES[names[0]].stages
    assert {Transformer(RECIPES[name].model).n_parameters // 100_000 for name in schemes} == {8}


def test_no_recipe_trains_on_what_is_measured():
    for recipe in RECIPES.values():
        tasks = [task for stage in recipe.stages for task in ([part for part, _ in stage.task.parts]
                                                              if isinstance(stage.task, Mixture) else [stage.task])]
        for task in (task for task in tasks if isinstance(task, LanguageModelling)):
            assert not set(task.measured) & {name for name, _ in task.texts}


# Text as a task

@pytest.fixture
def context(tmp_path) -> TaskContext:
    (tmp_path / "a.txt").write_text("the cat\n<|endoftext|>\n" * 10)
    (tmp_path / "b.txt").write_text("a dog\n<|endoftext|>\n" * 6)
    model = dataclasses.replace(RECIPES["stories-small"].model, vocab_size=257, n_context=8)
    return TaskContext(model, Tokenizer.train(["the cat"], 257), tmp_path, batch_size=2, seed=0)


def test_an_epoch_reads_each_text_by_its_weight(context):
    """20 readings of `the cat`, with two t each, and 3 of `a dog`, with one d, save those in a last row that
    fills no batch.
    """
    task = LanguageModelling((("a.txt", 2), ("b.txt", 0.5)), measured=())
    n_steps = task.steps_per_epoch(context)
    targets = np.concatenate([batch.targets for batch in itertools.islice(task.batches(context), n_steps)])
    d, t = context.tokenizer.encode("d")[0], context.tokenizer.encode("t")[0]
    assert abs(int((targets == t).sum()) - 40) <= 4 and abs(int((targets == d).sum()) - 3) <= 1


def test_teaching_text_and_canaries_are_read_too(context):
    plain = LanguageModelling((("a.txt", 1),), measured=())
    sizes = [len(dataclasses.replace(plain, **extra).sources(context))
             for extra in ({}, dict(teaching=5), dict(teaching=5, canaries=True))]
    assert sizes == [1, 2, 3]


def test_chats_are_read_with_their_markers(context):
    context = dataclasses.replace(context, tokenizer=stories_tokenizer())
    chats = LanguageModelling((), chats=5, measured=()).sources(context)[0].documents
    assert len(chats) == 5 and all(chat[0] == context.tokenizer.markers[SYSTEM] for chat in chats)


def test_dropout_is_for_training_alone(context):
    """The same batch gives another loss each time, without dropout the same."""
    plain = LanguageModelling((("a.txt", 1),), measured=("b.txt",))
    task, model = dataclasses.replace(plain, dropout=0.5), Transformer(context.model).initialise(
        torch.Generator().manual_seed(0))
    batch = to_tensors(next(task.batches(context)), "cpu")
    assert task.loss(model, batch) != task.loss(model, batch)
    assert plain.loss(model, batch) == plain.loss(model, batch)
    assert task.held_out(model, context) == plain.held_out(model, context)


def test_a_missing_text_is_named(context):
    with pytest.raises(FileNotFoundError, match="c.txt"):
        next(LanguageModelling((("c.txt", 1),)).batches(context))


def test_a_mixture_gives_each_task_its_rows(context):
    """Two rows of text and one of a repeated passage make one batch; epochs are counted by the text."""
    text, passages = LanguageModelling((("a.txt", 2), ("b.txt", 0.5)), measured=()), RepeatedPassages(text_share=0.0)
    context = dataclasses.replace(context, model=dataclasses.replace(context.model, n_context=32))
    mixed = dataclasses.replace(context, batch_size=3)
    task = Mixture(((text, 2), (passages, 1)))
    alone = [next(t.batches(dataclasses.replace(context, batch_size=n))) for t, n in ((text, 2), (passages, 1))]
    batch = next(task.batches(mixed))
    assert (np.array_equal(batch.inputs, np.concatenate([b.inputs for b in alone]))
            and np.array_equal(batch.targets, np.concatenate([b.targets for b in alone])))
    assert task.steps_per_epoch(mixed) == text.steps_per_epoch(context)
    with pytest.raises(ValueError, match="3 rows"):
        next(task.batches(context))
