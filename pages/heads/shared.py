"""The lesson's reading of a forward pass: every pattern as one array, what each head looks at, what the
reader changed.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch

from core.analysis import stream_and_heads
from core.app.compute import cache
from core.app.lesson import Lesson
from core.app.state import Run, address, fragments, reader
from core.app.state.fragments import rerun, rerun_in_turn
from core.app.state.lesson_settings import Setting, Settings, view_setting
from core.app.state.run import selection, telling
from core.base.prose import TextFile
from core.figures.heads import head_name, roles
from core.figures.numbers import probability, readable
from core.model.intervention import NOTHING, HeadEdit, Intervention
from core.model.trace import Trace

PREFIX = "heads_"
ACTIONS = ("zero", "mean", "scale", "uniform")
MEASURES = ("previous_token", "first_token", "induction", "duplicate_token", "entropy", "distance")
# induction is about what came before
IN_AN_ENCODER = ("previous_token", "next_token", "own_token", "first_token", "last_token", "duplicate_token",
                 "entropy", "distance")
EVERY_MEASURE = tuple(dict.fromkeys(MEASURES + IN_AN_ENCODER))
SUGGESTED, NONE = "suggested", "none"       # instead of names: the head that the lesson opens with; no head
TOLD = f"{PREFIX}told"                      # in the session: a guess about what is picked now stands above the picture
SETTINGS = Settings("heads", {
    "panel": view_setting("heads"),
    "key": Setting(-1, low=-1),                # position of the key; −1: the one with the largest weight
    "shows": Setting("matrix", options=("matrix", "lines")),
    "values": Setting("weights", options=("weights", "scores")),
    "shapes": Setting("own", options=("own", "first")),          # of multi-head attention: the model's, or 512, 8, 64
    "map": Setting("previous_token", options=EVERY_MEASURE),                     # of the map beside a large wall
    "x": Setting("previous_token", options=EVERY_MEASURE),
    "y": Setting("first_token", options=EVERY_MEASURE),
    # names of heads, such as "3.5 4.*", or SUGGESTED
    "changed": Setting(SUGGESTED),
    "action": Setting("zero", options=ACTIONS),
    "factor": Setting(0.5, low=-1.0, high=3.0),
    "other": Setting(""),                      # the second prompt; empty: the one of the text file
    "block": Setting(0, low=0),                # the last block that rollout follows
})
read, keep = SETTINGS.read, SETTINGS.keep


@dataclass(frozen=True)
class Patterns:
    """Every head's pattern on one prompt, (L, h, N, N) float32, the keys each query may see, (N, N) bool, and the
    measures, (L, h) float64 each.
    """

    values: np.ndarray
    allowed: np.ndarray
    measures: dict[str, np.ndarray]

    @functools.cached_property
    def roles(self) -> np.ndarray:
        """The role of each head, (L, h) strings; "" for none."""
        return roles(self.measures)


@dataclass(frozen=True)
class Change:
    """The reader's change of heads: `names` such as "3.5 4.*", where * is every head of a block, or SUGGESTED;
    one of ACTIONS, and the factor of "scale".
    """

    names: str
    action: str
    factor: float

    @staticmethod
    def checked(names: object, action: object, factor: object) -> Change:
        """A change from outside: within its bounds, or ValueError."""
        values = [SETTINGS.each[name].accept(value)
                  for name, value in (("changed", names), ("action", action), ("factor", factor))]
        if None in values:
            raise ValueError("there is no such change")
        return Change(*values)

    def heads(self, run: Run) -> tuple[tuple[int, int], ...]:
        """(layer, head) of every changed head, in order. What names no head of this model is left out."""
        config = run.model.config
        if self.names == SUGGESTED:
            shown = telling(run)
            return (shown,)
        found = set()
        for layer, head in re.findall(r"\b(\d{1,4})\.(\d{1,4}|\*)", self.names):
            heads = range(config.n_heads) if head == "*" else [int(head)]
            found |= {(int(layer), index) for index in heads if int(layer) < config.n_layers and index < config.n_heads}
        return tuple(sorted(found))

    def intervention(self, run: Run) -> Intervention:
        """One action for all the changed heads. A mean is taken over the prompt itself."""
        factor = self.factor if self.action == "scale" else 1.0
        edits = tuple(HeadEdit(layer, head, self.action, factor) for layer, head in self.heads(run))
        return Intervention(heads=edits, reference_ids=run.token_ids if edits and self.action == "mean" else ())


def change_now() -> Change:
    """The reader's change as it stands."""
    return Change(read("changed"), read("action"), read("factor"))


@dataclass(frozen=True)
class Pair:
    """The picked head, query and key; without a picked key the one with the largest weight."""

    layer: int
    head: int
    query: int
    key: int

    @property
    def name(self) -> str:
        return head_name(self.layer, self.head)


def patterns_of(run: Run, intervention: Intervention = NOTHING) -> Patterns:
    """The run's patterns under an intervention, kept for all who ask for the same."""
    make = functools.partial(_read, run.trace_with, intervention, measures_of(run))
    return cache.result(run.key("heads", intervention), make, lambda made: made.values.nbytes)


def _read(trace_with: Callable[[Intervention], Trace], intervention: Intervention, names: Sequence[str]) -> Patterns:
    trace = trace_with(intervention)
    measured = stream_and_heads.head_statistics(trace)
    values = torch.stack([block.pattern for block in trace.blocks]).float().cpu().numpy()
    return Patterns(values, trace.blocks[0].allowed.cpu().numpy(),
                    {name: getattr(measured, name).double().cpu().numpy() for name in names})


