"""Tone: how often the model goes on angrily after calm and after rude beginnings, counted over what it writes."""
import math
from collections.abc import Iterator

import pandas as pd
import streamlit as st

from core.analysis.statistics import Z_95, Proportion
from core.app.classroom.rude import is_fit
from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, Question, Reading
from core.app.parts.charts import look
from core.app.state import Run, reader
from core.base.markdown import escaped
from core.figures.numbers import latex_number, latex_operand, percent, readable
from core.language import tone
from core.language.tone import TONES, Continuation
from pages.limits import charts as figures
from pages.limits.shared import PREFIX, own_seed, read, say_sample, show, step_of

N_EACH, N_TOKENS = 12, 24       # continuations of each beginning, and tokens of each
EXAMPLES = 2                    # of each tone that are shown
TOKENS = 32                     # of a beginning with its continuation


def written(page: Lesson, run: Run, seed: int) -> list[Continuation]:
    """All continuations, written once for all readers; of a large model those of a sample of the pairs."""
    places = range(0, len(tone.sets()["calm"]), step_of(run, _tokens()))
    total = len(TONES) * len(places)

    def steps() -> Iterator[Part]:
        found = []
        for done, name in enumerate(TONES, 1):
            found += tone.continuations(run.loaded.runner, run.tokenizer, name, places, N_EACH, N_TOKENS, seed)
            yield Part(found if done == len(TONES) else None, done * len(places), total)

    return growing_results.result(run.loaded.key("tone", seed, places), steps, lambda value: 300 * len(value),
                                  page.label("tone_working"))


def _tokens() -> int:
    """Count the tokens of all continuations."""
    return len(TONES) * len(tone.sets()["calm"]) * N_EACH * TOKENS


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the share of angry continuations of each tone, and examples; return what they show."""
    own_seed(page, said=page.label("tone_seed"))
    whole = len(tone.sets()["calm"])
    say_sample(page, run, _tokens(), "tone", counted=len(range(0, whole, step_of(run, _tokens()))), whole=whole)
    found = written(page, run, read("seed"))
    shares = {name: tone.share(found, name) for name in TONES}
    low, high = shares["calm"].interval, shares["rude"].interval
    title = page.label("tone_title", calm=percent(shares["calm"].share), rude=percent(shares["rude"].share),
                       n=shares["calm"].n, verdict=page.label("tone_apart" if low[1] < high[0] else "tone_near"))
    st.markdown(f"**{title}**")
    show(figures.tones([page.label(f"tone_{name}") for name in TONES], [shares[name] for name in TONES],
                       page.label("tone_axis"), **look(150, presenting=150)), "tone")
    if not reader.present():
        st.table(_examples(page, found))
    return Reading(_lines(page, shares), _question(page, shares), [tone.continuations, tone.angry_words, Proportion],
                   {"continuations.csv": lambda: _table(found)}, f".st-key-{PREFIX}tone", title)


def _examples(page: Lesson, found: list[Continuation]) -> pd.DataFrame:
    """Some continuations of each tone that may stand before a class, those with an angry word first; a table reads
    Markdown in its cells.
    """
    rows = []
    for name in TONES:
        ordered = sorted((one for one in found if one.tone == name and is_fit(one.text)), key=lambda one: not one.angry)
        rows += [(page.label(f"tone_{name}"), escaped(one.beginning), escaped(one.text.strip()),
                  ", ".join(one.angry) or "–") for one in ordered[:EXAMPLES]]
    return page.table(rows, "tone", "beginning", "continuation", "angry").set_index(page.label("column_tone"))


def _lines(page: Lesson, shares: dict[str, Proportion]) -> list[tuple[str, str]]:
    lines, z = [], Z_95
    for name, found in shares.items():
        p, n = found.share, found.n
        centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        low, high = map(latex_number, found.interval)
        lines.append((page.label("numbers_tone", tone=page.label(f"tone_{name}"), z=readable(z, 4)),
                      rf"\hat p = \frac{{{found.right}}}{{{n}}} = {latex_number(p)}, \qquad \frac{{"
                      rf"{latex_operand(centre)} \pm {latex_operand(half)}}}{{{latex_operand(1 + z * z / n)}}} = "
                      rf"[{low},\ {high}]"))
    return lines


def _question(page: Lesson, shares: dict[str, Proportion]) -> Question:
    """Whether the two intervals overlap."""
    apart = shares["calm"].interval[1] < shares["rude"].interval[0]
    return page.question("tone", [page.label("tone_yes"), page.label("tone_no")], 0 if apart else 1,
                         calm=percent(shares["calm"].interval[1]), rude=percent(shares["rude"].interval[0]))


def _table(found: list[Continuation]) -> pd.DataFrame:
    return pd.DataFrame([(one.tone, one.beginning, one.text, " ".join(one.angry)) for one in found],
                        columns=["tone", "beginning", "continuation", "angry_words"])
