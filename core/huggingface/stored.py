"""Reading of safetensors files by hand: eight bytes with the length of the header, the header in JSON, the numbers.

A header is read without the rest and a tensor without its neighbours; no file is mapped into memory, so that a file
larger than the memory can be inspected, and loaded if its model fits.
"""
import json
import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from core.huggingface.errors import PretrainedError, short

MOST_HEADER = 10**8         # bytes, as the safetensors library has it
TORCH = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
POINTER = b"version https://git-lfs"


@dataclass(frozen=True)
class Stored:
    """One tensor of a file: its name there, its shape, its number format in safetensors' spelling, and the file.

    begin, end: its bytes in the file, 0 if only the header of a file elsewhere is known.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    file: str
    begin: int = 0
    end: int = 0


def header(path: Path) -> list[Stored]:
    """Every tensor of a file. Raises PretrainedError for one that is damaged or cut short."""
    try:
        with path.open("rb") as file:
            first = file.read(8)
            if POINTER.startswith(first) and first:
                raise PretrainedError("incomplete", f"{path} is only a pointer of git-lfs to the weights, of "
                                                    f"{path.stat().st_size} bytes. Fetch the weights themselves with "
                                                    f"git lfs pull, or download the model from the Hub.")
            length = int.from_bytes(first, "little")
            if len(first) < 8 or length > MOST_HEADER:
                raise ValueError("it begins with no header of safetensors")
            table = json.loads(file.read(length), object_pairs_hook=_without_doubles)
        return _tensors(table, path, 8 + length)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, error) from error


def _without_doubles(pairs: list[tuple[str, object]]) -> dict:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("its header names something twice")
    return table


def _tensors(table: dict, path: Path, start: int) -> list[Stored]:
    """The tensors of a header, whose numbers lie one after another from the byte `start` to the end of the file."""
    tensors = [Stored(name, tuple(part["shape"]), part["dtype"], path.name,
                      *(start + offset for offset in part["data_offsets"]))
               for name, part in table.items() if name != "__metadata__"]
    place = start
    for tensor in sorted(tensors, key=lambda tensor: (tensor.begin, tensor.end)):
        if tensor.begin != place or tensor.end < place:
            raise ValueError(f"the place of {tensor.name} in it is wrong")
        if tensor.dtype in TORCH and tensor.end - place != math.prod(tensor.shape) * TORCH[tensor.dtype].itemsize:
            raise ValueError(f"{tensor.name} has not as many numbers as its shape {short(tensor.shape)} says")
        place = tensor.end
    if place != path.stat().st_size:
        raise ValueError(f"its header speaks of {place}")
    return tensors


def tensor(folder: Path, stored: Stored, first: int = 0, rows: int | None = None) -> Tensor:
    """A stored tensor, or `rows` of its rows from the row `first` on, in memory of its own and its file's number
    format, one of TORCH. Raises PretrainedError for a file that was cut short meanwhile.
    """
    kind, path = TORCH[stored.dtype], folder / stored.file
    shape = stored.shape if rows is None else (min(rows, stored.shape[0] - first), *stored.shape[1:])
    row = (stored.end - stored.begin) // max(stored.shape[0], 1) if rows is not None else 0
    numbers = torch.empty(shape, dtype=kind)
    if not numbers.numel():
        return numbers
    try:
        with path.open("rb") as file:
            file.seek(stored.begin + first * row)
            if file.readinto(numbers.view(-1).view(torch.uint8).numpy()) != numbers.numel() * kind.itemsize:
                raise ValueError(f"{stored.name} ends before its time")
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    return numbers


def _damaged(path: Path, error: Exception) -> PretrainedError:
    return PretrainedError("damaged", f"{path} is damaged or cut short ({path.stat().st_size} bytes: {error}). "
                                      f"Delete it and download it again.")
