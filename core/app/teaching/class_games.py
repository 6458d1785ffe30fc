"""The model's part in a class's games: how probable it finds each next word that the class has given, and how much each
head changes the next token.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from core.app.compute import cache
from core.app.parts.named_token import look_up
from core.app.parts.word_guess import N_BARS, token_of
from core.app.state.run import LARGE, Run
from core.figures.numbers import readable
from core.language.contrasts import Contrast
from core.model.generation import log_probs_of
from core.model.intervention import HeadEdit, Intervention
from core.model.trace import Trace

MOST_WORDS = 30         # words that the model is asked about at once
MOST_KNOWN = 200        # tokens whose probability a class's wall knows
MOST_HEADS = 150        # heads that are switched off one by one
N_CANDIDATES = 5        # heads to choose from
MOST_SIDE = 32          # tokens in the picture of a head's pattern
MOST_CHARACTERS = 4_000     # of a text that the class writes or reads


def next_words(run: Run, text: str, words: Sequence[str]) -> dict:
    """The model's prediction after a text: {text, bars: [[word, p]], bits, entropy}.

    The p of a word is the probability of its first token, as everywhere in the app; the likeliest tokens follow the
    words. bits: −log2 of the first word's probability; entropy: that of the model's next token, in bits.
    """
    read = run.with_text(text)
    logits = read.logits()
    given = [[word, look_up(logits, token_of(word, read.tokenizer, logits), word).probability]
             for word in words[:MOST_WORDS] if word]
    p = _probabilities(logits)
    likeliest = _bars(read, p, N_BARS)
    entropy = -float((p * np.log2(np.where(p > 0, p, 1))).sum())
    return {"text": text, "bars": given + likeliest, "entropy": entropy,
            "bits": -math.log2(given[0][1]) if given and given[0][1] > 0 else None}


def likeliest(run: Run) -> dict | None:
    """The model's part in a tally of next words: answer, the likeliest token; bars, the first N_BARS as [token, p];
    known, the first MOST_KNOWN, for the words of the class. None for a model that predicts no next token.
    """
    if run.is_encoder or not run.has_head:
        return None
    known = _bars(run, _probabilities(run.logits()), MOST_KNOWN)
    return {"answer": known[0][0], "bars": known[:N_BARS], "known": known}


def _probabilities(logits: np.ndarray) -> np.ndarray:
    """(|V|,) softmax of the logits, in float64."""
    z = np.exp(logits.astype(np.float64) - logits.max())
    return z / z.sum()


def _bars(run: Run, p: np.ndarray, most: int) -> list[list]:
    """The `most` likeliest tokens as [visible text, p], the likeliest first."""
    return [[run.tokenizer.visible(int(i)), float(p[i])] for i in np.argsort(-p, kind="stable")[:most]]


def can_lose_heads(run: Run) -> bool:
    """Whether the game of switching off heads takes no longer than a class waits."""
    config = run.model.config
    return bool(run.own_ids) and config.n_layers * config.n_heads <= MOST_HEADS and run.model.n_parameters <= LARGE


def effects(run: Run) -> np.ndarray:
    """KL(p ‖ q) in nats at the last position, (L, h): p with all heads, q without this head."""
    config = run.model.config

    def measured() -> np.ndarray:
        log_p = _log_probs(run.trace)
        return np.array([[Contrast(log_p, _log_probs(run.trace_with(
            Intervention(heads=(HeadEdit(layer, head),))))).kl_from_p
                          for head in range(config.n_heads)] for layer in range(config.n_layers)])

    return cache.result(run.key("class_heads"), measured, lambda found: found.nbytes)


def head_truth(run: Run, about: str, guess: object) -> dict:
    """The model's answer to a class that picks a head to switch off; a head's place is counted row by row.

    candidates: the heads to choose from, each {place, block, head, token, picture}: token is the one that the head
    attends to most from the last position, picture its pattern over the last MOST_SIDE tokens, one hexadecimal digit a
    weight. about, answer, block, head, said: the head whose loss changes the next token most, and by how much.
    own_block, own_head, own: the class's head; own is "" if it has picked none.
    """
    found = effects(run)
    flat, n_heads = found.ravel(), found.shape[1]
    answer = int(flat.argmax())
    picked = guess if isinstance(guess, int) and not isinstance(guess, bool) and 0 <= guess < len(flat) else None
    told = {"about": about, "answer": answer, "said": readable(float(flat[answer])), "own": "",
            "candidates": [_candidate(run, place, n_heads) for place in _candidates(flat)]}
    told |= dict(zip(("block", "head"), divmod(answer, n_heads)))
    if picked is not None:
        told |= {"own": readable(float(flat[picked]))} | dict(zip(("own_block", "own_head"), divmod(picked, n_heads)))
    return told


def _candidates(effects: np.ndarray) -> list[int]:
    """The places of N_CANDIDATES heads from the one with the largest effect to the one with the smallest, in order."""
    falling = np.argsort(-effects, kind="stable")
    return sorted({int(falling[round(i)]) for i in np.linspace(0, len(falling) - 1, N_CANDIDATES)})


def _candidate(run: Run, place: int, n_heads: int) -> dict:
    layer, head = divmod(place, n_heads)
    pattern = run.trace.blocks[layer].pattern[head]
    levels = (pattern[-MOST_SIDE:, -MOST_SIDE:] * 15).round().int().flatten().tolist()
    return {"place": place, "block": layer, "head": head, "token": run.tokens[int(pattern[-1].argmax())],
            "picture": "".join(f"{level:x}" for level in levels)}


def _log_probs(trace: Trace) -> np.ndarray:
    """(|V|,) ln p of the next token after the last position."""
    return log_probs_of(trace.logits[-1]).double().numpy(force=True)
