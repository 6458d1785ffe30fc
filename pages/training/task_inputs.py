"""GPT-1's inputs: four tasks as rows of tokens, and the linear layer that reads the vector of the extract token."""
import pandas as pd
import streamlit as st
from torch import Tensor

from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.app.lesson import Lesson, Question, Reading
from core.app.state import reader
from core.base.markdown import escaped
from core.figures.numbers import latex_number, latex_operand, percent, readable
from core.learning import task_inputs
from core.learning.task_inputs import CLASSES, TASKS, Head, Row
from pages.training import cards
from pages.training.shared import PREFIX, ask, attached, read

MOST_CHARACTERS = 80        # of the reader's sentence
N_SHOWN = 4                 # numbers of the vector
N_ANSWERS = 3               # of the question
WIDTHS = "minmax(0, 5fr) minmax(0, 2fr)"
KEY = f"{PREFIX}instructions"


def controls(page: Lesson) -> None:
    """Draw the field for the reader's sentence."""
    st.text_input(page.label("sentence"), max_chars=MOST_CHARACTERS, placeholder=page.label("sentence_default"),
                  width=320, label_visibility="collapsed", **attached("sentence"))


def draw(page: Lesson, loaded: LoadedModel) -> Reading:
    """Draw the instrument; return what it shows."""
    text = read("sentence")[:MOST_CHARACTERS].strip() or page.label("sentence_default")
    rows = {task: [task_inputs.row_of(loaded.tokenizer, parts, loaded.model.config.n_context)
                   for parts in task_inputs.parts_of(task, text, _others(page, task))] for task in TASKS}
    head = head_of(loaded)
    h = task_inputs.extracted(loaded.model, rows["classification"])[0]
    logits = head.logits(h)
    p = logits.softmax(-1)
    best = int(p.argmax())
    title = page.label("inputs_title", name=escaped(loaded.title), n=len(rows["classification"][0].token_ids),
                       answer=page.label(f"class_{CLASSES[best]}"), p=percent(float(p[best])))
    st.markdown(f"**{title}**")
    with st.container(key=KEY):
        cards.draw([_rows_card(page, loaded, rows), _head_card(page, head, h, logits)], "input_cards", WIDTHS)
    return Reading(_lines(page, logits, best), _question(page),
                   [task_inputs.parts_of, task_inputs.row_of, task_inputs.extracted, task_inputs.discriminant],
                   {"inputs.csv": lambda: table(loaded, rows)}, f".st-key-{KEY}", title, explanation="task_inputs")


def head_of(loaded: LoadedModel) -> Head:
    """The linear layer that was fitted on a model's vectors, shared by all readers."""
    return cache.result(("task head", loaded.name), lambda: task_inputs.fitted(loaded.model, loaded.tokenizer),
                        lambda head: head.n_bytes)


def _others(page: Lesson, task: str) -> list[str]:
    """The texts beside the reader's sentence."""
    return [] if task == "classification" else page.label(f"others_{task}").split("|")


def _rows_card(page: Lesson, loaded: LoadedModel, rows: dict[str, list[Row]]) -> dict:
    """The rows of all tasks, a line each."""
    visible = loaded.tokenizer.visible
    lines = [{"parts": [[page.label(f"input_{task}") if i == 0 else "", "name"],
                        *([visible(token), f"chip {kind}"] for token, kind in zip(row.token_ids, row.kinds))],
              "note": "" if reader.present() else page.label("input_n", n=len(row.token_ids))}
             for task in TASKS for i, row in enumerate(rows[task])]
    return {"title": page.label("card_inputs"), "lines": lines, "note": page.label("card_inputs_note")}


def _head_card(page: Lesson, head: Head, h: Tensor, logits: Tensor) -> dict:
    """The extract token's vector, and what the fitted layer makes of it."""
    shown = ", ".join(map(readable, h[:N_SHOWN].tolist()))
    u, p = logits.tolist(), logits.softmax(-1).tolist()
    lines = [{"parts": [["h = ", ""], [f"({shown}, …)", "number"]], "note": page.label("head_width", d=len(h))},
             *({"parts": [[f"{page.label(f'class_{name}')}: ", ""], [f"u = {readable(u[i])}", "number"]],
                "note": percent(p[i]), "kind": "picked" if u[i] == max(u) else ""} for i, name in enumerate(CLASSES)),
             {"parts": [[page.label("head_none"), ""]], "kind": "muted"}]
    note = page.label("head_fitted", n=task_inputs.N_TRAIN, right=head.right, held_out=task_inputs.N_HELD_OUT)
    return {"title": page.label("card_head"), "lines": lines, "note": note}


def table(loaded: LoadedModel, rows: dict[str, list[Row]]) -> pd.DataFrame:
    """Every token of every row, with its kind."""
    return pd.DataFrame([(task, i, loaded.tokenizer.visible(token), kind) for task in TASKS
                         for i, row in enumerate(rows[task]) for token, kind in zip(row.token_ids, row.kinds)],
                        columns=["task", "row", "token", "kind"])


def _lines(page: Lesson, logits: Tensor, best: int) -> list[tuple[str, str]]:
    u, other = (f"({latex_operand(float(each))})" for each in (logits[best], logits[1 - best]))
    return [(page.label("numbers_head"), r"u = h W + b, \qquad u_c = (h - \mu - \tfrac12 \delta_c)\, "
             r"\Sigma^{-1} \delta_c^T"),
            (page.label("numbers_head_p", name=page.label(f"class_{CLASSES[best]}")),
             rf"\frac{{1}}{{1 + e^{{u_b - u_a}}}} = \frac{{1}}{{1 + e^{{{other} - {u}}}}} = "
             rf"{latex_number(float(logits.softmax(-1)[best]))}")]


def _question(page: Lesson) -> Question:
    """How many rows the model reads for a question with some answers to choose from."""
    n = N_ANSWERS
    return ask(page, "inputs", {1, 2 * n, n + 1}, len(task_inputs.parts_of("choice", "", ["a"] * n)), n=n)
