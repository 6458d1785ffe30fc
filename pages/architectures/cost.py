"""Cost: how work grows with the length of the text, counted and timed on this machine; and sparse patterns, which keep
few pairs and take more layers.
"""
import functools
import threading
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app.base import prose
from core.app.base.prose import TextFile
from core.app.frame import Lesson, Question, Reading
from core.app.server import routes
from core.app.state import Run, reader
from core.components.lib.bytes import pack
from core.components.lib.hand import HAND_CSS
from core.components.lib.token_view import token_view
from core.cost import growth, sparse
from core.figures.numbers import latex_number, latex_operand, readable
from pages.architectures import charts as figures
from pages.architectures.shared import PREFIX, SETTINGS, attached, choice, keep, prefixed, read, show, spaced

POWERS = (16, 32, 64, 128, 256)
CHART, PRESENT_CHART = 290, 215      # px
ASKED = f"{PREFIX}asked_to_measure"  # a key of the session
HANDS = "length", "near", "central", "drawn", "seed"     # of the patterns, in their order
PATTERNS_PICTURE = f"{PREFIX}patterns_picture"
PATTERNS_ROUTE = "sparse_patterns"
_one_at_a_time = threading.Lock()    # two measurements at once would slow each other down
# Sparse attention patterns beside each other, each cell as deep as the layers that its pair of tokens needs.
_picture = token_view("sparse_patterns", __file__, HAND_CSS)


@dataclass(frozen=True)
class Measured:
    """What was timed on this machine, and when."""

    timings: tuple[growth.Timing, ...]
    at: str

    def of(self, method: str) -> tuple[list[int], list[float]]:
        """Lengths and seconds of one method."""
        own = [timing for timing in self.timings if timing.method == method]
        return [timing.n for timing in own], [timing.seconds for timing in own]


@st.cache_resource(show_spinner=False)
def _kept() -> dict[tuple[int, int], Measured]:
    """The measurements of this process, by width and window."""
    return {}


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    return (_growth if choice(page, "cost") == "growth" else _patterns)(page)


# ---- how work grows --------------------------------------------------------------------------------------------------


def _growth(page: Lesson) -> Reading:
    d_column, w_column, go = st.columns([3, 3, 4], vertical_alignment="bottom")
    d = d_column.select_slider(page.label("width_slider"), POWERS, **_snapped("width"))
    w = w_column.select_slider(page.label("window_slider"), POWERS, **_snapped("window"))
    with go:
        if st.session_state.pop(ASKED, False):
            _measure(page, d, w)
        measured = _kept().get((d, w))
        st.button(page.label("measure_again" if measured else "measure_now"), key=f"{PREFIX}measure_now",
                  type="secondary" if measured else "primary", on_click=lambda: st.session_state.update({ASKED: True}))
    names = page.labels("method")
    title, counts = _title(page, d, measured), _counted(d, w)
    st.markdown(f"**{title}**")
    height = PRESENT_CHART if reader.present() else CHART
    left, right = st.columns(2, gap="medium")
    with left:
        show(figures.growth(counts, names, (page.label("axis_n"), page.label("axis_operations")), reader.theme(),
                            scale=reader.scale(), height=height), "operations")
    with right:
        if measured is None:
            st.info(page.label("unmeasured"))
        else:
            times = _timed(measured)
            show(figures.growth(times, names, (page.label("axis_n"), page.label("axis_seconds")), reader.theme(), ".0e",
                                reader.scale(), height), "seconds")
            st.caption(page.label("measured_at", at=measured.at, d=d, w=w, fitted=growth.FITTED,
                                  least=growth.LENGTHS[-growth.FITTED], most=growth.LENGTHS[-1]))
    return Reading(_growth_lines(page, d, w, measured), _growth_question(page, d),
                   [growth.full_attention, sparse.windowed_attention,
                    growth.recurrent_states, growth.measure, growth.exponent],
                   {"growth.csv": lambda: counts.assign(quantity="operations") if measured is None else pd.concat(
                       [counts.assign(quantity="operations"), _timed(measured).assign(quantity="seconds")])},
                   f".st-key-{PREFIX}operations" if measured is None else f".st-key-{PREFIX}seconds", title)


def _snapped(name: str) -> dict:
    """The arguments that tie a slider of powers of two to a setting; an address may ask for any number."""
    value = read(name)
    tied = attached(name)
    st.session_state[tied["key"]] = min(POWERS, key=lambda power: abs(power - value))
    return tied


