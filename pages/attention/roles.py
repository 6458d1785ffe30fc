"""Roles: why a query and a key, and not one vector for both; and which changes of the weights nobody can
see from outside.
"""
import math
from dataclasses import dataclass, field

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
from core.figures.numbers import bracketed, latex_number, latex_operand, plain_number, probability, readable
from core.model.trace import Trace
from core.model.transformer import Transformer
from pages.attention.shared import PREFIX, attached, choice, pick_head, read, throw_again

PICTURE = f"{PREFIX}roles"
MOST_DOUBLE = 10**9    # bytes of the copy in float64 that is made of a model
SHOWN = 64             # tokens, the last of the prompt, whose rows are drawn
# a difference of logits in float64 below which two models are the same: far above rounding, far below any change
UNSEEN = 1e-9
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
STEPS = (UNSEEN, 0.1, 1.0)     # what parts the options of the question about the change of basis
# Matrices of one head or of the stream beside each other, as heatmaps with their values under the pointer.
_picture = token_view("attention_matrices", __file__)


@dataclass(frozen=True)
class Panel:
    """One heatmap: label of its name, what is said of it, a meaning of style.py, its values; `keys`: its columns
    are tokens too.
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

    @property
    def n_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in vars(self).values())


@dataclass(frozen=True)
class Compared:
    """One head as it is and after a change, and the largest difference of the two models' logits, found in float64."""

    own: Heads
    other: Heads
    difference: float


@dataclass(frozen=True)
class Relabelled:
    """The stream after the last block (N, d) of the model and of the relabelled one, their logits (|V|,) after one
    position, the largest difference of all logits, and the order of the dimensions.
    """

    before: Tensor
    after: Tensor
    logits: Tensor
    other_logits: Tensor
    difference: float
    order: Tensor

    @property
    def n_bytes(self) -> int:
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, Tensor))


@dataclass(frozen=True)
class Part:
    """What one part of the view draws and says."""

    panels: list[Panel]
    title: str
    lines: list[tuple[str, str]]
    question: Question | None
    functions: list
    data: dict
    summary: dict[str, str] = field(default_factory=dict)
    table: pd.DataFrame | None = None


def draw(page: Lesson, run: Run) -> Reading:
    """The controls and the matrices of the chosen part; returns what they show."""
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
    made = {"symmetric": _symmetric, "change": _change, "relabel": _relabel}[part](page, run)
    _matrices(page, run, made)
    return Reading(made.lines, made.question, made.functions, made.data, ".matrices", made.title,
                   made.table, made.summary)


def _matrices(page: Lesson, run: Run, made: Part) -> None:
    n = len(run.token_ids)
    first = max(0, n - SHOWN)
    panels, arrays = [], {}
    for k, panel in enumerate(made.panels):
        values = panel.values[first:, first:] if panel.keys else panel.values[first:]
        arrays[f"m{k}"] = values.float().numpy()
        panels.append({"name": page.label(f"roles_panel_{panel.name}"), "said": panel.said, "meaning": panel.meaning,
                       "rows": values.shape[0], "columns": values.shape[1], "keys": panel.keys, "scale": panel.scale,
                       "reach": panel.reach or float(panel.values.abs().max()) or 1.0, "masked": panel.masked})
    title = made.title + (f" {page.label('roles_last', n=SHOWN)}" if first else "")
    _picture({"text": page.labels("roles"), "scale": reader.scale(), "theme": reader.theme(), "title": title,
              "tokens": run.tokens[first:], "panels": panels, "lines": math.ceil(len(panels) / 3)},
             key=PICTURE, on_settings=lambda _sent: None, arrays=arrays)


# ---- what is computed ------------------------------------------------------------------------------------------------


def _double(run: Run) -> Transformer:
    """The model in float64, shared and read alone."""
    return growing_results.made(run.loaded.key("attention double"), lambda: symmetries.double_copy(run.model),
                                lambda made: 8 * made.n_parameters)


def _forward(model: Transformer, run: Run) -> Trace:
    with torch.inference_mode():
        return model(torch.tensor(run.token_ids))


