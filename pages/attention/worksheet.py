"""Worksheet: attention by hand, with small whole numbers; every cell is checked as it is typed."""
import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.app.compute import cache
from core.app.lesson import Lesson, Number, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import bracketed, latex_number, latex_operand, probability
from core.model import attention
from core.sheets import attention_by_hand
from core.sheets.attention_by_hand import STAGES, D, N, Worksheet
from core.sheets.attention_by_hand_print import printable
from pages.attention.shared import PREFIX, attached, choice, keep, read

GIVEN = ("X", "W_Q", "W_K", "W_V")
TYPED = f"{PREFIX}sheet_typed"       # a key of the session: sheet -> cell -> [typed text, 1 if the answer was shown]
MOST_SHEETS, MOST_CHARACTERS = 20, 12
LAST = N - 1                         # the query whose numbers are shown
# A worksheet of attention to fill in by hand: every cell is checked as it is typed.
_picture = token_view("attention_worksheet", __file__)


@dataclass(frozen=True)
class Solved:
    """A sheet with its answers, and the wrong numbers that follow from common mistakes."""

    sheet: Worksheet
    steps: dict[str, Tensor]
    slips: dict[str, dict[str, Tensor]]

    @property
    def identity(self) -> str:
        return f"{self.sheet.width}/{self.sheet.seed}"

    @property
    def matrices(self) -> dict[str, Tensor]:
        """The given matrices and those of every step, by name."""
        return {name: getattr(self.sheet, name) for name in GIVEN} | self.steps


def solved(seed: int, width: int) -> Solved:
    """A solved sheet, shared by all readers."""
    def make() -> Solved:
        sheet = attention_by_hand.worksheet(seed, width)
        return Solved(sheet, attention_by_hand.solve(sheet), attention_by_hand.mistakes(sheet))

    return cache.result(("attention worksheet", seed, width), make, lambda _: 8_000)


def predict(page: Lesson, run: Run) -> Prediction:
    """How many of the weights the mask makes 0."""
    width = int(read("sheet_width"))

    def truth(_: float) -> Truth:
        hidden = int((solved(read("sheet_seed"), width).steps["weights"] == 0).sum())
        return Truth(hidden, seen=0 if width < D else 1, values={"hidden": hidden})

    return Prediction("worksheet", Number(0, N * N, near=0), truth, {"n": N, "all": N * N})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the sheet; return what it shows."""
    if not reader.present():
        _controls(page)
    solution = solved(read("sheet_seed"), int(read("sheet_width")))
    sheet = solution.sheet
    _picture(message(page, solution), key=f"{PREFIX}sheet", on_settings=_keep_typed)
    title = page.label("sheet_title", width=sheet.width, seed=sheet.seed, token=code(_tokens(page)[LAST]),
                       weights=", ".join(probability(float(w)) for w in solution.steps["weights"][LAST]))
    return Reading(_lines(page, solution), _question(page, solution),
                   [attention_by_hand.solve, attention.dot_product_scores, attention.masked_softmax],
                   {"worksheet.csv": lambda: table(page, solution)},
                   ".worksheet-picture", title, summary={page.label("sheet_summary"): solution.identity})


def _controls(page: Lesson) -> None:
    """Draw the width and number of the sheet, the button for the next one, and the download of its printed form."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{PREFIX}sheet_controls"):
        choice(page, "sheet_width")
        st.markdown(page.label("sheet_number"), width="content", help=page.label("sheet_number_help"))
        st.number_input(page.label("sheet_number"), min_value=0, max_value=9999, step=1, label_visibility="collapsed",
                        width=110, **attached("sheet_seed"))
        st.button(page.label("sheet_another"), on_click=lambda: keep(sheet_seed=(read("sheet_seed") + 1) % 10_000),
                  key=f"{PREFIX}sheet_next")
        solution = solved(read("sheet_seed"), int(read("sheet_width")))
        st.download_button(page.label("sheet_print"), lambda: _printable(page, solution),
                           file_name=f"attention-{solution.sheet.width}-{solution.sheet.seed}.html", mime="text/html",
                           key=f"{PREFIX}sheet_print", on_click="ignore", help=page.label("sheet_print_help"))


def message(page: Lesson, solution: Solved) -> dict:
    """The header of the component, as worksheet.js has it."""
    return page.header("sheet") | {"tokens": _tokens(page),
            "identity": solution.identity,
            "given": {name: to_json(getattr(solution.sheet, name)) for name in GIVEN},
            "solution": {name: to_json(values) for name, values in solution.steps.items()},
            "mistakes": {step: {slip: to_json(values) for slip, values in of.items()}
                         for step, of in solution.slips.items()},
            "cells": st.session_state.get(TYPED, {}).get(solution.identity, {})}


def to_json(values: Tensor) -> list[list[float | str | None]]:
    """A matrix for JSON, where "-inf" stands for −∞ and None for NaN."""
    return [["-inf" if value == -math.inf else None if math.isnan(value) else value for value in row]
            for row in values.tolist()]


