"""The geometry of a matrix of positions, and the formulas of positions with their values, as LaTeX and tables.

Symbols: P (n, d) positions; i, j two of them; δ′ a pair of dimensions (2δ′, 2δ′ + 1); ω its angular frequency; b the
base.
"""
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.figures.lines import NAME_HEIGHT, Axis, Lines, Look, by_name, channel, ruled, spread
from core.figures.numbers import latex_number, latex_operand


@dataclass(frozen=True)
class Geometry:
    """Lengths, angles and principal axes of a matrix of positions."""

    P: np.ndarray          # (n, d)
    lengths: np.ndarray    # (n,)      ‖P_i‖
    cosines: np.ndarray    # (n, n)    between every two positions
    # (min(n, d),) singular values of P, largest first, as shares of the squared whole: they sum to 1
    spectrum: np.ndarray
    rank: int              # how many axes hold 99 % of the squared length
    turned: np.ndarray     # (n, d)    P on its own principal axes, the strongest first: same lengths, same dot products


def geometry(P: np.ndarray) -> Geometry:
    """The geometry of positions P (n, d). A row of zeros has cosine 0 with every other."""
    P = np.asarray(P, dtype=np.float64)
    lengths = np.linalg.norm(P, axis=1)
    unit = P / np.where(lengths == 0, 1, lengths)[:, None]
    _, singular, axes = np.linalg.svd(P, full_matrices=True)
    power = singular**2 / max((singular**2).sum(), np.finfo(float).tiny)
    return Geometry(P, lengths, unit @ unit.T, power, int(np.searchsorted(np.cumsum(power), 0.99) + 1), P @ axes.T)


def angle_latex(i: int, pair: int, d: int, base: float, omega: float) -> str:
    """ω and i ω of one pair, with its numbers."""
    return (rf"\omega = b^{{-2\delta'/d}} = {base:g}^{{-{2 * pair}/{d}}} = {latex_number(omega)}, \qquad i\,\omega = "
            rf"{i} \cdot {latex_operand(omega)} = {latex_number(i * omega)}")


def entries_latex(i: int, pair: int, omega: float) -> str:
    """The two entries of P_i that belong to a pair."""
    return (rf"P_{{{i},\,{2 * pair}}} = \sin({latex_number(i * omega)}) = {latex_number(math.sin(i * omega))}, \qquad "
            rf"P_{{{i},\,{2 * pair + 1}}} = \cos({latex_number(i * omega)}) = {latex_number(math.cos(i * omega))}")


def wavelength_latex(omega: float) -> str:
    """The number of positions in one turn."""
    return (rf"\lambda = \frac{{2\pi}}{{\omega}} = \frac{{{latex_operand(2 * math.pi)}}}{{{latex_operand(omega)}}} = "
            rf"{latex_number(2 * math.pi / omega)}")


def product_latex(i: int, j: int, omegas: Sequence[float]) -> str:
    """P_i · P_j as a sum of cosines: its first four terms and its total."""
    terms = [math.cos((i - j) * omega) for omega in omegas]
    first = " ".join(f"{'' if k == 0 and term >= 0 else '+' if term >= 0 else '-'} {latex_number(abs(term))}"
                     for k, term in enumerate(terms[:4]))
    rest = r" + \dots" if len(terms) > 4 else ""
    return (rf"P_{{{i}}} \cdot P_{{{j}}} = \sum_{{\delta'=0}}^{{{len(terms) - 1}}} "
            rf"\cos\big(({i}-{j})\,\omega_{{\delta'}}\big) = {first}{rest} = {latex_number(sum(terms))}")


def _matrix_latex(*rows: Sequence[float]) -> str:
    body = r" \\ ".join(" & ".join(map(latex_number, row)) for row in rows)
    return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"


def _pair(angle: float) -> tuple[float, float]:
    return math.sin(angle), math.cos(angle)


def rotation_latex(angle: float) -> str:
    """The matrix that rotates a pair (row vector) by `angle` (radians)."""
    sin, cos = _pair(angle)
    return f"R({latex_number(angle)}) = {_matrix_latex((cos, sin), (-sin, cos))}"


def step_latex(i: int, j: int, omega: float) -> str:
    """(sin iω, cos iω) rotated by (j − i)ω is (sin jω, cos jω): a step in position is one rotation, whatever i is."""
    sin, cos = _pair((j - i) * omega)
    return (f"{_matrix_latex(_pair(i * omega))} {_matrix_latex((cos, -sin), (sin, cos))} = "
            f"{_matrix_latex(_pair(j * omega))}")


def cosine_latex(u: str, v: str, a: np.ndarray, b: np.ndarray, cosine: float) -> str:
    """The cosine of two vectors (d,), arrays or tensors, of the symbols u and v: their dot product over their lengths.
    """
    product, first, second = (latex_number(float(value), 6) for value in (a @ b, (a @ a) ** 0.5, (b @ b) ** 0.5))
    return (rf"\cos({u}, {v}) = \frac{{{u} \cdot {v}}}{{\lVert {u} \rVert\,\lVert {v} "
            rf"\rVert}} = \frac{{{product}}}{{{first} \cdot {second}}} = {latex_number(cosine)}")


def dot_latex(name: str, a: Sequence[float], b: Sequence[float]) -> str:
    """A dot product's first four terms and its total."""
    terms = " + ".join(rf"({latex_number(x)})({latex_number(y)})" for x, y in list(zip(a, b))[:4])
    rest = r" + \dots" if len(a) > 4 else ""
    return f"{name} = {terms}{rest} = {latex_number(float(np.dot(a, b)))}"


