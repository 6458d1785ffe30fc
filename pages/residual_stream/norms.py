"""The norms of the stream and of what each block adds: layers × tokens, and the picked token's lines beside it."""
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st
from torch import Tensor

from core.analysis import stream_and_heads
from core.analysis.arrays import to_numpy
from core.app.lesson import Lesson, Place, Prediction, Question, Reading, Truth
from core.app.lesson.prediction import guess_of
from core.app.parts.charts import screen_taken
from core.app.state import Run, reader
from core.base.markdown import code, unmarked
from core.components import declare
from core.components.lib.bytes import pack
from core.components.residual_grid import GRID_CSS, GRID_HTML, Grid, mount, residual_grid
from core.figures import residual_stream as figures
from core.figures.numbers import bracketed, latex_number, readable
from core.figures.positions import cosine_latex
from pages.residual_stream.shared import (
    PREFIX,
    SEEN_WHOLE,
    attached,
    choice,
    depth_names,
    keep,
    look,
    read,
    short_depth_names,
    show,
)

MEASURES = ("stream", "attention", "mlp", "change", "turn")
LEAST_GUESSED = 4          # tokens of a text, to ask whose vector is longest
APART, GROWN = 1.25, 1.2    # ratios: one line stands far above the others; the lines have grown at all
PICTURE = f"{PREFIX}norms"
HERE = Path(__file__).parent
# The stream's norms as a grid, layers × tokens, and beside it the picked token's lines: both follow the same pointer.
_picture = declare("residual_norms", HERE / "norms.js", styles=(GRID_CSS, HERE / "norms.css"),
                   html=f'<div class="residual-norms">{GRID_HTML}<canvas class="profile"></canvas></div>')


@dataclass(frozen=True)
class View:
    """The measure of the grid, one of MEASURES, whether its scale is logarithmic, and the picked row."""

    measure: str
    logarithmic: bool
    row: int

    @property
    def whole(self) -> bool:
        """Whether the rows are the depths of the stream, from the entry of block 0; else the blocks."""
        return self.measure == "stream"

    def block_of(self, row: int) -> int:
        """The block of a row; the entry of block 0 belongs to block 0."""
        return max(row - 1, 0) if self.whole else row


def measure(run: Run, name: str) -> np.ndarray:
    """The values of the grid: (L + 1, N) for "stream", (L, N) for the others."""
    trace = run.trace
    attention, mlp = stream_and_heads.written_norms(trace)
    if name == "turn":
        stream = stream_and_heads.stream(trace)
        return to_numpy(stream_and_heads.cosines(stream[:-1], stream[1:]))
    return to_numpy({"stream": stream_and_heads.stream_norms(trace), "attention": attention, "mlp": mlp,
                     "change": stream_and_heads.relative_change(trace)}[name])


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which vector grows longest, if the stream's lengths are shown."""
    if len(run.token_ids) < LEAST_GUESSED or read("measure") != "stream":
        return None

    def truth(guess: int) -> Truth:
        values = measure(run, "stream")
        longest = values.max(axis=0)
        row, at = _peak("stream", values)
        second = np.delete(longest, at).max()
        seen = 2 if longest.max() < GROWN * values[0].max() else 0 if longest[at] > APART * second else 1
        said, own = readable(longest[at]), readable(longest[guess])
        return Truth(at, said=said, own=own, seen=seen, values={
            "token": run.tokens[at], "length": said, "second": readable(second), "depth": row,
            "start": readable(values[0, at])})

    return Prediction("norms", Place(run.tokens), truth)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    names = [name for name in MEASURES if name != "mlp" or run.model.config.d_ff is not None]
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        name = choice(page, "measure", names)
        logarithmic = st.toggle(page.label("logarithmic"), disabled=name == "turn", help=page.label("logarithmic_help"),
                                **attached("log"))
    values, position = measure(run, name), reader.selection().position
    title = _title(page, run, name, values, position)
    st.markdown(f"**{title}**")
    # row 0 of the whole stream is the entry of block 0
    row = place_of_row(len(values)) if name == "stream" else reader.selection().layer
    view = View(name, logarithmic and name != "turn", row)
    layer = view.block_of(row)
    if name == "turn":
        _turns(page, run, values, position, view)
    else:
        mine = guess_of(page, "norms", run) if view.whole else None
        mount(_picture, _lengths(page, run, values, view, position, mine), PICTURE,
              lambda row, column: _pick(row, column, view))
    return Reading(_lines(page, run, layer) + _sum_line(page, run, layer), _question(page, run, position),
                   [stream_and_heads.norms, stream_and_heads.stream_norms, stream_and_heads.written_norms,
                    stream_and_heads.relative_change, stream_and_heads.cosines],
                   {f"{name}.csv": lambda: _table(run, name, values)},
                   ".residual-grid" if name == "turn" else ".residual-norms", title)


