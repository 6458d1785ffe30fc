"""Claims of Training about `stories`, and about `stories-small` and its childhood."""
import math

import numpy as np
import pytest
import torch

from core.app.compute import cache
from core.learning import kepler, recorded, teacher_forcing, tuning, tuning_texts
from core.learning.learner import TASKS, Knobs
from core.model import checkpoints
from core.training.recipes import RECIPES
from pages.training import fine_tuning
from pages.training.recorded_tuning import tuning_run
from tests.claims import claims
from tests.claims.passes import experiment, prompt_of, run, says

MOMENTS = checkpoints.history("stories-small")
AT = {moment.step: moment for moment in MOMENTS}


@claims("training.md", "The model expects the first eight words; the ninth word alone has five times their loss. "
        "Change it to *girl*, and watch the mean and the perplexity fall.")
def test_the_price_of_surprise():
    one = experiment("training", "surprise")
    there, girl = prompt_of(one), run(one.settings["prompt"].replace("refrigerator", "girl"))
    prices, cheaper = (teacher_forcing.predict(r.trace.logits, r.token_ids) for r in (there, girl))
    assert there.tokens[one.settings["position"]] == "·little" and one.settings["prompt"].count(" ") == 8
    before, word = (prices.losses[part] for part in (slice(9), slice(9, -1)))
    assert before.max() < 1 and 5 < word.sum() / before.sum() < 6
    assert cheaper.mean < 0.7 * prices.mean


@claims("training.md", "It begins as noise: all tokens are about equally probable. First it learns how often each "
        "token comes, then which token follows which, and its text becomes a stammer of common words. Then come "
        "phrases, sentences, and names that are kept.")
def test_the_childhood_goes_from_noise_to_names():
    p = run("Once upon a time, there was a little", "stories-small@0").trace.probs[-1].double()
    assert -float((p * p.log()).sum()) > 0.99 * math.log(len(p))
    often = [run(prompt, "stories-small@32") for prompt in ("Once upon a time, there was a little", "Tim saw a blue")]
    assert [says(there)[0] for there in often] == [".", "."]
    assert set(AT[96].sample.split()) == {"a", "the"}
    assert "She loved to play with her" in AT[256].sample
    assert AT[2400].sample.startswith(" girl named Lily. She") and "." in AT[2400].sample


@claims("training.md", "On the way one head begins to look at the previous token. Later, and within a hundred steps, "
        "another head uses what the first one wrote",
        "After 2,000 steps there is a previous-token head and no induction head. Press Play, and watch the score and "
        "the next token.",
        "so a head that finds the last `·blue` and looks at what came after it has the answer; until there is one, the "
        "model says what often comes in stories.")
def test_a_head_falls_into_place():
    one = experiment("training", "bump")
    start = MOMENTS[one.settings["training_milestone"]]
    assert start.step == 2000 and start.previous_token_score > 0.5 and start.induction_score < 0.1
    assert AT[2150].induction_score < 0.1 and AT[2250].induction_score > 0.7
    first, last = (says(run(one.settings["prompt"], f"stories-small@{step}"))[0] for step in (2000, 2400))
    assert (first, last) == ("·ball", "·kite")


@claims("training.md", "At step 2,000 a second stage of training begins: half of all rows then repeat a passage, and "
        "the learning rate starts high again. That lifts the loss on stories at once; it comes down while the head "
        "forms.",
        "The kept moments are not evenly spaced: they lie close together where much happens.")
def test_the_bump_has_a_cause():
    first, second = RECIPES["stories-small"].stages
    (_, others), (_, repeating) = second.task.parts
    assert first.training.steps == 2000 and others == repeating
    assert second.training.learning_rate == first.training.learning_rate
    loss = [AT[step].held_out["heldout_tinystories"] for step in (2000, 2100, 2150, 2200, 2250, 2400)]
    assert loss[1] > loss[0] + 0.2 and loss[1:] == sorted(loss[1:], reverse=True)
    gaps = np.diff([moment.step for moment in MOMENTS])
    assert max(gaps) > 400 and all(gaps[[moment.step in (2100, 2150, 2200) for moment in MOMENTS[:-1]]] == 50)


@claims("training.md", "They move few numbers, and yet `stories-small` forgets here too.",
        "a few hundred pairs are enough")
