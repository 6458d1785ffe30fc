"""Back propagation: one small network, its pass forward and the same pass backwards, with every number of both, and
steps of gradient descent on it.
"""
import math
from dataclasses import replace

import pandas as pd
import streamlit as st
import torch

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.base.markdown import code
from core.components.lib.bytes import pack
from core.components.lib.instrument import instrument
from core.components.lib.token_view import PLAYER_CSS
from core.figures.numbers import bracketed, latex_number, latex_operand, readable
from core.learning import backprop
from core.learning.backprop import NAMES, WEIGHTS, Net
from pages.training.shared import PREFIX, ask, attached, chart_height, choice, keep, own_seed, pick_power, read
from pages.training.shared import side_by_side as in_one_line

KEY = f"{PREFIX}backprop"
MOVED = ("net", "net_updates", "net_at", "net_picked")      # settings that the browser changes
FIRST_PICKED = "w12"
PICKABLE = (*NAMES, *(f"{kind}{i}" for kind in "zh" for i in (1, 2)),
            *(f"{kind}{k}" for kind in "upy" for k in (1, 2, 3)), "L")
WIDEST = 1e3            # in size, of a number that an address names
TABLE_DIGITS = 6
ROUNDING = 13           # decimals that hold, of derivatives whose terms may cancel
# The network with its numbers, the products that they are, and the loss as a function of one of them.
_picture = instrument("backprop", __file__, PLAYER_CSS)


def predict(page: Lesson, run: Run) -> Prediction:
    """Ask for the derivative of the loss by the true token's logit."""
    net = current()
    p = float(passed(net).p[net.true])
    # the derivative; p; that of −ln p by p; that of a loss 1 − p
    values = sorted({p - 1, p, -1 / p, -p * (1 - p)})

    def truth(_: int) -> Truth:
        return Truth(values.index(p - 1), values={"p": readable(p), "push": readable(p - 1)})

    return Prediction("backprop", Options([readable(value) for value in values]), truth,
                      {"token": tokens(page)[net.true], "p": readable(p)}, (net.true, net.numbers))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    with in_one_line("center", "medium"):
        st.selectbox(page.label("net_true"), ("0", "1", "2"), width=230 if reader.present() else 150,
                     label_visibility="collapsed", **attached("net_true"),
                     format_func=lambda place: page.label("net_true_is", token=tokens(page)[int(place)]))
        choice(page, "net_activation")
        choice(page, "net_optimizer")
        if not reader.present():
            pick_power(page, "net_rate", 10, width=170, format_func=lambda power: readable(10.0 ** power))
            own_seed(page)
    if read("net_picked") not in PICKABLE:
        keep(net_picked=FIRST_PICKED)
    start = current()
    nets = backprop.descend(start, read("net_optimizer"), rate(), read("net_updates") + 1)
    at = min(read("net_updates"), len(nets) - 1)
    net, after = nets[at], nets[at + 1] if at + 1 < len(nets) else None
    title = _title(page, net, after)
    st.markdown(f"**{title}**")
    header = {"settings": {name: read(name) for name in MOVED}, "net": _net_data(page, start, net),
              "labels": page.labels("backprop"), "height": chart_height(40), "present": reader.present()}
    _picture(key=KEY, data=pack(header), on_settings=_settled)
    return Reading(_lines(page, net, after), _question(page, net),
                   [backprop.forward, backprop.backward, backprop.by_autograd, backprop.by_differences],
                   {"backprop.csv": lambda: table(net, after)}, ".instrument", title, _written(page, net, after))


def _settled(settings: dict) -> None:
    """Callback: keep the settings of the picture, sent when the hand rests."""
    keep(**{name: settings[name] for name in MOVED if name in settings})


def tokens(page: Lesson) -> list[str]:
    """The three tokens of the network's vocabulary."""
    return page.label("net_tokens").split("|")


def rate() -> float:
    """The learning rate."""
    return 10.0 ** (round(10 * read("net_rate")) / 10)


def current() -> Net:
    """The network before any update: as the reader has set it, else as its seed draws it."""
    seed, _, written = read("net").partition(":")
    numbers = _numbers(written) if seed == str(read("seed")) else None
    return Net(numbers or backprop.drawn(read("seed")), int(read("net_true")), read("net_activation"))


def _numbers(written: str) -> tuple[float, ...] | None:
    try:
        numbers = tuple(float(number) for number in written.split(","))
    except ValueError:
        return None
    fits = len(numbers) == len(NAMES) and all(math.isfinite(number) and abs(number) <= WIDEST for number in numbers)
    return numbers if fits else None


def passed(net: Net) -> backprop.Pass:
    """The pass through the network with its own numbers."""
    return backprop.forward(net, torch.tensor(net.numbers, dtype=torch.float64))


def _net_data(page: Lesson, start: Net, net: Net) -> dict:
    """The network for the picture: "numbers" before any update, "numbers_now" after those so far, and autograd's
    derivatives by these.
    """
    return {"numbers": list(backprop.drawn(read("seed"))), "true": start.true, "activation": start.activation,
            "seed": read("seed"), "optimizer": read("net_optimizer"), "rate": rate(), "tokens": tokens(page),
            "numbers_now": list(net.numbers), "autograd": backprop.by_autograd(net)}


