"""Claims of Attention about `stories` and about the three small models that differ in their score."""
import dataclasses

import numpy as np
import torch

from core.analysis import score_scaling, stream_and_heads
from core.app.compute import cache
from core.app.state.prompts import example_prompts
from core.base import tables
from core.model.intervention import Intervention
from pages.attention import averages, one_vector, roles, scaling, switches
from tests.claims import claims, shows
from tests.claims.passes import experiment, opening, prompt_of, run, says, self_match


@claims("attention.md", "A vector mostly resembles itself, so the token mostly looks at itself.")
def test_in_the_simple_variant_a_token_looks_at_itself():
    for block in opening().trace.blocks:
        assert np.mean(without_weights(block.resid_pre).argmax(-1) == np.arange(len(block.resid_pre))) > 0.7


def without_weights(X: torch.Tensor) -> np.ndarray:
    """softmax(X Xᵀ / √d) under the causal mask, (N, N)."""
    X = X.double().numpy()
    scores = np.where(np.tri(len(X)) > 0, X @ X.T / X.shape[1] ** 0.5, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@shows("A40")
def test_without_weights_lily_looks_at_itself_and_a_little_at_girl():
    [settings] = [idea.place.settings for idea in tables.ideas() if idea.id == "A40"]
    there, at = run(settings["prompt"]), int(settings["position"])
    row = without_weights(there.trace.blocks[int(settings["layer"])].resid_pre)[at]
    own, *others = np.argsort(-row)
    assert there.tokens[at] == "·Lily" and own == at and there.tokens[others[0]] == "·girl"
    assert 0.5 < row[own] < 0.7 and row[others[0]] > 0.05


@claims("attention.md", "Here $x_1$ points where $x_3$ points, but is longer, and $x_3$ gives it nearly all of its "
        "weight.")
def test_a_longer_vector_is_more_alike_than_the_vector_itself():
    x = np.array([part.split(",") for part in
                  experiment("attention", "longer").settings["attention_three_points"].split(";")], float)
    powers = np.exp(x @ x[2])
    cosine = x[0] @ x[2] / np.linalg.norm(x[0]) / np.linalg.norm(x[2])
    assert cosine > 0.99 and (powers / powers.sum())[0] > 0.9


@claims("attention.md", "The three small models in the table differ in nothing but the score.")
def test_the_three_small_models_differ_in_the_score_alone():
    configs = [cache.shared_model(name, "cpu").model.config for name in switches.TRAINED.values()]
    assert [config.score for config in configs] == list(switches.TRAINED)
    assert all(dataclasses.replace(config, score="dot") == configs[0] for config in configs)


@claims("attention.md", "Most heads of `stories` lie above the line, some far above.",
        "Without the division (hollow diamonds) the same head's weights are sharper.")
def test_scores_of_the_heads_vary_more_than_those_of_dice():
    for prompt in example_prompts()[:8]:
        heads = scaling.heads_of(run(prompt))
        variances = np.stack([layer.variance for layer in heads]) / run(prompt).model.config.d_k
        assert (variances > 1).mean() > 0.8 and variances.max() > 5
        assert np.mean([layer.entropy_unscaled < layer.entropy_scaled for layer in heads]) > 0.95


@claims("attention.md", "At the mask, the keys after the query lose their scores.")
def test_the_query_of_the_walk_has_keys_after_it_and_looks_at_words():
    one = experiment("attention", "walk")
    there, at = prompt_of(one), one.settings["position"]
    assert 0 < at < len(there.token_ids) - 3
    row = there.trace.blocks[one.settings["layer"]].pattern[one.settings["head"], at]
    assert there.tokens[int(row.argmax())] == "·sat" and row[0] < 0.3


@claims("attention.md", "All heads now compare by v·tanh(q + k) with a random v, and the prediction breaks. Beside it "
        "a small model that was trained with this score goes on in its own, weaker way.")
def test_a_score_it_never_learned_breaks_the_prediction():
    there, found = prompt_of(experiment("attention", "score")), []
    for seed in range(4):
        broken = there.trace_with(Intervention(score="additive", score_seed=seed))
        assert stream_and_heads.effect(there.trace.logits[-1], broken.logits[-1]).kl > 2
        found.append(there.tokenizer.visible(int(broken.logits[-1].argmax())))
    assert says(there)[0] == "·ball" not in found and len(set(found)) > 1
    token, p = switches.likeliest(switches.trained_run("additive", there), -1)[0]
    assert token in ("·mom", "·toy", "·friend") and p > 0.1


@shows("A5", "C13")
@claims("attention.md", "The undivided scores have a standard deviation of about 23: one key takes almost "
        "everything and the gradient is nearly gone. Move the slider down to 1, where both agree.")
def test_the_softmax_saturates():
    assert experiment("attention", "scale").settings["attention_scaling_d"] == score_scaling.D_KS[-1] == 512
    found = scaling.experiment(0, 16)
    assert 22 < found.variance.mean[-1] ** 0.5 < 23.5
    assert found.entropy[1].mean[-1] < 0.15 and found.gradient[1].mean[-1] < 0.3 * found.gradient[1].mean.max()
    assert found.entropy[0].mean[0] == found.entropy[1].mean[0]


@claims("attention.md", "so its variance is $d_k$: the points lie on the line, within their errors (bars: "
        "one standard error).", "Divided by $\\sqrt{d_k}$ the scores have variance 1 at "
        "every width, and entropy and gradient stay where they were. "
        "With many keys and a small $d_k$ the undivided softmax can have the larger gradient.")
def test_the_division_keeps_variance_entropy_and_gradient():
    found, many = scaling.experiment(0, 16), scaling.experiment(0, 32)
    off = (found.variance.mean - score_scaling.D_KS) / found.variance.error
    assert np.abs(off).max() < 3.5
    assert np.ptp(found.entropy[0].mean[2:]) < 0.05 and np.ptp(found.gradient[0].mean[2:]) < 0.05
    assert many.gradient[1].mean[3] > 1.2 * many.gradient[0].mean[3]
    assert many.gradient[1].mean[-1] < 0.7 * many.gradient[0].mean[-1]


@claims("attention.md", "And most tokens would match themselves best, since a vector's product with itself is its "
        "squared length.", "In the right picture this head's keys are made as its queries are: nearly every token now "
        "looks mostly at itself. Then choose Another basis, and see queries and keys change without any effect.")
def test_with_one_vector_for_both_tokens_match_themselves():
    one = experiment("attention", "mirror")
    there, at = prompt_of(one), (one.settings["layer"], one.settings["head"])
    own, alike = (getattr(roles.compared(there, "keys", *at), name) for name in ("before", "after"))
    assert self_match(own.scores) < 0.1 and self_match(alike.scores) > 0.9
    assert one_vector.at_themselves(alike) > 0.9 * len(there.token_ids) > 9 * one_vector.at_themselves(own)
    assert own.pattern[1:, 0].mean() > 0.8 and alike.pattern.diagonal().mean() > 0.6 > 6 * own.pattern.diagonal().mean()
    basis = roles.compared(there, "basis", *at, seed=0, stretch=3.0)
    assert roles.largest(basis.before.Q, basis.after.Q) > 0.5 and roles.largest(basis.before.K, basis.after.K) > 0.5
    assert basis.difference < roles.UNSEEN


@shows("C10")
@claims("attention.md", "Averaging again and again makes all vectors alike.")
def test_without_feed_forward_parts_the_tokens_become_alike():
    for prompt in example_prompts()[:3]:
        found = averages.alike(run(prompt))
        assert found["without"][-1] > found["whole"][-1] + 0.1 and found["without"][-1] > found["without"][0] + 0.1