def _grid(page: Lesson, run: Run, values: np.ndarray, view: View, position: int,
          mine: tuple[int, str] | None = None) -> Grid:
    name = view.measure
    labels = (depth_names(page, run.model.config.n_layers) if view.whole
              else [page.label("block", block=block) for block in range(len(values))])
    limits = (-1.0, 1.0) if name == "turn" else (values[values > 0].min() if view.logarithmic else 0.0, values.max())
    return Grid(values, labels, run.tokens, page.label(f"legend_{name}"), page.label(f"reading_{name}"),
                unmarked(_title(page, run, name, values, position)), reader.theme(), (view.row, position), limits,
                signed=name == "turn", logarithmic=view.logarithmic, peak=_peak(name, values), mine=mine, height=270,
                least_row=16 if len(values) <= SEEN_WHOLE + 1 else 9, most_height=520, fit=screen_taken(),
                present=reader.present())


def place_of_row(n_rows: int) -> int:
    """The picked depth of the stream; until one was picked the end."""
    row = read("row")
    return row if 0 <= row < n_rows else n_rows - 1


def _pick(row: int, column: int, view: View) -> None:
    keep(row=row if view.whole else row + 1)
    reader.select(layer=view.block_of(row), position=column)


def _lengths(page: Lesson, run: Run, values: np.ndarray, view: View, position: int, mine: int | None) -> bytes:
    """The grid with the lines of one token, for norms.js. mine: the token that the reader took for the longest.

    Lines are norms: "residual" (L + 1, N), "attention" and "mlp" (L, N), where the addition of block l is at depth
    l + 1. A logarithmic grid has logarithmic lines. "faint" is the line that is drawn for every token.
    """
    name, (attention, mlp) = view.measure, stream_and_heads.written_norms(run.trace)
    lines = {"residual": values if view.whole else measure(run, "stream"), "attention": to_numpy(attention)}
    lines |= {} if mlp is None else {"mlp": to_numpy(mlp)}
    lengths = np.concatenate([*lines.values()])
    guess = None if mine is None else (mine, page.frame_words.label("before_mine"))
    header, arrays = _grid(page, run, values, view, position, guess).message()
    header |= {"kinds": list(lines), "names": {kind: page.label(f"line_{kind}") for kind in lines},
               "faint": name if name in lines else "residual", "log_lengths": view.logarithmic,
               "depths": short_depth_names(page, run.model.config.n_layers), "depth_title": page.label("axis_depth"),
               "length_title": page.label("axis_length"),
               "lengths": [float(lengths[lengths > 0].min()), float(lengths.max())]}
    return pack(header, arrays | {kind: line.astype(np.float32) for kind, line in lines.items()})


def _turns(page: Lesson, run: Run, values: np.ndarray, position: int, view: View) -> None:
    """Draw the grid, and beside it the picked token's cosines between all depths."""
    grid, matrix = st.columns([3, 2])
    with grid:
        residual_grid(_grid(page, run, values, view, position), key=f"{PREFIX}turns",
                      on_pick=lambda row, column: _pick(row, column, view))
    with matrix:
        show(figures.cosine_matrix(to_numpy(stream_and_heads.layer_cosines(run.trace)[position]),
                                   short_depth_names(page, run.model.config.n_layers), page.label("axis_depth"),
                                   **look(20, presenting=20)), "cosines")


