"""Patching: one vector of another text's run put into this one, at each depth and position, and how far the answer
moves: where in the model it stands, and when attention carries it on. And the same with what single heads write: which
of them carry it.
"""
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import streamlit as st

from core.analysis.arrays import to_numpy
from core.analysis.patching import Patching
from core.app.lesson import Lesson, Prediction, Reading, cannot, word_exchange
from core.app.parts.charts import screen_taken
from core.app.state import Run, prompts, reader
from core.base.markdown import code, unmarked
from core.components.residual_grid import Grid, residual_grid
from core.figures import residual_stream as figures
from core.figures.numbers import bracketed, latex_number, latex_operand
from core.model.transformer import Transformer
from pages.residual_stream import patch_heads, patch_vectors
from pages.residual_stream.patch_pair import OTHER, PLACE, Pair, ends, measured, pair_of, share_text
from pages.residual_stream.shared import PREFIX, SEEN_WHOLE, SETTINGS, choice, look, read, show
from pages.residual_stream.without_path import likeliest_of_both

EXCHANGED = {"stream": patch_vectors, "heads": patch_heads}     # by the setting "patch_what"
LEAST_GAP = 1e-3        # nats between the two texts' answers: below, there is no way to measure


@dataclass(frozen=True)
class Exchanges:
    """The exchanges shown: `of`, a module of EXCHANGED, `pair`, the two runs, and `found`, the effects known so far."""

    of: ModuleType
    pair: Pair
    found: Patching

    @property
    def shares(self) -> np.ndarray:
        return to_numpy(self.found.shares)

    @property
    def cell(self) -> tuple[int, int]:
        """The picked cell, or the last one of its column that is computed yet."""
        row, column = self.of.picked(self.pair, self.found)
        missing = np.isnan(self.shares[:, column])
        return (int(missing.argmax()) - 1 if missing[row] else row), column


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask about the shown exchanges."""
    pair = pair_of(run)
    return None if pair is None or pair.obstacle else EXCHANGED[read("patch_what")].predict(page, pair)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the two texts, the grid of all exchanges, and beside it what the picked one makes of the next token."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name, of = choice(page, "patch_pair"), EXCHANGED[choice(page, "patch_what")]
    if name == "own":
        word_exchange.draw(page, prompts.clean_prompt(run.text), SETTINGS, PLACE, OTHER)
    pair = pair_of(run)
    if pair is None:
        return cannot(page.label("patch_none"))
    if pair.obstacle:
        return cannot(page.label(f"patch_{pair.obstacle}", word=code(pair.exchange.word),
                                 swap=code(pair.exchange.swap), n=len(pair.here.token_ids),
                                 m=len(pair.there.token_ids)))
    found, whole = measured(page, pair, of.PATCHED)
    if abs(float(found.there.diff() - found.here.diff())) < LEAST_GAP:
        return cannot(page.label("patch_alike", word=code(pair.exchange.word), swap=code(pair.exchange.swap)))
    shown = Exchanges(of, pair, found)
    title = page.label("title_patching", what=of.what(page, pair, *shown.cell),
                       share=share_text(shown.shares[shown.cell]), **ends(pair, found))
    page.note(page.label("patch_texts", text=code(pair.exchange.text), other=code(pair.exchange.changed)))
    st.markdown(f"**{title}**")
    grid, beside = st.columns([7, 4], gap="medium")
    with grid:
        _grid(page, shown, title)
    with beside:
        _answers(page, pair, of.logits(pair, *shown.cell))
    return Reading(_lines(page, shown), of.question(page, pair, found) if whole else None,
                   [of.PATCHED, Patching.shares.fget, Transformer.logits_from],
                   {f"{of.NAME}.csv": lambda: of.table(pair, found)}, f".st-key-{PREFIX}{of.NAME} canvas", title,
                   explanation=of.NAME)


def _grid(page: Lesson, shown: Exchanges, title: str) -> None:
    of, pair = shown.of, shown.pair
    rows, columns = of.names(page, pair)
    grid = Grid(shown.shares, rows, columns, page.label("legend_patching"), page.label(f"reading_{of.NAME}"),
                unmarked(title), reader.theme(), shown.cell, (-1.0, 1.0), signed=True, row_band=True,
                least_column=round(18 * reader.scale()), height=280, most_height=520,
                fit=screen_taken(0 if reader.present() else 50),
                rows_scroll=pair.here.model.config.n_layers > SEEN_WHOLE, present=reader.present())
    residual_grid(grid, key=f"{PREFIX}{of.NAME}", on_pick=lambda *cell: of.pick(pair, *cell))


def _answers(page: Lesson, pair: Pair, logits: np.ndarray) -> None:
    """The likeliest next tokens of this text as it is, and with the picked exchange, which gives these logits."""
    before, after = (_probabilities(u) for u in (to_numpy(pair.here.trace.logits[-1].double()), logits))
    ids = likeliest_of_both(before, after)
    names = (page.label("patch_as_it_is"), page.label("patch_exchanged"))
    st.caption(page.label("caption_patching"))
    show(figures.two_distributions([pair.here.tokenizer.visible(i) for i in ids], before[ids], after[ids], names,
                                   page.label("axis_probability"), **look(20, presenting=30)), "patching_tokens")


def _probabilities(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits - logits.max())
    return shifted / shifted.sum()


def _lines(page: Lesson, shown: Exchanges) -> list[tuple[str, str]]:
    found, cell = shown.found, shown.cell
    gap, (here, there) = float(found.gaps[cell]), (float(logits.diff()) for logits in (found.here, found.there))
    logits = {"here": found.here, "there": found.there, "exchanged": found.logits[cell]}
    lines = [(page.label(f"numbers_patch_{name}", **ends(shown.pair, found)),
              rf"\Delta_{{\text{{{name}}}}} = u_b - u_a = {latex_number(float(u[1]))} - "
              rf"({latex_number(float(u[0]))}) = {latex_number(float(u[1] - u[0]))}")
             for name, u in logits.items()]
    start = bracketed(latex_operand(here))
    return [*lines, (page.label("numbers_patch_share"),
                     rf"\frac{{\Delta_{{\text{{exchanged}}}} - \Delta_{{\text{{here}}}}}}"
                     rf"{{\Delta_{{\text{{there}}}} - \Delta_{{\text{{here}}}}}} = "
                     rf"\frac{{{latex_operand(gap)} - {start}}}{{{latex_operand(there)} - {start}}} = "
                     rf"{latex_number((gap - here) / (there - here))}")]
