"""Word arithmetic: b − a + c, and the rank of the expected answer over the whole vocabulary."""
import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import embeddings
from core.analysis.embeddings import Analogy, Projection
from core.app.compute import growing_results
from core.app.lesson import Lesson, Prediction, Question, Reading, Truth, Word, guess_of
from core.app.state import Run, reader
from core.base.markdown import code
from core.figures.numbers import latex_number, readable
from core.figures.positions import cosine_latex
from pages.embeddings import charts as figures
from pages.embeddings.shared import (
    PREFIX,
    Space,
    axis_titles,
    guessed,
    keep,
    look,
    look_up,
    show,
    space_of,
    spelling,
    token_in,
    told,
    word,
)

N_SHOWN = 10
N_PRESENT = 8                 # analogies whose names a projector has room for
FIELDS = ("a", "b", "c", "expected")
RANK_STEPS = (1, 3, 10)       # limits between the options of the question
ON_THE_SPOT = 0.25            # of the step's length: as far as a sum may land from a point that it reaches


# The analogies of the lesson's list whose words are single tokens of this vocabulary, by these words.
Analogies = dict[tuple[str, ...], Analogy]


def predict(page: Lesson, run: Run) -> Prediction:
    """Ask for the token nearest to b − a + c in the vocabulary."""
    a, b, c, expected = (token_in(page, run, name)[0] for name in FIELDS)

    def truth(typed: str) -> Truth:
        space = space_of(run)
        analogy = embeddings.analogy(space.E, a, b, c, expected, space.lengths)
        ids = embeddings.nearest(analogy.scores).tolist()
        own, bars = told(space, analogy.scores, ids, typed, run)
        best = next(i for i in ids if i not in analogy.inputs)
        nearest = page.label("before_arithmetic_input" if ids[0] in analogy.inputs else "before_arithmetic_new",
                             top=code(bars[0][0]), value=readable(bars[0][1]))
        return Truth(bars[0][0], bars=bars, seen=0 if _misses(space, analogy) else 1, values={
            "nearest": nearest, "own": space.names[own], "best": space.names[best],
            "rank": embeddings.rank(analogy.scores, own), "size": len(ids)})

    return Prediction("arithmetic", Word(chance=False), truth, _asked(run, (a, b, c, expected)))


def _asked(run: Run, ids: tuple[int, ...]) -> dict[str, object]:
    return dict(zip(FIELDS, map(run.tokenizer.visible, ids))) | {"n": run.model.config.vocab_size}


def _misses(space: Space, analogy: Analogy) -> bool:
    """Whether, in the plane that is drawn, the sum lands away from the expected word."""
    points, *_ = _plane(space, analogy)
    places = points[["x", "y"]].to_numpy()
    a, b, _, expected, sum_ = places
    return float(np.linalg.norm(sum_ - expected)) > ON_THE_SPOT * float(np.linalg.norm(b - a))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    space = space_of(run)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        a, b, c, expected = (word(page, run, name) for name in FIELDS)
    analogy, listed = embeddings.analogy(space.E, a, b, c, expected, space.lengths), _analogies(page, run, space)
    title = _title(page, space, analogy)
    st.markdown(f"**{title}**")
    bars, plane, beside = st.columns([9, 8, 11], gap="small")
    guess = guess_of(page, "arithmetic", run, **_asked(run, (a, b, c, expected)))
    mine = None if guess is None else guessed(guess, run)
    ids = _tokens(analogy, mine)
    with bars:
        marks = ["guess" if i == mine else "expected" if i == expected else "input" if i in analogy.inputs else ""
                 for i in ids]
        names = [page.label("yours", word=space.names[i]) if i == mine else space.names[i] for i in ids]
        chart = figures.ranked_bars(names, analogy.scores[ids].numpy(),
                                    [embeddings.rank(analogy.scores, i) for i in ids], marks, page.label("axis_sum"),
                                    **look(20, noted=40))
        show(chart, "sums", lambda point: keep(expected=spelling(ids[int(point["place"])], run.tokenizer)))
    with plane:
        points, segments, view = _plane(space, analogy)
        show(figures.arrows(points, segments, axis_titles(page, view, 2), **look(20, noted=40)), "plane")
    with beside:
        show(_dots(page, listed, analogy, space), "verdict",
             lambda point: keep(**dict(zip(FIELDS, list(listed)[int(point["place"])]))))
    page.note(page.label("arithmetic_verdict", kept=readable(100 * view.kept), n=len(listed),
                         **_counts(listed)))
    return Reading(_lines(page, space, analogy), _question(page, space, analogy),
                   [embeddings.analogy, embeddings.similarity, embeddings.rank],
                   {"arithmetic.csv": lambda: _table(space, analogy), "analogies.csv": lambda: _verdict_table(listed)},
                   f".st-key-{PREFIX}sums", title)


def _title(page: Lesson, space: Space, analogy: Analogy) -> str:
    a, b, c = (code(space.names[i]) for i in analogy.inputs)
    names = dict(a=a, b=b, c=c, expected=code(space.names[analogy.expected]), rank=analogy.rank, n=len(space.names),
                 without=analogy.rank_without_inputs)
    return page.label("arithmetic_title" if analogy.rank_without_inputs else "arithmetic_title_input", **names)


