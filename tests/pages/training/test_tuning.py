"""Tuning in the lesson Training: every stage opens and bears what it is given, what it shows is computed, votes and
tuned models belong to their reader, and the shared model is not touched.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable

import pandas as pd
import pyarrow as pa
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.base import prose
from core.figures.numbers import readable
from core.learning import tuning, tuning_texts
from core.learning.learner import Copying, Learner
from core.model import checkpoints
from pages.training import alignment, charts, fine_tuning, recorded_tuning, tuning_parts
from tests.helpers import lessons
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas
from tests.helpers.prompts import PROMPTS
from tests.pages.training.test_training import question, until, verdict

pytestmark = pytest.mark.long

STAGES = ("pretrained", "tuned", "aligned")
WORDS = prose.load("training")


def open_at(stage: str = "tuned", **query: str) -> AppTest:
    shared = {name: query.pop(name) for name in ("prompt", "model") if name in query}
    return lessons.open_at("training", training_view="tuning", training_stage=stage,
                           **{f"training_{name}": value for name, value in query.items()}, **shared)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Hashable, Callable[[], tuning.Tuner], tuning.Tuner]]:
    """The pages' requests: which tuner, how it is made, and the one they are given."""
    every, tuner_of = [], tuning_parts.tuner_of
    monkeypatch.setattr(tuning_parts, "tuner_of",
                        lambda key, make: every.append((key, make, tuner_of(key, make))) or every[-1][2])
    return every


def own_of(at: AppTest) -> list[tuning.Tuner]:
    """The tuners of this session that have begun to learn."""
    return list(at.session_state[tuning_parts.TUNERS].values())


def said(at: AppTest) -> str:
    return "\n".join(m.value for m in at.markdown if not m.value.startswith("<style"))


def number(latex: str) -> float:
    """The last number of a formula."""
    return float(re.findall(r"-?\d+\.\d+", latex)[-1])