def _measure(page: Lesson, d: int, w: int) -> None:
    """Times all methods at all lengths, with progress; kept for this process."""
    made, total = [], growth.ROUNDS * len(growth.LENGTHS) * len(growth.METHODS)
    bar = st.progress(0.0, page.label("measuring"))
    with _one_at_a_time:
        for timing in growth.measure(d, w):
            made.append(timing)
            bar.progress(len(made) / total,
                         page.label("measuring_step", method=page.label(f"method_{timing.method}"), n=timing.n))
    bar.empty()
    _kept()[d, w] = Measured(growth.fastest(made), time.strftime("%H:%M:%S"))


def _counted(d: int, w: int) -> pd.DataFrame:
    rows = [(method, n, growth.operations(method, n, d, w)) for method in growth.METHODS for n in growth.LENGTHS]
    return pd.DataFrame(rows, columns=["method", "n", "value"]).assign(
        shown=[prefixed(value, "FLOP") for *_, value in rows])


def _timed(measured: Measured) -> pd.DataFrame:
    return pd.DataFrame([(t.method, t.n, t.seconds, f"{readable(1000 * t.seconds)} ms") for t in measured.timings],
                        columns=["method", "n", "value", "shown"])


def _exponent(measured: Measured, method: str) -> tuple[float, float]:
    lengths, seconds = measured.of(method)
    return growth.exponent(lengths[-growth.FITTED:], seconds[-growth.FITTED:])


def _title(page: Lesson, d: int, measured: Measured | None) -> str:
    if measured is None:
        return page.label("growth_counted", d=d)
    fits = {method: _exponent(measured, method) for method in growth.METHODS}
    return page.label("growth_measured",
                      **{method: f"{slope:.2f} ± {error:.2f}" for method, (slope, error) in fits.items()})


def _growth_lines(page: Lesson, d: int, w: int, measured: Measured | None) -> list[tuple[str, str]]:
    n = growth.LENGTHS[-1]
    counts = {method: growth.operations(method, n, d, w) for method in growth.METHODS}
    lines = [(page.label("numbers_operations", n=n),
              rf"4 N^2 d = 4 \cdot {n}^2 \cdot {d} = {spaced(counts['attention'])}, \qquad 4 N \cdot 2w \cdot d = 4 "
              rf"\cdot {n} \cdot {2 * w} \cdot {d} = {spaced(counts['window'])}, \qquad 4 N d^2 = 4 \cdot {n} \cdot "
              rf"{d}^2 = {spaced(counts['recurrent'])}")]
    if measured is None:
        return lines
    for method in growth.METHODS:
        lengths, seconds = measured.of(method)
        slope = (page.label("numbers_slope", method=page.label(f"method_{method}")),
                 rf"\frac{{\ln({latex_operand(seconds[-1])} / "
                 rf"{latex_operand(seconds[-growth.FITTED])})}}{{\ln({lengths[-1]} / {lengths[-growth.FITTED]})}} = "
                 + latex_number(growth.exponent([lengths[-growth.FITTED], lengths[-1]],
                                                [seconds[-growth.FITTED], seconds[-1]])[0]))
        lines.append(slope)
    return lines


