"""Back propagation: what the browser computes is what core/learning/backprop.py does, and that what autograd, finite
differences and torch's optimizers do; every number that opens is the product that it is said to be.
"""
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from core.base import prose
from core.learning import backprop
from core.learning.backprop import NAMES, WEIGHTS, Net
from tests.helpers import messages
from tests.helpers.javascript import evaluate
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import formulas
from tests.helpers.predictions import ask, commit, statements

WORK, GRAPH = "pages/training/backprop_work.js", "pages/training/backprop_graph.js"
STATES = [Net(backprop.drawn(seed), true, activation)
          for seed, true, activation in itertools.product((0, 1, 5, 9), range(3), backprop.ACTIVATIONS)]


def as_json(net: Net) -> dict:
    return {"numbers": list(net.numbers), "true": net.true, "activation": net.activation}


def numpy_loss(numbers: np.ndarray, net: Net) -> float:
    """The loss written once more, without torch."""
    x, W, V = numbers[:2], numbers[2:6].reshape(2, 2), numbers[6:].reshape(2, 3)
    z = x @ W
    u = (np.tanh(z) if net.activation == "tanh" else np.maximum(z, 0)) @ V
    return float(np.log(np.exp(u).sum()) - u[net.true])


@pytest.mark.parametrize("net", STATES)
def test_the_chain_rule_gives_what_autograd_and_moving_each_number_give(net: Net):
    assert backprop.by_chain_rule(net) == pytest.approx(backprop.by_autograd(net), rel=1e-12, abs=1e-15)
    numbers = np.array(net.numbers)
    moved = [(numpy_loss(numbers + 1e-5 * move, net) - numpy_loss(numbers - 1e-5 * move, net)) / 2e-5
             for move in np.eye(len(NAMES))]
    assert backprop.by_chain_rule(net) == pytest.approx(moved, abs=1e-8)
    assert backprop.by_differences(net) == pytest.approx(moved, abs=1e-6)
    first = backprop.backward(net)["u"]
    assert float(first.sum()) == pytest.approx(0, abs=1e-12)
    assert float(first[net.true]) == pytest.approx(math.exp(-numpy_loss(numbers, net)) - 1)


def test_the_browser_computes_the_same_pass_and_the_same_gradient():
    shown = evaluate(WORK, """nets.map((net) => ({ ...m.forward(net), gradient: m.gradient(net),
        back: m.backward(net) }))""", nets=[as_json(net) for net in STATES])
    for net, seen in zip(STATES, shown):
        found = backprop.forward(net, torch.tensor(net.numbers, dtype=torch.float64))
        for name in ("z", "h", "u", "p", "loss"):
            assert seen[name] == pytest.approx(getattr(found, name).tolist(), rel=1e-12, abs=1e-15), name
        assert seen["gradient"] == pytest.approx(backprop.by_autograd(net), rel=1e-12, abs=1e-15)
        for name, value in backprop.backward(net).items():
            np.testing.assert_allclose(seen["back"][name], value, rtol=1e-12, atol=1e-15)


def test_the_browser_descends_as_torchs_optimizers_do():
    for net, optimizer, rate in itertools.product(STATES[:4], backprop.OPTIMIZERS, (0.05, 0.5)):
        ours = evaluate(WORK, "m.descend(net, optimizer, rate, 25).map((state) => state.net.numbers)",
                        net=as_json(net), optimizer=optimizer, rate=rate)
        theirs = [state.numbers for state in backprop.descend(net, optimizer, rate, 25)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)
        losses = [numpy_loss(np.array(numbers), net) for numbers in ours]
        assert losses[1] < losses[0] and len(losses) == 26


def test_every_number_that_opens_is_the_product_that_it_is_said_to_be():
    """Each product: the sum of its terms is its value, and each factor has the value that its own name has."""
    names = [f"{kind}{i}" for kind in "zu" for i in range(1, 3 if kind == "z" else 4)]
    names += [f"d{name}" for name in (*NAMES, "z1", "z2", "h1", "h2")]
    for net in STATES:
        made, now, back = evaluate(WORK, "[names.map((name) => m.product(net, name)), m.forward(net), m.backward(net)]",
                                   net=as_json(net), names=names)
        values = dict(zip(NAMES, net.numbers)) | dict(zip((f"d{name}" for name in NAMES), backprop.by_autograd(net)))
        for kind, count in (("z", 2), ("h", 2), ("u", 3)):
            values |= {f"{kind}{i + 1}": now[kind][i] for i in range(count)}
            values |= {f"d{kind}{i + 1}": back[kind][i] for i in range(count)}
        z = np.array(now["z"])
        slopes = 1 - np.tanh(z) ** 2 if net.activation == "tanh" else (z > 0).astype(float)
        values |= {f"s{i + 1}": slope for i, slope in enumerate(slopes)}
        for name, product in zip(names, made):
            assert product["value"] == pytest.approx(values[name], abs=1e-12), name
            terms = [math.prod(factor["value"] for factor in term) for term in product["terms"]]
            assert sum(terms) == pytest.approx(product["value"], abs=1e-12), name
            for factor in itertools.chain.from_iterable(product["terms"]):
                assert factor["value"] == pytest.approx(values[factor["name"]], abs=1e-12), (name, factor)


