"""Parts of the three stages of tuning: the model to tune, the tuners of a session, the controls, and the picture of one
prompt before and after.
"""
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pandas as pd
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from core.analysis import attribution
from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.app.lesson import Lesson, Reading, job_controls
from core.app.state import Run, reader
from core.base.markdown import code, escaped
from core.figures import residual_stream
from core.figures.lines import Axis
from core.figures.numbers import latex_number, latex_operand, readable
from core.learning import low_rank, tuning
from core.learning.tuning import OldText, Tuner, TuningStep
from core.model import checkpoints
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from core.model.transformer import Transformer
from pages.training import recorded_tuning
from pages.training.recorded_tuning import Example, TuningRun
from pages.training.shared import (
    PREFIX,
    adopt,
    chart_height,
    choice,
    fraction,
    keep,
    nats,
    newest,
    numeric,
    own_seed,
    read,
    reset_button,
    show,
    show_curve,
    show_guesses,
    side_by_side,
    take_home,
)

SMALL = recorded_tuning.MODEL
LEAST_CONTEXT = 96                  # tokens of context that the pairs need
TUNERS = "training_tuners"          # of the session: key -> a Tuner that has begun to learn, the latest last
MOST_TUNERS = 2
SHOWN = "training_tuning_shown"     # of the session: name -> (key, value) that was last computed with a tuned model
N_WRITTEN, N_BARS = 18, 5
PICTURES = f"{PREFIX}tuning_pictures"
T = TypeVar("T")
AXIS_STEPS = tuple(range(100, 2001, 100)) + (5_000, 10 ** 4, 10 ** 5)


@dataclass(frozen=True, eq=False)
class Output:
    """A model's output after a prompt: its greedy text, a sampled text, and ln p (|V|,) of the next token, float64."""

    greedy: str
    drawn: str
    log_probs: torch.Tensor

    @property
    def n_bytes(self) -> int:
        return 8 * len(self.log_probs) + len(self.greedy) + len(self.drawn)


@dataclass(frozen=True, eq=False)
class Stage:
    """A stage of tuning. key: of its tuner, which `make` creates; n_held_out: the number of examples; given: the text
    whose continuation is shown, the reader's prompt or that of the example; place: of the wizard's last step; recorded:
    the recorded run of these settings, if there is one.
    """

    page: Lesson
    loaded: LoadedModel
    key: Hashable
    make: Callable[[], Tuner]
    n_held_out: int
    given: str
    place: DeltaGenerator
    recorded: TuningRun | None = None

    @property
    def tuner(self) -> Tuner:
        """The tuner in its current state."""
        return tuner_of(self.key, self.make)

    @property
    def replay(self) -> TuningRun | None:
        """The recorded run, as long as the reader has not begun one."""
        begun = job_controls.running(self.page, self.key) or self.tuner.step     # in this order: it may end meanwhile
        return None if begun else self.recorded

    @property
    def history(self) -> Sequence[TuningStep]:
        """The records of the reader's run, or else of the recorded one."""
        return self.tuner.history if self.replay is None else self.replay.history

    @property
    def replayed(self) -> Example | None:
        """The picked example after the recorded run; None if that is not shown or the reader's prompt is given."""
        is_shown = self.replay is not None and read("asked") == "pair"
        return self.replay.examples[read("example") % self.n_held_out] if is_shown else None

    def latest(self, name: str, about: Hashable, compute: Callable[[], T]) -> T:
        """The result of `compute` for the tuner's current state; the last value of each name is kept."""
        shown, key = st.session_state.setdefault(SHOWN, {}), (self.key, self.tuner.step, about)
        if shown.get(name, (None,))[0] != key:
            shown[name] = (key, compute())
        return shown[name][1]

    def now(self, name: str, about: Hashable, before: T, compute: Callable[[Transformer], T]) -> T:
        """The result of `compute` for the tuned model; `before` where it has not learned yet."""
        tuner = self.tuner
        return self.latest(name, about, lambda: compute(tuner.copy())) if tuner.step else before

    def outputs(self) -> tuple[Output, Output]:
        """The model's outputs after the given text, before and now."""
        ids, before, dice = ids_of(self.loaded, self.given), output_before(self.loaded, self.given), read("dice")
        return before, self.now("written", (ids, dice), before, lambda model: write(model, self.loaded, ids, dice))


def base_of(run: Run) -> LoadedModel:
    """The model to tune: the small one, its untrained twin, or the loaded one."""
    if read("base") == "loaded":
        return run.loaded
    small = cache.shared_model(SMALL, "cpu")
    return untrained(small) if read("base") == "random" else small


