"""Roles: why a query and a key, and not one vector for both; and which changes of the weights leave the output
unchanged.
"""
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.analysis import stream_and_heads, symmetries
from core.app.base.markdown import code, escaped
from core.app.compute import growing_results
from core.app.frame import Lesson, Question, Reading, cannot
from core.app.state import Run, reader
from core.components.lib.token_view import token_view
from core.figures.heads import head_name
from core.figures.numbers import (
    bracketed,
    latex_number,
    latex_operand,
    plain_number,
    probability,
    readable,
    superscript,
)
from core.model.trace import Trace
from core.model.transformer import Transformer
from pages.attention.shared import PREFIX, attached, choice, pick_head, read, throw_again

PICTURE = f"{PREFIX}roles"
MOST_DOUBLE = 10**9    # bytes of a model's copy in float64
SHOWN = 64             # the last tokens of the prompt, whose rows are drawn
# two models with a smaller difference of logits in float64 are the same: far above rounding, far below any change
UNSEEN = 1e-9
LEAST_PLAIN = 5e-4     # below it a difference is written with its power of ten
PANELS = ".matrices"   # CSS selector of the picture
STEPS = (UNSEEN, 0.1, 1.0)     # limits between the options of the question about the change of basis
# Matrices of one head or of the stream side by side, as heatmaps with their values under the pointer.
_picture = token_view("attention_matrices", __file__)


@dataclass(frozen=True)
class Panel:
    """One heatmap: the label of its name, its caption `said`, a meaning of style.py, its values. keys: its columns are
    tokens too.
    """

    name: str
    said: str
    meaning: str
    values: Tensor
    scale: str = "div"
    reach: float = 0.0      # of the deepest colour; 0: the largest entry
    keys: bool = False
    masked: bool = False


@dataclass(frozen=True)
class Heads:
    """One head: queries and keys (N, d_k), scores and weights (N, N), float64, and the logits (N, |V|) of the whole
    model, float32 to save room.
    """

    Q: Tensor
    K: Tensor
    scores: Tensor
    pattern: Tensor
    logits: Tensor


@dataclass(frozen=True)
class Compared:
    """One head before and after a change, and the largest difference of the two models' logits, in float64."""

    before: Heads
    after: Heads
    difference: float


