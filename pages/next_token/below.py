"""Everything below the panel that follows its settings: formulas, tables, the question, the origin of a logit."""
import dataclasses
import math

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app.lesson import Lesson, Question, Reading
from core.app.lesson.code_and_data import as_csv
from core.app.state import Run, reader
from core.base.markdown import code, escaped
from core.components.sampling_panel import PanelSettings, seeded_uniforms
from core.figures.numbers import bracketed, grouped, latex_number, latex_operand, percent, plain_number, probability
from core.model import sampling
from core.model.sampling import RULES, SamplingConfig, Truncation, truncate
from pages.next_token.charts import largest_terms, terms_chart, terms_rows
from pages.next_token.shared import SETTINGS, settings

N_DRAWS = 1000
N_ROWS = 12                       # of the table under "In numbers"
N_CANDIDATES = 250                # of the data table; the whole vocabulary is a download
QUESTION = SamplingConfig(temperature=2.0, top_p=0.5)


def reading(page: Lesson, run: Run, position: int, row: DeltaGenerator) -> Reading:
    """The Reading of the panel's last settings; pins and the button of the whole table are drawn in `row`."""
    logits, panel, target = run.logits(position), settings(position + 1), reader.selection().target
    truncation = truncate(logits, panel.config)
    target = int(truncation.token_ids[0]) if target is None else target

    with row:
        st.download_button(page.label("whole"),
                           lambda: as_csv(table(page, run, truncation, logits, len(logits), digits=None)),
                           file_name="next_token.csv", mime="text/csv", key="next_token_whole", on_click="ignore",
                           help=page.label("whole_help"))

    def candidates() -> pd.DataFrame:
        rows = table(page, run, truncation, logits, N_CANDIDATES, digits=None)
        return with_draws(rows, page, truncation, panel)

    return Reading(lines(page, run, position, target, truncation, panel),
                   question(page, logits), [truncate, sampling.draw],
                   {"candidates.csv": candidates},
                   ".sampling-panel .first" if panel.is_brief else ".sampling-panel .figure canvas",
                   twin(page, run, truncation, panel),
                   table(page, run, truncation, logits, N_ROWS), summary(page, run, truncation), pins=row,
                   below=lambda: _origin(page, run, position, target))


def _origin(page: Lesson, run: Run, position: int, target: int) -> None:
    """Draw the origin of u: the largest terms of h_N^L times the target's row of E."""
    h, row, bias = vectors(run, position, target)
    terms, names = largest_terms(h, row), logit_names(page, run)
    u, rest = float(h @ row) + (bias or 0), float(h @ row) - float(terms["product"].sum())
    st.markdown(page.label("origin_title", token=code(run.tokenizer.visible(target)), u=plain_number(u), d=len(h),
                           n=len(terms), rest=f"{'+' if rest >= 0 else ''}{plain_number(rest)}",
                           bias="" if bias is None else f" {page.label('origin_bias', b=plain_number(bias))}", **names))
    labels = {name: page.label(f"origin_{name}", **names) for name in ("dimension", "product")}
    chart, products = st.columns([3, 2], gap="large")
    chart.vega_lite_chart(terms_rows(terms), terms_chart(labels, reader.theme(), reader.scale()), theme=None,
                          key="next_token_terms")
    products.dataframe(terms_table(page, run, terms), hide_index=True, height=260)


# ---- in numbers ------------------------------------------------------------------------------------------------------


def lines(page: Lesson, run: Run, position: int, target: int, truncation: Truncation,
          panel: PanelSettings) -> list[tuple[str, str]]:
    """Formulas with the current numbers of the target token: its logit, probability, truncation, interval; then
    entropy and tail.
    """
    place = int(np.flatnonzero(truncation.token_ids == target)[0])
    token = code(run.tokenizer.visible(target))
    logits = run.logits(position)

    def say(key: str, **values) -> str:
        return page.label(f"numbers_{key}", token=token, **values)

    return [_logit_line(page, say, run, position, target), *_softmax_lines(page, run, say, logits, target, truncation),
            *_cut_lines(say, place, truncation), *_draw_lines(say, place, truncation, panel),
            *_summary_lines(say, truncation)]


