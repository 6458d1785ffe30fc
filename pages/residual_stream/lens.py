"""The logit lens: the model's prediction if it stopped after each block, at every position."""
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import contributions
from core.analysis.arrays import to_numpy
from core.analysis.contributions import LensReading
from core.app.compute import growing_results
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.parts.charts import screen_taken
from core.app.state import Run, reader
from core.base.markdown import code, unmarked
from core.components import declare
from core.components.lib.bytes import pack
from core.components.lib.hand import HAND_CSS, HAND_HTML
from core.components.residual_grid import GRID_CSS, GRID_HTML, Grid
from core.figures import residual_stream as figures
from core.figures.numbers import bracketed, latex_number, latex_operand, percent
from pages.residual_stream.shared import (
    PREFIX,
    SEEN_WHOLE,
    depth_names,
    depth_of,
    keep,
    short_depth_names,
    show,
    stretch,
    target_token,
    unembedding_name,
)

GRID = f"{PREFIX}lens_grid"
GUESSES = f"{PREFIX}guesses"
N_GUESSES = 6
LEAST_BLOCKS = 3        # of a model whose guess has somewhere to change
HERE = Path(__file__).parent
# The grid of best guesses with a slider over its depths, and beside it the other guesses there: both follow the slider
# in the browser.
_HTML = f'<div class="residual-grid residual-lens"><strong class="title"></strong>{HAND_HTML}{GRID_HTML}</div>'
_lens = declare("residual_lens", HERE / "lens.js", html=_HTML, styles=(GRID_CSS, HAND_CSS, HERE / "lens.css"))
_lens_guesses = declare("lens_guesses", HERE / "lens_guesses.js", html='<ol class="guesses"></ol>',
                        styles=(HERE / "lens_guesses.css",))


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask where the best guess at the asked token becomes the final one: before the first block, in the first half, in
    the second, in the last block.
    """
    n_layers = run.model.config.n_layers
    if not run.own_ids or n_layers < LEAST_BLOCKS:
        return None

    def truth(_: int) -> Truth:
        read, visible = _read(run), run.tokenizer.visible
        ids = read.token_ids[:, run.asked].tolist()
        changes = sum(one != next_one for one, next_one in zip(ids, ids[1:]))
        settled = settled_after(ids)
        return Truth(stretch(settled, n_layers, 0), seen={0: 2, 1: 1}.get(changes, 0), values={
            "first": visible(ids[0]), "last": visible(ids[-1]), "settled": settled,
            "end": percent(float(read.probs[-1, run.asked]))})

    return Prediction("lens", Options([*page.labels("guess_lens").values()]), truth,
                      {"token": run.tokens[run.asked], "n_layers": n_layers,
                       "what": page.label("asked_what", token=run.tokens[run.asked])})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    n_layers, position = run.model.config.n_layers, reader.selection().position
    depth, reading = depth_of(n_layers), _read(run)
    logits = contributions.logit_lens(run.model, _streams_at(run, position)).double()
    title = _title(page, run, reading, depth, position)
    grid, beside = st.columns([7, 3])
    with grid:
        _grid(page, run, reading, depth, title)
    with beside:
        page.named_token(run, position)
        target = target_token(run, position)
        _guesses(page, run, logits, depth, target)
        followed, ranks = contributions.follow_token(run.model, run.trace, position, target)
        st.caption(page.label("caption_target", token=code(run.tokenizer.visible(target))))
        show(figures.probability_by_layer(to_numpy(followed), ranks.cpu().numpy(), short_depth_names(page, n_layers),
                                          (page.label("axis_target"), page.label("axis_rank")), reader.theme(),
                                          reader.scale(), 145 if reader.present() else 120), "target")
    return Reading(_lines(page, run, to_numpy(logits[depth]), target), _question(page, run, reading),
                   [contributions.logit_lens, contributions.read_lens, contributions.follow_token],
                   {"logit_lens.csv": lambda: _table(run, reading)}, ".residual-lens canvas", title)


def _streams_at(run: Run, position: int) -> torch.Tensor:
    """(L + 1, d) the stream of one position, before each block and at the end."""
    return torch.stack([*(block.resid_pre[position] for block in run.trace.blocks), run.trace.resid_final[position]])


def _read(run: Run) -> LensReading:
    """The lens at all depths and positions, shared by all readers."""
    return growing_results.made(run.key("logit lens"), lambda: contributions.read_lens(run.model, run.trace),
                                lambda value: sum(t.nbytes for t in vars(value).values()))


def _grid(page: Lesson, run: Run, reading: LensReading, depth: int, title: str) -> None:
    ids, visible = reading.token_ids.cpu().numpy(), run.tokenizer.visible
    right = np.array(run.token_ids if run.is_encoder else [*run.token_ids[1:], -1])
    n_layers, scale = run.model.config.n_layers, reader.scale()
    header, arrays = Grid(
        to_numpy(reading.probs), texts=np.vectorize(visible, otypes=[str])(ids), marks=ids == right,
        row_labels=depth_names(page, n_layers), column_labels=run.tokens, legend=page.label("legend_lens"),
        reading=page.label("reading_lens"), twin=unmarked(title), theme=reader.theme(),
        picked=(depth, reader.selection().position), limits=(0.0, 1.0),
        least_column=round((80 if reader.present() else 66) * scale), least_row=round(16 * scale),
        rows_scroll=n_layers > SEEN_WHOLE, height=290, most_height=520, fit=screen_taken(30), present=reader.present(),
        percent=True).message()
    header |= {"slider": (page.label("depth_slider"), page.label("depth_help")),
               "titles": (page.words.labels["title_lens"], page.words.labels["title_lens_end"])}
    _lens(key=GRID, data=pack(header, arrays), height="content",
          events={"picked": _pick, "depth": lambda depth: keep(depth=depth)})


def _pick(cell: dict) -> None:
    """Callback: select the depth and position of the picked cell."""
    keep(depth=cell["row"])
    reader.select(layer=max(cell["row"] - 1, 0), position=cell["column"])


def _guesses(page: Lesson, run: Run, logits: torch.Tensor, depth: int, target: int) -> None:
    """Draw the most probable tokens by the lens's logits (L + 1, |V|), for every depth of the slider."""
    best, ids = torch.softmax(logits, -1).topk(min(N_GUESSES, run.model.config.vocab_size))
    header = {"tokens": [[run.tokenizer.visible(i) for i in row] for row in ids.tolist()],
              "marked": (ids == target).int().tolist(), "depth": depth, "label": page.label("axis_probability")}
    _lens_guesses(key=GUESSES, data=pack(header, {"probs": to_numpy(best).astype(np.float32)}))


