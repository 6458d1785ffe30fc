"""The training programme: packing, schedule, the same losses from the same seed, the same after a kill, and the loss of
the plain forward.
"""
import itertools
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from core.analysis.induction import induction
from core.model import checkpoints
from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import milestones
from core.training import run as training
from core.training.corpus import IGNORE, Source, batches, epoch_documents, pack, read_documents, tokenize
from core.training.distributed import ProcessGroup
from core.training.language_modelling import LanguageModelling
from core.training.loss import HeldOutLoss, held_out_loss, next_token_loss, windows
from core.training.recipes import RECIPES, Recipe, Stage, TrainingConfig, stories_tokenizer
from core.training.run import TrainingRun, TrainingStep, make_optimizer, train
from tests.helpers import two_processes

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]

MODEL = ModelConfig(vocab_size=12, d_model=16, n_layers=2, n_heads=2, n_context=8)
CONFIG = TrainingConfig(steps=12, batch_size=4, learning_rate=1e-2, warmup_steps=2)


def documents(n: int = 40, seed: int = 3) -> tuple[np.ndarray, ...]:
    """Rising runs of ids 1 to 11, 2 to 20 tokens long: easy to learn."""
    generator = np.random.default_rng(seed)
    return tuple((np.arange(generator.integers(2, 20)) % 11 + 1).astype(np.uint16) for _ in range(n))


SOURCES = [Source(documents())]


def training_steps(run: TrainingRun) -> Iterator[TrainingStep]:
    return train(run, batches(SOURCES, 8, 0, run.config.batch_size, run.config.seed))


def losses(run: TrainingRun, n: int | None = None) -> list[float]:
    return [step.loss for step in itertools.islice(training_steps(run), n)]


def ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint16)


# Packing

def test_packing_by_hand():
    """Documents 5 6 and 7 8 9, rows of 4: the first row has room for 7 as a target alone; the second reads it and does
    not count it again.
    """
    rows = pack([ids(5, 6), ids(7, 8, 9)], n_context=4, end_of_text=0)
    assert rows.inputs.tolist() == [[0, 5, 6, 0], [0, 7, 8, 9]]
    assert rows.targets.tolist() == [[5, 6, 0, 7], [IGNORE, 8, 9, 0]]


@pytest.mark.parametrize("n_context", [2, 3, 8, 64])
def test_every_token_is_a_target_once(n_context):
    texts = [ids(*range(100 * n + 1, 100 * n + 1 + length)) for n, length in enumerate((1, 2, 7, 8, 9, 30, 63, 64, 65))]
    rows = pack(texts, n_context, end_of_text=0)
    counted = rows.targets[rows.targets != IGNORE]
    assert sorted(counted[counted != 0].tolist()) == sorted(int(t) for text in texts for t in text)
    assert (rows.inputs[:, 0] == 0).all()


def test_a_target_is_the_next_token_of_its_document():
    """Ids count up inside a document: a target is its input plus one, a beginning after end of text, or the end of
    text after an end.
    """
    texts = [ids(*range(100 * n + 1, 100 * n + 1 + length)) for n, length in enumerate((3, 20, 9, 1, 16))]
    first, last = {int(t[0]) for t in texts}, {int(t[-1]) for t in texts}
    rows = pack(texts, 8, end_of_text=0)
    ends = 0
    for read, target in zip(rows.inputs.flatten().tolist(), rows.targets.flatten().tolist()):
        if target == 0:
            assert read in last
            ends += 1
        elif target != IGNORE:
            assert target in first if read == 0 else target == read + 1
    assert ends == len(texts)


def test_a_row_too_short_to_learn_from_is_refused():
    with pytest.raises(ValueError, match="at least 2 tokens"):
        pack([ids(1, 2)], 1, 0)


def test_weights_say_how_often_a_document_is_read():
    a, b = Source((ids(1),) * 10, weight=2.0), Source((ids(2),) * 10, weight=0.5)
    read = [int(d[0]) for d in epoch_documents([a, b], np.random.default_rng(0))]
    assert (read.count(1), read.count(2)) == (20, 5)