def test_a_curve_of_the_loss_has_the_derivative_for_its_slope():
    net = STATES[0]
    places = [*NAMES, "z1", "z2", "h1", "h2", "u1", "u2", "u3"]
    slopes, = evaluate(WORK, """[places.map((name) => {
        const now = m.forward(net), value = m.NAMES.includes(name) ? net.numbers[m.NAMES.indexOf(name)]
          : now[name[0]][Number(name[1]) - 1];
        return (m.lossAt(net, name, value + 1e-5) - m.lossAt(net, name, value - 1e-5)) / 2e-5; })]""",
                       net=as_json(net), places=places)
    back = backprop.backward(net)
    told = backprop.by_autograd(net) + torch.cat([back[name] for name in "zhu"]).tolist()
    assert slopes == pytest.approx(told, abs=1e-8)


def test_paths_lead_from_a_weight_to_the_loss_and_nowhere_else():
    found = evaluate(GRAPH, "names.map((name) => [...m.onPath(name)].sort())", names=["w12", "v13", "x1", "u2"])
    through = {f"{kind}{k}" for kind in "up" for k in (1, 2, 3)} | {"L"}
    assert set(found[0]) == {"w12", "z2", "h2", "v21", "v22", "v23"} | through
    assert set(found[1]) == {"v13", "u3", "p3", "L"} and set(found[3]) == {"u2", "p2", "L"}
    assert {"w11", "w12", "z1", "z2", "v11", "v23"} <= set(found[2]) and "w21" not in found[2]


def sent(**query: str) -> tuple:
    at = open_at("training", training_view="backprop", **query)
    assert fine(at)
    return at, messages.given(at, "backprop")


@pytest.mark.parametrize("query", [{}, {"training_net_activation": "relu", "training_net_picked": "v23"},
                                   {"training_net_optimizer": "adam", "training_net_updates": "3"},
                                   {"training_net_true": "2", "training_net_rate": "1.0", "training_seed": "7"},
                                   {"training_net": "0:1,1,0.5,0.5,0.5,0.5,1,0,0,0,1,0", "training_net_updates": "2"}])
def test_the_page_says_what_its_network_computes(query: dict):
    at, header = sent(**query)
    own, written = header["net"], query.get("training_net", "")
    start = [float(number) for number in written.split(":")[1].split(",")] if written else own["numbers"]
    net = Net(tuple(start), int(query.get("training_net_true", 0)), query.get("training_net_activation", "tanh"))
    states = evaluate(WORK, "m.descend(net, optimizer, rate, n + 1).map((state) => state.net.numbers)",
                      net=as_json(net), optimizer=own["optimizer"], rate=own["rate"],
                      n=int(query.get("training_net_updates", 0)))
    now, after = np.array(states[-2]), np.array(states[-1])
    np.testing.assert_allclose(own["numbers_now"], now, rtol=1e-9, atol=1e-9)
    assert own["autograd"] == pytest.approx(backprop.by_chain_rule(Net(tuple(now), net.true, net.activation)), abs=1e-9)
    title = next(shown.value for shown in at.markdown if "the loss is" in shown.value)
    assert f"{numpy_loss(now, net):.3g}" in title and f"{numpy_loss(after, net):.3g}".rstrip("0").rstrip(".") in title
    shown = " ".join(formulas(at))
    slope = backprop.by_autograd(Net(tuple(now), net.true, net.activation))[NAMES.index(
        query.get("training_net_picked", "w12"))]
    assert shown.count(f"{slope:.4f}") >= 3


@pytest.mark.parametrize("query", [{"training_net": "0:1,2"}, {"training_net": "0:" + ",".join(["nan"] * 12)},
                                   {"training_net": "9:1,1,1,1,1,1,1,1,1,1,1,1"}, {"training_net_picked": "<b>"},
                                   {"training_net_rate": "9", "training_net_updates": "200"}])
def test_absurd_networks_are_borne(query: dict):
    _, header = sent(**query)
    assert header["net"]["numbers"] == list(backprop.drawn(0)) and all(map(math.isfinite, header["net"]["autograd"]))


@pytest.mark.parametrize("true", ["0", "1", "2"])
def test_what_the_question_asks_is_the_derivative_by_the_true_logit(true: str):
    at = ask("training", "backprop", training_net_true=true)
    net = Net(backprop.drawn(0), int(true))
    p = math.exp(-numpy_loss(np.array(net.numbers), net))
    options = sorted((p - 1, p, -1 / p, -p * (1 - p)))
    shown = commit(at, "training", "backprop", 0)
    assert shown["answer"] == options.index(p - 1) and shown["true"] == statements("training", "backprop")[0]


@pytest.mark.parametrize("activation", backprop.ACTIVATIONS)
def test_a_weight_behind_a_zero_learns_nothing(activation: str):
    numbers = np.array(backprop.drawn(0))
    numbers[0] = 0
    net = Net(tuple(numbers), 0, activation)
    moved = [(numpy_loss(numbers + 1e-5 * move, net) - numpy_loss(numbers - 1e-5 * move, net)) / 2e-5
             for move in np.eye(len(NAMES))[2:]]
    zeros = sum(abs(slope) < 1e-9 for slope in moved)
    at, _ = sent(training_net_activation=activation)
    radio = next(radio for radio in at.radio if radio.key.endswith("_given"))
    assert str(zeros) in radio.options and zeros >= 2 and len(WEIGHTS) == 10
    radio.set_value(radio.options.index(str(zeros))).run()
    at.button(radio.key.replace("_given", "_commit")).click().run()
    right = prose.load("app").label("check_right", given="", answer="").partition(":")[0]
    assert fine(at) and any(shown.value.startswith(right) for shown in at.markdown)
