"""Mixtures of experts: which expert reads which token, and what all of them hold against what a token goes through.

A model of experts shows its own router. Beside a model without, as many experts as the reader asks for are counted, and
a router of random weights, which nobody has trained, shares out what the block's feed-forward part really reads.
"""
from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis.arrays import to_numpy
from core.analysis.norm_inputs import feed_forward_input
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot
from core.app.lesson.selection_controls import pick as pick_of_model
from core.app.parts.charts import screen_taken
from core.app.state import Run, reader
from core.app.state.run import select, selection
from core.base.markdown import code, escaped, unmarked
from core.components.residual_grid import Grid, residual_grid
from core.cost import counting
from core.figures.numbers import grouped, latex_number, latex_operand, percent, readable
from core.model.config import ModelConfig
from core.model.experts import Mixture, route
from pages.architectures import experts_charts
from pages.architectures.shared import PREFIX, attached, own_seed, prefixed, read, show

NO_BLOCK = "experts_no_part", "experts_dense_block"
MOST_NAMED = 3      # experts of a token in the title
BUSY = 4            # options of the question: an equal share, more, twice as much, every token
# Jiang et al. 2024
MIXTRAL = ModelConfig.of(vocab_size=32_000, d_model=4096, n_layers=32, n_heads=32, n_kv_heads=8, d_ff=14_336,
                      n_context=32_768, norm="rmsnorm", norm_bias=False, activation="swiglu", positions="rotary",
                      attention_bias=False, mlp_bias=False, tied_embeddings=False, n_experts=8, n_active_experts=2)


@dataclass(frozen=True)
class Routing:
    """The experts of each token in a block: probs and weights (N, n) float64, as core.model.experts.route has them;
    config: the model with these experts; trained: whether they and the router are the model's own.
    """

    probs: np.ndarray
    weights: np.ndarray
    config: ModelConfig
    layer: int
    trained: bool

    @property
    def n(self) -> int:
        return self.config.experts.n_experts

    @property
    def k(self) -> int:
        return self.config.experts.n_active_experts

    @property
    def chosen(self) -> np.ndarray:
        """(N, n) bool, which expert reads which token."""
        return self.weights > 0

    @property
    def shares(self) -> np.ndarray:
        """(n,) the part of all N k readings that each expert does; they sum to 1."""
        return self.chosen.sum(0) / self.chosen.sum()

    @property
    def busiest(self) -> int:
        return int(self.shares.argmax())

    def experts_of(self, position: int) -> list[int]:
        """The experts of one token, the one of the largest weight first."""
        row = self.weights[position]
        return sorted(np.flatnonzero(row).tolist(), key=lambda expert: -row[expert])


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How much the busiest expert reads, against an equal share; not asked where every expert reads every token."""
    found = routing_of(run)
    if found is None or found.k == found.n or len(run.tokens) < 2:
        return None

    def truth(_: int) -> Truth:
        reads, even = found.chosen.sum(0), len(run.tokens) * found.k / found.n       # tokens
        most, idle = int(reads.max()), int((reads == 0).sum())
        option = 3 if most == len(run.tokens) else 2 if most >= 2 * even else int(most > even)
        share = percent(float(found.shares.max()))
        return Truth(option, said=share, seen=int(not idle),
                     values={"busiest": found.busiest, "most": share, "even": percent(1 / found.n), "idle": idle})

    return Prediction("experts", Options([page.label(f"busiest_{i}") for i in range(BUSY)]), truth,
                      {"n": found.n, "k": found.k, "block": found.layer, "tokens": len(run.tokens),
                       "router": page.label("experts_router_own" if found.trained else "experts_router_random")},
                      _state(found))


def _state(found: Routing) -> tuple:
    return found.layer, found.n, found.k, 0 if found.trained else read("experts_seed")


def routing_of(run: Run) -> Routing | None:
    """The routing in the picked block; None if that block has no part that experts could replace, or is dense in a
    model of experts.
    """
    config, layer = run.model.config, selection(run).layer
    block, weights = run.trace.blocks[layer], run.model.blocks[layer]
    if block.expert_weights is not None:
        return Routing(to_numpy(block.router_probs.double()), to_numpy(block.expert_weights.double()), config, layer,
                       True)
    if config.d_ff is None or config.experts.n_experts:
        return None
    n = read("experts_n")
    k = min(read("experts_k"), n)
    x = feed_forward_input(weights, block, config.norm).double()
    generator = torch.Generator().manual_seed(1000 * read("experts_seed") + layer)
    W_R = torch.randn((config.d_model, n), generator=generator, dtype=torch.float64) * config.d_model ** -0.5
    probs, shares = route(x @ W_R.to(x.device), k, renormalised=True)
    return Routing(to_numpy(probs), to_numpy(shares), config.changed(n_experts=n, n_active_experts=k), layer, False)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls, the grid of tokens and experts, and the bars; a sentence where a block has no experts."""
    config = run.model.config
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        pick_of_model(page, run, "layer", "position")
        if not config.experts.n_experts and config.d_ff is not None:
            _toy_controls(page)
    found = routing_of(run)
    if found is None:
        why = page.label(NO_BLOCK[config.experts.n_experts > 0], model=escaped(run.title), block=selection(run).layer)
        return cannot(why, _question(page))
    position = selection(run).position
    title = _title(page, run, found, position)
    st.markdown(f"**{title}**")
    left, right = st.columns([8, 5], gap="medium")
    with left:
        _grid(page, run, found, position, title)
    with right:
        _bars(page, run, found)
    return Reading(_lines(page, run, found, position), _question(page), [route, Mixture.forward],
                   {"experts.csv": lambda: table(run, found), "shares.csv": lambda: _share_table(found)},
                   f".st-key-{PREFIX}experts_grid", title, summary={page.label("experts_summary"): percent(
                       float(found.shares.max()))})


