"""Where a logit comes from: the dot product of h with a row of E, its largest terms as bars."""
from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from core.figures.style import altair_theme, colour, diverging

N_TERMS = 12


def largest_terms(h: np.ndarray, row: np.ndarray, n: int = N_TERMS) -> pd.DataFrame:
    """The n products h_j E_xj of largest size, h and row (d,), with columns j, h, e, product: largest first, equal ones by rising j.

    >>> largest_terms(np.array([1.0, -2.0, 3.0]), np.array([0.5, 1.0, 0.1]), n=2)["product"].tolist()
    [-2.0, 0.5]
    """
    if h.shape != row.shape or h.ndim != 1:
        raise ValueError(f"The two vectors of a dot product must have one length, not shapes {h.shape} and {row.shape}.")
    product = h * row
    order = np.argsort(-np.abs(product), kind="stable")[:n]
    return pd.DataFrame({"j": order, "h": h[order], "e": row[order], "product": product[order]})


def terms_chart(terms: pd.DataFrame, labels: dict[str, str], theme: str, scale: float = 1.0) -> alt.LayerChart:
    """Bars of `largest_terms`: above zero they raise the logit, below they lower it.

    labels: "dimension" and "product", the titles of the axes. The spec depends on theme, scale and labels alone.
    """
    height = 180 * scale
    rows = terms.assign(place=range(len(terms)), name=[str(j) for j in terms["j"]], shown=[f"{value:+.2f}".replace("-", "−") for value in terms["product"]])
    down, up = diverging(theme)[1][1], diverging(theme)[-2][1]
    base = alt.Chart(rows).encode(
        x=alt.X("place:O", title=labels["dimension"], axis=alt.Axis(labels=False, titlePadding=24 * scale)),
        tooltip=[alt.Tooltip("name:N", title="j"), alt.Tooltip("h:Q", title="h_j", format=".6f"), alt.Tooltip("e:Q", title="E_xj", format=".6f"),
                 alt.Tooltip("product:Q", title="h_j E_xj", format=".6f")])
    bars = base.mark_bar(stroke=colour("text", theme), strokeWidth=0.5).encode(
        y=alt.Y("product:Q", title=labels["product"], axis=alt.Axis(grid=True, tickCount=4)),
        color=alt.condition("datum.product < 0", alt.value(down), alt.value(up)))
    above = base.transform_filter("datum.product >= 0").mark_text(dy=-8 * scale).encode(y="product:Q", text="shown:N")
    below = base.transform_filter("datum.product < 0").mark_text(dy=9 * scale).encode(y="product:Q", text="shown:N")
    names = base.mark_text(dy=12 * scale).encode(y=alt.value(height), text="name:N")
    return (bars + above + below + names).properties(height=height, config=altair_theme(theme, scale))
