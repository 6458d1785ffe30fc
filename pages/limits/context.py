"""Context: what e(c), the last token's final vector, keeps of the tokens before it; each token is exchanged in turn,
and the next-token distribution and the vector are compared with what they were; or linear probes read it.
"""
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis import context
from core.analysis.attribution import rank_correlation
from core.analysis.context import Exchange
from core.app.compute import growing_results
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot
from core.app.parts.charts import look
from core.app.state import Run
from core.base.markdown import code
from core.figures.numbers import grouped, latex_number, latex_operand, readable
from pages.limits import charts as figures
from pages.limits import probe
from pages.limits.shared import PREFIX, choice, own_seed, read, show

LEAST_TOKENS, MOST_TOKENS = 6, 64       # of a context; the last ones are taken, after the first
FALLS = -0.3                            # Spearman's ρ of KL and distance from which on the dots are said to fall
TURNS = 25                              # degrees from which on a vector is said to turn far


@dataclass(frozen=True)
class Scene:
    """A context of N tokens and what exchanging each of them does; `least`: the token whose exchange does least."""

    run: Run
    ids: tuple[int, ...]
    found: Exchange

    @property
    def tokens(self) -> list[str]:
        return [self.run.tokenizer.visible(i) for i in self.ids]

    @property
    def least(self) -> int:
        return int(np.argmin(self.found.kl[1:])) + 1


def scene_of(run: Run) -> Scene:
    """The context of today's prompt, computed once for all readers."""
    ids, seed = tuple(run.token_ids[:1] + run.token_ids[1:][-(MOST_TOKENS - 1):]), read("seed")
    found = growing_results.made(run.loaded.key("exchanged", ids, seed),
                                 lambda: context.exchanged(run.loaded.runner, ids, seed), lambda _: 24 * len(ids) + 200)
    return Scene(run, ids, found)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask how exchanging the farthest word changes the vector: not, in less than half of its numbers, more with hardly
    a turn, or more with a wide turn.
    """
    n = min(len(run.token_ids), MOST_TOKENS)
    if n < LEAST_TOKENS or read("trace") == "probe":
        return None
    first = run.tokens[len(run.token_ids) - n + 1]

    def truth(_guess: int) -> Truth:
        found, d = scene_of(run).found, run.model.config.d_model
        changed, cosine = int(found.changed[1]), float(found.cosine[1])
        angle = math.degrees(math.acos(min(max(cosine, -1.0), 1.0)))
        distances = np.arange(n - 1)[::-1].astype(float)
        falls = rank_correlation(found.kl[1:], distances) < FALLS
        return Truth(2 + (angle >= TURNS) if 2 * changed >= d else int(changed > 0),
                     said=page.label("before_context_said", changed=changed, d=d, angle=readable(angle, 2)),
                     seen=0 if falls else 1,
                     values={"cosine": readable(cosine), "kl": readable(found.kl[1], 2), "angle": readable(angle, 2),
                             "changed": changed, "d": d})

    options = [page.label(f"before_context_{k}", angle=TURNS) for k in range(4)]
    return Prediction("context", Options(options), truth, {"token": first, "back": n - 2}, (read("seed"), n))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw what exchanging each token does, by its distance from the end, or what probes read; return what it shows."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        is_probe = choice(page, "trace") == "probe"
        if is_probe:
            probe.controls(page)
        elif len(run.token_ids) >= LEAST_TOKENS:
            own_seed(page, said=page.label("context_seed"))
    if is_probe:
        return probe.draw(page, run)
    if len(run.token_ids) < LEAST_TOKENS:
        return cannot(page.label("context_short", n=LEAST_TOKENS))
    scene = scene_of(run)
    title = _title(page, scene)
    st.markdown(f"**{title}**")
    table = _table(scene)
    for quantity, height, presenting in (("kl", 190, 205), ("cosine", 150, 150)):
        show(figures.by_distance(table, quantity, (page.label("axis_back"), page.label(f"axis_{quantity}")),
                                 **look(height, presenting=presenting)), f"context_{quantity}")
    return Reading(_lines(page, scene), _question(page, scene), [context.exchanged],
                   {"context.csv": lambda: table}, f".st-key-{PREFIX}context_kl", title)


def _title(page: Lesson, scene: Scene) -> str:
    found, i = scene.found, scene.least
    return page.label("context_title", times=context.TIMES, token=code(scene.tokens[i]), back=len(scene.ids) - 1 - i,
                      kl=readable(found.kl[i], 2), cosine=readable(found.cosine[i]), changed=int(found.changed[i]),
                      d=scene.run.model.config.d_model, most=readable(float(found.kl[1:].max())))


def _table(scene: Scene) -> pd.DataFrame:
    found, n = scene.found, len(scene.ids)
    return pd.DataFrame({"back": np.arange(n)[::-1][1:], "token": scene.tokens[1:], "kl": found.kl[1:],
                         "cosine": found.cosine[1:], "changed": found.changed[1:]})


def _lines(page: Lesson, scene: Scene) -> list[tuple[str, str]]:
    config, t, i = scene.run.model.config, len(scene.ids), scene.least
    d, word = config.d_model, math.log2(config.vocab_size)
    holds = context.bits_kept(d)
    return [(page.label("numbers_vector_bits", d=d), rf"d \cdot 16 = {d} \cdot 16 = {holds}\ \text{{bits}}"),
            (page.label("numbers_context_bits", t=t),
             rf"t \log_2 |V| = {t} \cdot \log_2 {config.vocab_size} = {latex_number(t * word)}\ \text{{bits}}"),
            (page.label("numbers_crossing"),
             rf"\frac{{{holds}}}{{\log_2 {config.vocab_size}}} = \frac{{{holds}}}{{{latex_operand(word)}}} = "
             rf"{latex_number(holds / word)}"),
            (page.label("numbers_exchange", times=context.TIMES, token=code(scene.tokens[i])),
             rf"\mathrm{{KL}}(p \,\|\, q) = {latex_number(scene.found.kl[i])}, \qquad \cos = "
             rf"{latex_number(scene.found.cosine[i])}")]


def _question(page: Lesson, scene: Scene) -> Question:
    """From how many tokens on a vector of 16-bit numbers cannot hold every context."""
    config = scene.run.model.config
    right = math.floor(context.bits_kept(config.d_model) / math.log2(config.vocab_size)) + 1
    options = sorted({right, config.d_model, 16 * config.d_model, max(2, right // 16)})
    return page.question("context", [grouped(count) for count in options], options.index(right), d=config.d_model,
                         size=config.vocab_size, bits=context.bits_kept(config.d_model), right=right,
                         each=readable(math.log2(config.vocab_size)))
