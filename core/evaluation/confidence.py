"""A model's confidence in its answers: the most probable whole answers to a question, each with its probability."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.analysis.text_probability import next_log_probs
from core.evaluation.teaching_tasks import is_right, word_ends
from core.model.generation import log_probs_of, next_logits, reorder
from core.model.kv_cache import KVCache
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.teaching_text import Exercise

LONGEST = 14        # tokens of an answer
N_ANSWERS = 4       # of an exercise, each with another first token
BATCH = 48          # questions that are answered side by side


@dataclass(frozen=True)
class Claim:
    """An answer up to the end of its line.

    token_ids  the answer's tokens
    log_probs  ln p in nats of each token after those before it, then ln p that the last word ends there (for an empty
               answer: that the line does)
    """

    exercise: Exercise
    token_ids: tuple[int, ...]
    text: str
    log_probs: tuple[float, ...]

    @property
    def p(self) -> float:
        """The probability of the whole answer, as whole words."""
        return math.exp(math.fsum(self.log_probs))

    @property
    def right(self) -> bool:
        """Whether it begins with the answer of the exercise; False for an exercise about an invented subject, which has
        no answer.
        """
        return bool(self.exercise.answer) and is_right(self.text, self.exercise.answer)


def claims(model: Transformer, tokenizer: Tokenizer, exercises: Sequence[Exercise]) -> Iterator[tuple[int, Claim]]:
    """Yield (i, the model's greedy answer to exercises[i]) in any order, each up to the end of the line or LONGEST
    tokens. Takes about 12 ms an exercise.
    """
    ends, most = _ends(tokenizer), max(1, model.config.n_context - LONGEST)
    rows = [tokenizer.prompt(exercise.prompt, most).token_ids for exercise in exercises]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    for places in np.array_split(order, math.ceil(len(rows) / BATCH)) if rows else ():
        for i, (new, log_probs) in zip(places.tolist(), _written(model, ends, [rows[i] for i in places])):
            yield i, Claim(exercises[i], new, tokenizer.decode(new), log_probs)


def leading(model: Transformer, tokenizer: Tokenizer, exercises: Sequence[Exercise]) -> list[list[Claim]]:
    """Return for each exercise N_ANSWERS whole answers, the most probable first: each begins with another of as many
    most probable first tokens and continues greedily. The empty answer is among them if the model would end the line
    at once. `greedy` picks the one that the model writes.
    """
    most, ends = max(1, model.config.n_context - LONGEST - 1), _ends(tokenizer)
    rows = [tokenizer.prompt(exercise.prompt, most).token_ids for exercise in exercises]
    claims, begun = [], []      # begun: (the exercise's place, a first token, its ln p)
    for i, scores in enumerate(torch.from_numpy(next_log_probs(model, rows))):
        empty = Claim(exercises[i], (), "", (float(scores[ends[0]].logsumexp(-1)),))
        claims.append([empty] if ends[0][scores.argmax()] else [])
        best = scores.masked_fill(ends[0], -math.inf).topk(N_ANSWERS - len(claims[i]))
        begun += zip([i] * N_ANSWERS, best.indices.tolist(), best.values.tolist())
    written = _written(model, ends, [(*rows[i], first) for i, first, _ in begun], begun=True)
    for (i, first, value), (new, log_probs) in zip(begun, written):
        claims[i].append(Claim(exercises[i], (first, *new), tokenizer.decode((first, *new)), (value, *log_probs)))
    return [sorted(each, key=lambda claim: -claim.p) for each in claims]


def greedy(answers: Sequence[Claim]) -> Claim:
    """The answer of `leading` that greedy decoding writes: as a whole it is not always the most probable."""
    return max(answers, key=lambda claim: claim.log_probs[0])


def _ends(tokenizer: Tokenizer) -> tuple[torch.Tensor, torch.Tensor]:
    """(|V|,) bool each: the tokens that end a line, and those that end the word before them."""
    of_line = [b"\n" in tokenizer.token_bytes(i) or i == tokenizer.end_of_text for i in range(tokenizer.vocab_size)]
    return torch.tensor(of_line), word_ends(tokenizer)


def _written(model: Transformer, ends: tuple[torch.Tensor, torch.Tensor], rows: Sequence[tuple[int, ...]],
             begun: bool = False) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Continue each row greedily to the end of its line. Return the new tokens of each row, and their ln p followed by
    the ln p of the end of the last word (for an empty answer, of the line). begun: the rows already end with an
    answer's first token.

    All rows advance by one token a step: while the longer ones are still read, the shorter ones are answered.
    """
    of_line, of_word = ends
    texts, log_probs, cache = dict(enumerate(rows)), [[] for _ in rows], KVCache()
    written, n_read = {}, min(map(len, rows), default=0)
    while texts:
        scores, kept = log_probs_of(next_logits(model, [text[:n_read] for text in texts.values()], cache)), []
        for place, (i, best) in enumerate(zip(list(texts), scores.argmax(-1).tolist())):
            step = n_read - len(rows[i])            # step of the answer; below 0 in a row that is still read
            if step >= 0 and (of_line[best] or step == LONGEST):
                log_probs[i].append(float(scores[place][of_word if step or begun else of_line].logsumexp(-1)))
                written[i] = texts.pop(i)[len(rows[i]):]
                continue
            if step >= 0:
                log_probs[i].append(float(scores[place, best]))
                texts[i] += (best,)
            kept.append(place)
        reorder(cache, kept)
        n_read += 1
    return [(written[i], tuple(log_probs[i])) for i in range(len(rows))]
