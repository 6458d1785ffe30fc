"""A chosen token's logit as the sum of the contributions of every head, feed-forward part, embedding and bias."""
import math
from collections import defaultdict

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import contributions
from core.analysis.contributions import Contributions, Part
from core.app.compute import growing_results
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.lesson.selection_controls import pick
from core.app.state import Run, reader
from core.base.markdown import code
from core.figures import residual_stream as figures
from core.figures.numbers import bracketed, latex_number, percent, plain_number, readable
from core.figures.thinning import largest
from core.model.config import ModelConfig
from core.model.intervention import HeadEdit, Intervention
from pages.residual_stream.shared import (
    PREFIX,
    attached,
    choice,
    look,
    read,
    show,
    target_token,
    unembedding_name,
)

MOST_BARS = 72       # the number of parts of the bundled models
# all other parts are biases, which are grey
MEANINGS = {"embedding": "residual", "token type": "residual", "position": "position", "head": "attention",
            "cross head": "attention", "attention": "attention", "cross_attention": "attention",
            "mlp": "mlp", "expert": "mlp", "shared expert": "mlp"}
SUBLAYERS = {"attention": ("head", "attention bias", "attention norm bias"),
             "cross_attention": ("cross head", "cross attention bias", "cross attention norm bias"),
             "mlp": ("mlp", "expert", "shared expert", "mlp bias", "mlp norm bias")}


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How many of the parts argue against the likeliest token: none, few, many or most."""
    if not run.own_ids:
        return None
    position, by_sublayer = reader.selection().position, read("detail") == "sublayers"
    target = target_token(run, position)

    def truth(_: int) -> Truth:
        rows = _rows(page, contributions_of(run, position, target), by_sublayer)
        values = np.array([row["value"] for row in rows])
        most = rows[int(np.abs(values).argmax())]
        against = int((values < 0).sum())
        answer = sum((against > 0, 4 * against >= len(values), 2 * against > len(values)))
        return Truth(answer, seen={"attention": 0, "mlp": 1}.get(most["meaning"], 2),
                     values={"against": against, "n": len(values), "up": readable(values[values > 0].sum()),
                             "down": readable(-values[values < 0].sum()), "sum": readable(values.sum())})

    return Prediction("contributions", Options([*page.labels("guess_contributions").values()]), truth,
                      {"target": run.tokenizer.visible(target),
                       "at": page.label("asked_at", token=run.tokens[position])})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    position = reader.selection().position
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        pick(page, run, "position")
        with st.container(width=300):
            page.named_token(run, position)
        detail, order = choice(page, "detail"), choice(page, "order")
    target = target_token(run, position)
    logit = contributions_of(run, position, target)
    rows = _rows(page, logit, detail == "sublayers")
    title = _title(page, run, logit, rows, position, target)
    st.markdown(f"**{title}**")
    selected = reader.selection()
    picked = part_name(page, Part("head", selected.layer, selected.head))
    bars = rows if read("all") else summed_up(page, rows, picked)
    if order == "size":
        bars = sorted((row | {"group": row["group"] if "parts" in row else ""} for row in bars),
                       key=lambda row: ("parts" in row, -abs(row["value"])))
    names, meanings, groups, values = ([row[key] for row in bars] for key in ("name", "meaning", "group", "value"))
    heads = {part_name(page, part): part for part in logit.parts if part.kind == "head"}
    show(figures.waterfall(names, meanings, groups, np.array(values), page.label("sum"), page.label("axis_logit"),
                           picked=picked, **look(40, presenting=60)), "waterfall",
         lambda point: _pick(heads.get(point["name"])))
    st.caption(page.label("legend_parts"))
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown(page.label("sum_line", n=len(logit.parts), total=plain_number(logit.total),
                               logit=plain_number(logit.logit), difference=readable(abs(logit.total - logit.logit), 2)),
                    width="content")
        if len(rows) > len(bars) or read("all"):
            st.toggle(page.label("all_parts", n=len(rows)), **attached("all"))
    return Reading(_lines(page, run, logit, rows), _question(page, run, logit, position, target),
                   [contributions.logit_contributions, contributions.final_parts, contributions.frozen_norm],
                   {"contributions.csv": lambda: _table(page, logit)}, f".st-key-{PREFIX}waterfall", title)


def _table(page: Lesson, logit: Contributions) -> pd.DataFrame:
    return pd.DataFrame([{"part": part_name(page, part), "layer": part.layer, "head": part.head, "expert": part.expert,
                          "contribution": float(value)} for part, value in zip(logit.parts, logit.values)])


def summed_up(page: Lesson, rows: list[dict], picked: str) -> list[dict]:
    """The MOST_BARS largest rows and the picked one in their order, then one row for the sum of all others, with their
    number under "parts".
    """
    kept, others = largest(np.array([row["value"] for row in rows]), MOST_BARS)
    small = [rows[place] for place in others if rows[place]["name"] != picked]
    if not small:
        return rows
    name = page.label("smaller_parts", n=len(small))
    left_over = {"name": name, "meaning": "excluded", "group": name, "value": math.fsum(row["value"] for row in small),
                 "parts": len(small)}
    return [row for place, row in enumerate(rows) if place in kept or row["name"] == picked] + [left_over]


def _pick(head: Part | None) -> None:
    """Callback: select the head of a clicked bar in all lessons."""
    if head is not None:
        reader.select(layer=head.layer, head=head.head)


def contributions_of(run: Run, position: int, target: int) -> Contributions:
    """The contributions to one logit, shared by all readers."""
    key = run.key("contributions", position, target)
    return growing_results.made(key, lambda: contributions.logit_contributions(run.model, run.trace, position, target),
                                lambda value: 200 * len(value.parts))


def part_name(page: Lesson, part: Part) -> str:
    """The name of a part in the picture."""
    return page.label("part_" + part.kind.replace(" ", "_"), layer=part.layer, head=part.head,
                      expert=part.expert)


def _rows(page: Lesson, logit: Contributions, by_sublayer: bool) -> list[dict]:
    """A row for each bar: name, meaning of its colour, group on the axis and value."""
    totals: dict[Part, float] = defaultdict(float)
    for part, value in zip(logit.parts, logit.values):
        kind = next((name for name, kinds in SUBLAYERS.items() if part.kind in kinds), part.kind)
        totals[Part(kind, part.layer) if by_sublayer else part] += float(value)
    return [{"name": (page.label(f"whole_{part.kind}", layer=part.layer)
                      if by_sublayer and part.layer is not None else part_name(page, part)),
             "meaning": MEANINGS.get(part.kind, "excluded"), "value": value,
             "group": "" if part.layer is None else page.label("block", block=part.layer)}
            for part, value in totals.items()]


def _title(page: Lesson, run: Run, logit: Contributions, rows: list[dict], position: int, target: int) -> str:
    def value(row: dict) -> str:
        return "+" * (row["value"] > 0) + readable(row["value"])

    least, *_, most = sorted(rows, key=lambda row: row["value"])
    return page.label("title_contributions", target=code(run.tokenizer.visible(target)),
                      token=code(run.tokens[position]), logit=readable(logit.logit), most=most["name"],
                      most_value=value(most), least=least["name"], least_value=value(least))


def _lines(page: Lesson, run: Run, logit: Contributions, rows: list[dict]) -> list[tuple[str, str]]:
    config, E, bias = run.model.config, unembedding_name(run), "" if run.model.b_U is None else " + b_t"
    addends = " + ".join(bracketed(latex_number(row["value"])) for row in rows[:4])
    return [(page.label("numbers_sum", n=len(rows)), rf"\sum_k c_k = {addends} + \dots = {latex_number(logit.total)}"),
            (page.label("numbers_logit_bias" if bias else "numbers_logit", E=E),
             rf"u_t = {_unembedded(config)} \cdot e_t{bias} = {latex_number(logit.logit)}"),
            (page.label(f"numbers_frozen_{config.norm if config.norm_placement == 'pre' else 'each'}", E=E),
             _frozen_latex(config))]


def _unembedded(config: ModelConfig) -> str:
    """The symbol of the vector that the unembedding multiplies."""
    return "h'" if config.head.head_transform else "h_N"


def _frozen_latex(config: ModelConfig) -> str:
    """The LaTeX of one part's contribution to a logit, with every norm frozen."""
    if config.norm_placement != "pre":
        return rf"c_k = \tilde{{p}}_k \cdot e_t , \qquad \sum_k \tilde{{p}}_k = {_unembedded(config)}"
    part = r"p_k - \overline{p_k}" if config.norm == "layernorm" else "p_k"
    return rf"c_k = \left(\alpha \odot \frac{{{part}}}{{\sigma(x)}}\right) \cdot e_t , \qquad \sum_k p_k = x"


def _question(page: Lesson, run: Run, logit: Contributions, position: int, target: int) -> Question:
    """Whether the token's probability falls, rises or stays when the head that adds most is switched off."""
    value, best = max(((float(value), part) for part, value in zip(logit.parts, logit.values) if part.kind == "head"),
                      key=lambda pair: pair[0])
    before, after = probability_without(run, best, position, target)
    answer = 2 if abs(after - before) < 0.05 * before else 0 if after < before else 1
    head = part_name(page, best)
    return page.question("contributions", [page.label(name) for name in ("falls", "rises", "stays")], answer, head=head,
                         target=code(run.tokenizer.visible(target)), value=readable(value), before=percent(before),
                         after=percent(after))


def probability_without(run: Run, part: Part, position: int, target: int) -> tuple[float, float]:
    """The probability of `target` after `position` in the model, and with one head's output set to zero."""
    off = Intervention(heads=(HeadEdit(part.layer, part.head),))
    return tuple(float(torch.softmax(trace.logits[position].double(), -1)[target])
                 for trace in (run.trace, run.trace_with(off)))