def value(latex: str) -> float:
    """A calculator's value for a sum or a quotient of a formula."""
    plain = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", latex.replace(r"\cdot 10^{", "*10**{")).replace(
        r"\cdot", "*")
    return eval(plain.replace("{", "(").replace("}", ")"))  # noqa: S307


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_bears_every_prompt_and_an_absurd_address(stage: str):
    at = open_at(stage, asked="prompt")
    for prompt in PROMPTS.values():
        at.session_state["asked_for"] = {"prompt": prompt}
        at.run()
        assert fine(at), prompt
    assert fine(open_at(stage, base="x", pairs="<b>", topic="{x}" * 99, food="<script>", parts="9", rank="1e9",
                        judge="none", beta="nan", asked="?", example="-4", dice="1e99"))
    assert fine(open_at(stage, pairs="fact", topic="{name}" * 99, food="<b>\n", example="999", beta="0.3"))


@pytest.mark.parametrize("kind", [*tuning_texts.KINDS, "fact"])
def test_every_kind_of_pairs_shows_a_held_out_pair_and_what_counts(kind: str, asked: list):
    at = open_at(pairs=kind, topic="the red snail", food="blue soup")
    tuner, table = asked[-1][2], at.dataframe[0].value
    assert fine(at) and len(tuner.pairs) > 10
    assert (table["counts"].sum() == int((tuner.held_out.targets[0] != -100).sum())
            and (table[~table["counts"]]["−ln p now"] == "–").all())
    if kind == "fact":
        assert "red snail" in said(at) and "·soup" in " ".join(table["token"])
    else:
        assert not {pair.prompt for pair in tuner.pairs} & {
            fine_tuning.encoded(cache.shared_model("stories-small", "cpu"), [p])[0].prompt
            for p in tuning_texts.pairs(kind, 200, 24, 0)[1]}


def test_two_readers_tune_each_their_own_and_the_shared_model_stays(asked: list):
    before = {name: p.clone() for name, p in cache.shared_model("stories-small", "cpu").model.state_dict().items()}
    one, other = open_at(parts="adapters", rank="2"), open_at(parts="adapters", rank="2")
    still = asked[-1][2]
    assert asked[0][2] is still and own_of(one) == own_of(other) == []
    one.button("training_run").click().run()
    assert fine(one) and until(lambda: any(tuner.step >= 10 for tuner in own_of(one))) and own_of(other) == []
    [tuner] = own_of(one)
    one.button("training_run").click().run()
    job = list(one.session_state["training_jobs"].values())[-1]
    assert until(lambda: not job.running) and not job.failed and still.step == 0
    one.run()
    last = tuner.history[-1]
    assert (fine(one) and f"After {last.step} steps" in said(one) and last.held_out < tuner.history[0].held_out - 1
            and last.kl > 0)
    lines = formulas(one)
    assert r"L\, r" in lines[3] and f"= {tuner.n_learned}," in lines[3] and tuner.n_learned == 5 * 2 * (2 * 160 + 320)
    left, shown = lines[2].split(r"\ ")[0].split(" = ")
    assert value(left) == pytest.approx(float(shown), abs=6e-5)
    pair = fine_tuning.encoded(cache.shared_model("stories-small", "cpu"),
                               [tuning_texts.pairs("feeling", 200, 24, 0)[1][0]])[0]
    p = tuner.copy().logits(torch.tensor(pair.prompt + pair.answer)).double().log_softmax(-1)
    paid = [-float(p[len(pair.prompt) - 1 + i, token]) for i, token in enumerate(pair.answer)]
    assert sum(paid) / len(paid) == pytest.approx(float(shown), abs=1e-4)
    assert value(lines[4].split(" = ")[0]) == pytest.approx(last.old - tuner.history[0].old, abs=1e-4)
    after = cache.shared_model("stories-small", "cpu").model.state_dict()
    assert (all(torch.equal(p, after[name]) for name, p in before.items())
            and not any(p.requires_grad for p in cache.shared_model("stories-small", "cpu").model.parameters()))
    one.button("training_tuning_adopt").click().run()
    name = one.session_state["model"]
    assert (fine(one) and name.startswith("tuned-") and cache.exists(name)
            and torch.equal(cache.shared_model(name, "cpu").model.blocks[0].W_Q, tuner.copy().blocks[0].W_Q))
    assert fine(open_at("aligned", base="loaded", model=name)) and fine(lessons.open_at("heads", model=name))
    one.button(f"{tuning_parts.TUNERS}_reset").click().run()
    assert fine(one) and own_of(one) == [] and f"After {last.step} steps" not in said(one)


def test_alignment_starts_at_ln_2_and_its_numbers_hold(asked: list):
    at = open_at("aligned", parts="last")
    key, make, tuner = asked[-1]
    assert (tuner.history[0].held_out == pytest.approx(math.log(2), abs=1e-6)
            and f"{len(tuner.pairs)} pairs to learn from, {len(tuner.held_out)} held out" in said(at))
    decode = cache.shared_model("stories-small", "cpu").tokenizer.decode
    assert all(tuning_texts.happy(decode(p.chosen)) > tuning_texts.happy(decode(p.rejected))
               for p in tuner.pairs + tuner.held_out)
    tuner = make()
    next(tuner.learn())
    at.session_state[tuning_parts.TUNERS] = {key: tuner}
    at.run()
    lines, example = formulas(at), tuner.held_out[0]
    operands = [float(x) for x in re.findall(r"-\d+\.\d+", lines[1].split(" = ")[2])]
    assert (operands[0] - operands[1]) - (operands[2] - operands[3]) == pytest.approx(number(lines[1]), abs=1e-4)
    moved = []
    for tokens in (example.chosen, example.rejected):
        ids = torch.tensor(example.prompt + tokens)
        own, ref = (m.logits(ids).double().log_softmax(-1) for m in (tuner.copy(), tuner.start))
        moved.append(sum(float(own[len(example.prompt) - 1 + i, t] - ref[len(example.prompt) - 1 + i, t])
                         for i, t in enumerate(tokens)))
    assert moved[0] - moved[1] == pytest.approx(number(lines[1]), abs=1e-3)
    m = float(re.search(r"\\cdot \((-?[\d.]+)\)", lines[2])[1]) if "10^" not in lines[2] else moved[0] - moved[1]
    assert number(lines[2]) == pytest.approx(-math.log(1 / (1 + math.exp(-0.1 * m))), abs=1e-4)


def test_a_reader_votes_and_then_the_model_can_learn(asked: list):
    at, other = open_at("aligned", judge="own"), open_at("aligned", judge="own")
    for n in range(alignment.LEAST_VOTES):
        assert fine(at) and not [b for b in at.button if b.key == "training_run"]
        at.button(f"training_vote_{n % 2}").click().run()
    tuner = asked[-1][2]
    assert fine(at) and len(tuner.pairs) == 6 and len(tuner.held_out) == 2 and at.button("training_run")
    votes = list(at.session_state[alignment.VOTES].values())[0]
    assert ([better for better, _ in votes.values()] == [n % 2 for n in range(alignment.LEAST_VOTES)]
            and not any(other.session_state[alignment.VOTES].values()))


def test_the_questions_have_the_answers_that_a_second_computation_gives():
    at = open_at("pretrained")
    loaded, example = cache.shared_model("stories-small", "cpu"), tuning_texts.pairs("feeling", 200, 24, 0)[1][0]
    best = int(loaded.model.logits(torch.tensor([0, *loaded.tokenizer.encode(example.prompt)]))[-1].argmax())
    assert verdict(at, question(at).options.index(f"`{loaded.tokenizer.visible(best)}`"))
    at = open_at(pairs="ending")
    answer = tuning_texts.pairs("ending", 200, 24, 0)[1][0].answer
    assert verdict(at, question(at).options.index(str(len(loaded.tokenizer.encode(answer)) + 1)))
    at = open_at("aligned")
    assert verdict(at, next(i for i, option in enumerate(question(at).options) if option.startswith("0.693")))


def losses_of(at: AppTest) -> pd.DataFrame:
    """The rows of the chart of the losses."""
    return pa.ipc.open_stream(at.get("vega_lite_chart")[0].proto.datasets[0].data.data).read_pandas()


@pytest.mark.parametrize("kind", [*tuning_texts.KINDS, "fact"])
def test_the_recorded_run_has_its_control_from_random_weights_in_the_same_picture(kind: str):
    at, control = open_at(pairs=kind), recorded_tuning.tuning_run("scratch", kind)
    rows = losses_of(at)
    drawn = rows[(rows["name"] == WORDS.label("tuning_line_scratch")) & rows["x"].notna()]
    assert drawn["y"].tolist() == [step.held_out for step in control.history] and control.history[-1].step == 100
    right = [round(24 * run.history[-1].right) for run in (recorded_tuning.tuning_run("tuned", kind), control)]
    assert right[0] >= right[1] and {f"pretrained: {right[0]} of 24 right", f"random weights: {right[1]} of 24 right"
                                     } <= set(rows["end"].dropna())
    assert f"from random weights {readable(100 * control.history[-1].right)}\u00a0%" in said(at)
    other = open_at(pairs=kind, seed="1")
    assert fine(other) and WORDS.label("tuning_line_scratch") not in set(losses_of(other)["name"])
    assert not re.search(r"from random weights \d", said(other))


def test_fewer_pairs_teach_less_and_least_from_random_weights():
    told = next(c.value for c in open_at().caption if "With 10 pairs" in c.value)
    few = list(map(int, re.findall(r"pairs: (\d+), from random weights (\d+)", told)[0] + re.findall(
        r"pairs: (\d+), from random weights (\d+)", told)[1]))
    assert few == [round(24 * recorded_tuning.tuning_run(name, f"feeling {n}").history[-1].right)
                   for n in (10, 50) for name in ("tuned", "scratch")]
    assert few[1] < few[0] < few[2] < 24 and few[1] < few[3] < few[2]


def test_random_weights_learn_here_too_and_belong_to_no_reader():
    at = open_at(base="random")
    start = cache.shared_model("stories-small", "cpu").model
    twin = tuning_parts.untrained(cache.shared_model("stories-small", "cpu"))
    assert fine(at) and "8.37 nats" in said(at) and twin.model.config == start.config
    assert twin.model.E.std() != start.E.std()
    at.button("training_run").click().run()
    assert until(lambda: own_of(at) and len(own_of(at)[0].history) > 1)
    at.button("training_run").click().run()
    assert own_of(at)[0].history[1].held_out == pytest.approx(
        recorded_tuning.tuning_run("scratch", "feeling").history[1].held_out, rel=2e-3)


def test_what_stands_at_the_end_of_a_line_is_crossed_by_none():
    lines = {"low": [8.0, 0.1, 0.1], "just above": [8.0, 0.4, 0.3], "far above": [2.0, 4.0, 4.5]}
    rows = pd.DataFrame([(name, x, y) for name, ys in lines.items() for x, y in zip((0, 60, 100), ys)],
                        columns=["name", "x", "y"])
    places = charts.end_places(rows, charts.Axis("", (0, 9)), 245)
    room = 9 * charts.NAME_HEIGHT / (245 - charts.AXIS_HEIGHT)
    assert places["low"] >= 0.4 and places["just above"] >= places["low"] + room and places["far above"] == 4.5
    for place in places.values():
        assert not any(place < y < place + room for ys in lines.values() for y in ys[1:])


def test_pretraining_is_what_the_record_says():
    at, record = open_at("pretrained"), checkpoints.training_record("stories-small")
    assert f"{record[-1]['held_out']['heldout_tinystories']:.2f} nats" in said(at) and "9.49 million tokens" in said(at)
    assert (fine(open_at("pretrained", base="loaded", model="stories"))
            and fine(open_at("pretrained", base="loaded", model="stories-small@4"))
            and checkpoints.training_record("none") == ())


def test_what_the_pretrained_model_is_given_is_one_of_the_pairs_that_are_picked():
    at = open_at("pretrained")
    for kind in ("feeling", "capitals"):
        at.selectbox("training_pairs_widget").set_value(kind).run()
        assert fine(at) and tuning_parts.one_line(tuning_texts.pairs(kind, 200, 24, 0)[1][0].prompt) in said(at)


def test_a_model_that_reads_too_little_is_told():
    learner = Learner(Copying())
    at = open_at(base="loaded", model=cache.keep_own(learner.copy(), learner.task.tokenizer, "copying"))
    assert fine(at) and any("17 tokens at most" in info.value for info in at.info)