def _title(page: Lesson, net: Net, after: Net | None) -> str:
    found = passed(net)
    values = {"token": code(tokens(page)[net.true]), "p": readable(float(found.p[net.true])),
              "loss": readable(float(found.loss)), "rate": readable(rate()), "n": read("net_updates")}
    if after is None:
        return page.label("backprop_title_lost", **values)
    then = float(passed(after).loss)
    way = "up" if then > float(found.loss) else "down"
    return page.label(f"backprop_title_{way}", after=readable(then), **values)


def written_name(name: str) -> str:
    """A number's name in LaTeX.

    >>> written_name("w12"), written_name("x1")
    ('w_{12}', 'x_1')
    """
    return f"{name[0]}_{{{name[1:]}}}" if len(name) > 2 else f"{name[0]}_{name[1:]}"


def _lines(page: Lesson, net: Net, after: Net | None) -> list[tuple[str, str]]:
    """The chain rule for the picked weight (the default one where none is picked), from the loss back to it."""
    picked = read("net_picked") if read("net_picked") in WEIGHTS else FIRST_PICKED
    found, back = passed(net), backprop.backward(net)
    k, p = net.true, found.p
    lines = [(page.label("numbers_backprop_loss"), rf"L = -\ln p_{k + 1} = -\ln {latex_operand(p[k])} = "
                                                   rf"{latex_number(found.loss)}")]
    lines.append((page.label("numbers_backprop_first"), r"\frac{\partial L}{\partial u} = p - y = "
                  + rf"({', '.join(latex_number(value) for value in back['u'])})"))
    i, j = int(picked[1]) - 1, int(picked[2]) - 1
    name, which = written_name(picked), NAMES.index(picked)
    if picked[0] == "v":
        lines.append((page.label("numbers_backprop_weight"), rf"\frac{{\partial L}}{{\partial {name}}} = h_{i + 1}\, "
                      rf"\frac{{\partial L}}{{\partial u_{j + 1}}} = {_operand(found.h[i])} \cdot "
                      rf"{_operand(back['u'][j])} = {_result(back['V'][i, j])}"))
    else:
        lines += _hidden_lines(page, net, i, j, name)
    auto, near = backprop.by_autograd(net)[which], backprop.by_differences(net)[which]
    chain = backprop.by_chain_rule(net)[which]
    lines.append((page.label("numbers_backprop_ways"), rf"{_result(chain)}, \qquad {_result(auto)}, \qquad "
                                                       rf"{latex_number(near)}"))
    if after is not None:
        step = after.numbers[which] - net.numbers[which]
        lines.append((page.label(f"numbers_backprop_{read('net_optimizer')}"),
                      rf"{name} \leftarrow {latex_operand(net.numbers[which])} + {_operand(step)} = "
                      rf"{latex_number(after.numbers[which])}"))
    return lines


def _operand(value: float | torch.Tensor) -> str:
    """A number that a product of the chain rule starts from."""
    return bracketed(latex_operand(round(float(value), ROUNDING)))


def _result(value: float | torch.Tensor) -> str:
    """A derivative, without the rounding of terms that cancel."""
    return latex_number(round(float(value), ROUNDING))


def _hidden_lines(page: Lesson, net: Net, i: int, j: int, name: str) -> list[tuple[str, str]]:
    found, back = passed(net), backprop.backward(net)
    x, _, V = backprop.parts(torch.tensor(net.numbers, dtype=torch.float64))
    slope = 1 - found.h[j] ** 2 if net.activation == "tanh" else (found.z[j] > 0).double()
    paths = " + ".join(rf"{_operand(V[j, k])} \cdot {_operand(back['u'][k])}" for k in range(3))
    return [(page.label("numbers_backprop_paths"),
             rf"\frac{{\partial L}}{{\partial h_{j + 1}}} = \sum_k v_{{{j + 1}k}} \frac{{\partial L}}{{\partial u_k}} "
             rf"= {paths} = {_result(back['h'][j])}"),
            (page.label("numbers_backprop_weight"),
             rf"\frac{{\partial L}}{{\partial {name}}} = x_{i + 1}\, f'(z_{j + 1})\, "
             rf"\frac{{\partial L}}{{\partial h_{j + 1}}} = {_operand(x[i])} \cdot {_operand(slope)} \cdot "
             rf"{_operand(back['h'][j])} = {_result(back['W'][i, j])}")]


def table(net: Net, after: Net | None) -> pd.DataFrame:
    """Every input and weight: its value, the derivative in three ways, and the weight after one more update."""
    return pd.DataFrame({"number": NAMES, "value": net.numbers, "chain_rule": backprop.by_chain_rule(net),
                         "autograd": backprop.by_autograd(net), "differences": backprop.by_differences(net),
                         "after": after.numbers if after else [math.nan] * len(NAMES)})


def _written(page: Lesson, net: Net, after: Net | None) -> pd.DataFrame:
    rows = table(net, after)
    rows.columns = page.label("columns_backprop").split("|")
    return rows.map(lambda value: f"{value:.{TABLE_DIGITS}f}".replace("-", "−") if isinstance(value, float) else value)


def _question(page: Lesson, net: Net) -> Question:
    """How many of the weights have a derivative of 0 once the first input is 0."""
    zeros = sum(abs(slope) < 1e-12 for slope in backprop.by_autograd(replace(net, numbers=(0.0, *net.numbers[1:])))[2:])
    return ask(page, "backprop", {0, 2, 5, 10}, zeros, n=len(WEIGHTS), zeros=zeros)
