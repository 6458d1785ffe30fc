"""Biases: ALiBi's slopes and a relative table, added to the scores."""
import math

import numpy as np

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run
from core.app.state.lesson_settings import Setting
from core.figures import positions as figures
from core.figures.numbers import latex_number, latex_operand, readable
from core.model import positional
from pages.positions.shared import PICTURE, Instrument

LONGEST = 16
_CURVE = ",".join(f"{round(20 * (2.5 * math.exp(-abs(t - 1) / (3 if t > 0 else 1.5)) - 1)) / 20:g}"
                  for t in range(-LONGEST, LONGEST + 1))
SETTINGS = {"heads": Setting(8, 1, 32), "head": Setting(2, 0, 31), "n": Setting(24, 4, 96),
            "clip": Setting(8, 1, LONGEST), "distance": Setting(1, -LONGEST, LONGEST), "r": Setting(_CURVE)}
# ALiBi's biases and a relative table r_{i-j}, with the attention weights of each where all q · k are equal.
_picture = Instrument("biases", __file__, SETTINGS, labels="bias")


FALLS = ("amount", "factor", "level")
NEARLY_EVEN = 0.8       # of the weight of the nearest key: from there on a row looks evenly coloured


def _values() -> dict:
    """The settings, with a head that there is and a table that makes sense."""
    values = _picture.values()
    return values | {"head": min(values["head"], values["heads"] - 1), "r": checked_table(values["r"])}


def predict(page: Lesson, run: Run) -> Prediction:
    """How the weights fall under ALiBi from one position to the next one back."""
    values = _values()
    slope = float(positional.alibi_slopes(values["heads"])[values["head"]])

    def truth(guess: int) -> Truth:
        bias = positional.alibi_bias(values["n"], values["n"], values["heads"])[values["head"]].double().numpy()
        weights = figures.softmax_of_bias(bias, values["n"] - 1)
        is_even = weights[0] > NEARLY_EVEN * weights[-1]
        factor = readable(math.exp(-slope))
        return Truth(FALLS.index(how_it_falls(weights[::-1])), said=f"× {factor}", seen=int(is_even),
                     values={"factor": factor, "half": readable(math.log(2) / slope)})

    return Prediction("biases", Options([page.label(f"before_biases_{how}") for how in FALLS]), truth,
                      {"slope": readable(slope)})


def how_it_falls(weights: np.ndarray) -> str:
    """Find the constant from each weight to the next, lower one: their difference ("amount") or their ratio ("factor");
    "level" if nothing falls.

    >>> how_it_falls(np.array([0.6, 0.4, 0.2])), how_it_falls(np.array([0.4, 0.2, 0.1])), how_it_falls(np.ones(3) / 3)
    ('amount', 'factor', 'level')
    """
    if np.ptp(weights) < 1e-12:
        return "level"
    steps = {"amount": weights[:-1] - weights[1:], "factor": weights[1:] / weights[:-1]}
    return min(steps, key=lambda name: np.ptp(steps[name]) / steps[name].mean())


def draw(page: Lesson, run: Run) -> Reading:
    values = _values()
    _picture.draw(page, values)
    heads, head, n, clip = (values[name] for name in ("heads", "head", "n", "clip"))
    slope = float(positional.alibi_slopes(heads)[head])
    alibi = positional.alibi_bias(n, n, heads)[head].double().numpy()
    middle = len(table(values["r"])) // 2
    relative = table(values["r"])[middle - clip: middle + clip + 1][positional.relative_index(n, n, clip).numpy()]
    return Reading(
        lines=_numbers(page, slope, heads, head, alibi, relative, values),
        question=_question(page, heads, head),
        functions=[positional.alibi_slopes, positional.alibi_bias, positional.relative_index],
        data={"alibi_bias.csv": lambda: figures.matrix_table(alibi, "query", "key", "bias"),
              "relative_bias.csv": lambda: figures.matrix_table(relative, "query", "key", "bias")},
        picture=PICTURE,
        title=page.label("bias_twin", head=head, heads=heads, slope=readable(slope),
                         half=readable(math.log(2) / slope), clip=clip),
        summary={"m": readable(slope), "h": str(heads), "r": str(clip)},
    )


def table(text: str) -> np.ndarray:
    """The relative table (2 LONGEST + 1,) as numbers."""
    return np.array([float(entry) for entry in text.split(",")])


def checked_table(text: str) -> str:
    """The table if it is valid, else the default one."""
    try:
        entries = table(text)
    except ValueError:
        return _CURVE
    return (text if len(entries) == 2 * LONGEST + 1 and np.isfinite(entries).all() and np.abs(entries).max() <= 100
            else _CURVE)


def _numbers(page: Lesson, slope: float, heads: int, head: int, alibi: np.ndarray, relative: np.ndarray,
             values: dict) -> list[tuple[str, str]]:
    i = len(alibi) - 1
    j = max(0, i - 4)
    weights = figures.softmax_of_bias(alibi, i)
    shared = relative[i, j]
    score = rf"\frac{{q_{{{i}}} \cdot k_{{{j}}}}}{{\sqrt{{d_k}}}}"
    return [
        (page.label("bias_numbers_slope", head=head),
         rf"m = 2^{{-8 \cdot {head + 1} / {heads}}} = {latex_number(slope)}" if heads & (heads - 1) == 0
         else rf"m = {latex_number(slope)}"),
        (page.label("bias_numbers_score", i=i, j=j),
         rf"{score} - m\,(i - j) = {score} - {latex_operand(slope)} \cdot {i - j} = "
         rf"{score} - {latex_number(slope * (i - j))}"),
        (page.label("bias_numbers_weight"), rf"\alpha_{{{i},{j}}} = \frac{{e^{{-{latex_number(slope * (i - j))}}}}}{{"
                                            rf"\sum_{{j'=0}}^{{{i}}} e^{{-m({i}-j')}}}} = {latex_number(weights[j])}"),
        (page.label("bias_numbers_relative", clip=values["clip"]),
         rf"{score} + r_{{{i}-{j}}} = {score} {'+' if shared >= 0 else '-'} {latex_number(abs(shared))}"),
    ]


def _question(page: Lesson, heads: int, head: int) -> Question | None:
    """Ask which head has half the weight where another one than the drawn does."""
    if heads < 4:
        return None
    halves = math.log(2) / positional.alibi_slopes(heads).double().numpy()
    asked = (head + heads // 2) % heads
    options = sorted({asked, head, (asked + 1) % heads, (asked - 1) % heads})
    return page.question("biases", [page.label("bias_option", head=option) for option in options],
                         options.index(asked), heads=heads, half=f"{halves[asked]:.3g}", asked=asked,
                         slope=f"{math.log(2) / halves[asked]:.4g}")
