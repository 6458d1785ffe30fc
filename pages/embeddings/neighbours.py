"""Neighbours: the tokens whose rows of E are nearest to a word's, and the distribution of the similarity over all."""
import pandas as pd
import streamlit as st
import torch

from core.analysis import embeddings
from core.app.lesson import Lesson, Prediction, Question, Reading, Truth, Word, guess_of
from core.app.state import Run
from core.base.markdown import code
from core.figures.names import distinct
from core.figures.numbers import bracketed, latex_number, readable
from core.figures.positions import cosine_latex, dot_latex
from pages.embeddings import charts as figures
from pages.embeddings.shared import (
    Space,
    attached,
    choice,
    guessed,
    keep,
    look,
    read,
    show,
    space_of,
    spelling,
    token_in,
    told,
    word,
)

N_SHOWN = 14
N_MARKED = 4
APART = 4.0       # standard deviations above the mean from which on the nearest token stands apart from the others


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask for the token nearest to the word by the cosine; no question by other measures."""
    if read("measure") != "cosine":
        return None
    (token_id, _), centred = token_in(page, run), read("centred")

    def truth(typed: str) -> Truth:
        space = space_of(run)
        scores, ids = _nearest(embeddings.centred(space.E) if centred else space.E, token_id, "cosine")
        own, bars = told(space, scores, ids.tolist(), typed, run)
        others = scores[ids]
        apart = float((others[0] - others.mean()) / others.std()) >= APART
        return Truth(bars[0][0], bars=bars, seen=0 if apart else 1, values={
            "top": bars[0][0], "value": readable(bars[0][1]), "own": space.names[own],
            "own_value": readable(float(scores[own])), "rank": embeddings.rank(scores, own, [token_id]) or "–",
            "n": len(ids)})

    return Prediction("neighbours", Word(chance=False), truth, _asked(run, token_id))


def _asked(run: Run, token_id: int) -> dict[str, object]:
    return {"word": run.tokenizer.visible(token_id), "d": run.model.config.d_model}


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        token_id = word(page, run)
        measure = choice(page, "measure")
        centred = st.toggle(page.label("centred"), help=page.label("centred_help"), **attached("centred"))
    space = space_of(run)
    E = embeddings.centred(space.E) if centred else space.E
    scores, ids = _nearest(E, token_id, measure)
    first, values = ids[:N_SHOWN].tolist(), scores.abs() if measure == "distance" else scores
    guess = guess_of(page, "neighbours", run, **_asked(run, token_id)) if measure == "cosine" else None
    mine = None if guess is None else guessed(guess, run)
    listed = first if mine in (None, token_id, *first) else [*first[:-1], mine]
    others = values[torch.arange(len(E)) != token_id]
    title = page.label(f"neighbours_title_{measure}", token=code(space.names[token_id]),
                       other=code(space.names[first[0]]), value=readable(float(values[first[0]])),
                       mean=readable(float(others.mean())))
    if ahead := embeddings.rank(scores, token_id) - 1:
        title += " " + page.label("neighbours_ahead", token=code(space.names[token_id]), n=ahead)
    st.markdown(f"**{title}**")
    bars, beside = st.columns([5, 6], gap="large")
    axis, places = page.label(f"axis_{measure}"), {i: place for place, i in enumerate(first, 1)}
    names = [page.label("yours", word=space.names[i]) if i == mine else space.names[i] for i in listed]
    with bars:
        chart = figures.ranked_bars(names, values[listed].numpy(),
                                    [places.get(i) or embeddings.rank(scores, i, [token_id]) for i in listed],
                                    ["guess" if i == mine else "" for i in listed], axis, **look())
        show(chart, "neighbours", lambda point: keep(word=spelling(listed[int(point["place"])], run.tokenizer)))
    with beside:
        marked = list(zip(names, values[first].tolist()))[:N_MARKED]
        if mine not in (None, token_id, *first[:N_MARKED]):
            marked.append((page.label("yours", word=space.names[mine]), float(values[mine])))
        show(figures.spread(others.numpy(), marked[::-1], (axis, page.label("axis_count")), **look()), "spread")
    return Reading(_lines(page, space, E, token_id, first[0], centred), _question(page, space, E, first[0], measure),
                   [embeddings.similarity, embeddings.nearest, embeddings.rank],
                   {"neighbours.csv": lambda: _table(space, measure, values, ids)},
                   ".st-key-embeddings_neighbours", title)


def _nearest(E: torch.Tensor, token_id: int, measure: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The scores (|V|,) of all tokens with one, and the ids of the others, the nearest first."""
    scores = embeddings.similarity(E, E[token_id], measure)
    return scores, embeddings.nearest(scores, [token_id])


def _lines(page: Lesson, space: Space, E: torch.Tensor, token_id: int, other: int,
           centred: bool) -> list[tuple[str, str]]:
    a, b = E[token_id], E[other]
    product, lengths = float(a @ b), (float(a.norm()), float(b.norm()))
    u, v = (rf"E_{{{i}}}" + "'" * centred for i in (token_id, other))
    first, second = (latex_number(length, 6) for length in lengths)
    return [(page.label("neighbours_numbers_dot", token=code(space.names[token_id]), other=code(space.names[other])),
             dot_latex(rf"{u} \cdot {v}", a.tolist(), b.tolist())),
            (page.label("neighbours_numbers_cosine"),
             cosine_latex(u, v, a, b, product / lengths[0] / lengths[1])),
            (page.label("neighbours_numbers_distance"),
             rf"\lVert {u} - {v} \rVert = \sqrt{{{first}^2 + {second}^2 - 2 \cdot "
             rf"{bracketed(latex_number(product, 6))}}} = {latex_number((a - b).norm())}")]


def _question(page: Lesson, space: Space, E: torch.Tensor, token_id: int, measure: str) -> Question:
    """The nearest token of the nearest token: nearest neighbours are not mutual."""
    scores, ids = _nearest(E, token_id, measure)
    options = sorted(int(ids[k]) for k in (0, 2, 8, 26) if k < len(ids))
    values = (scores.abs() if measure == "distance" else scores)[options].tolist()
    listed = ", ".join(f"{code(space.names[i])} {readable(value)}" for i, value in zip(options, values))
    return page.question("neighbours", [code(name) for name in distinct([space.names[i] for i in options])],
                         options.index(int(ids[0])), token=code(space.names[token_id]),
                         measure=page.label(f"measure_{measure}").lower(), found=listed)


def _table(space: Space, measure: str, values: torch.Tensor, ids: torch.Tensor) -> pd.DataFrame:
    return pd.DataFrame({"rank": range(1, len(ids) + 1), "id": ids.numpy(),
                         "token": [space.names[i] for i in ids.tolist()], measure: values[ids].numpy()})