def _title(page: Lesson, run: Run, reading: LensReading, depth: int, position: int) -> str:
    (guess, p), (last, last_p) = ((code(run.tokenizer.visible(int(reading.token_ids[row, position]))),
                                   percent(float(reading.probs[row, position]))) for row in (depth, -1))
    n_layers, end = run.model.config.n_layers, "_end" * (depth == run.model.config.n_layers)
    return page.label(f"title_lens{end}", token=code(run.tokens[position]), where=depth_names(page, n_layers)[depth],
                      guess=guess, p=p, last=last, last_p=last_p)


def settled_after(token_ids: Sequence[int]) -> int:
    """The first depth, 0 … L, from which on the best guess is the final one."""
    differing = [depth for depth, token_id in enumerate(token_ids) if token_id != token_ids[-1]]
    return differing[-1] + 1 if differing else 0


def _question(page: Lesson, run: Run, reading: LensReading) -> Question:
    """At how many positions the guess of the embedding is the input token itself, and at the end: how far the stream
    has left its tokens behind.
    """
    own, n = torch.tensor(run.token_ids, device=reading.token_ids.device), len(run.token_ids)
    first, last = (int((reading.token_ids[depth] == own).sum()) for depth in (0, -1))
    options = sorted({first, last, n // 2, n - first})
    return page.question("lens", [page.label("question_lens_option", k=k, n=n) for k in options], options.index(last),
                         first=first, last=last, n=n)


def _lines(page: Lesson, run: Run, logits: np.ndarray, target: int) -> list[tuple[str, str]]:
    """The target's logit by the lens, and its probability."""
    shifted, largest, logit = np.exp(logits - logits.max()), latex_operand(logits.max()), latex_operand(logits[target])
    token, bias = code(run.tokenizer.visible(target)), "" if run.model.b_U is None else " + b_t"
    plain = run.model.final_norm is None
    read = "x" if plain else r"\text{norm}(x)"
    if run.model.W_H is not None:
        read = f"{read} W_H" if run.model.config.embedding.plain_maps else r"\text{norm}(\text{act}(x W_H + b_H))"
    return [(page.label("numbers_lens_plain" if plain else "numbers_lens", token=token, E=unembedding_name(run)),
             rf"u_t = {read} \cdot e_t{bias} = {latex_number(logits[target])}"),
            (page.label("numbers_lens_p", E=unembedding_name(run)),
             rf"y_t = \frac{{e^{{u_t}}}}{{\sum_w e^{{u_w}}}} = \frac{{e^{{{logit} - {bracketed(largest)}}}}}"
             rf"{{{latex_operand(shifted.sum())}}} = {latex_number(shifted[target] / shifted.sum())}")]


def _table(run: Run, reading: LensReading) -> pd.DataFrame:
    ids, probs = reading.token_ids.cpu().numpy(), to_numpy(reading.probs)
    return pd.DataFrame([{"depth": row, "position": column, "token": run.tokens[column],
                          "guess": run.tokenizer.visible(int(token_id)), "probability": probs[row, column]}
                         for (row, column), token_id in np.ndenumerate(ids)])
