"""Sentences: what each token of some sentences costs, and the first five words of the picked one in every order."""
import math

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis import text_probability
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run
from core.cost import counting
from core.figures.numbers import latex_number, plain_number
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
    times,
    token_table,
)
from pages.language_models.token_bits import draw_texts

MOST_SENTENCES, MOST_CHARACTERS = 4, 600
MOST_WORDS = 5          # that are put in every order: at most 120
CHART = 268, 190        # px, usually and in present mode


def sentences(page: Lesson) -> list[str]:
    """The reader's lines, or the lesson's own where none was written."""
    written = [" ".join(line.split()) for line in str(read("sentences"))[:MOST_CHARACTERS].splitlines()]
    return [line for line in written if line][:MOST_SENTENCES] or page.text("sentences").splitlines()


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the field, the rows of bars and the chart of all orders; return what it shows."""
    wide, beside = st.columns([15, 9], gap="medium")
    with beside:
        st.text_area(page.label("sentences"), placeholder=page.text("sentences"), max_chars=MOST_CHARACTERS, height=106,
                     help=page.label("sentences_help"), **attached("sentences"))
        st.toggle(page.label("after"), help=page.label("after_help"), **attached("after"))
    texts = sentences(page)
    context = run.text if read("after") else None
    found = scored(run, texts, context)
    picked = min(read("row"), len(found) - 1)
    ranked = sorted(found, key=lambda one: -one.total)
    title = page.label("sentences_title" if len(found) > 1 else "sentences_title_one",
                       best=named(ranked[0].text), worst=named(ranked[-1].text),
                       factor=times(ranked[0].total - ranked[-1].total), ln=plain_number(ranked[0].total, 2))
    with wide:
        st.markdown(f"**{title}**")
        draw_texts(page, [row_of(page, one) for one in found], "rows", (350, 250))
        lengths = {len(one.tokens) for one in found}
        st.caption(page.label("cut", n=MOST_SENTENCES) if any(one.n_cut for one in found)
                   else page.label("sentences_lengths" if len(lengths) > 1 else "sentences_fair"))
    with beside:
        orders = _orders(page, run, texts[picked], context)
    return Reading(_lines(page, run, found[picked]), _question(page, run, found[picked], context),
                   [text_probability.token_log_probs, text_probability.perplexity, text_probability.orders],
                   {"sentences.csv": lambda: token_table(page, found),
                    "orders.csv": lambda: _order_table(page, orders)}, ".sentences-list", title)


def _orders(page: Lesson, run: Run, text: str, context: str | None) -> list[Scored]:
    """The chart of every order of the sentence's first words; returns them, the sentence's own order first."""
    words = text.split()[:MOST_WORDS]
    every = scored(run, [" ".join(order) for order in text_probability.orders(words)], context)
    values = np.array([one.total for one in every])
    rank = 1 + int((values > values[0]).sum())
    said = [page.label("orders_title" if len(every) > 1 else "orders_title_one", own=named(every[0].text),
                       rank=rank, n=len(every))]
    said += [page.label("orders_first", n=MOST_WORDS)] if len(text.split()) > MOST_WORDS else []
    st.markdown(" ".join(said))
    titles = tuple(page.label(f"orders_{name}") for name in ("rank", "ln"))
    draw_chart("orders", figures.ranked_orders, ([one.text for one in every], values, 0, titles), CHART)
    return every


def _lines(page: Lesson, run: Run, one: Scored) -> list[tuple[str, str]]:
    n, total = len(one.tokens), one.total_bits
    if not n:
        return []
    chain, logs = product(one)
    rate = (rf"\exp\!\Big(-\frac{{1}}{{{n}}} \ln p\Big) = "
            rf"\exp\!\Big(\frac{{{latex_number(-one.total, 6)}}}{{{n}}}\Big) = {latex_number(one.perplexity)}")
    bits = (rf"-\log_2 p = \frac{{-\ln p}}{{\ln 2}} = \frac{{{latex_number(-one.total, 6)}}}{{0.693147}} = "
            rf"{latex_number(total)}\ \text{{bits}}, \qquad \frac{{{latex_number(total)}}}{{{n}}} = "
            rf"{latex_number(total / n)}")
    names = [page.label(f"numbers_{name}", text=named(one.text)) for name in ("chain", "logs", "bits", "perplexity")]
    size = run.model.config.vocab_size
    table = (page.label("numbers_table", size=f"{size:,}", n=n - 1,
                        parameters=f"{counting.n_parameters(run.model.config):,}"),
             rf"|V|^{{t+1}} = {size}^{{{n}}} = 10^{{{n} \cdot {math.log10(size):.6f}}} = "
             rf"10^{{{n * math.log10(size):.4f}}}")
    return [*zip(names, (chain, logs, bits, rate)), table]


def _question(page: Lesson, run: Run, one: Scored, context: str | None) -> Question:
    """What the sentence costs when it is said a second time right after itself: the model has read it once already."""
    (again,) = scored(run, [one.text], " ".join(filter(None, (context, one.text))))
    first, second = one.total_bits, again.total_bits
    answer = 0 if second < first / 2 else 1 if second < first else 2
    return page.question("again", [page.label(f"again_{name}") for name in ("half", "less", "more")], answer,
                         text=named(one.text), first=plain_number(first, 1), second=plain_number(second, 1))


def _order_table(page: Lesson, every: list[Scored]) -> pd.DataFrame:
    ranked = sorted(every, key=lambda one: -one.total)
    return pd.DataFrame({page.label("orders_rank"): range(1, len(ranked) + 1),
                         page.label("column_text"): [one.text for one in ranked],
                         page.label("column_ln"): [one.total for one in ranked],
                         page.label("column_bits"): [one.total_bits for one in ranked],
                         page.label("column_tokens"): [len(one.tokens) for one in ranked]})
