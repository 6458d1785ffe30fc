"""The lesson Generation: what the pictures are given is what the model does, the numbers hold, questions have the right
answer, branches are kept and left again.
"""
from __future__ import annotations

import functools
import math
import re
import threading
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache, turns
from core.app.state import reader
from core.app.state.dice import Dice
from core.app.state.run import Run, read
from core.base import prose
from core.language.futures import futures
from core.model.generation import generate, next_logits
from core.model.kv_cache import KVCache
from core.model.sampling import SamplingConfig, truncate
from core.model.transformer import Transformer
from pages.generation import beam, branches, cache_view, strategies
from pages.generation import futures as futures_view
from pages.generation.shared import LENGTH, start
from tests.helpers import lessons, messages, predictions
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

VIEWS = ("writing", "strategies", "futures", "beam", "cache")
SMALL = "stories-small"         # for what every model does alike
USUAL = SamplingConfig(top_k=40, top_p=0.9)


open_at = functools.partial(lessons.open_at, "generation")


def dice(run: Run, seed: int = reader.FIRST_SEED) -> Dice:
    """The dice for the tokens after a run's prompt."""
    return Dice(seed, len(run.token_ids))


def given(at: AppTest, view: str) -> dict:
    return messages.given(at, f"generation_{view}")


def run_of(prompt: str, model: str = SMALL) -> Run:
    return read(cache.shared_model(model, "cpu"), prompt)


def logits_after(run: Run, token_ids: tuple[int, ...]) -> np.ndarray:
    with torch.no_grad():
        return run.model.logits(torch.tensor(token_ids), last_only=True)[-1].double().numpy()


@pytest.mark.parametrize("prompt", [*PROMPTS.values(), "$a_b^c$ \\ {} #"], ids=[*PROMPTS, "TeX"])
def test_every_view_bears_every_prompt(prompt: str | None):
    query = {} if prompt is None else {"prompt": prompt}
    at = open_at(model=SMALL, generation_view="writing", **query)
    for view in VIEWS:
        at.session_state["generation_view"] = view
        assert fine(at.run()) and (view == "cache" or given(at, view)), view


@pytest.mark.parametrize("view", VIEWS)
def test_every_pass_is_made_in_a_turn_on_the_device(monkeypatch, view: str):
    """A class that writes does not compute side by side: seed and prompt are this test's own, so that nothing is
    kept from another.
    """
    inside, made = threading.local(), []
    turn, logits = turns.Line.turn, Transformer.logits

    @contextmanager
    def watched(*given):
        with turn(*given):
            inside.turn = True
            yield
            inside.turn = False

    monkeypatch.setattr(turns.Line, "turn", watched)
    monkeypatch.setattr(Transformer, "logits", lambda *given, **named: (made.append(getattr(inside, "turn", False)),
                                                                        logits(*given, **named))[1])
    at = open_at(model=SMALL, generation_view=view, prompt=f"One day a {view}", seed="917")
    if view == "cache":
        at.button("generation_measure").click().run()
    assert fine(at) and len(made) > 8 and all(made)


def test_absurd_addresses_are_left_out():
    at = open_at(model=SMALL, generation_view="beam", generation_width="99", generation_temperature="nan",
                 generation_top_k="-5", generation_top_p="x", seed="1e99", generation_written="-7",
                 generation_picked="99", generation_branches="~.-~5.x~<b>", generation_branch="1e6",
                 generation_depth="7", generation_future="1.2.3", generation_hypothesis="9999.-1",
                 generation_source="moon")
    assert fine(at)
    for view in VIEWS:
        at.session_state["generation_view"] = view
        assert fine(at.run()), view


# ---- writing ---------------------------------------------------------------------------------------------------------


