"""The place of the norm: the length of the stream, the gradient of each block at the start, and the loss by step, of
small transformers that differ in nothing else.
"""
import math
from collections.abc import Hashable

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import stream_and_heads
from core.analysis.arrays import to_numpy
from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, job_controls
from core.app.parts import charts
from core.app.state import Run, reader
from core.figures.numbers import latex_number, readable
from core.learning import placement as measured
from core.learning.learner import Copying
from core.learning.placement import DEPTHS, PLACEMENTS, STEPS, Comparison
from core.learning.variants import Variant, gradients
from pages.residual_stream.charts import lines_of
from pages.residual_stream.shared import PREFIX, attached, choice, look, own_seed, read, show_spec

COMPARISONS = f"{PREFIX}comparisons"        # of the session: key -> Comparison, the latest last
MOST_COMPARISONS = 3
WIDTH = 32                                  # d of the models
LEARNED = 0.5                               # of the blind guess's loss: a model that is below has begun to copy
BLIND = Copying.levels["blind"]
ASKED = ("pre", "post")                     # the question is about their recorded runs


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask whether pre-norm or post-norm has begun to learn at the end of the recorded run."""
    kept = {name: recorded(name) for name in ASKED}
    if not all(kept.values()):
        return None

    def truth(_: int) -> Truth:
        learned = [name for name in ASKED if has_learned(kept[name])]
        answer = {("pre",): 0, ("post",): 1, ASKED: 2, (): 3}[tuple(learned)]
        first = {name: first_gradients(name)[0] for name in PLACEMENTS}
        return Truth(answer, seen=0 if first["none"] > max(first[name] for name in first if name != "none") else 1,
                     values={name: readable(kept[name][-1][1]) for name in ASKED})

    return Prediction("placement", Options([page.label(f"learns_{name}") for name in ("pre", "post", "both", "none")]),
                      truth, {"n": shown_depth(), "steps": STEPS, "blind": readable(BLIND),
                              "warmup": page.label(f"placement_warm_{read('placement_warmup')}")},
                      (shown_depth(), read("placement_warmup")))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    key = (read("random_depth"), read("random_seed"), read("placement_warmup"))
    comparison = comparison_of(key)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        n_layers = st.slider(page.label("random_depth"), 2, 24, width=240, **attached("random_depth"),
                             label_visibility="collapsed" if reader.present() else "visible")
        choice(page, "placement_warmup")
        if not reader.present():
            seed = own_seed(page, "random_seed")
        running = job_controls.training_controls(page, key, "placement_train", comparison.learn)
    seed = read("random_seed")
    lengths = {name: stream_lengths(name, n_layers, seed) for name in PLACEMENTS}
    slopes = {name: first_gradients(name) for name in PLACEMENTS}
    title = _title(page, slopes, comparison)
    job_controls.follow(page, key, running, lambda _: _pictures(page, lengths, slopes, comparison))
    page.note(page.label("random_note", width=WIDTH, seed=seed, depths=", ".join(map(str, DEPTHS)),
                         rate=readable(10 ** measured.RATES[0], 2)))
    return Reading(_lines(page, lengths, slopes), _question(page, slopes, n_layers),
                   [Variant.build, gradients, measured.Trial.run],
                   {"growth.csv": lambda: pd.DataFrame({"depth": range(n_layers + 1), **lengths}),
                    "gradients.csv": lambda: pd.DataFrame({"block": range(n_layers), **slopes}),
                    "losses.csv": lambda: losses_table(comparison)},
                   f".st-key-{PREFIX}placement", title)


# ---- what is measured ------------------------------------------------------------------------------------------------


def stream_lengths(name: str, n_layers: int, seed: int) -> np.ndarray:
    """(L + 1,) the mean length of the stream's vectors over some rows of the task, in the model at its start."""
    def compute() -> np.ndarray:
        task = measured.task_of(measured.TASK)
        model = PLACEMENTS[name].build(task, seed, n_layers=n_layers).eval()
        rows = task.rows(4, torch.Generator().manual_seed(1), held_out=False)
        with torch.inference_mode():
            return np.mean([to_numpy(stream_and_heads.stream_norms(model(ids))).mean(-1) for ids in rows.inputs], 0)

    return cache.result(("stream lengths", name, n_layers, seed), compute, lambda value: value.nbytes)


def first_gradients(name: str) -> np.ndarray:
    """(L,) the length of the gradient by the weights of each block, at the start, at the picked depth and seed."""
    n_layers, seed = read("random_depth"), read("random_seed")
    return cache.result(("first gradients", name, n_layers, seed),
                        lambda: np.array(measured.first_gradients(name, n_layers, seed)), lambda value: value.nbytes)


def shown_depth() -> int:
    """The recorded depth that is nearest to the picked one."""
    return min(DEPTHS, key=lambda depth: abs(depth - read("random_depth")))


def recorded(name: str) -> list[tuple[int, float]]:
    """The recorded (step, loss) pairs of the nearest depth; empty where there are none."""
    found = measured.recorded(name, shown_depth(), measured.RATES[0], int(read("placement_warmup")))
    return [(step, math.inf if loss is None else loss) for step, loss in found or ()]


def has_learned(history: list[tuple[int, float]]) -> bool:
    """Whether a training ends far below the loss of a blind guess."""
    return history[-1][1] < LEARNED * BLIND


