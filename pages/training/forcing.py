"""Teacher forcing: the model's guess, the true token and −log p at every position of the prompt, and the gradient of
one loss at the logits.
"""
import math

import pandas as pd
import streamlit as st

from core.analysis.arrays import to_numpy
from core.app.compute import cache
from core.app.lesson import Lesson, Place, Prediction, Question, Reading, Truth
from core.app.lesson.prediction import guess_of
from core.app.state import Run, reader
from core.base.markdown import code, unmarked
from core.components.lib.token_view import token_view
from core.figures.numbers import latex_number, latex_operand, percent, readable
from core.learning import teacher_forcing as forcing
from core.learning.teacher_forcing import Predictions
from pages.training import charts
from pages.training.shared import (
    PREFIX,
    ask,
    attached,
    chart_height,
    choice,
    fraction,
    keep,
    look,
    nats,
    read,
    show,
    side_by_side,
)

COLUMNS = f"{PREFIX}columns"
N_PUSHED = 7          # tokens whose gradient is drawn
LEAST_GUESSED = 4     # tokens of a text, to ask which surprises most
NATS = {"nats": 1.0, "bits": math.log(2)}     # in each unit
BARS, BARS_PRESENT = 175, 70
# A text under teacher forcing, a column for each position: the input token, the model's guess, the true next token, and
# −log p as a bar.
_picture = token_view("teacher_forcing", __file__)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which token of the text surprises most."""
    if len(run.token_ids) < LEAST_GUESSED:
        return None

    def truth(guess: int) -> Truth:
        losses = _predict(run, run.token_ids).losses
        at = int(losses.argmax()) + 1
        p, own = (percent(math.exp(-losses[i - 1])) for i in (at, guess))
        return Truth(at, said=p, own=own, values={"token": run.tokens[at], "p": p})

    return Prediction("forcing", Place(run.tokens, range(1, len(run.token_ids))), truth)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    with side_by_side("center", "medium"):
        unit = choice(page, "unit")
        is_packed = st.toggle(page.label("packed"), help=page.label("packed_help"), **attached("packed"))
    ids = packed_ids(run) if is_packed else run.token_ids
    preds, at = _predict(run, ids), 0
    if preds.n:
        at = _place(preds, read("place") if is_packed else reader.selection().position)
    tokens = [run.tokenizer.visible(i) for i in ids]
    title = _title(page, run, preds, tokens, unit, is_packed)
    st.markdown(f"**{title}**")
    columns, beside = st.columns([7, 3], gap="medium")
    with columns:
        _columns(page, run, preds, tokens, at, unit, title, None if is_packed else guess_of(page, "forcing", run),
                 lambda place: keep(place=place) if is_packed else reader.select(position=place))
    with beside:
        _push(page, run, ids, preds, at)
    functions = [forcing.predict, forcing.logit_gradient] + ([forcing.packed] if is_packed else [])
    return Reading(_lines(page, run, ids, tokens, preds, at), _question(page, run, tokens, preds), functions,
                   {"losses.csv": lambda: _table(run, tokens, preds)}, ".forcing-chart", title)


def packed_ids(run: Run) -> tuple[int, ...]:
    """The prompt's lines or sentences as documents in one row, cut at the context's length."""
    return forcing.packed([run.tokenizer.encode(document) for document in forcing.documents_of(run.text)],
                          run.tokenizer.end_of_text, run.model.config.n_context)


def _predict(run: Run, ids: tuple[int, ...]) -> Predictions:
    return cache.result(run.loaded.key("teacher forcing", ids), lambda: forcing.predict(run.trace_of(ids).logits, ids),
                        lambda _: 5 * 8 * len(ids))


def _place(preds: Predictions, asked: int) -> int:
    """The picked prediction: the index `asked`, if it has a true token, else that of the largest loss."""
    return asked if 0 <= asked < preds.n else int(preds.losses.argmax())


def _title(page: Lesson, run: Run, preds: Predictions, tokens: list[str], unit: str, is_packed: bool) -> str:
    if not preds.n:
        return page.label("forcing_title_empty")
    dearest = int(preds.losses.argmax())
    title = page.label("forcing_title" if preds.n > 1 else "forcing_title_one", n=preds.n,
                      mean=readable(preds.mean / NATS[unit]), unit=page.label(f"unit_{unit}"),
                      perplexity=readable(preds.perplexity), token=code(tokens[dearest + 1]),
                      loss=readable(preds.losses[dearest] / NATS[unit]), price=page.label(f"columns_loss_{unit}"),
                      p=percent(preds.p_true[dearest]))
    if is_packed:
        title += " " + page.label("forcing_title_packed", n=len(forcing.documents_of(run.text)))
    return title


def _columns(page: Lesson, run: Run, preds: Predictions, tokens: list[str], at: int, unit: str, title: str,
             guess: int | None, pick) -> None:
    """Draw the columns; pick(position) is called when the reader picks one. guess: the position of the token that the
    reader took for the most surprising.
    """
    per = NATS[unit]
    text = page.labels("columns") | {"twin": unmarked(title), "loss": page.label(f"columns_loss_{unit}"),
                                     "mean": page.label(f"columns_mean_{unit}")}
    header = {"tokens": tokens, "guesses": [run.tokenizer.visible(int(i)) for i in preds.guesses],
              "p_guess": preds.p_guess.tolist(), "p_true": preds.p_true.tolist(),
              "losses": (preds.losses / per).tolist(), "right": [int(rank) == 0 for rank in preds.rank],
              "mean": preds.mean / per if preds.n else None, "picked": at, "guess": -1 if guess is None else guess - 1,
              "height": BARS_PRESENT if reader.present() else BARS, "text": text, "scale": reader.scale()}
    _picture(header, key=COLUMNS, on_settings=lambda settings: pick(int(settings["place"])))


def _push(page: Lesson, run: Run, ids: tuple[int, ...], preds: Predictions, at: int) -> None:
    """Chart the gradient of the picked loss at the logits: the true token's entry and the largest others."""
    if not preds.n:
        return
    gradient, true = forcing.logit_gradient(run.trace_of(ids).logits[at], ids[at + 1]), ids[at + 1]
    others = [int(i) for i in gradient.topk(min(N_PUSHED, len(gradient))).indices if int(i) != true][:N_PUSHED - 1]
    st.caption(page.label("push_caption", token=code(run.tokenizer.visible(true))))
    show(charts.pushes([run.tokenizer.visible(i) for i in (true, *others)], to_numpy(gradient[[true, *others]]),
                       page.label("axis_push"), look(), chart_height(40)), "push")


