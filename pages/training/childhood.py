"""A model's childhood: one slider over the saved moments of its training, with its losses, scores, guesses and an
attention pattern at each.
"""
import math
from bisect import bisect

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import induction as induction_heads
from core.analysis import stream_and_heads
from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot
from core.app.parts.guard import fragment
from core.app.state import Run, model_choice, reader
from core.app.state import run as runs
from core.base.markdown import code
from core.figures.lines import Axis
from core.figures.numbers import grouped, latex_number, latex_operand, percent, readable
from core.learning import teacher_forcing
from core.model.checkpoints import Milestone
from pages.training.shared import (
    PREFIX,
    attached,
    chart_height,
    fraction,
    keep,
    loss_and_exponential,
    nats,
    place_of,
    show_curve,
    show_guesses,
    show_pattern,
    side_by_side,
)

PLAYING = "training_playing"          # of the session: whether it plays
EVERY = 1.6                           # seconds of each moment while it plays
N_GUESSES, N_REPEATED, N_SEQUENCES = 7, 14, 4
BEFORE = 4                            # moments before the steepest rise in the close-up
SAMPLE_SHOWN, PRESENTED = 90, 58      # characters of the sample; on a projector, where they fill a line
LIMITS = (1 / 20, 1 / 3, 2 / 3)       # shares of the steps, between the options of the question


def predict(page: Lesson, run: Run) -> Prediction | None:
    """In which part of the training half of the loss's fall is over."""
    name = model_of(run)
    if name is None:
        return None
    moments = cache.moments(name)
    first, last = first_loss(moments[0]), first_loss(moments[-1])

    def truth(_: int) -> Truth:
        half = halfway(moments)
        share = half.step / moments[-1].step
        return Truth(bisect(LIMITS, share), said=percent(share, 0), values={
            "half": grouped(half.step), "loss": readable(first_loss(half)), "share": percent(share, 0)})

    return Prediction("childhood", Options([page.label(f"half_{i}") for i in range(len(LIMITS) + 1)]), truth,
                      {"first": readable(first), "last": readable(last), "steps": grouped(moments[-1].step)})


def halfway(moments: tuple[Milestone, ...]) -> Milestone:
    """The first moment at which at least half of the loss's fall from the first moment to the last is over."""
    middle = (first_loss(moments[0]) + first_loss(moments[-1])) / 2
    return next(moment for moment in moments if first_loss(moment) <= middle)


def model_of(run: Run) -> str | None:
    """The loaded model, or else one that was kept at moments of its training; None if there is none."""
    return next((base for base in (cache.name_and_step(run.model_name)[0], *cache.model_names())
                 if cache.moments(base)), None)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    name = model_of(run)
    if name is None:
        return cannot(page.label("childhood_none"))
    moments = cache.moments(name)
    at = place_of("milestone", len(moments), len(moments) - 1)
    moment, last = moments[at], at == len(moments) - 1
    past = runs.read(cache.shared_model(name if last else f"{name}{cache.MOMENT}{moment.step}", run.device), run.text)
    _controls(page, past, moments, at)
    title = _title(page, past, name, moment)
    sample = code(shortened(moment.sample, PRESENTED if reader.present() else SAMPLE_SHOWN))
    if reader.present():          # one picture of the scores, and the pattern that makes them
        st.markdown(page.label("childhood_goes_on", steps=grouped(moment.step), sample=sample))
        curves, pattern = st.columns([7, 5], gap="medium")
    else:
        st.markdown(f"**{title}**  \n{page.label('childhood_sample', prompt=code(moment.prompt), sample=sample)}")
        curves, guesses, pattern = st.columns([5, 3, 4], gap="medium")
        with guesses:
            st.caption(page.label("caption_guesses"))
            show_guesses(page, "guesses", past.tokenizer, past.trace.probs[-1], N_GUESSES, 95)
    with curves:
        _curves(page, moments, at)
    with pattern:
        _pattern(page, past, name, run.device)
    return Reading(_lines(page, past, moments, at), _question(page, name, moments, run.device),
                   [induction_heads.induction, stream_and_heads.induction_score, stream_and_heads.previous_token_score],
                   {"childhood.csv": lambda: table(moments)}, ".st-key-training_childhood_loss", title)


