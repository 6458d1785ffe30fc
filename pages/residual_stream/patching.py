"""Patching: one vector of another text's run put into this one, at each depth and position, and how far the answer
moves: where in the model it stands, and when attention carries it on.
"""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis import patching
from core.analysis.arrays import to_numpy
from core.analysis.patching import Patching
from core.app.base.markdown import code, unmarked
from core.app.compute import growing_results
from core.app.frame import Lesson, Number, Prediction, Question, Reading, Truth, cannot, word_exchange
from core.app.frame.charts import screen_taken
from core.app.frame.prediction import guess_of
from core.app.state import Run, prompts, reader
from core.components.residual_grid import residual_grid
from core.figures import residual_stream as figures
from core.figures.numbers import bracketed, latex_number, latex_operand, percent, written
from core.language import contrasts
from core.language.contrasts import Exchange
from core.model.intervention import Intervention, Patch
from core.model.transformer import Transformer
from pages.residual_stream.shared import (
    PREFIX,
    SEEN_WHOLE,
    SETTINGS,
    choice,
    depth_names,
    keep,
    look,
    read,
    show,
)
from pages.residual_stream.without_path import likeliest_of_both

PLACE, OTHER = "patch_place", "patch_other"        # the settings of the reader's own exchange
CARRIES = 0.2           # of the way: a token that moves the answer so far carries part of it
LEAST_GAP = 1e-3        # nats between the two texts' answers: below, there is no way to measure


@dataclass(frozen=True)
class Pair:
    """The two texts under one model, and where they first differ."""

    exchange: Exchange
    here: Run
    there: Run

    @property
    def obstacle(self) -> str:
        """What keeps the vectors of one text from taking the places of the other's: "same" or "lengths"; "" nothing."""
        if self.here.token_ids == self.there.token_ids:
            return "same"
        return "" if len(self.here.token_ids) == len(self.there.token_ids) else "lengths"

    @property
    def first(self) -> int:
        return patching.first_difference(self.here.token_ids, self.there.token_ids)


def pair_of(run: Run) -> Pair | None:
    """The chosen pair of texts; None where the reader's own prompt has no word to change."""
    name = read("patch_pair")
    if name == "own":
        exchange = word_exchange.read(prompts.clean_prompt(run.text), SETTINGS, PLACE, OTHER)
    else:
        text, place, other = contrasts.sets()["exchanges"][name]
        exchange = contrasts.exchange(text, place, other)
    return exchange and Pair(exchange, run.with_text(exchange.text), run.with_text(exchange.changed))


def _measured(page: Lesson, pair: Pair) -> tuple[Patching, bool]:
    """What each exchange does, as far as it is known, and whether that is all of it; shared by all readers."""
    n_rows = pair.here.model.config.n_layers + 1

    def steps() -> Iterator[growing_results.Part]:
        for done, value in enumerate(patching.patched(pair.here.model, pair.here.trace, pair.there.trace), 1):
            yield growing_results.Part(value, done, n_rows)

    return growing_results.growing(pair.here.key("patching", pair.there.token_ids), steps,
                                   lambda value: value.logits.nbytes, page.label("patch_growing"))


def handover(shares: np.ndarray, first: int) -> int:
    """The first depth at which the last token's vector moves the answer further than that of the changed token."""
    return int(np.argmax(shares[:, -1] > shares[:, first]))


def _percent(share: float) -> str:
    """A share of the way in percent, with one decimal: more would be the rounding of the passes."""
    return written(f"{round(100 * float(share), 1) + 0.0:.1f}") + "\u00a0%"


