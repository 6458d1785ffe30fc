"""What the model says to a class that plays: how probable it finds each next word that the class has given, and by how
much each head changes the next token.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from core.app.compute import cache
from core.app.frame.named_token import look_up
from core.app.frame.word_guess import N_BARS, token_of
from core.app.state.run import LARGE, Run
from core.figures.numbers import readable
from core.language.contrasts import Contrast
from core.model.generation import log_probs_of
from core.model.intervention import HeadEdit, Intervention
from core.model.trace import Trace

MOST_WORDS = 30         # that the model is asked about at once
MOST_HEADS = 150        # that are switched off one by one
MOST_CHARACTERS = 4_000     # of a text that the class writes or reads


def next_words(run: Run, text: str, words: Sequence[str]) -> dict:
    """The model after a text: {text, bars: [[word, p]], bits, entropy}.

    Each word is told by the probability of its first token, as everywhere in the app; behind the words come the
    likeliest tokens. bits: −log2 of the first word's probability; entropy: of the model's next token, in bits.
    """
    read = run.with_text(text)
    logits = read.logits()
    given = [[word, look_up(logits, token_of(word, read.tokenizer, logits), word).probability]
             for word in words[:MOST_WORDS] if word]
    likeliest = [[read.tokenizer.visible(int(i)), look_up(logits, int(i), "").probability]
                 for i in np.argsort(-logits, kind="stable")[:N_BARS]]
    z = np.exp(logits - logits.max())
    p = z / z.sum()
    entropy = -float((p * np.log2(np.where(p > 0, p, 1))).sum())
    return {"text": text, "bars": given + likeliest, "entropy": entropy,
            "bits": -math.log2(given[0][1]) if given and given[0][1] > 0 else None}


def can_lose_heads(run: Run) -> bool:
    """Whether the game of switching off heads takes no longer than a class waits."""
    config = run.model.config
    return bool(run.own_ids) and config.n_layers * config.n_heads <= MOST_HEADS and run.model.n_parameters <= LARGE


def effects(run: Run) -> np.ndarray:
    """(L, h): KL(p ‖ q) in nats at the last position, p of the model as it is and q without that head."""
    config = run.model.config

    def measured() -> np.ndarray:
        log_p = _log_probs(run.trace)
        return np.array([[Contrast(log_p, _log_probs(run.trace_with(
            Intervention(heads=(HeadEdit(layer, head),))))).kl_from_p
                          for head in range(config.n_heads)] for layer in range(config.n_layers)])

    return cache.result(run.key("class_heads"), measured, lambda found: found.nbytes)


def head_truth(run: Run, about: str, guess: object) -> dict:
    """What the model says to a class that has picked a head to switch off, by its place row by row. about, answer,
    block, head, said: the head whose loss changes the next token most, and by how much; own_block, own_head, own: the
    class's own, own "" where it has picked none.
    """
    found = effects(run)
    flat, n_heads = found.ravel(), found.shape[1]
    answer = int(flat.argmax())
    picked = guess if isinstance(guess, int) and not isinstance(guess, bool) and 0 <= guess < len(flat) else None
    told = {"about": about, "answer": answer, "said": readable(float(flat[answer])), "own": ""}
    told |= dict(zip(("block", "head"), divmod(answer, n_heads)))
    if picked is not None:
        told |= {"own": readable(float(flat[picked]))} | dict(zip(("own_block", "own_head"), divmod(picked, n_heads)))
    return told


def _log_probs(trace: Trace) -> np.ndarray:
    """(|V|,) ln p of the next token after the last position."""
    return log_probs_of(trace.logits[-1]).double().numpy(force=True)