def test_batches_repeat_with_the_seed_and_differ_between_epochs():
    def take(seed):
        return [b.inputs for b in itertools.islice(batches(SOURCES, 8, 0, 4, seed), 60)]
    first = take(1)
    assert all(np.array_equal(a, b) for a, b in zip(first, take(1)))
    assert not all(np.array_equal(a, b) for a, b in zip(first, take(2)))
    rows_an_epoch = len(pack(SOURCES[0].documents, 8, 0).inputs)
    assert 2 * rows_an_epoch < 60 * 4 and not np.array_equal(first[0], first[round(rows_an_epoch / 4)])


def test_no_text_is_refused():
    for sources in ([], [Source(())], [Source((ids(1),), weight=0)]):
        with pytest.raises(ValueError, match="no text to train on"):
            next(batches(sources, 8, 0, 4, 0))


def test_documents_are_read_between_end_of_text_lines(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("One.\nTwo <|endoftext|> lines.\n<|endoftext|>\n\n<|endoftext|>\nThree.\n<|endoftext|>\nFour.")
    assert read_documents(path) == ["One.\nTwo <|endoftext|> lines.", "Three.", "Four."]


# Optimizer

def test_weight_decay_is_for_the_maps_alone():
    model = Transformer(MODEL).initialise(torch.Generator().manual_seed(0))
    decayed, others = make_optimizer(model, CONFIG).param_groups
    names = {id(p): name for name, p in model.named_parameters()}
    assert {names[id(p)].split(".")[-1] for p in decayed["params"]} == {"W_Q", "W_K", "W_V", "W_O", "W_1", "W_2"}
    assert len(decayed["params"]) + len(others["params"]) == len(names)
    assert decayed["weight_decay"] == CONFIG.weight_decay and others["weight_decay"] == 0


# Training

def test_the_loss_is_that_of_the_plain_forward():
    """The fast road that training takes and the Trace that the lessons show give the same loss; by hand from the
    Trace's probabilities.
    """
    model = Transformer(MODEL).initialise(torch.Generator().manual_seed(0)).double()
    batch = next(batches(SOURCES, 8, 0, 4, 0))
    inputs, targets = torch.from_numpy(batch.inputs), torch.from_numpy(batch.targets)
    counted = targets != IGNORE
    by_hand = -model(inputs).probs[counted].gather(-1, targets[counted][:, None]).log().mean()
    assert next_token_loss(model.logits(inputs), targets).item() == pytest.approx(by_hand.item(), abs=1e-6)
    first = next(training_steps(TrainingRun.start(MODEL, CONFIG)))
    assert first.loss == pytest.approx(by_hand.item(), abs=1e-5)


def test_an_untrained_model_guesses_among_all_tokens():
    """Small weights give nearly equal logits: the first loss is near ln 12."""
    assert losses(TrainingRun.start(MODEL, CONFIG), 1)[0] == pytest.approx(math.log(12), abs=0.1)


def test_the_loss_falls():
    run = TrainingRun.start(MODEL, TrainingConfig(steps=80, batch_size=8, learning_rate=1e-2, warmup_steps=5))
    curve = losses(run)
    assert len(curve) == 80 and run.finished
    assert np.mean(curve[-5:]) < 0.4 * curve[0]


def test_the_same_seed_gives_the_same_curve_and_another_does_not():
    first = losses(TrainingRun.start(MODEL, CONFIG))
    assert losses(TrainingRun.start(MODEL, CONFIG)) == first
    assert losses(TrainingRun.start(MODEL, TrainingConfig(**(vars(CONFIG) | dict(seed=1))))) != first


@pytest.mark.parametrize("killed_after", [1, 5, 11])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path, killed_after):
    whole = TrainingRun.start(MODEL, CONFIG)
    curve = losses(whole)
    killed = TrainingRun.start(MODEL, CONFIG)
    before = losses(killed, killed_after)
    killed.save(tmp_path / "run.pt")
    resumed = TrainingRun.load(tmp_path / "run.pt")
    assert before + losses(resumed) == curve
    assert all(torch.equal(a, b) for a, b in zip(resumed.model.parameters(), whole.model.parameters()))
    assert (resumed.step, resumed.tokens_seen) == (whole.step, whole.tokens_seen)
    assert losses(resumed) == []


