"""The weight files of a Hugging Face model: only safetensors, in one file or in shards with an index.

No file is ever unpickled.

The headers are read first, so that a model can be checked before it is loaded; then the tensors are converted into our
parameters one by one.
"""
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import safetensors
import torch
from torch import Tensor

from core.huggingface.entries import Entry
from core.huggingface.errors import PretrainedError
from core.huggingface.plan import Plan
from core.model.checkpoints import MOST_TOLD, first_problems

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64"}
# Tensors of old files that are ignored: masks, tables that follow from the config, and heads for other tasks.
BESIDES = re.compile(r"(attn|attention)\.(masked_)?bias$|attn\.causal_mask$|rotary_emb\.|position_ids$|(^|\.)pooler\."
                     r"|cls\.seq_relationship\.|EncDecAttention\.relative_attention_bias\.")


@dataclass(frozen=True)
class Stored:
    """One tensor of a file: its name there, its shape, its number format in safetensors' spelling, and the file."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    file: str


def modern(name: str) -> str:
    """The current name: the first BERT files have gamma and beta for the gain and bias of a norm."""
    return re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name))


def weight_files(folder: Path) -> list[str]:
    """The safetensors files of the model in `folder`.

    Raises PretrainedError if there are none, or the index is damaged or names a missing file.
    """
    if (folder / INDEX).is_file():
        try:
            files = sorted(set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values()))
            if not files or any(not isinstance(name, str) or Path(name).name != name for name in files):
                raise ValueError("it names no files of this folder.")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise PretrainedError("damaged", f"{folder / INDEX} is damaged: {error} Fetch the file again.") from error
        if missing := [name for name in files if not (folder / name).is_file()]:
            raise PretrainedError("incomplete",
                                  f"{folder} is only half there: {', '.join(missing[:MOST_TOLD])} "
                                  f"{'is' if len(missing) == 1 else 'are'} missing, of {len(files)} weight files. "
                                  f"Download the model again; what is there already is kept.")
        return files
    if (folder / SINGLE).is_file():
        return [SINGLE]
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt")) or any(folder.glob("*.h5")):
        raise PretrainedError("format",
                              f"{folder} holds its weights in a format that can run code when it is read. This program "
                              "reads safetensors alone: load the model with transformers where you trust it, save it "
                              f"again with save_pretrained, or choose one that comes with model.safetensors.")
    raise PretrainedError("incomplete", f"{folder} holds no weights: there is neither {SINGLE} nor {INDEX}. Download "
                                        f"the model again.")


def headers(folder: Path) -> dict[str, Stored]:
    """Every tensor of the model in `folder` by its modern name, from the headers.

    Raises PretrainedError for a file that is damaged or cut short.
    """
    tensors = {}
    for file in weight_files(folder):
        with _opened(folder / file) as weights:
            for name in weights.keys():     # noqa: SIM118 (safetensors' reader is no dict)
                part = weights.get_slice(name)
                tensors[modern(name)] = Stored(name, tuple(part.get_shape()), part.get_dtype(), file)
    return tensors


def _opened(path: Path):
    try:
        return safetensors.safe_open(path, "pt")
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        raise PretrainedError("damaged", f"{path} is damaged or cut short ({path.stat().st_size} bytes: {error}). "
                                         f"Delete it and download it again.") from error


def located(plan: Plan, stored: Mapping[str, Stored]) -> dict[str, Stored]:
    """The stored tensor of every entry of the plan by the entry's name, which lacks the plan's prefix in a file of the
    bare model.

    Raises PretrainedError if a tensor is missing, has another shape than the config says or another number format than
    DTYPES, or if a tensor has no place in the model.
    """
    matched, problems = {}, []
    for entry in plan.entries:
        tensor = stored.get(entry.theirs) or stored.get(entry.theirs.removeprefix(plan.prefix))
        if tensor is None:
            problems.append(f"{entry.theirs} is missing")
            continue
        matched[entry.theirs] = tensor
        if tensor.shape != entry.shape:
            problems.append(f"{entry.theirs} is {tensor.shape}, and the config asks for {entry.shape}")
        elif tensor.dtype not in DTYPES:
            problems.append(f"{entry.theirs} is stored as {tensor.dtype}, and weights are "
                            f"{', '.join(DTYPES.values())}")
    used = {tensor.name for tensor in matched.values()}
    copies = {*plan.copies, *(name.removeprefix(plan.prefix) for name in plan.copies)}
    problems += [f"{name} has no place in this model" for name, tensor in stored.items()
                 if tensor.name not in used and name not in copies and not BESIDES.search(name)]
    if problems:
        raise PretrainedError("mismatch", f"The weights do not fit config.json: {first_problems(problems)}. Use the "
                                          f"files that were published together.")
    return matched


def parameters(folder: Path, plan: Plan, stored: Mapping[str, Stored],
               progress: Callable[[int, int], None] | None = None) -> dict[str, Tensor]:
    """Our parameters by name, float32 on the CPU. Only one stored tensor at a time is in memory besides them.

    progress: called with the bytes read so far and the bytes in all. Raises PretrainedError as `located` does and for
    numbers that are not finite.
    """
    located_tensors, loaded, done = located(plan, stored), {}, 0
    sizes = [4 * math.prod(entry.shape) for entry in plan.entries]
    for entry, size in zip(plan.entries, sizes):
        source = located_tensors[entry.theirs]
        # the file is opened anew for each tensor, which frees the memory mapped before
        with _opened(folder / source.file) as weights:
            loaded |= _parameters_of(entry, weights.get_tensor(source.name))
        done += size
        if progress is not None:
            progress(done, sum(sizes))
    return loaded


def _parameters_of(entry: Entry, tensor: Tensor) -> dict[str, Tensor]:
    whole = tensor.to(torch.float32, copy=True)         # a copy, since the file may change or disappear
    if not torch.isfinite(whole.sum()):                 # needs no second tensor
        raise PretrainedError("damaged", f"{entry.theirs} holds numbers that are not finite. Download the model again; "
                                         f"if it stays so, the model itself is broken.")
    return dict(zip(entry.ours, entry.split(whole), strict=True))
