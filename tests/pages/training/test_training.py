"""The lesson Training: what its pictures are given is what the models compute, its numbers hold, its questions have the
right answers, and what is trained belongs to its reader.
"""
from __future__ import annotations

import json
import math
import re
import threading
import time

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.analysis import symmetries
from core.app.bar import prompt_bar
from core.app.compute import cache, queue
from core.app.state.run import Run, of_tokens, read
from core.base import prose
from core.learning.learner import TASKS, Copying, Learner
from core.model import checkpoints
from pages.training import childhood, forcing, live
from tests.helpers import lessons, messages
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

WORDS = prose.load("training")
VIEWS = ("forcing", "live", "childhood")
MOMENTS = checkpoints.history("stories-small")


def open_at(page: str = "training", **query: str) -> AppTest:
    return lessons.open_at(page, **query)


def columns(at: AppTest) -> dict:
    return messages.given(at, "teacher_forcing")


def run_of(prompt: str, model: str = "stories") -> Run:
    return read(cache.shared_model(model, "cpu"), prompt)


def paid(run: Run, ids: tuple[int, ...]) -> list[float]:
    """−ln p of every token but the first, by the model's other road, in float64."""
    logits = symmetries.double_copy(run.model).logits(torch.tensor(ids))
    return [float(logits[i].logsumexp(-1) - logits[i, token]) for i, token in enumerate(ids[1:])]


@pytest.mark.parametrize("prompt", [p for name, p in PROMPTS.items() if name != "default"],
                         ids=[name for name in PROMPTS if name != "default"])
def test_forcing_prices_every_prompt(prompt: str):
    at = open_at(prompt=prompt)
    sent, run = columns(at), run_of(prompt)
    assert fine(at) and sent["tokens"] == run.tokens and len(sent["losses"]) == len(run.tokens) - 1
    # float32, so off by a share of the logits' size: 5e-6 of it was the most that was measured
    sizes = run.trace.logits.abs().amax(-1)
    assert all(abs(loss - price) < 1e-5 * size
               for loss, price, size in zip(sent["losses"], paid(run, run.token_ids), sizes))
    assert sent["right"] == [guess == true for guess, true in zip(sent["guesses"], sent["tokens"][1:])]


@pytest.mark.parametrize("prompt, said", [("a", "**One prediction: "), ("a b", "predictions with a mean loss of ")])
def test_forcing_counts_in_words_that_fit(prompt: str, said: str):
    assert any(said in shown.value for shown in open_at(prompt=prompt).markdown)


@pytest.mark.parametrize("view", VIEWS[1:])
def test_the_other_views_bear_hard_prompts(view: str):
    for prompt in ("", PROMPTS["HTML"]):
        assert fine(open_at(training_view=view, prompt=prompt, training_task="text")), prompt


ABSURD = {"training_view": "x", "training_unit": "7", "training_packed": "maybe", "training_place": "1e99",
          "training_task": "<b>", "training_size": "huge", "training_optimizer": "", "training_rate": "nan",
          "training_seed": "-5", "training_head": "9999999", "training_milestone": "12345", "training_late": "2"}


def test_absurd_addresses_are_borne():
    for view in VIEWS:
        assert fine(open_at(**ABSURD | {"training_view": view})), view
    at = open_at(training_view="live", training_rate="-2.61", training_head="99")
    assert fine(at) and at.session_state["training_rate"] == -2.5
    assert (fine(open_at(training_packed="true", training_place="500", prompt="A cat. A dog."))
            and fine(open_at(training_packed="true", prompt="")))


def test_packed_documents_are_priced_with_the_end_between_them():
    at = open_at(training_packed="true", training_unit="bits", prompt="A cat sat. A dog ran.")
    sent, run = columns(at), run_of("A cat sat. A dog ran.")
    ids = forcing.packed_ids(run)
    assert ids.count(run.tokenizer.end_of_text) == 3 and sent["tokens"] == [run.tokenizer.visible(i) for i in ids]
    assert sent["losses"] == pytest.approx([nats / math.log(2) for nats in paid(run, ids)], abs=1e-4)


def test_the_numbers_of_forcing_hold_on_a_calculator():
    at = open_at(prompt="The dog ran to the park.", position="2")
    prices = paid(run_of("The dog ran to the park."), run_of("The dog ran to the park.").token_ids)
    price, mean, perplexity, _, push, _ = formulas(at)
    p, nats, numerator, bits = (float(x) for x in re.findall(r"\d+\.\d+", price))
    assert (-math.log(p) == pytest.approx(nats, abs=5e-5) and numerator / math.log(2) == pytest.approx(bits, abs=5e-5)
             and nats == pytest.approx(prices[2], abs=1e-4))
    total, shown = (float(x) for x in re.findall(r"\d+\.\d+", mean))
    assert total / len(prices) == pytest.approx(shown, abs=5e-5) and total == pytest.approx(sum(prices), abs=1e-3)
    exponent, shown = (float(x) for x in re.findall(r"\d+\.\d+", perplexity))
    assert math.exp(exponent) == pytest.approx(shown, abs=5e-4)
    assert float(re.findall(r"-?\d+\.\d+", push)[-1]) == pytest.approx(p - 1, abs=5e-5)