def test_a_step_tells_what_it_did():
    run = TrainingRun.start(MODEL, CONFIG)
    model = Transformer(MODEL).initialise(torch.Generator().manual_seed(0))
    batch = next(batches(SOURCES, 8, 0, 4, 0))
    next_token_loss(model.logits(torch.from_numpy(batch.inputs)), torch.from_numpy(batch.targets)).backward()
    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in model.parameters()))
    step = next(training_steps(run))
    assert step.step == 1 and step.learning_rate == CONFIG.learning_rate_at(0)
    assert step.gradient_norm == pytest.approx(norm, rel=1e-5)
    assert step.tokens_seen == int((batch.targets != IGNORE).sum())
    assert step.tokens_per_second > 0


def test_gradients_are_clipped():
    """With plain clipping to a tiny norm, Adam's first moment holds (1 − β1) times a gradient of just that norm."""
    run = TrainingRun.start(MODEL, TrainingConfig(**(vars(CONFIG) | dict(clip_norm=1e-3))))
    assert next(training_steps(run)).gradient_norm > 1e-2
    moments = [state["exp_avg"] for state in run.optimizer.state.values()]
    assert math.sqrt(sum(float(m.square().sum()) for m in moments)) == pytest.approx(0.1 * 1e-3, rel=1e-2)


def test_bfloat16_follows_float32():
    config = TrainingConfig(**(vars(CONFIG) | dict(precision="bfloat16")))
    run = TrainingRun.start(MODEL, config)
    assert losses(run) == pytest.approx(losses(TrainingRun.start(MODEL, CONFIG)), abs=0.05)
    assert all(p.dtype == torch.float32 for p in run.model.parameters())


# Held-out loss

def test_windows_by_hand():
    """Rows of 4 over 1 2 3 4 5 6 and the end: later rows begin with end of text and two tokens that were
    counted before.
    """
    rows = [(a.tolist(), b.tolist()) for a, b in windows(ids(1, 2, 3, 4, 5, 6), 4, 0)]
    assert rows[0] == ([0, 1, 2, 3], [1, 2, 3, 4])
    assert rows[1] == ([0, 3, 4, 5], [IGNORE, IGNORE, 5, 6])
    assert rows[2] == ([0, 5, 6], [IGNORE, IGNORE, 0])
    assert len(rows) == 3


@pytest.mark.parametrize("length", [1, 7, 8, 9, 40])
def test_windows_count_every_token_once(length):
    document = np.arange(1, length + 1)
    targets = [t for _, row in windows(document, 8, 0) for t in row.tolist() if t != IGNORE]
    assert targets == [*document.tolist(), 0]
    assert all(len(inputs) == len(row) <= 8 for inputs, row in windows(document, 8, 0))


def test_held_out_loss_is_the_sum_over_documents():
    model = Transformer(MODEL).initialise(torch.Generator().manual_seed(0))
    texts = documents(9)
    together = held_out_loss(model, texts, 100, batch_size=4)
    alone = [held_out_loss(model, [text], 1) for text in texts]
    assert together.nats == pytest.approx(sum(loss.nats for loss in alone), rel=1e-5)
    assert together.n_tokens == sum(len(text) + 1 for text in texts)


def test_bits_per_byte_by_hand():
    loss = HeldOutLoss(nats=8 * math.log(2), n_tokens=4, n_bytes=16)
    assert loss.nats_per_token == pytest.approx(2 * math.log(2)) and loss.bits_per_byte == pytest.approx(0.5)


