"""Word arithmetic: b − a + c, and the honest rank of the expected answer over the whole vocabulary."""
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import embeddings
from core.analysis.embeddings import Analogy, Projection
from core.app.base.markdown import code
from core.app.compute import growing_results
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run
from core.figures.numbers import latex_number, readable
from core.figures.positions import cosine_latex
from pages.embeddings import charts as figures
from pages.embeddings.shared import PREFIX, Space, axis_titles, keep, look, look_up, show, space, spelling, word

N_SHOWN = 10
FIELDS = ("a", "b", "c", "expected")
RANK_STEPS = (3, 10, 100)     # the ranks that part the options of the question


@dataclass(frozen=True)
class Verdict:
    """Every analogy of the lesson's list whose words this vocabulary has as single tokens."""

    words: list[tuple[str, ...]]
    analogies: list[Analogy]


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    here = space(run)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        a, b, c, expected = (word(page, run, name) for name in FIELDS)
    found, verdict = embeddings.analogy(here.E, a, b, c, expected, here.lengths), _verdict(page, run, here)
    title = _title(page, here, found)
    st.markdown(f"**{title}**")
    bars, plane, beside = st.columns([9, 8, 11], gap="small")
    ids = _shown(found)
    with bars:
        marks = ["expected" if i == expected else "input" if i in found.inputs else "" for i in ids]
        chart = figures.ranked_bars([here.names[i] for i in ids], found.scores[ids].numpy(),
                                    [embeddings.rank(found.scores, i) for i in ids], marks, page.label("axis_sum"),
                                    **look(20, noted=40))
        show(chart, "sums", lambda point: keep(expected=spelling(ids[int(point["place"])], run.tokenizer)))
    with plane:
        points, segments, view = _plane(here, found)
        show(figures.arrows(points, segments, axis_titles(page, view, 2), **look(20, noted=40)), "plane")
    with beside:
        show(_dots(page, verdict, found, here), "verdict",
             lambda point: keep(**dict(zip(FIELDS, verdict.words[int(point["place"])]))))
    st.caption(page.label("arithmetic_verdict", kept=readable(100 * view.kept), n=len(verdict.analogies),
                          **_counts(verdict)))
    return Reading(_lines(page, here, found), _question(page, here, found),
                   [embeddings.analogy, embeddings.similarity, embeddings.rank],
                   {"arithmetic.csv": lambda: _table(here, found), "analogies.csv": lambda: _verdict_table(verdict)},
                   f".st-key-{PREFIX}sums", title)


def _title(page: Lesson, here: Space, found: Analogy) -> str:
    a, b, c = (code(here.names[i]) for i in found.inputs)
    names = dict(a=a, b=b, c=c, expected=code(here.names[found.expected]), rank=found.rank, n=len(here.names),
                 without=found.rank_without_inputs)
    return page.label("arithmetic_title" if found.rank_without_inputs else "arithmetic_title_input", **names)


def _shown(found: Analogy) -> list[int]:
    """The first tokens by cosine with the sum; the expected one is always among them, in the last row if it does
    not come first.
    """
    ids = embeddings.nearest(found.scores)[:N_SHOWN].tolist()
    return ids if found.expected in ids else [*ids[:-1], found.expected]


def _plane(here: Space, found: Analogy) -> tuple[pd.DataFrame, pd.DataFrame, Projection]:
    """The four words and the sum in the plane that keeps most of their variance, the ways a → b and c → sum → expected,
    and the plane.
    """
    a, b, c = found.inputs
    vectors = torch.stack([here.E[a], here.E[b], here.E[c], here.E[found.expected], found.vector])
    view = embeddings.principal_axes(vectors, 2)
    x, y = view(vectors).numpy().T
    points = pd.DataFrame({"x": x, "y": y, "name": [*(here.names[i] for i in (a, b, c, found.expected)), "b − a + c"],
                           "mark": ["", "", "", "expected", "sum"]})
    segments = pd.DataFrame([{"x": x[i], "y": y[i], "x2": x[j], "y2": y[j], "dashed": dashed}
                             for i, j, dashed in ((0, 1, False), (2, 4, False), (4, 3, True))])
    return points, segments, view