def untrained(loaded: LoadedModel) -> LoadedModel:
    """A model of the same shape and tokenizer with random weights, shared by all readers."""
    def make() -> LoadedModel:
        twin = attribution.random_twin(loaded.model, 0)
        return replace(loaded, name=f"{loaded.name}-random", model=twin, runner=twin, is_random=True)

    return cache.result(("random twin", loaded.name), make, lambda twin: 4 * twin.model.n_parameters)


def old_of(loaded: LoadedModel) -> OldText:
    """Texts that the model has written itself, shared by all readers."""
    return cache.result(("old text", loaded.name), lambda: tuning.old_text(loaded.model), lambda old: old.n_bytes)


def tuner_settings() -> tuple[str, int, int]:
    """The arguments of a Tuner: which weights are learned, the rank of adapters (else 0), and the seed."""
    return read("parts"), read("rank") if read("parts") == "adapters" else 0, read("seed")


def tuner_of(key: Hashable, make: Callable[[], Tuner]) -> Tuner:
    """This session's tuner with these settings; until it has begun to learn, an untrained one shared by all readers."""
    tuner = st.session_state.get(TUNERS, {}).get(key)
    return tuner or cache.result(("untrained", key), make, lambda tuner: 4 * tuner.model.n_parameters)


def learning(key: Hashable, make: Callable[[], Tuner]) -> Callable[[], Iterator[TuningStep]]:
    """The function of a job: it creates this session's tuner if needed and trains it to the end of a round."""
    kept = st.session_state.setdefault(TUNERS, {})      # here, since a job has no session

    def learn() -> Iterator[TuningStep]:
        if key not in kept:
            kept[key] = make()
            newest(kept, MOST_TUNERS)
        yield from kept[key].learn()

    return learn


def given_text(run: Run, example: str) -> str:
    """The text whose continuation is shown: the reader's prompt, or that of an example."""
    return run.text if read("asked") == "prompt" else example


def ids_of(loaded: LoadedModel, text: str) -> tuple[int, ...]:
    """The token ids of a prompt, cut so that an answer fits the context."""
    return loaded.tokenizer.prompt(text, loaded.model.config.n_context - N_WRITTEN).token_ids


def write(model: Transformer, loaded: LoadedModel, ids: tuple[int, ...], dice: int) -> Output:
    """The output of `model`, which has the tokenizer of `loaded`, after these tokens; dice: the seed of the draws."""
    texts = []
    for temperature in (0.0, tuning.TEMPERATURE):
        steps = list(generate(model, ids, SamplingConfig(temperature=temperature), dice, N_WRITTEN))
        texts.append(loaded.tokenizer.decode([step.token_id for step in steps])
                     + (" ‹end›" if steps[-1].token_id == model.config.end_of_text else " …"))
    with torch.inference_mode():
        return Output(*texts, model.logits(torch.tensor(ids))[-1].double().log_softmax(-1))


def output_before(loaded: LoadedModel, text: str) -> Output:
    """The output of the untuned model after a text, shared by all readers."""
    ids, dice = ids_of(loaded, text), read("dice")
    return cache.result(("written", loaded.name, ids, dice), lambda: write(loaded.model, loaded, ids, dice),
                        lambda output: output.n_bytes)


# ---- controls --------------------------------------------------------------------------------------------------------


def draw_stage(stage: Stage, title: Callable[[], str], left: Callable[[], None], above: tuple[str, str],
               further: Callable[[], None] = lambda: None) -> None:
    """Draw the buttons of the wizard's last step, and the picture, which follows the tuner while it learns. title: of
    the picture; left: draws its left column; above: caption and Markdown above the texts; further: draws more settings.
    """
    page = stage.page
    with stage.place, wizard_step(page, "tune"):
        running = _controls(stage, further)

    def current(_: list) -> None:
        picture(said(stage, title()), left, lambda: _texts_of(stage, above), lambda: _bars_of(stage))

    job_controls.follow(page, stage.key, running, current)


def said(stage: Stage, title: str) -> str:
    """The title, with the mark of a recorded run in front of it."""
    return title if stage.replay is None else f"{stage.page.label('recorded')} {title}"


def wizard_step(page: Lesson, name: str) -> DeltaGenerator:
    """A step of the wizard: its number and name, and below it a line for its controls."""
    step = st.container(width="content", gap="xsmall")
    step.caption(page.label(f"step_{name}"))
    return step.container(horizontal=True, vertical_alignment="center", gap="small", width="content")


def _controls(stage: Stage, further: Callable[[], None]) -> bool:
    """Draw the button to tune or to stop, a drawer with all other settings, and where something has been learned the
    button that forgets it; return whether it was running.
    """
    page, tuner, verb = stage.page, stage.tuner, "tune"
    if tuner.step:
        verb = "tune_on"
    elif stage.recorded is not None:
        verb = "tune_here"
    running = job_controls.training_controls(page, stage.key, verb, learning(stage.key, stage.make), stop="pause")
    if not job_controls.trains():
        return running
    if tuner.step or running:
        reset_button(page, TUNERS, stage.key)
    with st.popover(page.label("tuning_more"), key="training_tuning_more"):
        _settings(page, further)
        if tuner.step:
            _take(stage)
    return running


