"""Compression of a text with a language model: an arithmetic coder encodes the tokens with the model's probabilities.

Encoder and decoder run the model on the same tokens in the same order, one at a time with a cache of keys and values,
so that both get the same numbers to the last bit. On another machine, where sums may be rounded differently, a decoder
may fail.
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
from core.model.kv_cache import KVCache
from core.model.transformer import Transformer

N_LIKELY = 8            # tokens of each step that are recorded
LEAST_WINDOW = 4096     # bytes, the smallest window of lzma


@dataclass(frozen=True)
class CodedToken:
    """One encoded token.

    rank         its rank among all tokens, 0 for the most probable
    log_prob     ln p of the model, nats
    start, end   its interval of [0, total), with the tokens lined up by rank
    sent         the number of bits sent after it
    pending      the number of bits, opposite to the next one, that follow it
    low, high    the registers after it: the leading digits of the interval's ends after the bits sent
    likely       (k, 2) the k most probable tokens: id and frequency
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

    frequencies (|V|,) are sorted, highest first, equal ones by rising id; `order` (|V|,) holds the token ids. Raises
    ValueError for a model without an end-of-text token.
    """

    def __init__(self, model: Transformer) -> None:
        if model.config.end_of_text is None:
            raise ValueError("Without an end-of-text token a decoder would not know where to stop.")
        self._model, self._cache = model, KVCache()
        self.read(model.config.first_token)

    @torch.inference_mode()
    def read(self, token_id: int) -> None:
        """Compute the frequencies after `token_id`."""
        logits = self._model.logits(torch.tensor([token_id], device=self._model.device), cache=self._cache,
                                    last_only=True)[0]
        self.log_probs = logits.cpu().double().log_softmax(-1).numpy()
        frequencies = quantise(np.exp(self.log_probs))
        self.order = np.argsort(-frequencies, kind="stable")
        self.frequencies = frequencies[self.order]

    def rank(self, token_id: int) -> int:
        return int(np.flatnonzero(self.order == token_id)[0])


def compress(model: Transformer, token_ids: Sequence[int]) -> tuple[list[int], list[CodedToken]]:
    """The bits of a text's tokens and of its closing end of text, and a record of each token.

    Raises ValueError for a text that does not fit the model's context after the first token.
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
        likely = np.stack([following.order[:N_LIKELY], following.frequencies[:N_LIKELY]], axis=1)
        steps.append(CodedToken(int(token_id), rank, float(following.log_probs[token_id]), start, end, total,
                                len(encoder.bits), encoder.pending, encoder.low, encoder.high, likely))
    return encoder.finish(), steps


def decompress(model: Transformer, bits: Sequence[int]) -> Iterator[int]:
    """Yield the tokens that `compress` encoded, without the closing end of text."""
    following, decoder = NextToken(model), Decoder(bits)
    for _ in range(model.config.n_context):
        token_id = int(following.order[decoder.symbol(following.frequencies)])
        if token_id == model.config.end_of_text:
            return
        yield token_id
        following.read(token_id)


def ideal_bits(steps: Sequence[CodedToken]) -> float:
    """−log2 of the model's probability of the text and its end: the entropy bound of the code length, in bits."""
    return -math.fsum(step.log_prob for step in steps) / math.log(2)


def sizes(data: bytes) -> dict[str, int]:
    """The size in bytes of `data` under well-known compressors at their best settings. gzip is deflate with a header
    and checks of 18 bytes, zlib the same with 6.
    """
    # a window as long as the data: the default of 64 MiB takes longer to allocate than all the rest
    raw_lzma = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": max(LEAST_WINDOW, len(data))}]
    return {"gzip": len(gzip.compress(data, compresslevel=9, mtime=0)),
            "zlib": len(zlib.compress(data, 9)), "bz2": len(bz2.compress(data, 9)),
            "lzma": len(lzma.compress(data, format=lzma.FORMAT_RAW, filters=raw_lzma))}
