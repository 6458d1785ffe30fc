"""How sure a model is of what it answers: the likeliest answers to a question, whole, each with its probability."""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from core.evaluation.teaching_tasks import goes_on, is_right
from core.model.block import KVCache
from core.model.generation import log_probs_of, next_logits, reorder
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.teaching_text import Exercise

LONGEST = 14        # tokens of an answer
BATCH = 64


@dataclass(frozen=True)
class Claim:
    """An answer up to the end of its line.

    token_ids  the answer's tokens
    log_probs  ln p of each of them after those before it, and last the ln p that its last word ends there, of an empty
               answer that the line does; nats
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
        """Whether it begins with the exercise's answer.

        Where there is none, since the exercise asks for what does not exist, nothing is right.
        """
        return bool(self.exercise.answer) and is_right(self.text, self.exercise.answer)


def claims(model: Transformer, tokenizer: Tokenizer, exercises: Sequence[Exercise]) -> Iterator[tuple[int, Claim]]:
    """What the model answers to each exercise, always the most probable token, up to the end of the line or LONGEST
    tokens: (i, its answer to exercises[i]), in no promised order. About 12 ms an exercise.
    """
    rows, ends = [tokenizer.prompt(exercise.prompt, max(1, model.config.n_context - LONGEST)).token_ids
                  for exercise in exercises], _Ends.of(tokenizer)

    def length(i: int) -> int:
        return len(rows[i])

    for _, alike in itertools.groupby(sorted(range(len(rows)), key=length), length):
        while batch := list(itertools.islice(alike, BATCH)):
            for i, (new, log_probs) in zip(batch, _written(model, ends, [rows[i] for i in batch])):
                yield i, Claim(exercises[i], new, tokenizer.decode(new), log_probs)


def leading(model: Transformer, tokenizer: Tokenizer, exercise: Exercise, n: int = 4) -> list[Claim]:
    """n whole answers, the most probable first: those that begin with each of the n most probable first tokens and go
    on with the most probable ones; among them the empty one, where the model would end the line at once. What it writes
    is `said` of them. An answer that shares its first token with another is not there.
    """
    row = tokenizer.prompt(exercise.prompt, max(1, model.config.n_context - LONGEST - 1)).token_ids
    ends, scores = _Ends.of(tokenizer), log_probs_of(next_logits(model, [row], KVCache()))[0]
    found = ([Claim(exercise, (), "", (float(scores[ends.of_line].logsumexp(-1)),))]
             if ends.of_line[scores.argmax()] else [])
    best = scores.masked_fill(ends.of_line, -math.inf).topk(n - len(found))
    written = _written(model, ends, [(*row, token_id) for token_id in best.indices.tolist()], begun=True)
    found += [Claim(exercise, (first, *new), tokenizer.decode((first, *new)), (value, *log_probs))
              for first, value, (new, log_probs) in zip(best.indices.tolist(), best.values.tolist(), written)]
    return sorted(found, key=lambda claim: -claim.p)


def said(answers: Sequence[Claim]) -> Claim:
    """Of `leading` answers the one that the model writes, always taking the most probable token: not always the most
    probable one as a whole.
    """
    return max(answers, key=lambda claim: claim.log_probs[0])


@dataclass(frozen=True)
class _Ends:
    """(|V|,) which tokens end a line, and which end the word before them."""

    of_line: torch.Tensor
    of_word: torch.Tensor

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> _Ends:
        written = [tokenizer.token_bytes(i) for i in range(tokenizer.vocab_size)]
        return cls(torch.tensor([b"\n" in token or i == tokenizer.end_of_text for i, token in enumerate(written)]),
                   torch.tensor([not goes_on(token) for token in written]))


def _written(model: Transformer, ends: _Ends, rows: Sequence[tuple[int, ...]],
             begun: bool = False) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Each of some texts of one length to the end of its line, greedily: the new tokens, and their ln p with that of
    the last word's end, or, where there is none, of the line's. begun: the rows end with an answer's first token.
    """
    texts, log_probs, cache = dict(enumerate(rows)), [[] for _ in rows], KVCache()
    found = {}
    for step in range(LONGEST + 1):
        scores, kept = log_probs_of(next_logits(model, list(texts.values()), cache)), []
        for place, (i, best) in enumerate(zip(list(texts), scores.argmax(-1).tolist())):
            if ends.of_line[best] or step == LONGEST:
                log_probs[i].append(float(scores[place][ends.of_word if step or begun else ends.of_line].logsumexp(-1)))
                found[i] = texts.pop(i)[len(rows[i]):]
            else:
                log_probs[i].append(float(scores[place, best]))
                texts[i] += (best,)
                kept.append(place)
        if not texts:
            break
        reorder(cache, kept)
    return [(found[i], tuple(log_probs[i])) for i in range(len(rows))]