@dataclass(frozen=True)
class Relabelled:
    """The stream after the last block (N, d) of the model and of the relabelled one, their logits (|V|,) after one
    position, the largest difference of all logits, and the order (d,) of the dimensions.
    """

    before: Tensor
    after: Tensor
    logits: Tensor
    other_logits: Tensor
    difference: float
    order: Tensor


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the matrices of the chosen part; return what they show."""
    if (size := 8 * run.model.n_parameters) > MOST_DOUBLE:
        return cannot(page.label("roles_too_large", size=f"{size / 1e9:.1f} GB"))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{PREFIX}roles_controls"):
        part = choice(page, "roles_part")
        if part != "relabel":
            pick_head(page, run)
        if part == "change":
            st.markdown(page.label("roles_stretch"), width="content", help=page.label("roles_stretch_help"))
            st.slider(page.label("roles_stretch"), 1.0, 10.0, step=0.5, label_visibility="collapsed", width=100,
                      **attached("roles_stretch"))
        if part != "symmetric":
            throw_again(page, "roles_seed")
    panels, reading = {"symmetric": _symmetric, "change": _change, "relabel": _relabel}[part](page, run)
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
                        "reach": panel.reach or peak(panel.values) or 1.0, "masked": panel.masked})
    _picture(page.header("roles") | {"theme": reader.theme(),
              "title": title + (f" {page.label('roles_last', n=SHOWN)}" if first else ""),
              "tokens": run.tokens[first:], "panels": headers, "lines": math.ceil(len(panels) / 3)},
             key=PICTURE, on_settings=lambda _sent: None, arrays=arrays)


# ---- what is computed ------------------------------------------------------------------------------------------------


def _double(run: Run) -> Transformer:
    """The model in float64, shared by all readers and never written."""
    return growing_results.made(run.loaded.key("attention double"), lambda: symmetries.double_copy(run.model),
                                lambda value: 8 * value.n_parameters)


def _forward(model: Transformer, run: Run) -> Trace:
    with torch.inference_mode():
        return model(torch.tensor(run.token_ids))


def _heads(trace: Trace, layer: int, head: int) -> Heads:
    block, shared = trace.blocks[layer], trace.config.n_heads // trace.blocks[layer].K.shape[0]
    return Heads(block.Q_rotated[head], block.K_rotated[head // shared],
                 symmetries.scores_alone(block, trace.config, head), block.pattern[head], trace.logits.float())


def compared(run: Run, kind: str, layer: int, head: int, seed: int = 0, stretch: float = 1.0) -> Compared:
    """One head before and after a change: "keys" are computed as queries, or both are in another "basis"."""
    def make() -> Compared:
        model = _double(run)
        changed = (symmetries.with_queries_as_keys(model, layer, head) if kind == "keys" else
                   symmetries.with_change_of_basis(model, layer, head,
                                                   symmetries.change_of_basis(seed, run.model.config.d_k, stretch)))
        a, b = _forward(model, run), _forward(changed, run)
        return Compared(_heads(a, layer, head), _heads(b, layer, head), largest(a.logits, b.logits))

    return growing_results.made(run.key("attention roles", kind, layer, head, seed, stretch), make,
                                lambda pair: _bytes(pair.before) + _bytes(pair.after))


def relabelled(run: Run, seed: int, position: int) -> Relabelled:
    """The model beside a copy with permuted dimensions of its stream."""
    def make() -> Relabelled:
        model, order = _double(run), torch.from_numpy(np.random.default_rng(seed).permutation(run.model.config.d_model))
        a, b = _forward(model, run), _forward(symmetries.relabelled(model, order), run)
        return Relabelled(a.resid_final, b.resid_final, a.logits[position].clone(),
                          b.logits[position].clone(), largest(a.logits, b.logits), order)

    return growing_results.made(run.key("attention relabelled", seed, position), make, _bytes)


def _bytes(record: Heads | Relabelled) -> int:
    return sum(value.nbytes for value in vars(record).values() if isinstance(value, Tensor))


def peak(values: Tensor) -> float:
    """The largest absolute value."""
    return float(values.abs().max())


def largest(a: Tensor, b: Tensor) -> float:
    """The largest absolute difference of two tensors."""
    return peak(a - b)


# ---- (a) symmetric scores --------------------------------------------------------------------------------------------


def _symmetric(page: Lesson, run: Run) -> tuple[list[Panel], Reading]:
    selection = reader.selection()
    layer, head, i = selection.layer, selection.head, selection.position
    pair = compared(run, "keys", layer, head)
    before, alike = pair.before, pair.after
    n, parts, alike_parts = len(run.token_ids), symmetries.split(before.scores), symmetries.split(alike.scores)
    matched, matched_alike = (round(symmetries.self_match(each.scores) * n) for each in (before, alike))
    spread, effect = peak(parts.centred), stream_and_heads.effect(before.logits[i], alike.logits[i])

    def scores(name: str, said: str, values: Tensor, meaning: str = "", deepest: float = 0.0) -> Panel:
        return Panel(name, said, meaning, values, reach=deepest, keys=True)

    def pattern(name: str, each: Heads) -> Panel:
        top = torch.softmax(each.logits[i], -1).max(-1)
        token = code(run.tokenizer.visible(int(top.indices))).strip("`")
        said = page.label("roles_said_next", at=run.tokens[i], token=token, p=probability(float(top.values)))
        return Panel(name, said, "attention", each.pattern, "seq", 1.0, True, masked=not run.is_encoder)

    shares = [page.label("roles_said_share", share=readable(100 * share)) for share in (parts.share, 1 - parts.share)]
    panels = [scores("scores", page.label("roles_said_scores", own=matched, n=n), parts.centred, deepest=spread),
              scores("symmetric", shares[0], parts.symmetric, deepest=spread),
              scores("antisymmetric", shares[1], parts.antisymmetric, deepest=spread), pattern("pattern", before),
              scores("alike", page.label("roles_said_alike", own=matched_alike, n=n,
                                         asymmetry=_small(largest(alike.scores, alike.scores.T))),
                     alike_parts.centred, "query"), pattern("alike_pattern", alike)]
    title = page.label("roles_symmetric_title", head=head_name(layer, head), share=readable(100 * parts.share), n=n,
                       own=matched, alike=matched_alike)
    return panels, Reading(
        _symmetric_lines(page, run, before, parts, alike_parts.centred, i, effect.kl),
        _symmetric_question(page, matched, matched_alike, n),
        [symmetries.split, symmetries.self_match, symmetries.with_queries_as_keys],
        {"scores.csv": lambda: score_table(run, before, alike)}, PANELS, title,
        summary={page.label("roles_summary_share"): f"{readable(100 * parts.share)} %",
                 page.label("roles_summary_kl"): readable(effect.kl)})


def _small(value: float) -> str:
    """A magnitude that may be a rounding error, with its power of ten where it is small.

    >>> _small(2.8e-14), _small(0.5)
    ('2.8 · 10⁻¹⁴', '0.5')
    """
    return superscript(value) if 0 < value < LEAST_PLAIN else readable(value)


def score_table(run: Run, before: Heads, alike: Heads) -> pd.DataFrame:
    """The score and weight of every pair of positions, with the head's own keys and with keys computed as queries."""
    n = len(run.token_ids)
    query, key = np.divmod(np.arange(n * n), n)
    return pd.DataFrame({"query": query, "key": key}
                        | {f"{name}_{kind}": getattr(each, name).flatten().numpy()
                           for kind, each in (("own", before), ("alike", alike)) for name in ("scores", "pattern")})