def test_adapters_forget():
    loaded = cache.shared_model("stories-small", "cpu")
    train, held_out = (fine_tuning.encoded(loaded, part) for part in tuning_texts.pairs("feeling", 200, 8, 0))
    tuner = tuning.SupervisedTuner(loaded.model, tuning.old_text(loaded.model), train, held_out, "adapters", 2, 0)
    steps = [tuner.history[0], *(step for step, _ in zip(tuner.learn(), range(4)))]
    assert tuner.n_learned < 0.03 * loaded.model.n_parameters
    assert steps[-1].held_out < steps[0].held_out - 1 and steps[-1].old > steps[0].old + 0.02


@claims("training.md", "from random weights they teach less.")
def test_pretraining_is_part_of_what_the_pairs_teach():
    for kind in (*tuning_texts.KINDS, "fact"):
        tuned, scratch = (tuning_run(name, kind).history[-1] for name in ("tuned", "scratch"))
        assert (tuned.step, scratch.step) == (tuning.ROUND, tuning.ROUND)
        assert tuned.held_out < 0.5 * scratch.held_out and tuned.right >= scratch.right, kind


@claims("training.md", "phase_training_model_known: {steps} steps of gradient descent")
def test_optimizers_are_named_by_no_sentence_on_the_loaded_model():
    assert {stage.training.optimizer for stage in RECIPES["stories"].stages} == {"muon", "adamw"}
    assert sum(end["step"] for end in checkpoints.training_ends("stories")) == pytest.approx(15_640)


@claims("training.md", "which tokens are frequent, and which follows which, is learned soon. Phrases, names and what "
        "stands further back make up the other half, and take all the steps that are left.")
def test_half_of_the_fall_is_frequencies_and_pairs():
    assert set(AT[96].sample.split()) == {"a", "the"} and "Lily" in AT[2400].sample
    losses = [moment.held_out["heldout_tinystories"] for moment in MOMENTS]
    before, after = (AT[step].held_out["heldout_tinystories"] for step in (64, 96))
    assert before > (losses[0] + losses[-1]) / 2 > after


@claims("training.md", "The loss stays near the line of a reader who sees only the previous word, "
        "until attention finds the noun that the verb belongs to. Then it sinks towards the floor, and never below it.",
        "The loss falls steeply in the first part of the run, and then lies close to 0.")
def test_the_recorded_runs_go_as_told():
    settings = experiment("training", "floor").settings
    knobs = Knobs(settings["training_optimizer"], 10.0 ** settings["training_rate"], recorded.SCHEDULE)
    history = recorded.live_run("grammar", settings["training_size"], settings["training_seed"], knobs).history
    levels = TASKS["grammar"]().levels
    below = next(i for i, progress in enumerate(history) if progress.held_out < levels["bigram"])
    slow = [abs(progress.held_out - levels["bigram"]) < 0.15 for progress in history[below - 1:below + 3]]
    assert all(slow) and all(progress.held_out > levels["floor"] for progress in history)
    assert history[-1].held_out - levels["floor"] < 0.1 * (levels["bigram"] - levels["floor"])


@claims("training.md", "Often both lose probability, and the rejected one loses more.",
        "You can also vote yourself; the model learns so few votes nearly by heart.")
def test_preferences_widen_the_gap():
    examples = tuning_run("aligned", "happy").examples
    both = [now < before and other < other_before for now, before, other, other_before in
            (example.values for example in examples)]
    wider = [now - before > other - other_before for now, before, other, other_before in
             (example.values for example in examples)]
    assert sum(both) > len(both) / 2 and sum(wider) > len(wider) / 2


@claims("training.md", "With the same seven numbers it fits many good measurements to 4 or 5 minutes of arc in each "
        "coordinate and no better", "Polynomials with thirty-nine free numbers and no law fit the measured years "
        "better than a circle around the Sun does, and one year later they are useless.")
def test_what_keplers_rivals_reach():
    data = kepler.measure(60, 0.5, 0)
    equant, circle, polynomial = (kepler.fit(name, "lm", *data) for name in ("equant", "circle", "polynomial"))
    assert 4 < equant.train[-1] < 5 and kepler.STRUCTURES["equant"].n_numbers == 7
    assert polynomial.train[-1] < circle.train[-1] and kepler.STRUCTURES["polynomial"].n_numbers == 39
    later = torch.tensor([kepler.TRAINED + 1], dtype=torch.float64)
    away = kepler.on_polynomial(polynomial.last, later) - kepler.on_ellipse(kepler.mars(), later)
    assert float(away.norm()) > 10
