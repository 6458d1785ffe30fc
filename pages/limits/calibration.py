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
from core.app.frame.charts import look
from core.app.state import Run
from core.evaluation import losses
from core.figures.numbers import latex_number, latex_operand, plain_number
from core.training import corpus, teaching_text
from pages.limits import charts as figures
from pages.limits.shared import PREFIX, attached, choice, show

KINDS = ("sentiment", "opposites", "agreement", "copying", "sums", "counting", "summary")
OF_A_KIND = 16             # exercises of each kind
MOST_TOKENS = 2_400        # of the lessons' own pages
TEXTS, TOKENS = 40, 60     # that the model writes for the control
FEW_TEXTS, FEW_TOKENS = 24, 24     # of the question's
SMALL = 0.005              # a mean confidence that is no further from the share right counts as equal, in the question


@dataclass(frozen=True)
class Predictions:
    """The most probable token at each of M positions: its probability (M,), whether it came (M,), both in bins, and the
    errors of chance alone, sorted.
    """

    confidence: np.ndarray
    right: np.ndarray
    calibration: Calibration
    chance: np.ndarray

    @property
    def gap(self) -> float:
        """Mean confidence less share right: above 0, the model promises too much."""
        return float(self.confidence.mean() - self.right.mean())

    @property
    def usual_chance(self) -> float:
        """The error that chance alone stays below 19 times in 20."""
        return float(self.chance[-len(self.chance) // 20])

    @property
    def verdict(self) -> str:
        """What the error says beside that of chance alone: the label's name."""
        if self.calibration.expected_error <= self.usual_chance:
            return "verdict_chance"
        return "verdict_over" if self.gap > 0 else "verdict_under"

    @property
    def n_bytes(self) -> int:
        """What a cache counts it as."""
        return 20 * len(self.right) + 8_000


def predictions(confidence: np.ndarray, right: np.ndarray) -> Predictions:
    """The predictions with their bins and the errors of chance."""
    return Predictions(confidence, right, calibrate(confidence, right), chance_errors(confidence))


def documents(source: str, seed: int, prompt: str) -> list[str]:
    """The texts of one of SOURCES: exercises that training left out, the app's explanations, or the reader's prompt."""
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
        source = choice(page, "source")
        temperature = st.slider(page.label("temperature"), 0.2, 2.0, step=0.1, width=230,
                                help=page.label("temperature_help"), **attached("temperature"))
        seed = st.number_input(page.label("seed"), 0, 999, step=1, width=120, help=page.label("seed_help"),
                               **attached("seed"))
    given, control = _given(run, source, seed), _control(page, run, temperature, seed, TEXTS, TOKENS)
    name = page.label(f"source_{source}")
    title = page.label("calibration_title", source=name, ece=_percent(given.calibration.expected_error),
                       chance=_percent(given.usual_chance), verdict=page.label(given.verdict))
    st.markdown(f"**{title}**")
    left, right = st.container(key=f"{PREFIX}diagrams").columns(2, gap="medium", vertical_alignment="bottom")
    with left:
        _diagram(page, given, "given", source=name)
    with right:
        _diagram(page, control, "control", temperature=f"{temperature:g}")
    return Reading(_lines(page, given), _question(page, run, temperature, seed),
                   [calibrate, chance_errors, losses.own_predictions],
                   {"given.csv": lambda: _table(given), "control.csv": lambda: _table(control)},
                   f".st-key-{PREFIX}diagrams", title, _bins(page, given))


def _diagram(page: Lesson, shown: Predictions, name: str, **values: str) -> None:
    """One reliability diagram over its counts; values: of its caption."""
    calibration = shown.calibration
    titles = page.labels("axis") | {"diagonal": page.label("diagonal"), "right": page.label("column_came")}
    with st.container(gap="xsmall"):
        st.markdown(page.label("ece", caption=page.label(f"caption_{name}", **values), n=calibration.n,
                               ece=_percent(calibration.expected_error), chance=_percent(shown.chance.mean())))
        show(figures.reliability(calibration, titles, **look(190, presenting=160)), name)
        show(figures.counts(calibration, titles, **look(90, presenting=90)), f"{name}_counts")


def _given(run: Run, source: str, seed: int) -> Predictions:
    """The predictions on the first MOST_TOKENS of one of SOURCES."""
    prompt = run.tokenizer.decode(run.own_ids) if source == "prompt" else ""

    def make() -> Predictions:
        texts, room = [], MOST_TOKENS
        for ids in corpus.tokenize(documents(source, seed, prompt), run.tokenizer).documents:
            texts.append(ids[:room])
            room -= len(texts[-1])
            if room <= 0:
                break
        return predictions(*losses.top_predictions(run.loaded.runner, texts))

    return growing_results.made(run.loaded.key("calibration", source, seed * (source == "exercises"), prompt), make,
                                lambda made: made.n_bytes)


def _control(page: Lesson, run: Run, temperature: float, seed: int, n_texts: int, n_tokens: int) -> Predictions:
    """The predictions on texts that the model writes itself."""
    def steps() -> Iterator[Part]:
        parts = []
        for part in losses.own_predictions(run.loaded.runner, n_texts, n_tokens, temperature, seed):
            parts.append(part)
            yield Part(None, len(parts), n_tokens)
        yield Part(predictions(*map(np.concatenate, zip(*parts))), n_tokens, n_tokens)

    return growing_results.result(run.loaded.key("own predictions", temperature, seed, n_texts, n_tokens), steps,
                                  lambda made: made.n_bytes, page.label("writing"))


def _percent(value: float) -> str:
    return f"{plain_number(100 * value, 1)} %"


def _lines(page: Lesson, given: Predictions) -> list[tuple[str, str]]:
    calibration, n = given.calibration, given.calibration.n
    parts = {one: one.count / n * abs(one.share_right - one.confidence) for one in calibration.bins if one.count}
    most = max(parts, key=parts.get)
    return [(page.label("numbers_bin", low=f"{most.low:.1f}", high=f"{most.high:.1f}"),
             rf"\frac{{{most.count}}}{{{n}}} \cdot \left| \frac{{{round(most.count * most.share_right)}}}"
             rf"{{{most.count}}} - {latex_operand(most.confidence)} \right| = {latex_number(parts[most])}"),
            (page.label("numbers_ece"),
             rf"\mathrm{{ECE}} = {' + '.join(latex_number(part, 6) for part in parts.values())} = "
             rf"{latex_number(calibration.expected_error)}"),
            (page.label("numbers_gap"),
             rf"\frac{{{int(given.right.sum())}}}{{{n}}} - {latex_operand(given.confidence.mean())} = "
             rf"{latex_number(-given.gap)}"),
            (page.label("numbers_chance", n=len(given.chance)),
             rf"\overline{{\mathrm{{ECE}}}}_{{\mathrm{{chance}}}} = {latex_number(given.chance.mean())}")]


def _question(page: Lesson, run: Run, temperature: float, seed: int) -> Question:
    """Which way the model is wrong about a text that was drawn at another temperature."""
    other = 0.5 if temperature >= 1 else 2.0
    asked = _control(page, run, other, seed, FEW_TEXTS, FEW_TOKENS)
    answer = 2 if abs(asked.gap) < SMALL else 0 if asked.gap > 0 else 1
    return Question(f"temperature_{other:g}", page.label("question_temperature", temperature=f"{other:g}"),
                    [page.label(f"question_temperature_{k}") for k in range(3)], answer,
                    page.label("because_temperature", said=_percent(asked.confidence.mean()),
                               came=_percent(asked.right.mean()), temperature=f"{other:g}"))


def _bins(page: Lesson, given: Predictions) -> pd.DataFrame:
    rows = [(figures.bin_name(one), one.count, plain_number(one.confidence), plain_number(one.share_right))
            for one in given.calibration.bins]
    return page.table(rows, "bin", "count", "said", "share")


def _table(shown: Predictions) -> pd.DataFrame:
    return pd.DataFrame({"probability_of_the_top_token": shown.confidence, "it_came": shown.right})
