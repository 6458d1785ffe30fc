"""Kepler: an orbit as the smallest model there is.

Seven numbers are fitted to positions of Mars, tested on later ones and used, beside the same phases of the transformer.
"""
import math
from bisect import bisect
from datetime import datetime, timedelta

import pandas as pd
import streamlit as st
import torch

from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.base.markdown import escaped
from core.components.lib.bytes import pack
from core.components.lib.instrument import instrument
from core.figures.numbers import bracketed, grouped, latex_number, latex_operand, percent, readable
from core.learning import kepler
from core.learning.kepler import Fit, Observations
from core.model import checkpoints
from pages.training.shared import (
    PREFIX,
    attached,
    chart_height,
    choice,
    fraction,
    keep,
    numeric,
    own_seed,
    place_of,
    read,
    side_by_side,
)

LARGER = "stories"              # the transformer that took the steps beside these
KEY = f"{PREFIX}kepler_instrument"
NOISES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
MOVED = ("fit_step", "day")     # settings that the browser changes: the kept step (−1: the last), days after the epoch
EPOCH = datetime(2000, 1, 1, 12)
SAME = 0.1                      # the share by which two errors may differ and count as equal
LIMITS = (2, 21, 1001)          # steps between the options of the question
PHASES = ("architecture", "parameters", "data", "training", "testing", "inference")
# The fit of a planet's orbit: the path over the measurements, the loss over the steps, the error over the years; the
# browser computes every position in float64.
_picture = instrument("kepler_orbit", __file__)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Whether the fit takes one step until nothing improves, some, hundreds or more; asked of the least squares."""
    if read("method") != "lm":
        return None

    def truth(_: int) -> Truth:
        steps = int(fit_of(read("structure"), "lm").steps[-1])
        others = sum(end["step"] for end in checkpoints.training_ends(LARGER))
        return Truth(bisect(LIMITS, steps), said=page.label("n_steps", n=grouped(steps)), values={
            "last": grouped(steps), "others": grouped(others), "larger": LARGER,
            "millions": readable(cache.shared_model(LARGER, "cpu").model.n_parameters / 1e6, 2)})

    return Prediction("kepler", Options([page.label(f"fitted_{i}") for i in range(len(LIMITS) + 1)]), truth,
                      {"n": kepler.STRUCTURES[read("structure")].n_numbers, "measured": read("measured")})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    with side_by_side("bottom", "medium"):
        structure = choice(page, "structure")
        method = choice(page, "method")
        keep(noise=min(NOISES, key=lambda noise: abs(noise - read("noise"))))
        if not reader.present():
            _measuring(page)
    data = observed()
    fit = fit_of(structure, method)
    at = place_of("fit_step", len(fit.steps), len(fit.steps) - 1)
    title = _title(page, fit)
    st.markdown(f"**{title}**")
    header = {"settings": {name: read(name) for name in MOVED}, "fit": _picture_data(fit, data),
              "labels": page.labels("orbit"), "height": chart_height(20 if reader.present() else 42),
              "present": reader.present()}
    _picture(key=KEY, data=pack(header), on_settings=_settled)
    if not reader.present():
        st.markdown(phases(page, run, fit))
    return Reading(_lines(page, fit, at), _question(page),
                   [kepler.eccentric_longitude, kepler.on_ellipse, kepler._levenberg_marquardt, kepler._adam],
                   {"measurements.csv": lambda: measurements(*data), "fit.csv": lambda: steps(fit)}, ".instrument",
                   title, comparison(page))


def _measuring(page: Lesson) -> None:
    """Draw how the positions are measured. Present mode has no room for it."""
    st.select_slider(page.label("noise"), NOISES,
                     format_func=lambda noise: page.label("noise_tycho" if noise == 2 else "noise_value",
                                                          noise=f"{noise:g}"),
                     width=170, help=page.label("noise_help"), **attached("noise"))
    numeric(st.slider, page, "measured", width=150)
    own_seed(page)


def _settled(settings: dict) -> None:
    """Callback: keep the settings of the picture, sent when the hand rests."""
    keep(**{name: settings[name] for name in MOVED if name in settings})


def observed() -> tuple[Observations, Observations]:
    """The fitted and the held-out measurements with the current settings."""
    return kepler.measure(read("measured"), read("noise"), read("seed"))


def fit_of(structure: str, method: str) -> Fit:
    """The fit of a structure to the current measurements, shared by all readers."""
    data = observed()
    return cache.result(("kepler", structure, method, read("measured"), read("noise"), read("seed")),
                        lambda: kepler.fit(structure, method, *data),
                        lambda fit: fit.numbers.nbytes + 3 * fit.steps.nbytes)


def _picture_data(fit: Fit, data: tuple[Observations, Observations]) -> dict:
    """The fit for the picture: its numbers and both errors by step, the planet's numbers, and the measurements.

    "numbers", "steps", "train", "test" are those of Fit; "truth": the planet's seven numbers; "measured" and
    "held_out": [t, x, y, z] each; "trained" and "tested": years; "epoch": a year.
    """
    rows = [torch.column_stack((part.times, part.positions)).tolist() for part in data]
    return {"structure": fit.structure, "truth": kepler.mars().tolist(), "measured": rows[0], "held_out": rows[1],
            "noise": read("noise"), "trained": kepler.TRAINED, "tested": kepler.TESTED, "epoch": EPOCH.year,
            **{name: getattr(fit, name).tolist() for name in ("numbers", "steps", "train", "test")}}


def _title(page: Lesson, fit: Fit) -> str:
    return page.label("kepler_title", structure=page.label(f"structure_{fit.structure}").capitalize(),
                      n=fit.numbers.shape[1], measured=read("measured"), train=readable(fit.train[-1]),
                      test=angle(fit.test[-1]), noise=f"{read('noise'):g}")


def angle(minutes: float) -> str:
    """An error in minutes of arc for a sentence; above half a turn (10800′) only a bound.

    >>> angle(4.4), angle(1e9)
    ('4.4′', '> 10000′')
    """
    return f"{readable(minutes)}′" if minutes < 10_000 else "> 10000′"


def phases(page: Lesson, run: Run, fit: Fit) -> str:
    """The six phases of this planet and of the loaded transformer as a Markdown table."""
    config, record = run.model.config, checkpoints.training_record(run.model_name)
    ends = {row["stage"]: row for row in record}.values()
    held_out = readable(next(iter(record[-1]["held_out"].values()))) if record and record[-1]["held_out"] else "–"
    p, token = run.trace.probs[-1].double().max(dim=-1)
    values = dict(name=escaped(run.title), L=config.n_layers, h=config.n_heads, d=config.d_model,
                  n=grouped(run.model.n_parameters), tokens=f"{sum(row['tokens_seen'] for row in ends) / 1e6:.1f}",
                  steps=sum(row["step"] for row in ends), held_out=held_out, p=percent(float(p)),
                  token=run.tokenizer.visible(int(token)).replace("`", "ˋ").replace("|", "\\|"),
                  measured=read("measured"), noise=f"{read('noise'):g}",
                  trained=f"{kepler.TRAINED:g}", fitted=fit.numbers.shape[1], last=int(fit.steps[-1]),
                  train=readable(fit.train[-1]), test=angle(fit.test[-1]), n_test=kepler.N_TESTED,
                  date=date(read("day")))
    rows = [f"| | {page.label('phase_column_planet')} | "
            f"{page.label('phase_column_model', name=escaped(run.title))} |", "|---|---|---|"]
    for i, phase in enumerate(PHASES, 1):
        kind = "" if phase in ("architecture", "parameters", "inference") else "_known" if record else "_unknown"
        planet = page.label(f"phase_{phase}_{fit.structure if phase == 'architecture' else 'planet'}", **values)
        model = page.label(f"phase_{phase}_model{kind}", **values)
        rows.append(f"| **{i} {page.label(f'phase_{phase}')}** | {planet} | {model} |")
    return "\n".join(rows)


def date(day: int) -> str:
    """The date `day` days after the epoch.

    >>> date(0), date(9831)
    ('1 January 2000', '1 December 2026')
    """
    when = EPOCH + timedelta(days=day)
    return f"{when.day} {when:%B %Y}"


def minutes(value: float, write=latex_number) -> str:
    """An angle in minutes of arc for a formula; in braces, since LaTeX accepts no prime after an exponent.

    >>> minutes(1.5), minutes(2e15)
    ("{1.5000}'", "{2.000000 \\\\cdot 10^{15}}'")
    """
    return f"{{{write(value)}}}'"


def _lines(page: Lesson, fit: Fit, at: int) -> list[tuple[str, str]]:
    n, noise, numbers = 3 * read("measured"), read("noise"), torch.from_numpy(fit.numbers[at])
    lines = [(page.label("numbers_rms", step=fit.steps[at]),
              rf"\sqrt{{\tfrac{{1}}{{{n}}} \sum r^2}} = {minutes(fit.train[at])}, \qquad "
              rf"\text{{{page.label('orbit_test')}:}}\ {minutes(fit.test[at])}")]
    if noise and fit.structure != "polynomial":
        k = len(numbers)
        lines.append((page.label("numbers_left", n=n, k=k),
                      rf"\sigma \sqrt{{1 - {fraction(k, n)}}} = {noise:g}' \cdot "
                      rf"\sqrt{{{latex_operand(1 - k / n)}}} = {minutes(noise * math.sqrt(1 - k / n))}"))
    if fit.structure not in ("ellipse", "equant"):
        return lines
    el, true = kepler.elements(numbers), kepler.elements(kepler.mars())
    if fit.structure == "ellipse":
        lines.append((page.label("numbers_axes", a=latex_number(true.a, 5), b=latex_number(true.b, 5)),
                      rf"a = {latex_operand(el.a)}, \quad b = {latex_operand(el.b)}, \qquad e = \sqrt{{1 - b^2/a^2}} "
                      rf"= {latex_number(el.e)}"))
    lines.append((page.label("numbers_directions", pole=f"{true.pole[0]:.2f}°, {true.pole[1]:.2f}°",
                             perihelion=f"{true.perihelion:.2f}°", longitude=f"{true.longitude:.2f}°"),
                  rf"({latex_number(el.pole[0])}^\circ,\ {latex_number(el.pole[1])}^\circ), \qquad "
                  rf"{latex_number(el.perihelion)}^\circ, \qquad {latex_number(el.longitude)}^\circ"))
    years, off = read("day") / 365.25, 360 * 60 * (1 / el.period - 1 / true.period)
    lines.append(
        (page.label("numbers_period", years=readable(years, 4)),
         rf"360 \cdot 60' \left({fraction(1, latex_number(el.period, 8))} - "
         rf"{fraction(1, latex_number(true.period, 8))}\right) = {minutes(off)}\ \text{{{page.label('a_year')}}},"
         rf" \qquad {latex_operand(years)} \cdot {minutes(off, latex_operand)} = {minutes(years * off)}"))
    return lines + ([_equation(page, el, years)] if fit.structure == "ellipse" else [])


def _equation(page: Lesson, el: kepler.Elements, years: float) -> tuple[str, str]:
    """Kepler's equation on the picked day."""
    turned = math.radians(el.longitude - el.perihelion) + 2 * math.pi * years / el.period
    M = turned % (2 * math.pi)
    E = float(kepler.eccentric_anomaly(torch.tensor(M, dtype=torch.float64), el.e))
    distance = el.a * (1 - el.e * math.cos(E))

    def operand(value: float) -> str:
        return bracketed(latex_operand(value))

    return (page.label("numbers_equation", date=date(read("day"))),
            rf"M = E - e \sin E = {latex_operand(E)} - {latex_operand(el.e)} \cdot {operand(math.sin(E))} = "
            rf"{latex_number(M)}, \qquad r = a\,(1 - e \cos E) = {latex_operand(el.a)}\,(1 - {latex_operand(el.e)} "
            rf"\cdot {operand(math.cos(E))}) = {latex_number(distance)}\ \text{{au}}")


