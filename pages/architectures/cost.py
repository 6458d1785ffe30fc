"""Cost: the work over the length of the text, counted and timed on this machine; and sparse patterns, which keep few
pairs and need more layers.
"""
import math
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Number, Prediction, Question, Reading, Truth, guess_of
from core.app.parts import charts
from core.app.server import routes
from core.app.state import Run, reader
from core.base import prose
from core.base.prose import TextFile
from core.components.lib.bytes import pack
from core.components.lib.hand import HAND_CSS
from core.components.lib.token_view import token_view
from core.cost import growth, length_times, sequence_work, sparse
from core.cost.growth import Timing
from core.figures.numbers import grouped, latex_number, latex_operand, readable
from core.figures.style import POWER_OF_TEN
from pages.architectures import charts as figures
from pages.architectures.shared import (
    PREFIX,
    SETTINGS,
    attached,
    choice,
    keep,
    own_seed,
    prefixed,
    read,
)

POWERS = (16, 32, 64, 128, 256)
CHART, PRESENT_CHART = 290, 265      # px
SHORT, LONG = 256, 4096              # tokens of the two texts that are asked about
FASTER = 100                         # times the operations, in the question below the picture
FEW = 4                              # layers, likewise
ASKED = f"{PREFIX}asked_to_measure"  # a key of the session
HANDS = "length", "near", "central", "drawn"     # the settings of the patterns that have a slider, in their order
SET = *HANDS, "seed"                             # all of them
PATTERNS_PICTURE = f"{PREFIX}patterns_picture"
PATTERNS_ROUTE = "sparse_patterns"
_one_at_a_time = threading.Lock()    # two measurements at once would slow each other down
# Sparse attention patterns side by side, with the number of layers that each pair of tokens needs.
_picture = token_view("sparse_patterns", __file__, HAND_CSS)


@dataclass(frozen=True)
class Measurement:
    """The times on this machine, and the time of day; "" for recorded ones. rows: method, n, value (seconds), shown."""

    rows: pd.DataFrame
    at: str

    def fitted(self, method: str) -> tuple[list[int], list[float]]:
        """The lengths and seconds to which the exponent of a method is fitted."""
        rows = self.rows[self.rows["method"] == method].tail(growth.FITTED)
        return rows["n"].tolist(), rows["value"].tolist()


