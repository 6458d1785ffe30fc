"""Learning-rate schedules, gradient descent where it can be seen, and packing place by place: hand-worked numbers
and identities.
"""
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from core.learning import descent, packing, schedules
from core.learning.descent import SURFACES
from core.learning.learner import Copying, Knobs, Learner
from core.learning.schedules import KINDS, Schedule
from core.training.corpus import IGNORE, pack
from pages.training import charts as figures

# ---- schedules -------------------------------------------------------------------------------------------------------


def test_each_schedule_is_what_its_formula_says():
    for kind, expected in {"constant": 1.0, "linear": 0.1 + 0.9 * 0.75,
                           "cosine": 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi / 4)),
                           "inverse_sqrt": math.sqrt(200 / 401)}.items():
        schedule = Schedule(kind, start=200, total=1000, floor=0.1)
        assert ([schedule.share(step) for step in (0, 99, 199, 400)]
                == pytest.approx([1 / 200, 0.5, 1.0, expected])), kind
        assert Schedule(kind, 200, 1000, 0.1, rising=False).share(3) == 1.0 and 0 < schedule.share(10 ** 9) <= 1
    assert (Schedule("cosine", 0, 100).share(100) == 0 and Schedule("linear", 0, 100, 0.25).share(500) == 0.25
            and Schedule("inverse_sqrt", 4, 100, 0.5).share(99) == 0.5)


def test_the_first_transformer_has_the_schedule_of_its_paper():
    row = schedules.table()[0]
    schedule = row.schedule(0.3, 10)
    for step in (1, 1000, 4000, 4001, 50_000, 100_000):
        assert (row.rate * schedule.share(step - 1)
                == pytest.approx(512 ** -0.5 * min(step ** -0.5, step * 4000 ** -1.5))), step


@pytest.mark.parametrize("wrong",
                         [{"kind": "sudden"}, {"start": -1}, {"start": 11, "total": 10}, {"floor": 1.5}, {"total": 0}])
def test_a_schedule_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError):
        Schedule(**wrong)


def test_the_table_says_no_more_than_it_knows():
    rows = {row.name: row for row in schedules.table()}
    assert (len(rows) == 19 and not rows["LaMDA (137B)"].drawable and not rows["OPT (175B)"].drawable
            and rows["Falcon (40B)"].least_steps is None)
    assert rows["GPT-3 (175B)"].least_steps == round(300e9 / 3.2e6) and rows["PanGu-α (200B)"].batch is None
    palm = rows["PaLM (540B)"].schedule(0.5, 1000)
    assert (not palm.rising and palm.start == 10_000
            and rows["PaLM (540B)"].rate * palm.share(39_999) == pytest.approx(1 / math.sqrt(40_000)))
    assert all(0 <= row.schedule(0.05, 2000).scaled(2000).start <= 2000 for row in rows.values() if row.drawable)
    assert (Schedule("linear", 0, 1000).above(0.5) == 500
            and Schedule("cosine", 100, 1000, 0.1).scaled(50) == Schedule("cosine", 5, 50, 0.1))


def test_the_learner_takes_the_learning_rate_of_its_schedule_at_every_step():
    learner = Learner(Copying(), knobs=Knobs("sgd", 0.1, Schedule("linear", 5, 30)))
    rates = []
    made = Learner._one_step

    def noted():
        result = made(learner)
        rates.append(learner._optimizer.param_groups[0]["lr"])
        return result

    learner._one_step = noted
    list(itertools.islice(learner.learn(), 4))
    assert (rates == pytest.approx([0.1 * Schedule("linear", 5, 30).share(step) for step in range(40)])
            and rates[4] == 0.1 and rates[-1] == 0)
    assert learner.history[2].step == 20 and learner.history[2].rate == rates[19]


# ---- descent ---------------------------------------------------------------------------------------------------------


def test_the_curvatures_are_those_of_the_formulas_and_the_bound_is_exact():
    assert SURFACES["bowl"].curvatures == pytest.approx((1, 25)) and SURFACES["bowl"].bound == pytest.approx(0.08)
    # of the ravine's Hessian [[82, −40], [−40, 20]]
    trace, determinant = 102, 82 * 20 - 40 ** 2
    assert (sum(SURFACES["ravine"].curvatures) == pytest.approx(trace)
            and math.prod(SURFACES["ravine"].curvatures) == pytest.approx(determinant))
    for name, surface in SURFACES.items():
        assert float(surface.loss(torch.tensor(surface.minimum, dtype=torch.float64))) == 0, name


