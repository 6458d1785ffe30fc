"""The names of the points of a scatter: over or under its point, where it covers no other name, or nowhere."""
import functools
from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd

from core.figures.style import haloed

# width and height in pixels of the plot on a phone and on a small laptop
PLOTS = {"narrow": (290, 210), "wide": (900, 210)}
ROOMY = 620             # pixels of width from which a plot is wide
NAME = (6.4, 15)        # pixels of a letter and of a line at the size of the names
MARK = 11               # pixels between the centres of a name and of a point that do not touch
SIDES = {"over": -12, "under": 19}      # pixels from a point to its name


@functools.lru_cache(maxsize=64)        # every rerun has the same points
def name_sides(x: tuple[float, ...], y: tuple[float, ...], names: tuple[str, ...],
               plot: tuple[float, float] = PLOTS["narrow"], modest: tuple[bool, ...] = ()) -> list[str]:
    """The sides of names of points in a plot of this size in pixels: "over" or "under" the point, where fewer points
    are, or "" if both overlap another name or the axis. The points are in any units, and in the order of their rank.
    modest: whether a name covers no point at all, by default none.

    >>> name_sides((0, 1, 1.1, 1.15), (0, 1, 1.02, 1.01), ("first", "second", "third", "fourth"))
    ['over', 'over', 'under', '']
    >>> name_sides((0, 0.01, 0, 1), (0, 0.06, 0.1, 1), ("a", "", "", "b"), modest=(True,) * 4)
    ['', '', '', 'over']
    """
    right, up = ((np.asarray(values, float) - min(values)) / max(np.ptp(values), 1e-9) * pixels
                 for values, pixels in zip((x, y), plot))
    sides, taken = [], []
    for i, name in enumerate(names):
        half, heights = NAME[0] * len(name) / 2, {side: up[i] - dy for side, dy in SIDES.items()}
        covered = {side: int(((np.abs(right - right[i]) < half) & (np.abs(up - height) < MARK)).sum())
                   for side, height in heights.items()}
        free = [side for side, height in heights.items()
                if name and height > 0 and not (modest and modest[i] and covered[side])
                and not any(abs(right[i] - at) < half + other and abs(height - level) < NAME[1]
                            for at, level, other in taken)]
        sides.append(min(free, key=covered.get, default=""))
        taken += [(right[i], heights[side], half) for side in sides[-1:] if side]
    return sides


def plots_of(height: float | None = None, scale: float = 1.0) -> dict[str, tuple[float, float]]:
    """PLOTS of another height in pixels, and as narrow as they are for names that are `scale` times as large.

    >>> plots_of(scale=2.0)["wide"], plots_of(100)["narrow"]
    ((450.0, 105.0), (290.0, 100.0))
    """
    return {kind: (width / scale, (height or usual) / scale) for kind, (width, usual) in PLOTS.items()}


def placed(rows: pd.DataFrame, x: pd.Series, y: pd.Series, rank: pd.Series | None = None,
           plots: Mapping[str, tuple[float, float]] = PLOTS) -> pd.DataFrame:
    """The rows (name, named: whether to write it, and perhaps modest: whether it may cover no point) with the side of
    each name in both plots. x, y: the places as the axes show them; rank: the largest chooses its place first; by
    default the highest point. plots: those of `plots_of`, for a plot of another height or for larger names.

    >>> rows = pd.DataFrame({"name": list("abc"), "named": True, "x": [1.0, 1.0, 0.0], "y": [1.0, 1.0, 0.0]})
    >>> placed(rows, rows.x, rows.y, pd.Series([1, 2, 3])).narrow.tolist()
    ['under', 'over', 'over']
    """
    ranked = (y if rank is None else rank).sort_values(ascending=False).index
    points = tuple(tuple(values[ranked]) for values in (x, y, rows["name"].where(rows["named"], "")))
    modest = tuple(rows["modest"][ranked]) if "modest" in rows else ()
    return rows.assign(**{kind: pd.Series(name_sides(*points, plot, modest), ranked) for kind, plot in plots.items()})


def names_of(base: alt.Chart, theme: str, scale: float, **look) -> list:
    """The halo below the names of `placed` rows, and the names. look: further options of `mark_text`."""
    side = f"(width < {ROOMY} ? datum.narrow : datum.wide)"
    look |= dict(dy=alt.ExprRef(f"{side} == 'under' ? {scale * SIDES['under']} : {scale * SIDES['over']}"),
                 opacity=alt.ExprRef(f"{side} ? 1 : 0"), fontSize=12 * scale)
    return haloed(base.transform_filter("datum.named").encode(text=alt.Text("name:N")), theme, **look)