def test_the_steps_are_what_generate_draws_and_their_numbers_are_the_models():
    at = open_at(model=SMALL)
    sent, run = given(at, "writing"), run_of(at.session_state["prompt"])
    steps = list(generate(run.model, run.token_ids, USUAL, dice(run).numbers(), LENGTH))
    assert [step["token"] for step in sent["steps"]] == [run.tokenizer.visible(step.token_id) for step in steps]
    assert [step["xi"] for step in sent["steps"]] == [step.xi for step in steps]
    at_step = 5
    t = truncate(logits_after(run, steps[at_step].token_ids[:-1]), USUAL)
    for token_id, _, place, y, renormalised, rule, begin, end in sent["steps"][at_step]["candidates"]:
        assert (t.token_ids[place] == token_id and y == pytest.approx(t.probs[place], abs=1e-5)
                and renormalised == pytest.approx(t.renormalised[place], abs=1e-5))
        assert rule == t.cut_by[place] and end - begin == pytest.approx(renormalised, abs=1e-9)
    for step in sent["steps"]:
        taken = next(one for one in step["candidates"] if one[2] == step["place"])
        assert taken[6] <= step["xi"] < taken[7]


def test_a_branch_takes_the_pick_keeps_what_stands_before_and_is_left_again():
    run = run_of("Once upon a time")
    begin = start(run)
    drawn = branches.text_of(run, begin, USUAL, dice(run))
    other = next(one.token_id for one in drawn[3].candidates if one.token_id != drawn[3].token_id)
    name = branches.identity(run, begin, USUAL, dice(run))
    link = branches.to_link(name, [((3, other),)])
    at = open_at(model=SMALL, prompt="Once upon a time", generation_branches=link, generation_branch="1")
    sent = given(at, "writing")
    steps = list(generate(run.model, run.token_ids, USUAL, dice(run).numbers(), LENGTH, picks={3: other}))
    assert [step["token"] for step in sent["steps"]] == [run.tokenizer.visible(step.token_id) for step in steps]
    assert (sent["steps"][3]["hand"]
            and [step["xi"] for step in sent["steps"]][:len(drawn)] == [step.xi for step in drawn][:len(sent["steps"])])
    assert (len(sent["texts"]) == 2
            and sent["texts"][0]["tokens"] == [run.tokenizer.visible(step.token_id) for step in drawn]
            and sent["texts"][1]["from"] == 3)
    back = given(open_at(model=SMALL, prompt="Once upon a time", generation_branches=link, generation_branch="0"),
                 "writing")
    assert [step["token"] for step in back["steps"]] == sent["texts"][0]["tokens"] and len(back["texts"]) == 2
    elsewhere = given(open_at(model=SMALL, prompt="Once upon a time", generation_branches=link, generation_branch="1",
                              seed="2"), "writing")
    assert len(elsewhere["texts"]) == 1, "picks of another seed's text mean nothing"


def test_a_text_stops_at_the_end_of_text():
    run = run_of("The end.")
    config = SamplingConfig(temperature=1.5)
    found = next((seed for seed in range(60) if branches.text_of(run, start(run), config, dice(run, seed))[-1].token_id
                  == run.model.config.end_of_text), None)
    assert found is not None
    sent = given(open_at(model=SMALL, prompt="The end.", generation_temperature="1.5", generation_top_k="0",
                         generation_top_p="1.0", seed=str(found)), "writing")
    assert sent["ends"] and len(sent["steps"]) < LENGTH


@pytest.mark.parametrize("prompt, seed, temperature", [
    ("Tom and Mia went to the park.", 1, 1.0), ("The king", 1, 1.0), ("The king", 2, 0.0), ("Tom", 3, 2.5)])
def test_the_first_choices_of_a_text_are_counted_by_another_way(prompt: str, seed: int, temperature: float):
    run, config = run_of(prompt), SamplingConfig(temperature, top_k=40, top_p=0.9)
    steps = list(generate(run.model, run.token_ids, config, dice(run, seed).numbers(), LENGTH))
    with torch.no_grad():
        probs = run.model.logits(torch.tensor(steps[-1].token_ids[:-1])).double().softmax(-1)[len(run.token_ids) - 1:]
    count = sum(int(row.argmax()) == step.token_id for row, step in zip(probs, steps, strict=True))
    told = predictions.told("generation", "writing", 0, prompt=prompt, model=SMALL, seed=str(seed),
                            generation_temperature=str(temperature))
    n = len(steps)
    assert [count == n, n > count > n / 2, 0 < count <= n / 2, count == 0].index(True) == told["answer"]
    assert told["reason"].startswith(f"{count} of {n} ")
    rare = min(float(row[step.token_id]) for row, step in zip(probs, steps)) < 0.1
    assert told["true"].startswith("At least one" if rare else "Every token")


