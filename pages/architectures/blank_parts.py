"""Parts shared by the views of a sentence with hidden words: the sentence, its chips, a head's pattern over it."""
from pathlib import Path

import streamlit as st

from core.app.compute import cache
from core.app.lesson import Lesson
from core.app.state import reader
from core.app.state.run import room
from core.components.attention_view import Head, attention_view
from core.components.lib.token_view import token_view
from core.figures.numbers import probability
from core.training import blanks
from core.training.blanks import MarkedText
from pages.architectures.blank_work import Filled, sides
from pages.architectures.live_models import is_bundled
from pages.architectures.shared import PREFIX, SHARED_CSS, attached, keep, pick, read

MOST_CHARACTERS = 1000      # of the sentence; the bundled model takes 128 tokens
PICTURE = (190, 420)        # least and most pixels of the attention pattern
# A sentence with hidden words; for one of them the predictions of an encoder and a decoder, or the classes of the
# whole sentence; and the three masks.
picture = token_view("architecture_blank", str(Path(__file__).with_name("blank.py")), SHARED_CSS)


def marked_of(encoder: cache.LoadedModel) -> MarkedText:
    """The reader's sentence."""
    return blanks.marked_text(read("blank_text")[:MOST_CHARACTERS], encoder.tokenizer, room(encoder.model.config))


def stand_in(page: Lesson, encoder: cache.LoadedModel) -> MarkedText:
    """The marked sentence that stands in for an empty field."""
    return blanks.marked_text(page.label("blank_stand_in"), encoder.tokenizer, room(encoder.model.config))


def chip(page: Lesson, filled: Filled, position: int) -> dict:
    """A token of the encoder's input. how: "seen", "hidden", "unknown", or, of randomly chosen ones, "replaced" or
    "left" unchanged.
    """
    tokenizer, token_id, true = filled.encoder.tokenizer, filled.inputs[position], filled.true_ids[position]
    if position not in filled.blanks:
        how = "seen"
    elif token_id == tokenizer.mask_token:
        how = "unknown" if true == token_id else "hidden"
    else:
        how = "left" if token_id == true else "replaced"
    special = "" if position in filled.body else page.label("blank_cls" if is_bundled(filled.encoder)
                                                           else "blank_special", token=filled.name(position))
    return {"token": filled.name(position), "true": tokenizer.visible(true), "how": how, "special": special,
            "can": not special and blanks.can_be_marked(true, tokenizer)}


def attention(page: Lesson, filled: Filled, picked: int | None) -> tuple[int, int]:
    """Draw a head's pattern over the encoder's input, the picked token's row marked, and the boxes that pick the head;
    return its block and its number there.
    """
    config = filled.encoder.model.config
    keep(blank_block=min(read("blank_block"), config.n_layers - 1),
         blank_head=min(read("blank_head"), config.n_heads - 1))
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        block = pick(page, "block", config.n_layers, **attached("blank_block"))
        head = pick(page, "head", config.n_heads, **attached("blank_head"))
    traced = filled.trace.blocks[block]
    pattern, tokens = traced.pattern[head].numpy(), names(filled)
    query = 0 if picked is None else picked
    left, own, right = sides(pattern, query)
    text = page.labels("attention") | {"title": page.label(
        "blank_sides", head=f"{block}.{head}", token=tokens[query], left=probability(left), own=probability(own),
        right=probability(right))}
    shown = Head(pattern, traced.allowed.numpy(), tokens, text, f"{block}.{head}",
                 (query, int(pattern[query].argmax())), height=PICTURE, scale=reader.scale(), theme=reader.theme())
    attention_view(shown, key=f"{PREFIX}blank_pattern", on_pick=lambda query, key: keep(blank_picked=query))
    return block, head


def names(filled: Filled) -> list[str]:
    """All tokens of the encoder's input in their visible form."""
    return [filled.name(position) for position in range(len(filled.inputs))]