def parsed(sent: object) -> tuple[str, dict[str, list]] | None:
    """The sheet's identity and its valid cells in what a browser has sent; None for anything else."""
    if not isinstance(sent, dict) or not isinstance(sent.get("cells"), dict):
        return None
    width, _, seed = str(sent.get("identity")).partition("/")
    if (width not in map(str, attention_by_hand.WIDTHS)
            or not (seed.isascii() and seed.isdigit() and int(seed) < 10_000)):
        return None
    columns = {step: int(width) if step in ("Q", "K", "V", "output") else N for step in STAGES}
    known = {f"{step}.{i}.{j}" for step in STAGES for i in range(N) for j in range(columns[step])}
    cells = {key: [str(cell[0])[:MOST_CHARACTERS], int(bool(cell[1]))] for key, cell in sent["cells"].items()
             if key in known and isinstance(cell, list) and len(cell) == 2}
    return f"{width}/{int(seed)}", cells


def _keep_typed(sent: object) -> None:
    """Callback: keep the typed cells in the reader's session, for the last MOST_SHEETS sheets."""
    if (sheet := parsed(sent)) is None:
        return
    typed = ({identity: cells for identity, cells in st.session_state.get(TYPED, {}).items() if identity != sheet[0]}
             | {sheet[0]: sheet[1]})
    st.session_state[TYPED] = dict(list(typed.items())[-MOST_SHEETS:])


def _tokens(page: Lesson) -> list[str]:
    return page.label("sheet_tokens").split()


def table(page: Lesson, solution: Solved) -> pd.DataFrame:
    """Every number of the sheet, a row for each: matrix, row, column, value."""
    return page.table([(name, i, j, value) for name, values in solution.matrices.items()
                       for i, row in enumerate(values.tolist()) for j, value in enumerate(row)],
                      "matrix", "row", "column", "value", labels="sheet_column")


def _printable(page: Lesson, solution: Solved) -> str:
    names = page.labels("sheet_name")
    words = {key: page.label(f"sheet_print_{key}", width=solution.sheet.width, seed=solution.sheet.seed)
             for key in ("title", "solution", "intro", "footer")}
    return printable({name: values.numpy() for name, values in solution.matrices.items()}, _tokens(page), names, words)


def _lines(page: Lesson, solution: Solved) -> list[tuple[str, str]]:
    """The last query's row, from its scores to its output."""
    steps, tokens, width = solution.steps, _tokens(page), solution.sheet.width
    Q, K, V, S, scaled, A = (steps[name] for name in ("Q", "K", "V", "products", "scaled", "weights"))
    best = int(A[LAST].argmax())
    product = " + ".join(rf"{bracketed(f'{q:.0f}')} \cdot {bracketed(f'{k:.0f}')}"
                         for q, k in zip(Q[LAST].tolist(), K[best].tolist()))
    exponentials = " + ".join(rf"e^{{{latex_operand(s)}}}" for s in scaled[LAST].tolist())
    sums = [" + ".join(rf"{latex_operand(a)} \cdot {bracketed(f'{v:.0f}')}"
                       for a, v in zip(A[LAST].tolist(), V[:, c].tolist())) for c in range(width)]
    return [(page.label("sheet_numbers_product", query=code(tokens[LAST]), best=code(tokens[best])),
             rf"q_{{{LAST + 1}}} \cdot k_{{{best + 1}}} = {product} = {S[LAST, best]:.0f}"),
            (page.label("sheet_numbers_scaled"),
             rf"\frac{{{S[LAST, best]:.0f}}}{{\sqrt{{{width}}}}} = {latex_number(scaled[LAST, best])}"),
            (page.label("sheet_numbers_weight"),
             rf"\alpha_{{{LAST + 1},{best + 1}}} = "
             rf"\frac{{e^{{{latex_operand(scaled[LAST, best])}}}}}{{{exponentials}}} = "
             rf"{latex_number(A[LAST, best])}"),
            *((page.label("sheet_numbers_output", c=c + 1),
               rf"z_{{{LAST + 1},{c + 1}}} = {sums[c]} = {latex_number(steps['output'][LAST, c])}")
              for c in range(width))]


def _question(page: Lesson, solution: Solved) -> Question:
    """Ask for the last query's largest weight without the division by √d_k."""
    scaled, unscaled = (torch.softmax(solution.steps[name][LAST], -1) for name in ("scaled", "products"))
    before, after = float(scaled.max()), float(unscaled.max())
    options = sorted({round(value, 4) for value in (after, before, before / math.sqrt(solution.sheet.width), 1 / N)})
    return page.question("sheet", [f"{option:.4f}" for option in options], options.index(round(after, 4)),
                         query=code(_tokens(page)[LAST]), before=f"{before:.4f}", after=f"{after:.4f}")