def test_the_first_choice_is_drawn_always_often_seldom_or_never():
    answers = [predictions.told("generation", "writing", 3, prompt=prompt, model=SMALL,
                                generation_temperature=str(temperature))["answer"]
               for prompt, temperature in (("One day", 0), ("One day", 0.7), ("One day", 3), ("The king", 3))]
    assert answers == [0, 1, 2, 3]


def test_two_seeds_part_where_their_texts_do():
    run = run_of("Tom and Mia went to the park.")
    texts = [[step.token_id for step in generate(run.model, run.token_ids, USUAL, dice(run, seed).numbers(), LENGTH)]
             for seed in (4, 5)]
    shared = next(i for i, (one, two) in enumerate(zip(*texts)) if one != two)
    at = open_at(model=SMALL, prompt="Tom and Mia went to the park.", seed="4")
    lessons.answer(at, "parting", [bound > shared for bound in (1, 5, 20, LENGTH + 1)].index(True))
    assert any(m.value.startswith(f"They share {shared}.") for m in at.markdown)


@pytest.mark.parametrize("prompt", ["The king", "Once upon a time"])
def test_the_most_surprising_text_is_so_by_the_models_own_pass(prompt: str):
    run, found = run_of(prompt), []
    for config in (SamplingConfig(temperature=0), SamplingConfig(), SamplingConfig(top_k=40),
                   SamplingConfig(top_p=0.9)):
        ids = list(generate(run.model, run.token_ids, config, reader.FIRST_SEED, LENGTH))[-1].token_ids
        with torch.no_grad():
            log_probs = run.model.logits(torch.tensor(ids[:-1])).double().log_softmax(-1)
        losses = [-float(log_probs[i, ids[i + 1]]) for i in range(len(run.token_ids) - 1, len(ids) - 1)]
        found.append(sum(losses) / len(losses))
    at = predictions.ask("generation", "strategies", prompt=prompt, model=SMALL)
    told = predictions.commit(at, "generation", "strategies", 0)
    assert told["answer"] == int(np.argmax(found)) and float(told["said"]) == pytest.approx(max(found), rel=6e-3)
    greedy, drawn = (sum(row["again"]) for row in given(at, "strategies")["rows"][:2])
    assert told["true"] == predictions.statements("generation", "strategies")[
        0 if greedy > drawn else 1 if greedy < drawn else 2]


def test_top_k_writes_what_greedy_decoding_writes_up_to_the_k_that_is_told():
    run = run_of("The king")
    texts = [list(generate(run.model, run.token_ids, config, reader.FIRST_SEED, LENGTH))[-1].token_ids for config in
             (SamplingConfig(temperature=0), *(SamplingConfig(top_k=k) for k in strategies.KS))]
    same = [text == texts[0] for text in texts[1:]]
    at = open_at(model=SMALL, prompt="The king", generation_view="strategies")
    lessons.answer(at, "k", (same + [False]).index(False) - 1)


@pytest.mark.parametrize("prompt, answer", [("Tom", 2), ("I ❤️ 🐶 and", 3),
                                            ("The cat sat on the mat. The dog sat on the", 1)])
def test_how_the_text_of_a_beam_compares_with_greedys(prompt: str, answer: int):
    run = run_of(prompt)
    found = [list(beam.beam_search(run.model, run.token_ids, width, beam.N_STEPS))[-1][0].token_ids for width in (1, 4)]
    sums = []
    for ids in found:
        with torch.no_grad():
            log_probs = run.model.logits(torch.tensor(ids[:-1])).double().log_softmax(-1)
        sums.append(sum(float(log_probs[i, ids[i + 1]]) for i in range(len(run.token_ids) - 1, len(ids) - 1)))
    told = predictions.told("generation", "beam", 0, prompt=prompt, model=SMALL)
    ratio = math.exp(sums[1] - sums[0])
    assert found[0] != found[1] and told["answer"] == answer == (1 if ratio < 1 else 2 if ratio < 2 else 3)
    assert float(told["said"].split()[0].replace(",", "")) == pytest.approx(ratio, rel=6e-3)
    begins = found[0][len(run.token_ids)] == found[1][len(run.token_ids)]
    assert told["true"].startswith("The best text begins like" if begins else "The best text begins with another")


