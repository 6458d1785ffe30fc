"""Switches: scaling, mask and score function of the whole model, changed in a real forward pass, and the effect on the
next token.
"""
import dataclasses
import math

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from torch import Tensor

from core.analysis import score_scaling, stream_and_heads
from core.analysis.arrays import to_numpy
from core.analysis.stream_and_heads import Effect
from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.lesson.selection_controls import pick
from core.app.state import Run, reader
from core.app.state.run import read as read_text
from core.app.state.run import selection
from core.base.markdown import code, escaped
from core.components.attention_view import Head, attention_view
from core.figures import heads as figures
from core.figures.heads import head_name, product_latex
from core.figures.numbers import latex_number, latex_operand, percent, probability, readable
from core.figures.residual_stream import two_distributions
from core.model import attention, checkpoints
from core.model.config import ModelConfig
from core.model.intervention import Intervention
from core.model.scores import additive_scores, cosine_scores, multiplicative_scores
from core.model.trace import BlockTrace, Trace
from pages.attention.shared import PREFIX, listed, numbered, own_seed, read, show

# three models that differ in the score alone
TRAINED = {"dot": "positions-learned", "multiplicative": "scores-multiplicative", "additive": "scores-additive"}
SHOWN, SHOWN_PRESENT = 7, 4    # candidates in the paired bars
CHART, CHART_PRESENT = 290, 248     # height of a chart in pixels
SEEN_CHANGE = 0.05            # of a probability: visible in a bar
UNDIVIDED = ("additive", "cosine")      # scores that no width makes larger, so nothing divides them
OTHER = 3                     # the option of the question: another token leads
ASKED_WINDOW = 4              # keys of the question's sliding window


def switched(run: Run) -> Intervention:
    """The settings of the switches that differ from the model's own."""
    config, mask, score = run.model.config, read("mask"), read("score")
    return Intervention(
        scale_scores=(False if read("scaling") == "off" and config.scores.scale_scores
                      and score_of(run) not in UNDIVIDED else None),
        mask=None if mask in ("own", own_mask(config)) and mask != "sliding-window" else mask,
        window=read("width") if mask == "sliding-window" else None,
        score=None if score in ("own", config.score) else score, score_seed=read("seed") if is_random(run) else 0)


def own_mask(config: ModelConfig) -> str:
    """The model's mask by its name; "mixed" where its blocks differ."""
    return "mixed" if config.scores.block_masks else config.mask


def score_of(run: Run) -> str:
    """The score function of the switched pass."""
    return run.model.config.score if read("score") == "own" else read("score")


