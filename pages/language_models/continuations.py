"""Continuations: two continuations of the prompt, token by token, and their odds."""
import math

import numpy as np
import streamlit as st

from core.analysis import text_probability
from core.app.lesson import Lesson, Place, Prediction, Question, Reading, Truth, guess_of
from core.app.state import Run, reader
from core.base.markdown import code
from core.figures.numbers import latex_number, latex_operand, plain_number
from pages.language_models import charts as figures
from pages.language_models.shared import (
    Scored,
    attached,
    draw_chart,
    named,
    product,
    read,
    row_of,
    scored,
    scored_after,
    times,
    token_table,
)
from pages.language_models.token_bits import draw_texts

MOST_CHARACTERS = 200
MOST_PROMPT_TOKENS = 32     # last tokens of the prompt, added one by one
LEAST_PROMPT_TOKENS = 4     # of a prompt that the question before the picture is about
CHART = 300, 225            # px, usually and in present mode
MOST_EXPONENT = 700         # of an e^x that a float holds


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which token of the prompt changes the odds most."""
    texts, ids = _texts(page), run.own_ids[-MOST_PROMPT_TOKENS:]
    if len(ids) < LEAST_PROMPT_TOKENS or texts[0] == texts[1]:
        return None
    tokens = [run.tokenizer.visible(i) for i in ids]

    def truth(guess: int) -> Truth:
        odds = _odds(run, texts)
        moves = odds[:-1] - odds[1:]
        most = int(np.abs(moves).argmax())
        crossings = int((np.diff(np.sign(odds)) != 0).sum())
        return Truth(most, said=_moved(moves[most]), own=_moved(moves[guess]), seen=min(crossings, 2), values={
            "token": code(tokens[most]), "before": plain_number(odds[most + 1], 2),
            "then": plain_number(odds[most], 2)})

    return Prediction("continuations", Place(tokens, range(len(ids) - 1)), truth, dict(zip("ab", map(named, texts))),
                      tuple(texts))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the two fields and the two rows of bars; return what they show."""
    columns = st.columns(2, gap="medium")
    for name, column in zip("ab", columns):
        column.text_input(page.label(name), placeholder=page.label(f"{name}_default"), max_chars=MOST_CHARACTERS,
                          **attached(name))
    texts = _texts(page)
    a, b = pair = scored(run, texts, run.text)
    odds = a.total - b.total
    better, worse = (a, b) if odds >= 0 else (b, a)
    title = page.label("continuations_title" if odds else "continuations_equal", better=named(better.text),
                       worse=named(worse.text), factor=times(abs(odds)))
    st.markdown(f"**{title}**")
    rows, beside = st.columns([1, 1] if reader.present() else [2, 3], gap="medium")
    alike = len(a.tokens) == len(b.tokens)
    with rows:
        draw_texts(page, [row_of(page, text, name.upper()) for name, text in zip("ab", pair)], "pair", (290, 178))
        page.note(page.label("continuations_fair" if alike else "continuations_lengths",
                             a=len(a.tokens), b=len(b.tokens),
                             rate_a=plain_number(a.rate, 2), rate_b=plain_number(b.rate, 2)))
    with beside:
        _shortened(page, run, texts)
    return Reading(_lines(page, a, b), _question(page, run, a, b), [text_probability.token_log_probs],
                   {"continuations.csv": lambda: token_table(page, pair)}, ".sentences-list", title)


def _texts(page: Lesson) -> list[str]:
    """The two continuations."""
    return [str(read(name))[:MOST_CHARACTERS] or page.label(f"{name}_default") for name in "ab"]


def _odds(run: Run, texts: list[str]) -> np.ndarray:
    """The log-odds of the first text against the second, in nats, after the prompt from each of its last tokens on."""
    ids = run.own_ids[-MOST_PROMPT_TOKENS:]
    scores = scored_after(run,
                         [(text, run.tokenizer.decode(ids[start:])) for start in range(len(ids)) for text in texts])
    return np.array([a.total - b.total for a, b in zip(scores[::2], scores[1::2])])


def _moved(nats: float) -> str:
    """A change of log-odds, with its sign."""
    return f"+{plain_number(nats, 2)}" if nats > 0 else plain_number(nats, 2)


def _shortened(page: Lesson, run: Run, texts: list[str]) -> None:
    """Chart the log-odds after the last token of the prompt alone, after the last two, and so on: which words decide.
    """
    ids = run.own_ids[-MOST_PROMPT_TOKENS:]
    if not ids:
        return
    st.markdown(page.label("odds_title"))
    guess = guess_of(page, "continuations", run, tuple(texts))
    mine = None if guess is None else (guess, page.frame_words.label("before_mine"))
    titles = page.label("odds_axis"), page.label("odds_from")
    draw_chart("odds", figures.odds_line, ([run.tokenizer.visible(i) for i in ids], _odds(run, texts), titles, mine),
               CHART)


def _lines(page: Lesson, a: Scored, b: Scored) -> list[tuple[str, str]]:
    odds = a.total - b.total
    lines = [(page.label("numbers_continuation", name=name, text=named(text.text)), product(text)[1])
             for name, text in (("A", a), ("B", b)) if text.tokens]
    latex = (rf"\ln \frac{{p(A \mid c)}}{{p(B \mid c)}} = {latex_operand(a.total)} - ({latex_operand(b.total)}) "
             rf"= {latex_number(odds)}, \qquad \frac{{p(A \mid c)}}{{p(B \mid c)}} = e^{{{latex_operand(odds)}}} = "
             rf"{_raised(odds)}")
    return [*lines, (page.label("numbers_odds"), latex)]


def _raised(odds: float) -> str:
    """e to that power, in LaTeX, also where no float holds it.

    >>> _raised(2.0), _raised(-1000.0)
    ('7.3891', '5.0760 \\\\cdot 10^{-435}')
    """
    if abs(odds) < MOST_EXPONENT:
        return latex_number(math.exp(odds))
    power = math.floor(odds / math.log(10))
    return rf"{latex_number(math.exp(odds - power * math.log(10)))} \cdot 10^{{{power}}}"


def _question(page: Lesson, run: Run, a: Scored, b: Scored) -> Question:
    """Ask which is the more probable without the prompt."""
    alone = scored(run, [a.text, b.text], "")
    odds = alone[0].total - alone[1].total
    return page.question("alone", ["A", "B"], 0 if odds >= 0 else 1, a=plain_number(alone[0].total, 2),
                         b=plain_number(alone[1].total, 2), odds=plain_number(odds, 2),
                         before=plain_number(a.total - b.total, 2))
