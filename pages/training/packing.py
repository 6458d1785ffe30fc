"""Packing: documents in rows of N tokens with an end of text between, what predicts what, where rows cut documents, and
the cost of padding.
"""
from bisect import bisect

import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, prompts, reader
from core.components.lib.token_view import token_view
from core.figures.numbers import latex_number, percent, readable
from core.learning import packing, teacher_forcing
from core.learning.packing import Rows
from core.training import corpus
from pages.training.shared import PREFIX, chart_height, fraction, keep, numeric, place_of, read, side_by_side

MOST_SHOWN = 600             # tokens; later ones are left out
LENGTHS = (8, 12, 20, 32)    # tokens of a row, that the question compares
N_PASSAGE = 12               # sentences of the lesson's passage, which stands in for a prompt of one document
LIMITS = (0.1, 0.25, 0.5)    # shares of empty places, between the options of the question
# Documents in rows of N tokens: inputs, targets, cuts; and the places that packing and padding use.
_picture = token_view("packing_rows", __file__)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask for the empty share if each document begins a row of its own."""
    documents, is_own, _ = documents_of(page, run)
    n = read("row_length")

    def truth(_: int) -> Truth:
        rows = packing.packed(documents, n, run.tokenizer.end_of_text)
        padded = packing.padded_lengths([len(document) for document in documents], n)
        fewer = (len(padded) > len(rows.inputs)) - (len(padded) < len(rows.inputs))
        empty = wasted(padded, n)
        return Truth(bisect(LIMITS, empty), said=percent(empty), seen={1: 0, 0: 1, -1: 2}[fewer],
                     values={"padded_rows": len(padded), "rows": len(rows.inputs),
                             "wasted": readable(100 * rows.wasted), "padded": readable(100 * empty)})

    return Prediction("packing", Options([page.label(f"empty_{i}") for i in range(len(LIMITS) + 1)]), truth,
                      {"whose": page.label("packing_yours" if is_own else "packing_ours"), "n": n,
                       "documents": len(documents), "tokens": sum(map(len, documents))})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    documents, is_own, cut = documents_of(page, run)
    with side_by_side("bottom", "medium"):
        numeric(st.slider, page, "row_length", width=260)
        st.caption(" ".join([page.label("packing_prompt" if is_own else "packing_passage"),
                             *([page.label("packing_cut", n=MOST_SHOWN)] if cut else [])]))
    n = read("row_length")
    rows = packing.packed(documents, n, run.tokenizer.end_of_text)
    padded = packing.padded_lengths([len(document) for document in documents], n)
    at = place_of("row_place", rows.n_places, 0)
    title = _title(page, documents, rows, padded, n)
    st.markdown(f"**{title}**")
    _picture(_header(page, run, rows, padded, at), key=f"{PREFIX}packing_rows",
             on_settings=lambda settings: keep(row_place=int(settings["row_place"])))
    return Reading(_lines(page, documents, rows, padded, n), _question(page, documents),
                   [corpus.pack, packing.packed, packing.padded_lengths], {"rows.csv": lambda: table(run, rows)},
                   ".packing_rows", title)


def documents_of(page: Lesson, run: Run) -> tuple[list[list[int]], bool, bool]:
    """The prompt's lines or sentences as token ids, or the passage's where the prompt has fewer than two; whether they
    are the prompt's; whether some were left out.
    """
    found = teacher_forcing.documents_of(prompts.clean_prompt(run.text))
    texts = found if len(found) > 1 else teacher_forcing.documents_of(page.text("passage"))[:N_PASSAGE]
    documents, room = [], MOST_SHOWN
    for text in texts:
        if room:
            documents.append(run.tokenizer.encode(text)[:room])
            room -= len(documents[-1])
    return documents, len(found) > 1, not room


def wasted(padded: list[int], n: int) -> float:
    """The share of places in rows of n that padding leaves empty."""
    return 1 - sum(padded) / (n * len(padded))


def _title(page: Lesson, documents: list[list[int]], rows: Rows, padded: list[int], n: int) -> str:
    return page.label("packing_title", documents=len(documents), tokens=sum(map(len, documents)), rows=len(rows.inputs),
                      n=n, wasted=readable(100 * rows.wasted), padded_rows=len(padded),
                      padded_wasted=readable(100 * wasted(padded, n)))


def _header(page: Lesson, run: Run, rows: Rows, padded: list[int], at: int) -> dict:
    visible = run.tokenizer.visible
    cells = [{"cells": [visible(int(i)) for i in inputs], "only": visible(int(targets[-1])) if counted[-1] else None,
              "counted": counted.tolist(), "documents": documents.tolist(), "first": (place == 0).tolist()}
             for inputs, targets, counted, documents, place in zip(rows.inputs, rows.targets, rows.counted,
                                                                   rows.documents, rows.place)]
    n = read("row_length")
    text = (page.labels("packing_rows")
            | {"packed": page.label("packing_map_packed", used=readable(100 * (1 - rows.wasted))),
               "padded": page.label("packing_map_padded", used=readable(100 * (1 - wasted(padded, n))))})
    return {"n": n, "rows": cells, "lengths": {"padded": padded}, "picked": list(divmod(at, n)),
            "height": chart_height(20), "text": text, "present": reader.present()}


def _lines(page: Lesson, documents: list[list[int]], rows: Rows, padded: list[int], n: int) -> list[tuple[str, str]]:
    tokens, m, n_rows = sum(map(len, documents)), len(documents), len(rows.inputs)
    lengths = (" + ".join(rf"\lceil {len(document) + 1} / {n} \rceil" for document in documents[:6])
               + (r" + \dots" if m > 6 else ""))

    def waste(used: int, n_rows: int, share: float) -> str:
        return rf"1 - \frac{{{used}}}{{{n_rows} \cdot {n}}} = {latex_number(share)}"

    return [(page.label("numbers_predictions"), f"{tokens} + {m} = {tokens + m}"),
            (page.label("numbers_packed"), waste(rows.n_counted, n_rows, rows.wasted)),
            (page.label("numbers_padded_rows"), f"{lengths} = {len(padded)}"),
            (page.label("numbers_padded"), waste(sum(padded), len(padded), wasted(padded, n))),
            (page.label("numbers_ratio"), f"{fraction(len(padded), n_rows)} = {latex_number(len(padded) / n_rows)}")]


def _question(page: Lesson, documents: list[list[int]]) -> Question:
    """With which row length padding leaves the fewest places empty; the first of equals, the others are no options."""
    lengths = [len(document) for document in documents]
    shares = {n: wasted(packing.padded_lengths(lengths, n), n) for n in LENGTHS}
    best = min(shares, key=shares.get)
    options = [n for n in LENGTHS if n == best or shares[n] > shares[best]]
    text = ", ".join(f"{n}: {readable(100 * shares[n])}\u00a0%" for n in options)
    return page.question("packing", [page.label("question_packing_option", n=n) for n in options], options.index(best),
                         shares=text)


def table(run: Run, rows: Rows) -> pd.DataFrame:
    """The places of all rows, a row for each: input, target, whether it counts, and the document."""
    r, c = divmod(pd.RangeIndex(rows.n_places).to_numpy(), rows.inputs.shape[1])
    counted = rows.counted.reshape(-1)
    targets = [run.tokenizer.visible(int(i)) if counts else "" for i, counts in zip(rows.targets.reshape(-1), counted)]
    return pd.DataFrame({"row": r + 1, "place": c + 1,
                         "reads": [run.tokenizer.visible(int(i)) for i in rows.inputs.reshape(-1)], "target": targets,
                         "counts": counted, "document": rows.documents.reshape(-1) + 1})
