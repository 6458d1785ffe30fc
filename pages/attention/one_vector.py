"""One vector for both: what a head would look at if its keys were made as its queries are."""
import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.analysis import stream_and_heads, symmetries
from core.app.lesson import Lesson, Question, Reading
from core.app.state import Run, reader
from core.app.state.run import selection
from core.base.markdown import code
from core.components.attention_view import Head, attention_view
from core.figures.heads import head_name
from core.figures.numbers import bracketed, latex_number, latex_operand, percent, plain_number, readable
from pages.attention.roles_work import Heads, compared
from pages.attention.shared import PREFIX, read

SIDES = ("own", "alike")       # the head as it is, and with keys made as queries
PICTURE = f".st-key-{PREFIX}roles_alike canvas.cells"


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the head's weights, or its scores, as it is and with one vector for both; return what they show."""
    chosen = selection(run)
    i, name = chosen.position, head_name(chosen.layer, chosen.head)
    pair = compared(run, "keys", chosen.layer, chosen.head)
    before, alike = pair.before, pair.after
    parts, moved = symmetries.split(before.scores), _moved(run, before.logits[i], alike.logits[i])
    own, same, n = at_themselves(before), at_themselves(alike), len(run.token_ids)
    title = page.label("roles_symmetric_title", head=name, n=n, own=own, alike=same)
    st.markdown(f"**{title}**")
    for column, side, heads in zip(st.columns(2), SIDES, (before, alike)):
        with column:
            _matrix(page, run, side, heads, i)
    return Reading(
        _lines(page, run, before, parts, symmetries.split(alike.scores).centred, i, moved), _question(page, n),
        [symmetries.split, symmetries.with_queries_as_keys], {"scores.csv": lambda: score_table(run, before, alike)},
        PICTURE, title, summary={page.label("roles_summary_share"): f"{readable(100 * parts.share)}\u00a0%",
                                 page.label("roles_summary_kl"): readable(moved)})


def _moved(run: Run, before: Tensor, after: Tensor) -> float:
    """How far the model's distribution at the query moved, as KL divergence in nats; without a language head how far
    its last vector did, as a share of that vector's length.
    """
    if run.has_head:
        return stream_and_heads.effect(before, after).kl
    return float((after - before).norm() / before.norm())


def at_themselves(heads: Heads) -> int:
    """How many tokens put their largest weight on themselves."""
    return int((heads.pattern.argmax(-1) == torch.arange(len(heads.pattern))).sum())


def _matrix(page: Lesson, run: Run, side: str, heads: Heads, i: int) -> None:
    """One side's matrix, under what the model says after the query with it."""
    signed = read("roles_values") == "scores"
    values = symmetries.split(heads.scores).centred if signed else heads.pattern
    allowed = np.ones(values.shape, bool) if signed else run.trace.blocks[0].allowed.cpu().numpy()
    title = page.label(f"roles_{side}", at=run.tokens[i], **_says(run, heads.logits[i]))
    words = {"title": title, "scale": page.label("pattern_scale")}
    words |= {key: page.label(f"pattern_{key}") for key in ("masked", "key_axis", "query_axis", "keys_help")}
    head = Head(values.numpy(), allowed, run.tokens, words, "", (i, int(heads.pattern[i].argmax())), signed=signed,
                height=(300, 500), scale=reader.scale(), theme=reader.theme())
    attention_view(head, key=f"{PREFIX}roles_{side}", on_pick=lambda row, _key: reader.select(position=row))


def _says(run: Run, logits: Tensor) -> dict[str, str]:
    """The likeliest token and its probability; nothing of a model without a language head."""
    if not run.has_head:
        return {}
    top = torch.softmax(logits, -1).max(-1)
    return {"token": run.tokenizer.visible(int(top.indices)), "p": percent(float(top.values))}


def score_table(run: Run, before: Heads, alike: Heads) -> pd.DataFrame:
    """The score and weight of every pair of positions, with the head's own keys and with keys computed as queries."""
    n = len(run.token_ids)
    query, key = np.divmod(np.arange(n * n), n)
    return pd.DataFrame({"query": query, "key": key}
                        | {f"{name}_{kind}": getattr(each, name).flatten().numpy()
                           for kind, each in (("own", before), ("alike", alike)) for name in ("scores", "pattern")})


def _lines(page: Lesson, run: Run, before: Heads, parts: symmetries.Split, alike: Tensor, i: int,
                     moved: float) -> list[tuple[str, str]]:
    """The scores of one pair of positions in both directions; alike: the scores (N, N) less their mean where keys are
    computed as queries; moved: as `_moved` has it.
    """
    effect = (rf"\mathrm{{KL}}(y \,\Vert\, y') = \sum_w y_w \ln\frac{{y_w}}{{y'_w}} = "
              rf"{latex_number(moved)}\ \text{{nats}}" if run.has_head
              else rf"\frac{{\lVert h' - h \rVert}}{{\lVert h \rVert}} = {latex_number(moved)}")
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
        *_share_lines(page, parts),
        (page.label("roles_numbers_alike", **tokens),
         rf"S'_{{{i},{j}}} = {latex_number(alike[i, j])}, \qquad S'_{{{j},{i}}} = "
         rf"{latex_number(alike[j, i])}, \qquad S'_{{{i},{i}}} = {latex_number(alike[i, i])}"),
        (page.label("roles_numbers_effect", query=tokens["query"]), effect)]


def _share_lines(page: Lesson, parts: symmetries.Split) -> list[tuple[str, str]]:
    """How much of the scores is symmetric; nothing where all of them are equal, as the one score of one token is."""
    S = parts.centred
    if not S.any():
        return []
    return [(page.label("roles_numbers_share", pairs=S.numel()),
             rf"\frac{{\lVert (S + S^{{\mathsf T}})/2 \rVert^2}}{{\lVert S \rVert^2}} = "
             rf"\frac{{{latex_operand((parts.symmetric**2).sum())}}}{{{latex_operand((S**2).sum())}}} = "
             rf"{latex_number(parts.share)}")]


def _question(page: Lesson, n: int) -> Question | None:
    """How many different scores one vector for both leaves."""
    answer, options = n * (n + 1) // 2, sorted({n * n, n * (n + 1) // 2, n * (n - 1) // 2, 2 * n})
    if len(options) < 3:
        return None
    return page.question("roles_symmetric", [str(option) for option in options], options.index(answer), n=n,
                         all=n * n, half=answer)