# Other objectives

@dataclass(frozen=True)
class Points:
    """Tokens, and the number that the sum of a token's embedding should be."""

    ids: np.ndarray
    numbers: np.ndarray

    @property
    def n_targets(self) -> int:
        return self.numbers.size


def test_any_batch_and_loss_can_be_trained():
    """Squared error of Σ E[id] against 3: only E is trained, and it comes there."""
    def squared_error(model, batch):
        return (model.E[batch.ids].sum(-1) - batch.numbers).square().mean()
    run = TrainingRun.start(MODEL, TrainingConfig(steps=200, learning_rate=3e-2, warmup_steps=0, weight_decay=0.0))
    points = itertools.repeat(Points(np.arange(4), np.full(4, 3.0, np.float32)))
    curve = [step.loss for step in train(run, points, squared_error)]
    assert curve[0] == pytest.approx(9, abs=1.5) and curve[-1] < 1e-2
    assert run.tokens_seen == 200 * 4


# The programme

@pytest.fixture
def arguments(tmp_path, monkeypatch) -> list[str]:
    """Two stages on two texts, of 3 and of 7 steps, with milestones in both."""
    first = LanguageModelling((("text.txt", 0.5),), measured=("new.txt",))
    second = replace(first, texts=(("text.txt", 1),), teaching=3, canaries=True)
    model = ModelConfig(vocab_size=300, d_model=8, n_layers=1, n_heads=1, n_context=16)
    config = TrainingConfig(steps=7, batch_size=2, warmup_steps=1)

    def tokenizer(folder: Path) -> Tokenizer:
        return Tokenizer.train(read_documents(folder / "text.txt"), 300)
    stages = (Stage(first, replace(config, steps=3)), Stage(second, config))
    monkeypatch.setitem(RECIPES, "tiny", Recipe("tiny", model, stages, tokenizer, milestones=(0, 2, 5, 9)))
    monkeypatch.setattr(training.signal, "signal", lambda *_: None)
    (tmp_path / "text.txt").write_text("the cat sat on the mat\n<|endoftext|>\n" * 30)
    (tmp_path / "new.txt").write_text("the mat sat on the cat\n<|endoftext|>\n")
    return ["tiny", "--corpus", str(tmp_path), "--run-folder", str(tmp_path / "run"), "--evaluate-every",
            "2", "--threads", "1"]


def stop_after(monkeypatch, n: int) -> None:
    """The handler that the programme sets for SIGTERM is called during the n-th step that it makes."""
    handlers, made = {}, []
    monkeypatch.setattr(training.signal, "signal", lambda name, handler: handlers.update({name: handler}))
    monkeypatch.setattr(training, "progress_line",
                        lambda step, run: made.append(step)
                                          or (len(made) == n and handlers[training.signal.SIGTERM]()) or "")


def test_one_command_trains_all_stages(arguments, tmp_path, capsys):
    training.main(arguments)
    run = tmp_path / "run"
    model, tokenizer = checkpoints.load(run / "model")
    assert model.config.d_model == 8 and tokenizer.decode(tokenizer.encode("the cat")) == "the cat"
    assert [entry["step"] for entry in json.loads((run / "training.json").read_text())] == [2, 4, 6, 7]
    assert [entry["step"] for entry in json.loads((run / "stage-1" / "training.json").read_text())] == [2, 3]
    facts = json.loads((run / "recipe.json").read_text())
    assert (facts["stage"], facts["stages"], facts["training"]["steps"], facts["task"]["canaries"]) == (2, 2, 7, True)
    assert "tiny, stage 2 of 2" in capsys.readouterr().out


def test_a_stage_begins_with_the_model_of_the_one_before(arguments, tmp_path, monkeypatch):
    begun = []
    follow = training.follow
    monkeypatch.setattr(training, "follow",
                        lambda run, *rest: begun.append(run.model.E.detach().clone()) or follow(run, *rest))
    training.main(arguments)
    assert torch.equal(begun[1], checkpoints.load(tmp_path / "run" / "stage-1" / "model")[0].E)