def _logit_line(page: Lesson, say, run: Run, position: int, target: int) -> tuple[str, str]:
    """The logit as a sum: the largest products of h and the target's row, the sum of the others, and the token's bias,
    if the model has one.
    """
    h, row, bias = vectors(run, position, target)
    products = h * row
    first = np.argsort(-np.abs(products), kind="stable")[:3]
    terms = [*products[first], products.sum() - products[first].sum(), *([] if bias is None else [bias])]
    latex = "".join(f"{'+' if value >= 0 else ''}{latex_operand(value)}" for value in terms).lstrip("+")
    added, symbol = "" if bias is None else " + b_x", "E_{xj}" if run.model.config.tied_embeddings else "(W_U)_{xj}"
    caption = ([] if bias is None else [say("bias")]) + [say("tied" if run.model.config.tied_embeddings else "untied",
                                                             d=len(h), last=page.label(f"last_{last_vector(run)}"))]
    return (" ".join(caption), rf"u = h_N^L \cdot e(x){added} = \sum_{{j=1}}^{{{len(h)}}} h_j\,{symbol}{added} = "
                               rf"{latex} = {latex_number(sum(terms))}")


def vectors(run: Run, position: int, target: int) -> tuple[np.ndarray, np.ndarray, float | None]:
    """The vector that the unembedding reads at `position` and the row of E (of W_U, in an untied model) of the target,
    both (d,) float64, and the target's b_U, if there is one.
    """
    model, trace = run.model, run.trace
    h = (trace.h_final if trace.h_head is None else trace.h_head)[position].double().cpu().numpy()
    return (h, model.unembedding[target].detach().double().cpu().numpy(),
            None if model.b_U is None else float(model.b_U[target]))


def last_vector(run: Run) -> str:
    """The last operation on the unembedding's input: "transformed" by the head, "mapped" by its one matrix, "normed" at
    the end, or "plain" in a model whose blocks norm their sums.
    """
    if run.model.config.embedding.plain_maps:
        return "mapped"
    return "transformed" if run.model.W_H is not None else "normed" if run.model.final_norm is not None else "plain"


def logit_names(page: Lesson, run: Run) -> dict[str, str]:
    """The page's names of the unembedding, of its entries, and of the bias added to the products."""
    tied = run.model.config.tied_embeddings
    return {"E": "E" if tied else "W_U", "entry": "E_xj" if tied else "(W_U)_xj",
            "added": "" if run.model.b_U is None else f" {page.label('added_bias')}"}


def _softmax_lines(page: Lesson, run: Run, say, logits: np.ndarray, target: int,
                   truncation: Truncation) -> list[tuple[str, str]]:
    temperature, best = truncation.config.temperature, logits.max()
    if temperature == 0:
        return [(say("argmax"), r"T = 0:\quad y_x = 1 \text{ if } x = \arg\max_w u_w,\ \text{else } 0")]
    difference = logits[target] - best
    total = float(np.exp((logits - best) / temperature).sum())
    y = math.exp(difference / temperature) / total
    return [(say("scaled", best=plain_number(best, 6)),
             rf"\frac{{u - \max u}}{{T}} = \frac{{{latex_operand(logits[target])} - "
             rf"{bracketed(latex_operand(best))}}}{{{temperature:g}}} = {latex_operand(difference / temperature)}"),
            (say("softmax", n=grouped(len(logits)), **logit_names(page, run)),
             rf"y = \frac{{e^{{(u - \max u)/T}}}}{{\sum_w e^{{(u_w - \max u)/T}}}} = "
             rf"\frac{{e^{{{latex_operand(difference / temperature)}}}}}{{{latex_operand(total)}}} = "
             rf"{latex_number(y)}")]


