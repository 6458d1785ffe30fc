"""The weight files of a Hugging Face model: only safetensors, in one file or in shards with an index.

No file is ever unpickled.

The headers are read first, so that a model can be checked before it is loaded; then the tensors are converted into our
parameters one by one.
"""
import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import Tensor

from core.huggingface import entries, refusals, stored
from core.huggingface.entries import Entry
from core.huggingface.errors import PretrainedError, read_table
from core.huggingface.plan import Plan
from core.huggingface.stored import Stored
from core.model import positional
from core.model.checkpoints import MOST_TOLD, first_problems

CONFIG, SINGLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
ROWS = 4096                 # compared at a time, of two tables
# the tables of positions that an encoder-decoder with sine waves may have stored, and our names for them
WAVES = {"model.encoder.embed_positions.weight": "encoder.P", "model.decoder.embed_positions.weight": "P"}
WAVES_NEAR = 1e-5           # two programs' float32 sines differ by less
DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64"}
# Tensors of old files that are ignored: masks, tables that follow from the config, and heads for other tasks.
BESIDES = re.compile(r"(attn|attention)\.(masked_)?bias$|attn\.causal_mask$|rotary_emb\.|position_ids$|(^|\.)pooler\."
                     r"|cls\.seq_relationship\.|EncDecAttention\.relative_attention_bias\.")


def modern(name: str) -> str:
    """The current name: the first BERT files have gamma and beta for the gain and bias of a norm."""
    return re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name))


def weight_files(folder: Path) -> list[str]:
    """The safetensors files of the model in `folder`: the whole one or, without it, those that the index names.

    Raises PretrainedError if there are none, or the index is damaged or names a missing file.
    """
    if (folder / SINGLE).is_file():
        return [SINGLE]
    if not (folder / INDEX).is_file():
        files = [path.relative_to(folder).as_posix() for path in (*folder.iterdir(), *folder.glob("*/*"))]
        raise refusals.no_weights(str(folder), files, read_table(folder / CONFIG, "damaged"))
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


def headers(folder: Path) -> dict[str, Stored]:
    """Every tensor of the model in `folder` by its modern name, from the headers.

    Raises PretrainedError for a file that is damaged or cut short, and for a name that stands in two files.
    """
    tensors = {}
    for file in weight_files(folder):
        for tensor in stored.header(folder / file):
            if (name := modern(tensor.name)) in tensors:
                raise PretrainedError("damaged", f"{name} stands in two places of the weights of {folder}. Download "
                                                 f"the model again.")
            tensors[name] = tensor
    return tensors


def found(plan: Plan, names: Mapping[str, Stored], name: str) -> Stored | None:
    """The stored tensor of a name of the plan, which lacks the plan's prefix in a file of the bare model."""
    return names.get(name) or names.get(name.removeprefix(plan.prefix))


def located(plan: Plan, tensors: Mapping[str, Stored]) -> dict[str, Stored]:
    """The stored tensor of every entry of the plan by the entry's name; a tied tensor may be stored under another of
    its names only.

    Raises PretrainedError if a tensor is missing, has another shape than the config says or another number format than
    DTYPES, or if a tensor has no place in the model.
    """
    matched, problems = {}, []
    for entry in plan.entries:
        tensor = found(plan, tensors, entry.theirs) or next(
            (copy for name, copy in copies(plan, tensors).items() if original(plan, name) is entry), None)
        if tensor is None:
            problems.append(f"{entry.theirs} is missing")
            continue
        matched[entry.theirs] = tensor
        if tensor.shape != entry.shape:
            problems.append(f"{entry.theirs} is {tensor.shape}, and the config asks for {entry.shape}")
        elif tensor.dtype not in DTYPES:
            problems.append(f"{entry.theirs} is stored as {tensor.dtype}, and weights are "
                            f"{', '.join(DTYPES.values())}")
    used = {tensor.name for tensor in (*matched.values(), *copies(plan, tensors).values())}
    problems += [f"{name} has no place in this model" for name, tensor in tensors.items()
                 if tensor.name not in used and not BESIDES.search(name)
                 and not (plan.besides and plan.besides.search(name)) and part_left_out(plan, name) is None]
    if problems:
        raise PretrainedError("mismatch", f"The weights do not fit config.json: {first_problems(problems)}. Use the "
                                          f"files that were published together.")
    return matched


def part_left_out(plan: Plan, name: str) -> str | None:
    """The part left out by the plan to which a tensor of this name belongs."""
    return next((part for part in plan.left_out if name.removeprefix("model.").startswith(part)), None)


def left_out(plan: Plan, tensors: Mapping[str, Stored]) -> tuple[tuple[str, int, int], ...]:
    """(part, tensors, numbers in them) of every part of the file that the plan leaves out."""
    sizes = {part: [math.prod(tensor.shape) for name, tensor in tensors.items() if part_left_out(plan, name) == part]
             for part in plan.left_out}
    return tuple((part.removesuffix("."), len(found), sum(found)) for part, found in sizes.items() if found)


