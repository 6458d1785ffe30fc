"""Packing: documents in rows of N tokens with an end of text between, what predicts what, where a row cuts, and what
padding would cost instead.
"""
import pandas as pd
import streamlit as st

from core.app.base.markdown import unmarked
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.components.lib.token_view import token_view
from core.figures.numbers import latex_number, readable
from core.learning import packing, teacher_forcing
from core.learning.packing import Rows
from core.training import corpus
from pages.training.shared import PREFIX, attached, chart_height, keep, read

MOST_SHOWN = 600             # tokens; what comes after them is left out
N_PASSAGE = 12               # sentences of the lesson's passage, where the prompt is a single document
# Documents in rows of N tokens: what is read, what has to be predicted, where a row cuts; and the places that packing
# and padding use.
_picture = token_view("packing_rows", __file__)


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    documents, own, cut = documents_of(page, run)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.slider(page.label("row_length"), 4, 32, width=260, **attached("row_length"))
        st.caption(" ".join([page.label("packing_prompt" if own else "packing_passage"),
                             *([page.label("packing_cut", n=MOST_SHOWN)] if cut else [])]))
    n = read("row_length")
    rows = packing.packed(documents, n, run.tokenizer.end_of_text)
    padded = packing.padded_lengths([len(document) for document in documents], n)
    at = read("row_place") if 0 <= read("row_place") < rows.n_places else 0
    title = _title(page, documents, rows, padded, n)
    st.markdown(f"**{title}**")
    _picture(_header(page, run, rows, padded, at), key=f"{PREFIX}packing_rows",
             on_settings=lambda settings: keep(row_place=int(settings["row_place"])))
    return Reading(_lines(page, documents, rows, padded, n), _question(page, rows, padded, n),
                   [corpus.pack, packing.packed, packing.padded_lengths], {"rows.csv": lambda: table(run, rows)},
                   ".packing_rows", title, summary={page.label("view_packing"): unmarked(title)})


def documents_of(page: Lesson, run: Run) -> tuple[list[list[int]], bool, bool]:
    """The prompt's lines or sentences as token ids, or the passage's where the prompt has fewer than two; whether it is
    the prompt; whether something was left out.
    """
    own = teacher_forcing.documents_of(reader.clean_prompt(run.text))
    texts = own if len(own) > 1 else teacher_forcing.documents_of(page.text("passage"))[:N_PASSAGE]
    made, room = [], MOST_SHOWN
    for ids in map(list, map(run.tokenizer.encode, texts)):
        made += [ids[:room]] if room else []
        room = max(0, room - len(ids))
    return made, len(own) > 1, sum(map(len, made)) == MOST_SHOWN


def wasted(padded: list[int], n: int) -> float:
    """The share of places that padding leaves empty."""
    return 1 - sum(padded) / (n * len(padded))


def _title(page: Lesson, documents: list[list[int]], rows: Rows, padded: list[int], n: int) -> str:
    return page.label("packing_title", documents=len(documents), tokens=sum(map(len, documents)), rows=len(rows.inputs),
                      n=n, wasted=readable(100 * rows.wasted), padded_rows=len(padded),
                      padded_wasted=readable(100 * wasted(padded, n)))


def _header(page: Lesson, run: Run, rows: Rows, padded: list[int], at: int) -> dict:
    visible = run.tokenizer.visible
    shown = [{"cells": [visible(int(i)) for i in inputs], "only": visible(int(targets[-1])) if counted[-1] else None,
              "counted": counted.tolist(), "documents": documents.tolist(), "first": (place == 0).tolist()}
             for inputs, targets, counted, documents, place in zip(rows.inputs, rows.targets, rows.counted,
                                                                   rows.documents, rows.place)]
    n = read("row_length")
    text = (page.labels("packing_rows")
            | {"packed": page.label("packing_map_packed", used=readable(100 * (1 - rows.wasted))),
               "padded": page.label("packing_map_padded", used=readable(100 * (1 - wasted(padded, n))))})
    return {"n": n, "rows": shown, "lengths": {"padded": padded}, "picked": list(divmod(at, n)),
            "height": chart_height(20), "text": text}


def _lines(page: Lesson, documents: list[list[int]], rows: Rows, padded: list[int], n: int) -> list[tuple[str, str]]:
    tokens, m = sum(map(len, documents)), len(documents)
    lengths = (" + ".join(rf"\lceil {len(document) + 1} / {n} \rceil" for document in documents[:6])
               + (r" + \dots" if m > 6 else ""))
    return [(page.label("numbers_predictions"), rf"{tokens} + {m} = {tokens + m}"),
            (page.label("numbers_packed"),
             rf"1 - \frac{{{rows.n_counted}}}{{{len(rows.inputs)} \cdot {n}}} = {latex_number(rows.wasted)}"),
            (page.label("numbers_padded_rows"), rf"{lengths} = {len(padded)}"),
            (page.label("numbers_padded"),
             rf"1 - \frac{{{sum(padded)}}}{{{len(padded)} \cdot {n}}} = {latex_number(wasted(padded, n))}"),
            (page.label("numbers_ratio"),
             rf"\frac{{{len(padded)}}}{{{len(rows.inputs)}}} = {latex_number(len(padded) / len(rows.inputs))}")]


def _question(page: Lesson, rows: Rows, padded: list[int], n: int) -> Question:
    """How many rows padding needs."""
    answer = len(padded)
    options = sorted({answer, len(rows.inputs), answer + len(rows.inputs), max(1, answer // 2), answer + 1})
    return Question("packing", page.label("question_packing", rows=len(rows.inputs), n=n),
                    [str(value) for value in options], options.index(answer),
                    page.label("because_packing", n=n, rows=answer))


def table(run: Run, rows: Rows) -> pd.DataFrame:
    """Every place of every row: what is read, and what has to be predicted."""
    r, c = divmod(pd.RangeIndex(rows.n_places).to_numpy(), rows.inputs.shape[1])
    counted = rows.counted.reshape(-1)
    targets = [run.tokenizer.visible(int(i)) if counts else "" for i, counts in zip(rows.targets.reshape(-1), counted)]
    return pd.DataFrame({"row": r + 1, "place": c + 1,
                         "reads": [run.tokenizer.visible(int(i)) for i in rows.inputs.reshape(-1)], "target": targets,
                         "counts": counted, "document": rows.documents.reshape(-1) + 1})