def _cut_lines(say, place: int, truncation: Truncation) -> list[tuple[str, str]]:
    """The comparison that decides on the token under each active rule, up to the rule that removes it."""
    config, y, fate = truncation.config, truncation.probs, RULES[truncation.cut_by[place]]
    after_k = min(config.top_k or len(y), int(np.count_nonzero(y > 0)))
    mass, before = truncation.cumulative[after_k - 1], truncation.cumulative[place] - y[place]
    below, above, within = "<", r"\ge", r"\le"
    comparisons = {
        "top_k": rf"\text{{rank }} {place + 1} {'>' if fate == 'top_k' else within} k = {config.top_k}",
        "top_p": rf"\frac{{{latex_operand(before)}}}{{{latex_operand(mass)}}} = {latex_number(before / mass)} "
                 rf"{above if fate == 'top_p' else below} p = {config.top_p:g}",
        "min_p": rf"y = {latex_number(y[place])} {below if fate == 'min_p' else above} m \cdot \max y = "
                 rf"{config.min_p:g} \cdot {latex_operand(y[0])} = {latex_number(config.min_p * y[0])}"}
    surprisal = rf"-\ln y = {latex_number(-math.log(y[place]) if y[place] else math.inf)}"
    rules = [rule for rule in config.active() if rule != "temperature"]
    if fate in rules:
        rules = rules[:rules.index(fate) + 1]
    return [(say(rule if rule in comparisons else f"{rule}_{'cut' if fate and rule == rules[-1] else 'kept'}"),
             comparisons.get(rule, surprisal)) for rule in rules]


def _draw_lines(say, place: int, truncation: Truncation, panel: PanelSettings) -> list[tuple[str, str]]:
    if not truncation.kept[place]:
        return []
    y, z = truncation.probs[place], truncation.renormalised[place]
    start, end = (truncation.interval_ends[place - 1] if place else 0.0), truncation.interval_ends[place]
    inside = sampling.draw(truncation, panel.xi) == place
    return [
        (say("renormalised", n=truncation.n_kept),
         rf"y' = \frac{{y}}{{\sum_{{w\ \mathrm{{kept}}}} y_w}} = "
         rf"\frac{{{latex_operand(y)}}}{{{latex_operand(truncation.kept_mass)}}} = {latex_number(z)}"),
        (say("interval_hit" if inside else "interval_miss"),
         rf"\xi = {panel.xi:.4f} {chr(92)}{'in' if inside else 'notin'} [{latex_number(start)},\ {latex_number(end)})")]


def _summary_lines(say, truncation: Truncation) -> list[tuple[str, str]]:
    before, after, tail = truncation.entropy_before, truncation.entropy_after, 1 - truncation.kept_mass
    entropy = (say("entropy", bits=plain_number(before / math.log(2))),
               rf"H = -\sum_w y_w \ln y_w = {latex_number(before)},\quad e^{{H}} = "
               rf"{latex_number(truncation.perplexity_before)};\qquad H' = {latex_number(after)},\quad e^{{H'}} = "
               rf"{latex_number(truncation.perplexity_after)}")
    if truncation.n_kept == len(truncation.probs):
        return [entropy]
    return [entropy, (say("tail", n=grouped(len(truncation.probs) - truncation.n_kept)),
                      rf"1 - {latex_operand(truncation.kept_mass)} = {latex_number(tail)},\qquad 1 - "
                      rf"{bracketed(latex_operand(truncation.kept_mass))}^{{100}} = "
                      rf"{latex_number(1 - truncation.kept_mass ** 100)}")]


def table(page: Lesson, run: Run, truncation: Truncation, logits: np.ndarray, n: int, digits: int = 4) -> pd.DataFrame:
    """The n most probable tokens: logit, probability, truncation, interval. digits: None for numbers without rounding.
    """
    ids, ends = truncation.token_ids[:n], truncation.interval_ends[:n]
    columns = {"u": logits[ids], "y": truncation.probs[:n], "cumulative": truncation.cumulative[:n],
               "renormalised": truncation.renormalised[:n], "from": np.concatenate([[0.0], ends[:-1]]), "to": ends}
    if digits is not None:
        columns = {name: [plain_number(value, digits) for value in values] for name, values in columns.items()}
    named = {page.label(f"column_{name}"): values for name, values in columns.items()}
    return pd.DataFrame({page.label("column_rank"): range(1, len(ids) + 1), page.label("column_id"): ids,
                         page.label("column_token"): [run.tokenizer.visible(int(token_id)) for token_id in ids],
                         **named, page.label("column_rule"): [page.label(f"panel_rule_{RULES[code]}") if code else ""
                                                              for code in truncation.cut_by[:n]]})


