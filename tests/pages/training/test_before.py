"""Questions before the pictures of Training: each answer by a second computation, and statements that are true of what
the picture is given. And the recorded runs, which are real ones.
"""
from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
import torch

from core.app.compute import cache
from core.figures.numbers import readable
from core.learning import kepler, recorded, tuning, tuning_texts
from core.learning.learner import TASKS, Knobs, Learner
from core.model import checkpoints
from pages.training import fine_tuning, tuning_parts
from pages.training.recorded_tuning import tuning_run
from tests.helpers.lessons import fine, open_at
from tests.helpers.predictions import ask, commit, modes, question, statements
from tests.pages.training.test_training import WORDS, paid, run_of, until

pytestmark = pytest.mark.long

TALE = "Tom had a dog. The dog ran to the park and barked at a cat. The cat sat in a tree."


def told(name: str, guess: object = 1, **query: str) -> dict:
    return commit(ask("training", name, **query), "training", name, guess)


def place(value: float, *limits: float) -> int:
    """The option in which a value lies, of those that the limits part."""
    return sum(value >= limit for limit in limits)


@pytest.mark.parametrize("query", [{}, {"prompt": TALE}, {"prompt": TALE, "model": "stories-small"}])
def test_the_most_surprising_token(query: dict):
    shown = told("forcing", **query)
    run = run_of(query.get("prompt") or open_at("training").session_state["prompt"], query.get("model", "stories"))
    losses = paid(run, run.token_ids)
    assert shown["answer"] == 1 + int(np.argmax(losses)) and shown["true"] == statements("training", "forcing")[0]
    assert max(losses) > 2 * np.mean(losses)


@pytest.mark.parametrize("task, option", [("copying", 2), ("sorting", 2), ("addition", 3)])
def test_how_soon_a_small_model_has_learned(task: str, option: int):
    at = ask("training", "live", training_task=task)
    assert WORDS.label(f"asked_{task}") in question(at)["question"]
    shown = commit(at, "training", "live", 0)
    kept = next(run for run in json.loads(recorded.FILE.read_text())["runs"] if run["task"] == task)["history"]
    steps, losses = [row["step"] for row in kept], [row["held_out"] for row in kept]
    step = next(row["step"] for row in kept if row["accuracy"] >= 0.9)
    rows = 32 * step
    assert shown["answer"] == place(rows, 100, 1000, 20_000) == option and shown["said"] == f"{rows:,}"
    assert f"After {step:,} steps of 32 rows, which are {rows:,}" in shown["reason"]
    assert shown["true"] == statements("training", "live")[0]
    middle = np.interp(steps[-1] / 2, steps, losses)
    assert middle < 0.3 * losses[0] and losses[-1] < 0.1 and losses[-1] < 1.1 * min(losses)


def test_where_no_answer_is_right_or_nothing_was_recorded_nothing_is_asked():
    for query in ({"training_task": "grammar"}, {"training_size": "medium"}, {"training_rate": "-4.0"}):
        at = open_at("training", ask="true", training_view="live", **query)
        assert fine(at) and "ask" not in modes(at), query


@pytest.mark.parametrize("task, optimizer, power", recorded.RUNS)
def test_a_recorded_run_is_what_the_same_settings_give(task: str, optimizer: str, power: float):
    knobs = Knobs(optimizer, 10.0 ** power, recorded.SCHEDULE)
    kept, learner = recorded.live_run(task, "tiny", 0, knobs), Learner(TASKS[task](), "tiny", 0, knobs)
    next(learner.learn())
    for there, here in zip(kept.history[:2] if kept.history[1].step == 10 else kept.history[:1], learner.history):
        assert there.step == here.step and there.held_out == pytest.approx(here.held_out, rel=1e-3)
    assert kept.pattern.shape == learner.pattern.shape
    assert torch.allclose(kept.pattern.sum(-1), torch.ones(()), atol=0.02)