def _heads(trace: Trace, layer: int, head: int) -> Heads:
    block, shared = trace.blocks[layer], trace.config.n_heads // trace.blocks[layer].K.shape[0]
    return Heads(block.Q_rotated[head], block.K_rotated[head // shared],
                 symmetries.scores_alone(block, trace.config, head), block.pattern[head], trace.logits.float())


def compared(run: Run, kind: str, layer: int, head: int, seed: int = 0, stretch: float = 1.0) -> Compared:
    """One head as it is, and after a change: "keys" are made as queries, or another "basis" for both."""
    def make() -> Compared:
        model = _double(run)
        changed = (symmetries.with_queries_as_keys(model, layer, head) if kind == "keys" else
                   symmetries.with_change_of_basis(model, layer, head,
                                                   symmetries.change_of_basis(seed, run.model.config.d_k, stretch)))
        one, other = _forward(model, run), _forward(changed, run)
        return Compared(_heads(one, layer, head), _heads(other, layer, head), largest(one.logits, other.logits))

    return growing_results.made(run.key("attention roles", kind, layer, head, seed, stretch), make,
                                lambda made: made.own.n_bytes + made.other.n_bytes)


def relabelled(run: Run, seed: int, position: int) -> Relabelled:
    """The model beside a copy whose stream has its dimensions shuffled."""
    def make() -> Relabelled:
        model, order = _double(run), torch.from_numpy(np.random.default_rng(seed).permutation(run.model.config.d_model))
        one, other = _forward(model, run), _forward(symmetries.relabelled(model, order), run)
        return Relabelled(one.resid_final, other.resid_final, one.logits[position].clone(),
                          other.logits[position].clone(), largest(one.logits, other.logits), order)

    return growing_results.made(run.key("attention relabelled", seed, position), make, lambda made: made.n_bytes)


def largest(a: Tensor, b: Tensor) -> float:
    """The largest absolute difference of two tensors."""
    return float((a - b).abs().max())


# ---- (a) symmetric scores --------------------------------------------------------------------------------------------


def _symmetric(page: Lesson, run: Run) -> Part:
    selection = reader.selection()
    layer, head, i = selection.layer, selection.head, selection.position
    found = compared(run, "keys", layer, head)
    own, alike = found.own, found.other
    n, parts = len(run.token_ids), symmetries.split(own.scores)
    matched, matched_alike = (round(symmetries.own_match(each.scores) * n) for each in (own, alike))
    asymmetry = largest(alike.scores, alike.scores.T)
    spread = float(parts.centred.abs().max())
    tops = [torch.softmax(each.logits[i], -1).max(-1) for each in (own, alike)]
    names = [code(run.tokenizer.visible(int(top.indices))) for top in tops]
    title = page.label("roles_symmetric_title", head=head_name(layer, head), share=readable(100 * parts.share), n=n,
                       own=matched, alike=matched_alike)
    panels = [
        Panel("scores", page.label("roles_said_scores", own=matched, n=n), "", parts.centred, reach=spread, keys=True),
        Panel("symmetric", page.label("roles_said_share", share=readable(100 * parts.share)), "",
              parts.symmetric, reach=spread, keys=True),
        Panel("antisymmetric", page.label("roles_said_share", share=readable(100 * (1 - parts.share))), "",
              parts.antisymmetric, reach=spread, keys=True),
        Panel("pattern", page.label("roles_said_next", at=run.tokens[i], token=_bare(names[0]),
                                    p=probability(float(tops[0].values))),
              "attention", own.pattern, "seq", 1.0, True, masked=not run.is_encoder),
        Panel("alike", page.label("roles_said_alike", own=matched_alike, n=n, asymmetry=_small(asymmetry)), "query",
              symmetries.split(alike.scores).centred, keys=True),
        Panel("alike_pattern", page.label("roles_said_next", at=run.tokens[i], token=_bare(names[1]),
                                          p=probability(float(tops[1].values))),
              "attention", alike.pattern, "seq", 1.0, True, masked=not run.is_encoder)]
    effect = stream_and_heads.effect(own.logits[i], alike.logits[i])
    return Part(panels, title, _symmetric_lines(page, run, own, alike, i),
                _symmetric_question(page, run, matched, matched_alike, n),
                [symmetries.split, symmetries.own_match, symmetries.with_queries_as_keys],
                {"scores.csv": lambda: score_table(run, own, alike)},
                {page.label("roles_summary_share"): f"{readable(100 * parts.share)} %",
                 page.label("roles_summary_kl"): readable(effect.kl)})


def _small(value: float) -> str:
    """`readable` with the power of ten as it is printed.

    >>> _small(2.8e-14), _small(0.5)
    ('2.8 · 10⁻¹⁴', '0.5')
    """
    digits, is_power, power = readable(value).partition("e")
    return f"{digits} · 10{str(int(power.replace('−', '-'))).translate(_RAISED)}" if is_power else digits


def _bare(name: str) -> str:
    return name.strip("`")


def score_table(run: Run, own: Heads, alike: Heads) -> pd.DataFrame:
    """Every pair of positions: its score and weight as the head is, and with keys made as queries."""
    n = len(run.token_ids)
    query, key = np.divmod(np.arange(n * n), n)
    return pd.DataFrame({"query": query, "key": key}
                        | {f"{name}_{kind}": getattr(each, name).flatten().numpy()
                           for kind, each in (("own", own), ("alike", alike)) for name in ("scores", "pattern")})


def _symmetric_lines(page: Lesson, run: Run, own: Heads, alike: Heads, i: int) -> list[tuple[str, str]]:
    j = next((k for k in own.pattern[i].argsort(descending=True).tolist() if k != i), i)
    parts, n = symmetries.split(own.scores), len(run.token_ids)
    S, other = parts.centred, symmetries.split(alike.scores).centred
    ij, ji = float(S[i, j]), float(S[j, i])
    whole, even = float((S**2).sum()), float((parts.symmetric**2).sum())
    tokens = {"query": code(run.tokens[i]), "other": code(run.tokens[j])}
    return [
        (page.label("roles_numbers_pair", **tokens, mean=plain_number(own.scores.mean())),
         rf"S_{{{i},{j}}} = {latex_number(ij)}, \qquad S_{{{j},{i}}} = {latex_number(ji)}"),
        (page.label("roles_numbers_parts"),
         rf"\frac{{S_{{{i},{j}}} + S_{{{j},{i}}}}}{{2}} = \frac{{{latex_operand(ij)} + "
         rf"{bracketed(latex_operand(ji))}}}{{2}} = {latex_number((ij + ji) / 2)}, \qquad \frac{{S_{{{i},{j}}} - "
         rf"S_{{{j},{i}}}}}{{2}} = {latex_number((ij - ji) / 2)}"),
        (page.label("roles_numbers_share", pairs=n * n),
         rf"\frac{{\lVert (S + S^{{\mathsf T}})/2 \rVert^2}}{{\lVert S \rVert^2}} = "
         rf"\frac{{{latex_operand(even)}}}{{{latex_operand(whole)}}} = {latex_number(parts.share)}"),
        (page.label("roles_numbers_alike", **tokens),
         rf"S'_{{{i},{j}}} = {latex_number(other[i, j])}, \qquad S'_{{{j},{i}}} = "
         rf"{latex_number(other[j, i])}, \qquad S'_{{{i},{i}}} = {latex_number(other[i, i])}"),
        (page.label("roles_numbers_effect", query=tokens["query"]),
         rf"\mathrm{{KL}}(p \,\Vert\, p') = \sum_w p_w \ln\frac{{p_w}}{{p'_w}} = "
         rf"{latex_number(stream_and_heads.effect(own.logits[i], alike.logits[i]).kl)}\ \text{{nats}}")]


def _symmetric_question(page: Lesson, run: Run, matched: int, matched_alike: int, n: int) -> Question | None:
    """How many queries match their own key best once the keys are made as the queries are."""
    options = sorted({matched_alike, matched, n, 0, n // 2})
    if len(options) < 3:
        return None
    return Question("roles_symmetric", page.label("roles_symmetric_question", n=n, own=matched),
                    [str(option) for option in options], options.index(matched_alike),
                    page.label("roles_symmetric_because", own=matched, alike=matched_alike, n=n))


# ---- (b) another basis for queries and keys --------------------------------------------------------------------------


def _change(page: Lesson, run: Run) -> Part:
    selection, config = reader.selection(), run.model.config
    layer, head, i, seed, stretch = (selection.layer, selection.head, selection.position, read("roles_seed"),
                                     read("roles_stretch"))
    found = compared(run, "basis", layer, head, seed, stretch)
    own, other, logits = found.own, found.other, found.difference
    A = symmetries.change_of_basis(seed, config.d_k, stretch)
    moved, scores = (largest(own.Q, other.Q), largest(own.K, other.K)), largest(own.scores, other.scores)
    same = logits < UNSEEN
    title = page.label("roles_change_same" if same else "roles_change_other", head=head_name(layer, head),
                       q=_small(moved[0]), k=_small(moved[1]), scores=_small(scores), logits=_small(logits))
    if not same:
        why = config.score if config.score != "dot" else "qk_norm" if config.qk_norm else config.positions
        title += f" {page.label(f'roles_why_{why}')}" if f"roles_why_{why}" in page.words.labels else ""
    q_reach, k_reach, s_reach = (max(float(a.abs().max()), float(b.abs().max()))
                                 for a, b in ((own.Q, other.Q), (own.K, other.K), (own.scores, other.scores)))
    panels = [Panel("Q", page.label("roles_said_entries", largest=readable(float(own.Q.abs().max()))),
                    "query", own.Q, reach=q_reach),
              Panel("K", page.label("roles_said_entries", largest=readable(float(own.K.abs().max()))),
                    "key", own.K, reach=k_reach),
              Panel("product", page.label("roles_said_model"), "", own.scores, reach=s_reach, keys=True),
              Panel("QA", page.label("roles_said_moved", by=_small(moved[0])), "query", other.Q, reach=q_reach),
              Panel("KA", page.label("roles_said_moved", by=_small(moved[1])), "key", other.K, reach=k_reach),
              Panel("product_A", page.label("roles_said_moved", by=_small(scores)), "", other.scores,
                    reach=s_reach, keys=True)]
    return Part(panels, title,
                _change_lines(page, run, found, A, i), _change_question(page, head_name(layer, head), logits, moved),
                [symmetries.change_of_basis, symmetries.with_change_of_basis],
                {"queries_and_keys.csv": lambda: basis_table(run, own, other)},
                {page.label("roles_summary_scores"): _small(scores),
                 page.label("roles_summary_logits"): _small(logits)})


def basis_table(run: Run, own: Heads, other: Heads) -> pd.DataFrame:
    """Q and K of the head before and after, one position and dimension a row."""
    n, d_k = own.Q.shape
    position, dimension = np.divmod(np.arange(n * d_k), d_k)
    return pd.DataFrame({"position": position, "dimension": dimension}
                        | {f"{name}{mark}": getattr(each, name).flatten().numpy()
                           for mark, each in (("", own), ("_A", other)) for name in ("Q", "K")})


def _change_lines(page: Lesson, run: Run, found: Compared, A: Tensor, i: int) -> list[tuple[str, str]]:
    own, other = found.own, found.other
    j, singular, digits = int(own.pattern[i].argmax()), torch.linalg.svdvals(A), 12
    invariance = page.label("roles_numbers_invariance" if found.difference < UNSEEN
                            else "roles_numbers_invariance_other")
    return [
        (invariance, r"(X W_Q A^{-1})(X W_K A^{\mathsf T})^{\mathsf T} = X W_Q\, A^{-1} A\, W_K^{\mathsf T} "
                     r"X^{\mathsf T} = Q K^{\mathsf T}"),
        (page.label("roles_numbers_condition", d=len(A)),
         rf"\frac{{\sigma_{{\max}}(A)}}{{\sigma_{{\min}}(A)}} = "
         rf"\frac{{{latex_operand(singular[0])}}}{{{latex_operand(singular[-1])}}} = "
         rf"{latex_number(singular[0] / singular[-1])}"),
        (page.label("roles_numbers_same", query=code(run.tokens[i]), other=code(run.tokens[j])),
         rf"S_{{{i},{j}}} = {latex_number(own.scores[i, j], digits)}, \qquad S^A_{{{i},{j}}} = "
         rf"{latex_number(other.scores[i, j], digits)}"),
        (page.label("roles_numbers_logits"),
         rf"\max_{{i,w}} \left| u_{{i,w}} - u^A_{{i,w}} \right| = {latex_number(found.difference)}")]


def _change_question(page: Lesson, head: str, logits: float, moved: tuple[float, float]) -> Question:
    """How far the logits move when queries and keys are put into another basis."""
    answer = int(np.searchsorted(STEPS, logits, side="right"))
    return Question("roles_change",
                    page.label("roles_change_question", head=head, q=_small(moved[0]), k=_small(moved[1])),
                    [page.label(f"roles_change_option_{k}") for k in range(4)], answer,
                    page.label("roles_change_because", logits=_small(logits)))


# ---- (c) the dimensions of the stream in another order ---------------------------------------------------------------


def _relabel(page: Lesson, run: Run) -> Part:
    config, seed, i = run.model.config, read("roles_seed"), reader.selection().position
    found = relabelled(run, seed, i)
    back = torch.empty_like(found.after)
    back[:, found.order] = found.after
    difference, logits = back - found.before, found.difference
    same, reach = logits < UNSEEN, _fair(found.before)
    mantissa, power = symmetries.factorial_written(config.d_model)
    title = page.label("roles_relabel_same" if same else "roles_relabel_other", d=config.d_model, digits=power + 1,
                       logits=_small(logits), model=escaped(run.model_name))
    moved = int((found.order != torch.arange(config.d_model)).sum())
    panels = [Panel("stream", page.label("roles_said_stream", d=config.d_model), "residual", found.before, reach=reach),
              Panel("stream_relabelled", page.label("roles_said_dimensions", moved=moved),
                    "residual", found.after, reach=reach),
              Panel("difference", page.label("roles_said_difference", by=_small(float(difference.abs().max()))), "",
                    difference, reach=reach)]
    return Part(panels, title, _relabel_lines(page, run, found, mantissa, power),
                _relabel_question(page, config.d_model, power + 1), [symmetries.relabelled, symmetries.log10_factorial],
                {"logits.csv": lambda: logit_table(page, run, found, run.tokenizer.vocab_size)},
                {page.label("roles_summary_logits"): _small(logits)}, logit_table(page, run, found, 6))


def _fair(values: Tensor) -> float:
    """The deepest colour of a stream: one dimension is often far larger than all others, so the 99th
    percentile of the sizes.
    """
    return float(values.abs().flatten().quantile(0.99))


def logit_table(page: Lesson, run: Run, found: Relabelled, n: int) -> pd.DataFrame:
    """The `n` likeliest next tokens after the picked position with their logits from both models, to twelve decimals.
    """
    best = found.logits.argsort(descending=True)[:n].tolist()
    columns = [page.label(f"roles_column_{name}") for name in ("token", "model", "relabelled")]
    return pd.DataFrame([(run.tokenizer.visible(w), f"{float(found.logits[w]):.12f}",
                          f"{float(found.other_logits[w]):.12f}") for w in best], columns=columns)


def _relabel_lines(page: Lesson, run: Run, found: Relabelled, mantissa: float, power: int) -> list[tuple[str, str]]:
    config = run.model.config
    d, logarithm = config.d_model, symmetries.log10_factorial(config.d_model)
    lines = [
        (page.label("roles_numbers_factorial"),
         rf"d! = {d}! = {mantissa:.4f} \cdot 10^{{{power}}}, \qquad \log_{{10}} {d}! "
         rf"= \frac{{\ln\Gamma({d + 1})}}{{\ln 10}} = "
         rf"\frac{{{latex_operand(math.lgamma(d + 1))}}}{{{latex_operand(math.log(10))}}} = {latex_number(logarithm)}"),
        (page.label("roles_numbers_logits_relabelled"),
         rf"\max_{{i,w}} \left| u_{{i,w}} - u'_{{i,w}} \right| = {latex_number(found.difference)}")]
    # then whole groups may change places, and the query heads within each
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
    return Question("roles_relabel", page.label("roles_relabel_question", d=d), [str(option) for option in options],
                    options.index(digits), page.label("roles_relabel_because", d=d, digits=digits))
