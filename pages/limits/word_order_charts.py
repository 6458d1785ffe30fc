"""Shares of right answers by test and reading, with their intervals and chance.

Arrays and labels in, an altair object out.
"""
from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from core.analysis.statistics import Proportion
from core.figures.numbers import readable
from core.figures.style import colour, framed, untitled

SHAPES = ("circle", "diamond", "triangle-up")


def shares(tests: Sequence[str], scores: Mapping[str, Sequence[Proportion]], chance: Sequence[float],
           words: tuple[str, str], theme: str, scale: float, height: int, own: int | None = None) -> alt.LayerChart:
    """For each test a lane for each reading: the share as a mark of its own shape, its 95 % interval as a line; chance
    as a short upright stroke.

    scores: reading -> one score for each test. words: of the axis and of chance. The test `own` stands on a ground.
    """
    names = list(scores)
    frame = pd.DataFrame([{"test": test, "reading": name, "share": score.share, "low": score.interval[0],
                           "high": score.interval[1], "shown": f"{score.right} / {score.n} = {readable(score.share)}"}
                          for name, row in scores.items() for test, score in zip(tests, row)])
    floor = pd.DataFrame({"test": list(tests), "share": list(chance), "shown": [readable(value) for value in chance]})
    y = alt.Y("test:N", sort=list(tests), title=None,
              axis=alt.Axis(labelLimit=260, labelFontSize=12.5 * scale, labelColor=colour("text", theme)),
              scale=alt.Scale(paddingInner=0.2))
    lane, x = (alt.YOffset("reading:N", sort=names),
               alt.X("share:Q", title=words[0], scale=alt.Scale(domain=[0, 1], nice=False),
                     axis=alt.Axis(grid=True, values=[0, 0.25, 0.5, 0.75, 1], format="%")))
    tone = alt.Color("reading:N", sort=names,
                     scale=alt.Scale(domain=names, range=[colour(meaning, theme, "ink")
                                                          for meaning in ("kept", "attention", "mlp")][:len(names)]),
                     legend=alt.Legend(title=None, orient="top", columns=2, labelLimit=300))
    shape = alt.Shape("reading:N", sort=names, scale=alt.Scale(domain=names, range=list(SHAPES[:len(names)])),
                      legend=alt.Legend(title=None, orient="top", columns=2, labelLimit=300))
    ground = (alt.Chart(pd.DataFrame({"test": [] if own is None else [tests[own]]}))
              .mark_bar(color=colour("panel", theme)).encode(y=y, x=alt.XDatum(0), x2=alt.X2Datum(1)))
    lines = alt.Chart(frame).mark_rule(strokeWidth=2 * scale).encode(
        x=alt.X("low:Q", title=words[0]), x2=alt.X2("high:Q"), y=y, yOffset=lane, color=tone)
    marks = alt.Chart(frame).mark_point(filled=True, size=75 * scale, opacity=1).encode(
        x=x, y=y, yOffset=lane, color=tone, shape=shape,
        tooltip=[*untitled("test", "reading"), alt.Tooltip("shown:N", title=words[0])])
    blind = alt.Chart(floor).mark_tick(thickness=2.5 * scale, color=colour("text", theme), opacity=1).encode(
        x=x, y=y, tooltip=[alt.Tooltip("test:N", title=" "), alt.Tooltip("shown:N", title=words[1])])
    return framed(alt.layer(ground, blind, lines, marks), theme, scale, height=height, width="container")
