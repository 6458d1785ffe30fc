"""The second stage: supervised fine-tuning on pairs of a prompt and an answer, the loss on the answers alone."""
import math
from collections.abc import Hashable, Sequence

import pandas as pd
import streamlit as st
import torch

from core.app.base.markdown import unmarked
from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.app.frame import Lesson, Question, Reading, job_controls
from core.app.state import Run
from core.figures.numbers import latex_number, latex_operand, plain_number, readable
from core.learning import low_rank, tuning, tuning_texts
from core.learning.tuning import Pair, SupervisedTuner
from core.learning.tuning_texts import Fact, TextPair
from core.model.transformer import Transformer
from pages.training.shared import PREFIX, attached, chart_height, choice, read
from pages.training.tuning_parts import (
    asked_control,
    bars,
    comparison,
    controls,
    curves,
    ids_of,
    kl_line,
    last_of,
    learned_line,
    learning,
    old_line,
    old_of,
    one_line,
    table,
    tuner_of,
    visible,
    written_before,
    written_now,
)

N_TRAIN, N_HELD_OUT = 200, 24
MOST_WORDS = 40             # characters of the reader's own topic and food


def settings(page: Lesson) -> None:
    """What it is to learn."""
    choice(page, "pairs")
    if read("pairs") == "fact":
        for name in ("topic", "food"):
            st.text_input(page.label(name), max_chars=MOST_WORDS, placeholder=page.label(f"{name}_default"), width=150,
                          label_visibility="collapsed", **attached(name))


def draw(page: Lesson, run: Run, loaded: LoadedModel) -> Reading:
    """The instrument; returns what it shows."""
    train, held_out = text_pairs(page)
    key = ("tuned", loaded.name, read("pairs"), fact_of(page) if read("pairs") == "fact" else None, read("parts"),
           read("rank") if read("parts") == "adapters" else 0, read("seed"))
    settings = read("parts"), read("rank"), read("seed")        # read here: a job has no session

    def make() -> SupervisedTuner:
        return SupervisedTuner(loaded.model, old_of(loaded), encoded(loaded, train),
                               encoded(loaded, held_out), *settings)

    tuner = tuner_of(key, make)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        running = controls(page, key, tuner, learning(key, make), loaded)
        asked_control(page, len(held_out))
    example = held_out[read("example") % len(held_out)]
    given = run.text if read("asked") == "prompt" else example.prompt
    job_controls.follow(page, key, running, lambda _: _picture(page, loaded, key, tuner_of(key, make), example, given))
    title, pair = _title(page, tuner), encoded(loaded, [example])[0]
    before = prices_before(loaded, pair)
    paid = (before, before if not tuner.step
                    else last_of("prices", (key, tuner.step, pair), lambda: prices(tuner.copy(), pair)))
    return Reading(_lines(page, loaded, key, tuner, paid, given), _question(page, loaded, pair), _functions(tuner),
                   {"tuning.csv": lambda: table(tuner.history)}, f".st-key-{PREFIX}tuning_pictures",
                   title, _mask_table(page, loaded, paid, pair), summary={page.label("view_tuning"): unmarked(title)})


def _functions(tuner: SupervisedTuner) -> list:
    return ([tuning.answers, tuning.token_log_probs, tuning.masked_loss, tuning.Tuner._one_step]
            + ([low_rank.LowRank] if tuner.parts == "adapters" else []))


def fact_of(page: Lesson) -> Fact:
    """The reader's made-up fact, or the lesson's where a field is empty."""
    return Fact(*(" ".join(read(name).split())[:MOST_WORDS].strip() or page.label(f"{name}_default")
                  for name in ("topic", "food")))


def text_pairs(page: Lesson) -> tuple[Sequence[TextPair], Sequence[TextPair]]:
    """The pairs of today's kind: to train on, and held out."""
    return tuning_texts.pairs(read("pairs"), N_TRAIN, N_HELD_OUT, read("seed"),
                              fact_of(page) if read("pairs") == "fact" else None)


