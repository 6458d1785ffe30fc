"""The second stage: supervised fine-tuning on pairs of a prompt and an answer, the loss on the answers alone."""
import math
from collections.abc import Sequence

import pandas as pd
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.app.lesson import Lesson, Question, Reading
from core.app.state import Run, reader
from core.figures.numbers import grouped, latex_operand, plain_number, readable
from core.learning import low_rank, tuning, tuning_texts
from core.learning.tuning import Pair, SupervisedTuner
from core.learning.tuning_texts import Fact, TextPair
from core.model.transformer import Transformer
from pages.training import recorded_tuning
from pages.training import tuning_parts as parts
from pages.training.recorded_tuning import TuningRun
from pages.training.shared import ask, attached, chart_height, fraction, nats, one_of, read
from pages.training.tuning_parts import Stage, one_line, visible

STEP = "task"               # of the wizard, between the stage and the button
N_TRAIN, N_HELD_OUT = 200, 24
MOST_WORDS = 40             # characters of the reader's topic or food


def settings(page: Lesson) -> None:
    """Draw the choice of the pairs, and the fields of the made-up fact."""
    one_of(page, "pairs")
    if read("pairs") == "fact":
        for name in ("topic", "food"):
            st.text_input(page.label(name), max_chars=MOST_WORDS, placeholder=page.label(f"{name}_default"), width=150,
                          label_visibility="collapsed", **attached(name))


def draw(page: Lesson, run: Run, loaded: LoadedModel, place: DeltaGenerator) -> Reading:
    """Draw the instrument; return what it shows."""
    train, held_out = text_pairs(page)
    learned = parts.tuner_settings()        # read here: a job has no session

    def make() -> SupervisedTuner:
        return SupervisedTuner(loaded.model, parts.old_of(loaded), encoded(loaded, train), encoded(loaded, held_out),
                               *learned)

    example = held_out[read("example") % len(held_out)]
    pair = encoded(loaded, [example])[0]
    stage = Stage(page, loaded, ("tuned", loaded.name, read("pairs"), fact_of(page), *learned), make, len(held_out),
                  parts.given_text(run, example.prompt), place, recorded(page, loaded, learned))
    is_own = read("asked") == "prompt"
    above = (page.label("caption_own_prompt" if is_own else "caption_mask", n=len(pair.answer),
                        all=len(pair.prompt) + len(pair.answer) - 1),
             one_line(stage.given) + ("" if is_own else f" → {visible(loaded, pair.answer)}"))
    parts.draw_stage(stage, lambda: _title(stage), lambda: _losses(stage), above)
    tuner, losses = stage.tuner, losses_of(stage, pair)
    functions = [tuning.answers, tuning.token_log_probs, tuning.masked_loss, tuning.Tuner._one_step]
    return parts.reading(stage, _title(stage), _lines(stage, losses), question=_question(page, loaded, pair),
                         functions=functions + [low_rank.LowRank] * (tuner.parts == "adapters"),
                         data={"tuning.csv": lambda: parts.table(stage.history)},
                         table=_mask_table(page, loaded, losses, pair))


def recorded(page: Lesson, loaded: LoadedModel, learned: tuple[str, int, int]) -> TuningRun | None:
    """The recorded run of the present settings, if there is one."""
    if (loaded.name, learned, read("dice")) != (recorded_tuning.MODEL, recorded_tuning.LEARNED, recorded_tuning.DICE):
        return None
    own_fact = read("pairs") == "fact" and fact_of(page) != default_fact(page)
    return None if own_fact else recorded_tuning.tuning_run("tuned", read("pairs"))


def default_fact(page: Lesson) -> Fact:
    """The lesson's own made-up fact."""
    return Fact(*(page.label(f"{name}_default") for name in ("topic", "food")))


def fact_of(page: Lesson) -> Fact | None:
    """The reader's made-up fact, with the lesson's text for an empty field; None if the pairs are of another kind."""
    if read("pairs") != "fact":
        return None
    return Fact(*(" ".join(read(name).split())[:MOST_WORDS].strip() or page.label(f"{name}_default")
                  for name in ("topic", "food")))


def text_pairs(page: Lesson) -> tuple[Sequence[TextPair], Sequence[TextPair]]:
    """The pairs of the chosen kind: to train on, and held out."""
    return tuning_texts.pairs(read("pairs"), N_TRAIN, N_HELD_OUT, read("seed"), fact_of(page))