def predict(page: Lesson, run: Run) -> Prediction | None:
    """After how many blocks the last token's vector decides, and no longer the changed word's."""
    pair = pair_of(run)
    if pair is None or pair.obstacle or pair.first == len(pair.here.token_ids) - 1:
        return None
    own, other = patching.answers(pair.here.trace, pair.there.trace)
    visible, last = run.tokenizer.visible, len(pair.here.token_ids) - 1

    def truth(_: float) -> Truth:
        shares = to_numpy(_measured(page, pair)[0].shares)
        depth = handover(shares, pair.first)
        between = shares[:, pair.first + 1:last]
        return Truth(depth, seen=int(between.size > 0 and np.abs(between).max() >= CARRIES), values={
            "depth": depth, "before": _percent(shares[max(depth - 1, 0), pair.first]),
            "after": _percent(shares[depth, last])})

    return Prediction("patching", Number(0, run.model.config.n_layers, unit=page.label("unit_blocks"), near=0), truth,
                      {"text": pair.exchange.text, "word": pair.exchange.word, "swap": pair.exchange.swap,
                       "own": visible(own), "other": visible(other), "last": pair.here.tokens[last],
                       "n_layers": run.model.config.n_layers}, (pair.exchange.text, pair.exchange.changed))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the two texts, the grid of all exchanges, and beside it what the picked one makes of the next token."""
    name = choice(page, "patch_pair")
    if name == "own":
        word_exchange.draw(page, prompts.clean_prompt(run.text), SETTINGS, PLACE, OTHER)
    pair = pair_of(run)
    if pair is None:
        return cannot(page.label("patch_none"))
    if pair.obstacle:
        return cannot(page.label(f"patch_{pair.obstacle}", word=code(pair.exchange.word),
                                 swap=code(pair.exchange.swap), n=len(pair.here.token_ids),
                                 m=len(pair.there.token_ids)))
    found, whole = _measured(page, pair)
    if abs(float(found.there.diff() - found.here.diff())) < LEAST_GAP:
        return cannot(page.label("patch_alike", word=code(pair.exchange.word), swap=code(pair.exchange.swap)))
    shares, (depth, position) = to_numpy(found.shares), _picked(pair)
    if np.isnan(shares[depth, position]):           # that row is still being computed
        depth = int(np.isnan(shares[:, position]).argmax()) - 1
    after = _run_with(pair, depth, position)
    title = _title(page, pair, found, depth, position)
    page.note(page.label("patch_texts", text=code(pair.exchange.text), other=code(pair.exchange.changed)))
    st.markdown(f"**{title}**")
    grid, beside = st.columns([7, 4], gap="medium")
    with grid:
        _grid(page, run, pair, shares, title, (depth, position))
    with beside:
        _answers(page, pair, after)
    return Reading(_lines(page, pair, found, depth, position), _question(page, pair, found) if whole else None,
                   [patching.patched, Patching.shares, Transformer.logits_from],
                   {"patching.csv": lambda: _table(pair, found)}, f".st-key-{PREFIX}patching canvas", title)


def _picked(pair: Pair) -> tuple[int, int]:
    """The depth and position picked: until one was picked, the changed word half way up."""
    last, n_layers = len(pair.here.token_ids) - 1, pair.here.model.config.n_layers
    depth, position = read("patch_depth"), read("patch_position")
    return (depth if 0 <= depth <= n_layers else n_layers // 2), (position if 0 <= position <= last else pair.first)


def _run_with(pair: Pair, depth: int, position: int) -> np.ndarray:
    """(|V|,) the next token's probabilities with one vector exchanged."""
    patch = Patch(depth, position, pair.there.token_ids, position)
    return to_numpy(pair.here.trace_with(Intervention(patches=(patch,))).logits[-1].double().softmax(-1))


def _title(page: Lesson, pair: Pair, found: Patching, depth: int, position: int) -> str:
    visible, n_layers = pair.here.tokenizer.visible, pair.here.model.config.n_layers
    return page.label("title_patching", token=code(pair.there.tokens[position]),
                      where=depth_names(page, n_layers)[depth], own=code(visible(found.own)),
                      other=code(visible(found.other)), share=_percent(float(found.shares[depth, position])))


def _grid(page: Lesson, run: Run, pair: Pair, shares: np.ndarray, title: str, picked: tuple[int, int]) -> None:
    guess = guess_of(page, "patching", run, (pair.exchange.text, pair.exchange.changed))
    last, n_layers = len(pair.here.token_ids) - 1, pair.here.model.config.n_layers
    residual_grid(shares, key=f"{PREFIX}patching", on_pick=_pick, row_labels=depth_names(page, n_layers),
                  column_labels=_column_names(pair), legend=page.label("legend_patching"),
                  reading=page.label("reading_patching"), twin=unmarked(title), theme=reader.theme(), signed=True,
                  limits=(-1.0, 1.0), picked=picked, row_band=True,
                  mine=None if guess is None else (round(guess), last, page.frame_words.label("before_mine")),
                  least_column=round(18 * reader.scale()), height=280, most_height=520,
                  fit=screen_taken(0 if reader.present() else 50), rows_scroll=n_layers > SEEN_WHOLE,
                  present=reader.present())


