"""A text compressed with a language model: the tokens go through an arithmetic coder whose intervals are the model's
probabilities.

Coder and decoder ask the model the very same questions in the same order, one token at a time with a cache of keys and
values, so that both see the same numbers to the last bit; on another machine, where sums may be rounded in another way,
a decoder may not find the text again.
"""
import bz2
import gzip
import lzma
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.language.arithmetic_coding import Decoder, Encoder, quantise, share
from core.model.block import KVCache
from core.model.transformer import Transformer

LEAST_WINDOW = 4096     # bytes that lzma looks back over at least


@dataclass(frozen=True)
class CodedToken:
    """One token in the coder.

    rank         its place among all tokens, 0 for the most probable
    log_prob     ln of the model's own probability, nats
    start, end   its interval of [0, total), the tokens beside each other by rank
    sent         how many bits are sent once it is coded
    pending      how many more wait for the next bit, whose opposite they are
    low, high    the coder's registers then, the leading digits of the interval's ends behind the bits sent
    likely       (k, 2) the first k tokens: id and frequency
    """

    token_id: int
    rank: int
    log_prob: float
    start: int
    end: int
    total: int
    sent: int
    pending: int
    low: int
    high: int
    likely: np.ndarray


class NextToken:
    """The model's frequencies of the next token, token by token.

    Tokens stand by falling frequency, equal ones by rising id; `order` says which.
    """

    def __init__(self, model: Transformer) -> None:
        if model.config.end_of_text is None:
            raise ValueError("Without an end-of-text token a decoder would not know where to stop.")
        self._model, self._cache = model, KVCache()
        self.read(model.config.first_token)

    @torch.inference_mode()
    def read(self, token_id: int) -> None:
        """Go on to what follows `token_id`."""
        logits = self._model.logits(torch.tensor([token_id], device=self._model.device), cache=self._cache,
                                    last_only=True)[0]
        self.log_probs = logits.cpu().double().log_softmax(-1).numpy()
        frequencies = quantise(np.exp(self.log_probs))
        self.order = np.argsort(-frequencies, kind="stable")
        self.frequencies = frequencies[self.order]

    def rank(self, token_id: int) -> int:
        return int(np.flatnonzero(self.order == token_id)[0])


def compress(model: Transformer, token_ids: Sequence[int], n_likely: int = 8) -> tuple[list[int], list[CodedToken]]:
    """The bits of a text's tokens and of the end of text that closes it, and what the coder did at each.

    Raises ValueError for a text that does not fit the model's context with the end of text before it.
    """
    if len(token_ids) >= model.config.n_context:
        raise ValueError(f"{len(token_ids)} tokens do not fit a context of {model.config.n_context}.")
    following, encoder, steps = NextToken(model), Encoder(), []
    for token_id in (*token_ids, model.config.end_of_text):
        if steps:
            following.read(steps[-1].token_id)
        rank = following.rank(token_id)
        start, end, total = share(following.frequencies, rank)
        encoder.encode(start, end, total)
        likely = np.stack([following.order[:n_likely], following.frequencies[:n_likely]], axis=1)
        steps.append(CodedToken(int(token_id), rank, float(following.log_probs[token_id]), start, end, total,
                                len(encoder.bits), encoder.pending, encoder.low, encoder.high, likely))
    return encoder.finish(), steps


def decompress(model: Transformer, bits: Sequence[int]) -> Iterator[int]:
    """The tokens that `compress` coded, without the end of text that closes them."""
    following, decoder = NextToken(model), Decoder(bits)
    for _ in range(model.config.n_context):
        token_id = int(following.order[decoder.symbol(following.frequencies)])
        if token_id == model.config.end_of_text:
            return
        yield token_id
        following.read(token_id)


def ideal_bits(steps: Sequence[CodedToken]) -> float:
    """−log2 of the model's probability of the text and its end: what no code for it can beat on average."""
    return -math.fsum(step.log_prob for step in steps) / math.log(2)


def packed(data: bytes) -> dict[str, int]:
    """The size in bytes of `data` under well-known compressors at their best settings. gzip is deflate with a header
    and checks of 18 bytes, zlib the same with 6.
    """
    # lzma looks back over all of the data; by itself it makes room for 64 MiB of it, which takes longer
    # than all the rest.
    raw_lzma = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": max(LEAST_WINDOW, len(data))}]
    return {"gzip": len(gzip.compress(data, compresslevel=9, mtime=0)),
            "zlib": len(zlib.compress(data, 9)), "bz2": len(bz2.compress(data, 9)),
            "lzma": len(lzma.compress(data, format=lzma.FORMAT_RAW, filters=raw_lzma))}
