"""Inputs: what each token of the prompt counts for, by gradients, by leaving it out and by attention, and how far the
methods agree.
"""
import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import attribution
from core.analysis.attribution import rank_correlation
from core.analysis.stream_and_heads import rollout
from core.analysis.text_probability import next_log_probs
from core.app.base.markdown import code
from core.app.compute import growing_results
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.components.lib.token_view import token_view
from core.figures.numbers import bracketed, latex_number, latex_operand, plain_number, probability, readable
from core.model.transformer import Transformer
from pages.limits.shared import PREFIX, choice, keep, read

METHODS = ("gradient", "integrated", "removed", "replaced", "rollout")
MOST_TOKENS = 40            # that are explained, the end-of-text token among them
RANDOM_SEED = 0
GAP = 0.05                  # of the difference: what integrated gradients may miss without a word
ALIKE = 0.1                 # of the sum: nearer than this, two tokens count as they do one by one
BAND, BAND_PRESENT = 4.3, 2.9       # em
# What each token of a prompt counts for, a row of signed bars for each method.
_picture = token_view("limits_inputs", __file__)


@dataclass(frozen=True)
class Parts:
    """What each of N tokens counts for one target, by method, in nats (rollout: a share of 1).

    score, baseline_score: ln p of the target for the prompt and for the baseline of integrated gradients. lengths:
    ‖x_i‖ and ‖∂f/∂x_i‖, (2, N).
    """

    values: dict[str, np.ndarray]
    score: float
    baseline_score: float
    lengths: np.ndarray

    def agreement(self, one: str, other: str) -> float:
        """Spearman's ρ of two methods' sizes, the sign and the end-of-text token left aside."""
        return rank_correlation(np.abs(self.values[one][1:]), np.abs(self.values[other][1:]))


@dataclass(frozen=True)
class Scene:
    """The parts for the target, and those of the control, if there is one."""

    run: Run
    target: int
    parts: Parts
    control: Parts | None
    token: int

    def against_control(self, method: str) -> float:
        return rank_correlation(np.abs(self.parts.values[method][1:]), np.abs(self.control.values[method][1:]))


def draw(page: Lesson, run: Run) -> Reading:
    """The controls and the bands of bars; returns what they show."""
    short = _shortened(run)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        with st.popover(page.label("target"), help=page.label("target_help")):
            page.named_token(short, len(short.token_ids) - 1)
        for name in ("control", "baseline", "steps")[:2 if reader.present() else 3]:
            with st.container(width="content", gap=None):
                st.caption(page.label(name))
                choice(page, name)
    here = _scene(page, short)
    name = code(run.tokenizer.visible(here.target))
    title = _title(page, here, name)
    st.markdown(f"**{title}**")
    _picture(_message(page, here, len(run.token_ids) - len(short.token_ids)), key=f"{PREFIX}inputs",
             on_settings=lambda settings: keep(token=settings["token"]))
    return Reading(_lines(page, here), _question(page, here),
                   [attribution.gradient_times_input, attribution.integrated_gradients, attribution.removed,
                    attribution.replaced, attribution.rank_correlation],
                   {"inputs.csv": lambda: _table(page, here)}, ".inputs-picture", title, _agreements(page, here))


def _shortened(run: Run) -> Run:
    """The run of the last tokens, as many as are explained."""
    ids = run.token_ids[:1] + run.token_ids[1:][-(MOST_TOKENS - 1):]
    return dataclasses.replace(run, token_ids=ids, tokens=[run.tokenizer.visible(i) for i in ids])


def _scene(page: Lesson, run: Run) -> Scene:
    log_probs = run.logits()
    order = np.argsort(-log_probs, kind="stable")
    target = reader.selection().target
    target = int(order[0]) if target is None else target
    parts = _parts(run, target, "")
    control = None
    if read("control") == "random":
        control = _parts(run, target, "random")
    elif read("control") == "other":
        control = _parts(run, other_target(order, target), "")
    n, token = len(run.token_ids), read("token")
    falls = parts.values["removed"]
    return Scene(run, target, parts, control,
                 token if 0 <= token < n else n - 1 if np.isnan(falls).all() else int(np.nanargmax(np.abs(falls))))


def other_target(order: Sequence[int], target: int) -> int:
    """The most probable token but for the target."""
    return int(next(i for i in order if i != target))


def _parts(run: Run, target: int, twin: str) -> Parts:
    key = run.key("attribution", target, twin, read("baseline"), int(read("steps")))
    return growing_results.made(key, lambda: _made(run, target, twin, *key[-2:]),
                                lambda made: 64 * len(run.token_ids) + 500)