def test_the_beam_may_find_greedys_text_and_one_of_width_1_is_not_asked_about():
    same = predictions.told("generation", "beam", 1, prompt="The king", model="stories")
    assert same["answer"] == 0 and "find the same text" in same["reason"] and "is greedy's" in same["true"]
    assert "ask" not in predictions.modes(predictions.ask("generation", "beam", model=SMALL, generation_width="1"))


@pytest.mark.parametrize("model, temperature, answer", [(SMALL, "0", 0), ("stories", "1", 1), (SMALL, "2", 2)])
def test_different_futures_are_counted_by_another_way(model: str, temperature: str, answer: int):
    told = predictions.told("generation", "futures", 3, prompt="The king", model=model, generation_depth="3",
                            generation_temperature=temperature)
    run = run_of("The king", model)
    config = SamplingConfig(temperature=float(temperature), top_k=40, top_p=0.9)
    tree = futures(run.model, run.token_ids, config, reader.FIRST_SEED, futures_view.N, 3)
    whole = [node for node in tree if node.depth == 3]
    n = len({node.token_ids for node in whole})
    assert told["answer"] == answer == [n == 1, 1 < n < 100, 100 <= n < 200, n == 200].index(True)
    assert told["reason"].startswith(f"{n} different")
    assert told["true"].startswith("The thickest" if max(node.count for node in whole) >= 20 else "Even the thickest")


def test_the_numbers_of_a_draw():
    lines = formulas(open_at(model=SMALL, generation_written="4"))
    p, surprisal = map(float, re.findall(r"= (\d[\d.]*)", lines[0]))
    assert -math.log(p) == pytest.approx(surprisal, abs=1e-3)
    y, kept, share = map(float, re.search(r"\\frac\{([\d.]+)\}\{([\d.]+)\} = ([\d.]+)", lines[1]).groups())
    assert y / kept == pytest.approx(share, abs=6e-5)
    xi, begin, end = map(float, re.search(r"= ([\d.]+) \\in \[([\d.]+),\\ ([\d.]+)\)", lines[2]).groups())
    assert begin <= xi < end and end - begin == pytest.approx(share, abs=1e-4)
    *terms, total = map(float, re.findall(r"-?\d+\.\d+", lines[3].split("=", 2)[-1]))
    assert len(terms) == 4 and sum(terms) == pytest.approx(total, abs=1e-4)


def test_a_long_prompt_leaves_room_and_the_page_says_what_is_left_out():
    run = run_of(PROMPTS["256 tokens"])
    begin = start(run)
    assert (begin.n_left_out == LENGTH and len(begin.token_ids) + LENGTH == run.model.config.n_context
            and begin.token_ids[0] == run.token_ids[0] and begin.token_ids[1:] == run.token_ids[1 + LENGTH:])
    assert str(LENGTH) in given(open_at(model=SMALL, prompt=PROMPTS["256 tokens"]), "writing")["text"]["note"]


# ---- strategies, futures, beam ---------------------------------------------------------------------------------------


