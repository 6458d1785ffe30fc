"""KV cache: the work, the time and the memory of one more token, with the cache and without it; the times are measured
when the reader asks.
"""
import math

import numpy as np
import pandas as pd
import streamlit as st

from core.app.base.markdown import code
from core.app.frame import Lesson, Question, Reading
from core.app.state import reader
from core.app.state.run import Run, room
from core.cost.cache_cost import Cost, bytes_per_token, greedy_without_cache, measured, multiplications
from core.figures.numbers import latex_number, latex_operand, readable
from core.model.config import ModelConfig
from core.model.generation import generate
from pages.generation import charts as figures
from pages.generation.shared import GREEDY, PREFIX, in_turns, show, start

N_LENGTHS, N_WRITTEN = 9, 12
HEIGHTS = 330, 250       # px of a chart, usually and in present mode
# of the session: times belong to this machine and this moment, so no link carries them
STORE = f"{PREFIX}costs"
ASKED = f"{STORE}_asked"
# costs; the same text with the cache and without
Measured = tuple[tuple[Cost, ...], tuple[int, ...], tuple[int, ...]]


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the button and the charts; return what they show."""
    config = run.model.config
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.button(page.label("measure"), key=f"{PREFIX}measure", type="primary", on_click=_ask)
        place = st.container(width="stretch")
    with place:
        if st.session_state.pop(ASKED, False):
            st.session_state[STORE] = (_key(run), _measure(page, run))
        found = times(run)
        st.markdown(_said(page, run, found))
    _charts(page, config, found)
    return Reading(_lines(page, config, found), _question(page, config),
                   [multiplications, bytes_per_token, measured, greedy_without_cache],
                   {"cache.csv": lambda: _table(page, config, found)}, f".st-key-{PREFIX}work", _twin(page, config),
                   None, {page.label("axis_bytes"): f"{bytes_per_token(config):,}"})


def _charts(page: Lesson, config: ModelConfig, found: Measured | None) -> None:
    """Work and memory, computed, and between them the times, once they are measured."""
    names, lengths, axis = ((page.label("with_cache"), page.label("without_cache")), lengths_of(config),
                            page.label("axis_n"))
    columns = st.columns(3 if found else 2, gap="large")
    with columns[0]:
        st.markdown(page.label("cache_work"))
        _chart(lengths, list(zip(names, zip(*(work(config, n) for n in lengths)))), (axis, page.label("axis_work")),
               "work")
    if found:
        with columns[1]:
            st.markdown(page.label("cache_time"))
            costs = found[0]
            _chart([cost.n_tokens for cost in costs], [(names[0], [1000 * cost.cached for cost in costs]),
                                                       (names[1], [1000 * cost.without for cost in costs])],
                   (axis, page.label("axis_time")), "time")
    with columns[-1]:
        st.markdown(page.label("cache_memory", bytes=f"{bytes_per_token(config):,}"))
        _chart(lengths, [(names[0], [n * bytes_per_token(config) for n in lengths])],
               (axis, page.label("axis_bytes")), "memory")


def lengths_of(config: ModelConfig) -> list[int]:
    """The lengths of text that are looked at, up to what there is room for."""
    return sorted({max(2, int(n)) for n in np.linspace(2, room(config), N_LENGTHS).round()})


def times(run: Run) -> Measured | None:
    """What was measured in this session for this model and prompt; None before."""
    kept = st.session_state.get(STORE)
    return kept[1] if kept and kept[0] == _key(run) else None


def _ask() -> None:
    st.session_state[ASKED] = True


def _key(run: Run) -> tuple:
    return run.model_name, run.device, run.token_ids


def _chart(lengths: list[int], lines: list, titles: tuple[str, str], name: str) -> None:
    show(figures.over_tokens(lengths, lines, titles, reader.theme(), reader.scale(), HEIGHTS[reader.present()]), name)


def _measure(page: Lesson, run: Run) -> Measured:
    """Measures, under a bar of progress: the prompt's tokens over and over, up to each length; then a text
    written both ways.
    """
    begin, lengths = start(run, N_WRITTEN), lengths_of(run.model.config)
    ids = np.resize(run.token_ids, lengths[-1]).tolist()
    bar, costs = st.progress(0.0, page.label("measuring", n=lengths[0])), []
    for cost in in_turns(run, measured, ids, lengths):
        costs.append(cost)
        bar.progress(len(costs) / (len(lengths) + 1), page.label("measuring", n=cost.n_tokens))
    cached = tuple(step.token_id
                   for step in in_turns(run, generate, begin.token_ids, GREEDY, max_new_tokens=begin.length))
    without = tuple(in_turns(run, greedy_without_cache, begin.token_ids, begin.length))
    bar.empty()
    return tuple(costs), cached, without


def _said(page: Lesson, run: Run, found: Measured | None) -> str:
    """A sentence about the measured times or, before there are any, about what the button does."""
    if not found:
        return page.label("measure_first")
    costs, cached, without = found
    last = costs[-1]
    text = run.tokenizer.decode(list(cached)).replace("\n", "⏎")
    return page.label("measured_title", n=last.n_tokens, without=readable(1000 * last.without),
                      cached=readable(1000 * last.cached), times=readable(last.without / last.cached),
                      same=page.label("texts_same" if cached == without else "texts_differ", text=code(text)))


def work(config: ModelConfig, n: int) -> tuple[int, int]:
    """The multiplications of the n-th token with the cache and without it."""
    return multiplications(config, n, True), multiplications(config, n, False)


def _twin(page: Lesson, config: ModelConfig) -> str:
    n = room(config)
    cached, without = work(config, n)
    return page.label("cache_twin", n=n, cached=f"{cached:,}", without=f"{without:,}",
                      bytes=f"{n * bytes_per_token(config):,}")


def _lines(page: Lesson, config: ModelConfig, found: Measured | None) -> list[tuple[str, str]]:
    n, one = room(config), bytes_per_token(config)
    cached, without = work(config, n)
    lines = [(page.label("numbers_bytes"), rf"L \cdot h_{{kv}} \cdot (d_k + d_v) \cdot 4 = {config.n_layers} \cdot "
                                           rf"{config.n_kv_heads} \cdot ({config.d_k} + {config.d_v}) \cdot 4 = {one}"),
             (page.label("numbers_context", n=n), rf"{n} \cdot {one} = {n * one}"),
             (page.label("numbers_work", n=n),
              rf"\frac{{{without}}}{{{cached}}} = {latex_number(without / cached)}")]
    if found:
        last = found[0][-1]
        lines.append((page.label("numbers_time", n=last.n_tokens),
                      rf"\frac{{{latex_operand(1000 * last.without)}\,"
                      rf"\mathrm{{ms}}}}{{{latex_operand(1000 * last.cached)}\,\mathrm{{ms}}}} = "
                      rf"{latex_number(last.without / last.cached)}"))
        lines.append((page.label("numbers_difference", n=len(found[0])),
                      rf"\max \lvert u - u' \rvert = {latex_number(max(cost.difference for cost in found[0]))}"))
    return lines


def _question(page: Lesson, config: ModelConfig) -> Question:
    """How many times the work a token costs without the cache when the context is full."""
    n = room(config)
    cached, without = work(config, n)
    ratio = without / cached
    options = (1, n / 10, n, n * n)
    answer = min(range(len(options)), key=lambda i: abs(math.log(options[i] / ratio)))
    return page.question(
        "cache", [page.label(f"question_cache_{i}", n=n, value=readable(value)) for i, value in enumerate(options)],
        answer, n=n, ratio=readable(ratio))


def _table(page: Lesson, config: ModelConfig, found: Measured | None) -> pd.DataFrame:
    costs = {cost.n_tokens: cost for cost in found[0]} if found else {}
    rows = [(n, *work(config, n), n * bytes_per_token(config))
            + ((1000 * costs[n].cached, 1000 * costs[n].without, costs[n].difference) if n in costs else ())
            for n in lengths_of(config)]
    heads = (["axis_n", "column_work_cached", "column_work_without", "axis_bytes"]
             + (["column_ms_cached", "column_ms_without", "column_difference"] if costs else []))
    return pd.DataFrame(rows, columns=[page.label(head) for head in heads])