def is_random(run: Run) -> bool:
    """Whether the score function of the switched pass needs weights that the model does not have, so random ones."""
    return score_of(run) not in ("dot", "cosine", run.model.config.score)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Whether the likeliest token stays so once the switches are thrown, and how probable it is then."""
    change, position = switched(run), selection(run).position
    if change == Intervention() or len(run.token_ids) < 2 or not run.has_head:
        return None
    p = next_tokens(run.trace.logits[position])
    top = int(p.argmax())

    def truth(_: int) -> Truth:
        q = next_tokens(run.trace_with(change).logits[position])
        now, moved = int(q.argmax()), float(q[top] - p[top])
        seen = 0 if abs(moved) < SEEN_CHANGE else 1 if moved < 0 else 2
        return Truth(seen if now == top else OTHER, said=percent(float(q[now])), seen=seen,
                     values={"after": percent(float(q[top])), "now": run.tokenizer.visible(now),
                             "p": percent(float(q[now]))})

    values = {"at": page.label("asked_at", token=run.tokens[position]), "top": run.tokenizer.visible(top),
              "before": percent(float(p[top])), "what": "; ".join(_asked(page, change))}
    return Prediction("switches", Options([*page.labels("guess_switches").values()]), truth, values,
                      (change, position))


def _asked(page: Lesson, change: Intervention) -> list[str]:
    """Name the change for the question."""
    parts = [page.label("asked_scaling")] if change.scale_scores is False else []
    if change.mask is not None:
        parts.append(page.label(f"asked_{change.mask}", width=change.window))
    return parts + ([page.label("asked_score")] if change.score is not None else [])


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    _controls(page, run)
    position, change = selection(run).position, switched(run)
    traces = {"before": run.trace, "after": run.trace_with(change)}
    if not run.has_head:
        return _silent(page, run, change, traces)
    before, after = (trace.logits[position] for trace in traces.values())
    effect = stream_and_heads.effect(before, after, k=SHOWN // 2)
    p, q = next_tokens(before), next_tokens(after)
    title = _title(page, run, change, effect, p, q) + _spread(page, traces)
    st.markdown(f"**{title}**")
    ids = figures.candidates(p, q, effect.token_ids[effect.before != effect.after].tolist(),
                             SHOWN_PRESENT if reader.present() else SHOWN)
    compared = pd.DataFrame({"token": [run.tokenizer.visible(int(i)) for i in ids], "before": p[ids], "after": q[ids]})
    with _patterns(page, run, change, traces):
        _bars(page, compared)
    page.note(_note(page, run, change))
    return Reading(_lines(page, run, change, effect), question(page, run),
                   [attention.dot_product_scores, multiplicative_scores, additive_scores,
                    cosine_scores, attention.masked_softmax],
                   {"expected_tokens.csv" if run.is_encoder else "next_tokens.csv": lambda: compared,
                    "patterns.csv": lambda: _patterns_table(run, change)},
                   f".st-key-{PREFIX}switches_bars", title, trained_table(page, run),
                   {page.label("pin_switches"): _names(page, change), "KL": readable(effect.kl)})


def _silent(page: Lesson, run: Run, change: Intervention, traces: dict[str, Trace]) -> Reading:
    """The same of a model without a language head: the patterns, and how far the last vectors move."""
    position = selection(run).position
    before, after = (trace.h_final.double() for trace in traces.values())
    moved = ((after - before).norm(dim=-1) / before.norm(dim=-1)).cpu().numpy()
    title = page.label("switches_title_silent", named=_names(page, change), token=code(run.tokens[position]),
                       share=percent(float(moved[position]))) + _spread(page, traces)
    st.markdown(f"**{title}**")
    with _patterns(page, run, change, traces):
        page.note(page.label("switches_silent"))
    page.note(_note(page, run, change))
    moves = pd.DataFrame({"position": range(len(moved)), "token": run.tokens, "moved": moved})
    return Reading(
        [_score_line(page, run, change),
         (page.label("numbers_silent", token=code(run.tokens[position])),
          rf"\frac{{\lVert h' - h \rVert}}{{\lVert h \rVert}} = {latex_number(float(moved[position]))}")],
        None, [attention.dot_product_scores, attention.masked_softmax],
        {"moved.csv": lambda: moves, "patterns.csv": lambda: _patterns_table(run, change)},
        f".st-key-{PREFIX}pattern_after", title,
        summary={page.label("pin_switches"): _names(page, change), page.label("pin_moved"):
                 percent(float(moved[position]))})


def _patterns(page: Lesson, run: Run, change: Intervention, traces: dict[str, Trace]) -> DeltaGenerator:
    """Draw the picked head's pattern before and after, and that of a model trained with this score, where there is one;
    return the column that is left.
    """
    chosen = selection(run)
    trained = trained_run(score_of(run), run) if change.score is not None else None
    *columns, last = st.columns(3 if trained is None else 4, gap="small")
    for column, (which, trace) in zip(columns, traces.items()):
        with column:
            _pattern(page, trace.blocks[chosen.layer], chosen.head, run.tokens, which,
                     page.label(f"pattern_{which}", head=head_name(chosen.layer, chosen.head)), chosen.position)
    if trained is not None:
        with columns[2]:
            _trained(page, trained, run)
    return last


def _bars(page: Lesson, compared: pd.DataFrame) -> None:
    """Draw the probabilities of some next tokens before and after."""
    st.caption(page.label("bars_caption"))
    show(two_distributions(compared.token.tolist(), compared.before.to_numpy(), compared.after.to_numpy(),
                           (page.label("bars_before"), page.label("bars_after")), page.label("bars_axis"),
                           reader.theme(), reader.scale(), CHART_PRESENT if reader.present() else CHART),
         "switches_bars")


def next_tokens(logits: Tensor) -> np.ndarray:
    """(|V|,) the probabilities of the next token."""
    return to_numpy(logits.double().softmax(-1))


def _controls(page: Lesson, run: Run) -> None:
    config = run.model.config
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        pick(page, run, "layer", "head", "position")
        listed(page, "scaling", page.label(
            f"scaled_{config.scores.scale_scores and config.score != 'additive'}".lower()), 190)
        mask = listed(page, "mask", page.label(f"mask_name_{own_mask(config)}"), 204)
        if mask == "sliding-window":
            numbered(page, "width")
        listed(page, "score", page.label(f"score_name_{config.score}"), 188)
        if is_random(run):
            own_seed(page, said=page.label("seed"))


def _pattern(page: Lesson, block: BlockTrace, head: int, tokens: list[str], which: str, title: str, query: int) -> None:
    """Draw a head's pattern with the query's row marked; which: "before", "after" or "trained"."""
    words = ({"title": title, "scale": page.label("pattern_scale")}
             | {key: page.label(f"pattern_{key}") for key in ("masked", "key_axis", "query_axis", "keys_help")})
    values = block.pattern[head].detach().float().cpu().numpy()
    head = Head(values, block.allowed.cpu().numpy(), tokens, words, which, (query, int(values[query].argmax())),
                height=(183 if reader.present() else 230, 340), foot=20 if reader.present() else 0,
                scale=reader.scale(), theme=reader.theme())
    attention_view(head, key=f"{PREFIX}pattern_{which}",
                   on_pick=lambda row, _key: reader.select(position=row) if which != "trained" else None)


def trained_run(score: str, run: Run) -> Run | None:
    """The same text under the small model that was trained with a score function; None if there is no such model, it is
    not bundled, or the loaded model is an encoder.
    """
    name = TRAINED.get(score)
    return (read_text(cache.shared_model(name, run.device), run.text)
            if name in checkpoints.bundled_names() and not run.is_encoder else None)


def same_place(trained: Run, run: Run) -> int:
    """The position among another model's tokens that corresponds to the picked one: the same if the tokens are equal,
    else the last.
    """
    at = selection(run).position
    return at if trained.token_ids == run.token_ids else len(trained.token_ids) - 1


def _trained(page: Lesson, trained: Run, run: Run) -> None:
    chosen, config, position = selection(run), trained.model.config, same_place(trained, run)
    layer, head = min(chosen.layer, config.n_layers - 1), min(chosen.head, config.n_heads - 1)
    _pattern(page, trained.trace.blocks[layer], head, trained.tokens, "trained",
             page.label("pattern_trained", model=trained.model_name, head=head_name(layer, head)), position)
    tokens = ", ".join(f"{code(token)} {percent(p)}" for token, p in likeliest(trained, position))
    page.note(page.label("trained_says", tokens=tokens))


def likeliest(run: Run, position: int) -> list[tuple[str, float]]:
    """The three most probable next tokens after a position, each with its probability."""
    p = next_tokens(run.trace.logits[position])
    return [(run.tokenizer.visible(int(i)), float(p[i])) for i in np.argsort(-p, kind="stable")[:3]]


def _names(page: Lesson, change: Intervention) -> str:
    """The changed switches, in words."""
    parts = [page.label("named_scaling")] if change.scale_scores is False else []
    if change.mask is not None:
        parts.append(page.label(f"named_{change.mask}", width=change.window))
    if change.score is not None:
        parts.append(page.label(f"named_{change.score}", seed=change.score_seed))
    return ", ".join(parts) or page.label("named_nothing")


def _title(page: Lesson, run: Run, change: Intervention, effect: Effect, p: np.ndarray, q: np.ndarray) -> str:
    first, second = int(p.argmax()), int(q.argmax())
    return page.label("switches_title_same" if first == second else "switches_title_other",
                      named=_names(page, change), token=code(run.tokens[selection(run).position]),
                      first=code(run.tokenizer.visible(first)), before=percent(p[first]),
                      after=percent(q[first]), second=code(run.tokenizer.visible(second)),
                      second_after=percent(q[second]), kl=readable(effect.kl))


def _spread(page: Lesson, traces: dict[str, Trace]) -> str:
    """How evenly all heads spread their weights in both passes; "" if a query has no choice of keys."""
    before, after = map(score_scaling.mean_entropy, traces.values())
    return "" if math.isnan(before + after) else ". " + page.label("switches_spread", before=readable(before),
                                                                   after=readable(after))


def _note(page: Lesson, run: Run, change: Intervention) -> str:
    sees_ahead = run.model.config.mask != "bidirectional" and change.mask == "bidirectional"
    key = (f"note_random_{score_of(run)}" if is_random(run) else "note_cosine" if change.score == "cosine"
           else "note_bidirectional" if sees_ahead
           else "note_untrained" if change != Intervention() else "note_nothing")
    return page.label(key, model=escaped(run.title), seed=read("seed"))


# ---- in numbers ------------------------------------------------------------------------------------------------------


def _lines(page: Lesson, run: Run, change: Intervention, effect: Effect) -> list[tuple[str, str]]:
    chosen = selection(run)
    moved, before, after = int(effect.token_ids[0]), float(effect.before[0]), float(effect.after[0])
    lines = [_score_line(page, run, change),
             (page.label("numbers_kl", token=code(run.tokens[chosen.position])),
              rf"\mathrm{{KL}}(y \,\Vert\, y') = \sum_w y_w \ln \frac{{y_w}}{{y'_w}} = {latex_number(effect.kl)}\ "
              rf"\text{{nats}}")]
    if before != after and before > 0 and after > 0:
        lines.append((page.label("numbers_moved", token=code(run.tokenizer.visible(moved))),
                      rf"y_w \ln \frac{{y_w}}{{y'_w}} = {latex_operand(before)} \cdot \ln "
                      rf"\frac{{{latex_operand(before)}}}{{{latex_operand(after)}}}"
                      rf" = {latex_number(before * np.log(before / after))}"))
    return lines


def _score_line(page: Lesson, run: Run, change: Intervention) -> tuple[str, str]:
    """The score function of the switched pass."""
    config, score = run.model.config, score_of(run)
    divided = r" / \sqrt{d_k}" if config.scores.scale_scores and change.scale_scores is None else ""
    if config.scores.score_divisor:
        divided = divided.replace(r"\sqrt{d_k}", latex_operand(config.scores.score_divisor))
    bias = " + b_{ij}" if config.positions in ("alibi", "relative") else ""
    product = product_latex(dataclasses.replace(config, score="dot" if score == "cosine" else score), "i", "j")
    if score == "cosine":
        product = rf"\cos(q_i, k_j) = \frac{{{product}}}{{\lVert q_i \rVert\, \lVert k_j \rVert}}"
    return (page.label("numbers_score_now"),
            rf"s_{{ij}} = {product + (divided if score not in UNDIVIDED else '') + bias}")


def trained_table(page: Lesson, run: Run) -> pd.DataFrame | None:
    """The most probable next tokens of the three models that differ in the score function alone, on the same text; None
    for an encoder, which has no next token.
    """
    if run.is_encoder:
        return None
    rows = []
    for score in TRAINED:
        if (trained := trained_run(score, run)) is not None:
            tokens = likeliest(trained, same_place(trained, run))
            rows.append([page.label(f"score_name_{score}"), trained.model_name,
                         *(f"{token}  {probability(p)}" for token, p in tokens)])
    return page.table(rows, "score_function", "model", "first", "second", "third")


def _patterns_table(run: Run, change: Intervention) -> pd.DataFrame:
    """The picked head's weights before and after, a row for each query and key."""
    chosen = selection(run)
    before, after = (to_numpy(run.trace_with(which).blocks[chosen.layer].pattern[chosen.head])
                     for which in (Intervention(), change))
    queries, keys = np.indices(before.shape)
    columns = {"query": queries, "key": keys, "before": before, "after": after}
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()})


