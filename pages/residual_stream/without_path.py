"""The residual path cut around every sublayer: what the model still says, and what becomes of the tokens."""
import numpy as np
import pandas as pd
import streamlit as st

from core.analysis import stream_and_heads
from core.analysis.stream_and_heads import Effect
from core.app.base.markdown import code
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.figures import residual_stream as figures
from core.figures.numbers import latex_number, readable
from core.model.intervention import Intervention
from core.model.trace import Trace
from pages.residual_stream.shared import PREFIX, chart_height, choice, show, to_numpy, token_slider

CUT = Intervention(residual=False)
N_TOKENS, N_TOKENS_PRESENT = 5, 4      # of each of two distributions


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    token_column, measure_column = st.columns([3, 2], vertical_alignment="bottom")
    with token_column:
        position = token_slider(page, run)
    with measure_column:
        name = choice(page, "cut_measure")
    whole, cut = run.trace, run.trace_with(CUT)
    effect = stream_and_heads.effect(whole.logits[position], cut.logits[position])
    title = _title(page, run, whole, cut, position, effect)
    st.markdown(f"**{title}**")
    tokens, lines = st.columns(2)
    with tokens:
        ids, before, after = likeliest_of_both(whole, cut, position)
        chart = figures.two_distributions([run.tokenizer.visible(int(i)) for i in ids], before, after,
                                          (page.label("with_path"), page.label("without_path")),
                                          page.label("axis_probability"), reader.theme(),
                                          reader.scale(), chart_height())
        show(chart, "cut_tokens")
    with lines:
        _lines_chart(page, name, whole, cut, position)
    st.caption(page.label(f"note_{name}"))
    return Reading(_lines(page, run, effect, whole, cut), _question(page, run, whole, cut, position),
                   [stream_and_heads.effect, stream_and_heads.mean_pairwise_cosine],
                   {"without_path.csv": lambda: pd.DataFrame({"token": [run.tokenizer.visible(int(i)) for i in ids],
                                                              "with": before, "without": after})},
                   f".st-key-{PREFIX}cut_tokens", title)


def likeliest_of_both(whole: Trace, cut: Trace, position: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The likeliest tokens of each run, without repeats: ids, probabilities with the path, without it."""
    before, after = (to_numpy(trace.logits[position].double().softmax(-1)) for trace in (whole, cut))
    n = N_TOKENS_PRESENT if reader.present() else N_TOKENS
    ids = list(dict.fromkeys([*np.argsort(-before, kind="stable")[:n], *np.argsort(-after, kind="stable")[:n]]))
    return np.array(ids), before[ids], after[ids]


def _lines_chart(page: Lesson, name: str, whole: Trace, cut: Trace, position: int) -> None:
    def line(trace: Trace) -> np.ndarray:
        stream = stream_and_heads.stream(trace)
        return to_numpy(stream_and_heads.mean_pairwise_cosine(stream) if name == "likeness"
                        else stream_and_heads.norms(stream[:, position]))
    chart = figures.growth_lines({"with": line(whole), "without": line(cut)},
                                 {"with": page.label("with_path"), "without": page.label("without_path")},
                                 {"with": [1, 0], "without": [4, 3]}, {"with": "residual", "without": "residual"},
                                 (page.label("axis_blocks"), page.label(f"axis_{name}")), reader.theme(),
                                 scale=reader.scale(), height=chart_height())
    show(chart, "cut_lines")


def _title(page: Lesson, run: Run, whole: Trace, cut: Trace, position: int, effect: Effect) -> str:
    before, after = (trace.logits[position].double().softmax(-1) for trace in (whole, cut))
    first, second = int(before.argmax()), int(after.argmax())
    return page.label("title_cut", token=code(run.tokens[position]), before=code(run.tokenizer.visible(first)),
                      before_p=readable(float(before[first])), after=code(run.tokenizer.visible(second)),
                      after_p=readable(float(after[second])), kl=readable(effect.kl))


def _lines(page: Lesson, run: Run, effect: Effect, whole: Trace, cut: Trace) -> list[tuple[str, str]]:
    first, before, after = int(effect.token_ids[0]), float(effect.before[0]), float(effect.after[0])
    alike = [float(stream_and_heads.mean_pairwise_cosine(trace.resid_final)) for trace in (whole, cut)]
    return [(page.label("numbers_moved", token=code(run.tokenizer.visible(first))),
             rf"y_t = {latex_number(before)} \;\rightarrow\; {latex_number(after)}"),
            (page.label("numbers_kl"), rf"\mathrm{{KL}}(y \,\Vert\, y') = \sum_w y_w \ln \frac{{y_w}}{{y'_w}} = "
                                       rf"{latex_number(effect.kl)}\ \text{{nats}}"),
            (page.label("numbers_alike"),
             rf"\overline{{\cos}} = {latex_number(alike[0])} \;\rightarrow\; {latex_number(alike[1])}")]


def _question(page: Lesson, run: Run, whole: Trace, cut: Trace, position: int) -> Question:
    """What cutting the path does to the probability of the token that is likeliest with it."""
    first = int(whole.logits[position].argmax())
    before, after = (float(trace.logits[position].double().softmax(-1)[first]) for trace in (whole, cut))
    ratio = after / before
    answer = 0 if ratio < 0.1 else 1 if ratio < 0.9 else 2 if ratio <= 1.1 else 3
    options = [page.label(name) for name in ("falls_far", "falls_some", "stays_near", "rises_some")]
    return Question("cut", page.label("question_cut", token=code(run.tokenizer.visible(first))), options, answer,
                    page.label("because_cut", before=readable(before), after=readable(after)))
