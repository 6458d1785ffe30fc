"""Neighbours: the tokens whose rows of E are nearest to a word's, and how far out they stand among all."""
import pandas as pd
import streamlit as st
import torch

from core.analysis import embeddings
from core.app.base.markdown import code
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.figures.numbers import bracketed, latex_number, readable
from core.figures.positions import dot_latex
from pages.embeddings import charts as figures
from pages.embeddings.shared import Space, attached, chart_height, choice, keep, read, show, space, spelling, word

N_SHOWN = 14
N_MARKED = 4


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        token_id = word(page, run)
        measure = choice(page, "measure")
        st.toggle(page.label("centred"), help=page.label("centred_help"), **attached("centred"))
    here = space(run)
    E = embeddings.centred(here.E) if read("centred") else here.E
    scores = embeddings.similarity(E, E[token_id], measure)
    ids = embeddings.nearest(scores, [token_id])
    first, values = ids[:N_SHOWN].tolist(), scores.abs() if measure == "distance" else scores
    ahead = embeddings.rank(scores, token_id) - 1
    others = scores[torch.arange(len(E)) != token_id]
    title = page.label(f"neighbours_title_{measure}", token=code(here.names[token_id]),
                       other=code(here.names[first[0]]), value=readable(float(values[first[0]])),
                       mean=readable(float(others.abs().mean() if measure == "distance" else others.mean())))
    if ahead:
        title += " " + page.label("neighbours_ahead", token=code(here.names[token_id]), n=ahead)
    st.markdown(f"**{title}**")
    bars, beside = st.columns([5, 6], gap="large")
    with bars:
        chart = figures.ranked_bars([here.names[i] for i in first], values[first].numpy(), range(1, len(first) + 1),
                                    [""] * len(first), page.label(f"axis_{measure}"), reader.theme(),
                                    reader.scale(), chart_height())
        show(chart, "neighbours", lambda point: keep(word=spelling(first[int(point["place"])], run.tokenizer)))
    with beside:
        marked = [(here.names[i], float(values[i])) for i in first[:N_MARKED]]
        all_others = values[torch.arange(len(E)) != token_id].numpy()
        show(figures.spread(all_others, marked[::-1], (page.label(f"axis_{measure}"), page.label("axis_count")),
                            reader.theme(), reader.scale(), chart_height()), "spread")
    return Reading(_lines(page, here, E, token_id, first[0]), _question(page, here, E, first[0], measure),
                   [embeddings.similarity, embeddings.nearest, embeddings.rank],
                   {"neighbours.csv": lambda: _table(here, measure, values, ids)},
                   ".st-key-embeddings_neighbours", title)


def _lines(page: Lesson, here: Space, E: torch.Tensor, token_id: int, other: int) -> list[tuple[str, str]]:
    a, b = E[token_id], E[other]
    product, lengths = float(a @ b), (float(a.norm()), float(b.norm()))
    names = dict(token=code(here.names[token_id]), other=code(here.names[other]))
    symbols = [rf"E_{{{i}}}" + ("'" if read("centred") else "") for i in (token_id, other)]
    written = [latex_number(length, 6) for length in lengths]
    return [(page.label("neighbours_numbers_dot", **names),
             dot_latex(rf"{symbols[0]} \cdot {symbols[1]}", a.tolist(), b.tolist())),
            (page.label("neighbours_numbers_cosine"),
             rf"\cos = \frac{{{symbols[0]} \cdot {symbols[1]}}}{{\lVert {symbols[0]} \rVert\,\lVert {symbols[1]} "
             rf"\rVert}} = \frac{{{latex_number(product, 6)}}}{{{written[0]} \cdot {written[1]}}} = "
             rf"{latex_number(product / lengths[0] / lengths[1])}"),
            (page.label("neighbours_numbers_distance"),
             rf"\lVert {symbols[0]} - {symbols[1]} \rVert = \sqrt{{{written[0]}^2 + {written[1]}^2 - 2 \cdot "
             rf"{bracketed(latex_number(product, 6))}}} = {latex_number(float((a - b).norm()))}")]


def _question(page: Lesson, here: Space, E: torch.Tensor, token_id: int, measure: str) -> Question:
    """The nearest token of the nearest token: nearness by a list is not mutual."""
    scores = embeddings.similarity(E, E[token_id], measure)
    ids = embeddings.nearest(scores, [token_id])
    options = sorted(int(ids[k]) for k in (0, 2, 8, 26) if k < len(ids))
    names = figures.distinct([here.names[i] for i in options])
    found = ", ".join(f"{code(here.names[i])} "
                      f"{readable(abs(float(scores[i])) if measure == 'distance' else float(scores[i]))}"
                      for i in options)
    return Question("neighbours", page.label("neighbours_question", token=code(here.names[token_id]),
                                             measure=page.label(f"measure_{measure}").lower()),
                    [code(name) for name in names], options.index(int(ids[0])),
                    page.label("neighbours_because", found=found))


def _table(here: Space, measure: str, values: torch.Tensor, ids: torch.Tensor) -> pd.DataFrame:
    return pd.DataFrame({"rank": range(1, len(ids) + 1), "id": ids.numpy(),
                         "token": [here.names[i] for i in ids.tolist()], measure: values[ids].numpy()})
