"""The map: every token of the vocabulary on the axes along which the rows of E differ most."""
from __future__ import annotations

import collections

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core import embeddings
from core.figures import embeddings as figures
from core.figures.numbers import latex_number, readable
from core.ui import state
from core.ui.check import Question
from core.ui.embeddings.reading import PREFIX, Space, chart_height, choice, keep, space, spelling, word
from core.ui.lesson import Lesson
from core.ui.markdown import code
from core.ui.run import Run
from core.ui.views import Reading

N_NAMED = 8
PLOTLY = {"displaylogo": False, "scrollZoom": True, "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "toImage"]}


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    here = space(run)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        token_id = word(page, run)
        k = int(choice(page, "dimensions"))
        counts = collections.Counter(here.kinds)
        st.caption(" · ".join(page.label(f"kind_{kind}", n=counts[kind]) for kind in figures.KINDS if counts[kind]), width="stretch")
    coordinates, shares = here.places.numpy()[:, :k], here.projection.shares
    kept = float(shares[:k].sum())
    near = embeddings.nearest(embeddings.similarity(here.E, here.E[token_id]), [token_id])[:N_NAMED].tolist()
    title = page.label("map_title", n=len(here.names), k=k, kept=readable(100 * kept), token=code(here.names[token_id]), near=N_NAMED)
    st.markdown(f"**{title}**")
    titles = [page.label("axis_principal", axis=axis + 1, share=readable(100 * float(shares[axis]))) for axis in range(k)]
    figure = figures.vocabulary_map(coordinates, here.names, here.kinds, near, token_id, titles, state.theme(), state.scale(), chart_height())
    with st.container(key=f"{PREFIX}map"):
        st.plotly_chart(figure, theme=None, key=f"{PREFIX}map_chart", on_select=lambda: _pick(run), selection_mode="points", config=PLOTLY, width="stretch")
    st.caption(page.label("map_lost", kept=readable(100 * kept), lost=readable(100 * (1 - kept)), rank=readable(_spearman(here))))
    return Reading(_lines(page, here, token_id), _question(page, here), [embeddings.principal_axes, embeddings.Projection], {"map.csv": lambda: _table(here)}, f".st-key-{PREFIX}map", title)


def _pick(run: Run) -> None:
    """A click on a point makes it the word."""
    if points := st.session_state[f"{PREFIX}map_chart"].selection.points:
        keep(word=spelling(int(points[0]["point_index"]), run.tokenizer))


def _spearman(here: Space) -> float:
    """How closely axis 1 follows the order of the ids among tokens that begin a word: Spearman's rank correlation. A vocabulary gives ids as it makes
    tokens, the most frequent pairs first."""
    ids = torch.tensor([i for i, kind in enumerate(here.kinds) if kind == "word"])
    places = torch.argsort(torch.argsort(here.places[ids, 0])).double()
    return float(torch.corrcoef(torch.stack([places, torch.arange(len(places)).double()]))[0, 1])


def _lines(page: Lesson, here: Space, token_id: int) -> list[tuple[str, str]]:
    view, row = here.projection, here.E[token_id]
    terms = [(float(row[c] - view.mean[c]), float(view.axes[0, c])) for c in range(3)]
    written = " + ".join(rf"({latex_number(x)})({latex_number(v)})" for x, v in terms)
    total = int((view.shares > 0).sum())
    return [(page.label("map_numbers_place", token=code(here.names[token_id])), rf"z_1 = (E_{{{token_id}}} - \bar E) \cdot v_1 = {written} + \dots = {latex_number(float(view(row)[0]))}"),
            (page.label("map_numbers_share", total=total), rf"\frac{{\lambda_1 + \lambda_2 + \lambda_3}}{{\sum_k \lambda_k}} = "
             rf"{' + '.join(latex_number(float(s)) for s in view.shares[:3])} = {latex_number(float(view.shares[:3].sum()))}")]


def _question(page: Lesson, here: Space) -> Question:
    """How many axes keep half of the variance."""
    needed = int(torch.searchsorted(here.projection.shares.cumsum(0), 0.5)) + 1
    options = sorted({needed, 2, max(3, needed // 4), min(4 * needed, len(here.projection.shares))})
    return Question("map", page.label("map_question"), [str(option) for option in options], options.index(needed),
                    page.label("map_because", needed=needed, d=here.E.shape[1], ten=readable(100 * float(here.projection.shares[:10].sum()))))


def _table(here: Space) -> pd.DataFrame:
    coordinates = here.places.numpy()
    return pd.DataFrame({"id": np.arange(len(here.names)), "token": here.names, "kind": here.kinds} | {f"axis_{axis + 1}": coordinates[:, axis] for axis in range(coordinates.shape[1])})
