"""Rank and probability of any token that the reader names."""
from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.app.state import reader
from core.app.state.run import Run
from core.base.markdown import code
from core.base.prose import TextFile
from core.figures.numbers import percent
from core.model.tokenizer import Tokenizer


@dataclass(frozen=True)
class NamedToken:
    """A token among the candidates for the next one. rank counts from 1; ties go to the lower id."""

    id: int
    visible: str
    rank: int
    probability: float


def draw(lesson: str, run: Run, position: int, words: TextFile) -> NamedToken | None:
    """Draw the field and, once a token is named here or picked elsewhere, its rank and probability after `position`."""
    typed = st.text_input(words.label("named"), key=f"{lesson}_named", help=words.label("named_help"), max_chars=80,
                          on_change=_name, args=(lesson, run.tokenizer))
    target = reader.selection().target
    if target is None:
        return None
    if typed and len(run.tokenizer.encode(typed)) > 1 and len(run.tokenizer.encode(" " + typed)) > 1:
        st.caption(words.label("named_first"))
    found = look_up(run.logits(position), target, run.tokenizer.visible(target))
    st.markdown(words.label("named_result", token=code(found.visible), rank=found.rank, n=run.tokenizer.vocab_size,
                            p=percent(found.probability)))
    return found


def look_up(logits: np.ndarray, token_id: int, visible: str) -> NamedToken:
    """Rank and probability of `token_id` under logits (|V|,), softmax over the whole vocabulary in float64."""
    own = logits[token_id]
    ahead = np.count_nonzero(logits > own) + np.count_nonzero(logits[:token_id] == own)
    weights = np.exp(logits - logits.max())
    return NamedToken(token_id, visible, int(ahead) + 1, float(weights[token_id] / weights.sum()))


def id_of(typed: str, tokenizer: Tokenizer) -> int | None:
    """The token meant by a typed text: the text itself if it is one token, else the text after a space if that is one
    token, else the first token of the text.
    """
    for spelling in (typed, " " + typed):
        if len(ids := tokenizer.encode(spelling)) == 1:
            return ids[0]
    return next(iter(tokenizer.encode(typed)), None)


def _name(lesson: str, tokenizer: Tokenizer) -> None:
    typed = st.session_state[f"{lesson}_named"]
    reader.select(target=id_of(typed, tokenizer) if typed else None)
