"""How much of its tokens the vector of a context keeps: one token is exchanged for another, and e(c), the last token's
final vector, is compared with what it was.
"""
from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.model.transformer import Transformer

BATCH_TOKENS = 2048
TIMES = 4               # how often each token is exchanged


@dataclass(frozen=True)
class Exchange:
    """The effect of exchanging each of N tokens on e(c): means over the tokens put in its place.

    kl (N,): KL(p ‖ q) of the next-token distributions before and after, in nats; cosine (N,): of e(c) before and after;
    changed (N,): the fewest numbers of e(c), over the tokens put in, that differ after rounding to 16 bits.
    """

    kl: np.ndarray
    cosine: np.ndarray
    changed: np.ndarray


def bits_kept(d: int) -> int:
    """The bits of a vector of d numbers of 16 bits."""
    return 16 * d


@torch.inference_mode()
def exchanged(model: Transformer, token_ids: Sequence[int], seed: int, n_times: int = TIMES) -> Exchange:
    """Exchange every token in turn for n_times others of the same text, drawn by the seed; in a text with a single kind
    of token, for its neighbours in the vocabulary.
    """
    ids = list(token_ids)
    rows = [row for i in range(len(ids)) for row in _rows(model, ids, i, random.Random(f"{seed} {i}"), n_times)]
    step = max(1, BATCH_TOKENS // len(ids))
    vectors = torch.cat([model.final_vectors(torch.tensor(rows[k:k + step], device=model.device), last_only=True)[:, 0]
                         for k in range(0, len(rows), step)])
    # computed like the exchanged ones, so that an exchange for itself would change nothing
    before = model.final_vectors(torch.tensor([ids, ids], device=model.device), last_only=True)[:1, 0]
    log_p, log_q = (model.logits_of(h).double().log_softmax(-1) for h in (before, vectors))
    kl = (log_p.exp() * (log_p - log_q)).sum(-1).clamp(min=0)
    cosine = torch.nn.functional.cosine_similarity(before.double(), vectors.double(), dim=-1)
    changed = (vectors.half() != before.half()).sum(-1)
    kl, cosine, changed = (value.view(len(ids), n_times).cpu().numpy() for value in (kl, cosine, changed))
    return Exchange(kl.mean(1), cosine.mean(1), changed.min(1))


def _rows(model: Transformer, ids: list[int], i: int, random_: random.Random, n_times: int) -> list[list[int]]:
    """Copies of the text, n_times, with token i exchanged for another in each."""
    others = sorted(set(ids[1:]) - {ids[i]})
    if not others:
        size = model.config.vocab_size
        others = [(ids[i] + k) % size for k in range(1, min(size, n_times + 1))]
    drawn = random_.sample(others, n_times) if len(others) >= n_times else random_.choices(others, k=n_times)
    return [ids[:i] + [other] + ids[i + 1:] for other in drawn]
