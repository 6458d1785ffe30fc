"""Inputs: the attribution of the next token to each token of the prompt, by gradients, ablation and attention, and how
well the methods agree.
"""
import dataclasses
import itertools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import attribution
from core.analysis.attribution import rank_correlation
from core.analysis.stream_and_heads import rollout
from core.analysis.text_probability import next_log_probs
from core.app.compute import growing_results
from core.app.lesson import Lesson, Place, Prediction, Question, Reading, Truth
from core.app.lesson.prediction import guess_of
from core.app.state import Run, reader
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import bracketed, latex_number, latex_operand, percent, plain_number, readable
from core.model.transformer import Transformer
from pages.limits import components
from pages.limits.shared import PREFIX, captioned_choice, keep, read

METHODS = ("gradient", "integrated", "removed", "replaced", "rollout")
LEAST_TOKENS = 5            # of a prompt, to ask which counts most
MOST_TOKENS = 40            # that get an attribution, the end-of-text token included
RANDOM_SEED = 0
GAP = 0.05                  # relative error of integrated gradients above which the page says so
ALIKE = 0.1                 # relative difference below which two tokens count together as much as one by one
BAND, BAND_PRESENT = 4.3, 1.9       # em
# The attributions of the tokens of a prompt, a row of signed bars for each method.
_picture = token_view("limits_inputs", __file__)


@dataclass(frozen=True)
class Attribution:
    """The attribution of one target to each of N tokens.

    values: method -> (N,) in nats (rollout: shares of 1). score, baseline_score: ln p of the target for the prompt and
    for the baseline of integrated gradients. lengths: ‖x_i‖ and ‖∂f/∂x_i‖, (2, N).
    """

    values: dict[str, np.ndarray]
    score: float
    baseline_score: float
    lengths: np.ndarray

    def sizes(self, method: str) -> np.ndarray:
        """(N - 1,) the absolute values of one method, without the end-of-text token."""
        return np.abs(self.values[method][1:])

    def agreement(self, a: str, b: str) -> float:
        """Spearman's ρ of two methods' sizes."""
        return rank_correlation(self.sizes(a), self.sizes(b))