@dataclass(frozen=True)
class Reached:
    """The rollout up to one block at one query: all shares (N, N), and the key whose share of the query is largest."""

    block: int
    values: np.ndarray
    picked: tuple[int, int]

    def title(self, words: TextFile, run: Run) -> str:
        query, key = self.picked
        return words.label("title_rollout", n=self.block + 1, all=run.model.config.n_layers,
                           query_token=run.tokens[query], key_token=run.tokens[key],
                           share=probability(self.values[query, key]), own=probability(self.values[query, query]))


def reached(run: Run, block: int, query: int) -> Reached:
    """Each input token's share in each position after a block."""
    values = rollout_of(run)[block]
    return Reached(block, values, (query, int(values[query].argmax())))


def rollout_of(run: Run) -> np.ndarray:
    """The rollout after every block, (L, N, N), kept for all who ask for the same."""
    key = run.key("heads_rollout")
    return cache.result(key,
                        lambda: stream_and_heads.rollout([b.pattern for b in run.trace.blocks]).float().cpu().numpy(),
                        lambda made: made.nbytes)


def measures_of(run: Run) -> tuple[str, ...]:
    """The measures of heads in a model of this kind."""
    return IN_AN_ENCODER if run.is_encoder else MEASURES


def attached(name: str) -> dict:
    """The arguments key and on_change that tie a widget to one of SETTINGS; a setting that the wall depends on draws
    the wall again.
    """
    arguments = SETTINGS.attached(name, lambda: None)       # its fragment draws itself again
    if name not in ("changed", "action"):
        return arguments

    def changed() -> None:
        address.let_url_wait()
        arguments["on_change"]()
        redraw()

    return {**arguments, "on_change": changed}


def redraw(*also: str) -> None:
    """Callback: draw the wall again, and the named fragments; the panel follows."""
    redraw_in_turn(("heads_wall", *also), ("heads_panel",))


def redraw_in_turn(first: Sequence[str], later: Sequence[str]) -> None:
    """Callback: redraw the fragments `first`, then `later`. In present mode redraw the page, since the choice decides
    what stands on it; under a told guess redraw the whole picture, since the guess may lapse.
    """
    if reader.present():
        rerun()
    if st.session_state.get(TOLD):
        fragments.redraw()
    rerun_in_turn(first, later)


def pick_head(layer: int, head: int) -> None:
    """Callback: the reader picks a head beside the wall."""
    reader.select(layer=layer, head=head)
    redraw()


def open_head(layer: int, head: int) -> None:
    """Callback: the reader opens a head of the wall of all heads."""
    reader.select(layer=layer, head=head)
    open_panel("head")


def open_panel(name: str) -> None:
    """Callback: another panel, which may ask a question of its own before it shows."""
    keep(panel=name)
    if reader.ask_first() and not reader.present():
        fragments.redraw()
    redraw("heads_controls")


def choose(page: Lesson, name: str) -> str:
    """One of a setting's options by a segmented control; the labels are `<name>_<option>`."""
    return st.segmented_control(page.label(name), SETTINGS.each[name].options,
                                format_func=lambda option: page.label(f"{name}_{option}"), required=True,
                                label_visibility="collapsed", width="content", **attached(name))


def picked(run: Run) -> tuple[Pair, Patterns]:
    """The shared selection, with the key that the reader named or else the strongest one of the row, and the patterns.
    """
    patterns, chosen, key = patterns_of(run), selection(run), read("key")
    row = patterns.values[chosen.layer, chosen.head, chosen.position]
    return Pair(chosen.layer, chosen.head, chosen.position, key if 0 <= key < len(row) else int(row.argmax())), patterns


def title_of(page: Lesson, patterns: Patterns, pair: Pair) -> str:
    """The picked head in one line: its leading share, or how spread it is."""
    own = {name: values[pair.layer, pair.head] for name, values in patterns.measures.items()}
    if role := patterns.roles[pair.layer, pair.head]:
        return page.label(f"title_{role}", head=pair.name, share=probability(own[role]))
    if np.isnan(own["entropy"]):
        return page.label("title_one_token", head=pair.name)
    return page.label("title_spread", head=pair.name, entropy=f"{own['entropy']:.2f}",
                      distance=f"{own['distance']:.1f}")


def measured(value: float) -> str:
    """A measure with three significant digits; a dash where the prompt says nothing about it."""
    return "–" if np.isnan(value) else probability(value) if value <= 1 else readable(value)


def divergence_of(run: Run, layer: int, head: int, position: int) -> float:
    """KL(before ‖ after) in nats of the prediction at `position`, with this head alone set to zero; without a language
    head, how far the last vector there moves.
    """
    key = run.key("heads_kl", layer, head, position)
    off = Intervention(heads=(HeadEdit(layer, head),))

    def found() -> float:
        before, after = run.trace, run.trace_with(off)
        return (stream_and_heads.effect(before.logits[position], after.logits[position]).kl if run.has_head
                else moved_by(before, after, position))

    return cache.result(key, found, lambda _: 64)


def moved_by(before: Trace, after: Trace, position: int) -> float:
    """‖h′ − h‖ / ‖h‖ of the last vector at a position, in two runs on the same tokens."""
    own = before.h_final[position].double()
    return float((after.h_final[position].double() - own).norm() / own.norm())