def _peak(name: str, values: np.ndarray) -> tuple[int, ...]:
    """The index of the extreme value: the lowest of "turn", the highest of the other measures."""
    most = np.nanargmin(values) if name == "turn" else np.nanargmax(values)
    return tuple(int(i) for i in np.unravel_index(most, values.shape))


def _title(page: Lesson, run: Run, name: str, values: np.ndarray, position: int) -> str:
    column, peak = values[:, position], _peak(name, values)
    [block] = _peak(name, column)
    return page.label(f"title_{name}", token=code(run.tokens[position]), first=readable(column[0]),
                      last=readable(column[-1]), block=block, value=readable(column[block]),
                      peak_token=code(run.tokens[peak[1]]), peak_block=peak[0], peak_value=readable(values[peak]))


def _lines(page: Lesson, run: Run, layer: int) -> list[tuple[str, str]]:
    position, block = reader.selection().position, run.trace.blocks[layer]
    before, after = to_numpy(block.resid_pre[position]), to_numpy(block.resid_post[position])
    squares = " + ".join(f"{bracketed(latex_number(value))}^2" for value in before[:3])
    length, new_length, moved = (np.linalg.norm(vector) for vector in (before, after, after - before))
    place = dict(token=code(run.tokens[position]), position=position, block=layer)
    return [
        (page.label("numbers_norm", **place),
         rf"\lVert x \rVert = \sqrt{{\textstyle\sum_c x_c^2}} = \sqrt{{{squares} + \dots}} = {latex_number(length)}"),
        (page.label("numbers_change", **place),
         rf"\frac{{\lVert x' - x \rVert}}{{\lVert x \rVert}} = "
         rf"\frac{{{latex_number(moved)}}}{{{latex_number(length)}}} = {latex_number(moved / length)}"),
        (page.label("numbers_cosine", **place),
         cosine_latex("x", "x'", before, after, before @ after / length / new_length))]


def _sum_line(page: Lesson, run: Run, layer: int) -> list[tuple[str, str]]:
    """Three components of the stream before the block, of each addition, and of the stream after it. Empty for a
    post-norm block, which norms its sums.
    """
    position, block = reader.selection().position, run.trace.blocks[layer]
    if run.model.config.norms_sums:
        return []

    def column(vectors: Tensor) -> str:
        entries = r"\\".join(map(latex_number, vectors[position, :3].tolist()))
        return rf"\begin{{pmatrix}}{entries}\\ \vdots\end{{pmatrix}}"

    parts = {name: vectors for name, vectors in (("attn", block.attn_added), ("ffn", block.mlp_added))
             if vectors is not None}
    symbols, columns = ("".join(f" + {part}" for part in texts)
                        for texts in ([rf"\text{{{name}}}" for name in parts], map(column, parts.values())))
    return [(page.label("numbers_added", block=layer),
             rf"x' = x{symbols} = {column(block.resid_pre)}{columns} = {column(block.resid_post)}")]


def _question(page: Lesson, run: Run, position: int) -> Question:
    """Ask which block turns the stream most: the smallest cosine from before to after."""
    cosines = measure(run, "turn")[:, position]
    options = [page.label("block", block=block) for block in range(len(cosines))]
    listed = ", ".join(f"{block}: {readable(value)}" for block, value in enumerate(cosines))
    return page.question("norms", options, int(np.argmin(cosines)), token=code(run.tokens[position]), cosines=listed)


def _table(run: Run, name: str, values: np.ndarray) -> pd.DataFrame:
    first = 0 if name == "stream" else 1
    return pd.DataFrame([{"depth": row + first, "position": column, "token": run.tokens[column], name: value}
                         for (row, column), value in np.ndenumerate(values)])
