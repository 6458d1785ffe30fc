"""Strategies: greedy, random, top-k, top-p and beam search from one prompt with one seed, with measures of each text.
"""
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.evaluation.samples import distinct_share
from core.figures.numbers import latex_number, latex_operand, plain_number, readable
from core.language.strategies import Continuation, write_side_by_side
from core.model.generation import beam_search
from core.model.sampling import SamplingConfig
from pages.generation.shared import GREEDY, PREFIX, Start, attached, controls, in_turns, note, read, start

NAMES = ("greedy", "random", "top_k", "top_p", "beam")
DRAWN = NAMES[1:4]          # these depend on the seed
N_SEEDS, GRAM = 10, 4
KS = (1, 2, 5, 40)          # of top-k, whose texts the question compares
LEAST_LENGTH = 8            # tokens, of texts that the question before the picture compares
MEASURES = ("log_prob", "surprisal", "distinct", "repeated")
# of a projector, which has room for two texts from their first token to their last, and for the measures that tell
# them apart
PRESENTED, PRESENTED_MEASURES = ("greedy", "random"), ("log_prob", "surprisal", "repeated")
# Texts of several strategies under each other, their tokens coloured by probability, with the measures of each.
_picture = token_view("generation_strategies", __file__)


@dataclass(frozen=True)
class Scene:
    """The text of each strategy by name and, on request, the texts of N_SEEDS seeds (many)."""

    begin: Start
    seed: int
    texts: dict[str, Continuation]
    many: dict[str, tuple[Continuation, ...]]


def configs() -> dict[str, SamplingConfig]:
    """The sampling of each strategy except beam search; the temperature is 1, so that they differ by one rule each."""
    return {"greedy": GREEDY, "random": SamplingConfig(), "top_k": SamplingConfig(top_k=read("top_k") or None),
            "top_p": SamplingConfig(top_p=read("top_p"))}


def measures(text: Continuation) -> tuple[float, ...]:
    """The MEASURES of a text."""
    return text.log_prob, text.surprisal, text.distinct(2), text.repeated(GRAM)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls, the texts and, on request, the averages; return their Reading."""
    with controls(page, *["top_k", "top_p", "width"] * (not reader.present()), "dice"):
        st.toggle(page.label("averaged", n=N_SEEDS), help=page.label("averaged_help"), **attached("averaged"))
    begin, seed = start(run), reader.selection().seed
    scene, whole = _scene(page, run, begin, seed)
    _picture(message(page, run, scene), key=f"{PREFIX}strategies", on_settings=lambda _: None)
    title = page.label("strategies_twin",
                       texts="; ".join(f"{name_of(page, name)}: {code(_decoded(run, text))}, ln P = "
                                       f"{readable(text.log_prob)}" for name, text in scene.texts.items()))
    return Reading(_lines(page, scene), _question(page, run, scene) if whole else None,
                   [write_side_by_side, beam_search, distinct_share],
                   {"strategies.csv": lambda: _table(page, run, scene)}, ".strategies-picture",
                   title, _numbers(page, scene))


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask whose text is the least probable to the model, token for token."""
    begin, jobs = start(run), [(config, reader.selection().seed) for config in configs().values()]
    if begin.length < LEAST_LENGTH:
        return None

    def truth(guess: int) -> Truth:
        *_, texts = in_turns(run, write_side_by_side, begin.token_ids, jobs, begin.length)
        surprisals = [text.surprisal for text in texts]
        worst = int(np.argmax(surprisals))
        again = [sum(repeats(text.token_ids)) for text in texts[:2]]
        return Truth(worst, said=readable(surprisals[worst]), own=readable(surprisals[guess]),
                     seen=0 if again[0] > again[1] else 1 if again[0] < again[1] else 2,
                     values={"name": name_of(page, NAMES[worst]), "surprisal": readable(surprisals[worst]),
                             "greedy": readable(surprisals[0])})

    options = [name_of(page, name, "before_strategies") for name in NAMES[:4]]
    return Prediction("strategies", Options(options), truth)


def name_of(page: Lesson, name: str, labels: str = "strategy") -> str:
    """A strategy's name with its settings, as one of the `labels`."""
    return page.label(f"{labels}_{name}", k=read("top_k") or "∞", p=readable(read("top_p")), width=read("width"))


def _scene(page: Lesson, run: Run, begin: Start, seed: int) -> tuple[Scene, bool]:
    """The texts written so far, and whether they are all: first greedy and the drawn ones, then beam search, then the
    other seeds.
    """
    jobs = tuple((config, seed) for config in configs().values())
    drawn, whole = _texts(page, run, begin, jobs, page.label("strategies_progress"))
    texts, many = dict(zip(NAMES, drawn)), {}
    if whole:
        texts["beam"], whole = _beam(page, run, begin, read("width"))
    if whole and read("averaged"):
        many, whole = _many(page, run, begin, seed)
    return Scene(begin, seed, texts, many), whole


def _texts(page: Lesson, run: Run, begin: Start, jobs: tuple, label: str) -> tuple[tuple[Continuation, ...], bool]:
    """A text for each job, as far as they are written, and whether they are finished."""
    def steps() -> Iterator[Part]:
        texts = ()
        for i, texts in enumerate(in_turns(run, write_side_by_side, begin.token_ids, jobs, begin.length), 1):
            yield Part(texts, i, begin.length)

    return growing_results.growing(run.loaded.key("generation strategies", begin, jobs), steps,
                                   lambda value: 100 * sum(len(text.token_ids) + 1 for text in value), label)