# ---- check yourself --------------------------------------------------------------------------------------------------


def question(page: Lesson, run: Run) -> Question:
    """Ask which switch alone changes the next token's distribution least; at the first token of a causal model, whether
    any can.
    """
    config, position = run.model.config, selection(run).position
    if position == 0 and config.mask != "bidirectional":
        return page.question("switches_first", [page.label(f"option_{name}") for name in ("yes", "no")], 1,
                             token=code(run.tokens[0]))
    mask = "causal" if config.mask == "bidirectional" else "bidirectional"
    changes = {mask: Intervention(mask=mask), "window": Intervention(mask="sliding-window", window=ASKED_WINDOW),
               "random": Intervention(score=new_score(config.score))}
    if config.score != "additive":
        changes = {"scaling": Intervention(scale_scores=False)} | changes
    divergences = [stream_and_heads.effect(run.trace.logits[position], run.trace_with(change).logits[position]).kl
                   for change in changes.values()]
    names = [page.label(f"option_{name}", width=ASKED_WINDOW) for name in changes]
    amounts = "; ".join(page.label("one_divergence", name=name, kl=readable(kl))
                        for name, kl in zip(names, divergences))
    return page.question("switches", names, int(np.argmin(divergences)), token=code(run.tokens[position]),
                         found=amounts)


def new_score(score: str) -> str:
    """A score function other than `score` that has weights, which a model with `score` has not learned."""
    return "additive" if score != "additive" else "multiplicative"
