"""Roles: why a query and a key, and not one vector for both; and which changes of the weights leave the output
unchanged.
"""
import copy
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.analysis import symmetries
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot
from core.app.lesson.selection_controls import pick
from core.app.state import Run, reader
from core.app.state.run import selection
from core.base.markdown import code, escaped
from core.components.lib.token_view import token_view
from core.figures.heads import head_name
from core.figures.numbers import latex_number, latex_operand, readable
from pages.attention import one_matrix, one_vector
from pages.attention.roles_work import (
    UNSEEN,
    Compared,
    Heads,
    Relabelled,
    compared,
    double_of,
    forward,
    largest,
    order_of,
    peak,
    put_back,
    relabelled,
    said,
)
from pages.attention.shared import PREFIX, attached, between, choice, own_seed, read

PICTURE = f"{PREFIX}roles"
MOST_DOUBLE = 10**9    # bytes of a model's copy in float64
SHOWN = 32             # the last tokens of the prompt, whose rows are drawn
LEAST_TOKENS = 3       # a reader can count those that match themselves
ACROSS = 2             # matrices side by side
PANELS = ".matrices"   # CSS selector of the picture
STEPS = (UNSEEN, 0.1, 1.0)     # limits between the options of the question about the change of basis
# Matrices of one head or of the stream side by side, as heatmaps with their values under the pointer.
_picture = token_view("attention_matrices", __file__)


@dataclass(frozen=True)
class Panel:
    """One heatmap: the label of its name, its caption `said`, a meaning of style.py, its values. keys: columns are
    tokens.
    """

    name: str
    said: str
    meaning: str
    values: Tensor
    scale: str = "div"
    reach: float = 0.0      # of the deepest colour; 0: the largest entry
    keys: bool = False