def _settings(page: Lesson, further: Callable[[], None]) -> None:
    choice(page, "base")
    choice(page, "parts")
    if read("parts") == "adapters":
        numeric(st.slider, page, "rank", width=240)
    further()
    own_seed(page)
    numeric(st.number_input, page, "dice", width=110, help=page.label("dice_help"))


def _take(stage: Stage) -> None:
    """Draw the buttons that take the tuned model home or into every lesson."""
    page, tuner, loaded, name = stage.page, stage.tuner, stage.loaded, read("stage")
    card = page.label("tuning_card", name=loaded.title, stage=page.label(f"stage_{name}"), steps=tuner.step)
    take_home(page, lambda: checkpoints.archive(tuner.copy(), loaded.tokenizer, card), name, "training_tuning_zip")
    st.button(page.label("adopt"), key="training_tuning_adopt", help=page.label("tuning_adopt_help"),
              on_click=lambda: adopt(tuner.copy(), loaded.tokenizer, f"{name}-{tuner.step}"))


def asked_control(page: Lesson, n: int) -> None:
    """Draw the choice of the given text: the reader's prompt, or one of n held-out pairs with a button for the next.
    Present mode has no room for it.
    """
    if reader.present():
        return
    choice(page, "asked")
    if read("asked") == "pair" and n > 1:
        st.button(page.label("another"), key="training_another", icon=":material/skip_next:",
                  on_click=lambda: keep(example=(read("example") + 1) % n))


# ---- pictures --------------------------------------------------------------------------------------------------------


def one_line(text: str) -> str:
    """A text in one line, escaped for Markdown and for a table."""
    return escaped(text.strip().replace("\n", " ⏎ ")) or "–"


def _texts_of(stage: Stage, above: tuple[str, str]) -> None:
    """Draw what the model writes, before and now; of a recorded run only after the examples."""
    page = stage.page
    with side_by_side():
        asked_control(page, stage.n_held_out)
    if stage.replay is None:
        before, now = stage.outputs()
        texts(page, above, {"before": before, "now": now})
    elif (example := stage.replayed) is not None:
        texts(page, above, {"before": output_before(stage.loaded, stage.given), "now": example})
    else:
        texts(page, above, {"before": output_before(stage.loaded, stage.given)})
        st.caption(page.label("recorded_other"))


def _bars_of(stage: Stage) -> None:
    """Chart the next token's probabilities before and now; of a recorded run only after the examples."""
    before = output_before(stage.loaded, stage.given)
    if stage.replay is None:
        now = stage.outputs()[1]
        p, q = before.log_probs.exp(), now.log_probs.exp()
        ids = torch.maximum(p, q).topk(N_BARS).indices.tolist()
        _bars(stage, {i: (float(p[i]), float(q[i])) for i in ids}, divergence(before, now))
    elif (example := stage.replayed) is not None:
        _bars(stage, {i: (math.exp(before.log_probs[i]), q) for i, q in example.top.items()}, example.kl)
    else:
        st.caption(stage.page.label("caption_next_only"))
        show_guesses(stage.page, "next_token", stage.loaded.tokenizer, before.log_probs.exp(), N_BARS, 120)


def picture(title: str, left: Callable[[], None], middle: Callable[[], None], right: Callable[[], None]) -> None:
    """Draw the title, and below it three columns, each by its function; a projector has room for the first two."""
    st.markdown(f"**{title}**")
    with st.container(key=PICTURES):
        columns = st.columns([5, 7] if reader.present() else [4, 6, 3], gap="medium")
        with columns[0]:
            left()
        with columns[1], st.container(gap="xsmall"):
            middle()
        for column in columns[2:]:
            with column:
                right()


def texts(page: Lesson, above: tuple[str, str], outputs: Mapping[str, Output | Example]) -> None:
    """Draw a caption, a text in Markdown, and a table of the outputs, a column for each, labelled `column_<name>`."""
    st.caption(above[0])
    st.markdown(above[1])
    rows = [["", *(page.label(f"column_{name}") for name in outputs)], ["---"] * (len(outputs) + 1)]
    rows += [[f"**{page.label(f'row_{way}')}**", *(one_line(getattr(each, way)) for each in outputs.values())]
             for way in ("greedy", "drawn")]
    with st.container(key=f"{PREFIX}comparison"):
        st.markdown("\n".join(f"| {' | '.join(row)} |" for row in rows))