def _controls(page: Lesson, past: Run, moments: tuple[Milestone, ...], at: int) -> None:
    """Draw the slider, play and pause, and the button that makes this moment the model of all lessons."""
    widget = f"{PREFIX}milestone_pick"
    st.session_state[widget] = at
    with side_by_side("bottom"):
        st.select_slider(page.label("milestone"), range(len(moments)), key=widget,
                         format_func=lambda i: grouped(moments[i].step),
                         on_change=lambda: keep(milestone=st.session_state[widget]))
        playing = bool(st.session_state.get(PLAYING))
        st.button(page.label("pause" if playing else "play"), key="training_play",
                  icon=":material/pause:" if playing else ":material/play_arrow:", on_click=_play,
                  args=(not playing, at, len(moments)))
        st.button(page.label("everywhere"), key="training_everywhere", disabled=model_choice.shown() == past.model_name,
                  on_click=reader.apply, args=({"model": past.model_name},), help=page.label("everywhere_help"))
    if playing:
        _tick(at, len(moments))


def _play(start: bool, at: int, n: int) -> None:
    st.session_state[PLAYING] = start
    if start and at == n - 1:
        keep(milestone=0)


def _tick(at: int, n: int) -> None:
    """Move on by one moment after EVERY seconds; the first call of the fragment is its drawing."""
    st.session_state["training_ticks"] = 0

    def tick() -> None:
        st.session_state["training_ticks"] += 1
        if st.session_state["training_ticks"] > 1:
            keep(milestone=at + 1)
            st.session_state[PLAYING] = at + 1 < n - 1
            st.rerun()

    fragment(tick, run_every=EVERY)()


def _title(page: Lesson, past: Run, name: str, moment: Milestone) -> str:
    best, token = past.trace.probs[-1].double().max(dim=-1)
    return page.label("childhood_title", name=name, steps=grouped(moment.step),
                      tokens=grouped(moment.tokens_seen), loss=readable(first_loss(moment)),
                      token=code(past.tokenizer.visible(int(token))), p=percent(float(best)))


def shortened(sample: str, most: int = SAMPLE_SHOWN) -> str:
    """The first `most` characters of a text in one line."""
    line = sample.strip().replace("\n", "⏎")
    return line if len(line) <= most else line[:most].rstrip() + " …"


def first_loss(moment: Milestone) -> float:
    """The held-out loss on text of the training's kind, which is the first of the record."""
    return next(iter(moment.held_out.values()))


def _curves(page: Lesson, moments: tuple[Milestone, ...], at: int) -> None:
    """Chart the losses and the scores over the moments, with the picked one marked."""
    with side_by_side():
        st.caption(page.label("caption_childhood_present" if reader.present() else "caption_childhood"))
        late = st.toggle(page.label("late"), **attached("late"))
    first, steps = max(0, steepest(moments) - BEFORE) if late else 0, [moment.step for moment in moments]
    losses = [first_loss(moment) for moment in moments]
    low, high = min(losses[first:]), max(losses[first:])
    bounds = (math.floor(20 * low - 1) / 20, math.ceil(20 * high + 1) / 20) if first else (0.0, float(math.ceil(high)))
    scores = {name: [getattr(moment, name) for moment in moments]
              for name in ("induction_score", "previous_token_score")}
    shown = [("loss", {"held_out": losses}, "", bounds, 230),
             ("scores", scores, page.label("axis_moments"), (0.0, 1.0), -28 if reader.present() else 205)]
    for chart, lines, title, domain, less in shown[reader.present():]:
        show_curve(page, f"childhood_{chart}", "line_childhood",
                   {line: (steps, values) for line, values in lines.items()},
                   Axis(title, (steps[first], steps[-1])), Axis(page.label(f"axis_childhood_{chart}"), domain),
                   chart_height(less), changes={steps[max(at, first)]: ""}, points=True)


