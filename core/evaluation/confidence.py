"""How sure a model is of what it answers: the likeliest answers to a question, whole, each with its probability."""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from core.block import KVCache
from core.evaluation.tasks import goes_on, is_right
from core.generation import log_probs_of, next_logits, reorder
from core.model import Transformer
from core.teaching_text import Exercise
from core.tokenizer import Tokenizer

LONGEST = 14        # tokens of an answer
BATCH = 64


@dataclass(frozen=True)
class Claim:
    """An answer up to the end of its line.

    token_ids  the answer's tokens
    log_probs  ln p of each of them after those before it, and last the ln p that its last word ends there; nats
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
        """Whether it begins with the exercise's answer. Where there is none, since the exercise asks for what does not exist, nothing is right."""
        return bool(self.exercise.answer) and is_right(self.text, self.exercise.answer)


def claims(model: Transformer, tokenizer: Tokenizer, exercises: Sequence[Exercise]) -> Iterator[tuple[int, Claim]]:
    """What the model answers to each exercise, always the most probable token, up to the end of the line or LONGEST tokens: (i, its answer to exercises[i]), in no
    promised order. About 12 ms an exercise.
    """
    rows, ends = [tokenizer.prompt(exercise.prompt, model.config.n_context - LONGEST).token_ids for exercise in exercises], _Ends.of(tokenizer)

    def length(i: int) -> int:
        return len(rows[i])

    for _, alike in itertools.groupby(sorted(range(len(rows)), key=length), length):
        while batch := list(itertools.islice(alike, BATCH)):
            for i, (new, log_probs) in zip(batch, _written(model, ends, [rows[i] for i in batch])):
                yield i, Claim(exercises[i], new, tokenizer.decode(new), log_probs)


def leading(model: Transformer, tokenizer: Tokenizer, exercise: Exercise, n: int = 4) -> list[Claim]:
    """n whole answers, the most probable first: those that begin with each of the n most probable first tokens, and go on with the most probable ones.

    What the model writes is among them, unless that is nothing at all. An answer that shares its first token with a more probable one is not.
    """
    row = tokenizer.prompt(exercise.prompt, model.config.n_context - LONGEST - 1).token_ids
    ends, scores = _Ends.of(tokenizer), log_probs_of(next_logits(model, [row], KVCache()))[0]
    scores[sorted(ends.of_line)] = -math.inf
    best = scores.topk(n)
    written = _written(model, ends, [(*row, token_id) for token_id in best.indices.tolist()])
    found = [Claim(exercise, (first, *new), tokenizer.decode((first, *new)), (value, *log_probs))
             for first, value, (new, log_probs) in zip(best.indices.tolist(), best.values.tolist(), written)]
    return sorted(found, key=lambda claim: -claim.p)


@dataclass(frozen=True)
class _Ends:
    """Which tokens end a line, and (|V|,) which end the word before them."""

    of_line: set[int]
    of_word: torch.Tensor

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> _Ends:
        written = [tokenizer.token_bytes(i) for i in range(tokenizer.vocab_size)]
        return cls({tokenizer.end_of_text, *(i for i, token in enumerate(written) if b"\n" in token)}, torch.tensor([not goes_on(token) for token in written]))


def _written(model: Transformer, ends: _Ends, rows: Sequence[tuple[int, ...]]) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Each of some texts of one length to the end of its line, greedily: the new tokens, and their ln p with that of the last word's end."""
    texts, log_probs, cache = dict(enumerate(rows)), [[] for _ in rows], KVCache()
    found = {}
    for step in range(LONGEST + 1):
        scores, kept = log_probs_of(next_logits(model, list(texts.values()), cache)), []
        for place, (i, best) in enumerate(zip(list(texts), scores.argmax(-1).tolist())):
            if best in ends.of_line or step == LONGEST:
                log_probs[i].append(float(scores[place][ends.of_word].logsumexp(-1)))
                found[i] = texts.pop(i)[len(rows[i]):]
            else:
                log_probs[i].append(float(scores[place, best]))
                texts[i] += (best,)
                kept.append(place)
        if not texts:
            break
        reorder(cache, kept)
    return [(found[i], tuple(log_probs[i])) for i in range(len(rows))]