def encoded(loaded: LoadedModel, pairs: Sequence[TextPair]) -> list[Pair]:
    """The pairs as tokens with end of text before and after; a pair longer than the context loses its end."""
    tokenizer, n = loaded.tokenizer, loaded.model.config.n_context
    prompts = [(tokenizer.first, *tokenizer.encode(pair.prompt))[:n // 2] for pair in pairs]
    return [Pair(prompt, (*tokenizer.encode(pair.answer), tokenizer.end_of_text)[:n - len(prompt)])
            for prompt, pair in zip(prompts, pairs)]


@torch.no_grad()
def token_losses(model: Transformer, pair: Pair) -> list[float]:
    """−ln p of each token of the answer, in nats."""
    return (-tuning.token_log_probs(model, tuning.answers([pair])).double()).tolist()


def losses_before(loaded: LoadedModel, pair: Pair) -> list[float]:
    """The `token_losses` of the untuned model, shared by all readers."""
    return cache.result(("prices", loaded.name, pair), lambda: token_losses(loaded.model, pair),
                        lambda losses: 8 * len(losses))


def losses_of(stage: Stage, pair: Pair) -> tuple[list[float], list[float]]:
    """−ln p of each token of the answer, before and now."""
    before = losses_before(stage.loaded, pair)
    if stage.replay is not None:
        return before, stage.replay.examples[read("example") % stage.n_held_out].values
    return before, stage.now("prices", pair, before, lambda model: token_losses(model, pair))


def _title(stage: Stage) -> str:
    page, first, last = stage.page, stage.history[0], stage.history[-1]
    if not last.step:
        return page.label("tuned_title_before", n=grouped(stage.tuner.n_learned), loss=readable(first.held_out),
                          round=tuning.ROUND)
    control = control_of(stage)
    beside = "" if control is None or control.history[-1].step != last.step else page.label(
        "tuned_title_control", right=readable(100 * control.history[-1].right))
    return page.label("tuned_title", steps=last.step, seconds=f"{last.seconds:.0f}", before=readable(first.held_out),
                      now=readable(last.held_out), right=readable(100 * last.right),
                      control=beside, old_before=readable(first.old), old=readable(last.old))


def control_of(stage: Stage) -> TuningRun | None:
    """The recorded run of the same settings that began with random weights; None if there is none."""
    return None if stage.recorded is None else recorded_tuning.tuning_run("scratch", read("pairs"))


def _losses(stage: Stage) -> None:
    page, control = stage.page, control_of(stage)
    lines, ends = parts.values_of(stage.history, "held_out", "old"), {}
    st.caption(page.label("caption_tuning_losses"))
    if control is not None:
        lines |= {"scratch": parts.values_of(control.history, "held_out")["held_out"]}
        right = {"held_out": _right(stage, stage), "scratch": _right(stage, control), "old": None}
        ends = {line: page.label(f"tuning_end_{line}", right=n, n=stage.n_held_out) for line, n in right.items()}
    parts.curves(page, "losses", lines, chart_height(30 if reader.present() else 80), ends=ends)
    if control is not None and read("pairs") in recorded_tuning.FEW and not reader.present():
        st.caption(" ".join(_few(stage, n) for n in recorded_tuning.FEW[read("pairs")]))


def _few(stage: Stage, n: int) -> str:
    """How many held-out answers are right after the recorded runs on n pairs."""
    tuned, scratch = (_right(stage, recorded_tuning.tuning_run(name, f"{read('pairs')} {n}"))
                      for name in ("tuned", "scratch"))
    return stage.page.label("tuning_few", pairs=n, right=tuned, scratch=scratch)


def _right(stage: Stage, run: Stage | TuningRun) -> int:
    """The number of held-out answers that are right at the end of a run."""
    return round(stage.n_held_out * run.history[-1].right)


def _mask_table(page: Lesson, loaded: LoadedModel, losses: tuple[list[float], list[float]], pair: Pair) -> pd.DataFrame:
    """Every predicted token, whether it counts, and its loss. losses: of the answer's tokens, before and now."""
    text, n_free = pair.prompt + pair.answer, len(pair.prompt) - 1
    before, now = ([plain_number(price) for price in [math.nan] * n_free + each] for each in losses)
    return pd.DataFrame({page.label("table_token"): [loaded.tokenizer.visible(i) for i in text[1:]],
                         page.label("table_counts"): [i >= n_free for i in range(len(text) - 1)],
                         page.label("table_before"): before, page.label("table_now"): now})


def _lines(stage: Stage, losses: tuple[list[float], list[float]]) -> list[tuple[str, str]]:
    page, n = stage.page, len(losses[0])
    before, now = (f"{fraction(' + '.join(map(latex_operand, each if n <= 4 else [sum(each)])), n)} = "
                   f"{nats(sum(each) / n)}" for each in losses)
    return [(page.label("numbers_masked"),
             rf"\mathcal{{L}} = \frac{{1}}{{n}} \sum_{{t\,\in\,\text{{answer}}}} -\ln p(w_t \mid w_{{<t}}), "
             rf"\qquad n = {n}"),
            (page.label("numbers_masked_before"), before),
            (page.label("numbers_masked_now", steps=stage.history[-1].step), now)]


def _question(page: Lesson, loaded: LoadedModel, pair: Pair) -> Question:
    """How many tokens of a pair count in the loss."""
    n, total = len(pair.answer), len(pair.prompt) + len(pair.answer) - 1
    text = f"{one_line(loaded.tokenizer.decode(pair.prompt))} → {visible(loaded, pair.answer)}"
    return ask(page, "tuned", {total, total - n, n + 1}, n, pair=text, n=n, prompt=total - n)