def encoded(loaded: LoadedModel, pairs: Sequence[TextPair]) -> list[Pair]:
    """The pairs as tokens: end of text before and behind. One that is longer than the context loses its end."""
    tokenizer, n = loaded.tokenizer, loaded.model.config.n_context
    made = []
    for pair in pairs:
        prompt = (tokenizer.first, *tokenizer.encode(pair.prompt))[:n // 2]
        made.append(Pair(prompt, (*tokenizer.encode(pair.answer), tokenizer.end_of_text)[:n - len(prompt)]))
    return made


@torch.no_grad()
def prices(model: Transformer, pair: Pair) -> list[float]:
    """−ln p of each token of the answer, nats."""
    return (-tuning.token_log_probs(model, tuning.answers([pair])).double()).tolist()


def prices_before(loaded: LoadedModel, pair: Pair) -> list[float]:
    """The same of the model as it was, kept for everybody."""
    return cache.result(("prices", loaded.name, pair), lambda: prices(loaded.model, pair), lambda made: 8 * len(made))


def _title(page: Lesson, tuner: SupervisedTuner) -> str:
    first, last = tuner.history[0], tuner.history[-1]
    learned = f"{tuner.n_learned:,}".replace(",", "\u202f")
    if not last.step:
        return page.label("tuned_title_before", n=learned, loss=readable(first.held_out), round=tuning.ROUND)
    return page.label("tuned_title", steps=last.step, seconds=f"{last.seconds:.0f}", before=readable(first.held_out),
                      now=readable(last.held_out), right=readable(100 * last.right),
                      old_before=readable(first.old), old=readable(last.old))


def _picture(page: Lesson, loaded: LoadedModel, key: Hashable, tuner: SupervisedTuner, example: TextPair,
             given: str) -> None:
    """Title, one pair with its mask, curves, texts and distribution, of what stands now."""
    st.markdown(f"**{_title(page, tuner)}**")
    pair, ids = encoded(loaded, [example])[0], ids_of(loaded, given)
    before, now = written_before(loaded, ids), written_now(key, tuner, loaded, ids)
    with st.container(key=f"{PREFIX}tuning_pictures"):
        losses, texts, beside = st.columns([4, 6, 3], gap="medium")
        with losses:
            st.caption(page.label("caption_tuning_losses"))
            curves(page, "losses", ("held_out", "old"), list(tuner.history), chart_height(95),
                   {page.label("level_old"): tuner.history[0].old})
        with texts, st.container(gap="xsmall"):
            st.caption(page.label("caption_mask" if read("asked") == "pair" else "caption_own_prompt",
                                  n=len(pair.answer), all=len(pair.prompt) + len(pair.answer) - 1))
            st.markdown(one_line(given) + (f" → {visible(loaded, pair.answer)}" if read("asked") == "pair" else ""))
            comparison(page, before, now)
        with beside:
            bars(page, loaded, before, now)


def _mask_table(page: Lesson, loaded: LoadedModel, paid: tuple[list[float], list[float]], pair: Pair) -> pd.DataFrame:
    """Every token that is predicted, whether it counts, and what it costs: paid before and now."""
    text = pair.prompt + pair.answer
    blank = [math.nan] * (len(pair.prompt) - 1)
    before, after = ([plain_number(price) for price in blank + each] for each in paid)
    return pd.DataFrame({page.label("table_token"): [loaded.tokenizer.visible(i) for i in text[1:]],
                         page.label("table_counts"): [i >= len(blank) for i in range(len(text) - 1)],
                         page.label("table_before"): before, page.label("table_now"): after})


def _lines(page: Lesson, loaded: LoadedModel, key: Hashable, tuner: SupervisedTuner,
           paid: tuple[list[float], list[float]], given: str) -> list[tuple[str, str]]:
    n, ids = len(paid[0]), ids_of(loaded, given)
    before, now = (
        rf"\frac{{{' + '.join(latex_operand(p) for p in each) if n <= 4 else latex_operand(sum(each))}}}{{{n}}} = "
        rf"{latex_number(sum(each) / n)}\ \text{{nats}}" for each in paid)
    return [(page.label("numbers_masked"),
             rf"L = \frac{{1}}{{n}} \sum_{{t\,\in\,\text{{answer}}}} -\ln p(w_t \mid w_{{<t}}), \qquad n = {n}"),
            (page.label("numbers_masked_before"), before), (page.label("numbers_masked_now", steps=tuner.step), now),
            learned_line(page, tuner), old_line(page, tuner),
            kl_line(page, written_before(loaded, ids), written_now(key, tuner, loaded, ids))]


def _question(page: Lesson, loaded: LoadedModel, pair: Pair) -> Question:
    """How many tokens of a pair are paid for."""
    n, total = len(pair.answer), len(pair.prompt) + len(pair.answer) - 1
    options = sorted({n, total, total - n, n + 1})
    return Question("tuned", page.label("question_tuned", pair=f"{one_line(loaded.tokenizer.decode(pair.prompt))} → "
                                                               f"{visible(loaded, pair.answer)}"),
                    [str(option) for option in options], options.index(n),
                    page.label("because_tuned", n=n, prompt=total - n))
