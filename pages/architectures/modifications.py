"""Modifications of the transformer on one small task: every seed a dot, and the baseline's own spread as a band."""
import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Question, Reading, job_controls
from core.app.state import reader
from core.figures.numbers import grouped, latex_number, latex_operand, readable
from core.learning import modifications as measured
from core.learning.modifications import BASELINE, VARIANTS, spread, t_value
from core.learning.variants import Trial, Variant
from pages.architectures import charts as figures
from pages.architectures.shared import PREFIX, attached, read, show

CHART, PRESENT_CHART = 375, 344      # px
WIDE = 2.0                           # standard deviations of the baseline's band, on either side
OWN = f"{PREFIX}own_trials"          # of the session: variant -> the losses of the seeds that the reader has trained
FIRST_OWN = 100                      # the first seed of those


def draw(page: Lesson) -> Reading:
    """Draw the instrument and return what it shows."""
    picked = read("modification")
    own = st.session_state.setdefault(OWN, {})
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.selectbox(page.label("modification"), list(VARIANTS), width=300, label_visibility="collapsed",
                     format_func=lambda name: page.label(f"modification_{name}"), **attached("modification"))
        key = ("modification", picked, len(own.get(picked, ())))
        running = job_controls.training_controls(page, key, "modification_train", lambda: _one_more(own, picked))
    job_controls.follow(page, key, running, lambda records: _picture(page, own, records), measured.STEPS // 10 + 1)
    losses = seeds_of(own)
    return Reading(_lines(page, losses, picked), _question(page), [Variant.build, Trial.run, t_value],
                   {"modifications.csv": lambda: pd.DataFrame([(name, loss) for name, found in losses.items()
                                                               for loss in found], columns=["variant", "loss"])},
                   f".st-key-{PREFIX}modifications", _title(page), paper(page), explanation="record_modifications")


def _one_more(own: dict[str, list[float]], variant: str):
    """Train one more seed of a variant; its loss is kept at the end. Yield (step, loss) pairs."""
    trial = measured.trial(variant, FIRST_OWN + len(own.get(variant, ())))
    yield from trial.run(measured.STEPS, 10)
    own.setdefault(variant, []).append(trial.history[-1][1])


def seeds_of(own: dict[str, list[float]]) -> dict[str, list[float]]:
    """The losses by variant: the recorded seeds and the reader's."""
    return {name: [*losses, *own.get(name, ())] for name, losses in measured.recorded().items()}


def band() -> tuple[float, float]:
    """The mean of the baseline's seeds ± WIDE standard deviations."""
    mean, deviation = spread(measured.recorded()[BASELINE])
    return mean - WIDE * deviation, mean + WIDE * deviation


def outside() -> tuple[list[str], list[str]]:
    """The variants whose mean is below the band of the baseline, and those whose mean is above it."""
    low, high = band()
    means = {name: spread(losses)[0] for name, losses in measured.recorded().items() if name != BASELINE}
    return [name for name in means if means[name] < low], [name for name in means if means[name] > high]


def _title(page: Lesson) -> str:
    better, worse = outside()
    inside = len(VARIANTS) - 1 - len(better) - len(worse)
    return page.label("title_modifications", n=len(VARIANTS) - 1, inside=inside, better=len(better), worse=len(worse))


def _picture(page: Lesson, own: dict[str, list[float]], records: list[tuple[int, float]]) -> None:
    st.markdown(f"**{_title(page)}**")
    if records and records[-1][0] < measured.STEPS:
        st.caption(page.label("modification_running", step=records[-1][0], all=measured.STEPS,
                              loss=readable(records[-1][1])))
    names = {name: page.label(f"modification_{name}") for name in VARIANTS}
    rows = pd.DataFrame([(names[name], loss, "recorded", readable(loss)) for name, losses
                         in measured.recorded().items() for loss in losses]
                        + [(names[name], loss, "own", readable(loss)) for name, losses in own.items()
                           for loss in losses], columns=["variant", "loss", "kind", "shown"])
    means = {names[name]: spread(losses)[0] for name, losses in measured.recorded().items()}
    show("modifications", figures.seeds, rows, means, band(), names[BASELINE],
         (page.label("axis_modifications"), page.label("modification_band")),
         height=PRESENT_CHART if reader.present() else CHART)


def _lines(page: Lesson, losses: dict[str, list[float]], picked: str) -> list[tuple[str, str]]:
    base = losses[BASELINE]
    mean, deviation = spread(base)
    low, high = band()
    lines = [(page.label("numbers_modification_band", n=len(measured.recorded()[BASELINE])),
              rf"\mu_0 \pm 2\sigma_0: \quad {latex_number(low)} \dots {latex_number(high)}")]
    variant = picked if picked != BASELINE else next(name for name in VARIANTS if name != BASELINE)
    own_mean, own_deviation = spread(losses[variant])
    lines.append((page.label("numbers_modification_t", name=page.label(f"modification_{variant}")),
                  rf"t = \frac{{\mu - \mu_0}}{{\sqrt{{\sigma^2/{len(losses[variant])} + \sigma_0^2/{len(base)}}}}} = "
                  rf"\frac{{{latex_operand(own_mean)} - {latex_operand(mean)}}}{{\sqrt{{"
                  rf"{latex_operand(own_deviation)}^2/{len(losses[variant])} + {latex_operand(deviation)}^2/"
                  rf"{len(base)}}}}} = {latex_number(t_value(losses[variant], base))}"))
    lines.append((page.label("numbers_modification_weights", name=page.label(f"modification_{variant}")),
                  rf"{grouped(measured.parameters(variant))} : {grouped(measured.parameters(BASELINE))}"
                  .replace(",", "{,}")))
    return lines


def _question(page: Lesson) -> Question:
    """How many modifications would look better if each were run once, with one seed, against the baseline's worst."""
    recorded = measured.recorded()
    worst = max(recorded[BASELINE])
    answer = sum(losses[0] < worst for name, losses in recorded.items() if name != BASELINE)
    options = sorted({answer, len(outside()[0]), (len(VARIANTS) - 1) // 2, len(VARIANTS) - 1})
    return page.question("modifications", [str(value) for value in options], options.index(answer),
                         n=len(VARIANTS) - 1, answer=answer, better=len(outside()[0]), worst=readable(worst))


def paper(page: Lesson) -> pd.DataFrame:
    """The changes tried by Narang et al., by area."""
    rows = [row.split(" | ") for row in page.text("narang").strip().splitlines()]
    return pd.DataFrame(rows, columns=page.label("columns_narang").split("|"))
