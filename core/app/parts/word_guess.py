"""Judge a guess that is a word of the reader's own, beside the model's likeliest tokens."""
import numpy as np

from core.app.classroom.guesses import Truth
from core.app.parts.named_token import look_up
from core.figures.numbers import percent
from core.model.tokenizer import Tokenizer

N_BARS = 4


def judged(typed: str, logits: np.ndarray, tokenizer: Tokenizer, seen: int = 0, **values) -> Truth:
    """A typed word beside the likeliest tokens under logits (|V|,); `values` are further values for the reason.

    seen: the statement that is true of the picture. The reason may use {top}, {p}, {word}, {own}, {rank} and {n}.
    """
    own, top = token_of(typed, tokenizer, logits), [int(i) for i in np.argsort(-logits, kind="stable")[:N_BARS]]
    bars = [(tokenizer.visible(i), look_up(logits, i, "").probability, i == own) for i in [*top, *({own} - set(top))]]
    found = look_up(logits, own, typed)
    return Truth(tokenizer.visible(top[0]), bars=bars, seen=seen, values=values | {
        "top": tokenizer.visible(top[0]), "p": percent(bars[0][1]), "word": tokenizer.visible(own),
        "own": percent(found.probability), "rank": found.rank, "n": len(logits)})


def token_of(typed: str, tokenizer: Tokenizer, logits: np.ndarray) -> int:
    """The first token of a typed word, with a space before it or without, whichever is likelier."""
    return max((tokenizer.encode(spelling)[0] for spelling in (typed, f" {typed}")), key=logits.__getitem__)
