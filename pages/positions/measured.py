"""Measured: six small models that differ only in their positions, and the loss of each inside and beyond the trained
length.
"""
import math

import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot, views
from core.app.parts import charts
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
# how the schemes tell the order, which is what the question offers
WAYS = {"nothing": ("none",), "vectors": ("sinusoidal", "learned"), "scores": ("rotary", "alibi", "relative")}
HEIGHTS = 420, 330        # px, usually and in present mode, which has larger type above and a bar below
LossesByScheme = dict[str, tuple[lengths.Stretch, ...]]


def measured_losses() -> LossesByScheme:
    """The losses by position of the family's models, by scheme, of those that were measured."""
    losses = {scheme: lengths.bundled(f"positions-{scheme}") for scheme in POSITIONS
             if f"positions-{scheme}" in checkpoints.bundled_names()}
    return {scheme: of for scheme, of in losses.items() if of}


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which scheme has the highest loss in the trained length."""
    losses = measured_losses()
    if len(losses) < 3 or "none" not in losses:
        return None
    trained = checkpoints.bundled_config("positions-none").n_context

    def truth(guess: int) -> Truth:
        inside = {scheme: parts(of, trained)[0] for scheme, of in losses.items()}
        worst = max(inside, key=inside.get)
        values = {"worst": page.label(f"scheme_{worst}"), "loss": f"{inside[worst]:.2f}",
                  "none": f"{inside['none']:.2f}"}
        all_go_on = not any(math.isnan(parts(of, trained)[1]) for of in losses.values())
        at = next(n for n, schemes in enumerate(WAYS.values()) if worst in schemes)
        return Truth(at, values, said=page.label(f"scheme_{worst}"), seen=int(all_go_on))

    return Prediction("measured", Options([page.label(f"before_measured_{way}") for way in WAYS]), truth,
                      {"trained": trained, "models": len(losses)})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the chart with the picked scheme in bold; return what it shows."""
    losses = measured_losses()
    if not losses:
        return cannot(page.label("measured_none"))
    picked = views.choice(SETTINGS, page, "scheme", tuple(losses))
    trained = checkpoints.bundled_config(f"positions-{picked}").n_context
    inside, beyond = parts(losses[picked], trained)
    table = _table(page, losses)
    st.markdown(f"**{_title(page, picked, inside, beyond, trained)}** {_mask_alone(page, losses, picked, trained)} "
                f"{_above(page, table, picked)}")
    titles = (page.label("measured_position"), page.label("measured_nats"), page.label("measured_end", trained=trained))
    charts.draw_spec(f"{PREFIX}_", "losses", *figures.losses_by_position(
        table, picked, trained, titles, charts.reader_look(), HEIGHTS[reader.present()]))
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
                      difference=written(f"{_rounded_change(inside, beyond):+.4f}"), trained=trained)


def _mask_alone(page: Lesson, losses: LossesByScheme, picked: str, trained: int) -> str:
    """The loss of the model without positions above the best inside the trained length, and below the worst."""
    inside = {scheme: parts(of, trained)[0] for scheme, of in losses.items()}
    best, worst = min(inside, key=inside.get), max(inside, key=inside.get)
    if picked != "none" or picked in (best, worst):
        return ""
    return page.label("measured_mask", gap=f"{inside[picked] - inside[best]:.2f}", best=page.label(f"scheme_{best}"),
                      under=f"{inside[worst] - inside[picked]:.2f}", worst=page.label(f"scheme_{worst}"))


def _rounded_change(inside: float, beyond: float) -> float:
    """The difference of the two losses as they are written, so that a reader gets the same."""
    return round(beyond, 4) - round(inside, 4)


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
    change = latex_number(_rounded_change(inside, beyond))
    return [*lines, (page.label("measured_numbers_beyond", trained=trained, last=of[-1].last - 1),
                     rf"{latex_number(beyond)} - {latex_number(inside)} = {change}, \qquad "
                     rf"e^{{{latex_operand(beyond)}}} = {latex_number(math.exp(beyond))}")]


def _question(page: Lesson, losses: LossesByScheme, trained: int) -> Question | None:
    """How many times as large the perplexity of one scheme is beyond the trained length as that of another."""
    if not {"rotary", "alibi"} <= set(losses):
        return None
    a, b = (parts(losses[scheme], trained)[1] for scheme in ("rotary", "alibi"))
    options = sorted({round(factor, 2) for factor in (math.exp(a - b), a / b, a - b, math.exp(a) / b)})
    return page.question("measured", [page.label("measured_option", factor=f"{factor:.2f}") for factor in options],
                         options.index(round(math.exp(a - b), 2)), trained=trained, rotary=f"{a:.4f}", alibi=f"{b:.4f}",
                         difference=f"{round(a, 4) - round(b, 4):.4f}", factor=f"{math.exp(a - b):.2f}")
