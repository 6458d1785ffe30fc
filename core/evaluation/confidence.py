"""A model's confidence in its answers: the most probable whole answers to a question, each with its probability."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from core.evaluation.teaching_tasks import is_right, word_ends
from core.model.block import KVCache
from core.model.generation import log_probs_of, next_logits, reorder
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.corpus import of_one_length
from core.training.teaching_text import Exercise

LONGEST = 14        # tokens of an answer
BATCH = 64


@dataclass(frozen=True)
class Claim:
    """An answer up to the end of its line.

    token_ids  the answer's tokens
    log_probs  ln p in nats of each token after those before it, then ln p that the last word ends there (of an empty
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
        none.
        """
        return bool(self.exercise.answer) and is_right(self.text, self.exercise.answer)


def claims(model: Transformer, tokenizer: Tokenizer, exercises: Sequence[Exercise]) -> Iterator[tuple[int, Claim]]:
    """Yield (i, the model's greedy answer to exercises[i]) in any order, each up to the end of the line or LONGEST
    tokens. Takes about 12 ms an exercise.
    """
    ends, most = _ends(tokenizer), max(1, model.config.n_context - LONGEST)
    rows = ((tokenizer.prompt(exercise.prompt, most).token_ids, i) for i, exercise in enumerate(exercises))
    for batch in of_one_length(rows, lambda length: BATCH, emptied=True):
        for (_, i), (new, log_probs) in zip(batch, _written(model, ends, [row for row, _ in batch])):
            yield i, Claim(exercises[i], new, tokenizer.decode(new), log_probs)


def leading(model: Transformer, tokenizer: Tokenizer, exercise: Exercise, n: int = 4) -> list[Claim]:
    """Return n whole answers, the most probable first: each begins with another of the n most probable first tokens and
    continues greedily. No two share their first token; the empty answer is among them where the model would end the
    line at once. `greedy` picks the one that the model writes.
    """
    row = tokenizer.prompt(exercise.prompt, max(1, model.config.n_context - LONGEST - 1)).token_ids
    ends, scores = _ends(tokenizer), log_probs_of(next_logits(model, [row], KVCache()))[0]
    empty = [Claim(exercise, (), "", (float(scores[ends[0]].logsumexp(-1)),))]
    claims = empty if ends[0][scores.argmax()] else []
    best = scores.masked_fill(ends[0], -math.inf).topk(n - len(claims))
    written = _written(model, ends, [(*row, token_id) for token_id in best.indices.tolist()], begun=True)
    claims += [Claim(exercise, (first, *new), tokenizer.decode((first, *new)), (value, *log_probs))
               for first, value, (new, log_probs) in zip(best.indices.tolist(), best.values.tolist(), written)]
    return sorted(claims, key=lambda claim: -claim.p)


def greedy(answers: Sequence[Claim]) -> Claim:
    """Of the answers of `leading`, the one that greedy decoding writes: as a whole it is not always the most probable.
    """
    return max(answers, key=lambda claim: claim.log_probs[0])


def _ends(tokenizer: Tokenizer) -> tuple[torch.Tensor, torch.Tensor]:
    """(|V|,) bool each: the tokens that end a line, and those that end the word before them."""
    of_line = [b"\n" in tokenizer.token_bytes(i) or i == tokenizer.end_of_text for i in range(tokenizer.vocab_size)]
    return torch.tensor(of_line), word_ends(tokenizer)


def _written(model: Transformer, ends: tuple[torch.Tensor, torch.Tensor], rows: Sequence[tuple[int, ...]],
             begun: bool = False) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Continue each row, all of one length, greedily to the end of its line. Return the new tokens of each row, and
    their ln p followed by that of the end of the last word (of an empty answer: of the line). begun: the rows already
    end with an answer's first token.
    """
    of_line, of_word = ends
    texts, log_probs, cache = dict(enumerate(rows)), [[] for _ in rows], KVCache()
    written = {}
    for step in range(LONGEST + 1):
        scores, kept = log_probs_of(next_logits(model, list(texts.values()), cache)), []
        for place, (i, best) in enumerate(zip(list(texts), scores.argmax(-1).tolist())):
            if of_line[best] or step == LONGEST:
                log_probs[i].append(float(scores[place][of_word if step or begun else of_line].logsumexp(-1)))
                written[i] = texts.pop(i)[len(rows[i]):]
            else:
                log_probs[i].append(float(scores[place, best]))
                texts[i] += (best,)
                kept.append(place)
        if not texts:
            break
        reorder(cache, kept)
    return [(written[i], tuple(log_probs[i])) for i in range(len(rows))]