def _toy_controls(page: Lesson) -> None:
    # an address may ask for more experts than there are
    st.session_state[f"{PREFIX}experts_k"] = min(read("experts_k"), read("experts_n"))
    for name in ("experts_n", "experts_k"):
        st.slider(page.label(name), *((2, 16) if name == "experts_n" else (1, read("experts_n"))), width=150,
                  **attached(name))
    own_seed(page, "experts_seed", page.label("experts_seed_help"))


def _title(page: Lesson, run: Run, found: Routing, position: int) -> str:
    first = found.experts_of(position)
    weights = found.weights[position]
    listed = ", ".join(f"{expert} ({readable(float(weights[expert]))})" for expert in first[:MOST_NAMED])
    if len(first) > MOST_NAMED:
        listed = page.label("experts_more", experts=listed, more=len(first) - MOST_NAMED)
    return page.label("experts_title" if found.trained else "experts_title_random", token=code(run.tokens[position]),
                      experts=listed, block=found.layer, busiest=found.busiest,
                      most=percent(float(found.shares.max())))


def _grid(page: Lesson, run: Run, found: Routing, position: int, title: str) -> None:
    """The router's probabilities, tokens × experts, with a tick for each expert that reads the token."""
    grid = Grid(found.probs, run.tokens, [str(expert) for expert in range(found.n)], page.label("experts_legend"),
                page.label("experts_reading"), unmarked(title), reader.theme(),
                (position, found.experts_of(position)[0]), (0.0, float(found.probs.max())), marks=found.chosen,
                least_column=11, least_row=18, numbered=True, row_band=True, column_band=False, height=220,
                most_height=620, fit=screen_taken(10 if reader.present() else 120), rows_scroll=True,
                present=reader.present())
    residual_grid(grid, key=f"{PREFIX}experts_grid", on_pick=lambda row, column: select(run, position=row))


