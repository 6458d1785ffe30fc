"""Sentences: the bits of each token of some sentences, and ln p of every order of the picked one's first five words."""
import numpy as np
import pandas as pd
import streamlit as st

from core.analysis import text_probability
from core.app.lesson import Lesson, Place, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.base.markdown import code
from core.figures.numbers import latex_number, percent, plain_number
from pages.language_models import charts as figures
from pages.language_models.shared import (
    MOST_TOKENS,
    Scored,
    attached,
    draw_chart,
    joined,
    named,
    product,
    read,
    row_of,
    scored,
    times,
    token_table,
)
from pages.language_models.token_bits import draw_texts

MOST_SENTENCES, MOST_CHARACTERS = 4, 600
MOST_WORDS = 5          # words that are put in every order: at most 120 orders
CHART = 268, 228        # px, usually and in present mode
ASKED = 1               # the line that the question before the picture is about
LEAST_TOKENS = 3        # of that line


def sentences(page: Lesson) -> list[str]:
    """The reader's lines, else the lesson's own."""
    lines = [" ".join(line.split()) for line in str(read("sentences"))[:MOST_CHARACTERS].splitlines()]
    return [line for line in lines if line][:MOST_SENTENCES] or page.text("sentences").splitlines()


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask for the token with most bits in the second sentence, its first aside."""
    texts, context = sentences(page), _context(run)
    if len(set(texts)) < 2:
        return None
    tokens = [*map(run.tokenizer.visible, run.tokenizer.encode(joined(context, texts[ASKED]))[:MOST_TOKENS])]
    if len(tokens) < LEAST_TOKENS:
        return None

    def truth(guess: int) -> Truth:
        rows = scored(run, texts, context)
        bits = rows[ASKED].bits
        most = int(bits[1:].argmax()) + 1
        best, worst = max(rows, key=lambda row: row.total), min(rows, key=lambda row: row.total)
        highest, other = (round(max(row.bits, default=0.0), 2) for row in (worst, best))
        said, own = (page.label("before_sentences_said", bits=plain_number(bits[i], 1)) for i in (most, guess))
        return Truth(most, said=said, own=own, seen=0 if highest > other else 1 if highest < other else 2, values={
            "best": named(best.text), "worst": named(worst.text), "token": code(tokens[most]),
            "p": percent(float(np.exp(rows[ASKED].log_probs[most]))), "bits": said})

    asked = {"text": named(texts[ASKED]), "where": page.label("asked_after" if context else "asked_alone")}
    return Prediction("sentences", Place(tokens, range(1, len(tokens))), truth, asked, (tuple(texts), context))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the field, the rows of bars and the chart of all orders; return what it shows."""
    wide, beside = st.columns([13, 11] if reader.present() else [15, 9], gap="medium")
    with beside:
        st.text_area(page.label("sentences"), placeholder=page.text("sentences"), max_chars=MOST_CHARACTERS, height=106,
                     help=page.label("sentences_help"), **attached("sentences"))
        st.toggle(page.label("after"), help=page.label("after_help"), **attached("after"))
    texts = sentences(page)
    context = _context(run)
    rows = scored(run, texts, context)
    picked = min(read("row"), len(rows) - 1)
    ranked = sorted(rows, key=lambda row: -row.total)
    title = page.label("sentences_title" if len(rows) > 1 else "sentences_title_one",
                       best=named(ranked[0].text), worst=named(ranked[-1].text),
                       factor=times(ranked[0].total - ranked[-1].total), ln=plain_number(ranked[0].total, 2))
    with wide:
        st.markdown(f"**{title}**")
        draw_texts(page, [row_of(page, row) for row in rows], "rows", (350, 190))
        lengths = {len(row.tokens) for row in rows}
        page.note(page.label("cut", n=MOST_SENTENCES) if any(row.n_cut for row in rows)
                  else page.label("sentences_lengths" if len(lengths) > 1 else "sentences_fair"))
    with beside:
        orders = _orders(page, run, texts[picked], context)
    return Reading(_lines(page, run, rows[picked]), _question(page, run, rows[picked], context),
                   [text_probability.token_log_probs, text_probability.perplexity, text_probability.orders],
                   {"sentences.csv": lambda: token_table(page, rows),
                    "orders.csv": lambda: _order_table(page, orders)}, ".sentences-list", title)


def _context(run: Run) -> str:
    """The text after which the sentences are read; empty where each stands alone."""
    return run.text if read("after") else ""


def _orders(page: Lesson, run: Run, text: str, context: str) -> list[Scored]:
    """Chart every order of the sentence's first words; return them, the sentence's own order first."""
    words = text.split()[:MOST_WORDS]
    orders = scored(run, [" ".join(order) for order in text_probability.orders(words)], context)
    values = np.array([s.total for s in orders])
    rank = 1 + int((values > values[0]).sum())
    said = [page.label("orders_title" if len(orders) > 1 else "orders_title_one", own=named(orders[0].text),
                       rank=rank, n=len(orders))]
    said += [page.label("orders_first", n=MOST_WORDS)] if len(text.split()) > MOST_WORDS else []
    st.markdown(" ".join(said))
    titles = tuple(page.label(f"orders_{name}") for name in ("rank", "ln"))
    draw_chart("orders", figures.ranked_orders, ([s.text for s in orders], values, 0, titles), CHART)
    return orders


def _lines(page: Lesson, run: Run, s: Scored) -> list[tuple[str, str]]:
    n, total = len(s.tokens), s.total_bits
    if not n:
        return []
    chain, logs = product(s)
    rate = (rf"\exp\!\Big(-\frac{{1}}{{{n}}} \ln p\Big) = "
            rf"\exp\!\Big(\frac{{{latex_number(-s.total, 6)}}}{{{n}}}\Big) = {latex_number(s.perplexity)}")
    bits = (rf"-\log_2 p = \frac{{-\ln p}}{{\ln 2}} = \frac{{{latex_number(-s.total, 6)}}}{{0.693147}} = "
            rf"{latex_number(total)}\ \text{{bits}}, \qquad \frac{{{latex_number(total)}}}{{{n}}} = "
            rf"{latex_number(total / n)}")
    names = [page.label(f"numbers_{name}", text=named(s.text)) for name in ("chain", "logs", "bits", "perplexity")]
    return [*zip(names, (chain, logs, bits, rate))]


def _question(page: Lesson, run: Run, s: Scored, context: str) -> Question:
    """How many bits the sentence costs when it is repeated right after itself."""
    (again,) = scored(run, [s.text], context + joined(context, s.text))
    first, second = s.total_bits, again.total_bits
    answer = 0 if second < first / 2 else 1 if second < first else 2
    return page.question("again", [page.label(f"again_{name}") for name in ("half", "less", "more")], answer,
                         text=named(s.text), first=plain_number(first, 1), second=plain_number(second, 1))


def _order_table(page: Lesson, orders: list[Scored]) -> pd.DataFrame:
    ranked = sorted(orders, key=lambda s: -s.total)
    return pd.DataFrame({page.label("orders_rank"): range(1, len(ranked) + 1),
                         page.label("column_text"): [s.text for s in ranked],
                         page.label("column_ln"): [s.total for s in ranked],
                         page.label("column_bits"): [s.total_bits for s in ranked],
                         page.label("column_tokens"): [len(s.tokens) for s in ranked]})