def test_plain_descent_on_the_bowl_is_a_product_of_growth_factors_and_runs_off_above_the_bound_alone():
    bowl = SURFACES["bowl"]
    for rate in (0.01, 0.079, 0.081):
        walked = descent.path(bowl, "sgd", rate, 50)
        assert (walked[:, 0] == pytest.approx(-4.0 * (1 - rate) ** np.arange(51))
                and walked[:, 1] == pytest.approx(1.2 * (1 - 25 * rate) ** np.arange(51)))
        assert (abs(walked[-1, 1]) > 1.2) == (rate > bowl.bound) == (descent.growth(rate, 25) > 1)
    high = 2 * (1 + descent.MOMENTUM) / 25
    ends = [abs(descent.path(bowl, "momentum", rate, 3000)[-1, 1]) for rate in (0.99 * high, 1.01 * high)]
    assert ends[0] < 1e-3 < 1e6 < ends[1]
    assert (np.abs(descent.path(bowl, "sgd", 1.0, 200)[:-1]).max() < descent.FURTHEST
            and len(descent.path(bowl, "sgd", 1.0, 200)) < 20)


def test_adams_first_step_has_the_length_of_the_learning_rate_in_each_weight():
    for surface in SURFACES.values():
        first, second = descent.path(surface, "adam", 0.01, 1)
        assert np.abs(second - first) == pytest.approx([0.01, 0.01], rel=1e-5)


@pytest.mark.parametrize("name", SURFACES)
def test_a_level_line_has_its_loss_everywhere(name: str):
    line = SURFACES[name].level(2.5, np.linspace(0, 7, 40))
    assert SURFACES[name].loss(torch.from_numpy(line)).numpy() == pytest.approx(np.full(40, 2.5))


def test_the_rows_of_the_charts_leave_out_what_is_no_number_and_keep_the_names_apart():
    y = figures.Axis("loss", (1e-6, 1e4), log=True)
    rows = figures.curve_rows({name: (np.arange(3), np.array([1.0, 0.0, last]))
                               for name, last in (("a", 1e12), ("b", math.inf), ("c", 1.0))}, y, 150)
    ends = np.sort(np.log10(rows[rows["role"] == "end"]["at"]))
    assert len(rows[rows["role"] == "line"]) == 5 and ends[-1] == pytest.approx(4) and np.diff(ends).min() >= 0.99
    drawn = figures.surface_rows([np.zeros((2, 2))], {"sgd": np.array([[0.0, -1e30]])})
    assert len(drawn) == 3 and drawn["y"].min() == -1000


# ---- packing ---------------------------------------------------------------------------------------------------------


def test_packing_says_of_every_place_what_the_training_reads():
    documents, end = [[11, 12, 13], [21], [31, 32, 33, 34, 35]], 7
    for n in (2, 4, 5, 32):
        rows, made = packing.packed(documents, n, end), pack([np.array(d, dtype=np.uint16) for d in documents], n, end)
        assert np.array_equal(rows.inputs, made.inputs) and np.array_equal(rows.counted, made.targets != IGNORE)
        assert np.array_equal(rows.targets[rows.counted], made.targets[rows.counted]) and rows.n_counted == 9 + 3
        for token, document, place in zip(rows.inputs.ravel(), rows.documents.ravel(), rows.place.ravel()):
            assert token == (end if document < 0 else documents[document][place])
    assert (packing.packed(documents, 4, end).wasted
            == pytest.approx(1 - 12 / packing.packed(documents, 4, end).n_places))


def test_padding_counts_every_prediction_once():
    for lengths, n in (([3, 1, 5], 4), ([8], 3), ([3], 4)):
        used = packing.padded_lengths(lengths, n)
        assert (sum(used) == sum(lengths) + len(lengths)
                and len(used) == sum(math.ceil((length + 1) / n) for length in lengths) and max(used) <= n)
    with pytest.raises(ValueError):
        packing.packed([[]], 4, 0)


def test_every_kind_is_drawn_from_the_table_or_by_hand():
    assert {row.decay for row in schedules.table()} - {None, "manual"} <= set(KINDS)