def _made(run: Run, target: int, twin: str, kind: str, n_steps: int) -> Parts:
    model = attribution.random_twin(run.loaded.runner, RANDOM_SEED) if twin else run.loaded.runner
    end, ids = run.tokenizer.end_of_text, list(run.token_ids)
    others = run.key("attribution by tokens", target, twin)
    found = growing_results.made(others, lambda: _by_tokens(model, ids, target, end), lambda made: 64 * len(ids))
    x = model.embed(torch.tensor(ids, device=model.device))
    baseline = (torch.zeros_like(x) if kind == "zero"
                else model.embed(torch.tensor(end, device=model.device)).expand_as(x))
    score = attribution.log_prob_score(model, target)
    slopes = attribution.gradient(score, x[None])[0]
    with torch.no_grad():
        at_x, at_baseline = (float(score(point[None])[0]) for point in (x, baseline))
    values = found | {"gradient": attribution.gradient_times_input(score, x),
                      "integrated": attribution.integrated_gradients(score, x, baseline, n_steps)}
    return Parts({name: values[name] for name in METHODS}, at_x, at_baseline,
                 torch.stack([x.double().norm(dim=-1), slopes.double().norm(dim=-1)]).cpu().numpy())


def _by_tokens(model: Transformer, ids: list[int], target: int, end: int) -> dict[str, np.ndarray]:
    with torch.inference_mode():
        patterns = [block.pattern for block in model(torch.tensor(ids, device=model.device)).blocks]
    return {"removed": attribution.removed(model, ids, target),
            "replaced": attribution.replaced(model, ids, target, end),
            "rollout": rollout(patterns)[-1, -1].cpu().double().numpy()}


def _title(page: Lesson, here: Scene, name: str) -> str:
    p, falls = math.exp(here.parts.score), here.parts.values["removed"]
    if np.isnan(falls).all():
        return page.label("inputs_title_empty", target=name, p=probability(p))
    most = int(np.nanargmax(falls))
    said = page.label("inputs_title", target=name, p=probability(p), token=code(here.run.tokens[most]),
                      fall=readable(float(falls[most])))
    pairs = [here.parts.agreement(a, b) for a, b in itertools.combinations(METHODS, 2)]
    if np.isfinite(pairs).all():
        said += " " + page.label("inputs_agree", low=readable(min(pairs), 2), high=readable(max(pairs), 2))
    return said


def _message(page: Lesson, here: Scene, n_left_out: int) -> dict:
    """The header of the component, as inputs.js has it."""
    rows = []
    for method in METHODS:
        rho = (page.label("inputs_with_itself") if method == "removed"
               else page.label("inputs_rho", rho=readable(here.parts.agreement("removed", method), 2)))
        note = [rho] + ([page.label("inputs_rho_control", rho=readable(here.against_control(method), 2))]
                        if here.control else [])
        values, control = here.parts.values[method], here.control and here.control.values[method]
        rows.append({"name": page.label(f"method_{method}"), "note": note, "values": _clean(values),
                     "shown": [readable(value) for value in values],
                     "control": None if control is None else _clean(control),
                     "control_shown": [] if control is None else [readable(value) for value in control]})
    legend = [page.label("inputs_legend"), page.label("inputs_legend_scale")]
    if here.control:
        legend.append(page.label(f"inputs_legend_{read('control')}", target=here.run.tokenizer.visible(
            other_target(np.argsort(-here.run.logits(), kind="stable"), here.target))))
    whole, total = here.parts.score - here.parts.baseline_score, float(here.parts.values["integrated"].sum())
    if abs(total - whole) > GAP * abs(whole):
        legend.append(page.label("inputs_gap", sum=readable(total), whole=readable(whole)))
    if n_left_out:
        legend.append(page.label("inputs_left_out", n=n_left_out, most=MOST_TOKENS))
    return {"text": page.labels("inputs_words"), "scale": reader.scale(), "tokens": here.run.tokens, "rows": rows,
            "legend_lines": legend, "band": BAND_PRESENT if reader.present() else BAND,
            "settings": {"token": here.token}}


def _clean(values: np.ndarray) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _agreements(page: Lesson, here: Scene) -> pd.DataFrame:
    """Spearman's ρ between the methods, and between each and its control."""
    names = [page.label(f"method_{method}") for method in METHODS]
    rows = [[name, *(plain_number(here.parts.agreement(one, other)) for other in METHODS)]
            for name, one in zip(names, METHODS)]
    heads = [page.label("column_rho"), *names]
    if here.control:
        rows = [[*row, plain_number(here.against_control(method))] for row, method in zip(rows, METHODS)]
        heads.append(page.label(f"control_{read('control')}"))
    return pd.DataFrame(rows, columns=heads)


