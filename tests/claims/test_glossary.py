"""Claims of the glossary about bundled models, and the models' pictures where its links lead."""
import csv
from urllib.parse import parse_qsl

import numpy as np
import pytest

from core.analysis import embeddings
from core.analysis.stream_and_heads import effect
from core.app.state.prompts import example_prompts
from core.base import prose
from core.evaluation.memorisation import recitations
from core.files import ASSETS
from core.language.strategies import Continuation
from core.model import checkpoints
from core.model.generation import beam_search, generate
from core.model.intervention import Intervention
from core.model.sampling import SamplingConfig, truncate
from core.training import teaching_text
from pages.embeddings.shared import look_up, space_of
from pages.language_models import exercises
from tests.claims import claims
from tests.claims.passes import heads_of, opening, run, strongest

TERMS = {row["term"]: row for row in csv.DictReader((ASSETS / "text" / "en" / "glossary.tsv").open(), delimiter="\t")}


def link(term: str) -> dict[str, str]:
    """The parameters of a term's link."""
    return dict(parse_qsl(TERMS[term]["settings"]))


@claims("glossary.tsv", "Word arithmetic: the step from a to b, taken from c. It lands where one hopes less often than "
        "is told.")
def test_analogies_land_less_often():
    space, tokenizer = space_of(opening()), opening().tokenizer
    listed = [embeddings.analogy(space.E, *(look_up(word, tokenizer)[0] for word in line.split()))
              for line in prose.load("embeddings").section("analogies").splitlines()]
    assert 0.2 < np.mean([one.rank == 1 for one in listed]) < 0.5


@claims("glossary.tsv", "A head that looks for the last place where the present token stood, and at what came after "
        "it.")
def test_induction_heads_are_where_the_link_leads():
    there = run(link("induction head")["prompt"])
    layer, head = strongest(heads_of(there).induction)
    assert heads_of(there).induction[layer, head] > 0.8
    assert there.tokens[int(there.trace.blocks[layer].pattern[head, -1].argmax())] == "·goat"


@claims("glossary.tsv", "Reciting training text word for word, the likelier the more often it stood there.")
def test_passages_are_recited_the_more_often_they_were_read():
    shares: dict[int, list[float]] = {}
    for one in recitations(opening().model, opening().tokenizer, teaching_text.canaries()):
        shares.setdefault(one.passage.repeats, []).append(one.recited_share)
    none, once, ten, hundred = (np.mean(shares[times]) for times in (0, 1, 10, 100))
    assert none < 0.02 and once <= ten < 0.1 < 0.4 < hundred


@claims("glossary.tsv", "Always taking the most probable token. Predictable, and soon repetitive.",
        "It finds likelier texts, which are not always better ones.")
def test_greedy_repeats_itself_and_beam_search_is_likelier():
    small = run("The sun was hot. The ice cream started to", "stories-small")
    *_, (greedy,) = beam_search(small.model, small.token_ids, 1, 40)
    *_, (beam, *_) = beam_search(small.model, small.token_ids, 4, 40)
    assert beam.log_prob > greedy.log_prob
    for found in (greedy, beam):
        assert Continuation(found.token_ids[len(small.token_ids):]).repeated() > 0.3
    *_, (own, *_) = beam_search(opening().model, opening().token_ids, 1, 12)
    *_, (wide, *_) = beam_search(opening().model, opening().token_ids, 4, 12)
    # the same text has other last digits where it was read in a batch
    assert wide.token_ids == own.token_ids or wide.log_prob > own.log_prob


@claims("glossary.tsv", "Doing a task from examples in the prompt, with no weight changed.")
def test_the_link_leads_to_a_model_that_is_too_small_for_it():
    found = link("in-context learning")
    assert found["language_models_task"] == "labels" and found["language_models_shots"] == "4"
    right = [one.right for part in exercises.results(opening(), "labels", 4) for one in part]
    assert 0.25 < np.mean(right) < 0.75


@claims("glossary.tsv", "Keeping the fewest tokens that hold the mass p: many in a flat context, few in a peaked one.",
        "All the improbable tokens together. Each is rare, and together they are drawn often.",
        "Divides the logits before the softmax: below 1 sharper, above 1 flatter, 0 greedy.")
def test_distributions_of_the_links():
    kept = [truncate(run(prompt).logits(), SamplingConfig(top_p=0.9)) for prompt in example_prompts()]
    flat, peaked = max(kept, key=lambda one: one.entropy_before), min(kept, key=lambda one: one.entropy_before)
    assert flat.n_kept > 50 and peaked.n_kept < 3
    cut = kept[0]
    assert cut.probs[~cut.kept].max() < 0.05 < 1 - cut.kept_mass
    entropies = [truncate(opening().logits(), SamplingConfig(temperature=t)).entropy_before for t in (0.5, 1.0, 2.0)]
    assert entropies == sorted(entropies)


@claims("glossary.tsv", "A stack with a causal mask, which can write: GPT, Llama and most of this app's models.",
        "and here begins every sequence too.", "usually d to 4d and back.")
def test_the_models_are_mostly_decoders():
    configs = [checkpoints.bundled_config(name) for name in checkpoints.bundled_names()]
    assert np.mean([config.kind == "decoder" and config.mask == "causal" for config in configs]) > 0.5
    assert all(config.first_token == config.end_of_text for config in configs if config.kind == "decoder")
    assert opening().model.config.d_ff == 4 * opening().model.config.d_model


@claims("glossary.tsv", "Attention without a mask: every token sees all others, later ones included, as in an encoder.",
        "How far one distribution lies from another", "A query and a key matched by a small network with one hidden "
        "layer instead of a dot product.")
@pytest.mark.parametrize("term, change", [("bidirectional attention", {"mask": "bidirectional"}),
                                          ("KL divergence", {"scale_scores": False}),
                                          ("additive score", {"score": "additive"})])
def test_switches_of_the_links_move_the_next_token(term: str, change: dict):
    [(name, value)] = [(name, value) for name, value in link(term).items() if name != "attention_view"]
    assert (name, value) == {"mask": ("attention_mask", "bidirectional"), "scale_scores": ("attention_scaling", "off"),
                             "score": ("attention_score", "additive")}[next(iter(change))]
    switched = opening().trace_with(Intervention(**change))
    assert effect(opening().trace.logits[-1], switched.logits[-1]).kl > 0.1


@claims("glossary.tsv", "Drawing a token by its probability", "the same seed, the same draws.")
def test_a_seed_decides_the_draws():
    def written(seed: int) -> list[int]:
        return [step.token_id for step in generate(opening().model, opening().token_ids, SamplingConfig(), seed, 12)]

    assert written(2) == written(2) != written(1) and link("seed")["seed"] == "2"