def _verdict(page: Lesson, run: Run, here: Space) -> Verdict:
    """The list of the lesson's file, worked out once for a model."""
    def make() -> Verdict:
        asked = [tuple(line.split()) for line in page.text("analogies").splitlines() if len(line.split()) == 4]
        ids = [[look_up(name, run.tokenizer) for name in words] for words in asked]
        kept = [(words, [i for i, _ in found]) for words, found in zip(asked, ids) if all(whole for _, whole in found)]
        return Verdict([words for words, _ in kept],
                       [embeddings.analogy(here.E, *found, here.lengths) for _, found in kept])

    return growing_results.made(run.loaded.key("analogies", page.text("analogies")), make,
                                lambda made: sum(a.scores.nbytes + a.vector.nbytes for a in made.analogies))


def _counts(verdict: Verdict) -> dict[str, int]:
    """How often the expected word is first: of all tokens, of all but the three inputs, and beside c alone."""
    return {"first": sum(a.rank == 1 for a in verdict.analogies),
            "without": sum(a.rank_without_inputs == 1 for a in verdict.analogies),
            "alone": sum(a.rank_beside_c == 1 for a in verdict.analogies)}


def _dots(page: Lesson, verdict: Verdict, found: Analogy, here: Space):
    names = ["{} : {} = {} : {}".format(*words) for words in verdict.words]
    chosen = next((k for k, one in enumerate(verdict.analogies)
                   if (one.inputs, one.expected) == (found.inputs, found.expected)), None)
    ranks = np.array([one.rank_without_inputs for one in verdict.analogies], float)
    baseline = np.array([one.rank_beside_c for one in verdict.analogies], float)
    return figures.rank_dots(names, ranks, baseline, chosen, page.labels("dots"), len(here.names),
                             **look(20, noted=40))


def _lines(page: Lesson, here: Space, found: Analogy) -> list[tuple[str, str]]:
    a, b, c = found.inputs
    terms = [float(here.E[i, 0]) for i in (b, a, c)]
    first = (rf"q_0 = E_{{{b},0}} - E_{{{a},0}} + E_{{{c},0}} = {latex_number(terms[0], 6)} - "
             rf"({latex_number(terms[1], 6)}) + ({latex_number(terms[2], 6)}) = {latex_number(float(found.vector[0]))}")
    cosine = cosine_latex("q", f"E_{{{found.expected}}}", found.vector, here.E[found.expected],
                          float(found.scores[found.expected]))
    return [(page.label("arithmetic_numbers_sum", a=code(here.names[a]), b=code(here.names[b]), c=code(here.names[c])),
             first),
            (page.label("arithmetic_numbers_cosine", expected=code(here.names[found.expected]), ahead=found.rank - 1),
             cosine)]


def _question(page: Lesson, here: Space, found: Analogy) -> Question:
    """The rank of the expected word among the neighbours of c alone, with no arithmetic at all."""
    c, expected = code(here.names[found.inputs[2]]), code(here.names[found.expected])
    place = (found.rank_beside_c
             or embeddings.rank(embeddings.similarity(here.E, here.E[found.inputs[2]]), found.expected))
    return Question("arithmetic", page.label("arithmetic_question", c=c, expected=expected),
                    [page.label(f"arithmetic_option_{k}") for k in range(4)], int(np.searchsorted(RANK_STEPS, place)),
                    page.label("arithmetic_because", rank=place, without=found.rank_without_inputs or found.rank, c=c,
                               expected=expected))


def _table(here: Space, found: Analogy) -> pd.DataFrame:
    ids = embeddings.nearest(found.scores)
    return pd.DataFrame({"rank": range(1, len(ids) + 1), "id": ids.numpy(),
                         "token": [here.names[i] for i in ids.tolist()], "cosine": found.scores[ids].numpy()})


def _verdict_table(verdict: Verdict) -> pd.DataFrame:
    return pd.DataFrame([dict(zip(FIELDS, words)) | {"rank": one.rank, "rank_without_inputs": one.rank_without_inputs,
                                                     "rank_beside_c": one.rank_beside_c}
                         for words, one in zip(verdict.words, verdict.analogies)])
