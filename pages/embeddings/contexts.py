"""Two contexts: one token in two texts, and the paths of its vectors through the layers in one common plane."""
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.analysis import embeddings, stream_and_heads
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot
from core.app.state import Run
from core.app.state.lesson_settings import list_key
from core.base.markdown import code
from core.figures.numbers import latex_number, readable
from core.figures.positions import cosine_latex
from core.figures.thinning import thinned
from pages.embeddings import charts as figures
from pages.embeddings.shared import PREFIX, attached, axis_titles, keep, look, read, show, space_of

QUOTED = 6                      # tokens of each text in the question
NAMED_BLOCKS = 8                # of each path in the plane
ALIKE, SAME = 0.5, 0.99         # cosines from which two vectors are called alike, and the same
OWN_STEPS = (0.1, 0.5, 0.9)     # limits between the options of the question at the foot
# decimals of a place in the plane: beyond them, the principal axes of the same points differ between two runs
PLACE_DIGITS = 9
# decimals of the cosine of two vectors computed in float32: beyond them, equal vectors of two passes differ
SURE_DIGITS = 6


@dataclass(frozen=True)
class Paths:
    """The two paths, vectors (2, L + 2, d) float64, and their projection onto a plane."""

    token_id: int
    vectors: Tensor
    seen: Tensor               # the projected vectors: `vectors`, or only their directions
    projection: embeddings.Projection
    cosines: np.ndarray        # (L + 2,) between the two, depth by depth, to SURE_DIGITS
    nearest: list[list[int]]   # the row of E nearest to each vector, by cosine


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How alike a token's two last vectors are; nothing is asked where it can see the same in both texts."""
    if run.model.config.embedding.embedding_width:
        return None
    other = _other(page, run)
    names = _common(run, other)
    if not names:
        return None
    token_id, equal = _picked(names), read("equal")
    seen = [text.token_ids[:None if run.is_encoder else _last_place(text, token_id)] for text in (run, other)]
    if seen[0] == seen[1]:
        return None

    def truth(guess: int) -> Truth:
        paths = _paths(run, other, token_id, equal)
        a, b = paths.projection(paths.seen)
        together = float(stream_and_heads.cosines((a[2] - a[1])[None], (b[2] - b[1])[None])[0]) > 0.5
        last = float(paths.cosines[-1])
        return Truth(0 if last >= SAME else 1 if last >= ALIKE else 2, said=readable(last), seen=0 if together else 1,
                     values={"last": readable(last)})

    options = [page.label(f"before_contexts_{which}", alike=ALIKE, same=SAME) for which in ("same", "alike", "apart")]
    return Prediction("contexts", Options(options), truth, {
        "token": run.tokenizer.visible(token_id), "a": _around(run, token_id), "b": _around(other, token_id)})


def _around(run: Run, token_id: int) -> str:
    """The text up to the token's last place, or the end of it."""
    place = _last_place(run, token_id)
    text = run.tokenizer.decode(run.token_ids[max(0, place - QUOTED):place + 1]).strip()
    return text if place <= QUOTED else f"… {text.lstrip(' ,.;:')}"


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    if run.model.config.embedding.embedding_width:
        return cannot(page.label("contexts_mapped", e=run.model.config.d_embedding, d=run.model.config.d_model))
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown(page.label("other"), width="content", help=page.label("other_help"))
        st.text_input(page.label("other"), placeholder=page.label("other_default"), max_chars=2000,
                              label_visibility="collapsed", width="stretch", **attached("other"))
        other = _other(page, run)
        token_id = _shared_word(page, run, other)
        equal = st.toggle(page.label("equal"), help=page.label("equal_help"), **attached("equal"))
    if token_id is None:
        st.info(page.label("contexts_none", token=code(run.tokens[0])))
        token_id, other = run.token_ids[0], run
    paths = _paths(run, other, token_id, equal)
    names = [page.label("depth_static"),
             page.label("depth_entering" if run.trace.position is not None else "depth_entering_plain"),
             *(str(n + 1) for n in range(run.model.config.n_layers))]
    space = space_of(run)
    last, lowest = len(names) - 1, int(np.argmin(paths.cosines))
    title = page.label("contexts_title" if paths.cosines[lowest] < 1 else "contexts_title_same",
                       token=code(space.names[token_id]), kept=readable(100 * paths.projection.kept),
                       lowest=readable(paths.cosines[lowest]), where=_depth(page, names, lowest))
    st.markdown(f"**{title}**")
    plane, beside = st.columns([3, 2], gap="medium")
    points = _points(page, paths, names, space.names)
    with plane:
        show(figures.two_paths(points, axis_titles(page, paths.projection, 2), **look(noted=50)), "paths")
    with beside:
        nearest = {page.label(f"near_{path}"): [space.names[i] for i in way] for path, way in zip("ab", paths.nearest)}
        show(figures.alike_by_depth(paths.cosines, names, nearest, page.label("axis_alike"), **look(noted=50)), "alike")
    return Reading(_lines(page, paths, last), _question(page, run, paths, names),
                   [embeddings.path, embeddings.principal_axes, stream_and_heads.cosines],
                   {"paths.csv": lambda: points.drop(columns="label")}, f".st-key-{PREFIX}paths", title)


