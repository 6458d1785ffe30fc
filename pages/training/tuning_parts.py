"""What the three stages of tuning share: the model that it begins with, the tuners of a session, the same prompt before
and after, and the curves.
"""
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pandas as pd
import streamlit as st
import torch

from core.app.base.markdown import code, escaped
from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.app.frame import Lesson, job_controls
from core.app.state import Run, reader
from core.figures import residual_stream
from core.figures.numbers import latex_number, latex_operand, readable
from core.learning import low_rank, tuning
from core.learning.tuning import OldText, Tuner, TuningStep
from core.model import checkpoints
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from core.model.transformer import Transformer
from pages.training import charts as figures
from pages.training.shared import PREFIX, attached, chart_height, choice, keep, read, show, show_spec

SMALL = "stories-small"
LEAST_CONTEXT = 96                  # tokens that a model must take to read the pairs
TUNERS = "training_tuners"          # of the session: key -> a Tuner that has begun to learn, the latest last
MOST_TUNERS = 2
SHOWN = "training_tuning_shown"     # of the session: what was last computed of its tuned model, by name, and from what
N_WRITTEN, N_BARS = 18, 5
MEANINGS = {"held_out": "query", "loss": "excluded", "old": "key", "kl": "attention", "margin": "value"}
T = TypeVar("T")
AXIS_STEPS = tuple(range(100, 2001, 100)) + (5_000, 10 ** 4, 10 ** 5)


@dataclass(frozen=True, eq=False)
class Written:
    """What a model does after a prompt: its most probable text, one that is drawn, and ln p (|V|,) of the next
    token, float64.
    """

    greedy: str
    drawn: str
    log_probs: torch.Tensor

    @property
    def n_bytes(self) -> int:
        return 8 * len(self.log_probs) + len(self.greedy) + len(self.drawn)


def base_of(run: Run) -> LoadedModel:
    """The model that tuning begins with: the small one, or whichever is loaded."""
    return run.loaded if read("base") == "loaded" else cache.shared_model(SMALL, "cpu")


def old_of(loaded: LoadedModel) -> OldText:
    """Texts of the model's own, written once for everybody."""
    return cache.result(("old text", loaded.name), lambda: tuning.old_text(loaded.model), lambda old: old.n_bytes)


def tuner_of(key: Hashable, make: Callable[[], Tuner]) -> Tuner:
    """This session's tuner with these settings.

    Until it has begun to learn, one that everybody reads and that stays as it is.
    """
    own = st.session_state.get(TUNERS, {}).get(key)
    return cache.result(("untrained", key), make, lambda tuner: 4 * tuner.model.n_parameters) if own is None else own


def learning(key: Hashable, make: Callable[[], Tuner]) -> Callable[[], Iterator[TuningStep]]:
    """What a job runs: this session's tuner, which is made when it begins to learn, goes on to the end of a round."""
    kept = st.session_state.setdefault(TUNERS, {})      # now, for a job has no session

    def learn() -> Iterator[TuningStep]:
        if key not in kept:
            kept[key] = make()
            for old in list(kept)[:-MOST_TUNERS]:
                del kept[old]
        yield from kept[key].learn()

    return learn


def ids_of(loaded: LoadedModel, text: str) -> tuple[int, ...]:
    """A prompt as the model reads it, with room for an answer."""
    return loaded.tokenizer.prompt(text, loaded.model.config.n_context - N_WRITTEN).token_ids


def written(model: Transformer, loaded: LoadedModel, ids: tuple[int, ...]) -> Written:
    """What `model`, which has the tokenizer of `loaded`, writes after these tokens."""
    texts = []
    for config in (SamplingConfig(temperature=0.0), SamplingConfig(temperature=tuning.TEMPERATURE)):
        steps = list(generate(model, ids, config, read("dice"), N_WRITTEN))
        texts.append(loaded.tokenizer.decode([step.token_id for step in steps])
                     + (" ‹end›" if steps[-1].token_id == model.config.end_of_text else " …"))
    with torch.inference_mode():
        return Written(*texts, model.logits(torch.tensor(ids))[-1].double().log_softmax(-1))


def written_before(loaded: LoadedModel, ids: tuple[int, ...]) -> Written:
    """The same of the model as it was, kept for everybody."""
    return cache.result(("written", loaded.name, ids, read("dice")), lambda: written(loaded.model, loaded, ids),
                        lambda made: made.n_bytes)