def _symmetric_lines(page: Lesson, run: Run, before: Heads, parts: symmetries.Split, alike: Tensor, i: int,
                     kl: float) -> list[tuple[str, str]]:
    """The scores of one pair of positions in both directions; alike: the scores (N, N) less their mean where keys are
    computed as queries.
    """
    j = next((k for k in before.pattern[i].argsort(descending=True).tolist() if k != i), i)
    S = parts.centred
    ij, ji = float(S[i, j]), float(S[j, i])
    tokens = {"query": code(run.tokens[i]), "other": code(run.tokens[j])}
    return [
        (page.label("roles_numbers_pair", **tokens, mean=plain_number(before.scores.mean())),
         rf"S_{{{i},{j}}} = {latex_number(ij)}, \qquad S_{{{j},{i}}} = {latex_number(ji)}"),
        (page.label("roles_numbers_parts"),
         rf"\frac{{S_{{{i},{j}}} + S_{{{j},{i}}}}}{{2}} = \frac{{{latex_operand(ij)} + "
         rf"{bracketed(latex_operand(ji))}}}{{2}} = {latex_number((ij + ji) / 2)}, \qquad \frac{{S_{{{i},{j}}} - "
         rf"S_{{{j},{i}}}}}{{2}} = {latex_number((ij - ji) / 2)}"),
        (page.label("roles_numbers_share", pairs=S.numel()),
         rf"\frac{{\lVert (S + S^{{\mathsf T}})/2 \rVert^2}}{{\lVert S \rVert^2}} = "
         rf"\frac{{{latex_operand((parts.symmetric**2).sum())}}}{{{latex_operand((S**2).sum())}}} = "
         rf"{latex_number(parts.share)}"),
        (page.label("roles_numbers_alike", **tokens),
         rf"S'_{{{i},{j}}} = {latex_number(alike[i, j])}, \qquad S'_{{{j},{i}}} = "
         rf"{latex_number(alike[j, i])}, \qquad S'_{{{i},{i}}} = {latex_number(alike[i, i])}"),
        (page.label("roles_numbers_effect", query=tokens["query"]),
         rf"\mathrm{{KL}}(p \,\Vert\, p') = \sum_w p_w \ln\frac{{p_w}}{{p'_w}} = "
         rf"{latex_number(kl)}\ \text{{nats}}")]