def _many(page: Lesson, run: Run, begin: Start, seed: int) -> tuple[dict[str, tuple[Continuation, ...]], bool]:
    jobs = tuple((configs()[name], seed + i) for name in DRAWN for i in range(N_SEEDS))
    texts, whole = _texts(page, run, begin, jobs, page.label("averages_progress", n=N_SEEDS))
    return {name: texts[i * N_SEEDS:(i + 1) * N_SEEDS] for i, name in enumerate(DRAWN)}, whole


def _beam(page: Lesson, run: Run, begin: Start, width: int) -> tuple[Continuation, bool]:
    def steps() -> Iterator[Part]:
        for i, (best, *_) in enumerate(in_turns(run, beam_search, begin.token_ids, width, begin.length), 1):
            yield Part(Continuation(best.token_ids[len(begin.token_ids):], best.log_probs), i, begin.length)

    return growing_results.growing(run.loaded.key("generation beam text", begin, width), steps,
                                   lambda value: 100 * len(value.token_ids), page.label("beam_progress", width=width))


def repeats(token_ids: Sequence[int], n: int = GRAM) -> list[bool]:
    """For each token whether it belongs to an n-gram that occurs earlier in the text.

    >>> repeats([1, 2, 1, 2, 3], n=2)
    [False, False, True, True, False]
    """
    seen, marked = set(), [False] * len(token_ids)
    for i in range(len(token_ids) - n + 1):
        gram = tuple(token_ids[i:i + n])
        if gram in seen:
            marked[i:i + n] = [True] * n
        seen.add(gram)
    return marked


def message(page: Lesson, run: Run, scene: Scene) -> dict:
    """The message to strategies.js."""
    rows, shown = [], PRESENTED_MEASURES if reader.present() else MEASURES
    at = operator.itemgetter(*map(MEASURES.index, shown))
    for name, text in scene.texts.items():
        if reader.present() and name not in PRESENTED:
            continue
        numbers = [readable(value) for value in at(measures(text))]
        means = [readable(value) for value in at(_means(scene.many[name]))] if name in scene.many else None
        rows.append({"name": name_of(page, name), "note": page.label(f"strategy_{name}_note"),
                     "tokens": [run.tokenizer.visible(i) for i in text.token_ids],
                     "p": [round(math.exp(value), 5) for value in text.log_probs], "again": repeats(text.token_ids),
                     "numbers": numbers, "means": means})
    return page.header("strategies", note=note(page, scene.begin)) | {
        "rows": rows, "columns": [page.label(f"measure_{name}") for name in shown], "many": page.label("mean_of")}


def _means(texts: Sequence[Continuation]) -> list[float]:
    """The means of the MEASURES over texts; a text too short for a measure is left out of its mean."""
    values = np.array([measures(text) for text in texts])
    return [float(np.nanmean(column)) if np.isfinite(column).any() else math.nan for column in values.T]


def _decoded(run: Run, text: Continuation) -> str:
    return run.tokenizer.decode(list(text.token_ids)).replace("\n", "⏎")


def _numbers(page: Lesson, scene: Scene) -> pd.DataFrame:
    rows = [(name_of(page, name), *map(plain_number, measures(text)),
             *map(plain_number, _means(scene.many[name]) if name in scene.many else ()))
            for name, text in scene.texts.items()]
    heads = [page.label("column_strategy"), *_measures(page)]
    if scene.many:
        heads += [f"{measure}, {page.label('mean_of')}" for measure in _measures(page)]
    return pd.DataFrame([row + ("",) * (len(heads) - len(row)) for row in rows], columns=heads)


def _table(page: Lesson, run: Run, scene: Scene) -> pd.DataFrame:
    every = ([(name, scene.seed, text) for name, text in scene.texts.items()]
             + [(name, scene.seed + i, text)
                for name, texts in scene.many.items() for i, text in enumerate(texts) if i])
    table = page.table([(name_of(page, name), seed, run.tokenizer.decode(list(text.token_ids)))
                        for name, seed, text in every], "strategy", "seed", "text")
    table[_measures(page)] = [measures(text) for *_, text in every]
    return table


def _measures(page: Lesson) -> list[str]:
    return [page.label(f"measure_{name}").replace("|", " ") for name in MEASURES]


def _lines(page: Lesson, scene: Scene) -> list[tuple[str, str]]:
    lines = []
    for name in ("greedy", "beam"):
        text = scene.texts.get(name, Continuation())
        if text.token_ids:
            lines.append((page.label("numbers_surprisal", name=name_of(page, name), n=len(text.token_ids)),
                          rf"-\frac{{\ln P}}{{n}} = \frac{{{latex_operand(-text.log_prob)}}}{{{len(text.token_ids)}}} "
                          rf"= {latex_number(text.surprisal)}"))
    text = scene.texts["greedy"]
    n_grams = len(text.token_ids) - GRAM + 1
    if n_grams > 0:
        different = round(text.distinct(GRAM) * n_grams)
        lines.append((page.label("numbers_repeated", name=name_of(page, "greedy"), n=GRAM),
                      rf"1 - \frac{{{different}}}{{{n_grams}}} = {latex_number(text.repeated(GRAM))}"))
    return lines


def _question(page: Lesson, run: Run, scene: Scene) -> Question:
    """Question: up to which k does top-k write what greedy decoding writes?"""
    def answer() -> tuple[int, str]:
        jobs = [(SamplingConfig(top_k=k), scene.seed) for k in KS]
        *_, texts = in_turns(run, write_side_by_side, scene.begin.token_ids, jobs, scene.begin.length)
        same = [text.token_ids == scene.texts["greedy"].token_ids for text in texts]
        last = same.index(False) - 1 if False in same else len(KS) - 1
        return last, page.label("because_k", k=KS[last])

    return Question("k", page.label("question_k", seed=scene.seed), list(map(str, KS)), answer,
                    about=(run.key("strategies"), scene.seed))
