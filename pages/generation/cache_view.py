"""KV cache: the work, time and memory of one more token, with and without the cache; times are measured on request."""
import dataclasses

import numpy as np
import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.parts import charts
from core.app.state import reader
from core.app.state.run import Run, room
from core.base.markdown import code
from core.cost.cache_cost import Cost, bytes_per_token, greedy_without_cache, measure, multiplications
from core.figures.numbers import grouped, latex_number, latex_operand, readable
from core.model.config import ModelConfig
from core.model.generation import generate
from pages.generation import charts as figures
from pages.generation.shared import GREEDY, PREFIX, in_turns, start

N_LENGTHS, N_WRITTEN = 9, 12
HEIGHTS = 330, 250       # px of a chart, usually and in present mode
# key of the session: times belong to this machine and this moment, so no link has them
STORE = f"{PREFIX}costs"
ASKED = f"{STORE}_asked"
# the costs; the token ids of one text, written with the cache and without
Timing = tuple[tuple[Cost, ...], tuple[int, ...], tuple[int, ...]]


def predict(page: Lesson, run: Run) -> Prediction:
    """How many times as much work one more token is without the cache, at the end of the context of n tokens: less than
    twice, less than n / 2 times, up to n times, or more.
    """
    config = run.model.config
    n = room(config)

    def truth(guess: int) -> Truth:
        cached, without = work(config, n)
        ratio, grows = without / cached, [last / first for last, first in zip((cached, without), work(config, 2))]
        return Truth(0 if ratio < 2 else 1 if ratio < n / 2 else 2 if ratio <= n else 3,
                     said=page.label("before_cache_said", ratio=readable(ratio)), seen=int(not grows[0] < 2 < grows[1]),
                     values={"ratio": readable(ratio), "n": n, "bytes": readable(n * bytes_per_token(config) / 1e6)})

    options = [page.label(f"before_cache_{k}", half=n // 2, n=n) for k in range(4)]
    return Prediction("cache", Options(options), truth, {"n": n})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the button and the charts; return their Reading."""
    config = run.model.config
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.button(page.label("measure"), key=f"{PREFIX}measure", type="primary", on_click=_ask)
        place = st.container(width="stretch")
    with place:
        if st.session_state.pop(ASKED, False):
            st.session_state[STORE] = (_key(run), _measure(page, run))
        timing = times(run)
        st.markdown(_sentence(page, run, timing))
    _charts(page, config, timing)
    return Reading(_lines(page, config, timing), _question(page, config),
                   [multiplications, bytes_per_token, measure, greedy_without_cache],
                   {"cache.csv": lambda: _table(page, config, timing)}, f".st-key-{PREFIX}work", _twin(page, config),
                   None, {page.label("axis_bytes"): grouped(bytes_per_token(config))})


def _charts(page: Lesson, config: ModelConfig, timing: Timing | None) -> None:
    """Draw the computed work and memory and, once measured, the times between them."""
    names, lengths, axis = ((page.label("with_cache"), page.label("without_cache")), lengths_of(config),
                            page.label("axis_n"))
    columns = st.columns(3 if timing else 2, gap="large")
    with columns[0]:
        st.markdown(page.label("cache_work"))
        _chart(lengths, list(zip(names, zip(*(work(config, n) for n in lengths)))), (axis, page.label("axis_work")),
               "work")
    if timing:
        with columns[1]:
            st.markdown(page.label("cache_time"))
            costs = timing[0]
            _chart([cost.n_tokens for cost in costs], [(names[0], [1000 * cost.cached for cost in costs]),
                                                       (names[1], [1000 * cost.uncached for cost in costs])],
                   (axis, page.label("axis_time")), "time")
    with columns[-1]:
        st.markdown(page.label("cache_memory", bytes=grouped(bytes_per_token(config))))
        _chart(lengths, [(names[0], [n * bytes_per_token(config) for n in lengths])],
               (axis, page.label("axis_bytes")), "memory")


def lengths_of(config: ModelConfig) -> list[int]:
    """N_LENGTHS lengths of text, from 2 to the room of the context, or fewer."""
    return sorted({max(2, int(n)) for n in np.linspace(2, room(config), N_LENGTHS).round()})


def times(run: Run) -> Timing | None:
    """The session's measurement for this model and prompt, or None."""
    stored = st.session_state.get(STORE)
    return stored[1] if stored and stored[0] == _key(run) else None


def _ask() -> None:
    st.session_state[ASKED] = True


def _key(run: Run) -> tuple:
    return run.model_name, run.device, run.token_ids


def _chart(lengths: list[int], lines: list, titles: tuple[str, str], name: str) -> None:
    rows, spec = figures.over_tokens(lengths, lines, titles, charts.reader_look(), HEIGHTS[reader.present()])
    charts.draw_spec(PREFIX, name, rows, spec)


def _measure(page: Lesson, run: Run) -> Timing:
    """Measure, under a progress bar, the prompt's tokens repeated up to each length; then write a text both ways."""
    begin, lengths = start(run, N_WRITTEN), lengths_of(run.model.config)
    ids = np.resize(run.token_ids, lengths[-1]).tolist()
    bar, costs = st.progress(0.0, page.label("measuring", n=lengths[0])), []
    for cost in in_turns(run, measure, ids, lengths):
        costs.append(cost)
        bar.progress(len(costs) / (len(lengths) + 1), page.label("measuring", n=cost.n_tokens))
    cached = tuple(step.token_id
                   for step in in_turns(run, generate, begin.token_ids, GREEDY, max_new_tokens=begin.length))
    without = tuple(in_turns(run, greedy_without_cache, begin.token_ids, begin.length))
    bar.empty()
    return tuple(costs), cached, without


def _sentence(page: Lesson, run: Run, timing: Timing | None) -> str:
    """A sentence about the measured times or, before the measurement, about the button."""
    if not timing:
        return page.label("measure_first")
    costs, cached, without = timing
    last = costs[-1]
    text = run.tokenizer.decode(list(cached)).replace("\n", "⏎")
    return page.label("measured_title", n=last.n_tokens, without=readable(1000 * last.uncached),
                      cached=readable(1000 * last.cached), times=readable(last.uncached / last.cached),
                      same=page.label("texts_same" if cached == without else "texts_differ", text=code(text)))


def work(config: ModelConfig, n: int) -> tuple[int, int]:
    """The multiplications of the n-th token with the cache and without it."""
    return multiplications(config, n, True), multiplications(config, n, False)


def _twin(page: Lesson, config: ModelConfig) -> str:
    n = room(config)
    cached, without = work(config, n)
    return page.label("cache_twin", n=n, cached=grouped(cached), without=grouped(without),
                      bytes=grouped(n * bytes_per_token(config)))


def _lines(page: Lesson, config: ModelConfig, timing: Timing | None) -> list[tuple[str, str]]:
    n, size = room(config), bytes_per_token(config)
    cached, without = work(config, n)
    lines = [(page.label("numbers_bytes"),
              rf"L \cdot h_{{kv}} \cdot (d_k + d_v) \cdot 4 = {config.n_layers} \cdot "
              rf"{config.n_kv_heads} \cdot ({config.d_k} + {config.d_v}) \cdot 4 = {size}"),
             (page.label("numbers_context", n=n), rf"{n} \cdot {size} = {n * size}"),
             (page.label("numbers_work", n=n),
              rf"\frac{{{without}}}{{{cached}}} = {latex_number(without / cached)}")]
    if timing:
        last = timing[0][-1]
        lines.append((page.label("numbers_time", n=last.n_tokens),
                      rf"\frac{{{latex_operand(1000 * last.uncached)}\,"
                      rf"\mathrm{{ms}}}}{{{latex_operand(1000 * last.cached)}\,\mathrm{{ms}}}} = "
                      rf"{latex_number(last.uncached / last.cached)}"))
        lines.append((page.label("numbers_difference", n=len(timing[0])),
                      rf"\max \lvert u - u' \rvert = {latex_number(max(cost.difference for cost in timing[0]))}"))
    return lines


def _question(page: Lesson, config: ModelConfig) -> Question:
    """Ask for the smallest cache: half the blocks' length, one head of keys and values, half the heads."""
    n = room(config)
    sizes = [(n // 2) * bytes_per_token(config), n * bytes_per_token(dataclasses.replace(config, n_kv_heads=1)),
             n * bytes_per_token(config)]
    answer = min(range(len(sizes)), key=lambda i: (sizes[i], i))
    return page.question("cache", [page.label(f"question_cache_{i}", heads=config.n_kv_heads)
                                   for i in range(len(sizes))], answer,
                         sizes=" · ".join(f"{readable(size / 1e6)} MB" for size in sizes), n=n)


def _table(page: Lesson, config: ModelConfig, timing: Timing | None) -> pd.DataFrame:
    costs = {cost.n_tokens: cost for cost in timing[0]} if timing else {}
    rows = [(n, *work(config, n), n * bytes_per_token(config))
            + ((1000 * costs[n].cached, 1000 * costs[n].uncached, costs[n].difference) if n in costs else ())
            for n in lengths_of(config)]
    heads = (["axis_n", "column_work_cached", "column_work_without", "axis_bytes"]
             + (["column_ms_cached", "column_ms_without", "column_difference"] if costs else []))
    return pd.DataFrame(rows, columns=[page.label(head) for head in heads])