def _tokens(analogy: Analogy, mine: int | None) -> list[int]:
    """The N_SHOWN tokens of the largest cosine with the sum; the expected one and the reader's own replace the last
    where they are not among them.
    """
    ids = embeddings.nearest(analogy.scores)[:N_SHOWN].tolist()
    more = [i for i in dict.fromkeys((analogy.expected, mine)) if i is not None and i not in ids]
    return ids[:N_SHOWN - len(more)] + more


def _plane(space: Space, analogy: Analogy) -> tuple[pd.DataFrame, pd.DataFrame, Projection]:
    """The four words and the sum on the plane of their principal axes, the arrows a → b and c → sum → expected, and the
    plane.
    """
    a, b, c = analogy.inputs
    vectors = torch.stack([space.E[a], space.E[b], space.E[c], space.E[analogy.expected], analogy.vector])
    view = embeddings.principal_axes(vectors, 2)
    x, y = view(vectors).numpy().T
    names = [*(space.names[i] for i in (a, b, c, analogy.expected)), "b − a + c"]
    points = pd.DataFrame({"x": x, "y": y, "name": names,
                           "mark": ["", "", "", "expected", "sum"]})
    segments = pd.DataFrame([{"x": x[i], "y": y[i], "x2": x[j], "y2": y[j], "dashed": dashed}
                             for i, j, dashed in ((0, 1, False), (2, 4, False), (4, 3, True))])
    return points, segments, view


def _analogies(page: Lesson, run: Run, space: Space) -> Analogies:
    """The analogies of the lesson's list, shared by all readers."""
    def make() -> Analogies:
        words_of = [tuple(words) for line in page.text("analogies").splitlines() if len(words := line.split()) == 4]
        tokens = {words: [look_up(word, run.tokenizer) for word in words] for words in words_of}
        known = {words: [i for i, _ in ids] for words, ids in tokens.items() if all(whole for _, whole in ids)}
        return {words: embeddings.analogy(space.E, *ids, space.lengths) for words, ids in known.items()}

    return growing_results.made(run.loaded.key("analogies", page.text("analogies")), make,
                                lambda value: sum(a.scores.nbytes + a.vector.nbytes for a in value.values()))


def _counts(listed: Analogies) -> dict[str, int]:
    """How often the expected word ranks first: of all tokens, of all but the three inputs, and beside c alone."""
    return {"first": sum(a.rank == 1 for a in listed.values()),
            "without": sum(a.rank_without_inputs == 1 for a in listed.values()),
            "alone": sum(a.rank_beside_c == 1 for a in listed.values())}


def _dots(page: Lesson, listed: Analogies, analogy: Analogy, space: Space):
    if reader.present():
        listed = dict(list(listed.items())[:N_PRESENT])
    names = ["{} : {} = {} : {}".format(*words) for words in listed]
    chosen = next((k for k, a in enumerate(listed.values())
                   if (a.inputs, a.expected) == (analogy.inputs, analogy.expected)), None)
    ranks, baseline = (np.array([getattr(a, name) for a in listed.values()], float)
                       for name in ("rank_without_inputs", "rank_beside_c"))
    return figures.rank_dots(names, ranks, baseline, chosen, page.labels("dots"), len(space.names),
                             **look(20, noted=40))


def _lines(page: Lesson, space: Space, analogy: Analogy) -> list[tuple[str, str]]:
    a, b, c = analogy.inputs
    names, expected = {name: code(space.names[i]) for name, i in zip("abc", analogy.inputs)}, analogy.expected
    a_0, b_0, c_0 = (latex_number(space.E[i, 0], 6) for i in analogy.inputs)
    return [(page.label("arithmetic_numbers_sum", **names),
             rf"q_0 = E_{{{b},0}} - E_{{{a},0}} + E_{{{c},0}} = {b_0} - ({a_0}) + ({c_0}) = "
             rf"{latex_number(analogy.vector[0])}"),
            (page.label("arithmetic_numbers_cosine", expected=code(space.names[expected]), ahead=analogy.rank - 1),
             cosine_latex("q", f"E_{{{expected}}}", analogy.vector, space.E[expected], analogy.scores[expected]))]


def _question(page: Lesson, space: Space, analogy: Analogy) -> Question:
    """The same analogy backwards: the rank of b after expected − c + a, the three words that go in left out."""
    (a, b, c), expected = analogy.inputs, analogy.expected
    names = {name: code(space.names[i]) for name, i in zip(FIELDS, (a, b, c, expected))}
    back = embeddings.analogy(space.E, c, expected, a, b, space.lengths)
    place = back.rank_without_inputs or back.rank
    nearest = int(embeddings.nearest(back.scores, back.inputs)[0])
    return page.question("arithmetic", [page.label(f"arithmetic_option_{k}") for k in range(4)],
                         int(np.searchsorted(RANK_STEPS, place)), **names, rank=place,
                         nearest=code(space.names[nearest]))


def _table(space: Space, analogy: Analogy) -> pd.DataFrame:
    ids = embeddings.nearest(analogy.scores)
    return pd.DataFrame({"rank": range(1, len(ids) + 1), "id": ids.numpy(),
                         "token": [space.names[i] for i in ids.tolist()], "cosine": analogy.scores[ids].numpy()})


def _verdict_table(listed: Analogies) -> pd.DataFrame:
    return pd.DataFrame([{**dict(zip(FIELDS, words)), "rank": a.rank, "rank_without_inputs": a.rank_without_inputs,
                          "rank_beside_c": a.rank_beside_c}
                         for words, a in listed.items()])