def _bars(stage: Stage, pairs: Mapping[int, tuple[float, float]], kl: float) -> None:
    """Chart the probabilities before and now of the tokens that are most probable in either, the likeliest first."""
    page, visible = stage.page, stage.loaded.tokenizer.visible
    ids = sorted(pairs, key=lambda i: -max(pairs[i]))[:N_BARS]
    before, now = np.array([pairs[i] for i in ids]).T
    st.caption(page.label("caption_next_token", kl=readable(kl)))
    show(residual_stream.two_distributions([visible(i) for i in ids], before, now,
                                           (page.label("column_before"), page.label("column_now")),
                                           page.label("axis_probability"), reader.theme(), reader.scale(),
                                           chart_height(120)), "next_token")


def divergence(before: Output, now: Output) -> float:
    """KL(now ‖ before) of the next token's distribution in nats, at least 0."""
    return max(0.0, float(tuning.kl(now.log_probs, before.log_probs)))


def values_of(history: Sequence[TuningStep], *names: str) -> dict[str, tuple[list[int], list[float]]]:
    """Some values of the records, by name, each with the steps."""
    steps = [step.step for step in history]
    return {name: (steps, [getattr(step, name) for step in history]) for name in names}


def curves(page: Lesson, name: str, lines: Mapping[str, tuple[list[int], list[float]]], height: int,
           **options) -> None:
    """Chart values of records over the steps, under this name. options: of `show_curve`."""
    values = [y for _, ys in lines.values() for y in ys if math.isfinite(y)]
    domain = min(0.0, float(math.floor(min(values)))), float(max(1, math.ceil(max(values))))
    last = max(steps[-1] for steps, _ in lines.values())
    end = next(n for n in AXIS_STEPS if n >= last)
    show_curve(page, f"tuning_{name}", "tuning_line", lines, Axis(page.label("axis_steps"), (0, end), format=",d"),
               Axis(page.label(f"axis_tuning_{name}"), domain), height,
               points=min(len(steps) for steps, _ in lines.values()) == 1, **options)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def reading(stage: Stage, title: str, lines: Sequence[tuple[str, str]], **parts) -> Reading:
    """The Reading of a stage: these lines, and those that both kinds of tuning have."""
    kl = [] if stage.replay is not None else [_kl_line(stage)]
    return Reading([*lines, _learned_line(stage.page, stage.tuner), _old_line(stage), *kl],
                   picture=f".st-key-{PICTURES}", title=said(stage, title), **parts)


def _learned_line(page: Lesson, tuner: Tuner) -> tuple[str, str]:
    """The number of trained parameters, and its share of all."""
    config, total = tuner.start.config, tuner.start.n_parameters
    share = f"{fraction(tuner.n_learned, total)} = {latex_number(tuner.n_learned / total)}"
    if tuner.parts == "adapters":
        d, out = config.d_model, config.n_heads * config.d_k + config.n_kv_heads * config.d_v
        return (page.label("numbers_adapters", names=", ".join(low_rank.ADAPTED)),
                rf"L\, r\, (2 d + h\, d_k + h_{{kv}}\, d_v) = {config.n_layers} \cdot {tuner.rank} \cdot (2 \cdot {d} "
                rf"+ {out}) = {tuner.n_learned}, \qquad {share}")
    return page.label(f"numbers_learned_{tuner.parts}"), share


def _kl_line(stage: Stage) -> tuple[str, str]:
    """The divergence of the next-token distributions, with its largest term written out."""
    before, now = stage.outputs()
    terms = now.log_probs.exp() * (now.log_probs - before.log_probs)
    most, total = int((terms if now is not before else now.log_probs).argmax()), divergence(before, now)
    p, q = (latex_operand(math.exp(float(which.log_probs[most]))) for which in (now, before))
    rest = total - float(terms[most])
    return (stage.page.label("numbers_kl"),
            (r"\sum_w p_{\text{now}}(w) \ln \frac{p_{\text{now}}(w)}{p_{\text{before}}(w)} = "
             rf"{p} \cdot \ln {fraction(p, q)} + ({latex_operand(rest)}) = {nats(total)}"))


def _old_line(stage: Stage) -> tuple[str, str]:
    """The loss on the old text, and its increase."""
    first, last = stage.history[0].old, stage.history[-1].old
    return (stage.page.label("numbers_old", n=len(stage.tuner.old.log_probs)),
            f"{latex_operand(last)} - {latex_operand(first)} = {nats(last - first)}")


def table(history: Sequence[TuningStep]) -> pd.DataFrame:
    """The records, a row for each."""
    return pd.DataFrame([vars(step) for step in history])


def visible(loaded: LoadedModel, ids: Sequence[int]) -> str:
    """The tokens as code spans."""
    return " ".join(code(loaded.tokenizer.visible(i)) for i in ids)
