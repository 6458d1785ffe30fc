"""Calibration: how many of the tokens with a probability of 80 % came true, on a text that the model never read and, as
the control, on its own samples.
"""
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.statistics import Calibration, calibrate, chance_errors
from core.app.compute import cache, growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.parts.charts import look
from core.app.state import Run, reader
from core.base import prose
from core.evaluation import losses
from core.figures.numbers import latex_number, latex_operand, percent, plain_number, readable
from core.model.tokenizer import Tokenizer
from core.training import corpus, teaching_text
from pages.limits import charts as figures
from pages.limits.shared import PREFIX, attached, choice, met_teaching, own_seed, read, say_sample, show, step_of

KINDS = ("sentiment", "opposites", "agreement", "copying", "sums", "counting", "summary")
N_EACH = 16             # exercises of each kind
SURE = 0.8              # the probability from which on a token counts, in the question before the picture
CLOSE = 0.02            # shares no further than this from the stated one count as equal to it
MOST_TOKENS = 2_400        # read of a source
TEXTS, TOKENS = 40, 60     # samples of the control, and tokens of each
FEW_TEXTS, FEW_TOKENS = 24, 24     # the same for the question
ALL = MOST_TOKENS + TEXTS * TOKENS + FEW_TEXTS * FEW_TOKENS        # tokens
PRESENTED = 275            # px of a chart on a projector
LEAST_TOKENS = 12          # of a text of a large model
SMALL = 0.005              # in the question, a smaller gap between mean confidence and share right counts as none


