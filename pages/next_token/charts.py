"""The origin of a logit: the largest terms of the dot product of h with a row of E, as bars."""
import numpy as np
import pandas as pd

from core.figures.numbers import written
from core.figures.style import altair_theme, colour, diverging

N_TERMS = 12


def largest_terms(h: np.ndarray, row: np.ndarray, n: int = N_TERMS) -> pd.DataFrame:
    """The n products h_j E_xj of largest size, from h and row (d,): columns j, h, e, product, largest first, equal ones
    by rising j. Raises ValueError for different shapes.

    >>> largest_terms(np.array([1.0, -2.0, 3.0]), np.array([0.5, 1.0, 0.1]), n=2)["product"].tolist()
    [-2.0, 0.5]
    """
    if h.shape != row.shape or h.ndim != 1:
        raise ValueError(f"The two vectors of a dot product must have one length, not shapes {h.shape} "
                         f"and {row.shape}.")
    product = h * row
    order = np.argsort(-np.abs(product), kind="stable")[:n]
    return pd.DataFrame({"j": order, "h": h[order], "e": row[order], "product": product[order]})


def terms_chart(labels: dict[str, str], theme: str, scale: float = 1.0) -> dict:
    """Bars of `terms_rows`: those above zero raise the logit, those below lower it.

    A Vega-Lite spec without its data: it depends only on theme, scale and labels, so that the chart stays in place
    while the rows change. (A dict: altair takes 80 ms to check it.)

    labels: "dimension" and "product", the titles of the axes.
    """
    down, up = diverging(theme)[1][1], diverging(theme)[-2][1]
    tooltip = [{"field": name, "type": "quantitative", "format": ".6f", "title": title}
               for name, title in (("h", "h_j"), ("e", "e(x)_j"), ("product", "h_j e(x)_j"))]
    return {
        "height": 250 * scale, "config": altair_theme(theme, scale),
        "encoding": {
            "x": {"field": "j", "type": "ordinal", "sort": {"field": "place"},
                  "title": labels["dimension"], "axis": {"labelAngle": 0}},
            "y": {"field": "product", "type": "quantitative", "title": labels["product"],
                  "axis": {"grid": True, "tickCount": 4}, "scale": {"padding": 18 * scale}},
            "tooltip": [{"field": "j", "title": "j"}, *tooltip]},
        "layer": [
            {"mark": {"type": "bar", "stroke": colour("text", theme), "strokeWidth": 0.5},
             "encoding": {"color": {"condition": {"test": "datum.product < 0", "value": down}, "value": up}}},
            {"mark": {"type": "text", "dy": {"expr": f"datum.product < 0 ? {9 * scale} : {-8 * scale}"}},
             "encoding": {"text": {"field": "shown"}}},
        ],
    }


def terms_rows(terms: pd.DataFrame) -> pd.DataFrame:
    """`largest_terms` for the chart: with their place and the text of the product."""
    return terms.assign(place=range(len(terms)),
                        shown=[written(f"{value:+.2f}") for value in terms["product"]])
