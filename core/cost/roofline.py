"""The roofline: what a device can do at most with a pass, by its peak and by its memory (Williams, Waterman and
Patterson 2009).

A pass lasts at least as long as its operations take at the peak, and as long as the bytes that it moves between memory
and cores take at the bandwidth. So the device reaches at most min(peak, I · bandwidth) operations a second, where the
arithmetic intensity I is operations over bytes.
"""
from dataclasses import dataclass

from core.cost.built_models import Hardware
from core.cost.counting import BYTES, kv_cache_bytes, n_parameters, products, stacks
from core.model.config import ModelConfig

DTYPE = "bf16"


@dataclass(frozen=True)
class Work:
    """Operations of the matrix products, and the least bytes moved."""

    operations: int
    bytes: int

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / self.bytes


def weights_read(config: ModelConfig, n_tokens: int) -> int:
    """Bytes of the weights that a pass over n_tokens tokens reads: all of them once; of a table that is only looked up
    (positions, and E unless it is also the unembedding), one row for each token.
    """
    learned, n_stacks = config.positions == "learned", len(stacks(config))
    tables = ([] if config.tied_embeddings else [(config.vocab_size, config.d_embedding)])
    tables += [(config.n_context, config.d_entering)] * (learned * n_stacks)
    return BYTES[DTYPE] * (n_parameters(config) + sum((n_tokens - rows) * width for rows, width in tables))


def reading(config: ModelConfig, n: int) -> Work:
    """One pass over n tokens at once. It moves the weights, and the keys and values that it writes; all else stays on
    the chip, as if it had room for it.
    """
    return Work(sum(products(config, n).values()), weights_read(config, n) + kv_cache_bytes(config, n, DTYPE))


def writing(config: ModelConfig, n: int, batch: int = 1) -> Work:
    """The n-th token of each of `batch` texts, the others being in the cache: the weights are moved once for all texts,
    keys and values for each.
    """
    return Work(batch * sum(products(config, 1, cached=n - 1).values()),
                weights_read(config, batch) + batch * kv_cache_bytes(config, n, DTYPE))


def attainable(work: Work, device: Hardware) -> float:
    """Operations a second that the device reaches at most: the roof above the work's intensity."""
    return min(device.peak, work.intensity * device.bandwidth)
