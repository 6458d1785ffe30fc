"""Three vectors of two numbers each, which a hand moves in the plane: the output a₃ of the third, calculated from the
first number to the last, without weights and with W_Q, W_K and W_V.
"""
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from core.analysis.attention_steps import Steps, simple_steps
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.components.lib.bytes import pack
from core.components.lib.instrument import instrument
from core.figures.numbers import bracketed, latex_number, latex_operand, percent, probability
from core.model import attention
from pages.attention.shared import PREFIX, keep, read

POINTS = ((1.6, 0.4), (-0.8, 1.4), (1.2, 1.0))
REACH, DIGITS = 2.5, 1              # of a number of a vector
N, LAST = len(POINTS), len(POINTS) - 1
EQUAL = 1e-6                        # weights that differ by less are equal but for rounding
MATRICES = {"W_Q": ((0.0, 1.0), (-1.0, 0.0)), "W_K": ((1.0, 0.5), (0.0, 1.0)), "W_V": ((0.5, 0.0), (0.5, 1.0))}
PICTURE = f"{PREFIX}three"
SYMBOLS = {"off": ("x", "x", "x"), "on": ("q", "k", "v")}       # of the query, the keys and the values
# The three vectors in the plane, and beside it the table that leads to a₃; all of it is computed in the browser.
_picture = instrument("attention_three", __file__)


def points() -> tuple[tuple[float, ...], ...]:
    """The three vectors of the setting; those at the start where it is no list of six numbers."""
    try:
        values = [round(float(part), DIGITS) for part in read("three_points").replace(";", ",").split(",")]
    except (ValueError, OverflowError):
        return POINTS
    if len(values) != 2 * N or not all(abs(value) <= REACH for value in values):
        return POINTS
    return tuple(zip(values[::2], values[1::2]))


def written(vector: Sequence[float], form: str = "g") -> str:
    """A vector as a sentence says it, its numbers in a format of Python.

    >>> written((-0.8, 1.0))
    '(−0.8, 1)'
    """
    return f"({', '.join(format(value, form) for value in vector)})".replace("-", "−")


def calculated(vectors: tuple[tuple[float, ...], ...], weights: str) -> Steps:
    """The steps for the last of the vectors; weights: "off", where x is query, key and value, or "on"."""
    X = torch.tensor(vectors, dtype=torch.float64)
    seen = torch.ones(N, dtype=torch.bool)
    if weights == "off":
        return simple_steps(X, LAST, seen)
    Q, K, V = (X @ torch.tensor(matrix, dtype=torch.float64) for matrix in MATRICES.values())
    products = K @ Q[LAST]
    return Steps(Q[LAST], K, V, products, products / math.sqrt(K.shape[-1]), torch.zeros(N), seen)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which vector the third one weighs most, without W, so that the products can be worked out."""
    vectors = points()
    if read("three_weights") == "on":
        return None

    def truth(_: int) -> Truth:
        alpha = calculated(vectors, "off").weights
        own, most = float(alpha[LAST]), float(alpha.max())
        best = [j for j, weight in enumerate(alpha.tolist()) if weight > most - EQUAL]
        return Truth(best[0] if len(best) == 1 else N, said=percent(most),
                     seen=2 if best != [LAST] else 0 if own >= 0.5 else 1,
                     values={"own": percent(own), "others": percent(1 - own)})

    places = {f"x{j + 1}": written(vector) for j, vector in enumerate(vectors)}
    return Prediction("three", Options([*page.labels("guess_three").values()]), truth, places, vectors)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the plane and the table; return what they show."""
    vectors, weights = points(), read("three_weights")
    steps = calculated(vectors, weights)
    header = {"labels": page.labels("three"), "present": reader.present(),
              "matrices": MATRICES,
              "settings": {"points": [list(vector) for vector in vectors], "weights": weights}}
    _picture(key=PICTURE, data=pack(header, {}), on_settings=_settled)
    alpha = [probability(float(weight)) for weight in steps.weights]
    title = page.label("three_title", first=alpha[0], second=alpha[1], third=alpha[2],
                       out=written(steps.output.tolist(), "z.2f"))
    return Reading(_lines(page, steps, weights), _question(page, vectors),
                   [simple_steps, attention.masked_softmax], {"three.csv": lambda: _table(vectors, steps)},
                   ".instrument .picture", title, summary={"α₃₃": alpha[LAST]})