def test_the_live_view_opens_on_a_recorded_run_says_so_and_runs_a_real_one():
    at = open_at("training", training_view="live")
    title = next(m.value for m in at.markdown if m.value.startswith(f"**{WORDS.label('recorded')}"))
    assert "After step 300" in title and at.button("training_run").label == WORDS.label("train_here")
    at.button("training_run").click().run()
    job = list(at.session_state["training_jobs"].values())[-1]
    assert until(lambda: job.records)
    job.stop()
    job.wait(60)
    at.run()
    assert fine(at) and not [m for m in at.markdown if m.value.startswith(f"**{WORDS.label('recorded')}")]
    assert fine(other := open_at("training", training_view="live", training_rate="-4.0"))
    assert any("random weights" in m.value for m in other.markdown)


def test_half_of_the_fall_is_over_soon():
    shown, moments = told("childhood", 2), checkpoints.history("stories-small")
    losses = [moment.held_out["heldout_tinystories"] for moment in moments]
    half = (losses[0] + losses[-1]) / 2
    step = min(moment.step for moment, loss in zip(moments, losses) if loss <= half)
    assert shown["answer"] == place(step / moments[-1].step, 0.05, 1 / 3, 2 / 3) == 0
    assert f"By step {step}, {shown['said']} of the way" in shown["reason"]
    assert shown["true"] == statements("training", "childhood")[0]
    scores = np.array([moment.induction_score for moment in moments])
    assert scores[:len(scores) - 4].max() < 0.1 and np.diff(scores).max() > 0.4 and losses[4] < losses[0]


@pytest.mark.parametrize("kind, option", [*((kind, 2 if kind in ("instructions", "ending") else 3)
                                           for kind in tuning_texts.KINDS), ("fact", 3)])
def test_what_tuning_does_to_the_models_own_stories(kind: str, option: int):
    shown, run = told("tuning", 0, training_pairs=kind), tuning_run("tuned", kind)
    first, last = run.history[0], run.history[-1]
    assert shown["answer"] == place(last.old / first.old, 0.98, 1.02, 1.5) == option and last.step == tuning.ROUND
    assert f"{readable(last.old)} nats" == shown["said"]
    assert last.held_out < first.held_out and last.old > 1.02 * first.old
    gaps = np.array([record.held_out - record.old for record in run.history])
    seen = 0 if gaps.min() < 0 < gaps.max() else 1 if gaps.max() < 0 else 2
    assert shown["true"] == statements("training", "tuning")[seen] and seen == (1 if kind == "ending" else 0)


@pytest.mark.parametrize("name, n", [("tuned", 200), ("scratch", 200), ("tuned", 10), ("scratch", 10)])
def test_a_recorded_tuning_is_what_the_same_settings_give(name: str, n: int):
    loaded = cache.shared_model("stories-small", "cpu")
    loaded = tuning_parts.untrained(loaded) if name == "scratch" else loaded
    run = tuning_run(name, "feeling" if n == fine_tuning.N_TRAIN else f"feeling {n}")
    train, held_out = (fine_tuning.encoded(loaded, part) for part in tuning_texts.pairs("feeling", 200, 24, 0))
    tuner = tuning.SupervisedTuner(loaded.model, tuning.old_text(loaded.model), train[:n], held_out)
    next(tuner.learn())
    for there, here in zip(run.history, tuner.history):
        assert (there.step, there.held_out, there.old) == pytest.approx((here.step, here.held_out, here.old), rel=2e-3)
    assert run.history[-1].step == tuning.ROUND


def test_the_recorded_examples_are_those_of_the_held_out_pairs():
    loaded, run = cache.shared_model("stories-small", "cpu"), tuning_run("tuned", "feeling")
    held_out = fine_tuning.encoded(loaded, tuning_texts.pairs("feeling", 200, 24, 0)[1])
    assert len(run.examples) == len(held_out)
    for example, pair in zip(run.examples, held_out):
        assert len(example.values) == len(pair.answer)
    assert run.history[-1].held_out == pytest.approx(
        np.mean([value for example in run.examples for value in example.values]), rel=1e-3)