def written_now(key: Hashable, tuner: Tuner, loaded: LoadedModel, ids: tuple[int, ...]) -> Written:
    """The same of the tuned model."""
    if not tuner.step:
        return written_before(loaded, ids)
    return last_of("written", (key, tuner.step, ids, read("dice")), lambda: written(tuner.copy(), loaded, ids))


def last_of(name: str, asked: Hashable, compute: Callable[[], T]) -> T:
    """What `compute` gives of this session's tuned model; the last of each name is kept, as long as it is
    asked the same.
    """
    shown = st.session_state.setdefault(SHOWN, {})
    if shown.get(name, (None,))[0] != asked:
        shown[name] = (asked, compute())
    return shown[name][1]


# ---- controls --------------------------------------------------------------------------------------------------------


def controls(page: Lesson, key: Hashable, tuner: Tuner, learn: Callable[[], Iterator[TuningStep]],
             loaded: LoadedModel) -> bool:
    """Tune, stop, reset; which weights; and a drawer. Whether it was running then."""
    running = job_controls.training_controls(page, key, "tune" if not tuner.step else "tune_on", learn, stop="pause")
    if not job_controls.trains():
        return running
    st.button(page.label("reset"), key="training_tuning_reset", icon=":material/restart_alt:",
              on_click=_reset, args=(page, key))
    choice(page, "parts")
    with st.popover(page.label("tuning_more"), key="training_tuning_more"):
        if read("parts") == "adapters":
            st.slider(page.label("rank"), 1, 16, step=1, width=240, **attached("rank"))
        st.number_input(page.label("seed"), 0, 99, step=1, width=110, **attached("seed"))
        st.number_input(page.label("dice"), 0, 999, step=1, width=110, help=page.label("dice_help"), **attached("dice"))
        card = page.label("tuning_card", name=loaded.name, stage=page.label(f"stage_{read('stage')}"), steps=tuner.step)
        st.download_button(page.label("take"), lambda: checkpoints.archive(tuner.copy(), loaded.tokenizer, card),
                           file_name=f"{read('stage')}.zip", mime="application/zip", icon=":material/download:",
                           key="training_tuning_zip", on_click="ignore", help=page.label("take_help"))
        st.button(page.label("adopt"), key="training_tuning_adopt", help=page.label("tuning_adopt_help"),
                  on_click=_adopt, args=(tuner, loaded))
    return running


def _reset(page: Lesson, key: Hashable) -> None:
    job_controls.end(page)
    st.session_state.get(TUNERS, {}).pop(key, None)


def _adopt(tuner: Tuner, loaded: LoadedModel) -> None:
    """Makes the model as it is now the one that every lesson runs, and the one that the next stage can begin with."""
    name = cache.keep_own(tuner.copy(), loaded.tokenizer, f"{read('stage')}-{tuner.step}")
    st.session_state["own_models"] = [*st.session_state.get("own_models", ()), name][-cache.MOST_OWN:]
    reader.apply({"model": name})


def asked_control(page: Lesson, n: int) -> None:
    """What the model is given: the reader's prompt, or one of n held-out pairs, and the next of them."""
    choice(page, "asked")
    if read("asked") == "pair" and n > 1:
        st.button(page.label("another"), key="training_another", icon=":material/skip_next:",
                  on_click=lambda: keep(example=(read("example") + 1) % n))


# ---- pictures --------------------------------------------------------------------------------------------------------


def one_line(text: str) -> str:
    """A text in one line, as it is, for Markdown and inside a table."""
    return escaped(text.strip().replace("\n", " ⏎ ")) or "–"


def comparison(page: Lesson, before: Written, now: Written) -> None:
    """Greedy and drawn, before and now, side by side."""
    rows = [(page.label(f"row_{name}", seed=read("dice")), one_line(getattr(before, name)),
             one_line(getattr(now, name))) for name in ("greedy", "drawn")]
    head = f"| | {page.label('column_before')} | {page.label('column_now')} |\n| --- | --- | --- |\n"
    with st.container(key=f"{PREFIX}comparison"):
        st.markdown(head + "\n".join(f"| **{name}** | {one} | {other} |" for name, one, other in rows))


