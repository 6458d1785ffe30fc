"""Calibration: of the tokens that were given 80 %, how many came true; on a text that the model never read, and on its
own writing as the control.
"""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.statistics import Calibration, calibrate, chance_errors
from core.app.base import prose
from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.evaluation import losses
from core.figures.numbers import latex_number, latex_operand, plain_number
from core.training import corpus, teaching_text
from pages.limits import charts as figures
from pages.limits.shared import PREFIX, attached, chart_height, choice, read, show

KINDS = ("sentiment", "opposites", "agreement", "copying", "sums", "counting", "summary")
OF_A_KIND = 16             # exercises of each kind
MOST_TOKENS = 2_400        # of the lessons' own pages
TEXTS, TOKENS = 40, 60     # that the model writes for the control
FEW_TEXTS, FEW_TOKENS = 24, 24     # of the question's
SMALL = 0.005              # a mean confidence that is no further from the share right counts as equal, in the question


@dataclass(frozen=True)
class Measured:
    """The most probable token at every position: its probability (M,) and whether it came (M,), in bins, and the errors
    of chance alone.
    """

    confidence: np.ndarray
    right: np.ndarray
    found: Calibration
    chance: np.ndarray

    @property
    def gap(self) -> float:
        """Mean confidence less share right: above 0, the model promises too much."""
        return float(self.confidence.mean() - self.right.mean())


def measured(confidence: np.ndarray, right: np.ndarray) -> Measured:
    """The same with bins and chance."""
    return Measured(confidence, right, calibrate(confidence, right), chance_errors(confidence))


def documents(source: str, seed: int, prompt: str) -> list[str]:
    """The texts of one of SOURCES: exercises that training left out, the explanations of this app, or the
    reader's prompt.
    """
    if source == "exercises":
        return [exercise.text for kind in KINDS for exercise in teaching_text.held_out(kind, OF_A_KIND, seed)]
    if source == "pages":
        names = sorted(path.stem for path in (prose.FOLDER / prose.LANGUAGE).glob("*.md"))
        return [body.replace("*", "").replace("`", "").replace("$", "") for name in names
                for key, body in prose.load(name).sections.items() if key.startswith("explanation")]
    return [prompt]


def draw(page: Lesson, run: Run) -> Reading:
    """Both diagrams; returns what they show."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        choice(page, "source")
        st.slider(page.label("temperature"), 0.2, 2.0, step=0.1, width=230, help=page.label("temperature_help"),
                  **attached("temperature"))
        st.number_input(page.label("seed"), 0, 999, step=1, width=120, help=page.label("seed_help"), **attached("seed"))
    source, temperature, seed = read("source"), read("temperature"), read("seed")
    given, control = _given(page, run, source, seed), _control(page, run, temperature, seed, TEXTS, TOKENS)
    title = page.label("calibration_title", source=page.label(f"source_{source}"),
                       ece=_percent(given.found.expected_error),
                       chance=_percent(float(given.chance[-len(given.chance) // 20])),
                       verdict=page.label(_verdict(given)))
    st.markdown(f"**{title}**")
    titles, names = (tuple(page.label(f"axis_{name}") for name in ("said", "came", "count")),
                     (page.label("diagonal"), page.label("column_came")))
    columns = st.container(key=f"{PREFIX}diagrams").columns(2, gap="medium", vertical_alignment="bottom")
    for column, name, one, caption in zip(columns, ("given", "control"), (given, control),
                                          (page.label("caption_given", source=page.label(f"source_{source}")),
                                           page.label("caption_control", temperature=f"{temperature:g}"))):
        with column.container(gap="xsmall"):
            st.markdown(page.label("ece", caption=caption, n=one.found.n, ece=_percent(one.found.expected_error),
                                   chance=_percent(float(one.chance.mean()))))
            show(figures.reliability(one.found, titles[:2], names, reader.theme(), reader.scale(),
                                     chart_height(160, presenting=320)), name)
            show(figures.counts(one.found, titles[::2], reader.theme(), reader.scale(),
                                chart_height(260, presenting=350)), f"{name}_counts")
    return Reading(_lines(page, given), _question(page, run, temperature, seed),
                   [calibrate, chance_errors, losses.own_predictions],
                   {"given.csv": lambda: _table(given), "control.csv": lambda: _table(control)},
                   f".st-key-{PREFIX}diagrams", title, _bins(page, given))


def _given(page: Lesson, run: Run, source: str, seed: int) -> Measured:
    prompt = run.tokenizer.decode(run.own_ids) if source == "prompt" else ""

    def make() -> Measured:
        found, room = [], MOST_TOKENS
        for ids in corpus.tokenize(documents(source, seed, prompt), run.tokenizer).documents:
            found.append(ids[:room])
            room -= len(found[-1])
            if room <= 0:
                break
        return measured(*losses.top_predictions(run.loaded.runner, found))

    return growing_results.made(run.loaded.key("calibration", source, seed * (source == "exercises"), prompt), make,
                                lambda made: 20 * len(made.right) + 8_000)


def _control(page: Lesson, run: Run, temperature: float, seed: int, n_texts: int, n_tokens: int) -> Measured:
    """The model's opinion of texts that it writes itself."""
    def steps() -> Iterator[Part]:
        parts = []
        for part in losses.own_predictions(run.loaded.runner, n_texts, n_tokens, temperature, seed):
            parts.append(part)
            yield Part(None, len(parts), n_tokens)
        yield Part(measured(*map(np.concatenate, zip(*parts))), n_tokens, n_tokens)

    return growing_results.result(run.loaded.key("own predictions", temperature, seed, n_texts, n_tokens), steps,
                                  lambda made: 20 * len(made.right) + 8_000, page.label("writing"))