def comparison(page: Lesson) -> pd.DataFrame:
    """Every structure fitted to the same measurements by least squares: its number of parameters, and both errors in
    minutes of arc.
    """
    fits = [fit_of(structure, "lm") for structure in kepler.STRUCTURES]
    return pd.DataFrame([(page.label(f"structure_{fit.structure}"), fit.numbers.shape[1], angle(fit.train[-1]),
                          angle(fit.test[-1])) for fit in fits], columns=page.label("columns_structures").split("|"))


def _question(page: Lesson) -> Question:
    """Ask what brings the ellipse closer to the true places: twice as many measurements, or half the noise. Without
    noise: which structure predicts the held-out data best.
    """
    if not read("noise"):
        errors = {structure: fit_of(structure, "lm").test[-1] for structure in kepler.STRUCTURES}
        names = [page.label(f"structure_{structure}") for structure in errors]
        text = ", ".join(f"{name} {angle(error)}" for name, error in zip(names, errors.values()))
        return page.question("structures", names, list(errors).index(min(errors, key=errors.get)), n=read("measured"),
                             errors=text)
    n, noise = read("measured"), read("noise")
    now, more, finer = (true_error(*given) for given in ((n, noise), (2 * n, noise), (n, noise / 2)))
    answer = 2 if abs(more - finer) <= SAME * max(more, finer) else 0 if more < finer else 1
    return page.question("better", [page.label(f"better_{name}") for name in ("more", "finer", "same")], answer,
                         now=angle(now), more=angle(more), finer=angle(finer))


