"""The first stage: the pretrained model, its training, and its continuation of a question."""
import math

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.app.lesson import Lesson, Question, Reading, job_controls
from core.app.parts.guard import fragment
from core.app.state import Run
from core.base.markdown import code, escaped
from core.figures.lines import Axis
from core.figures.numbers import grouped, latex_number, latex_operand, percent, readable
from core.learning import tuning
from core.model import checkpoints
from pages.training import fine_tuning
from pages.training import tuning_parts as parts
from pages.training.shared import (
    ask,
    chart_height,
    loss_and_exponential,
    nats,
    read,
    show_curve,
    show_guesses,
    side_by_side,
)
from pages.training.tuning_parts import N_BARS, PICTURES, one_line, output_before

STEP, settings = fine_tuning.STEP, fine_tuning.settings     # the given text is from one of its pairs


def draw(page: Lesson, run: Run, loaded: LoadedModel, place: DeltaGenerator) -> Reading:
    """Draw the instrument; return what it shows."""
    _, held_out = fine_tuning.text_pairs(page)
    example = held_out[read("example") % len(held_out)]
    given = parts.given_text(run, example.prompt)
    output, record = output_before(loaded, given), pretraining(loaded.name)
    title, above = _title(page, loaded, record), (page.label("caption_given"), one_line(given))
    # a fragment, as in the other stages, whose picture follows a training: Streamlit then updates the elements in place
    # and does not build them anew
    fragment(parts.picture, key=job_controls.JOB)(
        title, lambda: _curve(page, loaded, record), lambda: _texts(page, len(held_out), above, output),
        lambda: _next_tokens(page, loaded, output))
    return Reading(_lines(page, loaded, example, record), _question(page, loaded, example),
                   [tuning.token_log_probs, tuning.answers], {"pretraining.csv": lambda: record},
                   f".st-key-{PICTURES}", title)


def _texts(page: Lesson, n_held_out: int, above: tuple[str, str], output: parts.Output) -> None:
    with side_by_side():
        parts.asked_control(page, n_held_out)
    parts.texts(page, above, {"goes_on": output})


def _next_tokens(page: Lesson, loaded: LoadedModel, output: parts.Output) -> None:
    st.caption(page.label("caption_next_only"))
    show_guesses(page, "next_token", loaded.tokenizer, output.log_probs.exp(), N_BARS + 2, 120)


def pretraining(name: str) -> pd.DataFrame:
    """The total tokens seen, in millions, and the losses at each record of the training; empty where none was kept."""
    base, step = cache.name_and_step(name)
    rows, before, last = [], 0, 0
    for entry in checkpoints.training_record(base) if step is None else ():
        if entry["tokens_seen"] < last:                     # a new stage counts from 0
            before += last
        last = entry["tokens_seen"]
        rows.append({"millions": (before + last) / 1e6, "training_loss": entry["training_loss"],
                     "held_out": next(iter(entry["held_out"].values()))})
    return pd.DataFrame(rows, columns=["millions", "training_loss", "held_out"])


def _title(page: Lesson, loaded: LoadedModel, record: pd.DataFrame) -> str:
    name, n = escaped(loaded.title), grouped(loaded.model.n_parameters)
    if record.empty:
        return page.label("pretrained_title_unknown", name=name, n=n)
    return page.label("pretrained_title", name=name, n=n, millions=readable(record["millions"].iloc[-1]),
                      loss=readable(record["held_out"].iloc[-1]))


def _curve(page: Lesson, loaded: LoadedModel, record: pd.DataFrame) -> None:
    """Draw the caption and, if it is known, the held-out loss over the tokens."""
    config = loaded.model.config
    st.caption(page.label("caption_pretraining", layers=config.n_layers, heads=config.n_heads, d=config.d_model,
                          vocabulary=config.vocab_size))
    if not record.empty:
        x, y = (Axis(page.label(title), (0, math.ceil(record[name].max())), format=form)
                for title, name, form in (("axis_millions", "millions", "~s"), ("axis_loss", "held_out", "~g")))
        show_curve(page, "tuning_pretraining", "tuning_line",
                   {"held_out_text": (record["millions"], record["held_out"])}, x, y, chart_height(110))


def _lines(page: Lesson, loaded: LoadedModel, example, record: pd.DataFrame) -> list[tuple[str, str]]:
    pair = fine_tuning.encoded(loaded, [example])[0]
    losses = fine_tuning.losses_before(loaded, pair)
    total = sum(losses)
    lines = [(page.label("numbers_answer_price", answer=parts.visible(loaded, pair.answer)),
              f"{' + '.join(map(latex_operand, losses))} = {nats(total)}"),
             (page.label("numbers_answer_probability"),
              rf"e^{{-{latex_operand(total)}}} = {latex_number(math.exp(-total))}")]
    if not record.empty:
        held_out = float(record["held_out"].iloc[-1])
        lines.append((page.label("numbers_held_out"), loss_and_exponential(r"\mathcal{L}", held_out)))
    return lines


def _question(page: Lesson, loaded: LoadedModel, example) -> Question:
    """The pretrained model's most probable next token after an instruction."""
    log_probs = output_before(loaded, example.prompt).log_probs
    first = int(fine_tuning.encoded(loaded, [example])[0].answer[0])
    order = log_probs.topk(40).indices.tolist()

    def named(token: int) -> str:
        return code(loaded.tokenizer.visible(token))

    def p(token: int) -> str:
        return percent(math.exp(log_probs[token]))

    return ask(page, "pretrained", {first, order[9], order[39]}, order[0], named, prompt=one_line(example.prompt),
               token=named(order[0]), p=p(order[0]), answer=named(first), p_answer=p(first))