def question(at: AppTest):
    return next(radio for radio in at.radio if radio.key.endswith("_given"))


def verdict(at: AppTest, option: int) -> bool:
    key = question(at).key
    question(at).set_value(option).run()
    at.button(key.replace("_given", "_commit")).click().run()
    return any(m.value.startswith(prose.load("app").label("check_right", answer="").split(".")[0].strip())
               for m in at.markdown)


def test_the_questions_have_the_answers_that_a_second_computation_gives():
    at, run = open_at(), run_of(open_at().session_state["prompt"])
    prices = paid(run, run.token_ids)
    half = -math.log(2 * math.exp(-max(prices)))
    assert verdict(at, [option.split()[0] for option in question(at).options].index(f"{half:.3g}"))
    at = open_at(prompt="")
    assert verdict(at, next(k for k, option in enumerate(question(at).options)
                            if option.startswith(f"{math.log(run.model.config.vocab_size):.2f}")))
    at = open_at(training_view="live", training_task="copying")
    assert verdict(at, next(k for k, option in enumerate(question(at).options) if option.startswith("2.08")))
    at = open_at(training_view="childhood")
    then, now = (likeliest(step, WORDS.label("question_childhood_prompt")) for step in (1536, 2400))
    assert (then, now) == ("·ball", "·kite")
    assert verdict(at, next(i for i, option in enumerate(question(at).options)
                            if option.startswith(f"`{then}`") and f"`{now}` at the end" in option))


def likeliest(step: int, prompt: str) -> str:
    """The small model's most probable next token after `step` steps."""
    model, tokenizer = checkpoints.load_bundled("stories-small", step=step)
    return tokenizer.visible(int(model.logits(torch.tensor(tokenizer.prompt(prompt, 256).token_ids))[-1].argmax()))


# ---- live ------------------------------------------------------------------------------------------------------------


def until(condition, seconds: float = 240.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.05)
    return bool(condition())


def learner_in(at: AppTest) -> Learner:
    return list(at.session_state[live.LEARNERS].values())[-1]


def test_two_readers_train_pause_turn_and_reset_each_their_own():
    one, other = open_at(training_view="live"), open_at(training_view="live")
    one.button("training_run").click().run()
    learner, still = learner_in(one), learner_in(other)
    assert fine(one) and until(lambda: learner.step >= 20)
    one.session_state["training_optimizer"] = "sgd"
    one.run()
    one.button("training_run").click().run()
    job = list(one.session_state["training_jobs"].values())[-1]
    assert until(lambda: not job.running) and job.stopped and learner.history[-1].step == learner.step
    stopped = learner.step
    assert still.step == 0 and learner.knobs.optimizer == "sgd"
    one.run()
    assert fine(one) and any(f"After step {stopped}" in m.value for m in one.markdown) and learner_in(one) is learner
    one.button(f"{live.LEARNERS}_reset").click().run()
    assert learner_in(one).step == 0 and learner_in(one) is not learner and fine(one)


def test_where_all_places_are_taken_the_reader_waits_in_line_and_begins_by_itself():
    go, words = threading.Event(), prose.load("app")

    def wait():
        go.wait(60)
        yield 0

    held = [queue.start(wait) for _ in range(queue.MOST_AT_ONCE + 2)]
    try:
        assert until(lambda: queue.in_line() == (queue.MOST_AT_ONCE, 2))
        at = open_at(training_view="live")
        at.button("training_run").click().run()
        mine = list(at.session_state["training_jobs"].values())[-1]
        assert (at.button("training_run").label == words.label("worker_leave") and mine.waiting
                and learner_in(at).step == 0)
        assert any(re.search(r"2 ahead of you, about \d+ s:", info.value) for info in at.info)
        at.button("training_run").click().run()
        assert (until(lambda: not mine.running) and mine.stopped and queue.in_line() == (queue.MOST_AT_ONCE, 2)
                and at.run().button("training_run").label == WORDS.label("train_here"))
        at.button("training_run").click().run()
        mine = list(at.session_state["training_jobs"].values())[-1]
    finally:
        go.set()
        for job in held:
            job.wait(60)
    assert until(lambda: learner_in(at).step > 0) and not mine.waiting
    mine.stop()
    mine.wait(60)
    assert until(lambda: queue.in_line() == (0, 0)) and fine(at.run())


def test_every_task_and_size_opens_and_the_levels_are_in_the_picture():
    for task in TASKS:
        at = open_at(training_view="live", training_task=task)
        spec = json.loads(at.get("vega_lite_chart")[0].proto.spec)
        drawn = [value["value"] for layer in spec["layer"] if layer["mark"]["type"] == "rule"
                 for value in layer["data"]["values"]]
        assert fine(at) and drawn == list(learner_in(at).task.levels.values()), task
    parameters = next(latex for latex in formulas(open_at(training_view="live", training_size="medium"))
                      if "12 d^2" in latex)
    left, shown = parameters.split(" = ")[1:]
    assert eval(left.replace(r"\cdot", "*")) == int(shown)  # noqa: S307


