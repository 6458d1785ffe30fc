"""The map: every token of the vocabulary on the principal axes of E, or the frequent words by t-SNE."""
import bisect
import collections
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import embeddings, tsne
from core.analysis.attribution import rank_correlation
from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot
from core.app.state import Run
from core.base.markdown import code
from core.components import declare
from core.figures.numbers import latex_number, latex_operand, readable
from pages.embeddings import charts as figures
from pages.embeddings.shared import (
    PREFIX,
    Space,
    axis_titles,
    choice,
    keep,
    look,
    read,
    space_of,
    spelling,
    token_in,
    word,
)

N_NAMED = 8
KEPT = (10, 50, 90)     # per cent of the variance: the limits between the answers
N_MAPPED, N_MOVES, PERPLEXITY = 1000, 300, 20.0     # of the map by t-SNE: some seconds on one core
MOST_DRAWN = {2: 5_000, 3: 20_000}      # points of a map by its axes: a browser draws more with delay
FLAT = f"{PREFIX}flat"      # of this session: its browser has no WebGL
N_KEPT = 10             # neighbours of each word by which a map is measured
LEAST_MAPPED = 3 * round(PERPLEXITY)      # words that t-SNE needs at least
PLOTLY = {"displaylogo": False, "scrollZoom": True,
          "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "toImage"]}
_webgl = declare("embeddings_webgl", Path(__file__).with_name("webgl.js"))


@dataclass(frozen=True)
class Map:
    """A map: its tokens, their places, the titles of the axes, and the texts above and below."""

    ids: list[int]
    places: np.ndarray      # (n, 2 or 3)
    axes: list[str]
    title: str
    note: str
    kept: float             # the share of the variance, or of the nearest neighbours, that it keeps


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How much of the rows' variance a map on principal axes keeps; of a map by t-SNE nothing is asked."""
    if read("dimensions") == "tsne":
        return None
    (token_id, _), k = token_in(page, run), int(read("dimensions"))

    def truth(guess: int) -> Truth:
        space = space_of(run)
        kept = 100 * float(space.projection.shares[:k].sum())
        there = embeddings.nearest(embeddings.similarity(space.E, space.E[token_id]), [token_id])[:N_NAMED].tolist()
        on_map = -torch.linalg.vector_norm(space.places[:, :k] - space.places[token_id, :k], dim=1)
        here = embeddings.nearest(on_map, [token_id])[:N_NAMED].tolist()
        both = len(set(here) & set(there))
        return Truth(bisect.bisect_right(KEPT, kept), said=f"{readable(kept)}\u00a0%",
                     seen=0 if both < N_NAMED / 2 else 1, values={"kept": readable(kept)})

    return Prediction("map", Options([page.label(f"before_map_kept_{n}") for n in range(len(KEPT) + 1)]), truth,
                      {"k": page.label(f"before_map_{k}"), "d": run.model.config.d_model, "near": N_NAMED,
                       "token": run.tokenizer.visible(token_id)})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    space = space_of(run)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        token_id = word(page, run)
        kind = choice(page, "dimensions")
        is_flat = kind == "3" and _without_webgl()
        legend = st.container(width="stretch")
    if kind == "tsne" and space.kinds.count("word") <= LEAST_MAPPED:
        return cannot(page.label("tsne_no_words"))
    view = (_neighbourhoods(page, run, space, token_id) if kind == "tsne"
             else _principal(page, space, token_id, 2 if is_flat else int(kind)))
    counts = collections.Counter(space.kinds[i] for i in view.ids)
    legend.caption(" · ".join(page.label(f"kind_{kind}", n=counts[kind]) for kind in figures.KINDS if counts[kind]))
    st.markdown(f"**{view.title}**")
    at = {token: place for place, token in enumerate(view.ids)}
    near = [i for i in embeddings.nearest(embeddings.similarity(space.E, space.E[token_id]), [token_id]).tolist()
            if i in at][:N_NAMED]
    figure = figures.vocabulary_map(view.places, view.ids, [space.names[i] for i in view.ids],
                                    [space.kinds[i] for i in view.ids], [at[i] for i in near], at.get(token_id),
                                    view.axes, **look(noted=60))
    with st.container(key=f"{PREFIX}map"):
        st.plotly_chart(figure, theme=None, key=f"{PREFIX}map_chart", on_select=lambda: _pick(run),
                        selection_mode="points", config=PLOTLY, width="stretch")
    page.note(f"{page.label('map_flat')} {view.note}" if is_flat else view.note)
    functions = [tsne.gradient, tsne.tsne] if kind == "tsne" else [embeddings.principal_axes, embeddings.Projection]
    lines = (_neighbour_lines(page, view) if kind == "tsne" else
             _axis_lines(page, space, token_id, 2 if is_flat else int(kind)))
    return Reading(lines, _question(page, space), functions,
                   {"map.csv": lambda: _table(space, view)}, f".st-key-{PREFIX}map", view.title)


def _without_webgl() -> bool:
    """Whether the reader's browser has said that it has no WebGL."""
    _webgl(key=f"{PREFIX}webgl", data={"isKnown": FLAT in st.session_state},
           events={"missing": lambda missing: st.session_state.update({FLAT: missing})})
    return FLAT in st.session_state


def _principal(page: Lesson, space: Space, token_id: int, k: int) -> Map:
    """Every token on the first k principal axes of E."""
    kept = float(space.projection.shares[:k].sum())
    title = page.label("map_title", n=len(space.names), k=k, kept=readable(100 * kept),
                       token=code(space.names[token_id]), near=N_NAMED)
    axes = axis_titles(page, space.projection, k)
    note = (page.label("map_lost", kept=readable(100 * kept), lost=readable(100 * (1 - kept)))
            + (f" {page.label('map_rank', rank=readable(rank))}" if (rank := _spearman(space)) is not None else ""))
    ids = list(range(len(space.names)))
    if len(ids) > MOST_DRAWN[k]:
        near = embeddings.nearest(embeddings.similarity(space.E, space.E[token_id])).tolist()[:N_NAMED + 1]
        ids = sorted({*ids[::math.ceil(len(ids) / MOST_DRAWN[k])], token_id, *near})
        note = f"{page.label('map_thinned', shown=len(ids))} {note}"
    return Map(ids, space.places.numpy()[ids, :k], axes, title, note, kept)


def _neighbourhoods(page: Lesson, run: Run, space: Space, token_id: int) -> Map:
    """The first N_MAPPED tokens that begin a word, placed by t-SNE."""
    ids = mapped(space.kinds)
    places, kept, straight = growing_results.result(
        run.loaded.key("embeddings t-SNE", N_MAPPED, N_MOVES), lambda: map_of(space.E[ids]),
        lambda value: value[0].nbytes, page.label("tsne_progress"), lambda kept: (torch.tensor(kept[0]), *kept[1:]))
    title = page.label("tsne_title", n=len(ids), kept=readable(100 * kept), k=N_KEPT,
                       token=code(space.names[token_id]), near=N_NAMED)
    note = page.label("tsne_note", kept=readable(100 * kept), straight=readable(100 * straight), k=N_KEPT,
                      chance=readable(100 * N_KEPT / (len(ids) - 1)))
    if token_id not in ids:
        note = f"{page.label('tsne_missing', token=code(space.names[token_id]), n=len(ids))} {note}"
    return Map(ids, places.numpy(), ["", ""], title, note, float(kept))


def mapped(kinds: Sequence[str]) -> list[int]:
    """The first N_MAPPED tokens that begin a word."""
    return [i for i, kind in enumerate(kinds) if kind == "word"][:N_MAPPED]


def map_of(rows: torch.Tensor) -> Iterator[Part]:
    """The places of these rows of E by t-SNE, the share of neighbours that they keep, and that of the principal plane
    where t-SNE began.
    """
    directions = torch.nn.functional.normalize(rows, dim=1)
    start = embeddings.principal_axes(directions, 2)(directions)
    for step in tsne.tsne(directions.float(), start.float(), PERPLEXITY, N_MOVES):
        yield Part(None, step.step, step.steps)
    yield Part((step.places, *(tsne.neighbours_kept(directions, places, N_KEPT)
                               for places in (step.places.double(), start))), step.steps, step.steps)


def _pick(run: Run) -> None:
    """Callback: make the picked point the word."""
    if points := st.session_state[f"{PREFIX}map_chart"].selection.points:
        keep(word=spelling(int(points[0]["customdata"]), run.tokenizer))


def _spearman(space: Space) -> float | None:
    """Spearman's ρ of the coordinate on axis 1 and the id, among tokens that begin a word; None for fewer than three.
    Ids follow the order of the merges, the most frequent pairs first.
    """
    ids = torch.tensor([i for i, kind in enumerate(space.kinds) if kind == "word"], dtype=torch.long)
    return rank_correlation(space.places[ids, 0].numpy(), ids.numpy()) if len(ids) > 2 else None


def _neighbour_lines(page: Lesson, view: Map) -> list[tuple[str, str]]:
    """How many of the nearest words stay near."""
    n, kept = len(view.ids), round(view.kept * len(view.ids) * N_KEPT)
    return [(page.label("map_numbers_neighbours", n=n, k=N_KEPT),
             rf"\frac{{{kept}}}{{{n} \cdot {N_KEPT}}} = {latex_number(view.kept)}"),
            (page.label("map_numbers_chance"), rf"\frac{{{N_KEPT}}}{{{n - 1}}} = {latex_number(N_KEPT / (n - 1))}")]


def _axis_lines(page: Lesson, space: Space, token_id: int, k: int) -> list[tuple[str, str]]:
    """The word's place on the first axis, and the variance that k axes keep."""
    view, row = space.projection, space.E[token_id]
    terms = zip((row - view.mean)[:3].tolist(), view.axes[0, :3].tolist())
    variances = " + ".join((r"\lambda_1", r"\lambda_2", r"\lambda_3")[:k])
    sum_ = " + ".join(rf"({latex_number(x)})({latex_number(v)})" for x, v in terms)
    return [(page.label("map_numbers_place", token=code(space.names[token_id])),
             rf"z_1 = (E_{{{token_id}}} - \bar E) \cdot v_1 = {sum_} + \dots = {latex_number(view(row)[0])}"),
            (page.label("map_numbers_share", k=k, total=int((view.shares > 0).sum())),
             rf"\frac{{{variances}}}{{\sum_k \lambda_k}} = "
             rf"{' + '.join(map(latex_operand, view.shares[:k].tolist()))} = {latex_number(view.shares[:k].sum())}")]


def _question(page: Lesson, space: Space) -> Question:
    """How many axes keep half of the variance."""
    needed = int(torch.searchsorted(space.projection.shares.cumsum(0), 0.5)) + 1
    options = sorted({needed, 2, max(3, needed // 4), min(4 * needed, len(space.projection.shares))})
    return page.question("map", [str(option) for option in options], options.index(needed), needed=needed,
                         d=space.E.shape[1], ten=readable(100 * float(space.projection.shares[:10].sum())))


def _table(space: Space, view: Map) -> pd.DataFrame:
    return pd.DataFrame({"id": view.ids, "token": [space.names[i] for i in view.ids],
                         "kind": [space.kinds[i] for i in view.ids]}
                        | {f"axis_{axis}": places for axis, places in enumerate(view.places.T, 1)})