def _growth_question(page: Lesson, d: int) -> Question:
    """From which length on does full attention take more operations than the recurrent network of the same width?"""
    options = [d // 4, d, 4 * d, d * d]
    least = next(n for n in range(1, d * d + 2)
                 if growth.operations("attention", n, d, 1) > growth.operations("recurrent", n, d, 1))
    answer = min(range(4), key=lambda k: abs(options[k] - least))
    return Question("crossing", page.label("question_crossing", d=d),
                    [page.label("crossing_option", n=n) for n in options], answer,
                    page.label("because_crossing", n=least, d=d,
                               attention=spaced(growth.operations("attention", least, d, 1)).replace(r"\,", "\u202f"),
                               recurrent=spaced(growth.operations("recurrent", least, d, 1)).replace(r"\,", "\u202f")))


# ---- sparse patterns -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SparsePatterns:
    """The sparse patterns of some settings: the settings, and by pattern how many layers each pair of tokens
    needs, (n, n).
    """

    n: int
    near: int
    central: int
    drawn: int
    seed: int

    @functools.cached_property
    def layers(self) -> dict[str, np.ndarray]:
        settings = self.n, self.near, self.central, self.drawn, self.seed
        return {name: sparse.layers_between(sparse.pattern_mask(name, *settings)) for name in sparse.PATTERNS}

    @functools.cached_property
    def kept(self) -> dict[str, int]:
        """How many pairs each pattern keeps."""
        return {name: int((layers == 1).sum()) for name, layers in self.layers.items()}

    def title(self, words: TextFile) -> str:
        window, both = (_reach(words, name, self.layers[name]) for name in ("window", "all"))
        return words.label("patterns_title", n=self.n, all_pairs=self.n ** 2, window=self.kept["window"],
                           window_layers=window, both=self.kept["all"], both_layers=both)

    def header(self, words: TextFile) -> dict:
        """The fields of the picture that change with the settings, as cost.js reads them."""
        return {"titled": self.title(words), "n": self.n,
                "patterns": [self._pattern(words, name) for name in self.layers]}

    def _pattern(self, words: TextFile, name: str) -> dict:
        share = readable(100 * self.kept[name] / self.n ** 2)
        kept = words.label("pattern_kept", kept=self.kept[name], all=self.n ** 2, share=share)
        cells = "".join(chr(48 + count) for count in self.layers[name].flatten().tolist())
        return {"name": words.label(f"pattern_{name}"), "cells": cells,
                "lines": [kept, _reach(words, name, self.layers[name])]}


def answer(question: dict) -> bytes:
    """The picture for the settings under the hand. Raises ValueError or KeyError for settings that make no sense."""
    values = [SETTINGS.each[name].accept(question[f"{PREFIX}{name}"]) for name in HANDS]
    if None in values:
        raise ValueError("there are no such settings")
    return pack(SparsePatterns(*values).header(prose.load("architectures")))


def _patterns(page: Lesson) -> Reading:
    shown = SparsePatterns(*map(read, HANDS))
    n, near, kept, layers = shown.n, shown.near, shown.kept, shown.layers
    constant = {"scale": reader.scale(), "text": page.labels("sparse"), "hands": _hands(page)}
    _picture(constant | shown.header(page.words), key=PATTERNS_PICTURE, on_settings=_settled)
    rows = [(page.label(f"pattern_{name}"), kept[name], _reach(page.words, name, layers[name])) for name in layers]
    table = pd.DataFrame(rows, columns=[page.label(f"patterns_{name}") for name in ("name", "kept", "reach")])
    ratio = rf"\left\lceil \frac{{N - 1}}{{w}} \right\rceil = \left\lceil \frac{{{n} - 1}}{{{near}}} \right\rceil"
    lines = [(page.label("numbers_window", w=near), rf"{ratio} = {-((1 - n) // near)}")] if near else []
    share = rf"\frac{{{kept['all']}}}{{{n}^2}} = {latex_number(kept['all'] / n / n)}"
    lines.append((page.label("numbers_share"), share))
    return Reading(lines,
                   _patterns_question(page, n, near, layers["window"]), [sparse.pattern_mask, sparse.layers_between],
                   {"patterns.csv": lambda: _pairs_table(layers, n)}, ".sparse canvas", shown.title(page.words), table)


def _pairs_table(layers: dict[str, np.ndarray], n: int) -> pd.DataFrame:
    rows = [(name, i, j, int(found[i, j])) for name, found in layers.items() for i in range(n) for j in range(n)]
    return pd.DataFrame(rows, columns=["pattern", "query", "key", "layers"])


def _hands(page: Lesson) -> list[dict]:
    """The sliders of the picture, which asks the route for itself while one moves."""
    return [routes.hand(PATTERNS_ROUTE, f"{PREFIX}{name}", page.label(f"slider_{name}"),
                      (SETTINGS.each[name].low, SETTINGS.each[name].high), 1, read(name), {}) for name in HANDS]


def _settled(settings: dict) -> None:
    """Keeps where the hands have come to rest."""
    keep(**{name: settings[f"{PREFIX}{name}"] for name in HANDS})


def _reach(words: TextFile, name: str, layers: np.ndarray) -> str:
    """After how many layers every pair is reached; under the causal mask, every token and those before it."""
    if name == "causal":
        return words.label("reach_causal")
    never, most = int((layers == 0).sum()), int(layers.max())
    if never:
        return words.label("reach_never", never=never)
    return words.label("reach_all_one" if most == 1 else "reach_all", layers=most)


def _patterns_question(page: Lesson, n: int, near: int, found) -> Question:
    """After how many layers can the last token know of the first, through the window alone?"""
    right = int(found[n - 1, 0])
    options = sorted({1, 2, right, n - 1} - {0})
    names = [page.label("layers_option", n=option) for option in options] + [page.label("layers_never")]
    return Question(
        "reach", page.label("question_reach", n=n, w=near), names, options.index(right) if right else len(options),
        page.label("because_reach", layers=right, w=near, gap=n - 1) if right else page.label("because_never"))
