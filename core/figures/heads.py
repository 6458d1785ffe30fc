"""Pictures and tables of attention heads, from arrays: a scatter of two measures, and the next token before and after
a change.
"""
from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.figures import style
from core.figures.channels import quantity, tips
from core.figures.names import distinct
from core.figures.numbers import latex_operand, percent
from core.model.config import ModelConfig

ROLES = ("previous_token", "next_token", "own_token", "first_token", "last_token", "induction", "duplicate_token")
LEAST_SHARE = 0.4         # a head has the role that takes at least this share of its attention
# length of the axis over that of the longest bar, so that the values beside the bars have room
ROOM_FOR_VALUES = 1.5
CROWD = 64                # points that still have room for labels between them
LABEL_ROOM = (0.07, 0.06)  # size of a label in shares of the scatter's width and height


def head_name(layer: int, head: int) -> str:
    """"3.5" for head 5 of layer 3, both counted from 0 as in the code."""
    return f"{layer}.{head}"


def roles(measures: Mapping[str, np.ndarray]) -> np.ndarray:
    """(L, h) strings: for each head, the measured role of ROLES with the largest share of its attention, "" if none
    reaches LEAST_SHARE. NaN counts as no attention.

    >>> shares = {"previous_token": 0.1, "first_token": 0.8, "induction": np.nan}
    >>> roles({name: np.array([[share]]) for name, share in shares.items()}).tolist()
    [['first_token']]
    """
    measured = [name for name in ROLES if name in measures]
    shares = np.stack([np.nan_to_num(measures[name], nan=-1.0) for name in measured])
    names = np.array(measured, dtype=object)[shares.argmax(0)]
    return np.where(shares.max(0) >= LEAST_SHARE, names, "")


