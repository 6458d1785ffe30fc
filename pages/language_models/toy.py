"""Five words: a whole language model as one table, its sentences as products, and the p that make a text most probable.
"""
import math

import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Number, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.base.markdown import code, unmarked
from core.components.lib.token_view import token_view
from core.components.sampling_panel import seeded_uniforms
from core.figures.numbers import latex_number, latex_operand, plain_number, readable
from core.language import toy_model
from core.language.toy_model import LENGTH, START, TABLE, WORDS
from pages.language_models.shared import PREFIX, attached, keep, named, read

MOST_CHARACTERS = 80
TIMES = (2, 1)             # how often the training text has the first two sentences of the lecture
_picture = token_view("lm_toy", __file__)


def sentences(page: Lesson) -> list[str]:
    """The lecture's three sentences, and the reader's own of these words, if there is one."""
    own = " ".join(WORDS[i] for i in toy_model.ids_of(str(read("toy_own"))[:MOST_CHARACTERS]))
    return [*page.text("sentences").splitlines()[:3], *([own] if own else [])]


def text_of(page: Lesson) -> list[list[int]]:
    """The training text: the first two sentences of the lecture, each as often as TIMES says."""
    return [toy_model.ids_of(sentence) for sentence, n in zip(sentences(page), TIMES) for _ in range(n)]


def picked() -> tuple[int, int, float]:
    """The picked entry, the word before and the word, and its p: the reader's or, at first, the lecture's."""
    before, word = read("toy_before"), read("toy_next")
    p = read("toy_p")
    return before, word, float(TABLE[before, word]) if p < 0 else min(max(p, 0.01), 0.99)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask for the p of one entry that fits the training text best; None if the text has no such row."""
    text, (before, word, _) = text_of(page), picked()
    n, all_ = toy_model.frequency(text, before, word)
    if not all_:
        return None

    def truth(_guess: float) -> Truth:
        return Truth(100 * n / all_, values={"n": n, "all": all_, "p": plain_number(n / all_, 3)})

    return Prediction("toy", Number(0, 100, unit="%", near=5), truth,
                      {"word": code(WORDS[word]), "before": code(name_of(page, before)), "text": said(page)},
                      (before, word))


def said(page: Lesson) -> str:
    """The training text in a sentence."""
    return ", ".join(page.label("toy_times", text=named(sentence), n=n)
                     for sentence, n in zip(sentences(page), TIMES))


def name_of(page: Lesson, before: int) -> str:
    return page.label("toy_start") if before == START else WORDS[before]


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the field, the table, the sentences and the curve; return what they show."""
    if not reader.present():
        st.text_input(page.label("toy_own"), placeholder=page.label("toy_own"), max_chars=MOST_CHARACTERS, width=420,
                      label_visibility="collapsed", **attached("toy_own"))
    before, word, p = picked()
    text, written = text_of(page), sentences(page)
    table = toy_model.with_entry(TABLE, before, word, p)
    title = page.label("toy_twin", first=named(written[0]),
                       p=readable(math.prod(toy_model.factors(table, toy_model.ids_of(written[0])))))
    header = page.header("toy", twin=unmarked(title)) | {
        "words": WORDS, "table": TABLE.tolist(), "text_ids": text, "sentences": [toy_model.ids_of(s) for s in written],
        "training": said(page).replace("`", ""),
        "settings": {"before": before, "next": word, "p": p, "drawn": read("toy_drawn"), "seed": read("toy_seed")}}
    _picture(header, key=f"{PREFIX}toy",
             on_settings=lambda told: keep(**{f"toy_{name}": told[name] for name in header["settings"]}))
    return Reading(_lines(page, table, text), _question(page, text, before),
                   [toy_model.factors, toy_model.drawn, toy_model.log_likelihood, toy_model.cross_entropy,
                    toy_model.with_entry],
                   {"table.csv": lambda: table_frame(page, table)}, ".toy-picture", title, table_frame(page, table))


def table_frame(page: Lesson, table) -> pd.DataFrame:
    """The table: a row for each word before."""
    rows = [(name_of(page, i), *(plain_number(float(p), 3) for p in row)) for i, row in enumerate(table)]
    return pd.DataFrame(rows, columns=[page.label("toy_before"), *WORDS])


def _lines(page: Lesson, table, text: list[list[int]]) -> list[tuple[str, str]]:
    lines = []
    for sentence in sentences(page):
        each = toy_model.factors(table, toy_model.ids_of(sentence))
        if each:
            product = r" \cdot ".join(latex_operand(p) for p in each)
            lines.append((page.label("numbers_toy_product", text=named(sentence)),
                          rf"p(x_1 \ldots x_{len(each)}) = {product} = {latex_number(math.prod(each), 6)}"))
    before, word, p = picked()
    total, length = toy_model.log_likelihood(table, text), sum(map(len, text))
    lines += [(page.label("numbers_toy_likelihood", n=length),
               rf"\prod \Pr = e^{{{latex_number(total)}}}, \qquad -\frac{{1}}{{{length}}} \ln \prod \Pr = "
               rf"{latex_number(-total / length)}")]
    counts = {"numbers_toy_best": toy_model.frequency(text, before, word),
              "numbers_toy_drawn": toy_model.frequency(drawn(table), before, word)}
    return lines + [
        (page.label(name, word=code(WORDS[word]), before=code(name_of(page, before)), n=read("toy_drawn")),
         rf"\hat{{p}} = \frac{{{n}}}{{{all_}}} = {latex_number(n / all_)}, \qquad p = {latex_number(p)}")
        for name, (n, all_) in counts.items() if all_]


def drawn(table) -> list[list[int]]:
    """The sentences that the reader has drawn from the table."""
    return toy_model.drawn(table, seeded_uniforms(read("toy_seed"), LENGTH * read("toy_drawn")))


def _question(page: Lesson, text: list[list[int]], before: int) -> Question:
    """Ask for the likeliest p of a word that never follows another one in the text: 0."""
    n, all_ = toy_model.frequency(text, WORDS.index("the"), WORDS.index("ball"))
    return page.question("toy", [page.label(f"toy_option_{k}") for k in range(3)], 0 if n == 0 else 1, all=all_)
