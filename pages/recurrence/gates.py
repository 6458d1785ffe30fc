"""Gates: an LSTM beside the cell that its gates are merged into, step by step until it is a GRU, with the numbers of
one unit at one token; both have the same weights.
"""
import pandas as pd
import streamlit as st

from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.lesson.selection_controls import pick, short_list
from core.app.state import Run, reader
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import bracketed, grouped, latex_number, latex_operand, readable
from core.learning import gate_merging
from core.learning.gate_merging import BLOCKS, STAGES, WITH_OUTPUT, Step
from core.learning.recurrent_cells import GATES, Cell
from pages.recurrence.shared import PREFIX, SETTINGS, attached, choice, keep, own_seed, read
from pages.recurrence.unrolled import N_HIDDEN, cells, inputs

MERGED = STAGES[1:]
FOUR = len(BLOCKS["lstm"])
UNIT_WIDTH = 120            # px of its list
KEPT_BOUNDS = (0.6, 0.9)    # of the forget gate that the question supposes
PARTS = SETTINGS.each["part"].options
GATED = tuple("figour")     # the parts that are made from the input and the last state
VALUES = ("f", "i", "g", "o", "old", "new", "h")
# Two cells drawn with their gates and lines, each part a number that can be picked.
_picture = token_view("recurrence_gates", __file__)


def lstm_of(run: Run, seed: int) -> Cell:
    """The untrained LSTM whose gates are merged: Unrolled's with one layer."""
    return cells(run.model.E.shape[1], "lstm", 1, False, seed)[0][0]


def steps_of(run: Run, stage: str, seed: int) -> Step:
    """The steps of a stage over the prompt, shared by all readers."""
    return cache.result(run.key("recurrence gates", stage, seed),
                        lambda: gate_merging.unroll(lstm_of(run, seed), stage, inputs(run)),
                        lambda steps: 8 * sum(part.numel() for part in vars(steps).values()))


def predict(page: Lesson, run: Run) -> Prediction:
    """How many blocks of weights the merged cell has."""
    stage = read("merged")

    def truth(_guess: int) -> Truth:
        blocks = len(BLOCKS[stage])
        names = names_of(stage)
        return Truth(blocks - 1, seen=FOUR - blocks,
                     values={"blocks": blocks, "gates": ", ".join(names[part] for part in BLOCKS[stage])})

    return Prediction("gates", Options([page.label(f"gates_blocks_{n}") for n in range(1, FOUR + 1)]), truth,
                      {"how": page.label(f"gates_how_{stage}"), "cell": page.label(f"gates_cell_{stage}")}, stage)


def names_of(stage: str) -> dict[str, str]:
    """The symbols of a stage's parts, at their places in the LSTM; "" for a part left out."""
    if stage == "lstm":
        return dict(zip(PARTS, "figoch"))
    o, state = {"coupled": "oc", "one_state": ("", "h"), "gru": "rh"}[stage]
    return dict(zip(PARTS, ("u", "1 − u", "g", o, state, "h")))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        choice(page, "merged")
        pick(page, run, "position")
        short_list(page.label("unit"), range(N_HIDDEN), lambda k: page.label("unit_is", k=k), UNIT_WIDTH,
                   **attached("unit"))
        seed = read("seed") if reader.present() else own_seed(page)
    stage, step, unit = read("merged"), reader.selection().position, read("unit")
    cell, shown = lstm_of(run, seed), {name: steps_of(run, name, seed) for name in ("lstm", stage)}
    title = _title(page, run, shown, stage, step, unit)
    st.markdown(f"**{title}**")
    _picture(page.header("gates_text") | {
        "token": run.tokens[step], "picked": read("part"),
        "cells": [_drawn(page, cell, name, steps, step, unit) for name, steps in shown.items()]},
        key=f"{PREFIX}gates", on_settings=lambda settings: keep(part=settings["part"]))
    return Reading(_lines(page, run, cell, shown, step, unit), _question(page, float(shown["lstm"].f[step, unit])),
                   [gate_merging.step, gate_merging.unroll], {"gates.csv": lambda: _table(run, shown, unit)},
                   ".recurrence_gates .cells", title)


def _drawn(page: Lesson, cell: Cell, stage: str, steps: Step, step: int, unit: int) -> dict:
    """One cell for the picture: its numbers of the unit at the step, and what it learns."""
    blocks = BLOCKS[stage]
    parts = {part: part_name(stage, part) for part in PARTS}
    return {"name": page.label(f"gates_cell_{stage}"), "names": names_of(stage), "blocks": list(blocks),
            "values": {name: float(getattr(steps, name)[step, unit]) for name in VALUES},
            "says": {part: page.label(f"gates_says_{name}") for part, name in parts.items()},
            "words": {part: page.label(f"gates_word_{parts[part]}") for part in PARTS[:FOUR]},
            "counted": page.label("gates_counted", blocks=page.label(f"gates_blocks_{len(blocks)}"),
                                  weights=grouped(gate_merging.n_weights(cell, stage)))}