def bars(page: Lesson, loaded: LoadedModel, before: Written, now: Written) -> None:
    """The next token's probability before and now, of the tokens that are the most probable in either."""
    p, q = before.log_probs.exp(), now.log_probs.exp()
    ids = torch.maximum(p, q).topk(3 if reader.present() else N_BARS).indices
    st.caption(page.label("caption_next_token", kl=readable(divergence(before, now))))
    show(residual_stream.two_distributions([loaded.tokenizer.visible(int(i)) for i in ids], p[ids].numpy(),
                                           q[ids].numpy(), (page.label("column_before"), page.label("column_now")),
                                           page.label("axis_probability"), reader.theme(), reader.scale(),
                                           chart_height(120)), "next_token")


def divergence(before: Written, now: Written) -> float:
    """KL(now ‖ before) of the next token, nats; at least 0."""
    return max(0.0, float(tuning.kl(now.log_probs, before.log_probs)))


def curves(page: Lesson, name: str, shown: Sequence[str], history: Sequence[TuningStep], height: int,
           levels: dict[str, float] | None = None, y_domain: tuple[float, float] | None = None) -> None:
    """Lines over the steps, in a chart of this name; what was not measured has no point."""
    rows = [(page.label(f"tuning_line_{line}"), step.step, getattr(step, line)) for line in shown for step in history
            if math.isfinite(getattr(step, line))]
    values = [y for _, _, y in rows] + list((levels or {}).values())
    end = next(n for n in AXIS_STEPS if n >= history[-1].step)
    domain = y_domain or (min(0.0, float(math.floor(min(values)))), float(max(1, math.ceil(max(values)))))
    show_spec(f"tuning_{name}", pd.DataFrame(rows, columns=["line", "x", "y"]), figures.curve(
        {line: page.label(f"tuning_line_{line}") for line in shown}, MEANINGS, page.label("axis_steps"),
        page.label(f"axis_tuning_{name}"), reader.theme(), x_domain=(0, end), y_domain=domain,
        levels=levels, points=len(history) == 1, scale=reader.scale(), height=height))


# ---- numbers ---------------------------------------------------------------------------------------------------------


def learned_line(page: Lesson, tuner: Tuner) -> tuple[str, str]:
    """How many numbers are learned, and of how many."""
    config, total = tuner.start.config, tuner.start.n_parameters
    share = rf"\frac{{{tuner.n_learned}}}{{{total}}} = {latex_number(tuner.n_learned / total)}"
    if tuner.parts == "adapters":
        d, out = config.d_model, config.n_heads * config.d_k + config.n_kv_heads * config.d_v
        return (page.label("numbers_adapters", names=", ".join(low_rank.ADAPTED)),
                rf"L\, r\, (2 d + h\, d_k + h_{{kv}}\, d_v) = {config.n_layers} \cdot {tuner.rank} \cdot (2 \cdot {d} "
                rf"+ {out}) = {tuner.n_learned}, \qquad {share}")
    return page.label(f"numbers_learned_{tuner.parts}"), share


def kl_line(page: Lesson, before: Written, now: Written) -> tuple[str, str]:
    """The divergence of the next-token distributions, with its largest term written out."""
    terms = now.log_probs.exp() * (now.log_probs - before.log_probs)
    most, total = int((terms if now is not before else now.log_probs).argmax()), divergence(before, now)
    p, q = (latex_operand(math.exp(float(which.log_probs[most]))) for which in (now, before))
    rest = total - float(terms[most])
    return (page.label("numbers_kl"),
            (r"\sum_w p_{\text{now}}(w) \ln \frac{p_{\text{now}}(w)}{p_{\text{before}}(w)} = "
             rf"{p} \cdot \ln \frac{{{p}}}{{{q}}} + ({latex_operand(rest)}) = {latex_number(total)}\ \text{{nats}}"))


def old_line(page: Lesson, tuner: Tuner) -> tuple[str, str]:
    """The price on the old text, and by how much it has risen."""
    first, last = tuner.history[0].old, tuner.history[-1].old
    return (page.label("numbers_old", n=len(tuner.old.log_probs)),
            rf"{latex_operand(last)} - {latex_operand(first)} = {latex_number(last - first)}\ \text{{nats}}")


def table(history: Sequence[TuningStep]) -> pd.DataFrame:
    """Every record, a row each."""
    return pd.DataFrame([vars(step) for step in history])


def visible(loaded: LoadedModel, ids: Sequence[int]) -> str:
    """Tokens as code spans, one beside the other."""
    return " ".join(code(loaded.tokenizer.visible(i)) for i in ids)