def copies(plan: Plan, tensors: Mapping[str, Stored]) -> dict[str, Stored]:
    """The copies of a tied model that the file has, by their names in the plan."""
    there = {name: found(plan, tensors, name) for name in plan.copies}
    return {name: tensor for name, tensor in there.items() if tensor is not None}


def original(plan: Plan, copy: str) -> Entry:
    """The entry that a copy repeats: the embedding, or the bias of the unembedding."""
    ours = ("b_U",) if copy.endswith(".bias") else ("E",)
    return next(entry for entry in plan.entries if entry.ours == ours)


def untied(folder: Path, plan: Plan, tensors: Mapping[str, Stored]) -> Plan:
    """The plan as the numbers of the file ask for it: with an unembedding of its own if a model that its config calls
    tied has stored a different one, as transformers loads it. Reads both tables.

    Raises PretrainedError for another copy that differs, such as an embedding of only the encoder.
    """
    for name, copy in copies(plan, tensors).items():
        entry = original(plan, name)
        tensor = located(plan, tensors)[entry.theirs]
        # the plan takes that one of two biases that counts
        if entry.ours != ("E",) or tensor == copy or _equal(folder, tensor, copy):
            continue
        if name != plan.unembedding:
            raise PretrainedError("architecture", f"This model keeps a {copy.name} of its own, which differs from "
                                                  f"{tensor.name}, and this program has one for both. Choose another "
                                                  f"model of the family.")
        head = entries.as_is(name, "W_U", *entry.shape)
        plan = dataclasses.replace(plan, config=dataclasses.replace(plan.config, tied_embeddings=False),
                                   entries=(*plan.entries, head),
                                   copies=tuple(other for other in plan.copies if other != name))
    return plan


def with_stored_positions(folder: Path, plan: Plan, tensors: Mapping[str, Stored]) -> Plan:
    """The plan of an encoder-decoder with sine waves, or with the positions stored in its file if they are anything
    else, as transformers loads it. Reads both tables.

    Raises PretrainedError if the table of only one stack is stored, and differs.
    """
    config = plan.config
    tables = {name: found(plan, tensors, name) for name in WAVES} if config.positions == "sinusoidal" else {}
    there = {name: tensor for name, tensor in tables.items() if tensor is not None}
    waves = (positional.sinusoidal(config.n_context, config.d_model, halves=config.embedding.sinusoidal_halves)
             if there else None)
    if all(_holds(folder, tensor, waves) for tensor in there.values()):
        return plan
    if len(there) < len(WAVES):
        raise PretrainedError("architecture", f"This model keeps {next(iter(there))}, which holds other positions than "
                                              f"the sine waves of its family, and none for its other stack. Choose "
                                              f"another model of the family.")
    stored_tables = [entries.as_is(name, ours, config.n_context, config.d_model) for name, ours in WAVES.items()]
    return dataclasses.replace(plan, entries=(*plan.entries, *stored_tables), besides=None, config=config.changed(
        positions="learned", sinusoidal_halves=False))


def _holds(folder: Path, tensor: Stored, table: Tensor) -> bool:
    """Whether a stored tensor holds the numbers of a table; numbers rounded to 16 bits are different."""
    if tensor.shape != table.shape or tensor.dtype not in DTYPES:
        return False
    return torch.allclose(stored.tensor(folder, tensor).double(), table, rtol=0, atol=WAVES_NEAR)


def _equal(folder: Path, one: Stored, other: Stored) -> bool:
    """Whether two stored tensors hold the same numbers; reads ROWS rows of each at a time."""
    if one.shape != other.shape or one.dtype not in DTYPES or other.dtype not in DTYPES:
        return False
    parts = ([stored.tensor(folder, tensor, first, ROWS) for tensor in (one, other)]
             for first in range(0, one.shape[0], ROWS))
    alike = one.dtype == other.dtype
    return all(torch.equal(*(part if alike else (table.to(torch.float32) for table in part))) for part in parts)


def parameters(folder: Path, plan: Plan, tensors: Mapping[str, Stored],
               progress: Callable[[int, int], None] | None = None) -> dict[str, Tensor]:
    """Our parameters by name, float32 on the CPU. Only one stored tensor at a time is in memory besides them.

    progress: called with the bytes read so far and the bytes in all. Raises PretrainedError as `located` does and for
    numbers that are not finite.
    """
    located_tensors, loaded, done = located(plan, tensors), {}, 0
    sizes = [4 * math.prod(entry.shape) for entry in plan.entries]
    for entry, size in zip(plan.entries, sizes):
        loaded |= _parameters_of(entry, stored.tensor(folder, located_tensors[entry.theirs]))
        done += size
        if progress is not None:
            progress(done, sum(sizes))
    return entries.put_together(loaded)


def _parameters_of(entry: Entry, tensor: Tensor) -> dict[str, Tensor]:
    whole = tensor.to(torch.float32)
    if not torch.isfinite(whole.sum()):                 # needs no second tensor
        raise PretrainedError("damaged", f"{entry.theirs} holds numbers that are not finite. Download the model again; "
                                         f"if it stays so, the model itself is broken.")
    return dict(zip(entry.ours, entry.split(whole), strict=True))