@dataclass(frozen=True)
class Predictions:
    """The most probable token at each of M positions: its probability (M,), whether it came (M,) bool, the calibration
    of both, and the sorted errors under perfect calibration.
    """

    confidence: np.ndarray
    right: np.ndarray
    calibration: Calibration
    chance: np.ndarray
    log_loss: float         # the mean of −ln p of the tokens that came, in nats; NaN if it was not taken

    @property
    def gap(self) -> float:
        """Mean confidence less share right: above 0 the model is overconfident."""
        return float(self.confidence.mean() - self.right.mean())

    @property
    def usual_chance(self) -> float:
        """The 95 % quantile of the error under perfect calibration."""
        return float(self.chance[-len(self.chance) // 20])

    @property
    def verdict(self) -> str:
        """The name of the label that compares the error with chance: "verdict_chance", "_over" or "_under"."""
        if self.calibration.expected_error <= self.usual_chance:
            return "verdict_chance"
        return "verdict_over" if self.gap > 0 else "verdict_under"

    @property
    def n_bytes(self) -> int:
        """Its size for a cache."""
        return 20 * len(self.right) + 8_000


def predictions(confidence: np.ndarray, right: np.ndarray, nats: np.ndarray | None = None) -> Predictions:
    """The predictions with their calibration and the errors of chance; confidence (M,), right (M,) bool, nats (M,) −ln
    p of what came.
    """
    return Predictions(confidence, right, calibrate(confidence, right), chance_errors(confidence),
                       math.nan if nats is None else float(nats.mean()))


def documents(source: str, seed: int, prompt: str) -> list[str]:
    """The texts of one of SOURCES: exercises that training left out, the app's explanations, or the reader's prompt."""
    if source == "exercises":
        return [exercise.text for kind in KINDS for exercise in teaching_text.held_out(kind, N_EACH, seed)]
    if source == "pages":
        names = sorted(path.stem for path in (prose.FOLDER / prose.LANGUAGE).glob("*.md"))
        return [body.replace("*", "").replace("`", "").replace("$", "") for name in names
                for key, body in prose.load(name).sections.items() if key.startswith("explanation")]
    return [prompt]


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask whether the likeliest token comes more often, less or as often as said, when the model is nearly sure of it;
    only if it often is.
    """
    source, seed = read("source"), read("seed")
    is_trained = met_teaching(run.model_name) in ("whole", "part") and cache.name_and_step(run.model_name)[1] is None
    if source == "prompt" or not is_trained:
        return None

    def truth(_guess: int) -> Truth:
        given = _given(run, source, seed)
        sure = given.confidence >= SURE
        came, said = float(given.right[sure].mean()), float(given.confidence[sure].mean())
        return Truth(1 if abs(came - said) <= CLOSE else 0 if came > said else 2,
                     said=page.label("before_calibration_said", came=percent(came), said=percent(said)),
                     seen=_seen(given), values={"n": int(sure.sum()), "came": percent(came), "said": percent(said)})

    return Prediction("calibration", Options([page.label(f"before_calibration_{k}") for k in range(3)]), truth,
                      {"source": page.label(f"asked_{source}"), "sure": percent(SURE, 0)}, (source, seed))


def _seen(given: Predictions) -> int:
    """The index of the true statement: 0 if most predictions are at the right end, 1 at the left one, else 2."""
    counts = [b.count for b in given.calibration.bins]
    return {len(counts) - 1: 0, 0: 1}.get(counts.index(max(counts)), 2)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw both reliability diagrams; return what they show."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        source = choice(page, "source")
        temperature = st.slider(page.label("temperature"), 0.2, 2.0, step=0.1, width=230,
                                help=page.label("temperature_help"), **attached("temperature"))
        seed = own_seed(page, said=page.label("seed_help"))
    say_sample(page, run, ALL, "calibration", counted=TOKENS // step_of(run, ALL), whole=TOKENS)
    given, control = _given(run, source, seed), _control(page, run, temperature, seed, TEXTS, TOKENS)
    blind = _given(run, source, seed, blind=True)
    name = page.label(f"source_{source}")
    title = page.label("calibration_title", source=name, ece=percent(given.calibration.expected_error),
                       chance=percent(given.usual_chance), verdict=page.label(given.verdict))
    score = page.label("log_losses", model=readable(given.log_loss), blind=readable(blind.log_loss))
    with st.container(key=f"{PREFIX}headline"):
        st.markdown(f"**{title}**" if reader.present() else f"**{title}** {score}")
    left, right, third = st.container(key=f"{PREFIX}diagrams").columns(3, gap="medium", vertical_alignment="bottom")
    with left:
        _diagram(page, given, "given", source=name)
    with right:
        _diagram(page, control, "control", temperature=readable(temperature))
    with third:
        if reader.leaves_out(f"{PREFIX}blind"):        # one row of charts that the last row of a class can read
            _counts_alone(page, given)
        else:
            _diagram(page, blind, "blind")
    return Reading(_lines(page, given, blind), _question(page, run, temperature, seed),
                   [calibrate, chance_errors, losses.own_predictions],
                   {"given.csv": lambda: _table(given), "control.csv": lambda: _table(control)},
                   f".st-key-{PREFIX}diagrams", title, _bins(page, given))


def _diagram(page: Lesson, result: Predictions, name: str, **values: str) -> None:
    """Draw a reliability diagram above its counts. values: of the caption."""
    calibration = result.calibration
    titles = page.labels("axis") | {"diagonal": page.label("diagonal"), "right": page.label("column_came")}
    if reader.present():
        st.markdown(f"**{page.label(f'caption_{name}', **values)}**")
        show(figures.reliability(calibration, titles, **look(0, presenting=PRESENTED), said=titles["said_short"]), name)
        return
    with st.container(gap="xsmall"):
        error = percent(round(calibration.expected_error, 12))      # free of rounding
        st.markdown(page.label("ece", caption=page.label(f"caption_{name}", **values), n=calibration.n,
                               ece=error, chance=percent(result.chance.mean())))
        show(figures.reliability(calibration, titles, **look(190, presenting=190)), name)
        show(figures.counts(calibration, titles, **look(90, presenting=90)), f"{name}_counts")


def _counts_alone(page: Lesson, result: Predictions) -> None:
    """Draw, on a projector, how many predictions stand behind each dot."""
    titles = page.labels("axis")
    st.markdown(f"**{page.label('caption_counts', n=result.calibration.n)}**")
    show(figures.counts(result.calibration, titles | {"said": titles["said_short"]}, **look(0, presenting=PRESENTED)),
         "given_counts")


def _given(run: Run, source: str, seed: int, blind: bool = False) -> Predictions:
    """The predictions on the first MOST_TOKENS of one of SOURCES, of a large model on a sample of its texts; `blind`:
    those of a reader that knows how often each token comes, and no more.
    """
    step = step_of(run, ALL)
    prompt = run.tokenizer.decode(run.own_ids) if source == "prompt" else ""

    def make() -> Predictions:
        texts = first_tokens(documents(source, seed, prompt), run.tokenizer)[::step]
        return predictions(*(losses.unigram_predictions(texts, run.tokenizer.end_of_text) if blind
                             else losses.scored_predictions(run.loaded.runner, texts)))

    key = run.loaded.key("calibration", source, seed * (source == "exercises"), prompt, blind, step)
    return growing_results.made(key, make, _size, _restored)


def first_tokens(texts: Sequence[str], tokenizer: Tokenizer) -> list[np.ndarray]:
    """The first MOST_TOKENS of the texts, as token ids of each."""
    first, room = [], MOST_TOKENS
    for ids in corpus.tokenize(texts, tokenizer).documents:
        first.append(ids[:room])
        room -= len(first[-1])
        if room <= 0:
            break
    return first


def _restored(kept: tuple[list[float], str]) -> Predictions:
    """The predictions as record.py keeps them."""
    confidence, right, *nats = kept
    return predictions(np.array(confidence), np.array([*right]) == "1", *map(np.array, nats))


def _size(value: Predictions) -> int:
    return value.n_bytes


def _control(page: Lesson, run: Run, temperature: float, seed: int, n_texts: int, n_tokens: int) -> Predictions:
    """The predictions on texts that the model samples itself, of a large one on their first tokens."""
    n_tokens = max(n_tokens // step_of(run, ALL), LEAST_TOKENS)

    def steps() -> Iterator[Part]:
        parts = []
        for part in losses.own_predictions(run.loaded.runner, n_texts, n_tokens, temperature, seed):
            parts.append(part)
            yield Part(None, len(parts), n_tokens)
        yield Part(predictions(*map(np.concatenate, zip(*parts))), n_tokens, n_tokens)

    return growing_results.result(run.loaded.key("own predictions", temperature, seed, n_texts, n_tokens), steps, _size,
                                  page.label("writing"), _restored)


def _lines(page: Lesson, given: Predictions, blind: Predictions) -> list[tuple[str, str]]:
    calibration, n = given.calibration, given.calibration.n
    parts = {b: b.count / n * abs(b.share_right - b.confidence) for b in calibration.bins if b.count}
    top = max(parts, key=parts.get)
    return [(page.label("numbers_bin", low=f"{top.low:.1f}", high=f"{top.high:.1f}"),
             rf"\frac{{{top.count}}}{{{n}}} \cdot \left| \frac{{{round(top.count * top.share_right)}}}"
             rf"{{{top.count}}} - {latex_operand(top.confidence)} \right| = {latex_number(parts[top])}"),
            (page.label("numbers_ece"),
             rf"\mathrm{{ECE}} = {' + '.join(latex_number(part, 6) for part in parts.values())} = "
             rf"{latex_number(calibration.expected_error)}"),
            (page.label("numbers_gap"),
             rf"\frac{{{int(given.right.sum())}}}{{{n}}} - {latex_operand(given.confidence.mean())} = "
             rf"{latex_number(-given.gap)}"),
            (page.label("numbers_chance", n=len(given.chance)),
             rf"\overline{{\mathrm{{ECE}}}}_{{\mathrm{{chance}}}} = {latex_number(given.chance.mean())}"),
            (page.label("numbers_log_loss"),
             rf"-\frac{{1}}{{{n}}} \sum \ln p = {latex_number(given.log_loss)}, \qquad "
             rf"{latex_number(blind.log_loss)} - {latex_number(given.log_loss)} = "
             rf"{latex_number(round(blind.log_loss, 4) - round(given.log_loss, 4))}")]


def few_temperature(temperature: float) -> float:
    """The temperature of the question's text where the control has this one."""
    return 0.5 if temperature >= 1 else 2.0


def _question(page: Lesson, run: Run, temperature: float, seed: int) -> Question:
    """Whether the model is over- or underconfident on a text sampled at another temperature."""
    tau = few_temperature(temperature)
    control = _control(page, run, tau, seed, FEW_TEXTS, FEW_TOKENS)
    answer = 2 if abs(control.gap) < SMALL else 0 if control.gap > 0 else 1
    return Question(f"temperature_{tau:g}", page.label("question_temperature", temperature=readable(tau)),
                    [page.label(f"question_temperature_{k}") for k in range(3)], answer,
                    page.label("because_temperature", said=percent(control.confidence.mean()),
                               came=percent(control.right.mean()), temperature=readable(tau)))


def _bins(page: Lesson, given: Predictions) -> pd.DataFrame:
    rows = [(figures.bin_name(b), b.count, plain_number(b.confidence), plain_number(b.share_right))
            for b in given.calibration.bins]
    return page.table(rows, "bin", "count", "said", "share")


def _table(result: Predictions) -> pd.DataFrame:
    return pd.DataFrame({"probability_of_the_top_token": result.confidence, "it_came": result.right})
