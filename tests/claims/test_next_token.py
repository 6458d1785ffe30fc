"""Claims of Next token about the distributions of `stories`."""
import math

from core.app.state.prompts import example_prompts
from core.base import prose
from core.model.sampling import SamplingConfig, Truncation, truncate
from tests.claims import claims
from tests.claims.passes import experiment, opening, run


def cut(there, **config) -> Truncation:
    return truncate(there.logits(), SamplingConfig(**config))


@claims("next_token.md", "Thousands of unlikely words together are drawn often, and one odd word can spoil a story.")
def test_improbable_words_hold_mass_together():
    tails = []
    for prompt in example_prompts():
        p = cut(run(prompt)).probs
        assert (p < 0.001).sum() > 3500
        tails.append(p[p < 0.01].sum())
    assert sum(tails) / len(tails) > 0.1            # once in ten draws


@claims("next_token.md", "With k = 1 one token is left. Its probability after renormalising is 1 and the entropy is 0. "
        "Throw again as often as you like. Then switch k off and pull T to 0: the same.")
def test_greedy_has_no_chance():
    assert experiment("next_token", "greedy").settings["next_token_panel"].startswith("k1_")
    for found in (cut(opening(), top_k=1), cut(opening(), temperature=0)):
        assert found.n_kept == 1 and found.renormalised[0] == 1 and found.entropy_after == 0
        assert found.token_ids[0] == opening().logits().argmax()


@claims("next_token.md", "T = 20 makes all words almost alike. The perplexity comes near the size of the vocabulary, "
        "and p = 0.9 keeps almost nine tenths of it. Pull T slowly back to 1 and watch the bars grow.")
def test_a_hot_distribution_is_nearly_flat():
    assert experiment("next_token", "hot").settings["next_token_panel"].startswith("T20_p0.9_")
    for prompt in example_prompts():
        found = cut(run(prompt), temperature=20.0, top_p=0.9)
        assert 0.85 < found.n_kept / len(found.probs) < 0.9
        assert 0.95 < math.exp(found.entropy_before) / len(found.probs) < 1
        assert found.probs[0] < cut(run(prompt)).probs[0] / 10


@claims("next_token.md", "Top-p cuts thousands of tokens that nobody would miss one by one. Read how much "
        "probability they hold together, and how many of the thousand numbers would have landed there. Now press "
        "Random, and read which token ξ picks.")
def test_the_tail_is_hit_by_the_number():
    settings = experiment("next_token", "tail").settings
    assert settings["next_token_panel"] == "p0.9_s1_draws" and settings["xi"] == 0.97
    kept, plain = cut(opening(), top_p=0.9), cut(opening())
    assert len(plain.probs) - kept.n_kept > 2000 and 1 - kept.kept_mass > 0.05
    drawn = int((plain.interval_ends <= 0.97).sum())
    assert drawn >= kept.n_kept and plain.probs[drawn] < 0.02


@claims("next_token.md", "k = 10 is ten tokens in both, whatever they hold. p = 0.9 is a single token where the model "
        "is sure and more than a hundred where it is not.", "flat_prompt: He opened the box and found a",
        "peaked_prompt: Once upon a")
def test_p_adapts_where_k_does_not():
    assert experiment("next_token", "adapt").settings["next_token_panel"].startswith("k10_p0.9_")
    words = prose.load("next_token")
    sure, unsure = (run(words.label(name)) for name in ("peaked_prompt", "flat_prompt"))
    assert cut(sure, top_k=10).n_kept == cut(unsure, top_k=10).n_kept == 10
    assert cut(sure, top_k=10).kept_mass > 0.99 > 0.6 > cut(unsure, top_k=10).kept_mass
    assert cut(sure, top_p=0.9).n_kept == 1 and cut(unsure, top_p=0.9).n_kept > 100


@claims("next_token.md", "A higher temperature moves probability from the few likely tokens into the tail, so more "
        "tokens are needed to reach half of it.")
def test_half_of_a_hotter_distribution_takes_more_tokens():
    for prompt in example_prompts():
        assert cut(run(prompt), temperature=2.0, top_p=0.5).n_kept > cut(run(prompt), top_p=0.5).n_kept
