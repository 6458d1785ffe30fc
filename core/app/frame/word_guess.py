"""The guess that most pictures of a prediction begin with: which token comes next, in the reader's own word."""
from collections.abc import Callable

import numpy as np

from core.app.frame.guesses import Word
from core.app.frame.named_token import look_up
from core.app.frame.prediction import Prediction, Truth
from core.app.state.run import Run
from core.figures.numbers import probability
from core.model.tokenizer import Tokenizer

N_BARS = 4


def next_word(name: str, run: Run, seen: Callable[[np.ndarray], int] = lambda logits: 0, **values) -> Prediction:
    """The question `name` for the token that the run is asked about; a typed word counts as its first token, with a
    space before it or without, whichever is likelier.

    seen: the statement that is true of the picture, by the logits (|V|,). The reason may name {top}, {p}, {word},
    {own}, {rank} and {n}.
    """
    def truth(typed: str) -> Truth:
        logits, vocabulary = run.logits(run.asked), run.tokenizer.visible
        own = look_up(logits, _likelier(typed, run.tokenizer, logits), typed)
        top = [int(i) for i in np.argsort(-logits, kind="stable")[:N_BARS]]
        bars = [(vocabulary(i), look_up(logits, i, "").probability, i == own.id)
                for i in [*top, *({own.id} - set(top))]]
        return Truth(vocabulary(top[0]), bars=bars, seen=seen(logits), values=values | {
            "top": vocabulary(top[0]), "p": probability(bars[0][1]), "word": vocabulary(own.id),
            "own": probability(own.probability), "rank": own.rank, "n": len(logits)})

    return Prediction(name, Word(), truth, values)


def _likelier(typed: str, tokenizer: Tokenizer, logits: np.ndarray) -> int:
    return max((tokenizer.encode(spelling)[0] for spelling in (typed, f" {typed}")), key=logits.__getitem__)
