"""Where the model runs: CUDA if there, else Apple's MPS, else the CPU; and what counts as out of memory."""
from __future__ import annotations

import torch

CPU = "cpu"


def available() -> tuple[str, ...]:
    """The devices of this machine, the preferred one first; "cpu" is always the last."""
    found = []
    if torch.cuda.is_available():
        found.append("cuda")
    if torch.backends.mps.is_available():
        found.append("mps")
    return (*found, CPU)


def preferred() -> str:
    return available()[0]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that a device's memory is full: CUDA, MPS and the CPU word it differently."""
    said = str(error).lower()
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or (
        isinstance(error, RuntimeError) and any(words in said for words in ("out of memory", "not enough memory", "can't allocate memory")))