def test_strategies_say_what_their_texts_are_worth():
    at = open_at(model=SMALL, generation_view="strategies")
    sent, run = given(at, "strategies"), run_of(at.session_state["prompt"])
    configs = (SamplingConfig(temperature=0), SamplingConfig(), SamplingConfig(top_k=40), SamplingConfig(top_p=0.9))
    for row, config in zip(sent["rows"], configs):
        steps = list(generate(run.model, run.token_ids, config, reader.FIRST_SEED, LENGTH))
        assert row["tokens"] == [run.tokenizer.visible(step.token_id) for step in steps]
        assert float(row["numbers"][0].replace("−", "-")) == pytest.approx(sum(step.log_prob for step in steps),
                                                                           rel=5e-3)
        assert float(row["numbers"][1]) == pytest.approx(-sum(step.log_prob for step in steps) / len(steps), rel=5e-3)
        ids = [step.token_id for step in steps]
        grams = [tuple(ids[i:i + 4]) for i in range(len(ids) - 3)]
        assert float(row["numbers"][3]) == pytest.approx(1 - len(set(grams)) / len(grams), abs=2e-3)
        assert sum(row["again"]) > 0 or len(set(grams)) == len(grams)
    for line in formulas(at)[:2]:
        over, under, result = map(float, re.search(r"\\frac\{([\d.]+)\}\{(\d+)\} = ([\d.]+)", line).groups())
        assert over / under == pytest.approx(result, abs=6e-5)


def test_averages_are_the_means_over_ten_seeds():
    at = open_at(model=SMALL, prompt="Tom", generation_view="strategies", generation_averaged="true")
    run, rows = run_of("Tom"), given(at, "strategies")["rows"]
    means = []
    for seed in range(reader.FIRST_SEED, reader.FIRST_SEED + strategies.N_SEEDS):
        steps = list(generate(run.model, run.token_ids, SamplingConfig(), seed, LENGTH))
        means.append(-sum(step.log_prob for step in steps) / len(steps))
    assert float(rows[1]["means"][1]) == pytest.approx(np.mean(means), rel=5e-3) and rows[0]["means"] is None


def test_the_tree_and_its_formulas():
    at = open_at(model=SMALL, generation_view="futures")
    sent, lines = given(at, "futures"), formulas(at)
    assert sum(node[3] for node in sent["nodes"] if node[2] == 1) == futures_view.N == sent["n"]
    *factors, P = map(float, re.findall(r"\d+\.\d+", lines[0]))
    assert len(factors) == 4 and math.prod(factors) == pytest.approx(P, abs=6e-5)
    p, expected = map(float, re.search(r"200 \\cdot ([\d.]+) = ([\d.]+)", lines[1]).groups())
    assert 200 * p == pytest.approx(expected, abs=6e-4)
    assert math.sqrt(200 * p * (1 - p)) == pytest.approx(float(lines[2].rsplit("= ", 1)[1]), abs=6e-4)


def test_the_question_of_the_tree_by_another_way():
    run = run_of("Tom and Mia went to the park. Tom gave the ball to")
    begin = start(run, 4)
    page = _page()
    (tree, _), _ = futures_view.trees_of(page, run, begin, USUAL, 1)
    other = futures(run.model, begin.token_ids, USUAL, 2, futures_view.N, begin.length)
    found = futures_view._question(page, 1, tree, other)
    texts = {node.token_ids for node in tree if node.depth == 4 or (node.depth and node.token_ids[-1] == 0)}
    again = sum(node.count for node in other if node.token_ids in texts)
    low, high = map(int, re.findall(r"\d+", found.options[found.answer]))
    assert low <= again <= high


def _page():
    from core.app.lesson.lesson import Lesson
    return Lesson("generation", prose.load("generation"), prose.load("app"))


def test_the_tree_of_beam_search_and_the_fate_of_each_hypothesis():
    at = open_at(model=SMALL, generation_view="beam", generation_width="3")
    sent = given(at, "beam")
    assert all(len(step) == 3 + beam.N_PRUNED for step in sent["steps"])
    for number, step in enumerate(sent["steps"]):
        assert [one[4] == "pruned" for one in step] == [place >= 3 for place in range(len(step))]
        alive = ({one[1] for one in sent["steps"][number + 1][:3] if one[4] != "dead"}
                 if number + 1 < len(sent["steps"]) else {0, 1, 2})
        assert {place for place, one in enumerate(step[:3]) if one[4] != "dead"} == alive
    assert sum(one[4] == "best" for step in sent["steps"] for one in step) == len(sent["steps"])
    terms = list(map(float, re.findall(r"-?\d+\.\d+", formulas(at)[0])))
    assert sum(terms[:-1]) == pytest.approx(terms[-1], abs=1e-3)


