"""The bundled models: what each can do on exercises that it never saw, and that its card and its recipe describe the
weights that are there.
"""
import json
import re

import numpy as np
import pytest

from core.analysis.induction import induction
from core.evaluation import lengths
from core.evaluation.memorisation import recitations
from core.evaluation.teaching_tasks import answers, choices
from core.model import checkpoints
from core.training import teaching_text
from core.training.blanks import held_out_sentiment
from core.training.recipes import MILESTONES, RECIPES

pytestmark = pytest.mark.long

FAMILIES = {"positions": ("none", "sinusoidal", "learned", "rotary", "alibi", "relative"),
            "scores": ("multiplicative", "additive")}
DECODERS_OF_TEXT = ("stories", "stories-small",
                    *(f"{family}-{one}" for family, members in FAMILIES.items() for one in members))


@pytest.fixture(scope="module")
def stories():
    return checkpoints.load_bundled("stories")


def share(results) -> float:
    return float(np.mean([result.right for result in results]))


# What they can do

@pytest.mark.parametrize("kind, least", [("sentiment", 0.9), ("opposites", 0.9), ("copying", 0.95), ("summary", 0.9)])
def test_stories_writes_the_answer_to_exercises_that_it_never_saw(stories, kind, least):
    assert share(answers(*stories, teaching_text.held_out(kind, 150))) >= least


def test_stories_agrees_in_number_and_gender(stories):
    assert share(choices(*stories, teaching_text.held_out("agreement", 150))) >= 0.9


def test_stories_knows_the_facts_it_was_taught_and_not_the_others(stories):
    taught, untaught = (share(answers(*stories, list(teaching_text.fact_questions(which)))) for which in (True, False))
    assert taught >= 0.95 and untaught <= 0.3


def test_stories_recites_what_it_read_a_hundred_times_and_not_the_twin_that_it_never_read(stories):
    found = list(recitations(*stories, teaching_text.canaries()))
    recited = {repeats: np.mean([r.recited_share for r in found if r.passage.repeats == repeats])
               for repeats in (0, 1, 10, 100)}
    assert recited[100] > 0.5 > 0.1 > max(recited[0], recited[1])


@pytest.mark.parametrize("name, previous", [("stories", 0.5), ("induction", 0.5)])
def test_induction(name, previous):
    """Random tokens are told the second time alone, by an induction head above a previous-token head."""
    found = induction(checkpoints.load_bundled(name)[0])
    assert found.second < 1.5 and found.first > 8
    assert found.best_induction_head.score > 0.5 and found.best_previous_token_head.score > previous
    assert found.best_previous_token_head.layer < found.best_induction_head.layer


def test_blanks_tells_the_sentiment_of_sentences_that_it_never_saw():
    assert held_out_sentiment(*checkpoints.load_bundled("blanks"), 200).right >= 0.9


def test_the_childhood_of_stories_small():
    """Twenty-four moments: it learns, and at some point it begins to look back."""
    milestones = checkpoints.history("stories-small")
    assert tuple(m.step for m in milestones) == MILESTONES and 16 <= len(milestones) <= 24
    losses = [m.held_out["heldout_tinystories"] for m in milestones]
    assert losses[0] > 8 and losses[-1] < 3.0 and all(later < earlier for earlier, later in zip(losses, losses[1:19]))
    previous, back = ([getattr(m, score) for m in milestones] for score in ("previous_token_score", "induction_score"))
    assert max(back[:20]) < 0.1 < 0.5 < back[-1] and previous[0] < 0.1 < 0.5 < previous[18] < previous[-1]
    assert len({m.sample for m in milestones}) > 10


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_differs_in_one_thing_alone(family):
    configs = {one: checkpoints.bundled_config(f"{family}-{one}") for one in FAMILIES[family]}
    field = {"positions": "positions", "scores": "score"}[family]
    assert {getattr(config, field) for config in configs.values()} == set(FAMILIES[family])
    assert len({repr(config).replace(f"{field}={getattr(config, field)!r}", "") for config in configs.values()}) == 1


@pytest.mark.parametrize("scheme", FAMILIES["positions"])
def test_the_measured_lengths_are_those_of_the_card(scheme):
    measured = lengths.bundled(f"positions-{scheme}")
    card = (checkpoints.BUNDLED / f"positions-{scheme}" / "README.md").read_text(encoding="utf-8")
    assert measured[0].first == 0 and measured[-1].last == (128 if scheme == "learned" else 512)
    assert all(f"| {s.first} – {s.last - 1} | {s.n:,} | {s.nats_per_token:.3f} |" in card for s in measured)


# Cards, recipes, sizes

@pytest.mark.parametrize("name", RECIPES)
def test_a_bundled_model_is_what_its_recipe_makes_and_its_card_says(name):
    model, tokenizer = checkpoints.load_bundled(name)
    assert model.config == RECIPES[name].model
    card = (checkpoints.BUNDLED / name / "README.md").read_text(encoding="utf-8")
    assert f"| parameters | {model.n_parameters:,} |" in card and f"python -m core.training {name} " in card
    ends = {entry["stage"]: entry["step"]
            for entry in json.loads((checkpoints.BUNDLED / name / "training.json").read_text(encoding="utf-8"))}
    assert len(ends) == len(RECIPES[name].stages) and all(re.search(rf"\b{end:,}\b", card) for end in ends.values())
    assert not re.search(r"\{\w*\}|\b[A-Z_]{2,}_STEPS\b", card), "a value is missing in the card"


def test_text_models_share_one_tokenizer():
    files = {(checkpoints.BUNDLED / name / checkpoints.TOKENIZER).read_bytes() for name in DECODERS_OF_TEXT}
    assert len(files) == 1


def test_sizes():
    """At most 60 MB for stories in half precision, and 120 MB for the childhood."""
    stories, small = (sum(file.stat().st_size for file in (checkpoints.BUNDLED / name).rglob("*") if file.is_file())
                      for name in ("stories", "stories-small"))
    assert stories < 60e6 and small < 120e6
