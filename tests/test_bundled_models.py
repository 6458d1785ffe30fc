"""The bundled models: what each can do on exercises that it never saw, and that its card and its recipe describe the weights that are there."""
import re
from dataclasses import replace

import numpy as np
import pytest

from core import checkpoints, teaching_text
from core.evaluation.memory import recitations
from core.evaluation.tasks import answers, choices
from core.induction import induction
from core.recipes import RECIPES

POSITION_SCHEMES = ("none", "sinusoidal", "learned", "rotary", "alibi", "relative")


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
    recited = {repeats: np.mean([r.recited_share for r in found if r.passage.repeats == repeats]) for repeats in (0, 1, 10, 100)}
    assert recited[100] > 0.5 > 0.1 > max(recited[0], recited[1])


@pytest.mark.parametrize("name, previous", [("stories", 0.5), ("induction", 0.5)])
def test_induction(name, previous):
    """Random tokens are told the second time alone, by an induction head above a previous-token head."""
    found = induction(checkpoints.load_bundled(name)[0])
    assert found.second < 1.5 and found.first > 8
    assert found.best_induction_head.score > 0.5 and found.best_previous_token_head.score > previous
    assert found.best_previous_token_head.layer < found.best_induction_head.layer


def test_the_positions_family_differs_in_one_thing_alone():
    configs = [checkpoints.bundled_config(f"positions-{scheme}") for scheme in POSITION_SCHEMES]
    assert {config.positions for config in configs} == set(POSITION_SCHEMES)
    assert len({repr(replace(config, positions="none")) for config in configs}) == 1


# Cards, recipes, sizes

@pytest.mark.parametrize("name", checkpoints.bundled_names())
def test_a_bundled_model_is_what_its_recipe_makes_and_its_card_says(name):
    model, tokenizer = checkpoints.load_bundled(name)
    assert model.config == RECIPES[name].model
    card = (checkpoints.BUNDLED / name / "README.md").read_text(encoding="utf-8")
    assert f"| parameters | {model.n_parameters:,} |" in card and f"python -m core.training {name} " in card
    assert not re.search(r"\{\w*\}|\b[A-Z_]{2,}_STEPS\b", card), "a value is missing in the card"


def test_text_models_share_one_tokenizer():
    assert len({(checkpoints.BUNDLED / name / checkpoints.TOKENIZER).read_bytes() for name in ("stories", *(f"positions-{scheme}" for scheme in POSITION_SCHEMES))}) == 1


def test_stories_is_small_enough_to_be_carried_along():
    assert sum(file.stat().st_size for file in (checkpoints.BUNDLED / "stories").iterdir()) < 60e6