def predict(page: Lesson, run: Run) -> Prediction | None:
    """At what most tokens would look with one vector for both: at themselves, or at one and the same token."""
    n = len(run.token_ids)
    if (read("roles_part") != "symmetric" or n < LEAST_TOKENS or 8 * run.model.n_parameters > MOST_DOUBLE
            or run.model.config.sublayer.qk_norm_joint):
        return None
    chosen = selection(run)
    head = (chosen.layer, chosen.head)

    def truth(_: int) -> Truth:
        pair = compared(run, "keys", *head)
        own, alike = (one_vector.at_themselves(each) for each in (pair.before, pair.after))
        at_one = int(pair.after.pattern.argmax(-1).bincount().max())
        return Truth(0 if 2 * alike > n else 1 if 2 * at_one > n else 2,
                     seen=0 if alike > own else 1 if alike < own else 2, values={"own": own, "alike": alike})

    return Prediction("roles", Options([*page.labels("guess_roles").values()]), truth,
                      {"head": head_name(*head), "n": n}, head)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the matrices of the chosen part; return what they show."""
    if (size := 8 * run.model.n_parameters) > MOST_DOUBLE:
        return cannot(page.label("roles_too_large", size=f"{size / 1e9:.1f} GB"))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{PREFIX}roles_controls"):
        part = choice(page, "roles_part")
        if part != "relabel":
            pick(page, run, "layer", "head")
        if part == "change":
            st.markdown(page.label("roles_stretch"), width="content", help=page.label("roles_stretch_help"))
            st.slider(page.label("roles_stretch"), 1.0, 10.0, step=0.5, label_visibility="collapsed", width=100,
                      **attached("roles_stretch"))
        if part == "product":
            pick(page, run, "position")
        elif part == "symmetric":
            choice(page, "roles_values")
        else:
            own_seed(page, "roles_seed", page.label("roles_seed_help"))
    if part == "symmetric" and run.model.config.sublayer.qk_norm_joint:
        return cannot(page.label("roles_joint_norm"))
    if part == "symmetric":
        return one_vector.draw(page, run)
    if part == "product":
        return one_matrix.draw(page, run)
    panels, reading = {"change": _change, "relabel": _relabel}[part](page, run)
    _matrices(page, run, panels, reading.title)
    return reading


def _matrices(page: Lesson, run: Run, panels: list[Panel], title: str) -> None:
    """Draw the heatmaps, of a long prompt for the last SHOWN tokens."""
    first = max(0, len(run.token_ids) - SHOWN)
    headers, arrays = [], {}
    for k, panel in enumerate(panels):
        values = panel.values[first:, first:] if panel.keys else panel.values[first:]
        arrays[f"m{k}"] = values.float().numpy()
        headers.append({"name": page.label(f"roles_panel_{panel.name}"), "said": panel.said, "meaning": panel.meaning,
                        "rows": values.shape[0], "columns": values.shape[1], "keys": panel.keys, "scale": panel.scale,
                        "reach": panel.reach or peak(panel.values) or 1.0})
    _picture(page.header("roles") | {"theme": reader.theme(),
              "title": title + (f" {page.label('roles_last', n=SHOWN)}" if first else ""),
              "tokens": run.tokens[first:], "panels": headers, "lines": math.ceil(len(panels) / ACROSS)},
             key=PICTURE, on_settings=lambda _sent: None, arrays=arrays)


# ---- another basis for queries and keys ------------------------------------------------------------------------------


def _change(page: Lesson, run: Run) -> tuple[list[Panel], Reading]:
    chosen, config = selection(run), run.model.config
    seed, stretch, name = read("roles_seed"), read("roles_stretch"), head_name(chosen.layer, chosen.head)
    pair = compared(run, "basis", chosen.layer, chosen.head, seed, stretch)
    a, b = pair.before, pair.after
    moved = {part: readable(largest(getattr(a, part), getattr(b, part))) for part in ("Q", "K", "scores")}
    logits, same = readable(pair.difference), pair.difference < UNSEEN
    title = page.label("roles_change_same" if same else "roles_change_other", head=name, q=moved["Q"], k=moved["K"],
                       scores=moved["scores"], logits=logits)
    if not same:
        why = between(config)
        title += f" {page.label(f'roles_why_{why}')}" if f"roles_why_{why}" in page.words.labels else ""
    before, after = [], []
    for part, names, meaning in (("Q", ("Q", "QA"), "query"), ("scores", ("product", "product_A"), "")):
        old, new, keys = getattr(a, part), getattr(b, part), part == "scores"
        deepest = max(peak(old), peak(new))
        said = (page.label("roles_said_model") if keys
                else page.label("roles_said_entries", largest=readable(peak(old))))
        before.append(Panel(names[0], said, meaning, old, reach=deepest, keys=keys))
        after.append(Panel(names[1], page.label("roles_said_moved", by=moved[part]), meaning, new, reach=deepest,
                           keys=keys))
    A = symmetries.change_of_basis(seed, config.d_k, stretch)
    return before + after, Reading(
        _change_lines(page, run, pair, A, chosen.position), _change_question(page, run, pair),
        [symmetries.change_of_basis, symmetries.with_change_of_basis],
        {"queries_and_keys.csv": lambda: basis_table(run, a, b)}, PANELS, title,
        summary={page.label("roles_summary_scores"): moved["scores"], page.label("roles_summary_logits"): logits})


def basis_table(run: Run, before: Heads, after: Heads) -> pd.DataFrame:
    """Q and K of the head before and after, a row for each position and dimension."""
    n, d_k = before.Q.shape
    position, dimension = np.divmod(np.arange(n * d_k), d_k)
    return pd.DataFrame({"position": position, "dimension": dimension}
                        | {f"{name}{mark}": getattr(each, name).flatten().numpy()
                           for mark, each in (("", before), ("_A", after)) for name in ("Q", "K")})


def _change_lines(page: Lesson, run: Run, pair: Compared, A: Tensor, i: int) -> list[tuple[str, str]]:
    a, b = pair.before, pair.after
    j, singular, digits = int(a.pattern[i].argmax()), torch.linalg.svdvals(A), 12
    u = "u" if run.has_head else "h"
    invariance = page.label("roles_numbers_invariance" if pair.difference < UNSEEN
                            else "roles_numbers_invariance_other")
    return [
        (invariance, r"(X W_Q A^{-1})(X W_K A^{\mathsf T})^{\mathsf T} = X W_Q\, A^{-1} A\, W_K^{\mathsf T} "
                     r"X^{\mathsf T} = Q K^{\mathsf T}"),
        (page.label("roles_numbers_condition", d=len(A)),
         rf"\frac{{\sigma_{{\max}}(A)}}{{\sigma_{{\min}}(A)}} = "
         rf"\frac{{{latex_operand(singular[0])}}}{{{latex_operand(singular[-1])}}} = "
         rf"{latex_number(singular[0] / singular[-1])}"),
        (page.label("roles_numbers_same", query=code(run.tokens[i]), other=code(run.tokens[j])),
         rf"S_{{{i},{j}}} = {latex_number(a.scores[i, j], digits)}, \qquad S^A_{{{i},{j}}} = "
         rf"{latex_number(b.scores[i, j], digits)}"),
        (page.label("roles_numbers_logits"),
         rf"\max_{{i,w}} \left| {u}_{{i,w}} - {u}^A_{{i,w}} \right| = {latex_number(pair.difference)}")]


def _change_question(page: Lesson, run: Run, pair: Compared) -> Question | None:
    """Ask how far scores move if only the queries get A; None if scores are no products of the two."""
    config = run.model.config
    if config.score != "dot":
        return None
    scale = config.divisor if config.scores.scale_scores else 1.0
    moved = largest(pair.before.Q @ pair.before.K.T, pair.after.Q @ pair.before.K.T) / scale
    return page.question("roles_change", [page.label(f"roles_change_option_{k}") for k in range(4)],
                         int(np.searchsorted(STEPS, moved, side="right")), scores=readable(moved))


# ---- the dimensions of the stream in another order -------------------------------------------------------------------


def _relabel(page: Lesson, run: Run) -> tuple[list[Panel], Reading]:
    d, seed, i = run.model.config.d_model, read("roles_seed"), selection(run).position
    pair = relabelled(run, seed, i)
    # put back into the model's own order
    difference = put_back(pair.after, pair.order) - pair.before
    logits, deepest = readable(pair.difference), _scale(pair.before)
    mantissa, power = symmetries.scientific_factorial(d)
    title = page.label("roles_relabel_same" if pair.difference < UNSEEN else "roles_relabel_other", d=d,
                       logits=logits, back=readable(peak(difference)), model=escaped(run.title))
    moved = int((pair.order != torch.arange(d)).sum())
    panels = [Panel("stream", page.label("roles_said_stream", d=d), "residual", pair.before, reach=deepest),
              Panel("stream_relabelled", page.label("roles_said_dimensions", moved=moved), "residual", pair.after,
                    reach=deepest)]
    return panels, Reading(
        _relabel_lines(page, run, pair, mantissa, power), _relabel_question(page, run, seed),
        [symmetries.relabelled, symmetries.log10_factorial],
        {"logits.csv": lambda: logit_table(page, run, pair, run.tokenizer.vocab_size)} if run.has_head else {}, PANELS,
        title, logit_table(page, run, pair, 6) if run.has_head else None, {page.label("roles_summary_logits"): logits})


def _scale(values: Tensor) -> float:
    """The value of a stream's deepest colour: the 99th percentile of the magnitudes, since one dimension is often far
    larger than all others.
    """
    return float(values.abs().flatten().quantile(0.99))


def logit_table(page: Lesson, run: Run, pair: Relabelled, n: int) -> pd.DataFrame:
    """The `n` most probable next tokens after the picked position with their logits from both models, to 12 decimals.
    """
    best = pair.logits.argsort(descending=True)[:n].tolist()
    columns = [page.label(f"roles_column_{name}") for name in ("token", "model", "relabelled")]
    return pd.DataFrame([(run.tokenizer.visible(w), f"{float(pair.logits[w]):.12f}",
                          f"{float(pair.other_logits[w]):.12f}") for w in best], columns=columns)


def _relabel_lines(page: Lesson, run: Run, pair: Relabelled, mantissa: float, power: int) -> list[tuple[str, str]]:
    config = run.model.config
    d, logarithm = config.d_model, symmetries.log10_factorial(config.d_model)
    u = "u" if run.has_head else "h"
    lines = [
        (page.label("roles_numbers_factorial"),
         rf"d! = {d}! = {mantissa:.4f} \cdot 10^{{{power}}}, \qquad \log_{{10}} {d}! "
         rf"= \frac{{\ln\Gamma({d + 1})}}{{\ln 10}} = "
         rf"\frac{{{latex_operand(math.lgamma(d + 1))}}}{{{latex_operand(math.log(10))}}} = {latex_number(logarithm)}"),
        (page.label("roles_numbers_logits_relabelled"),
         rf"\max_{{i,w}} \left| {u}_{{i,w}} - {u}'_{{i,w}} \right| = {latex_number(pair.difference)}")]
    # with shared keys, whole groups can be permuted, and the query heads within each
    shared = config.n_kv_heads < config.n_heads
    inner = [((config.n_heads // config.n_kv_heads, config.n_kv_heads), r"(h/h_{kv})!^{\,h_{kv}}"),
             ((config.n_kv_heads, 1), "h_{kv}!")] if shared else [((config.n_heads, 1), "h!")]
    inner += [((config.d_ff, 1), r"d_{\mathrm{ff}}!")] if config.d_ff is not None else []
    product = r" \cdot ".join(symbol for _, symbol in inner)
    digits = logarithm + config.n_layers * sum(times * symmetries.log10_factorial(n) for (n, times), _ in inner)
    return [*lines, (page.label("roles_numbers_all_shared" if shared else "roles_numbers_all", layers=config.n_layers),
                     rf"d! \cdot \left({product}\right)^{{{config.n_layers}}} \approx 10^{{{digits:.1f}}}")]


def _relabel_question(page: Lesson, run: Run, seed: int) -> Question:
    """How far the logits move in a model whose weights are the mean of both models'."""
    options = [page.label(f"roles_change_option_{k}") for k in range(4)]

    def solve() -> tuple[int, str]:
        model = double_of(run)
        mean = mean_of(model, symmetries.relabelled(model, order_of(run, seed)))
        moved = largest(said(forward(model, run)), said(forward(mean, run)))
        because = page.label("because_roles_relabel", logits=readable(moved))
        return int(np.searchsorted(STEPS, moved, side="right")), because

    return Question("roles_relabel", page.label("question_roles_relabel"), options, solve,
                    about=(run.model_name, run.token_ids, seed))


def mean_of(a: torch.nn.Module, b: torch.nn.Module) -> torch.nn.Module:
    """A model each of whose weights is the mean of the two models'."""
    mean = copy.deepcopy(a)
    with torch.no_grad():
        for own, other in zip(mean.parameters(), b.parameters()):
            own.add_(other).div_(2)
    return mean
