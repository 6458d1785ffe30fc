"""One-hot × E: each token of the prompt picks its row of the embedding matrix, shown as the product that it is."""
from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import embeddings
from core.app.base.markdown import code
from core.app.frame.check import Question
from core.app.frame.lesson import Lesson
from core.app.frame.views import Reading
from core.app.state import reader
from core.app.state.run import Run
from core.figures.numbers import bracketed, latex_number
from pages.embeddings.embedding_product import embedding_product
from pages.embeddings.shared import PREFIX

PICTURE = f"{PREFIX}product"
ROWS = 11                # of E, about the picked one
HEIGHT = (300, 520)
NOTE = 50                # px below the product in present mode, which its bar would cover
SHOWN = 4                # entries of a row that a formula writes out


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    E, at = run.model.E.detach().to("cpu"), reader.selection().position
    token_ids = torch.tensor(run.token_ids)
    product, token_id = embeddings.embed(token_ids, E), run.token_ids[at]
    n, d = len(run.token_ids), E.shape[1]
    first = min(max(token_id - ROWS // 2, 0), max(len(E) - ROWS, 0))
    window = list(range(first, min(first + ROWS, len(E))))
    difference = float((product - E[token_ids]).abs().max())
    title = page.label("product_title", token=code(run.tokens[at]), id=token_id, d=d)
    st.markdown(f"**{title}**")
    text = {"one_hot": page.label("product_one_hot", n=n, v=len(E)), "matrix": page.label("product_matrix", v=len(E), d=d, first=window[0], last=window[-1]),
            "result": page.label("product_result", n=n, d=d)} | {key: page.label(f"product_{key}") for key in ("column", "entry", "keys")}
    embedding_product(run.token_ids, run.tokens, E[window].numpy(), window, [run.tokenizer.visible(i) for i in window], product.numpy(), vocab_size=len(E), picked=at,
                      text=text, key=PICTURE, on_pick=lambda position: reader.select(position=position), height=HEIGHT, foot=NOTE if reader.present() else 0, scale=reader.scale(), theme=reader.theme())
    st.caption(page.label("product_check", difference=f"{difference:g}", multiplications=n * len(E) * d, read=n * d))
    return Reading(_lines(page, run, E, at), _question(page, len(E), d), [embeddings.one_hot, embeddings.embed], {"product.csv": lambda: _table(run, product)}, ".product canvas", title)


def _lines(page: Lesson, run: Run, E: torch.Tensor, at: int) -> list[tuple[str, str]]:
    token_id, row = run.token_ids[at], E[run.token_ids[at]]
    entries = ",\\ ".join(latex_number(float(value)) for value in row[:SHOWN])
    other = (token_id + 1) % len(E)
    one = rf"X_{{{at},0}} = \sum_{{v=0}}^{{{len(E) - 1}}} \mathbb{{1}}_{{v}}\,E_{{v,0}} = 1 \cdot {bracketed(latex_number(float(row[0])))} + 0 \cdot {bracketed(latex_number(float(E[other, 0])))} + 0 + \dots = {latex_number(float(row[0]))}"
    return [(page.label("product_numbers_one", token=code(run.tokens[at]), id=token_id, other=code(run.tokenizer.visible(other))), one),
            (page.label("product_numbers_row", d=E.shape[1]), rf"X_{{{at}}} = \mathbb{{1}}_{{{token_id}}}\,E = E_{{{token_id}}} = \left({entries},\ \dots\right)"),
            (page.label("product_numbers_length"), rf"\lVert E_{{{token_id}}} \rVert = \sqrt{{\textstyle\sum_c E_{{{token_id},c}}^2}} = {latex_number(float(row.double().norm()))}")]


def _question(page: Lesson, vocab_size: int, d: int) -> Question:
    """Of the |V| d products that one token's row costs, how many are not a multiplication by 0."""
    counts = [1, d, vocab_size, vocab_size * d]
    return Question("product", page.label("product_question", all=vocab_size * d), [f"{count:,}" for count in counts], 1, page.label("product_because", d=d, v=vocab_size))


def _table(run: Run, product: torch.Tensor) -> pd.DataFrame:
    values = product.numpy()
    return pd.DataFrame({"position": np.arange(len(values)), "token": run.tokens, "id": run.token_ids} | {f"x{c}": values[:, c] for c in range(values.shape[1])})