def _settled(settings: dict) -> None:
    """Callback: keep where the vectors stand, sent when the hand rests."""
    given = settings.get("points", POINTS)
    keep(three_points=";".join(",".join(f"{float(value):g}" for value in vector) for vector in given),
         three_weights=settings.get("weights", "off"))


def _lines(page: Lesson, steps: Steps, weights: str) -> list[tuple[str, str]]:
    """Calculating a₃: scores, weights, and the sum of the weighted vectors."""
    query, key, value = SYMBOLS[weights]
    divisor = r" / \sqrt{2}" if weights == "on" else ""
    lines = [(page.label("numbers_three_query"), _query_line(steps))] if weights == "on" else []
    for j in range(N):
        terms = " + ".join(rf"{bracketed(latex_operand(a))} \cdot {bracketed(latex_operand(b))}"
                           for a, b in zip(steps.q.tolist(), steps.K[j].tolist()))
        terms = f"({terms}){divisor}" if divisor else terms
        lines.append((page.label("numbers_three_score", j=j + 1),
                      rf"s_{{3,{j + 1}}} = {query}_3 \cdot {key}_{j + 1}{divisor} = {terms} = "
                      rf"{latex_operand(steps.scores[j])}"))
    powers = " + ".join(f"e^{{{latex_operand(score)}}}" for score in steps.scores)
    lines.append((page.label("numbers_three_weight"),
                  rf"\alpha_{{3,3}} = \frac{{e^{{{latex_operand(steps.scores[LAST])}}}}}{{{powers}}} = "
                  rf"{latex_number(steps.weights[LAST])}"))
    for c in range(2):
        terms = " + ".join(rf"{latex_operand(weight)} \cdot {bracketed(latex_operand(vector[c]))}"
                           for weight, vector in zip(steps.weights.tolist(), steps.V.tolist()))
        lines.append((page.label("numbers_three_output", c=c + 1, symbol=value),
                      rf"a_{{3,{c + 1}}} = {terms} = {latex_number(steps.output[c])}"))
    return lines


def _query_line(steps: Steps) -> str:
    rows = r" \\ ".join(" & ".join(f"{value:g}" for value in row) for row in MATRICES["W_Q"])
    x = ", & ".join(f"{value:g}" for value in points()[LAST])
    q = ", & ".join(f"{value:g}" for value in steps.q.tolist())
    return (rf"q_3 = x_3 W^Q = \begin{{pmatrix}} {x} \end{{pmatrix}} \begin{{pmatrix}} {rows} \end{{pmatrix}} = "
            rf"\begin{{pmatrix}} {q} \end{{pmatrix}}")


def _question(page: Lesson, vectors: tuple[tuple[float, ...], ...]) -> Question:
    """Ask for the third vector's weight for itself, without W, if all three are twice as long."""
    now, then = (calculated(tuple(tuple(times * value for value in vector) for vector in vectors), "off").weights
                 for times in (1, 2))
    own, doubled = float(now[LAST]), float(then[LAST])
    kept = sorted({probability(value): value for value in (doubled, own, own / 2, 1 / N)}.items(),
                  key=lambda item: item[1])
    options = [text for text, _ in kept]
    return page.question("three", options, options.index(probability(doubled)), now=probability(own),
                         then=probability(doubled))


def _table(vectors: tuple[tuple[float, ...], ...], steps: Steps) -> pd.DataFrame:
    X, V = np.array(vectors), steps.V.numpy()
    return pd.DataFrame({"j": range(1, N + 1), "x_1": X[:, 0], "x_2": X[:, 1], "score": steps.scores.numpy(),
                         "weight": steps.weights.numpy(), "v_1": V[:, 0], "v_2": V[:, 1]})
