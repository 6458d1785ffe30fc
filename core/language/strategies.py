"""Decoding strategies compared: continuations of one prompt under several settings, each with its probability under the
model and its repetition.
"""
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from core.evaluation.samples import distinct_share
from core.model.generation import drawn_token, log_probs_of, next_logits, reorder
from core.model.kv_cache import KVCache
from core.model.sampling import SamplingConfig
from core.model.transformer import Transformer


@dataclass(frozen=True)
class Continuation:
    """A continuation: its tokens, and the model's ln p of each in nats (temperature 1, no truncation)."""

    token_ids: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()

    @property
    def log_prob(self) -> float:
        """ln p(continuation | prompt), nats."""
        return math.fsum(self.log_probs)

    @property
    def surprisal(self) -> float:
        """The mean −ln p of a token, in nats; NaN for no token."""
        return -self.log_prob / len(self.log_probs) if self.log_probs else math.nan

    def distinct(self, n: int) -> float:
        """Different n-grams over all n-grams, in (0, 1]; NaN for fewer than n tokens."""
        return distinct_share([self.token_ids], n)

    def repeated(self, n: int = 4) -> float:
        """1 − distinct(n): the share of n-grams that are repetitions."""
        return 1 - self.distinct(n)


def write_side_by_side(model: Transformer, token_ids: Sequence[int], jobs: Sequence[tuple[SamplingConfig, int]],
                       max_new_tokens: int) -> Iterator[tuple[Continuation, ...]]:
    """Write a text for each (config, seed) of `jobs`, one token each at every step; yield all texts so far, in the
    order of the jobs, after each step.

    Each text is that of generate(model, token_ids, config, seed), up to rounding, and ends where it does.
    """
    texts, generators = [Continuation() for _ in jobs], [torch.Generator().manual_seed(seed) for _, seed in jobs]
    live, cache, prompt = list(range(len(jobs))), KVCache(), tuple(token_ids)
    for step in range(max_new_tokens):
        logits = next_logits(model, [prompt + texts[i].token_ids for i in live] if step else [prompt],
                             cache).cpu().expand(len(live), -1)
        log_probs, rows = log_probs_of(logits), []
        for row, i in enumerate(live):
            token_id, text = drawn_token(logits[row], jobs[i][0], generators[i]), texts[i]
            texts[i] = Continuation(text.token_ids + (token_id,), text.log_probs + (log_probs[row, token_id].item(),))
            if token_id not in model.config.ends:
                rows.append(row)
        yield tuple(texts)
        live = [live[row] for row in rows]
        if not live:
            return
        reorder(cache, rows if step else [0] * len(rows))      # the prompt was read once for all
