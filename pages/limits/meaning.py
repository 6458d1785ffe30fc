"""Parrot or meaning: which choices need the structure of a sentence, and which follow from its words alone; each test
is counted over many items.
"""
import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.statistics import Z_95, Proportion
from core.app.compute import cache, growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.parts.charts import look
from core.app.state import Run, address, reader
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import latex_number, latex_operand, percent, plain_number, readable
from core.language import word_order
from core.language.word_order import READINGS, Answer
from pages.limits import charts as figures
from pages.limits.shared import PREFIX, attached, captioned_choice, keep, own_seed, read, say_sample, show, step_of

LEAST_WORDS = 2                     # before the question, that can be shuffled
LIST, LIST_PRESENT = 200, 100
TOKENS = 180                        # that cost as much as an item of every test in every reading
LEFT = (0.34, 0.9)                  # shares that separate the options of the question
# The list of a test's items, of which one is picked.
_picture = token_view("limits_items", __file__)


@dataclass(frozen=True)
class Scene:
    """The answers to every test in every reading, the picked test and its picked item."""

    answers: dict[str, dict[str, tuple[Answer, ...]]]     # test -> reading -> items
    test: str
    item: int

    @property
    def whole(self) -> tuple[Answer, ...]:
        """The answers to the picked test, in the whole reading."""
        return self.answers[self.test]["whole"]

    @property
    def picked(self) -> Answer:
        return self.whole[self.item]

    def score(self, test: str, reading: str) -> Proportion:
        return word_order.score(self.answers[test][reading])

    def chance(self, test: str) -> float:
        return word_order.chance([answer.item for answer in self.answers[test]["whole"]])


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How many items the model still gets right when the words before the question are shuffled: as many, fewer, what
    blind choice gives, or fewer than that, by 95 % intervals.
    """
    test, n, seed = read("test"), _counted(run), read("seed")
    first = word_order.items(test, n, seed)[0]
    if len(first.context.split()) < LEAST_WORDS:
        return None

    def truth(_guess: int) -> Truth:
        given = [answers(run, test, n, seed, reading) for reading in READINGS]
        whole, shuffled, last = map(word_order.score, given)
        chance = word_order.chance([answer.item for answer in given[0]])
        fewer = whole.interval[0] > shuffled.interval[1]
        return Truth(1 + _beside(shuffled, chance) if fewer else 0,
                     said=page.label("before_meaning_said", right=shuffled.right, n=n), seen=_beside(last, chance),
                     values={"whole": whole.right, "shuffled": shuffled.right, "chance": percent(chance, 0)})

    return Prediction("meaning", Options([page.label(f"before_meaning_{k}") for k in range(4)]), truth,
                      {"n": n, "prompt": first.prompt, "right": first.options[0].strip(),
                       "mixed": first.read("shuffled", random.Random(f"shuffle {seed}")),
                       "test": page.label(f"test_{test}")}, (test, n, seed))


def _beside(score: Proportion, chance: float) -> int:
    """Place the 95 % interval of a score: 0 above chance, 1 around it, 2 below it."""
    low, high = score.interval
    return 0 if low > chance else 2 if high < chance else 1


def _counted(run: Run) -> int:
    """The items of each test that are counted: the reader's n, of a large model the first ones of those."""
    whole = int(read("n"))
    return whole // step_of(run, TOKENS * whole)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls, the chart of all tests and the items of one; return what they show."""
    left, right = st.columns([8, 5] if reader.present() else [5, 4], gap="medium")
    with left, st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        captioned_choice(page, "n")
        own_seed(page, said=page.label("seed_help"))
    with right:
        st.selectbox(page.label("test"), list(word_order.TESTS), format_func=lambda test: page.label(f"test_{test}"),
                     **attached("test"))
    with left:
        whole = int(read("n"))
        say_sample(page, run, TOKENS * whole, "meaning", counted=_counted(run), whole=whole)
        scene = _scene(page, run)
        title = _title(page, scene)
        st.markdown(f"**{title}**")
        _chart(page, scene)
    with right:
        _items(page, run, scene)
    return Reading(_lines(page, scene), _question(page, run, scene),
                   [word_order.items, word_order.answered, word_order.score, Proportion],
                   {"items.csv": lambda: _table(page, scene), "scores.csv": lambda: _scores(page, scene)},
                   f".st-key-{PREFIX}shares", title, _scores(page, scene), below=lambda: _positions(page))