def true_error(n: int, noise: float) -> float:
    """How far an ellipse fitted to n measurements is from the true places at the times of the held-out ones, rms in
    minutes of arc.
    """
    seed = read("seed")

    def find() -> float:
        train, test = kepler.measure(n, noise, seed)
        true = Observations(test.times, kepler.on_ellipse(kepler.mars(), test.times))
        return kepler.rms("ellipse", kepler.fit("ellipse", "lm", train, test).last, true)

    return cache.result(("kepler error", n, noise, seed), find, lambda _: 8)


def measurements(train: Observations, test: Observations) -> pd.DataFrame:
    """The measurements, a row for each: whether it was held out, the year, and the position in au."""
    return pd.concat([pd.DataFrame(part.positions, columns=["x", "y", "z"]).assign(
        held_out=held_out, year=EPOCH.year + part.times.numpy()) for held_out, part in ((False, train), (True, test))],
        ignore_index=True)[["held_out", "year", "x", "y", "z"]]


def steps(fit: Fit) -> pd.DataFrame:
    """The kept steps of a fit: both errors and the numbers of core.learning.kepler."""
    numbers = pd.DataFrame(fit.numbers, columns=[f"number_{i}" for i in range(fit.numbers.shape[1])])
    return pd.concat([pd.DataFrame({"step": fit.steps, "train": fit.train, "test": fit.test}), numbers], axis=1)
