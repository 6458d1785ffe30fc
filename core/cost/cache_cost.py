"""Savings and cost of the KV cache: the work and the time of one more token with and without it, and its memory."""
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from core.cost.counting import mlp_parameters
from core.model.config import ModelConfig
from core.model.generation import next_logits
from core.model.kv_cache import KVCache
from core.model.transformer import Transformer

BYTES = 4       # of a float32


@dataclass(frozen=True)
class Cost:
    """The last of n_tokens tokens, computed without the cache and with it: the seconds of the fastest try; the largest
    difference of a logit; whether the most probable next token is the same.
    """

    n_tokens: int
    uncached: float
    cached: float
    difference: float
    same: bool


def bytes_per_token(config: ModelConfig) -> int:
    """Bytes of the cache for each token: a key and a value in every head of every block, float32.

    >>> bytes_per_token(ModelConfig(vocab_size=9, d_model=8, n_layers=2, n_heads=2, n_context=4))
    128
    """
    return config.n_layers * config.n_kv_heads * (config.d_k + config.d_v) * BYTES


def multiplications(config: ModelConfig, n: int, cached: bool) -> int:
    """Multiplications in the matrix products for the logits after n tokens, masked cells included.

    With the cache one token passes through the blocks and attends to n keys; without it all n tokens do. Either way one
    token is unembedded.
    """
    d, heads, queries = config.d_model, config.n_heads, 1 if cached else n
    attention = d * heads * config.d_k + d * config.n_kv_heads * (config.d_k + config.d_v) + heads * config.d_v * d
    looking = heads * n * (config.d_k + config.d_v)
    return config.n_layers * queries * (attention + mlp_parameters(config) + looking) + d * config.vocab_size


@torch.no_grad()
def measure(model: Transformer, token_ids: Sequence[int], lengths: Sequence[int], tries: int = 3) -> Iterator[Cost]:
    """Yield the Cost of the last of the first n tokens, for each n of `lengths`, from 2 to the context's length; only
    that token is timed.
    """
    for n in lengths:
        ids = torch.tensor(list(token_ids[:n]), dtype=torch.int64, device=model.device)
        prefix = KVCache()
        model.logits(ids[:-1], prefix, last_only=True)
        seconds, logits = {False: [], True: []}, {}
        for _ in range(tries):
            for cached in (False, True):
                cache = KVCache()
                cache.keys_and_values = dict(prefix.keys_and_values)
                begin = time.perf_counter()
                logits[cached] = model.logits(ids[-1:] if cached else ids, cache if cached else None,
                                              last_only=True).cpu()
                seconds[cached].append(time.perf_counter() - begin)
        yield Cost(n, min(seconds[False]), min(seconds[True]), float((logits[False] - logits[True]).abs().max()),
                   bool(logits[False].argmax() == logits[True].argmax()))


def greedy_without_cache(model: Transformer, token_ids: Sequence[int], max_new_tokens: int) -> Iterator[int]:
    """Yield the most probable token again and again, reading the whole text again for each: the tokens of generate(…,
    temperature 0), which has a cache.
    """
    text: tuple[int, ...] = tuple(token_ids)
    for _ in range(max_new_tokens):
        text += (int(next_logits(model, [text], KVCache())[0].argmax()),)
        yield text[-1]
        if text[-1] in model.config.ends:
            break