def test_a_stage_can_end_between_its_weights_and_those_before_it_and_less_sure(arguments, tmp_path, monkeypatch):
    """A quarter of the second stage's weights and three of the first's, and half the logits."""
    recipe = RECIPES["tiny"]
    first, second = recipe.stages
    monkeypatch.setitem(RECIPES, "tiny", replace(recipe, stages=(first, replace(second, share=0.25, temperature=2.0))))
    training.main(arguments)
    before, model = (checkpoints.load(tmp_path / "run" / name / "model")[0] for name in ("stage-1", "."))
    trained = TrainingRun.load(tmp_path / "run" / "run.pt").model
    assert torch.allclose(model.E, 0.75 * before.E + 0.25 * trained.E, atol=1e-3)
    norm = 0.75 * before.final_norm.weight + 0.25 * trained.final_norm.weight
    assert torch.allclose(model.final_norm.weight, norm / 2, atol=1e-3)
    sure = model.logits(torch.tensor([0, 5, 9]))
    with torch.no_grad():
        for p in model.final_norm.parameters():
            p.mul_(2)
    assert torch.allclose(2 * sure, model.logits(torch.tensor([0, 5, 9])), atol=1e-4)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_stopped_programme_goes_on_as_if_it_had_never_stopped(arguments, tmp_path, monkeypatch, capsys, n):
    training.main([*arguments, "--run-folder", str(tmp_path / "whole")])
    stop_after(monkeypatch, n)
    training.main(arguments)
    assert f"Saved after step {n if n <= 3 else n - 3} in" in capsys.readouterr().out
    assert (tmp_path / "run" / "run.pt").exists() == (n > 3)
    training.main(arguments)
    whole, run = (TrainingRun.load(tmp_path / name / "run.pt") for name in ("whole", "run"))
    assert run.step == 7 and all(torch.equal(a, b) for a, b in zip(run.model.parameters(), whole.model.parameters()))
    losses, resumed = (json.loads((tmp_path / name / "training.json").read_text())[-1]["held_out"]
                       for name in ("whole", "run"))
    assert losses == resumed
    assert checkpoints.load_history(tmp_path / "whole") == checkpoints.load_history(tmp_path / "run")


def test_milestones_are_kept_with_what_they_can_do(arguments, tmp_path):
    training.main(arguments)
    kept = checkpoints.load_history(tmp_path / "run")
    assert [milestone.step for milestone in kept] == [0, 2, 5, 9, 10]
    assert [m.step for m in checkpoints.load_history(tmp_path / "run" / "stage-1")] == [0, 2]
    assert all(set(milestone.held_out) == {"new"} and 0 <= milestone.induction_score <= 1 for milestone in kept)
    ends = [json.loads((folder / "training.json").read_text())[-1]["tokens_seen"]
            for folder in (tmp_path / "run" / "stage-1", tmp_path / "run")]
    assert kept[0].tokens_seen == 0 < kept[1].tokens_seen and kept[-1].tokens_seen == sum(ends)


def test_milestones_are_of_the_weights_of_their_step(arguments, tmp_path):
    """Bundled, the run's history gives the model as it was: its held-out loss is that of the milestone, but for
    half precision.
    """
    training.main(arguments)
    checkpoints.save(tmp_path / "bundled", *checkpoints.load(tmp_path / "run" / "model"), "")
    shutil.copytree(tmp_path / "run" / "history", tmp_path / "bundled" / "history")
    loss_at = {milestone.step: milestone.held_out["new"]
               for milestone in checkpoints.load_history(tmp_path / "bundled")}
    text = (tmp_path / "new.txt").read_text().splitlines()[0]
    for step, loss in loss_at.items():
        model, tokenizer = checkpoints.load(tmp_path / "bundled", step=step)
        assert (held_out_loss(model, tokenize([text], tokenizer).documents, 1).nats_per_token
                == pytest.approx(loss, abs=1e-3))
    assert len(set(loss_at.values())) == 5


