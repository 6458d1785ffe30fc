"""The tokens before a token that a linear probe reads off its vector, by block and distance, beside two controls:
a recorded run of core.learning.probe.
"""
import math

import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Question, Reading
from core.app.parts.charts import look
from core.app.state import Run
from core.figures.numbers import grouped, latex_number, latex_operand, percent, readable
from core.learning import probe
from core.learning.probe import DISTANCES, Probed
from pages.limits import charts as figures
from pages.limits.shared import PREFIX, attached, read, show

TIMES = 2               # a token is read where its probe is right twice as often as the commonest token is


def picked() -> tuple[int, int]:
    """The reader's block, 0 for what enters the first, and the place of the distance in DISTANCES."""
    block = min(read("probe_block"), len(probe.recorded().accuracy) - 1)
    return block, min(range(len(DISTANCES)), key=lambda i: abs(DISTANCES[i] - read("probe_back")))


def farthest(found: Probed) -> int:
    """The largest distance up to which the last block's probes are right TIMES as often as the commonest token; 0 for
    none.
    """
    is_read = found.accuracy[-1] >= TIMES * found.commonest
    n = len(is_read) if is_read.all() else int(is_read.argmin())
    return DISTANCES[n - 1] if n else 0


def controls(page: Lesson) -> None:
    """Draw the sliders of the block and the distance."""
    blocks = len(probe.recorded().accuracy) - 1
    for name, high in (("probe_block", blocks), ("probe_back", DISTANCES[-1])):
        st.slider(page.label(name), 0, high, width=250, **attached(name))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the table of shares; return what it shows."""
    found, (block, i) = probe.recorded(), picked()
    title = _title(page, found, block, i)
    st.markdown(f"**{title}**")
    titles = page.label("probe_axis"), page.label("probe_share")
    show(figures.probed(_frame(page, found), (_name(page, block), str(DISTANCES[i])), titles,
                        **look(330, presenting=320)), "probe")
    page.note(page.label("probe_note", model=probe.MODEL, n=grouped(found.counted), covered=percent(found.covered, 0),
                         classes=grouped(probe.N_CLASSES - 1)))
    return Reading(_lines(page, run, found, block, i), _question(page, found),
                   [probe.trained, probe.tried, probe.measure],
                   {"probe.csv": lambda: _frame(page, found).drop(columns=["shown", "row"])},
                   f".st-key-{PREFIX}probe", title, explanation="probe")


def _name(page: Lesson, block: int) -> str:
    return page.label("probe_before_all" if block == 0 else "probe_after", n=block)


def _title(page: Lesson, found: Probed, block: int, i: int) -> str:
    return page.label("probe_title", block=_name(page, block), k=DISTANCES[i],
                      share=percent(found.accuracy[block, i]), commonest=percent(found.commonest[i]),
                      far=farthest(found))


def _frame(page: Lesson, found: Probed) -> pd.DataFrame:
    """A row for each cell of the table: the blocks from the last to what enters the first, then the controls."""
    rows = [(_name(page, b), found.accuracy[b]) for b in reversed(range(len(found.accuracy)))]
    rows += [(page.label("probe_commonest"), found.commonest), (page.label("probe_shuffled"), found.shuffled)]
    return pd.DataFrame([(r, name, k, float(share), f"{100 * share:.0f}", percent(share))
                         for r, (name, shares) in enumerate(rows) for k, share in zip(DISTANCES, shares)],
                        columns=["row", "probe", "back", "share", "shown", "exact"])


def _lines(page: Lesson, run: Run, found: Probed, block: int, i: int) -> list[tuple[str, str]]:
    n, share = found.counted, found.accuracy[block, i]
    read_off = found.entropy[i] - found.bits[block, i]
    total = float((found.entropy - found.bits[-1])[1:].sum())
    return [(page.label("numbers_probe_share", n=grouped(n)),
             rf"\frac{{{round(share * n)}}}{{{n}}} = {latex_number(share)}"),
            (page.label("numbers_probe_bits", size=grouped(found.size), full=readable(math.log2(found.size))),
             rf"{latex_operand(found.entropy[i])} - {latex_operand(found.bits[block, i])} = "
             rf"{latex_number(read_off)}\ \text{{bits}}"),
            (page.label("numbers_probe_sum", n=len(DISTANCES) - 1, last=len(found.accuracy) - 1,
                        full=readable((len(DISTANCES) - 1) * math.log2(found.size)), d=run.model.config.d_model),
             rf"\sum_k (\text{{frequencies}}_k - \text{{probe}}_k) = {latex_number(total)}\ \text{{bits}}")]


def _question(page: Lesson, found: Probed) -> Question:
    """After which block the token four back is read off best."""
    i = DISTANCES.index(4)
    best = int(found.accuracy[:, i].argmax())
    return page.question("probe", [_name(page, b) for b in range(len(found.accuracy))], best,
                         share=percent(found.accuracy[best, i]), last=percent(found.accuracy[-1, i]))
