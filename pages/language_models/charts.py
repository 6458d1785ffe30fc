"""Charts of the lesson Language models: all orders of some words by rank; log-odds over the length of the prompt; a
probability for each letter of a text. Each function takes arrays and labels, and returns an altair chart.
"""
import json
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.figures.channels import kinds, quantity, tips
from core.figures.numbers import percent, readable
from core.figures.style import MONO, colour, overlaid


def ranked_orders(texts: Sequence[str], log_probs: np.ndarray, picked: int, titles: tuple[str, str], theme: str,
                  scale: float, height: int) -> alt.LayerChart:
    """ln p of every order of the words, most probable first; the order `picked` is a large filled mark, and it, the
    first and the last are named.

    titles: of the axes rank and ln p.
    """
    ranking = np.argsort(-np.asarray(log_probs), kind="stable")
    frame = pd.DataFrame({"rank": range(1, len(texts) + 1), "text": [texts[i] for i in ranking],
                          "value": np.asarray(log_probs)[ranking], "picked": [bool(i == picked) for i in ranking]})
    frame["shown"] = [readable(value, 4) for value in frame["value"]]
    x = quantity(alt.X, "rank", titles[0], [0, len(texts) + 1], tickMinStep=1, tickCount=6)
    y = alt.Y("value:Q", title=titles[1], scale=alt.Scale(zero=False, nice=False),
              axis=alt.Axis(grid=True, tickCount=5))
    base = alt.Chart(frame).encode(x=x, y=y, tooltip=tips(rank=titles[0], text=" ", shown=titles[1]))
    points = base.mark_point(filled=True, opacity=1).encode(
        color=kinds(alt.Color, "picked", {False: colour("excluded", theme), True: colour("kept", theme)}),
        size=kinds(alt.Size, "picked", {False: 34 * scale, True: 150 * scale}))
    return overlaid([_room(frame, y, scale), points, *_names(frame, x, y, theme, scale)], theme, scale, height)


def _room(frame: pd.DataFrame, y: alt.Y, scale: float) -> alt.Chart:
    """Invisible marks a little above and below the values, so that names, of type that is `scale` times as large, have
    room: a padding of the scale would not change the axis when the data change in place.
    """
    low, high = float(frame["value"].min()), float(frame["value"].max())
    room = 0.1 * scale * (high - low) or 1.0
    return alt.Chart(pd.DataFrame({"value": [low - room, high + room]})).mark_point(opacity=0).encode(y=y)


def _names(frame: pd.DataFrame, x: alt.X, y: alt.Y, theme: str, scale: float) -> list[alt.Chart]:
    """The names of points, beside the falling row of them: in its first third to the right and above, in its last to
    the left and below, between them above the point; the picked one is bold.
    """
    named = frame[(frame.index == 0) | (frame.index == len(frame) - 1) | frame["picked"]]
    third = pd.Series(3 * named.index // len(frame), named.index)
    rows = []
    for number, (align, dx, dy) in enumerate((("left", 11, -10), ("center", 0, -16), ("right", -11, 10))):
        part = named[third == number]
        for picked in (False, True):
            mark = dict(align=align, dx=dx * scale, dy=dy * scale, font=MONO, fontSize=12 * scale,
                        fontWeight=700 if picked else 400, color=colour("text" if picked else "muted", theme))
            marks = alt.Chart(part[part["picked"] == picked]).mark_text(**mark)
            rows.append(marks.encode(x=x, y=y, text=alt.Text("text:N")))
    return rows


def _named_places(names: Sequence[str], **labels) -> alt.X:
    """The axis of the places "0", "1", …, each with its name, which may occur more than once."""
    names = json.dumps(list(names), ensure_ascii=False)
    return alt.X("place:N", sort=None, title=None,
                 axis=alt.Axis(labelExpr=f"{names}[toNumber(datum.value)]", labelFont=MONO, **labels))


def odds_line(tokens: Sequence[str], odds: np.ndarray, titles: tuple[str, str], guess: tuple[int, str] | None,
              theme: str, scale: float, height: int) -> alt.LayerChart:
    """The log-odds of two texts after the prompt from each token on, in the prompt's order; above zero the first text
    is more probable.

    titles: of the axis of the odds, and of the token in the tooltip. guess: the token that the reader guessed, and what
    names it.
    """
    frame = pd.DataFrame({"place": list(map(str, range(len(tokens)))), "token": list(tokens),
                          "odds": np.asarray(odds, float), "shown": [readable(value, 4) for value in odds]})
    x = _named_places(tokens, labelAngle=-45, labelOverlap=False, labelLimit=90 * scale)
    y = quantity(alt.Y, "odds", titles[0], grid=True, tickCount=5)
    base = alt.Chart(frame).encode(x=x, tooltip=tips(token=titles[1], shown=titles[0]))
    ink = colour("kept", theme, "ink")
    zero = (alt.Chart(pd.DataFrame({"zero": [0.0]})).mark_rule(color=colour("text", theme), strokeWidth=1.5 * scale)
            .encode(y=alt.Y("zero:Q", title=titles[0])))
    layers = [zero, base.mark_line(color=ink, strokeWidth=2 * scale).encode(y=y),
              base.mark_point(filled=True, opacity=1, size=45 * scale, color=ink).encode(y=y)]
    if guess is not None:
        layers += _guessed(*guess, x, len(tokens), theme, scale)
    return overlaid(layers, theme, scale, height)


def _guessed(at: int, name: str, x: alt.X, n: int, theme: str, scale: float) -> list[alt.Chart]:
    """A dashed upright line at the place of n that the reader guessed, and its name."""
    ink = colour("accent", theme, "ink")
    base = alt.Chart(pd.DataFrame({"place": [str(at)], "name": [name]})).encode(x=x)
    side = dict(align="right", dx=-5) if at > n / 2 else dict(align="left", dx=5)
    return [base.mark_rule(strokeDash=[5, 4], strokeWidth=2 * scale, color=ink),
            base.mark_text(y=6, fontWeight="bold", fontSize=12 * scale, color=ink, **side).encode(text="name:N")]


def letter_bars(text: str, mass: np.ndarray, title: str, theme: str, scale: float, height: int) -> alt.LayerChart:
    """A bar with the probability of each letter of a text, in its order; those above 0.01 have their number."""
    frame = pd.DataFrame({"place": list(map(str, range(len(text)))), "letter": list(text),
                          "p": np.asarray(mass, float)})
    frame["shown"] = [percent(p, 0) if p > 0.01 else "" for p in frame["p"]]
    frame["exact"] = [percent(p) for p in frame["p"]]
    x = _named_places(text.replace(" ", "·"), labelAngle=0, labelOverlap=False, labelPadding=3)
    y = quantity(alt.Y, "p", title, [0, 1.08], grid=True, values=[0, 0.5, 1], format="~g")
    base = alt.Chart(frame).encode(x=x, y=y, tooltip=tips(letter=" ", exact=title))
    numbers = base.mark_text(dy=-8 * scale, fontSize=12 * scale, color=colour("text", theme))
    return overlaid([base.mark_bar(color=colour("kept", theme)), numbers.encode(text=alt.Text("shown:N"))], theme,
                    scale, height)
