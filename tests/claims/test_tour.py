"""Claims of the tour, with the prompt that it opens with and with all the examples."""
import numpy as np
import torch

from core.app.lesson.lesson import Lesson
from core.app.state.prompts import example_prompts
from core.base import prose
from pages.tour import ending, looking, pieces, words
from tests.claims import claims
from tests.claims.passes import opening, run

PAGE = Lesson("tour", prose.load("tour"), prose.load("app"))


@claims("tour.md", "That word counts: the model must have looked back at it. How?")
def test_the_word_that_the_tour_begins_with_counts():
    there = opening()
    place = words.change(PAGE, there, {}).asks["place"]
    step = words.change(PAGE, there, {"change": {"word": "hat", "place": place, "moves": True}})
    assert [label for label, _ in step.said] == ["told_change_right", "told_change", "told_change_counts"]
    assert step.tells["rows"][0]["word"] == "hat" and step.tells["rows"][0]["p"] > 0.5


@claims("tour.md", "Pieces that are used alike lie close together.")
def test_words_that_are_used_alike_are_neighbours():
    there = opening()
    for word, alike in (("hot", "·cold"), ("king", "·queen"), ("boy", "·girl"), ("red", "·blue"), ("run", "·walk")):
        [token] = there.tokenizer.encode(f" {word}")
        _, order = pieces.neighbours(there, token)
        assert alike in [there.tokenizer.visible(int(i)) for i in order[:pieces.N_NEIGHBOURS]], word


@claims("tour.md", "The first place changed hands {changes} times: the model changes its mind.")
def test_the_model_changes_its_mind_on_the_way():
    for prompt in example_prompts()[:4]:
        leaders, _ = looking.lens_of(run(prompt))
        assert sum(a != b for a, b in zip(leaders, leaders[1:])) > 1, prompt


@claims("tour.md", "The framed square is the head of the step before: its arcs are the last row.")
def test_the_arcs_are_the_last_row_of_the_framed_square():
    there = opening()
    step = looking.heads(PAGE, there, {})
    side, met = step.asks["side"], step.asks["met"]
    row = step.arrays["tiles"].reshape(-1, side, side)[met, -1] / 255.0
    weights = looking.look(PAGE, there, {"look": {"key": 3}}).tells["weights"]
    assert len(weights) == side and np.allclose(row ** 2, weights, atol=0.005)


@claims("tour.md", "The same few common pieces")
def test_a_model_begins_with_the_same_few_pieces():
    """And not with letters, sentences without sense or whole ones: these are the tour's other answers."""
    step, few = ending.repeated_by(opening(), "stories-small")
    assert step > 0 and 0 < len(few) <= 3 and all(len(few) > 1 or len(piece) > 1 for piece in few)
    told = {guess: ending.learn(PAGE, opening(), {"learn": {"guess": guess, "at": 0}}).said[0][0]
            for guess in ending.FIRST}
    assert [guess for guess, label in told.items() if label == "told_learn_right"] == ["frequent"]


@claims("tour.md", "All {n} heads look back at once, each in its own way. Switch some off: will {top} survive?")
def test_one_head_does_not_bring_the_word_down_and_some_do():
    there = opening()
    met = looking.heads(PAGE, there, {}).asks["met"]
    one = looking.heads(PAGE, there, {"heads": {"off": [met]}})
    block = looking.heads(PAGE, there, {"heads": {"off": list(range(40, 48))}})
    assert one.said[0][0] == "told_heads_one_stays" and block.said[0][0] == "told_heads_lost"


@claims("tour.md", "Less likely, as you said: heat brings the chances closer together, and rare words get theirs.")
def test_heat_lowers_the_likeliest():
    for prompt in example_prompts():
        u = run(prompt).trace.logits[-1].double()
        ps = [float(torch.softmax(u / t, -1).max()) for t in (0.5, 1, 2, 3)]
        assert ps == sorted(ps, reverse=True), prompt


@claims("tour.md", "At the beginning it knows nothing", "Its childhood, from noise to stories.")
def test_a_model_that_has_not_learned_guesses_evenly_and_later_writes_stories():
    moments = ending.moments_of(opening(), "stories-small")
    assert moments[0]["rows"][0]["p"] < 10 / moments[0]["n"]
    assert moments[-1]["rows"][0]["p"] > 0.2 and "girl named" in moments[-1]["sample"]
