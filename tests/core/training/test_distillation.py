"""Learning from teachers: the loss by hand, and what the teachers answer for."""
import dataclasses

import numpy as np
import pytest
import torch

from core.model import checkpoints
from core.model.checkpoints import CheckpointError
from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.corpus import IGNORE
from core.training.distillation import Distillation, teacher
from core.training.language_modelling import LanguageModelling, Mixture, TaskContext
from core.training.loss import next_token_loss, to_tensors
from core.training.recipes import RECIPES, TEACHERS
from core.training.repetition import RepeatedPassages

MODEL = ModelConfig(vocab_size=257, d_model=8, n_layers=1, n_heads=1, n_context=16)
PARTS = ((RepeatedPassages(text_share=0.0, shortest=4), 2), (LanguageModelling((("a.txt", 1),), measured=()), 3))


def model(seed: int) -> Transformer:
    return Transformer(MODEL).initialise(torch.Generator().manual_seed(seed))


@pytest.fixture
def context(tmp_path) -> TaskContext:
    (tmp_path / "a.txt").write_text("the cat sat on a mat\n<|endoftext|>\n" * 30)
    return TaskContext(MODEL, Tokenizer.train(["the cat"], 257), tmp_path, batch_size=5, seed=0)


@pytest.fixture
def task(tmp_path, context) -> Distillation:
    """With two teachers, whose runs lie in the folders 1 and 2."""
    for seed in (1, 2):
        checkpoints.save(tmp_path / str(seed) / "model", model(seed), context.tokenizer, "", torch.float32)
    return Distillation(PARTS, (str(tmp_path / "1"), str(tmp_path / "2")))


def test_the_batches_are_the_mixtures_and_the_last_part_is_taught(task, context):
    batch, plain = next(task.batches(context)), next(Mixture(PARTS).batches(context))
    assert np.array_equal(batch.inputs, plain.inputs) and np.array_equal(batch.targets, plain.targets)
    assert batch.taught.tolist() == [False, False, True, True, True] and batch.n_targets == plain.n_targets


@torch.no_grad()
def test_the_loss_by_hand(task, context):
    """A target of a taught row counts 0.3 of −log p(target) and 0.7 of the cross-entropy with the mean of what two
    teachers find probable; the others −log p(target).
    """
    batch, student = to_tensors(next(task.batches(context)), "cpu"), model(0)
    total, n = 0.0, 0
    for row, targets, taught in zip(batch.inputs, batch.targets, batch.taught):
        log_p = student(row).probs.log()
        q = (model(1)(row).probs + model(2)(row).probs) / 2
        for i in (targets != IGNORE).nonzero().flatten().tolist():
            right = -log_p[i, targets[i]]
            total += 0.3 * right - 0.7 * (q[i] * log_p[i]).sum() if taught else right
            n += 1
    assert task.loss(student, batch).item() == pytest.approx(float(total) / n, abs=1e-4)


def test_without_weight_it_is_the_loss_of_the_next_token(task, context):
    batch, student = to_tensors(next(task.batches(context)), "cpu"), model(0)
    assert dataclasses.replace(task, weight=0.0).loss(student, batch).item() == pytest.approx(
        next_token_loss(student.logits(batch.inputs), batch.targets).item(), abs=1e-5)


def test_the_teachers_do_not_learn(task, context):
    batch, student = to_tensors(next(task.batches(context)), "cpu"), model(0).requires_grad_(True)
    task.loss(student, batch).backward()
    assert all(p.grad is not None for p in student.parameters())
    assert not any(p.requires_grad for folder in task.teachers for p in teacher(folder, student.device).parameters())


def test_a_teacher_that_was_not_trained_is_named(task, context):
    batch = to_tensors(next(task.batches(context)), "cpu")
    with pytest.raises(CheckpointError, match="nowhere"):
        dataclasses.replace(task, teachers=("nowhere",)).loss(model(0), batch)


def test_stories_learns_from_the_teachers_that_have_recipes():
    task = RECIPES["stories"].stages[0].task
    assert task.teachers == tuple(f"runs/{name}" for name in TEACHERS)
    assert all(recipe.name == name and Transformer(recipe.model).n_parameters > 2e7
               and recipe.tokenizer is RECIPES["stories"].tokenizer for name, recipe in TEACHERS.items())
    assert task.parts[-1][0].texts == next(iter(TEACHERS.values())).stages[0].task.texts