def _symmetric_question(page: Lesson, matched: int, matched_alike: int, n: int) -> Question | None:
    """How many queries match their own key best when keys are computed as queries."""
    options = sorted({matched_alike, matched, n, 0, n // 2})
    if len(options) < 3:
        return None
    return page.question("roles_symmetric", [str(option) for option in options], options.index(matched_alike), n=n,
                         own=matched, alike=matched_alike)


# ---- (b) another basis for queries and keys --------------------------------------------------------------------------


def _change(page: Lesson, run: Run) -> tuple[list[Panel], Reading]:
    selection, config = reader.selection(), run.model.config
    seed, stretch, name = read("roles_seed"), read("roles_stretch"), head_name(selection.layer, selection.head)
    pair = compared(run, "basis", selection.layer, selection.head, seed, stretch)
    a, b = pair.before, pair.after
    moved = {part: _small(largest(getattr(a, part), getattr(b, part))) for part in ("Q", "K", "scores")}
    logits, same = _small(pair.difference), pair.difference < UNSEEN
    title = page.label("roles_change_same" if same else "roles_change_other", head=name, q=moved["Q"], k=moved["K"],
                       scores=moved["scores"], logits=logits)
    if not same:
        why = config.score if config.score != "dot" else "qk_norm" if config.qk_norm else config.positions
        title += f" {page.label(f'roles_why_{why}')}" if f"roles_why_{why}" in page.words.labels else ""
    before, after = [], []
    for part, names, meaning in (("Q", ("Q", "QA"), "query"), ("K", ("K", "KA"), "key"),
                                 ("scores", ("product", "product_A"), "")):
        old, new, keys = getattr(a, part), getattr(b, part), part == "scores"
        deepest = max(peak(old), peak(new))
        said = (page.label("roles_said_model") if keys
                else page.label("roles_said_entries", largest=readable(peak(old))))
        before.append(Panel(names[0], said, meaning, old, reach=deepest, keys=keys))
        after.append(Panel(names[1], page.label("roles_said_moved", by=moved[part]), meaning, new, reach=deepest,
                           keys=keys))
    A = symmetries.change_of_basis(seed, config.d_k, stretch)
    return before + after, Reading(
        _change_lines(page, run, pair, A, selection.position), _change_question(page, name, pair.difference, moved),
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
         rf"\max_{{i,w}} \left| u_{{i,w}} - u^A_{{i,w}} \right| = {latex_number(pair.difference)}")]


def _change_question(page: Lesson, head: str, logits: float, moved: dict[str, str]) -> Question:
    """How much the logits change when queries and keys are put into another basis."""
    return page.question("roles_change", [page.label(f"roles_change_option_{k}") for k in range(4)],
                         int(np.searchsorted(STEPS, logits, side="right")), head=head, q=moved["Q"], k=moved["K"],
                         logits=_small(logits))


# ---- (c) the dimensions of the stream in another order ---------------------------------------------------------------


def _relabel(page: Lesson, run: Run) -> tuple[list[Panel], Reading]:
    d, seed, i = run.model.config.d_model, read("roles_seed"), reader.selection().position
    pair = relabelled(run, seed, i)
    difference = torch.empty_like(pair.after).index_copy_(1, pair.order, pair.after) - pair.before
    logits, deepest = _small(pair.difference), _scale(pair.before)
    mantissa, power = symmetries.scientific_factorial(d)
    title = page.label("roles_relabel_same" if pair.difference < UNSEEN else "roles_relabel_other", d=d,
                       digits=power + 1, logits=logits, model=escaped(run.model_name))
    moved = int((pair.order != torch.arange(d)).sum())
    panels = [Panel("stream", page.label("roles_said_stream", d=d), "residual", pair.before, reach=deepest),
              Panel("stream_relabelled", page.label("roles_said_dimensions", moved=moved), "residual", pair.after,
                    reach=deepest),
              Panel("difference", page.label("roles_said_difference", by=_small(peak(difference))), "", difference,
                    reach=deepest)]
    return panels, Reading(
        _relabel_lines(page, run, pair, mantissa, power), _relabel_question(page, d, power + 1),
        [symmetries.relabelled, symmetries.log10_factorial],
        {"logits.csv": lambda: logit_table(page, run, pair, run.tokenizer.vocab_size)}, PANELS, title,
        logit_table(page, run, pair, 6), {page.label("roles_summary_logits"): logits})


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
    lines = [
        (page.label("roles_numbers_factorial"),
         rf"d! = {d}! = {mantissa:.4f} \cdot 10^{{{power}}}, \qquad \log_{{10}} {d}! "
         rf"= \frac{{\ln\Gamma({d + 1})}}{{\ln 10}} = "
         rf"\frac{{{latex_operand(math.lgamma(d + 1))}}}{{{latex_operand(math.log(10))}}} = {latex_number(logarithm)}"),
        (page.label("roles_numbers_logits_relabelled"),
         rf"\max_{{i,w}} \left| u_{{i,w}} - u'_{{i,w}} \right| = {latex_number(pair.difference)}")]
    # with shared keys, whole groups can be permuted, and the query heads within each
    shared = config.n_kv_heads < config.n_heads
    inner = [((config.n_heads // config.n_kv_heads, config.n_kv_heads), r"(h/h_{kv})!^{\,h_{kv}}"),
             ((config.n_kv_heads, 1), "h_{kv}!")] if shared else [((config.n_heads, 1), "h!")]
    inner += [((config.d_ff, 1), r"d_{\mathrm{ff}}!")] if config.d_ff is not None else []
    product = r" \cdot ".join(symbol for _, symbol in inner)
    digits = logarithm + config.n_layers * sum(times * symmetries.log10_factorial(n) for (n, times), _ in inner)
    return [*lines, (page.label("roles_numbers_all_shared" if shared else "roles_numbers_all", layers=config.n_layers),
                     rf"d! \cdot \left({product}\right)^{{{config.n_layers}}} \approx 10^{{{digits:.1f}}}")]


def _relabel_question(page: Lesson, d: int, digits: int) -> Question:
    """How many digits the number of orders of the d dimensions has."""
    options = sorted({digits, d, max(1, digits // 10), digits * 10})
    return page.question("roles_relabel", [str(option) for option in options], options.index(digits), d=d,
                         digits=digits)
