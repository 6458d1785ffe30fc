"""What the lesson reads from a forward pass: every pattern as one array, what each head looks at, what the reader changed."""
from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch

from core import analysis
from core.figures.heads import head_name
from core.figures.numbers import probability
from core.intervention import NOTHING, HeadEdit, Intervention
from core.ui import cache, state
from core.ui.lesson import Lesson
from core.ui.run import Run

PREFIX = "heads_"
FRAGMENTS = ["heads_instrument", "heads_below"]     # what is redrawn when the picked head, query or key changes
ACTIONS = ("zero", "mean", "scale", "uniform")
MEASURES = ("previous_token", "first_token", "induction", "duplicate_token", "entropy", "distance")


@dataclass(frozen=True)
class Patterns:
    """Every head's pattern on one prompt, (L, h, N, N) float32, the keys each query may see, (N, N) bool, and the measures, (L, h) float64 each."""

    values: np.ndarray
    allowed: np.ndarray
    measures: dict[str, np.ndarray]


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
    key = ("heads", run.model_name, id(run.model), run.device, intervention, run.token_ids)
    return cache.result(key, lambda: _read(run, intervention), lambda made: made.values.nbytes)


def _read(run: Run, intervention: Intervention) -> Patterns:
    trace = run.trace_with(intervention)
    measured = analysis.head_statistics(trace)
    values = torch.stack([block.pattern for block in trace.blocks]).float().cpu().numpy()
    return Patterns(values, trace.blocks[0].allowed.cpu().numpy(), {name: getattr(measured, name).double().cpu().numpy() for name in MEASURES})


def picked_pair(run: Run) -> Pair:
    """The shared selection, with the key that the reader named or else the strongest one of the row."""
    chosen = state.selection()
    row = patterns_of(run).values[chosen.layer, chosen.head, chosen.position]
    key = st.session_state.get(f"{PREFIX}key")
    return Pair(chosen.layer, chosen.head, chosen.position, int(row.argmax()) if key is None or key >= len(row) else int(key))


def changed_heads(run: Run) -> tuple[tuple[int, int], ...]:
    """(layer, head) of every head that the reader changed, in order: from names such as "3.5 4.*", where * is every head of the layer.

    What names no head of this model is left out.
    """
    config = run.model.config
    found = set()
    for layer, head in re.findall(r"(\d+)\.(\d+|\*)", st.session_state.get(f"{PREFIX}changed") or ""):
        heads = range(config.n_heads) if head == "*" else [int(head)]
        found |= {(int(layer), index) for index in heads if int(layer) < config.n_layers and index < config.n_heads}
    return tuple(sorted(found))


def choose(page: Lesson, name: str, options: tuple[str, ...], **how) -> str:
    """One of `options` by a segmented control that is bound to the URL; the URL and the experiments say its label."""
    labels = {page.label(f"{name}_{option}"): option for option in options}
    written = st.segmented_control(page.label(name), list(labels), default=next(iter(labels)), required=True, key=f"{PREFIX}{name}", bind="query-params",
                                   label_visibility="collapsed", **how)
    return labels[written]


def chosen(page: Lesson, name: str, options: tuple[str, ...]) -> str:
    """What `choose` has last given, without drawing it; the first option before that."""
    labels = {page.label(f"{name}_{option}"): option for option in options}
    return labels.get(st.session_state.get(f"{PREFIX}{name}"), options[0])


def intervention_of(page: Lesson, run: Run) -> Intervention:
    """What the reader changed: one action for all the changed heads. A mean is taken over the prompt itself."""
    action = chosen(page, "action", ACTIONS)
    factor = float(st.session_state.get(f"{PREFIX}factor", 0.5)) if action == "scale" else 1.0
    edits = tuple(HeadEdit(layer, head, action, factor) for layer, head in changed_heads(run))
    return Intervention(heads=edits, reference_ids=run.token_ids if edits and action == "mean" else ())


def title_of(page: Lesson, measures: dict[str, np.ndarray], role: str, layer: int, head: int) -> str:
    """What the head does, as one line: its leading share, or how spread it is."""
    if role:
        return page.label(f"title_{role}", head=head_name(layer, head), share=probability(float(measures[role][layer, head])))
    entropy, distance = (float(measures[name][layer, head]) for name in ("entropy", "distance"))
    if np.isnan(entropy):
        return page.label("title_one_token", head=head_name(layer, head))
    return page.label("title_spread", head=head_name(layer, head), entropy=f"{entropy:.2f}", distance=f"{distance:.1f}")


def code(token: str) -> str:
    """A token's visible form as code in Markdown."""
    return "`" + token.replace("`", "ˋ") + "`"


def measured(value: float) -> str:
    """A measure with three significant digits; a dash where the prompt says nothing about it."""
    return "–" if np.isnan(value) else probability(value) if value <= 1 else f"{value:.3g}"


def divergence_of(run: Run, layer: int, head: int, position: int) -> float:
    """KL(before ‖ after) in nats of the next token after `position`, with this head alone set to zero."""
    key = ("heads_kl", run.model_name, id(run.model), run.device, run.token_ids, layer, head, position)
    off = Intervention(heads=(HeadEdit(layer, head),))
    return cache.result(key, lambda: analysis.effect(run.trace.logits[position], run.trace_with(off).logits[position]).kl, lambda _: 64)
