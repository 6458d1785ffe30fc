"""Parrot or meaning: tests of what needs the structure of a sentence and what the company of its words already tells,
each counted over many items.
"""
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.statistics import Z_95, Proportion
from core.app.base.markdown import code
from core.app.compute import cache, growing_results
from core.app.compute.growing_results import Part
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.components.lib.token_view import token_view
from core.figures.numbers import latex_number, latex_operand, plain_number, probability, readable
from core.language import word_order
from core.language.word_order import READINGS, Answered
from pages.limits import word_order_charts as figures
from pages.limits.shared import PREFIX, attached, choice, keep, read, show

CHART, CHART_PRESENT = 316, 262     # px
LIST, LIST_PRESENT = 200, 100
LEFT = (0.34, 0.9)                  # shares between the options of the question
# The items of a test, each in three readings, to pick one.
_picture = token_view("limits_items", __file__)


@dataclass(frozen=True)
class Scene:
    """Every test in every reading."""

    found: dict[str, dict[str, tuple[Answered, ...]]]     # test -> reading -> items
    test: str
    item: int

    @property
    def own(self) -> dict[str, tuple[Answered, ...]]:
        return self.found[self.test]

    @property
    def picked(self) -> Answered:
        return self.own["whole"][self.item]

    def score(self, test: str, reading: str) -> Proportion:
        return word_order.score(self.found[test][reading])

    def chance(self, test: str) -> float:
        return word_order.chance([one.item for one in self.found[test]["whole"]])


def draw(page: Lesson, run: Run) -> Reading:
    """The controls, the chart of all tests and the items of one; returns what they show."""
    left, right = st.columns([5, 4], gap="medium")
    with left, st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width="content", gap=None):
            st.caption(page.label("n"))
            choice(page, "n")
        st.number_input(page.label("seed"), 0, 999_999, step=1, width=150, help=page.label("seed_help"),
                        **attached("seed"))
    with right:
        st.selectbox(page.label("test"), list(word_order.TESTS), format_func=lambda test: page.label(f"test_{test}"),
                     **attached("test"))
    with left:
        here = _scene(page, run)
        title = _title(page, here)
        _chart(page, here)
    with right:
        _items(page, run, here)
    return Reading(_lines(page, here), _question(page, run, here),
                   [word_order.items, word_order.answered, word_order.score, Proportion],
                   {"items.csv": lambda: _table(page, here), "scores.csv": lambda: _scores(page, here)},
                   f".st-key-{PREFIX}shares", title, _scores(page, here))


def _scene(page: Lesson, run: Run) -> Scene:
    """All answers."""
    n, seed, test = int(read("n")), int(read("seed")), read("test")

    def steps() -> Iterator[Part]:
        found, total = {}, len(word_order.TESTS) * len(READINGS)
        for i, one in enumerate(word_order.TESTS):
            found[one] = {}
            for j, reading in enumerate(READINGS, 1):
                found[one][reading] = answers(run, one, n, seed, reading)
                yield Part(found if i * len(READINGS) + j == total else None, i * len(READINGS) + j, total)

    found = growing_results.result(run.loaded.key("structure", n, seed), steps, lambda made: 100,
                                   page.label("meaning_working"))
    return Scene(found, test, min(read("item"), len(found[test]["whole"]) - 1))


def answers(run: Run, test: str, n: int, seed: int, reading: str) -> tuple[Answered, ...]:
    """The answers of one test in one reading, computed once for all readers."""
    key = run.loaded.key("structure", test, n, seed, reading)
    return cache.result(key, lambda: tuple(word_order.answered(run.loaded.runner, run.tokenizer,
                                                               word_order.items(test, n, seed), reading, seed)),
                        lambda made: 1_000 * len(made))


def _title(page: Lesson, here: Scene) -> str:
    beyond = [test for test in here.found if here.score(test, "whole").interval[0]
                                             > max(here.chance(test), here.score(test, "shuffled").interval[1])]
    no_better = [test for test in here.found if here.score(test, "whole").interval[0] <= here.chance(test)]
    said = page.label("meaning_title", order=_listed(page, beyond), blind=_listed(page, no_better))
    st.markdown(f"**{said}**")
    return said


def _listed(page: Lesson, tests: list[str]) -> str:
    return ", ".join(page.label(f"test_{test}") for test in tests) or page.label("none")


def _chart(page: Lesson, here: Scene) -> None:
    tests = list(here.found)
    scores = {page.label(f"reading_{reading}"): [here.score(test, reading) for test in tests] for reading in READINGS}
    show(figures.shares([page.label(f"test_{test}") for test in tests], scores, [here.chance(test) for test in tests],
                        (page.label("axis_share"), page.label("chance")), reader.theme(), reader.scale(),
                        CHART_PRESENT if reader.present() else CHART, tests.index(here.test)), "shares")


