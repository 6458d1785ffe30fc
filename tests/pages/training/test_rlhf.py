"""RLHF in the lesson Training: it opens on a recorded run and says so, its numbers are those of the record, and a run
in the page goes through all stages.
"""
from __future__ import annotations

import json
import math
import re

import pytest
from streamlit.testing.v1 import AppTest

from core.base import prose
from core.figures.numbers import readable
from core.learning import rlhf, tuning
from pages.training import rlhf as view
from tests.helpers import lessons
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas, given
from tests.helpers.predictions import ask, commit, statements
from tests.pages.training.test_training import question, until, verdict

pytestmark = pytest.mark.long

WORDS = prose.load("training")
KEPT = json.loads(rlhf.FILE.read_text())


def open_at(**query: str) -> AppTest:
    return lessons.open_at("training", training_view="rlhf", **{f"training_{name}": value
                                                                for name, value in query.items()})


def headline(at: AppTest) -> str:
    return next(m.value for m in at.markdown if m.value.startswith("**"))


def cards_of(at: AppTest) -> list[dict]:
    return given(at, "training_cards")["cards"]


def last_number(latex: str) -> float:
    return float(re.findall(r"-?\d+\.\d+", latex)[-1])


def two(number: float) -> str:
    """The number as the page writes it, with three significant digits."""
    return f"{number:.3g}"


@pytest.mark.parametrize("stage", view.STAGES)
def test_every_stage_opens_and_bears_an_absurd_address(stage: str):
    at = open_at(rlhf_stage=stage)
    assert fine(at) and [card["kind"] for card in cards_of(at)].index("picked") == view.STAGES.index(stage)
    assert fine(open_at(rlhf_stage=stage, policy="9", rlhf_at="1e9", seed="x", example="999"))
    assert fine(open_at(rlhf_stage=stage, seed="7"))


@pytest.mark.parametrize("policy", [*map(str, rlhf.BETAS), "dpo"])
def test_every_policy_shows_its_record(policy: str):
    at = open_at(policy=policy)
    first, last = (KEPT["policies"][policy][k] for k in (0, -1))
    assert headline(at).startswith(f"**{WORDS.label('recorded')}")
    shown = cards_of(at)[2]["lines"][-1]["parts"][0][0]
    assert all(two(last[name]) in shown for name in ("reward", "kl"))
    moved = [last_number(line) for line in formulas(at)[-3:-1]]
    assert moved == pytest.approx([last[name] - first[name] for name in ("reward", "value")], abs=2e-3)
    if policy != "dpo":
        assert last_number(formulas(at)[1]) == pytest.approx(last["reward"] - float(policy) * last["kl"], abs=2e-3)


def test_the_loss_of_the_pair_that_is_shown():
    better, worse = KEPT["compared"][2]
    at = open_at(rlhf_stage="comparisons", example="2")
    assert last_number(formulas(at)[0]) == pytest.approx(math.log(1 + math.exp(worse[2] - better[2])), abs=2e-3)
    before = formulas(at)[0]
    assert formulas(at.button("training_rlhf_another").click().run())[0] != before


def test_the_texts_follow_the_step():
    at = open_at(policy="0.0", rlhf_at="0")
    table = next(m.value for m in at.markdown if m.value.startswith(f"| {WORDS.label('column_text')}"))
    assert KEPT["policies"]["0.0"][0]["texts"][0][1].strip()[:12] in table
    at.select_slider[0].set_value(len(KEPT["policies"]["0.0"]) - 1).run()
    table = next(m.value for m in at.markdown if m.value.startswith(f"| {WORDS.label('column_text')}"))
    assert KEPT["policies"]["0.0"][-1]["texts"][0][1].strip()[:12] in table


@pytest.mark.parametrize("policy, option", [("0.0", 0), ("0.3", 2), ("1.0", 2), ("dpo", 3)])
def test_what_the_rule_says_in_the_end_is_asked_and_told(policy: str, option: int):
    shown = commit(ask("training", "rlhf", training_policy=policy), "training", "rlhf", 1)
    first, last = (KEPT["policies"][policy][k] for k in (0, -1))
    risen, moved = (last[name] - first[name] for name in ("reward", "value"))
    found = 0 if moved < -0.1 * risen else 1 if moved < 0.1 * risen else 2 if moved < 0.9 * risen else 3
    assert shown["answer"] == found == option and readable(last["value"]) == shown["said"]
    values = [step["value"] for step in KEPT["policies"][policy]]
    seen = 2 if values[-1] >= values[0] else int(max(values) == values[0])
    assert shown["true"] == statements("training", "rlhf")[seen] and seen == (0 if policy == "0.0" else 2)
    assert last["reward"] > first["reward"]


def test_the_question_is_answered_by_the_optimum():
    at = open_at()
    assert verdict(at, question(at).options.index(two(math.exp(2))))


def test_a_run_in_the_page_goes_through_all_stages(monkeypatch: pytest.MonkeyPatch):
    for module, name, value in ((tuning, "ROUND", 5), (rlhf, "REWARD_STEPS", 2), (rlhf, "STEPS", 2), (rlhf, "EVERY", 1),
                                (rlhf, "MEASURED", 8), (rlhf, "TEXTS", 4), (rlhf, "PAIRS", 4)):
        monkeypatch.setattr(module, name, value)
    at = open_at(policy="0.3")
    at.button("training_run").click().run()
    job = list(at.session_state["training_jobs"].values())[-1]
    assert until(lambda: not job.running, 300) and not job.failed
    at.run()
    [feedback] = at.session_state[view.FEEDBACKS].values()
    assert fine(at) and not headline(at).startswith(f"**{WORDS.label('recorded')}")
    assert [record.step for record in feedback.policies["0.3"].history] == [0, 1, 2] and feedback.rewarder.step == 2
    assert list(job.records) == ["demonstrations"] + ["comparisons"] * 3 + ["reinforcement"] * 2
    assert f"{feedback.policies['0.3'].history[-1].reward:.3g}" in cards_of(at)[2]["lines"][-1]["parts"][0][0]
    other = open_at(policy="0.3")
    assert headline(other).startswith(f"**{WORDS.label('recorded')}")
    at.button("training_feedbacks_reset").click().run()
    assert fine(at) and headline(at).startswith(f"**{WORDS.label('recorded')}")
