"""Parts shared by the lesson's views: the settings, the picked word, and the matrix in float64."""
import functools
import re
from dataclasses import dataclass

import streamlit as st
import torch
from torch import Tensor

from core.analysis.embeddings import LARGE, MEASURES, ROWS, Projection, principal_axes
from core.analysis.stream_and_heads import norms
from core.app.compute import growing_results
from core.app.lesson import Lesson, views
from core.app.parts import charts
from core.app.state import Run
from core.app.state.lesson_settings import Setting, Settings, view_setting
from core.base.markdown import escaped
from core.figures.numbers import readable
from core.model.tokenizer import Tokenizer
from pages.embeddings.charts import kind_of

PREFIX = "embeddings_"
CHART = 425            # px of a chart: the rest of a 720 px screen
CHART_PRESENT = 400    # the same in present mode
HELPED = ("word", "expected")      # fields with a help; of several in one line only the last
MOST_CHARACTERS = 60   # of a typed word
N_TOLD = 4             # nearest tokens that are told beside a guess
SETTINGS = Settings("embeddings", {
    "view": view_setting("embeddings"),
    "use": Setting("in", options=("in", "out")),    # of E: a row for each token read, or a column for each to come
    "picked": Setting(-1, low=-1),                  # the token whose column is lit; −1: the most probable one
    "word": Setting("hot"),
    "measure": Setting("cosine", options=MEASURES),
    "centred": Setting(False),
    "dimensions": Setting("2", options=("2", "3", "tsne")),
    "other": Setting(""),
    "shared": Setting(""),
    "equal": Setting(False),
    "a": Setting("man"), "b": Setting("king"), "c": Setting("woman"), "expected": Setting("queen"),
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice, show = functools.partial(views.choice, SETTINGS), functools.partial(charts.draw, PREFIX)


@dataclass(frozen=True)
class Space:
    """A model's embedding matrix, and what every view computes from it."""

    E: Tensor                # (|V|, d) float64; for a large model float32
    projection: Projection   # of E, on three axes
    places: Tensor           # (|V|, 3) the rows' coordinates on these axes
    lengths: Tensor          # (|V|,) the norms of the rows
    names: tuple[str, ...]   # the visible form of every token
    kinds: tuple[str, ...]   # the kind of every token


def space_of(run: Run) -> Space:
    """The model's E with its principal axes, shared by all readers."""
    def make() -> Space:
        raw = run.model.E.detach().to("cpu")
        E = raw.double() if raw.numel() <= LARGE else raw
        projection, names = principal_axes(E, 3), tuple(map(run.tokenizer.visible, range(len(E))))
        return Space(E, projection, torch.cat([projection(rows) for rows in E.split(ROWS)]), norms(E), names,
                     tuple(map(kind_of, names)))

    return growing_results.made(run.loaded.key("embedding space"), make,
                                lambda value: (value.E.nbytes if value.E.dtype is torch.float64 else 0)
                                             + 100 * len(value.names))


def look_up(typed: str, tokenizer: Tokenizer) -> tuple[int, bool]:
    """The token id of a typed word, and whether the text is a single token: with a space before it if that is one
    token, else unchanged, as the visible form of a token (·king, ‹E2›) or as #id; else the id of its first token.
    """
    typed = typed[:MOST_CHARACTERS]
    if (number := re.fullmatch(r"#([0-9]+)", typed)) and int(number[1]) < tokenizer.vocab_size:
        return int(number[1]), True
    bare = typed.strip().removeprefix("·")
    for spelling in (f" {bare}", bare, typed):
        if len(ids := tokenizer.encode(spelling)) == 1:
            return ids[0], True
    match = next((i for i in range(tokenizer.vocab_size) if tokenizer.visible(i) == typed.strip()), None)
    if match is not None:
        return match, True
    return next(iter(tokenizer.encode(f" {bare}")), tokenizer.end_of_text), False


def spelling(token_id: int, tokenizer: Tokenizer) -> str:
    """The text of a field from which `look_up` finds the token: its letters if they are enough, else its visible form,
    else #id.
    """
    visible = tokenizer.visible(token_id)
    return next((text for text in (visible.removeprefix("·"), visible)
                 if look_up(text, tokenizer) == (token_id, True)), f"#{token_id}")


def token_in(page: Lesson, run: Run, name: str = "word") -> tuple[int, bool]:
    """The token that stands in the field `name`, as `look_up` finds it."""
    return look_up(read(name) or page.label(f"{name}_default"), run.tokenizer)


def word(page: Lesson, run: Run, name: str = "word") -> int:
    """Draw the field `name` for a word with its label on the same line, and return the token id; for a word of several
    tokens the first one, with a note.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.markdown(page.label(name), width="content", help=page.label("word_help") if name in HELPED else None)
        st.text_input(page.label(name), placeholder=page.label(f"{name}_default"), max_chars=MOST_CHARACTERS,
                              label_visibility="collapsed", width=120, **attached(name))
    token_id, whole = token_in(page, run, name)
    if not whole:
        st.caption(page.label("word_first", token=escaped(run.tokenizer.visible(token_id))), width="content")
    return token_id


def guessed(typed: str, run: Run) -> int:
    """The token that a typed guess counts as: the whole word, or the first of its pieces that is more than a space."""
    token_id, whole = look_up(typed, run.tokenizer)
    return token_id if whole else next(iter(run.tokenizer.encode(typed.strip())), token_id)


def told(space: Space, scores: Tensor, ids: list[int], typed: str, run: Run) -> tuple[int, list]:
    """The token of a typed guess, and what is told beside it: the first of `ids`, nearest first, with their cosines,
    and the guess's own among or behind them.
    """
    own, shown = guessed(typed, run), ids[:N_TOLD]
    return own, [(space.names[i], float(scores[i]), i == own) for i in [*shown, *({own} - set(shown))]]


def look(less: int = 0, noted: int = 0) -> dict:
    """A chart's theme, scale of the type, and height in pixels with which it fits the first screen. less: the height of
    other elements there; noted: the height of elements below it that present mode's bar would cover.
    """
    return charts.look(CHART - less, CHART_PRESENT - noted - less)


def axis_titles(page: Lesson, view: Projection, k: int) -> list[str]:
    """The titles of the first k principal axes, each with its share of the variance."""
    return [page.label("axis_principal", axis=axis, share=readable(100 * share))
            for axis, share in enumerate(view.shares[:k].tolist(), 1)]