def _items(page: Lesson, run: Run, here: Scene) -> None:
    st.markdown(page.label(f"about_{here.test}"))
    entries = [{"ask": one.prompt, "said": one.said.strip(), "should": one.item.options[0].strip(), "right": one.right}
               for one in here.own["whole"]]
    height = LIST_PRESENT if reader.present() else LIST
    _picture({"text": page.labels("items"), "scale": reader.scale(), "items": entries, "height": height,
              "settings": {"item": here.item}}, key=f"{PREFIX}items",
             on_settings=lambda settings: keep(item=settings["item"]))
    st.markdown(" · ".join(f"{code(option.strip())} {probability(math.exp(value))}"
                           for option, value in zip(here.picked.item.options, here.picked.log_probs)))
    there = run.with_text(here.picked.prompt)
    link = reader.link({"prompt": there.text, "position": len(there.token_ids) - 1,
                        "target": run.tokenizer.encode(here.picked.item.options[0])[0]}, "next_token")
    st.markdown(page.label("items_open", link=link))


def _lines(page: Lesson, here: Scene) -> list[tuple[str, str]]:
    one, test = here.picked, page.label(f"test_{here.test}")
    score, z = here.score(here.test, "whole"), Z_95
    p, n = score.share, score.n
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = score.interval
    other = int(np.argmax(one.log_probs[1:])) + 1
    right, wrong = (rf"\text{{{one.item.options[i].strip()}}}" for i in (0, other))
    return [
        (page.label("numbers_item", prompt=code(one.prompt)),
         rf"\ln \frac{{p({right})}}{{p({wrong})}} = {latex_operand(one.log_probs[0])} - "
         rf"({latex_operand(one.log_probs[other])}) = {latex_number(one.log_probs[0] - one.log_probs[other])}"),
        (page.label("numbers_share", test=test), rf"\hat p = \frac{{{score.right}}}{{{n}}} = {latex_number(p)}"),
        (page.label("numbers_wilson", z=readable(z, 4)),
         rf"\frac{{\hat p + \frac{{z^2}}{{2n}} \pm z \sqrt{{\frac{{\hat p (1 - \hat p)}}{{n}} + "
         rf"\frac{{z^2}}{{4n^2}}}}}}{{1 + \frac{{z^2}}{{n}}}} = \frac{{{latex_operand(centre)} \pm "
         rf"{latex_operand(half)}}}{{{latex_operand(1 + z * z / n)}}} = [{latex_number(low)},\ {latex_number(high)}]")]


def _scores(page: Lesson, here: Scene) -> pd.DataFrame:
    rows = []
    for test in here.found:
        row = {page.label("test"): page.label(f"test_{test}")}
        for reading in READINGS:
            score = here.score(test, reading)
            row[page.label(f"reading_{reading}")] = (f"{score.right} / {score.n} [{plain_number(score.interval[0], 2)},"
                                                     f" {plain_number(score.interval[1], 2)}]")
        rows.append(row | {page.label("chance"): plain_number(here.chance(test))})
    return pd.DataFrame(rows)


def _table(page: Lesson, here: Scene) -> pd.DataFrame:
    return pd.DataFrame(
        [{page.label("test"): page.label(f"test_{test}"),
          page.label("column_reading"): page.label(f"reading_{reading}"), page.label("column_prompt"): one.prompt,
          page.label("column_right"): option.strip() == one.item.options[0].strip(),
          page.label("column_option"): option.strip(), page.label("column_ln"): value}
         for test, readings in here.found.items() for reading, found in readings.items() for one in found
         for option, value in zip(one.item.options, one.log_probs)])


def _question(page: Lesson, run: Run, here: Scene) -> Question:
    """How many of the right answers (of all items, where none is right) are right when the words of the context are
    read backwards.
    """
    whole = here.own["whole"]
    right = [i for i, one in enumerate(whole) if one.right]
    asked, kind = (right, "right") if right else (range(len(whole)), "all")
    backwards = answers(run, here.test, int(read("n")), int(read("seed")), "reversed")
    left = sum(backwards[i].right for i in asked)
    return Question("backwards", page.label(f"question_backwards_{kind}", test=page.label(f"test_{here.test}"),
                                            n=len(asked), prompt=code(backwards[0].prompt)),
                    [page.label(f"backwards_{name}") for name in ("few", "some", "most")],
                    int(np.searchsorted(LEFT, left / len(asked), side="right")),
                    page.label("because_backwards", left=left, n=len(asked)))