def _other(page: Lesson, run: Run) -> Run:
    """Text B."""
    return run.with_text(read("other") or page.label("other_default"))


def _common(run: Run, other: Run) -> dict[int, str]:
    """The tokens that both texts contain, but for those that every text begins and ends with: id -> visible form."""
    special = {run.tokenizer.end_of_text, *run.tokenizer.begin, *run.tokenizer.end}
    return {i: run.tokenizer.visible(i) for i in embeddings.shared_tokens(run.token_ids, other.token_ids)
            if i not in special}


def _picked(names: dict[int, str]) -> int:
    """The one that the reader has picked, by default the longest, of equally long ones the last."""
    bare = {i: name.removeprefix("·") for i, name in names.items()}
    typed = read("shared").strip().removeprefix("·")
    return next((i for i in bare if bare[i] == typed), max(reversed(bare), key=lambda i: len(bare[i])))


def _last_place(run: Run, token_id: int) -> int:
    return len(run.token_ids) - 1 - run.token_ids[::-1].index(token_id)


def _shared_word(page: Lesson, run: Run, other: Run) -> int | None:
    """Draw the choice of a token that both texts contain, and return it; None if there is none."""
    names = _common(run, other)
    if not names:
        return None
    bare = {i: name.removeprefix("·") for i, name in names.items()}
    key, now = list_key(f"{PREFIX}shared_widget", [*names.values()]), _picked(names)
    if st.session_state.get(key) != now:
        st.session_state[key] = now
    st.markdown(page.label("shared"), width="content")
    return st.selectbox(page.label("shared"), list(names), format_func=names.get, key=key, width=140,
                        label_visibility="collapsed", on_change=lambda: keep(shared=bare[st.session_state[key]]))


def _paths(run: Run, other: Run, token_id: int, equal: bool) -> Paths:
    """The paths of the token's last occurrence in each text, on the plane of the principal axes of both."""
    space, paths = space_of(run), []
    for text in (run, other):
        paths.append(embeddings.path(space.E, text.trace, _last_place(text, token_id)).cpu().double())
    vectors = torch.stack(paths)
    vectors[:, 0] = space.E[token_id]
    seen = vectors / stream_and_heads.norms(vectors).unsqueeze(-1) if equal else vectors
    return Paths(token_id, vectors, seen, embeddings.principal_axes(seen.flatten(0, 1), 2),
                 stream_and_heads.cosines(*vectors).numpy().round(SURE_DIGITS),
                 embeddings.nearest_rows(space.E, vectors, space.lengths).tolist())


def _depth(page: Lesson, names: list[str], depth: int) -> str:
    entering = "at_entering" if names[1] == page.label("depth_entering") else "at_entering_plain"
    return [page.label("at_static"), page.label(entering),
            *(page.label("at_block", n=name, all=len(names) - 2) for name in names[2:])][depth]


def _points(page: Lesson, paths: Paths, names: list[str], tokens: tuple[str, ...]) -> pd.DataFrame:
    places = paths.projection(paths.seen).numpy().round(PLACE_DIGITS)
    rows, named = [], {2 + block for block in thinned(len(names) - 2, NAMED_BLOCKS)}
    for path, way, nearest in zip("AB", places, paths.nearest):
        for depth, (x, *rest) in enumerate(way):
            label = f"{path} {names[depth]}" if depth in named else names[0] if (path, depth) == ("A", 0) else ""
            rows.append({"path": path, "depth": depth, "name": _depth(page, names, depth), "x": x,
                         "y": rest[0] if rest else 0.0, "nearest": tokens[nearest[depth]],
                         "cosine_between": paths.cosines[depth], "label": label})
    return pd.DataFrame(rows)


def _lines(page: Lesson, paths: Paths, last: int) -> list[tuple[str, str]]:
    shares = [latex_number(share) for share in paths.projection.shares[:2]]
    return [(page.label("contexts_numbers_cosine"),
             cosine_latex("x^A", "x^B", *paths.vectors[:, last], paths.cosines[last])),
            (page.label("contexts_numbers_kept", n=paths.seen.shape[0] * paths.seen.shape[1]),
             rf"\frac{{\lambda_1 + \lambda_2}}{{\sum_k \lambda_k}} = {' + '.join(shares)} = "
             rf"{latex_number(paths.projection.kept)}")]


def _question(page: Lesson, run: Run, paths: Paths, names: list[str]) -> Question:
    """The cosine of the token's last vector with its row of E."""
    alike = stream_and_heads.cosines(paths.vectors[0], paths.vectors[0, :1]).tolist()
    return page.question("contexts", [page.label(f"contexts_option_{k}") for k in range(4)],
                         int(np.searchsorted(OWN_STEPS, alike[-1])), token=code(run.tokenizer.visible(paths.token_id)),
                         found=", ".join(f"{name}: {readable(value)}" for name, value in zip(names, alike)))