@st.cache_resource(show_spinner=False)
def _measurements() -> dict[tuple[int, int], Measurement]:
    """The measurements of this process, by width and window."""
    return {}


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How many times as many operations full attention takes for a longer text; not asked about sparse patterns."""
    if read("cost") != "growth":
        return None
    d, w = (_power(name) for name in ("width", "window"))

    def truth(_: float) -> Truth:
        times = {method: growth.operations(method, LONG, d, w) // growth.operations(method, SHORT, d, w)
                 for method in growth.METHODS}
        return Truth(times["attention"], values=times)

    return Prediction("cost", Number(1, 1000, log=True), truth,
                      {"short": SHORT, "long": grouped(LONG), "factor": LONG // SHORT})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        is_sparse = choice(page, "cost") == "patterns"
        if is_sparse:
            own_seed(page, said=page.label("patterns_seed"))
    return _patterns(page) if is_sparse else _growth(page, guess_of(page, "cost", run))


# ---- how work grows --------------------------------------------------------------------------------------------------


def _growth(page: Lesson, guess: float | None) -> Reading:
    *columns, go = st.columns([3, 3, 4], vertical_alignment="bottom")
    d, w = (column.select_slider(page.label(f"{name}_slider"), POWERS, **_snapped(name))
            for column, name in zip(columns, ("width", "window")))
    with go:
        if st.session_state.pop(ASKED, False):
            _measure(page, d, w)
        measured = _measurements().get((d, w)) or _recorded(d, w)
        is_new = measured is not None and measured.at
        st.button(page.label("measure_again" if is_new else "measure_now"), key=f"{PREFIX}measure_now",
                  type="secondary" if is_new else "primary", on_click=lambda: st.session_state.update({ASKED: True}))
    names, title, counts = page.labels("method"), _title(page, d, measured), _counted(d, w)
    st.markdown(f"**{title}**")
    height = PRESENT_CHART if reader.present() else CHART
    left, right = st.columns(2, gap="medium")
    with left:
        expected = None if guess is None else (LONG, guess * growth.operations("attention", SHORT, d, w))
        charts.draw_spec(PREFIX, "operations", *figures.growth(
            counts, page.labels("counted"), (page.label("axis_n"), page.label("axis_operations")), {"format": "~s"},
            charts.reader_look(), height, mark=expected and (*expected, page.frame_words.label("before_mine"))))
    with right:
        if measured is None:
            st.info(page.label("unmeasured"))
        else:
            charts.draw_spec(PREFIX, "seconds", *figures.growth(
                measured.rows, names, (page.label("axis_n"), page.label("axis_seconds")), {"labelExpr": POWER_OF_TEN},
                charts.reader_look(), height))
            where = page.label("measured_at", at=measured.at) if measured.at else page.label("measured_elsewhere")
            page.note(page.label("measured", where=where, d=d, w=w, fitted=growth.FITTED,
                                 least=growth.LENGTHS[-growth.FITTED], most=growth.LENGTHS[-1]))
    tables = {"operations": counts} | ({} if measured is None else {"seconds": measured.rows})
    return Reading(_growth_lines(page, d, w, measured), _growth_question(page, d, w),
                   [sequence_work.attention_pairs, sequence_work.attention, sequence_work.recurrent,
                    growth.full_attention, sparse.windowed_attention, growth.recurrent_states, growth.measure,
                    growth.exponent],
                   {"growth.csv": lambda: pd.concat([rows.assign(quantity=name) for name, rows in tables.items()])},
                   f".st-key-{PREFIX}{[*tables][-1]}", title)


def _snapped(name: str) -> dict:
    """Widget arguments that tie a slider of powers of two to a setting, at the power nearest to its value."""
    tied = attached(name)
    st.session_state[tied["key"]] = _power(name)
    return tied


def _power(name: str) -> int:
    """The power of two nearest to a setting."""
    return min(POWERS, key=lambda power: abs(power - read(name)))


def _measure(page: Lesson, d: int, w: int) -> None:
    """Time all methods at all lengths, with progress, and keep the times for this process."""
    timings, total = [], growth.ROUNDS * len(growth.LENGTHS) * len(growth.METHODS)
    bar = st.progress(0.0, page.label("measuring"))
    with _one_at_a_time:
        for timing in growth.measure(d, w):
            timings.append(timing)
            bar.progress(len(timings) / total,
                         page.label("measuring_step", method=page.label(f"method_{timing.method}"), n=timing.n))
    bar.empty()
    _measurements()[d, w] = Measurement(_times(growth.fastest(timings)), time.strftime("%H:%M:%S"))


def _recorded(d: int, w: int) -> Measurement | None:
    """The times that were recorded on another machine, where there are any."""
    times = length_times.recorded(d, w)
    return Measurement(_times(times), "") if times else None


def _times(timings: Iterable[Timing]) -> pd.DataFrame:
    return pd.DataFrame([(timing.method, timing.n, timing.seconds, f"{readable(1000 * timing.seconds)} ms")
                         for timing in timings], columns=["method", "n", "value", "shown"])


def _counted(d: int, w: int) -> pd.DataFrame:
    rows = [(method, n, work := growth.operations(method, n, d, w), prefixed(work, "FLOP"))
            for method in growth.COUNTED for n in growth.LENGTHS]
    return pd.DataFrame(rows, columns=["method", "n", "value", "shown"])


def _title(page: Lesson, d: int, measured: Measurement | None) -> str:
    if measured is None:
        return page.label("growth_counted", d=d)
    fits = {method: growth.exponent(*measured.fitted(method)) for method in growth.METHODS}
    label = "growth_measured" if measured.at else "growth_recorded"
    return page.label(label, **{method: f"{slope:.2f} ± {error:.2f}" for method, (slope, error) in fits.items()})


def _growth_lines(page: Lesson, d: int, w: int, measured: Measurement | None) -> list[tuple[str, str]]:
    n = growth.LENGTHS[-1]
    counts = {method: growth.operations(method, n, d, w) for method in growth.COUNTED}
    lines = [(page.label("numbers_operations", n=n),
              rf"4 N^2 d = 4 \cdot {n}^2 \cdot {d} = {counts['attention']}, \qquad "
              rf"4 N \cdot 2w \cdot d = 4 \cdot {n} \cdot {2 * w} \cdot {d} = {counts['window']}, \qquad "
              rf"4 N d^2 = 4 \cdot {n} \cdot {d}^2 = {counts['recurrent']}"),
             (page.label("numbers_whole"), rf"6 N d^2 + 4 N^2 d = 6 \cdot {n} \cdot {d}^2 + 4 \cdot {n}^2 \cdot {d} = "
                                           rf"{counts['whole']} \;>\; 4 N d^2"),
             (page.label("numbers_crossing"), rf"4 N^2 d > 4 N d^2 \iff N > d = {d}")]
    if measured is None:
        return lines
    for method in growth.METHODS:
        lengths, seconds = ((values[0], values[-1]) for values in measured.fitted(method))
        lines.append((page.label("numbers_slope", method=page.label(f"method_{method}")),
                      rf"\frac{{\ln({latex_operand(seconds[1])} / {latex_operand(seconds[0])})}}"
                      rf"{{\ln({lengths[1]} / {lengths[0]})}} = {latex_number(growth.exponent(lengths, seconds)[0])}"))
    return lines


def _growth_question(page: Lesson, d: int, w: int) -> Question:
    """How many tokens full attention reads with more operations than LONG tokens take."""
    budget = FASTER * growth.operations("attention", LONG, d, w)
    options = [2 * LONG, math.isqrt(FASTER) * LONG, FASTER // 2 * LONG, FASTER * LONG]
    fits = max(n for n in options if growth.operations("attention", n, d, w) <= budget)
    return page.question("budget", [page.label("budget_option", n=grouped(n)) for n in options],
                         options.index(fits), n=grouped(LONG), factor=FASTER, fits=grouped(fits),
                         longer=fits // LONG)


# ---- sparse patterns -------------------------------------------------------------------------------------------------


def layers_by_pattern(*settings: int) -> dict[str, np.ndarray]:
    """By pattern, the number of layers that each pair of tokens needs, (n, n); the settings are those of SET."""
    return {name: sparse.layers_between(sparse.pattern_mask(name, *settings)).numpy() for name in sparse.PATTERNS}


def n_kept(layers: np.ndarray) -> int:
    """The number of pairs that a pattern keeps."""
    return int((layers == 1).sum())


def _patterns_title(words: TextFile, patterns: dict[str, np.ndarray]) -> str:
    n, window, both = len(patterns["all"]), patterns["window"], patterns["all"]
    return words.label("patterns_title", n=n, all_pairs=n ** 2, window=n_kept(window),
                       window_layers=_reach(words, "window", window), both=n_kept(both),
                       both_layers=_reach(words, "all", both))


def header(words: TextFile, patterns: dict[str, np.ndarray]) -> dict:
    """The fields of the picture that change with the settings, as cost.js reads them."""
    return {"titled": _patterns_title(words, patterns), "n": len(patterns["all"]),
            "patterns": [_pattern(words, name, layers) for name, layers in patterns.items()]}


def _pattern(words: TextFile, name: str, layers: np.ndarray) -> dict:
    kept = words.label("pattern_kept", kept=n_kept(layers), all=layers.size,
                       share=readable(100 * n_kept(layers) / layers.size))
    return {"name": words.label(f"pattern_{name}"), "lines": [kept, _reach(words, name, layers)],
            "cells": "".join(chr(48 + count) for count in layers.flat)}


def answer(question: dict) -> bytes:
    """The packed header of the picture for the settings of the sliders.

    Raises ValueError or KeyError for invalid settings.
    """
    values = [SETTINGS.each[name].accept(question[f"{PREFIX}{name}"]) for name in SET]
    if None in values:
        raise ValueError("there are no such settings")
    return pack(header(prose.load("architectures"), layers_by_pattern(*values)))


def _patterns(page: Lesson) -> Reading:
    patterns = layers_by_pattern(*map(read, SET))
    n, near, share = read("length"), read("near"), n_kept(patterns["all"])
    _picture(page.header("sparse") | {"hands": _hands(page)} | header(page.words, patterns), key=PATTERNS_PICTURE,
             on_settings=_settled)
    rows = [(page.label(f"pattern_{name}"), n_kept(layers), _reach(page.words, name, layers))
            for name, layers in patterns.items()]
    ratio = rf"\left\lceil \frac{{N - 1}}{{w}} \right\rceil = \left\lceil \frac{{{n} - 1}}{{{near}}} \right\rceil"
    lines = [(page.label("numbers_window", w=near), rf"{ratio} = {-((1 - n) // near)}")] if near else []
    lines.append((page.label("numbers_share"), rf"\frac{{{share}}}{{{n}^2}} = {latex_number(share / n / n)}"))
    return Reading(lines, _patterns_question(page, n),
                   [sparse.pattern_mask, sparse.layers_between], {"patterns.csv": lambda: _pairs_table(patterns)},
                   ".sparse .masks", _patterns_title(page.words, patterns),
                   page.table(rows, "name", "kept", "reach", labels="patterns"), explanation="cost_patterns")


def _pairs_table(patterns: dict[str, np.ndarray]) -> pd.DataFrame:
    rows = [(name, i, j, count) for name, layers in patterns.items() for (i, j), count in np.ndenumerate(layers)]
    return pd.DataFrame(rows, columns=["pattern", "query", "key", "layers"])


def _hands(page: Lesson) -> list[dict]:
    """The sliders of the picture, which asks the route while one moves."""
    return [routes.hand(PATTERNS_ROUTE, f"{PREFIX}{name}", page.label(f"slider_{name}"),
                        (SETTINGS.each[name].low, SETTINGS.each[name].high), 1, read(name),
                        {f"{PREFIX}seed": read("seed")}) for name in HANDS]


def _settled(settings: dict) -> None:
    """Callback: keep the settings of the sliders when they rest."""
    keep(**{name: settings[f"{PREFIX}{name}"] for name in HANDS})


def _reach(words: TextFile, name: str, layers: np.ndarray) -> str:
    """A sentence on the number of layers after which every pair is connected (under the causal mask, every token with
    those before it).
    """
    if name == "causal":
        return words.label("reach_causal")
    never, most = int((layers == 0).sum()), int(layers.max())
    if never:
        return words.label("reach_never", never=never)
    return words.label("reach_all_one" if most == 1 else "reach_all", layers=most)


def _patterns_question(page: Lesson, n: int) -> Question:
    """How wide a window must be for the last token to know of the first after FEW layers."""
    wide = -((1 - n) // FEW)
    options = [wide // 2, wide, 2 * wide, n - 1]
    return page.question("wide", [page.label("wide_option", w=w) for w in options], 1, n=n, layers=FEW, gap=n - 1,
                         wide=wide, less=FEW * (wide - 1))