def induction_head(name: str, device: str) -> tuple[int, int]:
    """The layer and head with the highest induction score in the trained model."""
    def find() -> tuple[int, int]:
        head = induction_heads.induction(cache.shared_model(name, device).runner, N_SEQUENCES).best_induction_head
        return head.layer, head.head

    return cache.result(("becoming an induction head", name, device), find, lambda _: 16)


def repeated(past: Run) -> tuple[int, ...]:
    """A repeated random sequence like those that the scores are measured on, but shorter."""
    return tuple(induction_heads.repeated_sequences(past.model, 1, N_REPEATED)[0].tolist())


def _pattern(page: Lesson, past: Run, name: str, device: str) -> None:
    layer, head = induction_head(name, device)
    ids = repeated(past)
    pattern = past.trace_of(ids).blocks[layer].pattern[head]
    score = stream_and_heads.induction_score(pattern.double(), torch.tensor(ids))
    caption = page.label("caption_becoming", head=f"{layer}.{head}", score=readable(float(score)))
    st.caption(caption)
    show_pattern(page, "childhood_pattern", pattern, [past.tokenizer.visible(i) for i in ids], caption,
                 -15 if reader.present() else 95)


def table(moments: tuple[Milestone, ...]) -> pd.DataFrame:
    """The measures at each moment, a row for each."""
    return pd.DataFrame([{"step": moment.step, "tokens_seen": moment.tokens_seen, **moment.held_out,
                          "induction_score": moment.induction_score,
                          "previous_token_score": moment.previous_token_score,
                          "sample": moment.sample} for moment in moments])


def steepest(moments: tuple[Milestone, ...]) -> int:
    """The moment i from which the induction score rises most, to i + 1."""
    return int(np.argmax(np.diff([moment.induction_score for moment in moments])))


def _lines(page: Lesson, past: Run, moments: tuple[Milestone, ...], at: int) -> list[tuple[str, str]]:
    moment, size = moments[at], past.model.config.vocab_size
    loss, preds = first_loss(moment), teacher_forcing.predict(past.trace.logits, past.token_ids)
    chance = math.log(size)
    lines = [(page.label("numbers_held_out"), loss_and_exponential(r"\mathcal{L}", loss)),
             (page.label("numbers_uniform", n=size),
              rf"\ln {size} = {latex_number(chance)}, \qquad {fraction(latex_operand(loss), latex_operand(chance))} = "
              f"{latex_number(loss / chance)}"),
             (page.label("numbers_scores"), rf"\text{{induction}} = {latex_number(moment.induction_score)}, \qquad "
                                            rf"\text{{previous token}} = {latex_number(moment.previous_token_score)}")]
    if preds.n:
        lines.append((page.label("numbers_prompt_then", n=preds.n),
                      f"{fraction(latex_operand(preds.total), preds.n)} = {nats(preds.mean)}"))
    return lines


def _question(page: Lesson, name: str, moments: tuple[Milestone, ...], device: str) -> Question:
    """How a text that can be copied goes on, for the model of a moment before the induction score rises and for the
    last one.
    """
    prompt, early = page.label("question_childhood_prompt"), moments[max(0, steepest(moments) - BEFORE)]
    before, after = (_next(f"{name}{cache.MOMENT}{early.step}", device, prompt), _next(name, device, prompt))
    pairs = list(dict.fromkeys([(before, after), (after, before), (after, after), (before, before)]))
    step = grouped(early.step)
    options = [page.label("question_childhood_option", before=code(one), after=code(other), step=step)
               for one, other in pairs]
    order = sorted(range(len(options)), key=options.__getitem__)
    return page.question("childhood", [options[i] for i in order], order.index(0), prompt=prompt,
                         step=step, score=readable(early.induction_score),
                         last=readable(moments[-1].induction_score), before=code(before), after=code(after))


def _next(name: str, device: str, prompt: str) -> str:
    """The most probable next token."""
    then = runs.read(cache.shared_model(name, device), prompt)
    return then.tokenizer.visible(int(then.trace.logits[-1].argmax()))
