"""Charts of the mixtures of experts: what each expert reads, and how many numbers there are."""
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.figures.channels import kinds
from core.figures.numbers import percent
from core.figures.style import colour, framed, haloed, untitled


def shares(values: np.ndarray, line: tuple[float, str], titles: tuple[str, str], *, theme: str, scale: float,
           height: int) -> alt.TopLevelMixin:
    """A bar for each expert's share of the readings, the largest darker, and a dashed line at (share, name). titles: of
    the two axes.
    """
    rows = pd.DataFrame({"expert": range(len(values)), "share": values})
    rows = rows.assign(kind=np.where(rows["share"] == rows["share"].max(), "most", "other"),
                       shown=[percent(float(share)) for share in values])
    x = alt.X("expert:O", title=titles[0], axis=alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=6))
    top = max([*values, line[0]]) * 1.12
    y = alt.Y("share:Q", title=titles[1], axis=alt.Axis(format="%", tickCount=4),
              scale=alt.Scale(domain=[0, top], nice=False))
    bars = alt.Chart(rows).mark_bar(opacity=1).encode(
        x=x, y=y, color=kinds(alt.Color, "kind", {"most": colour("mlp", theme), "other": colour("kept", theme)}),
        tooltip=untitled("expert", "shown"))
    named = pd.DataFrame([line], columns=["share", "name"])
    rules = alt.Chart(named).mark_rule(strokeDash=[6, 4], strokeWidth=1.8, color=colour("text", theme)).encode(y=y)
    words = haloed(alt.Chart(named).encode(y=y, text="name:N"), theme, align="right", baseline="bottom", dy=-3,
                   x="width", fontSize=12 * scale, fontWeight=600)
    return framed(alt.layer(bars, rules, *words), theme, scale, height=height)


def counts(rows: Sequence[tuple[str, int, str]], title: str, *, theme: str, scale: float,
           height: int) -> alt.TopLevelMixin:
    """Numbers as bars, each with its name above it and its amount after it. rows: name, number, the number as text."""
    frame = pd.DataFrame(rows, columns=["name", "value", "shown"])
    most = float(frame["value"].max())
    base = alt.Chart(frame).encode(y=alt.Y("name:N", sort=None, title=None,
                                           axis=alt.Axis(labelLimit=190, domain=False, ticks=False)))
    bars = base.mark_bar(color=colour("kept", theme)).encode(
        x=alt.X("value:Q", title=title, axis=alt.Axis(labels=False, ticks=False, grid=False),
                scale=alt.Scale(domain=[0, 1.3 * most], nice=False)), tooltip=untitled("name", "shown"))
    texts = base.mark_text(align="left", dx=5, fontSize=12 * scale, color=colour("text", theme)).encode(
        x="value:Q", text="shown:N")
    return framed(bars + texts, theme, scale, height=height)