def _column_names(pair: Pair) -> list[str]:
    """The tokens; where the texts differ, both."""
    return [own if own == other else f"{own}/{other}" for own, other in zip(pair.here.tokens, pair.there.tokens)]


def _pick(depth: int, position: int) -> None:
    keep(patch_depth=depth, patch_position=position)


def _answers(page: Lesson, pair: Pair, after: np.ndarray) -> None:
    """The likeliest next tokens of this text as it is, and with the picked vector exchanged."""
    before = to_numpy(pair.here.trace.logits[-1].double().softmax(-1))
    ids = likeliest_of_both(before, after)
    names = (page.label("patch_as_it_is"), page.label("patch_exchanged"))
    st.caption(page.label("caption_patching"))
    show(figures.two_distributions([pair.here.tokenizer.visible(i) for i in ids], before[ids], after[ids], names,
                                   page.label("axis_probability"), **look(20, presenting=30)), "patching_tokens")


def _lines(page: Lesson, pair: Pair, found: Patching, depth: int, position: int) -> list[tuple[str, str]]:
    visible, gap = pair.here.tokenizer.visible, float(found.gaps[depth, position])
    ends = [float(logits.diff()) for logits in (found.here, found.there)]
    logits = {"here": found.here, "there": found.there, "exchanged": found.logits[depth, position]}
    tokens = dict(own=code(visible(found.own)), other=code(visible(found.other)))
    lines = [(page.label(f"numbers_patch_{name}", **tokens),
              rf"\Delta_{{\text{{{name}}}}} = u_b - u_a = {latex_number(float(u[1]))} - "
              rf"({latex_number(float(u[0]))}) = {latex_number(float(u[1] - u[0]))}")
             for name, u in logits.items()]
    here = bracketed(latex_operand(ends[0]))
    return [*lines, (page.label("numbers_patch_share"),
                     rf"\frac{{\Delta_{{\text{{exchanged}}}} - \Delta_{{\text{{here}}}}}}"
                     rf"{{\Delta_{{\text{{there}}}} - \Delta_{{\text{{here}}}}}} = "
                     rf"\frac{{{latex_operand(gap)} - {here}}}{{{latex_operand(ends[1])} - {here}}} = "
                     rf"{latex_number((gap - ends[0]) / (ends[1] - ends[0]))}")]


def _question(page: Lesson, pair: Pair, found: Patching) -> Question | None:
    """How far the answer moves with all vectors of the token before the changed one exchanged; by a pass of its own."""
    last = len(pair.here.token_ids) - 1
    if pair.first == 0:
        return None
    before = pair.first - 1
    patches = tuple(Patch(depth, before, pair.there.token_ids, before) for depth in range(len(found.logits)))
    logits = pair.here.trace_with(Intervention(patches=patches)).logits[-1].double()
    gap, ends = float(logits[found.other] - logits[found.own]), [float(u.diff()) for u in (found.here, found.there)]
    moved = (gap - ends[0]) / (ends[1] - ends[0])
    options = [0.0, 0.5, 1.0]
    return page.question("patching", [percent(option) for option in options],
                         int(np.argmin([abs(moved - option) for option in options])),
                         token=code(pair.here.tokens[before]), word=code(pair.here.tokens[pair.first]),
                         last=code(pair.here.tokens[last]), moved=_percent(moved))


def _table(pair: Pair, found: Patching) -> pd.DataFrame:
    shares, gaps = to_numpy(found.shares), to_numpy(found.gaps)
    return pd.DataFrame([{"depth": depth, "position": position, "token": pair.here.tokens[position],
                          "other_token": pair.there.tokens[position], "gap": gaps[depth, position], "share": share}
                         for (depth, position), share in np.ndenumerate(shares)])
