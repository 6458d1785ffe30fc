"""Fill in the blank, where the reader's encoder is a classifier: the classes that its head gives a sentence, with all
of its words and with the hidden ones masked.
"""
import functools

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.app.bar.model_offer import title
from core.app.compute import cache
from core.app.lesson import Lesson, Question, Reading, cannot
from core.base.markdown import code
from core.figures.numbers import latex_number, latex_operand, percent
from core.model.transformer import Transformer
from pages.architectures.blank_parts import MOST_CHARACTERS, attention, chip, marked_of, names, picture, stand_in
from pages.architectures.blank_work import Filled, causal, class_logits, fill, toggled
from pages.architectures.live_models import about
from pages.architectures.shared import PREFIX, keep, probabilities, text_field

SHOWN = 12      # classes in the picture, the most probable ones


def classifies(encoder: cache.LoadedModel) -> bool:
    """Whether an encoder has a classifier's head in the place of a language head."""
    return encoder.model.config.head.output_head in ("classes", "labels")


def draw(page: Lesson, encoder: cache.LoadedModel, decoder: cache.LoadedModel) -> Reading:
    """Draw the instrument and return what it shows."""
    if encoder.tokenizer.mask_token is None:
        return cannot(page.label("blank_no_mask", name=title(encoder.name)))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        text_field(page, "blank_text", "blank", MOST_CHARACTERS, blank_way="own", blank_picked=-1)
    marked = marked_of(encoder)
    if not any(start < end for start, end in marked.spans):
        st.info(page.label("blank_empty"))
        marked = stand_in(page, encoder)
    filled = fill(encoder, decoder, marked, None)
    left, right = st.columns([11, 8], gap="medium")
    with left:
        picture(message(page, filled), key=f"{PREFIX}blank_instrument", on_settings=functools.partial(_settled, filled))
    with right:
        block, head = attention(page, filled, None)
    return _reading(page, filled, block, head)


def class_probabilities(encoder: cache.LoadedModel, logits: Tensor) -> np.ndarray:
    """(n_classes,) float64: softmax of the classes' logits; the logistic function of each where every label is true or
    false by itself.
    """
    several = encoder.model.config.head.output_head == "labels"
    return torch.sigmoid(logits.double()).numpy() if several else probabilities(logits)


def both(filled: Filled) -> tuple[np.ndarray, np.ndarray]:
    """The classes' probabilities of the sentence as the reader hides its words, and with nothing hidden."""
    whole = (filled.trace.class_logits if filled.inputs == filled.true_ids
             else class_logits(filled.encoder, [filled.true_ids])[0])
    return tuple(class_probabilities(filled.encoder, logits) for logits in (filled.trace.class_logits, whole))


def message(page: Lesson, filled: Filled) -> dict:
    """The header of the component: chips, and a row for each of the most probable classes."""
    (p, whole), shown = both(filled), filled.encoder.model.config.head.class_names
    hides, best = filled.inputs != filled.true_ids, _likeliest(p)
    rows = [{"name": shown[i], "p": p[i], "shown": percent(p[i]), "best": rank == 0,
             "whole": percent(whole[i]) if hides else None} for rank, i in enumerate(best[:SHOWN])]
    return page.header("blank") | {
        "masks_text": page.labels("masks"), "sizes": {"n": len(filled.inputs)},
        "tokens": [chip(page, filled, position) for position in range(len(filled.inputs))], "picked": None,
        "n_cut": filled.marked.n_cut, "notes": {"encoder": about(page, filled.encoder)}, "encoder": None,
        "decoder": None, "mean": None, "losses": [], "verdict": None,
        "classes": {"rows": rows, "others": len(p) - len(rows), "hides": hides,
                    "title": page.label(f"classes_title_{filled.encoder.model.config.head.class_pooling}",
                                        place=filled.name(0)),
                    "hint": page.label("classes_click")}}


def _likeliest(p: np.ndarray) -> list[int]:
    return np.argsort(-p, kind="stable").tolist()


def _settled(filled: Filled, settings: dict) -> None:
    if (position := int(settings["position"])) in filled.body:
        keep(blank_text=toggled(filled, position), blank_way="own", blank_picked=-1)


def _reading(page: Lesson, filled: Filled, block: int, head: int) -> Reading:
    data = {"classes.csv": lambda: class_table(page, filled),
            "attention.csv": lambda: pd.DataFrame(filled.trace.blocks[block].pattern[head].numpy(),
                                                  columns=names(filled))}
    p, shown = both(filled)[0], filled.encoder.model.config.head.class_names
    best = int(p.argmax())
    said = page.label("classes_says", name=code(shown[best]), p=percent(p[best]), n=len(p))
    return Reading(_lines(page, filled), _question(page, filled), [Transformer.class_logits, fill], data,
                   ".blank-picture", said, explanation="blank_classes")


def class_table(page: Lesson, filled: Filled) -> pd.DataFrame:
    """Every class with its probability under what is hidden and under nothing hidden."""
    p, whole = both(filled)
    shown = filled.encoder.model.config.head.class_names
    return page.table([(shown[i], p[i], whole[i]) for i in _likeliest(p)], "class", "p", "p_whole")


def _lines(page: Lesson, filled: Filled) -> list[tuple[str, str]]:
    """How the best class gets its probability."""
    config, u = filled.encoder.model.config, filled.trace.class_logits.double()
    p = class_probabilities(filled.encoder, u)
    best = int(p.argmax())
    name = code(config.head.class_names[best])
    h = "h_0" if config.head.class_pooling == "first" else r"\bar h"
    before = f"{h} W_P + b_P"
    read = {"": h, "tanh": rf"\tanh({before})", "relu": rf"\mathrm{{ReLU}}({before})",
            "gelu": rf"\mathrm{{GELU}}({before})",
            "head": rf"\mathrm{{norm}}(\mathrm{{act}}({h} W_H{' + b_H' if config.head.head_bias else ''}))"}
    if config.head.output_head == "labels":
        said = rf"y = \frac{{1}}{{1 + e^{{-u}}}} = \frac{{1}}{{1 + e^{{-({latex_operand(u[best])})}}}}"
    else:
        said = (rf"y = \frac{{e^{{u}}}}{{\sum_{{c}} e^{{u_c}}}} = e^{{{latex_operand(u[best])} - "
                rf"{latex_operand(u.logsumexp(-1))}}}")
    return [(page.label(f"classes_numbers_{config.head.class_pooling}", d=config.d_model, n=config.head.n_classes,
                        place=code(filled.name(0))), rf"u = {read[config.head.class_transform]}\, W_C + b_C"),
            (page.label(f"classes_numbers_{config.head.output_head}", name=name, n=config.head.n_classes),
             rf"{said} = {latex_number(p[best])}")]


def _question(page: Lesson, filled: Filled) -> Question:
    """Whether the class still depends on the sentence under a causal mask, where the first token sees only itself."""
    best = int(both(filled)[0].argmax())
    other = stand_in(page, filled.encoder).token_ids
    p = {name: float(class_probabilities(filled.encoder, trace.class_logits)[best]) for name, trace in (
        ("before", filled.trace), ("after", causal(filled.encoder, filled.inputs)),
        ("other", causal(filled.encoder, other)))}
    same = abs(p["after"] - p["other"]) < 1e-6
    return page.question("blank_classes", [page.label("blank_class_same"), page.label("blank_class_differs")],
                         0 if same else 1, name=code(filled.encoder.model.config.head.class_names[best]),
                         place=code(filled.name(0)), **{name: percent(each) for name, each in p.items()})
