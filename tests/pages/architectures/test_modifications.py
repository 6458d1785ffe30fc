"""Modifications on one small task: each variant is what its name says, the recorded losses are real ones, and what the
page says of their spread holds.
"""
from __future__ import annotations

import json
import math
import statistics

import numpy as np
import pytest

from core.learning import modifications
from core.learning.modifications import BASELINE, VARIANTS
from tests.helpers import lessons
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas

RECORD = json.loads(modifications.FILE.read_text())
RUNS = {run["variant"]: run["losses"] for run in RECORD["runs"]}
MEANS = {name: statistics.fmean(losses) for name, losses in RUNS.items()}
LOW, HIGH = (MEANS[BASELINE] + sign * 2 * statistics.stdev(RUNS[BASELINE]) for sign in (-1, 1))


def opened(**query: str):
    at = lessons.open_at("architectures", architectures_view="record", architectures_record="modifications", **query)
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


def test_every_variant_was_trained_with_several_seeds():
    assert set(RUNS) == set(VARIANTS) and RECORD["steps"] == modifications.STEPS
    assert all(len(losses) == (modifications.N_BASELINE if name == BASELINE else modifications.N_SEEDS)
               and len(set(losses)) == len(losses) for name, losses in RUNS.items())


@pytest.mark.parametrize("variant", ["baseline", "swiglu", "one_head", "eight_heads"])
def test_a_recorded_loss_is_that_of_a_real_run(variant: str):
    *_, (_, loss) = modifications.trial(variant, 0).run(modifications.STEPS, modifications.STEPS)
    assert loss == pytest.approx(RUNS[variant][0], rel=0.05)


def test_a_variant_changes_one_thing_and_keeps_about_as_many_weights():
    """Weights counted by hand: d = 32, 2 blocks, 257 tokens, 17 places."""
    d, tokens, places = 32, 257, 17
    block = 4 * (d * d + d) + (d * 4 * d + 4 * d) + (4 * d * d + d) + 2 * 2 * d
    whole = tokens * d + places * d + 2 * block + 2 * d
    assert modifications.parameters(BASELINE) == whole
    assert modifications.parameters("untied") == whole + tokens * d
    assert modifications.parameters("shared") == whole - block
    assert modifications.parameters("one_head") == whole
    assert modifications.parameters("rotary") == whole - places * d
    for name in ("relu", "swish", "geglu", "swiglu", "rmsnorm", "post", "sandwich", "deeper", "alibi"):
        assert modifications.parameters(name) == pytest.approx(whole, rel=0.06), name


def test_the_title_counts_what_lies_outside_the_band():
    title = next(m.value for m in opened().markdown if "modifications," in m.value)
    others = [mean for name, mean in MEANS.items() if name != BASELINE]
    better, worse = sum(mean < LOW for mean in others), sum(mean > HIGH for mean in others)
    assert f"Of {len(others)} modifications, {len(others) - better - worse} stay" in title
    assert f"better than that: {better}, worse: {worse}." in title


def test_eight_heads_end_lower_than_one_of_the_same_width_and_weights():
    one, eight = (modifications.trial(name, 0).model.config for name in ("one_head", "eight_heads"))
    assert (one.n_heads, one.d_k, eight.n_heads, eight.d_k) == (1, 32, 8, 4)
    assert modifications.parameters("one_head") == modifications.parameters("eight_heads")
    assert max(RUNS["eight_heads"]) < min(RUNS["one_head"]) and MEANS["eight_heads"] < LOW < MEANS["one_head"] < HIGH


@pytest.mark.parametrize("variant", ["swiglu", "shared", "baseline"])
def test_welchs_t_is_that_of_the_dots(variant: str):
    name = variant if variant != BASELINE else next(name for name in VARIANTS if name != BASELINE)
    a, b = np.array(RUNS[name]), np.array(RUNS[BASELINE])
    t = (a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    shown = " ".join(formulas(opened(architectures_modification=variant))).replace("{,}", "")
    assert f"{t:.4f}" in shown


def test_the_question_counts_single_runs():
    at = opened()
    lucky = sum(losses[0] < max(RUNS[BASELINE]) for name, losses in RUNS.items() if name != BASELINE)
    radio = next(radio for radio in at.radio if radio.key.endswith("modifications_given"))
    radio.set_value(radio.options.index(str(lucky))).run()
    at.button(radio.key.replace("_given", "_commit")).click().run()
    assert fine(at) and any(f"{lucky} look better" in m.value for m in at.markdown)


def test_one_more_seed_is_trained_at_a_press_and_stands_in_the_table(monkeypatch):
    monkeypatch.setattr(modifications, "STEPS", 60)
    at = opened()
    at.button("architectures_run").click().run()
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    next(iter(at.session_state["architectures_jobs"].values())).wait(60)
    at.run()
    at.run()
    (losses,) = at.session_state["architectures_own_trials"].values()
    assert fine(at) and len(losses) == 1 and math.isfinite(losses[0])