def _percent(value: float) -> str:
    return f"{plain_number(100 * value, 1)} %"


def _verdict(one: Measured) -> str:
    """What the error says beside that of chance alone: the label's name."""
    if one.found.expected_error <= one.chance[-len(one.chance) // 20]:
        return "verdict_chance"
    return "verdict_over" if one.gap > 0 else "verdict_under"


def _lines(page: Lesson, given: Measured) -> list[tuple[str, str]]:
    n, full = given.found.n, [one for one in given.found.bins if one.count]
    largest = max(full, key=lambda one: one.count * abs(one.share_right - one.confidence))
    part = largest.count / n * abs(largest.share_right - largest.confidence)
    right = round(largest.count * largest.share_right)
    terms = " + ".join(latex_number(one.count / n * abs(one.share_right - one.confidence), 6) for one in full)
    return [(page.label("numbers_bin", low=f"{largest.low:.1f}", high=f"{largest.high:.1f}"),
             rf"\frac{{{largest.count}}}{{{n}}} \cdot \left| \frac{{{right}}}{{{largest.count}}} - "
             rf"{latex_operand(largest.confidence)} \right| = {latex_number(part)}"),
            (page.label("numbers_ece"), rf"\mathrm{{ECE}} = {terms} = {latex_number(given.found.expected_error)}"),
            (page.label("numbers_gap"),
             rf"\frac{{{int(given.right.sum())}}}{{{n}}} - {latex_operand(float(given.confidence.mean()))} = "
             rf"{latex_number(-given.gap)}"),
            (page.label("numbers_chance", n=len(given.chance)),
             rf"\overline{{\mathrm{{ECE}}}}_{{\mathrm{{chance}}}} = {latex_number(float(given.chance.mean()))}")]


def _question(page: Lesson, run: Run, temperature: float, seed: int) -> Question:
    """Which way the model is wrong about a text that was drawn at another temperature."""
    other = 0.5 if temperature >= 1 else 2.0
    asked = _control(page, run, other, seed, FEW_TEXTS, FEW_TOKENS)
    answer = 2 if abs(asked.gap) < SMALL else 0 if asked.gap > 0 else 1
    return Question(f"temperature_{other:g}", page.label("question_temperature", temperature=f"{other:g}"),
                    [page.label(f"question_temperature_{k}") for k in range(3)], answer,
                    page.label("because_temperature", said=_percent(float(asked.confidence.mean())),
                               came=_percent(float(asked.right.mean())), temperature=f"{other:g}"))


def _bins(page: Lesson, one: Measured) -> pd.DataFrame:
    rows = [(f"{b.low:.1f} – {b.high:.1f}", b.count, plain_number(b.confidence), plain_number(b.share_right))
            for b in one.found.bins]
    return page.table(rows, "bin", "count", "said", "share")


def _table(one: Measured) -> pd.DataFrame:
    return pd.DataFrame({"probability_of_the_top_token": one.confidence, "it_came": one.right})
