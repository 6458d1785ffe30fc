"""The residual path removed around every sublayer: the model's prediction, and how the tokens change."""
import numpy as np
import pandas as pd
import streamlit as st
from torch import Tensor

from core.analysis import stream_and_heads
from core.analysis.arrays import to_numpy
from core.analysis.stream_and_heads import Effect
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.lesson.selection_controls import pick
from core.app.parts import charts
from core.app.state import Run, reader
from core.base.markdown import code
from core.figures import residual_stream as figures
from core.figures.numbers import latex_number, percent, readable
from core.model.intervention import Intervention
from core.model.trace import Trace
from pages.residual_stream.shared import PREFIX, choice, look, read, show, show_spec

CUT = Intervention(residual=False)
LEAST_TOKENS, NEAR = 3, 0.05           # tokens to be alike; cosines that count as equal
N_TOKENS, N_TOKENS_PRESENT = 4, 3      # of each of two distributions


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Whether the tokens' vectors are more or less alike at the end without the path."""
    if len(run.token_ids) < LEAST_TOKENS or read("cut_measure") != "likeness":
        return None
    n, position = len(run.token_ids), reader.selection().position

    def truth(_: int) -> Truth:
        traces = run.trace, run.trace_with(CUT)
        alike, without = map(alike_at_end, traces)
        gap, (before, after) = without - alike, (int(trace.logits[position].argmax()) for trace in traces)
        return Truth(2 if abs(gap) < NEAR else 0 if gap > 0 else 1, seen=int(before == after), values={
            "without": readable(without), "alike": readable(alike)})

    return Prediction("cut", Options([*page.labels("guess_cut").values()]), truth,
                      {"n": n}, position)


def alike_at_end(trace: Trace) -> float:
    """The mean cosine between different tokens in the last stream."""
    return float(stream_and_heads.mean_pairwise_cosine(trace.resid_final))


def n_guesses(trace: Trace) -> int:
    """How many different tokens are the most probable at some position."""
    return len(trace.logits.argmax(-1).unique())


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    position = reader.selection().position
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        pick(page, run, "position")
        name = choice(page, "cut_measure")
    traces = run.trace, run.trace_with(CUT)
    effect = stream_and_heads.effect(*(trace.logits[position] for trace in traces))
    before, after = (to_numpy(trace.logits[position].double().softmax(-1)) for trace in traces)
    title = _title(page, run, position, before, after, effect)
    st.markdown(f"**{title}**")
    names, ids = (page.label("with_path"), page.label("without_path")), likeliest_of_both(before, after)
    tokens, lines = st.columns(2)
    with tokens:
        show(figures.two_distributions([run.tokenizer.visible(i) for i in ids], before[ids], after[ids], names,
                                       page.label("axis_probability"), **look(presenting=-110)), "cut_tokens")
    with lines:
        with_path, without = (_by_depth(name, stream_and_heads.stream(trace), position) for trace in traces)
        height = look(presenting=-110)["height"]
        show_spec("cut_lines", *figures.growth_lines(
            dict(zip(names, (with_path, without))), ("residual", "residual"),
            (page.label("axis_blocks"), page.label(f"axis_{name}")), charts.reader_look(), height))
    page.note(page.label(f"note_{name}"))
    return Reading(_lines(page, run, effect, traces), _question(page, run, traces),
                   [stream_and_heads.effect, stream_and_heads.mean_pairwise_cosine],
                   {"without_path.csv": lambda: pd.DataFrame({"token": [run.tokenizer.visible(i) for i in ids],
                                                              "with": before[ids], "without": after[ids]})},
                   f".st-key-{PREFIX}cut_tokens", title)


def likeliest_of_both(before: np.ndarray, after: np.ndarray) -> list[int]:
    """The most probable tokens of two distributions (|V|,) without duplicates, those of the first one first."""
    n = N_TOKENS_PRESENT if reader.present() else N_TOKENS
    return list(dict.fromkeys(np.concatenate([np.argsort(-p, kind="stable")[:n] for p in (before, after)]).tolist()))


def _by_depth(name: str, stream: Tensor, position: int) -> np.ndarray:
    """(L + 1,) the "likeness" of all tokens in the stream (L + 1, N, d), or the "length" of one of them."""
    return to_numpy(stream_and_heads.mean_pairwise_cosine(stream) if name == "likeness"
                    else stream_and_heads.norms(stream[:, position]))


def _title(page: Lesson, run: Run, position: int, before: np.ndarray, after: np.ndarray, effect: Effect) -> str:
    first, second = int(before.argmax()), int(after.argmax())
    return page.label("title_cut", token=code(run.tokens[position]), before=code(run.tokenizer.visible(first)),
                      before_p=percent(before[first]), after=code(run.tokenizer.visible(second)),
                      after_p=percent(after[second]), kl=readable(effect.kl))


def _lines(page: Lesson, run: Run, effect: Effect, traces: tuple[Trace, Trace]) -> list[tuple[str, str]]:
    first, before, after = int(effect.token_ids[0]), float(effect.before[0]), float(effect.after[0])
    alike = (latex_number(stream_and_heads.mean_pairwise_cosine(trace.resid_final)) for trace in traces)
    return [(page.label("numbers_moved", token=code(run.tokenizer.visible(first))),
             rf"y_t = {latex_number(before)} \;\rightarrow\; {latex_number(after)}"),
            (page.label("numbers_kl"), rf"\mathrm{{KL}}(y \,\Vert\, y') = \sum_w y_w \ln \frac{{y_w}}{{y'_w}} = "
                                       rf"{latex_number(effect.kl)}\ \text{{nats}}"),
            (page.label("numbers_alike"), r"\overline{\cos} = " + r" \;\rightarrow\; ".join(alike))]


def _question(page: Lesson, run: Run, traces: tuple[Trace, Trace]) -> Question:
    """How many different tokens are the best guess at some position, without the path."""
    (before, after), n = map(n_guesses, traces), len(run.token_ids)
    options = sorted({before, after, n, max(1, n // 2)})
    return page.question("cut", [page.label("question_cut_option", k=k) for k in options], options.index(after), n=n,
                         before=before, after=after)