def test_a_milestone_holds_the_scores_of_the_best_heads():
    tokenizer = stories_tokenizer()
    model = Transformer(ModelConfig(vocab_size=4096, d_model=16, n_layers=2, n_heads=2, n_context=24)).initialise(
        torch.Generator().manual_seed(0))
    found = induction(model, n_sequences=16)
    milestone = milestones.measure(model, tokenizer, 3, 99, {"text": 2.0})
    assert (milestone.induction_score == found.induction.max()
            and milestone.previous_token_score == found.previous_token.max() and found.induction.std() > 0)


# Several processes

def test_two_processes_train_as_one(arguments, tmp_path):
    """torchrun starts two on the recipe of tests/helpers/two_processes.py; one process gives the same weights and
    losses, within rounding.
    """
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "the", "rat"]
    texts = [" ".join(words[:n % 7 + 2]) for n in range(60)]                    # rows with unlike numbers of targets
    (tmp_path / "text.txt").write_text("\n<|endoftext|>\n".join(texts))
    command = ["-m", "tests.helpers.two_processes", "pair", *arguments[1:3], "--threads", "1", "--evaluate-every", "1"]
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([sys.executable, *launch, *command, "--run-folder", str(tmp_path / "two")], cwd=ROOT,
                          capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Saved after step") == 1
    two_processes.main(["pair", *command[3:], "--run-folder", str(tmp_path / "one")])
    one, two = (TrainingRun.load(tmp_path / name / "run.pt") for name in ("one", "two"))
    assert (one.step, one.tokens_seen) == (two.step, two.tokens_seen) == (6, one.tokens_seen)
    for (name, a), b in zip(one.model.named_parameters(), two.model.parameters()):
        # adds the same to all scores of a query: its gradient is 0, and Adam follows the rounding
        if not name.endswith("b_K"):
            assert torch.allclose(a, b, atol=1e-4), name
    curves = [[(e["training_loss"], e["held_out"]["new"])
               for e in json.loads((tmp_path / name / "training.json").read_text())] for name in ("one", "two")]
    assert len(curves[0]) == 6 and np.allclose(*curves, atol=2e-4)


def test_shares_are_the_whole_batch():
    batch = next(batches(SOURCES, 8, 0, 5, 0))
    shares = [ProcessGroup(rank, 2).share(batch) for rank in range(2)]
    assert ([len(share.inputs) for share in shares] == [3, 2]
            and shares[1].inputs.tolist() == batch.inputs[[1, 3]].tolist())
    assert sum(share.n_targets for share in shares) == batch.n_targets
    with pytest.raises(ValueError, match="fewer rows than the 6 processes"):
        ProcessGroup(0, 6).share(batch)


# Settings of the programme

def test_a_change_of_steps_takes_effect(arguments, tmp_path):
    training.main([*arguments, "--steps", "2", "--seed", "5"])
    run = TrainingRun.load(tmp_path / "run" / "run.pt")
    assert (run.step, run.config.seed, run.config.batch_size) == (2, 5, 2)


def test_text_without_a_corpus_is_refused(arguments, monkeypatch):
    monkeypatch.setitem(RECIPES, "tiny",
                        replace(RECIPES["tiny"], tokenizer=lambda folder: Tokenizer.train(["the cat"], 300)))
    with pytest.raises(ValueError, match="--corpus"):
        training.main(arguments[:1] + arguments[3:])


def test_the_programme_says_how_it_is_used(capsys):
    with pytest.raises(SystemExit) as stop:
        training.main(["--help"])
    assert stop.value.code == 0 and "--corpus" in capsys.readouterr().out


def test_tokenize_keeps_ids_within_16_bits():
    source = tokenize(["the cat"], Tokenizer.train(["the cat"], 257))
    assert source.documents[0].dtype == np.uint16 and source.n_tokens == 7