@dataclass(frozen=True)
class Scene:
    """The attribution of the target; that of the control, if there is one, and its target `rival`; the index of the
    picked token.
    """

    run: Run
    target: int
    parts: Attribution
    control: Attribution | None
    rival: int
    token: int

    def against_control(self, method: str) -> float:
        """Spearman's ρ of a method's sizes and those of the control."""
        return rank_correlation(self.parts.sizes(method), self.control.sizes(method))


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which token lowers the target's probability most if removed. Not the last one: the word right before another
    gives away its kind, which is grammar and hides what the sentence is about.
    """
    short = _shortened(run)
    if len(short.token_ids) < LEAST_TOKENS:
        return None
    target = _target(short)

    def truth(guess: int) -> Truth:
        parts = _scene(short).parts
        falls, sizes = parts.values["removed"], (np.abs(parts.values[name]) for name in ("removed", "gradient"))
        most = int(np.argmax(falls[1:-1])) + 1
        left = [percent(math.exp(parts.score - falls[i])) for i in (most, guess)]
        longest = {int(np.argmax(size)) for size in sizes}
        return Truth(most, said=left[0], own=left[1], seen=len(longest) - 1,
                     values={"token": short.tokens[most], "before": percent(math.exp(parts.score)), "after": left[0]})

    return Prediction("inputs", Place(short.tokens, range(1, len(short.tokens) - 1)), truth,
                      {"target": run.tokenizer.visible(target), "last": short.tokens[-1]}, target)


def _target(run: Run) -> int:
    """The explained token: the reader's, or the most probable one."""
    target = reader.selection().target
    return int(np.argmax(run.logits())) if target is None else target


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the bars; return what they show."""
    short = _shortened(run)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        with st.popover(page.label("target"), help=page.label("target_help")):
            page.named_token(short, len(short.token_ids) - 1)
        captioned_choice(page, "detail")
        for name in () if read("detail") == "components" else ("control", "baseline", "steps")[
                :2 if reader.present() else 3]:
            captioned_choice(page, name)
    if read("detail") == "components":
        return components.draw(page, short, _target(short))
    scene = _scene(short)
    title = _title(page, scene)
    st.markdown(f"**{title}**")
    message = _message(page, scene, len(run.token_ids) - len(short.token_ids))
    message |= {"guess": guess_of(page, "inputs", run, scene.target), "you": page.frame_words.label("before_mine")}
    _picture(message, key=f"{PREFIX}inputs_picture",
             on_settings=lambda settings: keep(token=settings["token"]))
    return Reading(_lines(page, scene), _question(page, scene),
                   [attribution.gradient_times_input, attribution.integrated_gradients, attribution.removed,
                    attribution.replaced, attribution.rank_correlation],
                   {"inputs.csv": lambda: _table(page, scene)}, ".inputs-picture", title, _agreements(page, scene))


def _shortened(run: Run) -> Run:
    """The run of the first token and the last ones, MOST_TOKENS at most."""
    ids = run.token_ids[:1] + run.token_ids[1:][-(MOST_TOKENS - 1):]
    return dataclasses.replace(run, token_ids=ids, tokens=[run.tokenizer.visible(i) for i in ids])


def _scene(run: Run) -> Scene:
    order = np.argsort(-run.logits(), kind="stable").tolist()
    target, n, token, kind = _target(run), len(run.token_ids), read("token"), read("control")
    rival = next(i for i in order if i != target) if kind == "other" else target     # the most probable other token
    parts = _parts(run, target, "")
    falls = np.abs(parts.values["removed"])
    if not 0 <= token < n:
        token = n - 1 if np.isnan(falls).all() else int(np.nanargmax(falls))
    control = None if kind == "none" else _parts(run, rival, "random" if kind == "random" else "")
    return Scene(run, target, parts, control, rival, token)


def _parts(run: Run, target: int, twin: str) -> Attribution:
    key = run.key("attribution", target, twin, read("baseline"), int(read("steps")))
    return growing_results.made(key, lambda: _attribution(run, target, twin, *key[-2:]),
                                lambda _: 64 * len(run.token_ids) + 500)


def _attribution(run: Run, target: int, twin: str, kind: str, n_steps: int) -> Attribution:
    model = attribution.random_twin(run.loaded.runner, RANDOM_SEED) if twin else run.loaded.runner
    end, ids = run.tokenizer.end_of_text, list(run.token_ids)
    by_tokens = growing_results.made(run.key("attribution by tokens", target, twin),
                                     lambda: _ablations(model, ids, target, end), lambda _: 64 * len(ids))
    x = model.embed(torch.tensor(ids, device=model.device))
    baseline = (torch.zeros_like(x) if kind == "zero"
                else model.embed(torch.tensor(end, device=model.device)).expand_as(x))
    score = attribution.log_prob_score(model, target)
    lengths = torch.stack([vectors.double().norm(dim=-1) for vectors in (x, attribution.gradient(score, x[None])[0])])
    with torch.no_grad():
        at_x, at_baseline = (float(score(point[None])[0]) for point in (x, baseline))
    at_once = attribution.points_at_once(model.config, len(ids))
    values = by_tokens | {"gradient": attribution.gradient_times_input(score, x),
                          "integrated": attribution.integrated_gradients(score, x, baseline, n_steps, at_once)}
    return Attribution({name: values[name] for name in METHODS}, at_x, at_baseline, lengths.cpu().numpy())


def _ablations(model: Transformer, ids: list[int], target: int, end: int) -> dict[str, np.ndarray]:
    with torch.inference_mode():
        patterns = [block.pattern for block in model(torch.tensor(ids, device=model.device)).blocks]
    return {"removed": attribution.removed(model, ids, target),
            "replaced": attribution.replaced(model, ids, target, end),
            "rollout": rollout(patterns)[-1, -1].cpu().double().numpy()}


def _title(page: Lesson, scene: Scene) -> str:
    falls = scene.parts.values["removed"]
    target = dict(target=code(scene.run.tokenizer.visible(scene.target)), p=percent(math.exp(scene.parts.score)))
    if np.isnan(falls).all():
        return page.label("inputs_title_empty", **target)
    most = int(np.nanargmax(falls))
    title = page.label("inputs_title", **target, token=code(scene.run.tokens[most]), fall=readable(falls[most]))
    pairs = [scene.parts.agreement(*pair) for pair in itertools.combinations(METHODS, 2)]
    if np.isfinite(pairs).all():
        title += " " + page.label("inputs_agree", low=readable(min(pairs), 2), high=readable(max(pairs), 2))
    return title


def _message(page: Lesson, scene: Scene, n_left_out: int) -> dict:
    """The header of the component, as inputs.js has it."""
    return page.header("inputs_words") | {"tokens": scene.run.tokens,
            "rows": [_row(page, scene, method) for method in METHODS],
            "legend_lines": _legend(page, scene, n_left_out), "band": BAND_PRESENT if reader.present() else BAND,
            "settings": {"token": scene.token}}


def _row(page: Lesson, scene: Scene, method: str) -> dict:
    """One method's bars, and their rank correlation with those of "removed" and of the control."""
    note = [page.label("inputs_with_itself") if method == "removed"
            else page.label("inputs_rho", rho=readable(scene.parts.agreement("removed", method), 2))]
    values, control = scene.parts.values[method], None
    if scene.control is not None:
        note.append(page.label("inputs_rho_control", rho=readable(scene.against_control(method), 2)))
        control = scene.control.values[method]
    return {"name": page.label(f"method_{method}"), "note": note, "values": _clean(values),
            "shown": [*map(readable, values)], "control": None if control is None else _clean(control),
            "control_shown": [] if control is None else [*map(readable, control)]}


