"""The first stage: the model as pretraining left it, what it was trained on, and what it makes of a question."""
import math

import pandas as pd
import streamlit as st

from core.app.base.markdown import code, unmarked
from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.app.frame import Lesson, Question, Reading
from core.app.frame.guard import fragment
from core.app.state import Run, reader
from core.figures import residual_stream
from core.figures.numbers import latex_number, latex_operand, readable
from core.learning import tuning
from core.model import checkpoints
from pages.training import charts as figures
from pages.training import fine_tuning
from pages.training.shared import PREFIX, chart_height, read, show, show_spec
from pages.training.tuning_parts import N_BARS, Written, asked_control, ids_of, one_line, visible, written_before

settings = fine_tuning.settings     # what is given is one of its pairs


def draw(page: Lesson, run: Run, loaded: LoadedModel) -> Reading:
    """The instrument; returns what it shows."""
    _, held_out = fine_tuning.text_pairs(page)
    # where the other stages have it, so that it stays there from one to the next
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        asked_control(page, len(held_out))
    example = held_out[read("example") % len(held_out)]
    given = run.text if read("asked") == "prompt" else example.prompt
    ids = ids_of(loaded, given)
    made, record = written_before(loaded, ids), pretraining(loaded.name)
    title = _title(page, loaded, record)
    # a part, as in the other stages, whose picture follows a training: what stands at the same place is changed, not
    # taken away and built anew
    fragment(_picture)(page, loaded, title, record, given, made)
    return Reading(_lines(page, loaded, example, record), _question(page, loaded, example),
                   [tuning.token_log_probs, tuning.answers], {"pretraining.csv": lambda: record},
                   f".st-key-{PREFIX}tuning_pictures", title, summary={page.label("view_tuning"): unmarked(title)})


def _picture(page: Lesson, loaded: LoadedModel, title: str, record: pd.DataFrame, given: str, made: Written) -> None:
    """Title, how the loss fell, and what the model makes of what it is given."""
    st.markdown(f"**{title}**")
    with st.container(key=f"{PREFIX}tuning_pictures"):
        curve, texts, beside = st.columns([4, 6, 3], gap="medium")
        with curve:
            _curve(page, loaded, record)
        with texts, st.container(gap="xsmall"):
            st.caption(page.label("caption_given"))
            st.markdown(one_line(given))
            rows = [f"| **{page.label(f'row_{name}')}** | {one_line(getattr(made, name))} |"
                    for name in ("greedy", "drawn")]
            with st.container(key=f"{PREFIX}comparison"):
                st.markdown(f"| | {page.label('column_goes_on')} |\n| --- | --- |\n" + "\n".join(rows))
        with beside:
            st.caption(page.label("caption_next_only"))
            best = made.log_probs.exp().topk(3 if reader.present() else N_BARS + 2)
            show(residual_stream.guesses([loaded.tokenizer.visible(int(i)) for i in best.indices], best.values.numpy(),
                                         page.label("axis_probability"), reader.theme(), [False] * len(best.values),
                                         reader.scale(), chart_height(120)), "next_token")


def pretraining(name: str) -> pd.DataFrame:
    """Tokens read in all, in millions, and the losses of the training, by record; empty where none was kept."""
    base, step = cache.name_and_step(name)
    rows, before, last = [], 0, 0
    for entry in checkpoints.training_record(base) if step is None else ():
        if entry["tokens_seen"] < last:                     # a stage begins to count anew
            before += last
        last = entry["tokens_seen"]
        rows.append({"millions": (before + last) / 1e6, "training_loss": entry["training_loss"],
                     "held_out": next(iter(entry["held_out"].values()))})
    return pd.DataFrame(rows, columns=["millions", "training_loss", "held_out"])


def _title(page: Lesson, loaded: LoadedModel, record: pd.DataFrame) -> str:
    n = f"{loaded.model.n_parameters:,}".replace(",", "\u202f")
    if record.empty:
        return page.label("pretrained_title_unknown", name=loaded.name, n=n)
    return page.label("pretrained_title", name=loaded.name, n=n, millions=readable(record["millions"].iloc[-1]),
                      loss=readable(record["held_out"].iloc[-1]))


def _curve(page: Lesson, loaded: LoadedModel, record: pd.DataFrame) -> None:
    """The held-out loss as it fell, or what is known instead."""
    config = loaded.model.config
    st.caption(page.label("caption_pretraining", layers=config.n_layers, heads=config.n_heads, d=config.d_model,
                          vocabulary=config.vocab_size))
    if record.empty:
        return
    frame = pd.DataFrame({"line": page.label("tuning_line_held_out_text"), "x": record["millions"],
                          "y": record["held_out"]})
    show_spec("tuning_pretraining", frame, figures.curve(
        {"held_out": page.label("tuning_line_held_out_text")}, {"held_out": "query"}, page.label("axis_millions"),
        page.label("axis_loss"), reader.theme(), x_domain=(0, math.ceil(record["millions"].max())),
        y_domain=(0, math.ceil(record["held_out"].max())), scale=reader.scale(), height=chart_height(110)))


def _lines(page: Lesson, loaded: LoadedModel, example, record: pd.DataFrame) -> list[tuple[str, str]]:
    pair = fine_tuning.encoded(loaded, [example])[0]
    prices = fine_tuning.prices_before(loaded, pair)
    total = sum(prices)
    found = [(page.label("numbers_answer_price", answer=visible(loaded, pair.answer)),
              " + ".join(latex_operand(p) for p in prices) + rf" = {latex_number(total)}\ \text{{nats}}"),
             (page.label("numbers_answer_probability"),
              rf"e^{{-{latex_operand(total)}}} = {latex_number(math.exp(-total))}")]
    if not record.empty:
        loss = float(record["held_out"].iloc[-1])
        found.append((page.label("numbers_held_out"), rf"L = {latex_number(loss)}\ \text{{nats}}, \qquad e^{{L}} = "
                                                      rf"e^{{{latex_operand(loss)}}} = {latex_number(math.exp(loss))}"))
    return found


def _question(page: Lesson, loaded: LoadedModel, example) -> Question:
    """What the model as it is takes for the likeliest next token after an instruction."""
    made: Written = written_before(loaded, ids_of(loaded, example.prompt))
    first = int(fine_tuning.encoded(loaded, [example])[0].answer[0])
    order = [int(i) for i in made.log_probs.topk(40).indices]
    ids = sorted({order[0], first, order[9], order[39]})
    return Question("pretrained", page.label("question_pretrained", prompt=one_line(example.prompt)),
                    [code(loaded.tokenizer.visible(i)) for i in ids], ids.index(order[0]),
                    page.label("because_pretrained", token=code(loaded.tokenizer.visible(order[0])),
                               p=readable(100 * math.exp(made.log_probs[order[0]])),
                               answer=code(loaded.tokenizer.visible(first)),
                               p_answer=readable(100 * math.exp(made.log_probs[first]))))