def test_the_settings_of_large_models_stand_below_the_numbers():
    shown = open_at(training_view="live").dataframe[0].value
    gpt_3 = shown[shown["Model"] == "GPT-3 (175B)"].iloc[0]
    assert shown.shape == (19, 10) and not shown.isna().any().any() and gpt_3.iloc[2] == "6\u00a0·\u00a010⁻⁵"


def test_the_own_text_is_the_prompt_if_it_is_long_enough():
    long = "The cat sat on the mat and the dog sat on the log. " * 8
    learned = [learner_in(open_at(training_view="live", training_task="text", prompt=prompt)).task._train
               for prompt in (long, "short")]
    assert (learned[0].tolist() == live.learning.OwnText(long)._train.tolist()
            and learned[1].tolist() == live.learning.OwnText(WORDS.section("passage"))._train.tolist())


def test_a_model_trained_live_runs_in_every_lesson():
    learner = Learner(Copying())
    next(learner.learn())
    name = cache.keep_own(learner.copy(), learner.task.tokenizer, "copying-10")
    assert cache.exists(name) and not cache.exists("copying-10") and name in prompt_bar.model_note(name)
    for page in ("heads", "residual_stream", "next_token", "embeddings", "training"):
        at = open_at(page, model=name, prompt="abcdefgh|abc")
        assert fine(at) and at.session_state["model"] == name, page
    for _ in range(cache.MOST_OWN):
        cache.keep_own(learner.copy(), learner.task.tokenizer, "other")
    at.run()
    assert not cache.exists(name) and fine(at) and at.session_state["model"] == "stories"


# ---- childhood -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_index", [0, 18, len(MOMENTS) - 1])
def test_every_moment_is_the_model_that_was_kept(at_index: int):
    prompt, moment = "Once upon a time, there was a", MOMENTS[at_index]
    at = open_at(training_view="childhood", training_milestone=str(at_index), prompt=prompt)
    model, tokenizer = checkpoints.load_bundled("stories-small", step=moment.step)
    ids = tokenizer.prompt(prompt, 256).token_ids
    p = model.logits(torch.tensor(ids))[-1].double().softmax(-1)
    title = next(m.value for m in at.markdown if m.value.startswith("**stories-small after"))
    assert fine(at) and tokenizer.visible(int(p.argmax())).replace("`", "ˋ") in title
    loss = float(re.search(r"L} = (\d+\.\d+)", formulas(at)[0])[1])
    assert loss == pytest.approx(moment.held_out["heldout_tinystories"], abs=5e-5)


def test_time_travel_reaches_the_other_lessons_through_the_picker_and_the_address():
    at = open_at(training_view="childhood", training_milestone="3")
    at.button("training_everywhere").click().run()
    assert at.session_state["model"] == "stories-small@4" and "stories-small@4" in at.query_params["model"]
    weights = checkpoints.load_bundled("stories-small", step=4)[0]
    for page in ("heads", "residual_stream", "next_token", "embeddings"):
        at = open_at(page, model="stories-small@4", prompt="The cat")
        assert fine(at), page
    assert torch.equal(cache.shared_model("stories-small@4", "cpu").model.E, weights.E)
    at.session_state["model_drawer"] = True
    at.run().select_slider(key="moment").set_value(2150).run()
    assert at.session_state["model"] == "stories-small@2150" and fine(at)
    assert of_tokens("stories-small@4", "cpu", (0, 5)).model_name == "stories-small@4"


@pytest.mark.parametrize("name", ["stories-small@3", "stories@4", "stories-small@", "stories-small@04", "@", "x@1",
                                  "stories-small@1e3"])
def test_a_moment_that_was_not_kept_is_no_model(name: str):
    assert not cache.exists(name)
    with pytest.raises(ValueError):
        of_tokens(name, "cpu", (0,))


def test_playing_goes_through_the_moments_from_the_start():
    at = open_at(training_view="childhood")
    at.button("training_play").click().run()
    assert at.session_state["training_milestone"] == 0 and at.session_state[childhood.PLAYING] and fine(at)
    at.button("training_play").click().run()
    assert not at.session_state[childhood.PLAYING] and fine(at)


def test_the_head_that_becomes_the_induction_head_is_found_by_its_score():
    from core.analysis.stream_and_heads import induction_score
    layer, head = childhood.induction_head("stories-small", "cpu")
    run = run_of("a", "stories-small")
    ids = torch.tensor(childhood.repeated(run))
    scores = torch.stack([induction_score(block.pattern, ids) for block in run.model(ids).blocks])
    assert ids[1:15].tolist() == ids[15:].tolist() and divmod(int(scores.argmax()), scores.shape[1]) == (layer, head)