def statistics_table(measures: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """One row a head: its name and each measure (L, h)."""
    n_layers, n_heads = next(iter(measures.values())).shape
    names = [head_name(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    return pd.DataFrame({"head": names} | {name: values.reshape(-1) for name, values in measures.items()})


def shares_of_sum(parts: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return (m,) float64, signed: how much each of the parts (m, d) contributes along their total (d,), part·total /
    ‖total‖². The shares add up to 1 if the parts add up to the total.

    >>> shares_of_sum(np.array([[3.0, 1.0], [1.0, -1.0]]), np.array([4.0, 0.0])).tolist()
    [0.75, 0.25]
    """
    total = total.astype(np.float64)
    return parts.astype(np.float64) @ total / (total @ total or 1.0)




def scatter(table: pd.DataFrame, x: str, y: str, titles: tuple[str, str], domains: tuple[float, float], selected: str,
            theme: str, scale: float, height: int) -> alt.LayerChart:
    """A scatter of all heads over two of their measures; a click is the altair selection "picked" of the field "head".

    table: `statistics_table`. titles: of the two axes. domains: the largest value each axis shows, from 0. Heads whose
    measure is NaN have no point.
    """
    ink, page, text = style.colour("attention", theme, "ink"), style.colour("page", theme), style.colour("text", theme)
    data = pd.DataFrame({"head": table["head"], "x": table[x], "y": table[y], "chosen": table["head"] == selected})
    data = data.dropna(subset=["x", "y"])
    data["label"] = np.where(named_points(data.x / domains[0], data.y / domains[1], data.chosen), data["head"], "")
    base = alt.Chart(data).encode(**{
        axis: quantity(channel, axis, title, [0, most], tickCount=5)
        for axis, channel, title, most in zip("xy", (alt.X, alt.Y), titles, domains)})
    tooltip = [alt.Tooltip("head:N"), *(alt.Tooltip(f"{axis}:Q", title=title, format=".4~g")
                                        for axis, title in zip("xy", titles))]
    picked = alt.selection_point(name="picked", fields=["head"], toggle=False)
    points = base.mark_circle(size=110 * scale, opacity=0.75, color=ink, stroke=page).encode(
        tooltip=tooltip).add_params(picked)
    ring = base.transform_filter("datum.chosen").mark_point(size=230 * scale, color=text, strokeWidth=2.5)
    names = base.mark_text(align="left", dx=9, dy=-7, color=text, fontSize=12 * scale).encode(text=alt.Text("label:N"))
    return style.overlaid([points, ring, names], theme, scale, height)


def singular_values(values: np.ndarray, rank: int, titles: tuple[str, str], name: str, theme: str, scale: float,
                    height: int) -> alt.LayerChart:
    """Singular values in their order as bars, and behind the last of `rank` a line with its name. titles: of the axes.
    """
    data = pd.DataFrame({"n": np.arange(1, len(values) + 1), "value": values})
    ink, text = style.colour("attention", theme), style.colour("accent", theme, "ink")
    base = alt.Chart(data).encode(
        x=quantity(alt.X, "n", titles[0], [0, len(values) + 1], tickMinStep=1, format="d"),
        y=alt.Y("value:Q", title=titles[1], axis=alt.Axis(tickCount=4, format="~r")),
        tooltip=[alt.Tooltip("n:Q", title=titles[0]), alt.Tooltip("value:Q", title=titles[1], format=".4~g")])
    edge = alt.Chart(pd.DataFrame({"n": [rank + 0.5], "name": [name]})).encode(x="n:Q")
    return style.overlaid([
        base.mark_bar(size=max(2.0, 300 * scale / len(values)), color=ink),
        edge.mark_rule(strokeDash=[5, 4], strokeWidth=2, color=text),
        edge.mark_text(y=10, dx=6, align="left", fontWeight="bold", color=text,
                       fontSize=12 * scale).encode(text="name:N")], theme, scale, height)


def product_latex(config: ModelConfig, i: int | str, j: int | str) -> str:
    """LaTeX of the product of query i and key j before scaling: q′ and k′ where positions rotate them, q̂ and k̂ where
    they are normed and not rotated.

    >>> rotary = ModelConfig(vocab_size=2, d_model=2, n_layers=1, n_heads=1, n_context=2, positions="rotary")
    >>> print(product_latex(rotary, 3, 1))
    q'_{3} \\cdot k'_{1}
    """
    if config.score == "additive":
        return rf"v \cdot \tanh(q_{{{i}}} + k_{{{j}}})"
    mark = "{}'" if config.positions == "rotary" else r"\hat{{{}}}" if config.sublayer.qk_norm else "{}"
    weighted = " W_S" if config.score == "multiplicative" else ""
    return rf"{mark.format('q')}_{{{i}}}{weighted} \cdot {mark.format('k')}_{{{j}}}"


def scaled_latex(product: str, config: ModelConfig) -> str:
    """LaTeX of a score from the LaTeX of its product of query and key: divided by √d_k or the model's own divisor, and
    capped, if the model does so; before any bias.

    >>> print(scaled_latex("6", ModelConfig(vocab_size=2, d_model=4, n_layers=1, n_heads=1, n_context=2)))
    \\frac{6}{\\sqrt{4}}
    """
    if config.scores.scale_scores and config.score != "additive":
        root = latex_operand(config.scores.score_divisor) if config.scores.score_divisor else rf"\sqrt{{{config.d_k}}}"
        product = rf"\frac{{{product}}}{{{root}}}"
    cap = latex_operand(config.scores.score_cap)
    return rf"{cap} \tanh\left({product} / {cap}\right)" if config.scores.score_cap else product


def named_points(x: np.ndarray, y: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return (m,) bool: the points, given in shares of the axes, that carry a label. These are the chosen point and
    then, from the outside in, those whose label overlaps no other.

    With more than CROWD points, a label must not cover another point either.

    >>> named_points(np.array([0.9, 0.88, 0.1]), np.array([0.2, 0.2, 0.1]), np.array([False, False, False])).tolist()
    [True, False, True]
    """
    x, y, chosen = np.asarray(x), np.asarray(y), np.asarray(chosen)
    named, free = np.zeros(len(x), bool), np.ones(len(x), bool)
    if len(x) > CROWD:
        right, up = x[None] - x[:, None], y[None] - y[:, None]
        free = chosen | ~((right > 0) & (right < LABEL_ROOM[0]) & (np.abs(up) < LABEL_ROOM[1])).any(1)
    for i in sorted(range(len(x)), key=lambda i: (not chosen[i], -max(x[i], y[i]))):
        named[i] = free[i] and not any(abs(x[i] - x[j]) < LABEL_ROOM[0] and abs(y[i] - y[j]) < LABEL_ROOM[1]
                                       for j in np.flatnonzero(named))
    return named


def candidates(before: np.ndarray, after: np.ndarray, most_moved: Sequence[int], n: int = 10) -> np.ndarray:
    """Ids of up to n tokens to compare: the most probable before and after, and those that moved most; sorted by their
    probability before, largest first.

    >>> candidates(np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.2, 0.2, 0.5]), [0], n=2).tolist()
    [0, 3]
    """
    ranked = zip(np.argsort(-before, kind="stable")[:n], np.argsort(-after, kind="stable")[:n])
    in_turn = [int(i) for pair in ranked for i in pair]
    ids = list(dict.fromkeys([*in_turn[:2], *most_moved, *in_turn[2:]]))[:n]
    return np.array(sorted(ids, key=lambda i: (-before[i], i)), dtype=np.int64)


def before_after(tokens: Sequence[str], before: np.ndarray, after: np.ndarray, titles: tuple[str, str, str], theme: str,
                 scale: float, height: int) -> alt.LayerChart:
    """Two probabilities a token, in the order given: before as an outlined bar, after as the filled bar inside it.
    titles: of the axis, of before, of after.

    The spec is constant, so that an update moves the bars in place.
    """
    fill, ink, text = style.colour("kept", theme), style.colour("muted", theme), style.colour("text", theme)
    data = pd.DataFrame({"token": distinct(tokens), "before": before, "after": after})
    data["furthest"] = data[["before", "after"]].max(axis=1)
    data["before_shown"], data["after_shown"] = (list(map(percent, p)) for p in (before, after))
    data["label"] = data["before_shown"] + " → " + data["after_shown"]
    data["room"] = ROOM_FOR_VALUES * data["furthest"].max()
    y = alt.Y("token:N", sort=None, title=None, scale=alt.Scale(paddingInner=0.25),
              axis=alt.Axis(labelFont=style.MONO, labelFontSize=12 * scale, labelColor=text, labelLimit=110 * scale))
    tooltip = tips(token="token", before_shown=titles[1], after_shown=titles[2])
    base = alt.Chart(data).encode(y=y, tooltip=tooltip)
    hollow = base.mark_bar(fillOpacity=0.001, stroke=ink, strokeWidth=1.5, fill=text).encode(
        x=alt.X("before:Q", title=titles[0], axis=alt.Axis(tickCount=4, format="~g"), scale=alt.Scale(nice=False)))
    full = base.mark_bar(fill=fill, height=alt.RelativeBandSize(0.5)).encode(x=alt.X("after:Q"))
    room = base.mark_point(opacity=0).encode(x=alt.X("room:Q"))
    values = base.mark_text(align="left", dx=6, color=text, fontSize=12 * scale).encode(
        x=alt.X("furthest:Q"), text=alt.Text("label:N"))
    return style.overlaid([hollow, full, room, values], theme, scale, height)