def _positions(page: Lesson) -> None:
    """Draw the three positions of the debate, and what each would predict of these tests."""
    if not reader.leaves_out(f"{PREFIX}positions"):
        with st.container(key=f"{PREFIX}positions"):
            st.markdown(page.text("positions"))


def _scene(page: Lesson, run: Run) -> Scene:
    """The answers to all tests in all readings, computed one after the other."""
    n, seed, test = _counted(run), read("seed"), read("test")

    def steps() -> Iterator[Part]:
        results, total = {name: {} for name in word_order.TESTS}, len(word_order.TESTS) * len(READINGS)
        for done, (name, reading) in enumerate(itertools.product(word_order.TESTS, READINGS), 1):
            results[name][reading] = answers(run, name, n, seed, reading)
            yield Part(results if done == total else None, done, total)

    def restore(kept: dict) -> dict[str, dict[str, tuple[Answer, ...]]]:
        return {name: {reading: tuple(map(Answer, items := word_order.items(name, n, seed),
                                          word_order.prompts_of(items, reading, seed), map(tuple, log_probs)))
                       for reading, log_probs in readings.items()} for name, readings in kept.items()}

    results = growing_results.result(run.loaded.key("structure", n, seed), steps,
                                     lambda _: 1_000 * n * len(word_order.TESTS) * len(READINGS),
                                     page.label("meaning_working"), restore)
    return Scene(results, test, min(read("item"), len(results[test]["whole"]) - 1))


def answers(run: Run, test: str, n: int, seed: int, reading: str) -> tuple[Answer, ...]:
    """The model's answers to one test in one reading, computed once for all readers."""
    key = run.loaded.key("structure", test, n, seed, reading)
    return cache.result(key, lambda: tuple(word_order.answered(run.loaded.runner, run.tokenizer,
                                                               word_order.items(test, n, seed), reading, seed)),
                        lambda value: 1_000 * len(value))


def _title(page: Lesson, scene: Scene) -> str:
    low = {test: scene.score(test, "whole").interval[0] for test in scene.answers}
    beyond = [test for test in low if low[test] > max(scene.chance(test), scene.score(test, "shuffled").interval[1])]
    no_better = [test for test in low if low[test] <= scene.chance(test)]
    order, blind = (", ".join(page.label(f"test_{test}") for test in tests) or page.label("none")
                    for tests in (beyond, no_better))
    return page.label("meaning_title", order=order, blind=blind)


def _chart(page: Lesson, scene: Scene) -> None:
    """Chart the shares of all tests."""
    tests = list(scene.answers)
    scores = {page.label(f"reading_{reading}"): [scene.score(test, reading) for test in tests] for reading in READINGS}
    show(figures.shares([page.label(f"test_{test}") for test in tests], scores, [scene.chance(test) for test in tests],
                        (page.label("axis_share"), page.label("chance")), tests.index(scene.test),
                        **look(316, presenting=295)), "shares")


def _items(page: Lesson, run: Run, scene: Scene) -> None:
    st.markdown(page.label(f"about_{scene.test}"))
    entries = [{"ask": answer.prompt, "said": answer.said.strip(), "should": answer.item.options[0].strip(),
                "right": answer.right} for answer in scene.whole]
    height = LIST_PRESENT if reader.present() else LIST
    _picture(page.header("items") | {"items": entries, "height": height,
              "settings": {"item": scene.item}}, key=f"{PREFIX}items",
             on_settings=lambda settings: keep(item=settings["item"]))
    st.markdown(" · ".join(f"{code(option.strip())} {percent(math.exp(value))}"
                           for option, value in zip(scene.picked.item.options, scene.picked.log_probs)))
    opened = run.with_text(scene.picked.prompt)
    link = address.link({"prompt": opened.text, "position": len(opened.token_ids) - 1,
                        "target": run.tokenizer.encode(scene.picked.item.options[0])[0]}, "next_token")
    st.markdown(page.label("items_open", link=link))


