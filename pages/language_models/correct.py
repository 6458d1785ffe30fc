"""Correct: one letter of a text is wrong; the model's probabilities of all texts with one letter changed show which.
"""
import math
import string

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis import text_probability
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.figures.numbers import grouped, latex_number, percent, plain_number
from pages.language_models import charts as figures
from pages.language_models.shared import (
    PREFIX,
    Scored,
    attached,
    draw_chart,
    named,
    read,
    row_of,
    scored,
    scored_so_far,
    times,
)
from pages.language_models.token_bits import draw_texts

MOST_CHARACTERS = 40
SHOWN, SHOWN_PRESENT = 2, 1     # most probable corrections, above the given text
SHARES = (0.001, 0.02, 0.1)      # of all changed texts: the limits between the options of the question
AHEAD = (1, 10)          # times as probable as all others together: the limits between the answers before the picture
CHART = 320, 230            # px, usually and in present mode


def changed(text: str) -> list[tuple[int, str]]:
    """Every text that differs in one letter, with the index of that letter: 25 texts for each letter; capitals stay
    capitals.

    >>> changed("b!")[0], len(changed("b!"))
    ((0, 'a!'), 25)
    """
    return [(i, text[:i] + (letter.upper() if c.isupper() else letter) + text[i + 1:]) for i, c in enumerate(text)
            if c.isascii() and c.isalpha() for letter in string.ascii_lowercase if letter != c.lower()]


def predict(page: Lesson, run: Run) -> Prediction:
    """Whether the best changed text is less probable than all others together, or up to ten times so, or more."""
    text = _text(page)

    def truth(_guess: int) -> Truth:
        given, *edits = scored(run, _all(text), said=page.label("correcting"))
        posterior = _posterior(edits)
        at = int(posterior.argmax())
        best, ratio = edits[at], float(posterior[at] / np.delete(posterior, at).sum())
        fewer = (len(best.tokens) < len(given.tokens)) - (len(best.tokens) > len(given.tokens))
        factor = times(math.log(ratio))
        return Truth(int(np.searchsorted(AHEAD, ratio)), said=page.label("before_correct_said", times=factor),
                     seen={1: 0, 0: 1, -1: 2}[fewer],
                     values={"best": named(best.text), "times": factor, "others": len(edits) - 1})

    return Prediction("correct", Options([page.label(f"before_correct_{k}") for k in range(3)]), truth,
                      {"text": named(text), "n": grouped(len(changed(text)))}, text)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the field, the most probable corrections and the chart of the wrong letter; return what they show."""
    st.text_input(page.label("garbled"), placeholder=page.label("garbled_default"), max_chars=MOST_CHARACTERS,
                  help=page.label("garbled_help"), **attached("garbled"))
    text = _text(page)
    (given, *edits), whole = scored_so_far(run, _all(text), page.label("correcting"))
    totals, posterior = np.array([edit.total for edit in edits]), _posterior(edits)
    ranking = np.argsort(-posterior, kind="stable")
    best = edits[ranking[0]]
    title = page.label("correct_title", best=named(best.text),
                       p=percent(float(posterior[ranking[0]])), n=len(edits))
    st.markdown(f"**{title}**")
    wide, beside = st.columns([13, 10], gap="medium")
    most = SHOWN_PRESENT if reader.present() else SHOWN
    rows = ([row_of(page, edits[i], percent(float(posterior[i]))) for i in ranking[:most]]
            + [row_of(page, given, page.label("correct_seen"))])
    with wide:
        draw_texts(page, rows, "corrections", (340, 180))
    with beside:
        st.markdown(page.label("correct_where"))
        draw_chart("where", figures.letter_bars, (text, _by_place(text, posterior), page.label("correct_axis")), CHART)
    return Reading(_lines(page, best, edits, float(posterior[ranking[0]]), given),
                   _question(page, given, totals) if whole else None, [changed, text_probability.token_log_probs],
                   {"corrections.csv": lambda: _table(page, edits, posterior, ranking)},
                   f".st-key-{PREFIX}where", title)


def _text(page: Lesson) -> str:
    """The reader's text, else the lesson's own."""
    text = " ".join(str(read("garbled"))[:MOST_CHARACTERS].split())
    return text if changed(text) else page.label("garbled_default")


def _all(text: str) -> list[str]:
    """The text, and every text with one letter changed."""
    return [text, *(edit for _, edit in changed(text))]


def _posterior(edits: list[Scored]) -> np.ndarray:
    """The probability of each changed text, if all changes are equally frequent."""
    totals = np.array([edit.total for edit in edits])
    weights = np.exp(totals - totals.max())
    return weights / weights.sum()


def _by_place(text: str, posterior: np.ndarray) -> np.ndarray:
    """The probability of each character of the text to be the wrong one."""
    places = [i for i, _ in changed(text)[:len(posterior)]]
    return np.bincount(places, posterior, len(text))


def _lines(page: Lesson, best: Scored, edits: list[Scored], share: float, given: Scored) -> list[tuple[str, str]]:
    total = float(np.logaddexp.reduce([edit.total for edit in edits]))
    return [(page.label("numbers_posterior", text=named(best.text), n=len(edits)),
             rf"\frac{{p(\text{{best}})}}{{\sum_k p(k)}} = e^{{{latex_number(best.total, 6)} - "
             rf"({latex_number(total, 6)})}} = {latex_number(share)}"),
            (page.label("numbers_gain"),
             rf"\ln \frac{{p(\text{{best}})}}{{p(\text{{as it stands}})}} = {latex_number(best.total, 6)} - "
             rf"({latex_number(given.total, 6)}) = {latex_number(best.total - given.total)}")]


def _question(page: Lesson, given: Scored, totals: np.ndarray) -> Question:
    """How many of the changed texts are more probable than the given one."""
    better = int((totals > given.total).sum())
    return page.question(
        "better", [page.label(f"better_{k}") for k in range(len(SHARES) + 1)],
        int(np.searchsorted(SHARES, better / len(totals))), better=better, n=len(totals),
        share=plain_number(100 * better / len(totals), 1))


def _table(page: Lesson, edits: list[Scored], posterior: np.ndarray, ranking: np.ndarray) -> pd.DataFrame:
    return page.table([(edits[i].text, posterior[i], edits[i].total) for i in ranking], "text", "p", "ln")