def test_two_tokens_are_searched_whole_and_the_experiment_says_the_truth():
    ranks = {}
    for width in (1, 2, 8):
        found = beam._tiny(width, 3)
        assert len(found.every) == 16
        ranks[width] = [one.token_ids for one in found.every].index(found.best.token_ids) + 1
    assert ranks == {1: 2, 2: 1, 8: 1}
    for seed in range(10):
        found = beam._tiny(8, seed)
        assert found.best.token_ids == found.every[0].token_ids
    at = open_at(model=SMALL, generation_view="beam", generation_source="tiny", generation_seed="3",
                 generation_width="1")
    sent = given(at, "beam")
    assert fine(at) and sent["rank"] == 2 and sent["all"] == 16 and len(at.dataframe[0].value) == 16


def test_the_experiments_say_the_truth():
    experiments = {experiment.id: {key: str(value) for key, value in experiment.settings.items()}
                   for experiment in prose.load("generation").experiments}
    assert given(open_at(**experiments["branch"]), "writing")["steps"][0]["token"] in ("·Spot", "·Max")
    repeated = [float(row["numbers"][3]) for row in given(open_at(**experiments["repeat"]), "strategies")["rows"]]
    assert min(repeated[0], repeated[4]) > 0.4 > 0.1 > max(repeated[1:4])
    hot = given(open_at(**experiments["hot"]), "futures")
    cold = given(open_at(**experiments["hot"] | {"generation_temperature": "0.5"}), "futures")
    assert hot["different"] > 190 and hot["mass"] < 0.01 and cold["different"] < 80 and cold["mass"] > 0.5


# ---- the cache -------------------------------------------------------------------------------------------------------


def test_no_times_stand_there_before_they_are_measured_and_then_those_that_were():
    at = open_at(model="induction", generation_view="cache")
    assert len(at.get("vega_lite_chart")) == 2 and not any("\\mathrm{ms}" in line for line in formulas(at))
    at.button("generation_measure").click().run()
    assert fine(at) and len(at.get("vega_lite_chart")) == 3
    line = next(line for line in formulas(at) if "\\mathrm{ms}" in line)
    without, cached, ratio = map(
        float, re.search(r"\{([\d.]+)\\,\\mathrm\{ms\}\}\{([\d.]+)\\,\\mathrm\{ms\}\} = ([\d.]+)", line).groups())
    assert without / cached == pytest.approx(ratio, rel=1e-3)
    assert any(prose.load("generation").labels["texts_same"].split("{")[0] in m.value for m in at.markdown)


def test_the_bytes_of_the_page_are_those_of_a_cache_and_the_answer_is_the_ratio_of_the_work():
    run = run_of("The cat sat on the mat", "stories")
    kept = KVCache()
    next_logits(run.model, [run.token_ids], kept)
    held = sum(K.nbytes + V.nbytes for K, V in kept.keys_and_values.values())
    lines = formulas(open_at(prompt="The cat sat on the mat", generation_view="cache"))
    assert int(lines[0].rsplit("= ", 1)[1]) * len(run.token_ids) == held
    over, under, ratio = map(float, re.search(r"\\frac\{(\d+)\}\{(\d+)\} = ([\d.]+)", lines[2]).groups())
    assert over / under == pytest.approx(ratio, abs=6e-5)
    question = cache_view._question(_page(), run.model.config)
    assert question.answer == 1 and run.model.config.n_kv_heads > 2
    told = predictions.told("generation", "cache", 0, prompt="The cat sat on the mat")
    assert told["answer"] == 2 and 128 < ratio < 256 and f"{ratio:.0f} times" in told["reason"]
    assert told["true"].startswith("One line stays")


@pytest.mark.parametrize("name", ["stories-small", "induction", "positions-rotary"])
def test_without_the_cache_one_more_token_never_takes_more_than_all_tokens_again(name: str):
    config = run_of("The cat", name).model.config
    for n in range(2, config.n_context + 1):
        cached, without = cache_view.work(config, n)
        assert 1 <= without / cached <= n
