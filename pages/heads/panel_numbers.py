"""The numbers of the panel beside the wall: the picked head's place in the chart, the effect of a change on the
next token, the same head on the other text, and the sources of a share of the rollout.
"""
import torch

from core.analysis import stream_and_heads
from core.app.lesson import Lesson
from core.app.state import Run
from core.base.markdown import code
from core.figures.numbers import latex_number, latex_operand
from pages.heads import panels, shapes
from pages.heads.shared import Pair, change_now, measures_of, patterns_of, reached, read, rollout_of

Lines = list[tuple[str, str]]


def lines(page: Lesson, run: Run, pair: Pair) -> Lines:
    """Those of the open panel; none of a panel that shows the picked weight itself."""
    of_panel = {"write": lambda *_: shapes.lines(page, run), "roles": _place, "change": _effect, "prompts": _there,
                "rollout": _share}.get(read("panel"))
    return of_panel(page, run, pair) if of_panel else []


def _place(page: Lesson, run: Run, pair: Pair) -> Lines:
    """The two measures of the picked head that are its place in the chart; none where the prompt says nothing about
    one.
    """
    measures = patterns_of(run).measures
    names = [name for name in (read("x"), read("y")) if name in measures_of(run)]
    values = [float(measures[name][pair.layer, pair.head]) for name in names]
    if any(value != value for value in values):
        return []
    said = [rf"\text{{{page.label(f'measure_{name}')}}} = {latex_number(value)}" for name, value in zip(names, values)]
    return [(page.label("numbers_place", head=pair.name), r", \qquad ".join(dict.fromkeys(said)))]


def _effect(page: Lesson, run: Run, pair: Pair) -> Lines:
    """How far the changed heads move the next token's distribution, and the part of the likeliest token before."""
    if not run.has_head or not change_now().heads(run):
        return []
    logits = [trace.logits[pair.query] for trace in (run.trace, run.trace_with(change_now().intervention(run)))]
    before, after = (each.double().log_softmax(-1) for each in logits)
    first, kl = int(before.argmax()), stream_and_heads.effect(*logits).kl
    p, q = float(before[first].exp()), float(after[first].exp())
    part = p * float(before[first] - after[first])
    return [(page.label("numbers_change", token=code(run.tokens[pair.query])),
             rf"\mathrm{{KL}}(y \,\Vert\, y') = \sum_w y_w \ln \frac{{y_w}}{{y'_w}} = {latex_number(kl)}\ "
             r"\text{nats}"),
            (page.label("numbers_change_part", other=code(run.tokenizer.visible(first))),
             rf"y_w \ln \frac{{y_w}}{{y'_w}} = {latex_operand(p)} \cdot \ln \frac{{{latex_operand(p)}}}"
             rf"{{{latex_operand(q)}}} = {latex_number(part)}")]


def _there(page: Lesson, run: Run, pair: Pair) -> Lines:
    """The largest weight of the same head on the other text, from the query that is marked there."""
    other = panels.other_run(page, run)
    row = patterns_of(other).values[pair.layer, pair.head, other.asked]
    key = int(row.argmax())
    return [(page.label("numbers_there", query_token=code(other.tokens[other.asked]),
                        key_token=code(other.tokens[key])),
             rf"\alpha_{{{other.asked},{key}}} = {latex_number(row[key])}")]


def _share(page: Lesson, run: Run, pair: Pair) -> Lines:
    """How the picked share of the rollout comes about: half from the block before, half through the heads' mean."""
    shown = reached(run, read("block"), pair.query)
    i, j = shown.picked
    n = len(run.token_ids)
    earlier = rollout_of(run)[shown.block - 1] if shown.block else torch.eye(n).numpy()
    mean = run.trace.blocks[shown.block].pattern.double().mean(0).cpu().numpy()
    own, mixed = float(earlier[i, j]), float(mean[i] @ earlier[:, j])
    return [(page.label("numbers_rollout", query_token=code(run.tokens[i]), key_token=code(run.tokens[j]),
                        n=shown.block + 1, all=run.model.config.n_layers),
             rf"R_{{{i},{j}}} = \tfrac12 R^-_{{{i},{j}}} + \tfrac12 \sum_k \bar\alpha_{{{i},k}}\, R^-_{{k,{j}}} = "
             rf"\tfrac12 \cdot {latex_operand(own)} + \tfrac12 \cdot {latex_operand(mixed)} = "
             rf"{latex_number(shown.values[i, j])}")]