def softmax_of_bias(bias: np.ndarray, i: int) -> np.ndarray:
    """(i + 1,) the causal attention of query i where all q · k are equal: softmax over keys 0 … i of row i of
    `bias` (n, n).
    """
    row = np.exp(bias[i, : i + 1] - bias[i, : i + 1].max())
    return row / row.sum()


def concatenated(x: np.ndarray, p: np.ndarray, W_X: np.ndarray, W_P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[x, p] W with W = W_X over W_P, and x W_X + p W_P: two (k,) vectors that are the same up to rounding."""
    whole = np.concatenate([x, p]) @ np.concatenate([W_X, W_P])
    return whole, x @ W_X + p @ W_P


def open_pairs(omegas: np.ndarray, trained: int) -> np.ndarray:
    """(pairs,) bool: the pairs that do not complete a turn within the trained length, so that longer texts show
    them new angles.
    """
    return omegas * trained < 2 * math.pi


def pair_table(i: int, j: int, omegas: Sequence[float], names: Sequence[str]) -> pd.DataFrame:
    """One row a pair: δ′, ω, λ, sin iω, cos iω and cos((i − j)ω); `names` are the six column titles."""
    omegas = np.asarray(omegas)
    columns = (np.arange(len(omegas)), omegas, 2 * math.pi / omegas, np.sin(i * omegas), np.cos(i * omegas),
               np.cos((i - j) * omegas))
    return pd.DataFrame(dict(zip(names, columns)))


def matrix_table(M: np.ndarray, row: str, column: str, value: str) -> pd.DataFrame:
    """A matrix as long table, one line an entry."""
    rows, columns = np.indices(M.shape)
    return pd.DataFrame({row: rows.ravel(), column: columns.ravel(), value: M.ravel()})


# ---- losses by position ----------------------------------------------------------------------------------------------

# scheme: (colour meaning, dashes, mark)
SCHEMES = {"none": ("muted", [2, 3], "circle"), "sinusoidal": ("residual", [8, 3, 2, 3], "cross"),
           "learned": ("position", [1, 0], "square"), "rotary": ("query", [6, 3], "triangle-up"),
           "alibi": ("key", [1, 0], "diamond"), "relative": ("value", [10, 4], "triangle-down")}


def loss_range(table: pd.DataFrame, picked: str) -> tuple[float, float]:
    """The range of the y axis of `losses_by_position`: of all schemes but the worst, or of all if that one is picked.
    """
    tops = table.groupby("scheme")["nats"].max()
    low, high = float(table["nats"].min()), float(max(tops.nlargest(2).iloc[-1], tops[picked]))
    return low - 0.08 * (high - low), high + 0.16 * (high - low)


def losses_by_position(table: pd.DataFrame, picked: str, trained: int, titles: tuple[str, str, str], look: Look,
                       height: int) -> tuple[pd.DataFrame, dict]:
    """Loss over position, the table and the spec of a line for each scheme with a colour, dashes, marks and its name at
    the end; the picked one bold.

    table: columns scheme, name, first, last (positions), nats. Lines are cut off at `loss_range`. titles: of the x
    axis, of the y axis, of the vertical line at `trained`.
    """
    low, high = loss_range(table, picked)
    names = dict(zip(table["scheme"], table["name"]))
    looks = {names[scheme]: of for scheme, of in SCHEMES.items() if scheme in names}
    data = table.assign(x=(table["first"] + table["last"]) / 2, y=table["nats"], bold=table["scheme"] == picked)
    end = int(data["last"].max())
    x = Axis(titles[0], (0, end), ticks=None, labels={"values": list(range(0, end + 1, 64))})
    y = Axis(titles[1], (low, high), format="")
    drawn = Lines({name: look.ink(meaning) for name, (meaning, _, _) in looks.items()}, x, y, look,
                  [dashes for _, dashes, _ in looks.values()])
    ends = data[data["nats"] <= high].groupby("scheme").tail(1)
    gap = NAME_HEIGHT * look.scale * (high - low) / height
    ends = ends.assign(at=ends.groupby("x")["y"].transform(lambda nats: spread(nats.to_numpy(), gap)), role="end")
    tooltip = [{"field": "name"}, channel("first"), channel("last"), channel("nats", format=".4f")]
    marks = drawn.points(60 * look.scale, 0.7, color=drawn.colours(), tooltip=tooltip,
                         shape=by_name(looks, [mark for _, _, mark in looks.values()]))
    layers = [_where(bold, drawn.strokes(width)) for bold, width in ((False, 1.6), (True, 4))] + [marks] + [
        _where(bold, drawn.names(dx=8, fontWeight=weight)) for bold, weight in ((False, "normal"), (True, "bold"))]
    layers += ruled([(trained, titles[2])], {"x": channel("value")}, {"y": {"value": 0}}, {"strokeDash": [3, 3]},
                    {"type": "text", "align": "left", "baseline": "top", "dx": 6, "fontSize": 12 * look.scale})
    return pd.concat([data.assign(role="line"), ends], ignore_index=True), look.spec(layers, height, 90 * look.scale)


def _where(bold: bool, layer: dict) -> dict:
    """The layer with the picked scheme alone, or with the others."""
    return layer | {"transform": [*layer["transform"], {"filter": f"datum.bold == {str(bold).lower()}"}]}
