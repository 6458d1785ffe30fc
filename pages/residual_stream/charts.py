"""Charts of one vector in a block, before and after a norm."""
import altair as alt
import numpy as np
import pandas as pd

from core.figures.channels import quantity, tips
from core.figures.numbers import readable
from core.figures.style import colour, framed, layered

# No label for screen readers on each of hundreds of marks, which they would read one after the other: the chart's keys
# read the marks. Writing the labels takes a sixth of the time of a new prompt.
UNTOLD = {"aria": False}


def vector_bars(values: np.ndarray, title: str, axis_title: str, last: bool, theme: str, scale: float,
                height: int) -> alt.LayerChart:
    """A vector's components (d,) as bars, with their mean as a dashed line and mean ± deviation as a band.

    last: the chart is the last of a column, which alone has the labels of the features.
    """
    n, mean, std = len(values), values.mean(), values.std()
    frame = pd.DataFrame({"feature": range(n), "value": values, "shown": [readable(value, 5) for value in values]})
    band = (alt.Chart(pd.DataFrame({"low": [mean - std], "high": [mean + std]}))
            .mark_rect(color=colour("residual", theme), opacity=0.16).encode(
                y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q")))
    line = alt.Chart(pd.DataFrame({"mean": [mean]})).mark_rule(color=colour("text", theme), strokeWidth=1.5 * scale,
                                                               strokeDash=[5, 3]).encode(y=alt.Y("mean:Q", title=None))
    bars = (alt.Chart(frame).mark_bar(**UNTOLD, color=colour("residual", theme, "ink"), size=max(1.0, 700 / n))
            .encode(x=quantity(alt.X, "feature", axis_title if last else None, [-1, n], labels=last, format="d"),
                    y=quantity(alt.Y, "value", None, tickCount=3, format=".3~g", minExtent=52),
                    tooltip=tips(feature=axis_title, shown=" ")))
    return framed(layered(band, bars, line), theme, scale, height=height,
                  title=alt.Title(title, fontSize=13 * scale, offset=2))