def _table(page: Lesson, here: Scene) -> pd.DataFrame:
    frame = pd.DataFrame({page.label("column_token"): here.run.tokens}
                         | {page.label(f"method_{method}"): here.parts.values[method] for method in METHODS})
    return (frame if here.control is None
            else frame.assign(**{f"{page.label('inputs_words_control')}: {page.label(f'method_{method}')}":
                                 here.control.values[method] for method in METHODS}))


def _lines(page: Lesson, here: Scene) -> list[tuple[str, str]]:
    parts, i = here.parts, here.token
    value = {method: float(parts.values[method][i]) for method in METHODS}
    token, score = code(here.run.tokens[i]), parts.score
    lines = [(page.label(f"numbers_{method}", token=token),
              rf"{bracketed(latex_operand(score))} - "
              rf"({latex_operand(score - value[method])}) = {latex_number(value[method])}")
             for method in ("removed", "replaced") if math.isfinite(value[method])]
    x, slope = (float(length) for length in parts.lengths[:, i])
    if x * slope:
        cosine = value["gradient"] / (x * slope)
        lines.append(
            (page.label("numbers_gradient", token=token),
             rf"\lVert x \rVert \, \lVert \partial f / \partial x \rVert \cos\theta = {latex_operand(x)} \cdot "
             rf"{latex_operand(slope)} \cdot {bracketed(latex_operand(cosine))} = {latex_number(value['gradient'])}"))
    total = float(parts.values["integrated"].sum())
    lines.append((page.label("numbers_complete", n=len(here.run.tokens), steps=read("steps")),
                  rf"\sum_i a_i = {latex_number(total)}, \qquad f(x) - f(x') = {bracketed(latex_operand(score))} - "
                  rf"({latex_operand(parts.baseline_score)}) = {latex_number(score - parts.baseline_score)}"))
    return lines + _spearman(page, parts)


def _spearman(page: Lesson, parts: Parts) -> list[tuple[str, str]]:
    """Spearman's ρ of two methods by its short formula, where no two tokens have the same rank."""
    one, other = (attribution.ranks(np.abs(parts.values[method][1:])) for method in ("removed", "integrated"))
    n = len(one)
    if n < 3 or len(set(one)) < n or len(set(other)) < n or not math.isfinite(parts.agreement("removed", "integrated")):
        return []
    squares = int(((one - other) ** 2).sum())
    return [(page.label("numbers_spearman", n=n),
             rf"\rho = 1 - \frac{{6 \sum_i (r_i - s_i)^2}}{{n (n^2 - 1)}} = 1 - \frac{{6 \cdot {squares}}}{{{n} \cdot "
             rf"{n * n - 1}}} = {latex_number(parts.agreement('removed', 'integrated'))}")]


def _question(page: Lesson, here: Scene) -> Question:
    """Whether the two tokens that cost most one by one cost as much as both together; of too short a prompt, what
    saying it twice does.
    """
    falls = here.parts.values["removed"]
    places = np.argsort(-falls[1:], kind="stable")[:2] + 1
    if len(falls) < 4 or falls[places].min() <= 0:
        return _twice(page, here)
    rest = [token_id for i, token_id in enumerate(here.run.token_ids) if i not in places]
    key = here.run.key("attribution of two", here.target, tuple(places.tolist()))
    both = (here.parts.score
            - growing_results.made(key, lambda: float(next_log_probs(here.run.loaded.runner, [rest])[0, here.target]),
                                   lambda made: 100))
    alone = float(falls[places].sum())
    answer = 1 if abs(both - alone) <= ALIKE * alone else 0 if both > alone else 2
    one, other = (code(here.run.tokens[i]) for i in places)
    return Question(
        "two", page.label("question_two", one=one, other=other, a=readable(float(falls[places[0]])),
                          b=readable(float(falls[places[1]])), target=code(here.run.tokenizer.visible(here.target))),
        [page.label(f"question_two_{name}", sum=readable(alone)) for name in ("more", "same", "less")], answer,
        page.label("because_two", both=readable(both, 4), sum=readable(alone, 4)))


def _twice(page: Lesson, here: Scene) -> Question:
    """Whether the target is more probable when the prompt has been read two times."""
    ids, model = here.run.token_ids, here.run.loaded.runner
    again = float(next_log_probs(model, [(*ids, *ids[1:])[:model.config.n_context]])[0, here.target])
    answer = 2 if len(ids) == 1 else 0 if again > here.parts.score else 1
    return Question("twice", page.label("question_twice", target=code(here.run.tokenizer.visible(here.target))),
                    [page.label(f"question_twice_{name}") for name in ("more", "less", "same")], answer,
                    page.label("because_twice", once=probability(math.exp(here.parts.score)),
                               twice=probability(math.exp(again))))