def _lines(page: Lesson, scene: Scene) -> list[tuple[str, str]]:
    answer, score, z = scene.picked, scene.score(scene.test, "whole"), Z_95
    p, n = score.share, score.n
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = map(latex_number, score.interval)
    rival = int(np.argmax(answer.log_probs[1:])) + 1
    right, wrong = (rf"p(\text{{{answer.item.options[i].strip()}}})" for i in (0, rival))
    best, next_best = answer.log_probs[0], answer.log_probs[rival]
    return [
        (page.label("numbers_item", prompt=code(answer.prompt)),
         rf"\ln \frac{{{right}}}{{{wrong}}} = {latex_operand(best)} - ({latex_operand(next_best)}) = "
         rf"{latex_number(best - next_best)}"),
        (page.label("numbers_share", test=page.label(f"test_{scene.test}")),
         rf"\hat p = \frac{{{score.right}}}{{{n}}} = {latex_number(p)}"),
        (page.label("numbers_wilson", z=readable(z, 4)),
         rf"\frac{{\hat p + \frac{{z^2}}{{2n}} \pm z \sqrt{{\frac{{\hat p (1 - \hat p)}}{{n}} + "
         rf"\frac{{z^2}}{{4n^2}}}}}}{{1 + \frac{{z^2}}{{n}}}} = \frac{{{latex_operand(centre)} \pm "
         rf"{latex_operand(half)}}}{{{latex_operand(1 + z * z / n)}}} = [{low},\ {high}]")]


def _scores(page: Lesson, scene: Scene) -> pd.DataFrame:
    def written(score: Proportion) -> str:
        low, high = (plain_number(end, 2) for end in score.interval)
        return f"{score.right} / {score.n} [{low}, {high}]"

    return pd.DataFrame([[page.label(f"test_{test}"), *(written(scene.score(test, reading)) for reading in READINGS),
                          plain_number(scene.chance(test))] for test in scene.answers],
                        columns=[page.label("test"), *page.labels("reading").values(), page.label("chance")])


def _table(page: Lesson, scene: Scene) -> pd.DataFrame:
    return pd.DataFrame(
        [{page.label("test"): page.label(f"test_{test}"),
          page.label("column_reading"): page.label(f"reading_{reading}"), page.label("column_prompt"): answer.prompt,
          page.label("column_right"): option.strip() == answer.item.options[0].strip(),
          page.label("column_option"): option.strip(), page.label("column_ln"): value}
         for test, readings in scene.answers.items() for reading, answered in readings.items() for answer in answered
         for option, value in zip(answer.item.options, answer.log_probs)])


def _question(page: Lesson, run: Run, scene: Scene) -> Question:
    """How many of the right answers (or of all items, if none is right) stay right when the words of the context are
    reversed.
    """
    right = [i for i, answer in enumerate(scene.whole) if answer.right]
    counted, kind = (right, "right") if right else (range(len(scene.whole)), "all")
    backwards = answers(run, scene.test, _counted(run), read("seed"), "reversed")
    n_right, n = sum(backwards[i].right for i in counted), len(counted)
    return Question("backwards", page.label(f"question_backwards_{kind}", test=page.label(f"test_{scene.test}"), n=n,
                                            prompt=code(backwards[0].prompt)),
                    [page.label(f"backwards_{name}") for name in ("few", "some", "most")],
                    int(np.searchsorted(LEFT, n_right / n, side="right")),
                    page.label("because_backwards", left=n_right, n=n))