def test_tuning_opens_on_a_recorded_run_and_tells_what_it_lacks():
    at = open_at("training", training_view="tuning")
    assert any(m.value.startswith(f"**{WORDS.label('recorded')} After 100 steps") for m in at.markdown)
    assert any("good ‹end›" in m.value for m in at.markdown)
    own = open_at("training", training_view="tuning", training_asked="prompt")
    assert fine(own) and any(c.value == WORDS.label("recorded_other") for c in own.caption)
    none = open_at("training", training_view="tuning", training_parts="last")
    assert fine(none) and not [m for m in none.markdown if m.value.startswith(f"**{WORDS.label('recorded')}")]


@pytest.mark.parametrize("judge", tuning_texts.JUDGES)
def test_a_recorded_alignment_shows_its_margins(judge: str):
    at, run = open_at("training", training_view="tuning", training_stage="aligned", training_judge=judge), tuning_run(
        "aligned", judge)
    margins = [(a - b) - (c - d) for a, b, c, d in (example.values for example in run.examples)]
    table = at.dataframe[0].value
    assert fine(at) and table["margin m"].tolist() == pytest.approx(margins)
    assert 0.1 * np.mean(margins) == pytest.approx(run.history[-1].margin, abs=1e-3)
    assert np.mean([m > 0 for m in margins]) == pytest.approx(run.history[-1].right, abs=0.02)


@pytest.mark.parametrize("query", [{}, {"prompt": TALE, "training_row_length": "8"}])
def test_how_much_of_padded_rows_stays_empty(query: dict):
    at = ask("training", "packing", **query)
    shown = commit(at, "training", "packing", 0)
    n, tokenizer = int(query.get("training_row_length", 16)), cache.shared_model("stories", "cpu").tokenizer
    sentences = [sentence.strip() for sentence in re.findall(r"[^.]+\.?", at.session_state["prompt"])]
    lengths = [len(tokenizer.encode(sentence)) + 1 for sentence in sentences]
    rows = sum(math.ceil(length / n) for length in lengths)
    empty = 1 - sum(lengths) / (n * rows)
    assert shown["answer"] == place(empty, 0.1, 0.25, 0.5) and shown["said"] == f"{100 * empty:.1f}\u00a0%"
    # a document that goes on in a later row takes one more place there, for the mark before it
    packed = math.ceil((sum(lengths) + len(lengths)) / n)
    assert shown["true"] == statements("training", "packing")[0 if packed < rows else 1]


def test_a_prompt_of_one_document_is_not_called_the_readers():
    assert WORDS.label("packing_ours") in question(ask("training", "packing", prompt="One"))["question"]


def test_what_is_left_halfway_of_a_root():
    shown = told("schedules", 50)
    assert shown["answer"] == round(100 * math.sqrt(100 / 1001)) and "100 steps" in shown["question"]
    assert told("schedules", 50, training_warmup="0", training_floor="20")["answer"] == 20
    assert told("schedules", 50, training_warmup="50")["answer"] == 100
    shown = told("schedules", 50, training_total="4000", training_warmup="10")
    assert shown["answer"] == round(100 * math.sqrt(400 / 2001))
    assert shown["true"] == statements("training", "schedules")[0]
    for query in ({"training_part": "descent"}, {"training_like": "LLaMA (65B)"}):
        at = open_at("training", ask="true", training_view="schedules", **query)
        assert fine(at) and "ask" not in modes(at)


@pytest.mark.parametrize("structure", kepler.STRUCTURES)
@pytest.mark.parametrize("noise", ["0.0", "1.0", "32.0"])
def test_how_soon_an_orbit_is_fitted(structure: str, noise: str):
    shown = told("kepler", 3, training_structure=structure, training_noise=noise)
    fit = kepler.fit(structure, "lm", *kepler.measure(24, float(noise), 0))
    assert shown["answer"] == place(fit.steps[-1], 2, 21, 1001) and shown["said"] == f"{fit.steps[-1]} steps"
    assert shown["true"] == statements("training", "kepler")[0]
    assert all(fit.train[1:] <= fit.train[:-1] * (1 + 1e-9)) and fit.train[1] < 0.5 * fit.train[0]
    assert fit.train[-2] == pytest.approx(fit.train[-1], rel=0.02, abs=1e-6)
    assert str(kepler.STRUCTURES[structure].n_numbers) in shown["question"]