def comparison_of(key: Hashable) -> Comparison:
    """This session's comparison with these settings, not begun at first use."""
    kept = st.session_state.setdefault(COMPARISONS, {})
    if key not in kept:
        n_layers, seed, warmup = key
        kept[key] = Comparison(n_layers, measured.RATES[0], int(warmup), seed)
        for old in list(kept)[:-MOST_COMPARISONS]:
            del kept[old]
    return kept[key]


def histories(comparison: Comparison) -> tuple[dict[str, list[tuple[int, float]]], int, bool]:
    """The (step, loss) pairs by placement, the depth, and whether they are recorded: the reader's own as soon as it
    has begun.
    """
    if comparison.begun:
        return {name: [*trial.history] for name, trial in comparison.trials.items()}, comparison.n_layers, False
    return {name: recorded(name) for name in PLACEMENTS}, shown_depth(), True


def losses_table(comparison: Comparison) -> pd.DataFrame:
    """The losses that are shown, a row for each step and placement."""
    found, depth, _ = histories(comparison)
    return pd.DataFrame([(name, depth, step, loss) for name, history in found.items() for step, loss in history],
                        columns=["placement", "blocks", "step", "held_out"])


# ---- pictures and words ----------------------------------------------------------------------------------------------


def _title(page: Lesson, slopes: dict[str, np.ndarray], comparison: Comparison) -> str:
    found, depth, _ = histories(comparison)
    n = len(slopes["pre"])
    ends = ", ".join(f"{page.label(name)} {readable(history[-1][1])}" for name, history in found.items()
                     if history and name != "none")
    step = max((history[-1][0] for history in found.values() if history), default=0)
    return page.label("title_placement_short" if reader.present() else "title_placement", n=n,
                      none=readable(slopes["none"][0]), pre=readable(slopes["pre"][0]), steps=step, depth=depth,
                      ends=ends)


def _pictures(page: Lesson, lengths: dict[str, np.ndarray], slopes: dict[str, np.ndarray],
              comparison: Comparison) -> None:
    st.markdown(f"**{_title(page, slopes, comparison)}**")
    found, depth, is_recorded = histories(comparison)
    losses = {name: tuple(zip(*history)) or ((), ()) for name, history in found.items()}
    with st.container(key=f"{PREFIX}placement"):
        columns = st.columns(2 if reader.present() else 3, gap="medium")
        if not reader.present():
            with columns[0]:
                st.caption(page.label("caption_lengths"))
                _chart(page, "lengths", _by_depth(lengths), ("axis_blocks", "axis_mean_length"), log=True)
        with columns[-2]:
            st.caption(page.label("caption_gradients"))
            _chart(page, "gradients", _by_depth(slopes), ("axis_block", "axis_gradient"), log=True)
        with columns[-1]:
            st.caption(page.label("caption_losses_recorded" if is_recorded else "caption_losses", n=depth))
            _chart(page, "losses", losses, ("axis_steps", "axis_loss"), log=False, most=3 * BLIND,
                   level=(BLIND, page.label("level_blind")))


def _by_depth(values: dict[str, np.ndarray]) -> dict[str, tuple[range, np.ndarray]]:
    return {name: (range(len(line)), line) for name, line in values.items()}


def _chart(page: Lesson, chart: str, curves: dict[str, tuple], axes: tuple[str, str], **options) -> None:
    """Draw `lines_of` the placements; axes: the labels that are the titles of the axes."""
    x, y = map(page.label, axes)
    show_spec(f"placement_{chart}", *lines_of(curves, {name: page.label(name) for name in PLACEMENTS}, (x, y),
                                              charts.reader_look(), look(70, 20)["height"], **options))


def _lines(page: Lesson, lengths: dict[str, np.ndarray], slopes: dict[str, np.ndarray]) -> list[tuple[str, str]]:
    wiring = {"pre": r"x' = x + \text{sublayer}(\text{norm}(x))", "post": r"x' = \text{norm}(x + \text{sublayer}(x))",
              "sandwich": r"x' = x + \text{norm}(\text{sublayer}(\text{norm}(x)))",
              "deepnorm": r"x' = \text{norm}(\alpha x + \text{sublayer}(x)), \quad \alpha = (2L)^{1/4}",
              "none": r"x' = x + \text{sublayer}(x)"}
    return [(page.label(f"numbers_{name}"),
             rf"{formula} \qquad \lVert x \rVert: {latex_number(lengths[name][1])} \rightarrow "
             rf"{latex_number(lengths[name][-1])} \qquad \lVert g_0 \rVert = {latex_number(slopes[name][0])}, \quad "
             rf"\lVert g_{{{len(slopes[name]) - 1}}} \rVert = {latex_number(slopes[name][-1])}")
            for name, formula in wiring.items()]


def _question(page: Lesson, slopes: dict[str, np.ndarray], n_layers: int) -> Question:
    """How many times as long the gradient of the first block is, without norms, when the model has twice the blocks."""
    seed, twice = read("random_seed"), 2 * n_layers
    further = cache.result(("first gradients", "none", twice, seed),
                           lambda: np.array(measured.first_gradients("none", twice, seed)), lambda value: value.nbytes)
    ratio = float(further[0] / slopes["none"][0])
    bounds = (0.5, 2.0, 100.0)                       # the ends of the answers' ranges
    answer = sum(ratio >= bound for bound in bounds)
    return page.question("placement", [page.label(f"ratio_{i}") for i in range(4)], answer, n=n_layers, twice=twice,
                         ratio=readable(ratio))
