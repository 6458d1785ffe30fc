"""What the text of Training says of `stories`, and of `stories-small` and its childhood."""
import math

import numpy as np
import pytest

from core.app.compute import cache
from core.learning import teacher_forcing, tuning, tuning_texts
from core.model import checkpoints
from core.training.recipes import RECIPES
from pages.training import fine_tuning
from tests.claims import claims
from tests.claims.passes import experiment, prompt_of, run, says

MOMENTS = checkpoints.history("stories-small")
AT = {moment.step: moment for moment in MOMENTS}


@claims("training.md", "Eight words are cheap; the ninth costs five times as much as all of them. Change it to *girl* "
        "and watch mean and perplexity fall.")
def test_the_price_of_surprise():
    one = experiment("training", "surprise")
    there, girl = prompt_of(one), run(one.settings["prompt"].replace("refrigerator", "girl"))
    prices, cheaper = (teacher_forcing.predict(r.trace.logits, r.token_ids) for r in (there, girl))
    assert there.tokens[one.settings["position"]] == "·little" and one.settings["prompt"].count(" ") == 8
    before, word = (prices.losses[part] for part in (slice(9), slice(9, -1)))
    assert before.max() < 1 and 5 < word.sum() / before.sum() < 6
    assert cheaper.mean < 0.7 * prices.mean


@claims("training.md", "It begins as noise: every token about equally probable. First it learns how often each token "
        "comes, then which one follows which, and its text becomes a stammer of common words. Then come phrases, "
        "sentences, names that are kept.")
def test_the_childhood_goes_from_noise_to_names():
    p = run("Once upon a time, there was a little", "stories-small@0").trace.probs[-1].double()
    assert -float((p * p.log()).sum()) > 0.99 * math.log(len(p))
    often = [run(prompt, "stories-small@32") for prompt in ("Once upon a time, there was a little", "Tim saw a blue")]
    assert [says(there)[0] for there in often] == [".", "."]
    assert set(AT[96].sample.split()) == {"a", "the"}
    assert "She loved to play with her" in AT[256].sample
    assert AT[2400].sample.startswith(" girl named Lily. She") and "." in AT[2400].sample


@claims("training.md", "Somewhere on the way a head begins to look at the token before. Later, and within a hundred "
        "steps, another head uses what the first one wrote",
        "After 2000 steps there is a previous-token head and no induction head. Press Play and watch the score, the "
        "pattern and the next token.")
def test_a_head_falls_into_place():
    one = experiment("training", "bump")
    start = MOMENTS[one.settings["training_milestone"]]
    assert start.step == 2000 and start.previous_token_score > 0.5 and start.induction_score < 0.1
    assert AT[2150].induction_score < 0.1 and AT[2250].induction_score > 0.7
    first, last = (says(run(one.settings["prompt"], f"stories-small@{step}"))[0] for step in (2000, 2400))
    assert (first, last) == ("·ball", "·kite")


@claims("training.md", "At step 2000 a second stage begins: half of all rows then repeat a passage, and the learning "
        "rate starts high again. That lifts the loss on stories at once; it comes down while the head forms.",
        "Nor are the moments evenly spaced: they lie close together where much happens.")
def test_the_bump_has_a_cause():
    first, second = RECIPES["stories-small"].stages
    (_, others), (_, repeating) = second.task.parts
    assert first.training.steps == 2000 and others == repeating
    assert second.training.learning_rate == first.training.learning_rate
    loss = [AT[step].held_out["heldout_tinystories"] for step in (2000, 2100, 2150, 2200, 2250, 2400)]
    assert loss[1] > loss[0] + 0.2 and loss[1:] == sorted(loss[1:], reverse=True)
    gaps = np.diff([moment.step for moment in MOMENTS])
    assert max(gaps) > 400 and all(gaps[[moment.step in (2100, 2150, 2200) for moment in MOMENTS[:-1]]] == 50)


@claims("training.md", "Low-rank adapters leave each W alone and learn A·B beside it. They move few numbers, and yet "
        "they forget too.", "A few hundred pairs suffice")
def test_adapters_forget():
    loaded = cache.shared_model("stories-small", "cpu")
    train, held_out = (fine_tuning.encoded(loaded, part) for part in tuning_texts.pairs("feeling", 200, 8, 0))
    tuner = tuning.SupervisedTuner(loaded.model, tuning.old_text(loaded.model), train, held_out, "adapters", 2, 0)
    steps = [tuner.history[0], *(step for step, _ in zip(tuner.learn(), range(4)))]
    assert tuner.n_learned < 0.03 * loaded.model.n_parameters
    assert steps[-1].held_out < steps[0].held_out - 1 and steps[-1].old > steps[0].old + 0.02


@claims("training.md", "phase_training_model_known: {steps} steps of gradient descent")
def test_optimizers_are_named_by_no_sentence_on_the_loaded_model():
    assert {stage.training.optimizer for stage in RECIPES["stories"].stages} == {"muon", "adamw"}
    assert sum(end["step"] for end in checkpoints.training_ends("stories")) == pytest.approx(15_640)
