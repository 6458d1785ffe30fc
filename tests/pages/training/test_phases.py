"""The views Packing, Learning rates and Seven numbers of the lesson Training: what is shown is what is computed,
numbers hold on a calculator, questions have the right answers.
"""
from __future__ import annotations

import ast
import json
import math
import re

import numpy as np
import pyarrow as pa
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.learning import descent, kepler, packing, schedules
from core.learning.descent import SURFACES
from core.learning.schedules import Schedule
from core.model import checkpoints
from pages.training import live
from pages.training import packing as packing_view
from tests.helpers.lessons import fine, open_at, opened
from tests.helpers.messages import formulas, unpacked
from tests.helpers.prompts import PROMPTS
from tests.pages.training.test_training import WORDS, question, verdict

pytestmark = pytest.mark.long

VIEWS = ("packing", "schedules", "kepler")


def sent(at: AppTest, name: str) -> dict:
    proto = next(c.proto for c in at.get("bidi_component") if c.proto.component_name == name)
    return unpacked(proto.bytes)


def value(latex: str) -> float:
    """The value of a written number or a simple LaTeX expression."""
    text = re.sub(r"\\left|\\right|\\tfrac12|\\quad|\\ ", lambda m: "0.5*" if m[0] == r"\tfrac12" else "",
                  latex).replace(r"\cdot 10^", "*10**").replace(r"\cdot", "*").replace("'", "")
    while (found := re.search(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", text)):
        text = text.replace(found[0], f"(({found[1]})/({found[2]}))")
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"math.sqrt(\1)", text)
    text = re.sub(r"\\cos\(([\d.]+)\\,\\pi\)", r"math.cos(\1*math.pi)",
                  text).replace(r"\max", "max").replace("{", "(").replace("}", ")")
    ast.parse(text.strip(), mode="eval")
    return float(eval(text.strip(), {"math": math, "max": max, "__builtins__": {}}))  # noqa: S307


@pytest.mark.parametrize("view", VIEWS)
def test_the_views_bear_hard_prompts(view: str):
    for name in ("empty", "HTML", "emoji", "right to left"):
        prompt = PROMPTS.get(name, "")
        assert fine(open_at("training", training_view=view, prompt=prompt)), (view, name)


def test_absurd_addresses_are_borne():
    absurd = {"row_length": "1e9", "row_place": "999999", "part": "<b>", "like": "<script>", "schedule": "x",
              "warmup": "-7", "total": "nan", "floor": "1e99", "surface": "", "descent_rate": "0.123",
              "descent_steps": "-1", "structure": "cube", "method": "magic", "noise": "3.1", "measured": "-9",
              "fit_step": "777", "day": "1e12", "rate": "-1.07"}
    for view, part in ((VIEWS[0], None), (VIEWS[1], None), (VIEWS[1], "descent"), (VIEWS[2], None)):
        query = ({f"training_{name}": fit for name, fit in absurd.items()} | {"training_view": view}
                 | ({"training_part": part} if part else {}))
        at = open_at("training", **query)
        assert fine(at), (view, part)
    assert at.session_state["training_noise"] == 4.0 and at.session_state["training_measured"] == 4


# ---- packing ---------------------------------------------------------------------------------------------------------


def test_the_prompts_sentences_are_packed_as_a_training_reads_them():
    at = opened("training", {"view": "packing", "row_length": "6"},
                prompt="The sun was warm. Tom had a red ball. He ran.")
    tokenizer = cache.shared_model("stories", "cpu").tokenizer
    documents = [tokenizer.encode(text) for text in ("The sun was warm.", "Tom had a red ball.", "He ran.")]
    rows, header = packing.packed(documents, 6, tokenizer.end_of_text), sent(at, "packing_rows")
    assert ([row["cells"] for row in header["rows"]]
            == [[tokenizer.visible(int(i)) for i in row] for row in rows.inputs] and header["n"] == 6)
    assert ([row["counted"] for row in header["rows"]] == rows.counted.tolist()
            and sum(header["lengths"]["padded"]) == rows.n_counted == sum(map(len, documents)) + 3)
    predictions, packed, padded_rows, padded, ratio = formulas(at)
    for formula in (predictions, packed, padded, ratio):
        left, right = formula.rsplit("=", 1)
        assert value(left) == pytest.approx(value(right), abs=5e-5), formula
    ceilings = re.findall(r"\\lceil (\d+) / (\d+)", padded_rows)
    assert (sum(math.ceil(int(a) / int(b)) for a, b in ceilings) == int(padded_rows.rsplit("=", 1)[1])
            == len(header["lengths"]["padded"]))
    empty = {n: 1 - sum(len(d) + 1 for d in documents) / (n * sum(math.ceil((len(d) + 1) / n) for d in documents))
             for n in packing_view.LENGTHS}
    assert verdict(at, question(at).options.index(f"N = {min(empty, key=empty.get)}"))


def test_a_single_document_gives_way_to_the_passage_and_a_long_text_is_cut():
    at = opened("training", {"view": "packing"}, prompt="One")
    assert len(sent(at, "packing_rows")["rows"]) > 5
    at = opened("training", {"view": "packing"}, prompt="The cat sat on the mat. " * 400)
    cells = [token for row in sent(at, "packing_rows")["rows"]
             for token, document in zip(row["cells"], row["documents"]) if document >= 0]
    assert (packing_view.MOST_SHOWN - 200 < len(cells) <= packing_view.MOST_SHOWN
            and any(str(packing_view.MOST_SHOWN) in c.value for c in at.caption))


# ---- schedules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", schedules.KINDS)
def test_the_schedules_numbers_hold_and_its_question_is_answered_by_counting(kind: str):
    at = opened("training",
                {"view": "schedules", "schedule": kind, "total": "4000", "warmup": "10", "floor": "20", "rate": "-2.0"})
    middle, up = formulas(at)[:2]
    for formula, step in ((middle, 2200), (up, 199)):
        _, worked, *rounded = formula.split(" = ")          # a constant one is one number
        result = rounded[0] if rounded else worked
        assert (value(worked) == pytest.approx(value(result), abs=5e-5)
                and value(result) == pytest.approx(0.01 * Schedule(kind, 400, 4000, 0.2).share(step), abs=5e-5))
    steps = np.arange(1000)
    done = (steps - 100) / 900
    after = {"constant": np.ones(1000), "linear": 0.2 + 0.8 * (1 - done),
             "cosine": 0.2 + 0.4 * (1 + np.cos(np.pi * done)),
             "inverse_sqrt": np.maximum(0.2, np.sqrt(100 / (steps + 1)))}[kind]
    share = 100 * np.mean(np.where(steps < 100, (steps + 1) / 100, after) > 0.5)
    assert verdict(at, question(at).options.index(f"{round(share, 1):g}\u00a0%"))


def test_a_model_of_the_table_is_drawn_over_its_own_steps_and_one_that_is_not_known_says_so():
    at = opened("training", {"view": "schedules", "like": "LLaMA (65B)"})
    frame = at.get("vega_lite_chart")[0].proto
    assert any("350,000" in m.value for m in at.markdown) and frame.spec
    at = opened("training", {"view": "schedules", "like": "LaMDA (137B)"})
    assert at.info and not at.get("vega_lite_chart") and at.button("training_train_with").disabled
    assert any("100,000 steps" in m.value
               for m in opened("training", {"view": "schedules", "like": "Transformer, base (2017)"}).markdown)


def test_all_known_schedules_lie_behind_the_picked_one():
    at = opened("training", {"view": "schedules", "like": "LLaMA (65B)", "warmup": "10"})
    rows = pa.ipc.open_stream(at.get("vega_lite_chart")[0].proto.datasets[0].data.data).read_pandas()
    drawable = {row.name: row for row in schedules.table() if row.rate is not None and row.decay in schedules.KINDS}
    assert set(rows["name"]) == set(drawable) and len(drawable) == 13
    for name, line in rows.groupby("name"):
        row = drawable[name]
        assert line["y"].max() <= row.rate * (1 + 1e-9) and line["x"].min() >= 0 and 99 < line["x"].max() <= 100
        if row.decay != "inverse_sqrt":
            assert line["y"].iloc[-1] == pytest.approx(0.1 * row.rate, rel=0.01)
            assert line.loc[line["y"].idxmax(), "x"] == pytest.approx(10, abs=2)
    spec = json.loads(at.get("vega_lite_chart")[0].proto.spec)
    lit = [layer["transform"][0]["filter"]["equal"] for layer in spec["layer"] if "transform" in layer]
    assert lit == ["LLaMA (65B)"]


def test_train_with_this_takes_the_schedule_into_the_live_run():
    at = opened("training", {"view": "schedules", "like": "Galactica (120B)", "warmup": "20", "total": "500",
                             "floor": "40", "rate": "-2.0", "optimizer": "sgd"})
    at.button("training_train_with").click().run()
    learner = list(at.session_state[live.LEARNERS].values())[-1]
    assert (fine(at) and at.session_state["training_view"] == "live"
            and learner.knobs == live.Knobs("adam", 0.01, Schedule("linear", 100, 500, 0.1)))
    assert any("Learning rate now 1.0\u00a0·\u00a010⁻⁴" in m.value for m in at.markdown)
    at = opened("training", {"view": "schedules", "schedule": "cosine", "optimizer": "sgd"})
    at.button("training_train_with").click().run()
    assert (list(at.session_state[live.LEARNERS].values())[-1].knobs.schedule == Schedule("cosine", 100, 2000, 0.1)
            and at.session_state["training_optimizer"] == "sgd")


@pytest.mark.parametrize("surface", SURFACES)
def test_the_numbers_of_the_paths_hold_and_the_bound_is_the_answer(surface: str):
    at = opened("training", {"view": "schedules", "part": "descent", "surface": surface, "descent_rate": "-1.5",
                             "descent_steps": "9"})
    bound, growth, condition, momentum, first = formulas(at)
    high = SURFACES[surface].curvatures[1]
    for formula in (bound, condition, momentum):
        assert value(formula.split(" = ")[-2]) == pytest.approx(value(formula.split(" = ")[-1]), rel=1e-3), formula
    shown = [float(x) for x in re.findall(r"= (\d+\.\d+)", growth)]
    assert shown == pytest.approx([abs(1 - 10 ** -1.5 * curvature) for curvature in SURFACES[surface].curvatures[::-1]],
                                  abs=5e-5)
    start, gradient, after = (tuple(map(float, pair.split(","))) for pair in re.findall(r"\(([^()]*,[^()]*)\)", first))
    point = torch.tensor(SURFACES[surface].start, dtype=torch.float64, requires_grad=True)
    SURFACES[surface].loss(point).backward()
    assert (gradient == pytest.approx(point.grad.tolist(), rel=1e-4)
            and after == pytest.approx([s - 10 ** -1.5 * g for s, g in zip(start, gradient)], abs=1e-4))
    distance, steps, low = 1.0, 0, SURFACES[surface].curvatures[0]
    while distance > 0.01:
        distance, steps = distance * (1 - low / high), steps + 1
    assert verdict(at, [int(re.sub(r"\D", "", option)) for option in question(at).options].index(steps))
    assert any("cannot settle" in m.value for m in at.markdown) == (descent.SURFACES[surface].bound < 10 ** -1.5)


# ---- kepler ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", kepler.STRUCTURES)
def test_every_structure_sends_the_fit_that_was_made(structure: str):
    at = opened("training", {"view": "kepler", "structure": structure, "measured": "30", "seed": "3", "noise": "2.0",
                             "fit_step": "-1"})
    fit = sent(at, "kepler_orbit")["fit"]
    made = kepler.fit(structure, "lm", *kepler.measure(30, 2.0, 3))
    assert (fit["numbers"] == made.numbers.tolist() and fit["train"] == made.train.tolist()
            and len(fit["measured"]) == 30 and fit["truth"] == kepler.mars().tolist())
    rms = [float(x) for x in re.findall(r"{(\d+\.\d+)}'", formulas(at)[0])]
    assert rms[0] == pytest.approx(made.train[-1], abs=5e-5)
    more, finer = distance_from_mars(60, 2.0), distance_from_mars(30, 1.0)
    same = abs(more / finer - 1) < 0.1
    assert verdict(at, 2 if same else int(finer < more))


def distance_from_mars(n: int, noise: float) -> float:
    """How far the ellipse of n measurements is from where Mars is at the times that are held out, rms of each
    coordinate in minutes of arc.
    """
    train, test = kepler.measure(n, noise, 3)
    fitted, mars = (kepler.on_ellipse(numbers, test.times).numpy()
                    for numbers in (kepler.fit("ellipse", "lm", train, test).last, kepler.mars()))
    seen_from_sun = (fitted - mars) / np.linalg.norm(test.positions.numpy(), axis=1)[:, None]
    return float(np.degrees(np.sqrt((seen_from_sun ** 2).mean())) * 60)


def test_without_noise_the_question_is_which_structure_errs_least():
    at = opened("training", {"view": "kepler", "noise": "0.0"})
    best = min(kepler.STRUCTURES,
               key=lambda name: kepler.rms(name, kepler.fit(name, "lm", *kepler.measure(24, 0.0, 0)).last,
                                           kepler.measure(24, 0.0, 0)[1]))
    assert verdict(at, question(at).options.index(WORDS.label(f"structure_{best}")))


def test_a_fit_is_shown_from_its_beginning():
    at = opened("training", {"view": "kepler"})
    assert sent(at, "kepler_orbit")["settings"]["fit_step"] == 0


def test_the_numbers_of_the_ellipse_hold_on_a_calculator():
    at = opened("training", {"view": "kepler", "noise": "8.0", "day": "12000", "fit_step": "-1"})
    _, left, axes, _, period, equation = formulas(at)
    a, b, e = (float(x) for x in re.findall(r"= (\d+\.\d+)", axes))
    assert math.sqrt(1 - b * b / (a * a)) == pytest.approx(e, abs=1e-4)
    assert value(left.split(" = ")[1]) == pytest.approx(value(left.split(" = ")[2]), abs=5e-5)
    own, true = (float(x) for x in re.findall(r"\\frac\{1\}\{(\d\.\d+)\}", period))
    off, total = (float(x.replace("{", "").replace("}", "")) for x in re.findall(r"= \{(-?\d+\.\d+)\}'", period))
    assert (21600 * (1 / own - 1 / true) == pytest.approx(off, abs=2e-4)
            and off * 12000 / 365.25 == pytest.approx(total, abs=5e-3))
    E, ecc, sine, M = (float(x) for x in re.findall(r"-?\d+\.\d+", equation)[:4])
    assert E - ecc * sine == pytest.approx(M, abs=1e-4) and math.sin(E) == pytest.approx(sine, abs=1e-5)
    half, ecc, cosine, distance = (float(x) for x in re.findall(r"-?\d+\.\d+", equation)[4:])
    where = kepler.on_ellipse(kepler.fit("ellipse", "lm", *kepler.measure(24, 8.0, 0)).last,
                              torch.tensor([12000 / 365.25], dtype=torch.float64))
    assert (half * (1 - ecc * cosine) == pytest.approx(distance, abs=1e-4)
            and float(where.norm()) == pytest.approx(distance, abs=1e-4))


def test_the_phases_of_the_transformer_are_those_of_its_record():
    shown = next(m.value for m in opened("training", {"view": "kepler", "method": "adam", "measured": "8"},
                                         prompt="a").markdown if "| **1 " in m.value)
    record = checkpoints.training_record("stories")
    model = cache.shared_model("stories", "cpu").model
    ends = [[line for line in record if line["stage"] == stage][-1] for stage in (1, 2)]
    assert (f"{model.n_parameters:,}" in shown
            and f"{sum(end['tokens_seen'] for end in ends) / 1e6:.1f} million" in shown
            and f"{sum(end['step'] for end in ends):,} steps" in shown
            and f"read: a loss of {record[-1]['held_out']['development_tinystories']:.3g} nats" in shown)
    assert "not recorded" in next(m.value for m in opened("training", {"view": "kepler"},
                                                          model="stories-small@4").markdown if "| **1 " in m.value)
    assert checkpoints.training_record("no such model") == ()