def _legend(page: Lesson, scene: Scene, n_left_out: int) -> list[str]:
    """The lines below the bars."""
    lines = [page.label("inputs_legend"), page.label("inputs_legend_scale")]
    if scene.control is not None:
        lines.append(page.label(f"inputs_legend_{read('control')}", target=scene.run.tokenizer.visible(scene.rival)))
    whole, total = scene.parts.score - scene.parts.baseline_score, scene.parts.values["integrated"].sum()
    if abs(total - whole) > GAP * abs(whole):
        lines.append(page.label("inputs_gap", sum=readable(total), whole=readable(whole)))
    if n_left_out:
        lines.append(page.label("inputs_left_out", n=n_left_out, most=MOST_TOKENS))
    return lines


def _clean(values: np.ndarray) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _agreements(page: Lesson, scene: Scene) -> pd.DataFrame:
    """Spearman's ρ between the methods, and between each and its control."""
    names = {method: page.label(f"method_{method}") for method in METHODS}
    table = pd.DataFrame({page.label("column_rho"): names.values()}
                         | {name: [plain_number(scene.parts.agreement(row, method)) for row in METHODS]
                            for method, name in names.items()})
    if scene.control is not None:
        table[page.label(f"control_{read('control')}")] = [plain_number(scene.against_control(row)) for row in METHODS]
    return table


def _table(page: Lesson, scene: Scene) -> pd.DataFrame:
    columns = {page.label("column_token"): scene.run.tokens}
    for parts, prefix in ((scene.parts, ""), (scene.control, f"{page.label('inputs_words_control')}: ")):
        if parts is not None:
            columns |= {f"{prefix}{page.label(f'method_{method}')}": parts.values[method] for method in METHODS}
    return pd.DataFrame(columns)


def _lines(page: Lesson, scene: Scene) -> list[tuple[str, str]]:
    parts, i = scene.parts, scene.token
    value = {method: float(parts.values[method][i]) for method in METHODS}
    token, score = code(scene.run.tokens[i]), parts.score
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
    total = parts.values["integrated"].sum()
    lines.append((page.label("numbers_complete", n=len(scene.run.tokens), steps=read("steps")),
                  rf"\sum_i a_i = {latex_number(total)}, \qquad f(x) - f(x') = {bracketed(latex_operand(score))} - "
                  rf"({latex_operand(parts.baseline_score)}) = {latex_number(score - parts.baseline_score)}"))
    return lines + _spearman(page, parts)


def _spearman(page: Lesson, parts: Attribution) -> list[tuple[str, str]]:
    """Spearman's ρ of two methods by its short formula; empty where two tokens share a rank."""
    r, s = (attribution.ranks(parts.sizes(method)) for method in ("removed", "integrated"))
    n, rho = len(r), parts.agreement("removed", "integrated")
    if n < 3 or len(set(r)) < n or len(set(s)) < n or not math.isfinite(rho):
        return []
    squares = int(((r - s) ** 2).sum())
    return [(page.label("numbers_spearman", n=n),
             rf"\rho = 1 - \frac{{6 \sum_i (r_i - s_i)^2}}{{n (n^2 - 1)}} = 1 - \frac{{6 \cdot {squares}}}{{{n} \cdot "
             rf"{n * n - 1}}} = {latex_number(rho)}")]


def _question(page: Lesson, scene: Scene) -> Question:
    """Whether removing the two strongest tokens together costs as much as the sum of removing each; for a prompt that
    is too short, `_twice`.
    """
    falls = scene.parts.values["removed"]
    pair = np.argsort(-falls[1:], kind="stable")[:2] + 1
    if len(falls) < 4 or falls[pair].min() <= 0:
        return _twice(page, scene)
    rest = [token_id for i, token_id in enumerate(scene.run.token_ids) if i not in pair]
    key = scene.run.key("attribution of two", scene.target, tuple(pair.tolist()))
    both = (scene.parts.score
            - growing_results.made(key, lambda: float(next_log_probs(scene.run.loaded.runner, [rest])[0, scene.target]),
                                   lambda _: 100))
    alone = float(falls[pair].sum())
    answer = 1 if abs(both - alone) <= ALIKE * alone else 0 if both > alone else 2
    first, second = (code(scene.run.tokens[i]) for i in pair)
    return page.question(
        "two", [page.label(f"question_two_{name}", sum=readable(alone)) for name in ("more", "same", "less")], answer,
        one=first, other=second, a=readable(float(falls[pair[0]])), b=readable(float(falls[pair[1]])),
        target=code(scene.run.tokenizer.visible(scene.target)), both=readable(both, 4), sum=readable(alone, 4))


def _twice(page: Lesson, scene: Scene) -> Question:
    """Whether the target is more probable after the prompt is repeated."""
    ids, model = scene.run.token_ids, scene.run.loaded.runner
    again = float(next_log_probs(model, [(*ids, *ids[1:])[:model.config.n_context]])[0, scene.target])
    answer = 2 if len(ids) == 1 else 0 if again > scene.parts.score else 1
    return page.question("twice", [page.label(f"question_twice_{name}") for name in ("more", "less", "same")], answer,
                         target=code(scene.run.tokenizer.visible(scene.target)),
                         once=percent(math.exp(scene.parts.score)), twice=percent(math.exp(again)))