def _bars(page: Lesson, run: Run, found: Routing) -> None:
    """Each expert's share of the readings, and the parameters in all and of a token."""
    show("experts_shares", functools.partial(experts_charts.shares, height=210), found.shares,
         (1 / found.n, page.label("experts_even")),
         (page.label("experts_axis"), page.label("experts_share_axis")))
    show("experts_counts", functools.partial(experts_charts.counts, height=118 if reader.present() else 96),
         [(page.label(f"experts_count_{name}"), count, prefixed(count)) for name, count in counts(found).items()],
         page.label("experts_count_axis"))
    page.note(page.label("experts_note_own" if found.trained else "experts_note_random", n=found.n, k=found.k))


def counts(found: Routing) -> dict[str, int]:
    """The numbers of the model with its experts in all, and those that a token goes through; beside a model without
    experts its own before them.
    """
    whole = {"all": counting.n_parameters(found.config), "active": counting.active_parameters(found.config)}
    if found.trained:
        return whole
    return {"dense": counting.n_parameters(found.config.changed(n_experts=0, n_active_experts=0, d_expert=0)), **whole}


def table(run: Run, found: Routing) -> pd.DataFrame:
    """A row for each token and expert."""
    n_tokens, n = found.probs.shape
    return pd.DataFrame({"position": np.repeat(range(n_tokens), n), "token": np.repeat(run.tokens, n),
                         "expert": np.tile(range(n), n_tokens), "probability": found.probs.ravel(),
                         "weight": found.weights.ravel()})


def _share_table(found: Routing) -> pd.DataFrame:
    return pd.DataFrame({"expert": range(found.n), "tokens": found.chosen.sum(0), "share": found.shares})


def _lines(page: Lesson, run: Run, found: Routing, position: int) -> list[tuple[str, str]]:
    expert, *others = found.experts_of(position)
    p, g = found.probs[position], found.weights[position, expert]
    token, read_by = code(run.tokens[position]), int(found.chosen[:, found.busiest].sum())
    if found.config.experts.experts_renormalised:
        addends = " + ".join(latex_operand(p[e]) for e in (expert, *others))
        weight = rf"g_{{{expert}}} = \frac{{{latex_operand(p[expert])}}}{{{addends}}} = {latex_number(g)}"
    else:
        weight = rf"g_{{{expert}}} = p_{{{expert}}} = {latex_number(g)}"
    config, whole = found.config, counting.n_parameters(found.config)
    blocks, idle = counting.expert_blocks(config), found.n - found.k
    width = config.experts.d_expert
    size = counting.mlp_parameters(config, width) + counting.mlp_biases(config, width)
    return [(page.label("experts_numbers_weight" if config.experts.experts_renormalised else "experts_numbers_plain",
                        token=token, expert=expert), weight),
            (page.label("experts_numbers_share", busiest=found.busiest, n=len(run.tokens), k=found.k),
             rf"\frac{{{read_by}}}{{{len(run.tokens)} \cdot {found.k}}} = {latex_number(found.shares.max())}"),
            (page.label("experts_numbers_active", size=grouped(size), idle=idle, blocks=blocks),
             rf"{whole} - {blocks} \cdot {idle} \cdot {size} = {counting.active_parameters(config)}")]


def _question(page: Lesson) -> Question:
    """How many of Mixtral's numbers a token goes through."""
    whole, active = counting.n_parameters(MIXTRAL), counting.active_parameters(MIXTRAL)
    options = [whole // 8, whole // 4, active, whole]
    return page.question("experts", [prefixed(count) for count in options], options.index(active),
                         whole=prefixed(whole), active=prefixed(active), quarter=prefixed(whole // 4),
                         shared=prefixed(whole - 32 * 8 * counting.mlp_parameters(MIXTRAL, MIXTRAL.experts.d_expert)),
                         own=prefixed(32 * 2 * counting.mlp_parameters(MIXTRAL, MIXTRAL.experts.d_expert)))