def _title(page: Lesson, run: Run, shown: dict[str, Step], stage: str, step: int, unit: int) -> str:
    lstm, merged = ({name: readable(float(getattr(steps, name)[step, unit])) for name in "fi"}
                    for steps in shown.values())
    return page.label("gates_title", token=code(run.tokens[step]), unit=unit, cell=page.label(f"gates_cell_{stage}"),
                      f=lstm["f"], i=lstm["i"], u=merged["f"], rest=merged["i"])


def _lines(page: Lesson, run: Run, cell: Cell, shown: dict[str, Step], step: int,
           unit: int) -> list[tuple[str, str]]:
    """The picked part of both cells, and how many numbers each learns."""
    part, lines = read("part"), []
    for stage, steps in shown.items():
        name = part_name(stage, part)
        what = page.label(f"numbers_gates_{name}")
        if name in GATED:
            what = page.label("numbers_gates_parts", gate=what)
        lines.append((page.label("numbers_gates_at", cell=page.label(f"gates_cell_{stage}"), unit=unit, step=step,
                                 token=code(run.tokens[step]), what=what), formula(stage, name, steps, step, unit)))
    d, m = cell.W_x.shape[1:]
    for stage in shown:
        n = len(BLOCKS[stage])
        lines.append((page.label("numbers_gates_weights", cell=page.label(f"gates_cell_{stage}"), n=n),
                      rf"{n} \left(d m + m^2 + 2 m\right) = {n} \left({d} \cdot {m} + {m}^2 + 2 \cdot {m}\right) = "
                      rf"{gate_merging.n_weights(cell, stage)}"))
    return lines


def part_name(stage: str, part: str) -> str:
    """A stage's counterpart of a part of the LSTM: f i g o c h of it, else u, rest, g, o or r, c, h or state.

    >>> [part_name("gru", part) for part in ("f", "i", "g", "o", "state", "shown")]
    ['u', 'rest', 'g', 'r', 'state', 'state']
    """
    merged = stage not in WITH_OUTPUT
    if part in ("state", "shown") or part == "o" and stage == "one_state":
        return "state" if merged else "c" if part == "state" else "h"
    return {"f": "u", "i": "rest"}.get(part, "r" if part == "o" and merged else part) if stage != "lstm" else part


def formula(stage: str, name: str, steps: Step, step: int, unit: int) -> str:
    """The formula of a part, as `part_name` names it, with the numbers of one unit at one step."""
    put = {key: latex_operand(float(getattr(steps, key)[step, unit])) for key in VALUES}
    result = {key: latex_number(float(getattr(steps, key)[step, unit])) for key in VALUES}
    keep, let = ("f", "i") if stage == "lstm" else ("u", r"(1 - u)")
    if name in ("c", "state"):
        symbol = "c" if name == "c" else "h"
        return (rf"{symbol}_t = {keep}\, {symbol}_{{t-1}} + {let}\, g = {put['f']} \cdot {bracketed(put['old'])} + "
                rf"{put['i']} \cdot {bracketed(put['g'])} = {result['new']}")
    if name == "h":
        return rf"h_t = o \tanh(c_t) = {put['o']} \cdot \tanh\left({put['new']}\right) = {result['h']}"
    if name == "rest":
        return rf"1 - u = 1 - {put['f']} = {result['i']}"
    slot = {"u": "f", "r": "o"}.get(name, name)
    at = GATES["lstm"].index(slot)
    x, s = (latex_operand(float(part[step, at, unit])) for part in (steps.from_input, steps.from_state))
    times, times_put = (r"r\, ", rf"{put['o']} \cdot ") if name == "g" and stage == "gru" else ("", "")
    function = r"\tanh" if name == "g" else r"\sigma"
    return (rf"{name} = {function}\left(a_x + {times}a_h\right) = {function}\left({x} + {times_put}{bracketed(s)}"
            rf"\right) = {result[slot]}")


def _question(page: Lesson, f: float) -> Question:
    """Ask for the end of an LSTM's c that keeps a share f and lets in as much of a content of 1; a GRU's is 1."""
    kept = round(min(max(f, KEPT_BOUNDS[0]), KEPT_BOUNDS[1]), 1)
    ends = kept / (1 - kept)
    options = [readable(value, 3) for value in (1.0, ends, 1 / (1 - kept))] + [page.label("question_gates_endless")]
    return page.question("gates", options, 1, kept=readable(kept, 1), end=readable(ends, 3))


def _table(run: Run, shown: dict[str, Step], unit: int) -> pd.DataFrame:
    """The picked unit's numbers, a row for each cell and token."""
    return pd.DataFrame([{"cell": stage, "step": t, "token": token}
                         | {name: float(getattr(steps, name)[t, unit]) for name in VALUES}
                         for stage, steps in shown.items() for t, token in enumerate(run.tokens)])