def terms_table(page: Lesson, run: Run, terms: pd.DataFrame) -> pd.DataFrame:
    """The largest terms of a logit with six decimals, so that a calculator arrives at the products."""
    return pd.DataFrame({"j": terms["j"]} | {page.label(f"terms_{name}", **logit_names(page, run)):
                                             [plain_number(value, 6) for value in terms[name]]
                                             for name in ("h", "e", "product")})


def with_draws(table: pd.DataFrame, page: Lesson, truncation: Truncation, panel: PanelSettings) -> pd.DataFrame:
    """The table with another column: how often each token occurs in the thousand draws of the seed."""
    places = np.searchsorted(truncation.interval_ends, seeded_uniforms(panel.seed, N_DRAWS), side="right")
    return table.assign(**{page.label("column_draws"): np.bincount(places, minlength=len(table))[:len(table)]})


# ---- question and sentences ------------------------------------------------------------------------------------------


def kept_counts(logits: np.ndarray) -> tuple[list[int], int]:
    """Options for the number of tokens that top-p = 0.5 keeps at T = 2, and the index of the right one. The others are
    the numbers at T = 1 and T = 1/2, 40, half of the vocabulary, and small ones where these are equal.
    """
    right = truncate(logits, QUESTION).n_kept
    others = ([truncate(logits, dataclasses.replace(QUESTION, temperature=t)).n_kept for t in (1.0, 0.5)]
              + [40, len(logits) // 2, *range(1, 5)])
    wrong = list(dict.fromkeys(n for n in others if n != right and n <= len(logits)))[:3]
    options = sorted([right, *wrong])
    return options, options.index(right)


def question(page: Lesson, logits: np.ndarray) -> Question:
    """Question: how many tokens does top-p = 0.5 keep at T = 2?"""
    options, answer = kept_counts(logits)
    return Question("top_p", page.label("question", n=grouped(len(logits))), [grouped(n) for n in options], answer,
                    page.label("answer"))


def twin(page: Lesson, run: Run, truncation: Truncation, panel: PanelSettings) -> str:
    """A sentence that describes the picture."""
    place, config, off = sampling.draw(truncation, panel.xi), truncation.config, page.label("panel_off")
    first, drawn = (escaped(run.tokenizer.visible(int(truncation.token_ids[i]))) for i in (0, place))
    return page.label("panel_twin", T=f"{config.temperature:g}", k=config.top_k or off,
                      p=f"{config.top_p:g}" if config.top_p < 1 else off,
                      kept=grouped(truncation.n_kept), size=grouped(len(truncation.probs)),
                      mass=probability(truncation.kept_mass), cut=grouped(len(truncation.probs) - truncation.n_kept),
                      tail=probability(max(0.0, 1 - truncation.kept_mass)), first=first,
                      y=percent(truncation.probs[0]), xi=f"{panel.xi:.4f}", drawn=drawn,
                      drawn_y=percent(truncation.renormalised[place]))


def summary(page: Lesson, run: Run, truncation: Truncation) -> dict[str, str]:
    """The values that "Keep as A" stores."""
    return {page.label("pin_prompt"): run.text[-60:],
            page.label("pin_settings"): SETTINGS.read("panel"),
            page.label("panel_candidates"): grouped(truncation.n_kept),
            page.label("panel_mass"): probability(truncation.kept_mass),
            page.label("panel_entropy"): plain_number(truncation.entropy_after),
            page.label("panel_perplexity"): plain_number(truncation.perplexity_after),
            page.label("pin_first"): f"{run.tokenizer.visible(int(truncation.token_ids[0]))} "
                                     f"{percent(truncation.probs[0])}"}
