"""Measured: six small models that differ only in their positions, and the loss of each inside and beyond the trained
length.
"""
import math

import pandas as pd
import streamlit as st

from core.app.frame import Lesson, Question, Reading, cannot, charts, views
from core.app.state import Run, reader
from core.app.state.lesson_settings import Setting, Settings
from core.evaluation import lengths
from core.figures import positions as figures
from core.figures.numbers import grouped, latex_number, latex_operand, written
from core.model import checkpoints
from core.model.config import POSITIONS

PREFIX = "positions_measured"
PICTURE = f".st-key-{PREFIX}_losses"
SETTINGS = Settings(PREFIX, {"scheme": Setting("alibi", options=POSITIONS)})
HEIGHTS = 420, 330        # px, usually and in present mode, which has larger type above and a bar below
LossesByScheme = dict[str, tuple[lengths.Stretch, ...]]


def measured_losses() -> LossesByScheme:
    """The losses by position of the family's models, by scheme, of those that were measured."""
    losses = {scheme: lengths.bundled(f"positions-{scheme}") for scheme in POSITIONS
             if f"positions-{scheme}" in checkpoints.bundled_names()}
    return {scheme: of for scheme, of in losses.items() if of}


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the chart with the picked scheme in bold; return what it shows."""
    losses = measured_losses()
    if not losses:
        return cannot(page.label("measured_none"))
    picked = views.choice(SETTINGS, page, "scheme", tuple(losses))
    trained = checkpoints.bundled_config(f"positions-{picked}").n_context
    inside, beyond = parts(losses[picked], trained)
    table = _table(page, losses)
    st.markdown(f"**{_title(page, picked, inside, beyond, trained)}** {_above(page, table, picked)}")
    titles = (page.label("measured_position"), page.label("measured_nats"), page.label("measured_end", trained=trained))
    charts.draw(f"{PREFIX}_", figures.losses_by_position(table, picked, trained, titles, reader.theme(), reader.scale(),
                                                         HEIGHTS[reader.present()]), "losses")
    return Reading(
        lines=_numbers(page, losses[picked], trained), question=_question(page, losses, trained),
        functions=[lengths.loss_by_position, lengths.stretches],
        data={"losses_by_position.csv": lambda: table.drop(columns="name")},
        title=" ".join(_title(page, scheme, *parts(of, trained), trained) for scheme, of in losses.items()),
        summary={page.label(f"scheme_{picked}"): _change(page, inside, beyond)}, picture=PICTURE)


def parts(of: tuple[lengths.Stretch, ...], trained: int) -> tuple[float, float]:
    """Nats per token inside and beyond the trained length; NaN beyond where the model has no positions there."""
    beyond = [s for s in of if s.first >= trained]
    return lengths.mean([s for s in of if s.last <= trained]), lengths.mean(beyond) if beyond else math.nan


def _change(page: Lesson, inside: float, beyond: float) -> str:
    return f"{inside:.4f} → {page.label('measured_nothing') if math.isnan(beyond) else f'{beyond:.4f}'}"


def _title(page: Lesson, scheme: str, inside: float, beyond: float, trained: int) -> str:
    return page.label("measured_ends" if math.isnan(beyond) else "measured_beyond",
                      scheme=page.label(f"scheme_{scheme}"), inside=f"{inside:.4f}", beyond=f"{beyond:.4f}",
                      difference=written(f"{round(beyond, 4) - round(inside, 4):+.4f}"), trained=trained)


def _above(page: Lesson, table: pd.DataFrame, picked: str) -> str:
    """A sentence on the losses beyond the chart's range."""
    over = table.groupby("name")["nats"].agg(["min", "max"])
    over = over[over["max"] > figures.loss_range(table, picked)[1]]
    return " ".join(page.label("measured_above", name=name, low=f"{row['min']:.1f}", high=f"{row['max']:.1f}")
                    for name, row in over.iterrows())


def _table(page: Lesson, losses: LossesByScheme) -> pd.DataFrame:
    return pd.DataFrame([{"scheme": scheme, "name": page.label(f"scheme_{scheme}"), "first": s.first,
                          "last": s.last, "nats": s.nats_per_token, "tokens": s.n}
                         for scheme, of in losses.items() for s in of])


def _numbers(page: Lesson, of: tuple[lengths.Stretch, ...], trained: int) -> list[tuple[str, str]]:
    inside, beyond = parts(of, trained)
    lines = [(page.label("measured_numbers_inside", trained=trained,
                         n=grouped(sum(s.n for s in of if s.last <= trained))),
              rf"-\frac{{1}}{{n}} \sum \log p = {latex_number(inside)}, \qquad e^{{{latex_operand(inside)}}} = "
              rf"{latex_number(math.exp(inside))}")]
    if math.isnan(beyond):
        return lines
    return [*lines, (page.label("measured_numbers_beyond", trained=trained, last=of[-1].last - 1),
                     rf"{latex_number(beyond)} - {latex_number(inside)} = {latex_number(beyond - inside)}, \qquad "
                     rf"e^{{{latex_operand(beyond)}}} = {latex_number(math.exp(beyond))}")]


def _question(page: Lesson, losses: LossesByScheme, trained: int) -> Question:
    """Which scheme with positions beyond the trained length has the lowest loss there."""
    beyond = {scheme: parts(of, trained)[1] for scheme, of in losses.items()}
    schemes = [scheme for scheme, loss in beyond.items() if not math.isnan(loss)]
    names = [page.label(f"scheme_{scheme}") for scheme in schemes]
    text = ", ".join(page.label("measured_one", scheme=name, beyond=f"{beyond[scheme]:.4f}")
                     for name, scheme in zip(names, schemes))
    return page.question("measured", names, min(range(len(schemes)), key=lambda k: beyond[schemes[k]]), trained=trained,
                         said=text)