def _lines(page: Lesson, run: Run, ids: tuple[int, ...], tokens: list[str], preds: Predictions,
           at: int) -> list[tuple[str, str]]:
    size = run.model.config.vocab_size
    uniform = (page.label("numbers_uniform", n=size),
               rf"-\ln \frac{{1}}{{{size}}} = \ln {size} = {latex_number(math.log(size))}")
    if not preds.n:
        return [uniform]
    p, loss, mean, total = preds.p_true[at], preds.losses[at], preds.mean, latex_operand(preds.total)
    return [
        (page.label("numbers_price", token=code(tokens[at + 1]), i=at + 1),
         rf"-\ln p = -\ln {latex_operand(p)} = {nats(loss)}{_in_bits(loss)}"),
        (page.label("numbers_mean", n=preds.n),
         rf"\mathcal{{L}} = {fraction(1, preds.n)} \sum_t -\ln p(w_t \mid w_{{<t}}) = "
         rf"{fraction(total, preds.n)} = {nats(mean)}{_in_bits(mean) if read('unit') == 'bits' else ''}"),
        (page.label("numbers_perplexity"),
         rf"e^{{\mathcal{{L}}}} = e^{{{latex_operand(mean)}}} = {latex_number(preds.perplexity)}"),
        (page.label("numbers_text"),
         rf"p(w_1 \dots w_{{{preds.n}}}) = \prod_t p(w_t \mid w_{{<t}}) = e^{{-{total}}} = "
         rf"10^{{{latex_number(-preds.total / math.log(10))}}}"),
        (page.label("numbers_push", token=code(tokens[at + 1])),
         rf"\frac{{\partial(-\ln p)}}{{\partial u}} = p - 1 = {latex_operand(p)} - 1 = {latex_number(p - 1)}"),
        uniform]


def _in_bits(loss: float) -> str:
    """A loss in nats made one in bits, in LaTeX."""
    return rf" = \frac{{{latex_operand(loss)}}}{{\ln 2}} = {latex_number(loss / math.log(2))}\ \text{{bits}}"


def _question(page: Lesson, run: Run, tokens: list[str], preds: Predictions) -> Question:
    """Ask for the largest loss when the token's probability doubles; if that cannot be, the loss of a uniform
    distribution.
    """
    if not preds.n or preds.p_true.min() > 0.5:
        size = run.model.config.vocab_size
        chance = math.log(size)
        return ask(page, "uniform", {0.0, 1.0, float(size)}, chance,
                   lambda loss: page.label("question_uniform_option", loss=readable(loss)), n=size,
                   loss=readable(chance))
    at = int(preds.losses.argmax())
    loss, token = float(preds.losses[at]), code(tokens[at + 1])
    return ask(page, "doubled", {loss / 2, 2 * loss, max(0.0, loss - 2)}, loss - math.log(2),
               lambda value: page.label("question_doubled_option", loss=readable(value)), token=token,
               loss=readable(loss), after=readable(loss - math.log(2)))


def _table(run: Run, tokens: list[str], preds: Predictions) -> pd.DataFrame:
    n = preds.n
    return pd.DataFrame({"position": range(1, n + 1), "read": tokens[:n],
                         "guess": [run.tokenizer.visible(int(i)) for i in preds.guesses[:n]],
                         "p_guess": preds.p_guess[:n], "true": tokens[1:n + 1], "p_true": preds.p_true,
                         "rank": preds.rank + 1, "nats": preds.losses, "bits": preds.losses / math.log(2)})
