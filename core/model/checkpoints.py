"""Models on disk: safetensors weights, a JSON config, the tokenizer and a model card, in one folder; and the bundled
ones under assets/models.

A model's folder may also hold its history: a folder `history` with the weights of some training steps, and the measures
of each.
"""
import dataclasses
import functools
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import safetensors
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from core.files import modified
from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer

BUNDLED = Path(__file__).resolve().parents[2] / "assets" / "models"
WEIGHTS, CONFIG, TOKENIZER, CARD = "model.safetensors", "config.json", "tokenizer.json", "README.md"
HISTORY, MILESTONES, RECORD = "history", "history.json", "training.json"
WEIGHT_DTYPES = (torch.float16, torch.bfloat16, torch.float32)
MOST_TOLD = 5               # the most problems that a message names
Record = TypeVar("Record")


class CheckpointError(Exception):
    """A checkpoint cannot be read; the message says what is wrong with which file, and what to do."""


@dataclass(frozen=True)
class Milestone:
    """A training step whose weights were kept, and what the model could do after it.

    held_out                nats per target on each held-out text, by name
    induction_score         of the head with the highest, on random sequences that repeat
                            (core.analysis.stream_and_heads); likewise previous_token_score
    sample                  how the model goes on after `prompt`, always taking the most probable token
    """

    step: int                               # steps done: 0 is before the first
    tokens_seen: int
    held_out: dict[str, float]
    induction_score: float
    previous_token_score: float
    prompt: str
    sample: str


def save(folder: str | Path, model: Transformer, tokenizer: Tokenizer, card: str,
         dtype: torch.dtype = torch.float16) -> None:
    """Write model, tokenizer and card (Markdown) into `folder`, weights as `dtype`; the folder is made if it does not
    exist.

    Every file is first written whole beside its place, then moved there, so that a reader never meets half a file.
    Raises ValueError if a weight does not fit the dtype or model and tokenizer do not fit each other.
    """
    folder, weights = Path(folder), _weights(model, dtype)
    if complaint := _mismatch(model.config, tokenizer):
        raise ValueError(complaint)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / WEIGHTS, lambda path: save_file(weights, path))
    _write(folder / TOKENIZER, tokenizer.save)
    _write_text(folder / CONFIG, json.dumps(model.config.to_dict(), indent=2) + "\n")
    _write_text(folder / CARD, card)


def archive(model: Transformer, tokenizer: Tokenizer, card: str) -> bytes:
    """The files that `save` writes, with whole float32 weights, as one ZIP."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as files:
        save(folder, model, tokenizer, card, torch.float32)
        for path in sorted(Path(folder).iterdir()):
            files.write(path, path.name)
    return packed.getvalue()


def save_history(folder: str | Path, milestones: Sequence[Milestone], model: Transformer) -> None:
    """Write the weights of `model`, which is at the last of the milestones, and the record of all milestones into the
    folder's history.
    """
    place = Path(folder) / HISTORY
    place.mkdir(parents=True, exist_ok=True)
    weights = _weights(model, torch.float16)
    _write(place / _weights_of(milestones[-1].step), lambda path: save_file(weights, path))
    records = [dataclasses.asdict(milestone) for milestone in milestones]
    _write_text(place / MILESTONES, json.dumps(records, indent=1, ensure_ascii=False) + "\n")


def load_history(folder: str | Path) -> tuple[Milestone, ...]:
    """The milestones of the model in `folder`, by step; none if it has no history.

    Raises CheckpointError for a history that cannot be read.
    """
    milestones = _records(Path(folder) / HISTORY / MILESTONES, Milestone, "history of this program")
    return tuple(sorted(milestones, key=lambda milestone: milestone.step))


def _records(path: Path, record: Callable[..., Record], what: str) -> tuple[Record, ...]:
    """The records of a JSON list; none if there is no such file. Raises CheckpointError for a file that is no `what`.
    """
    try:
        return tuple(record(**fields) for fields in json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError) as error:
        raise CheckpointError(f"{path} is no {what}: {error} Put the original file back.") from error


def load(folder: str | Path, device: torch.device | str = "cpu",
         step: int | None = None) -> tuple[Transformer, Tokenizer]:
    """The model, in float32, in eval mode and without gradients, and its tokenizer; as it was after `step` steps, if
    that is one of its milestones.

    Raises CheckpointError for whatever is wrong.
    """
    folder = Path(folder)
    if step is not None and step not in (steps := [milestone.step for milestone in load_history(folder)]):
        raise CheckpointError(f"{folder} holds no weights of step {step}; it has those of: "
                              f"{', '.join(map(str, steps)) or 'none'}.")
    config, tokenizer = _read_config(folder / CONFIG), _read_tokenizer(folder / TOKENIZER)
    if complaint := _mismatch(config, tokenizer):
        raise CheckpointError(f"{folder}: {complaint} Put back the config and the tokenizer that were saved together.")
    model = _shapes(config, folder)
    expected = {name: tuple(p.shape) for name, p in model.state_dict().items()}
    weights = _read_weights(folder / WEIGHTS if step is None else folder / HISTORY / _weights_of(step), expected)
    model.load_state_dict({name: weight.to(device, torch.float32) for name, weight in weights.items()}, assign=True)
    return model.eval().requires_grad_(False), tokenizer


def _shapes(config: ModelConfig, folder: Path) -> Transformer:
    """The model without its numbers, so that a wrong config takes no memory."""
    try:
        with torch.device("meta"):
            return Transformer(config)
    except RuntimeError as error:
        raise CheckpointError(f"{folder / CONFIG} asks for more numbers than a tensor can have. "
                              "Put the original file back.") from error


def bundled_names() -> tuple[str, ...]:
    """The models that come with the project, by name. Looked up again after one was added or removed."""
    try:
        return _names_in(BUNDLED, modified(BUNDLED))
    except FileNotFoundError:
        return ()


@functools.lru_cache(maxsize=8)
def _names_in(folder: Path, modified: int) -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in folder.glob(f"*/{CONFIG}")))


def bundled_config(name: str) -> ModelConfig:
    """Only the config of a model that comes with the project. Raises CheckpointError as `load_bundled` does."""
    return _read_config(_bundled(name) / CONFIG)


def load_bundled(name: str, device: torch.device | str = "cpu",
                 step: int | None = None) -> tuple[Transformer, Tokenizer]:
    """A model that comes with the project, as `load` gives it.

    Raises CheckpointError for a name that is not in bundled_names(), or a step that was not kept.
    """
    return load(_bundled(name), device, step)


def history(name: str) -> tuple[Milestone, ...]:
    """The milestones of a model that comes with the project, by step; none if only its last weights were kept."""
    return load_history(_bundled(name))


def training_record(name: str) -> tuple[dict, ...]:
    """The training log of a model that comes with the project, by step: stage, step, tokens_seen, training_loss,
    held_out by name, …; none if there is no log.
    """
    return _records(BUNDLED / name / RECORD, dict, "record of a training") if name in bundled_names() else ()


def training_ends(name: str) -> tuple[dict, ...]:
    """The last entry of each stage in the `training_record` of a bundled model."""
    return tuple({entry.get("stage", 1): entry for entry in training_record(name)}.values())


def _bundled(name: str) -> Path:
    if name not in bundled_names():
        raise CheckpointError(f"There is no bundled model {name!r}; there are: {', '.join(bundled_names()) or 'none'}.")
    return BUNDLED / name


def _weights_of(step: int) -> str:
    """The file of a milestone's weights, in the history folder."""
    return f"{step:06}.safetensors"


def _weights(model: Transformer, dtype: torch.dtype) -> dict[str, Tensor]:
    """The model's weights as they are written. Raises ValueError for those that do not fit the dtype."""
    weights = {name: p.detach().to("cpu", dtype).contiguous() for name, p in model.state_dict().items()}
    if unfit := [name for name, weight in weights.items() if not torch.isfinite(weight).all()]:
        raise ValueError(f"Weights that are not finite as {dtype}: {', '.join(unfit)}.")
    return weights


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside its place, and move it there when it is whole."""
    partial = path.with_name(path.name + ".partial")
    write(partial)
    os.replace(partial, path)


def _write_text(path: Path, text: str) -> None:
    _write(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def _mismatch(config: ModelConfig, tokenizer: Tokenizer) -> str | None:
    """A sentence on how model and tokenizer do not fit each other; None if they do."""
    if config.vocab_size != tokenizer.vocab_size:
        return f"The model has a vocabulary of {config.vocab_size} tokens, its tokenizer one of {tokenizer.vocab_size}."
    for name, own, other in (("end of text", config.end_of_text, tokenizer.end_of_text),
                             ("mask", config.special.mask_token, tokenizer.mask_token)):
        if own not in (None, other):
            return f"The model's {name} is token {own}, its tokenizer's {other}."
    return None


def _read_config(path: Path) -> ModelConfig:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(fields, dict):
            raise ValueError("it holds no table of settings.")
        return ModelConfig.of(**fields)
    except OSError as error:
        raise _unreadable(path, error) from error
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{path} is no config of this program: {error} Save the model again, or put the original "
                              f"file back.") from error


def _read_tokenizer(path: Path) -> Tokenizer:
    try:
        return Tokenizer.load(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: {error} Put the original file back.") from error


def _read_weights(path: Path, expected: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """The tensors of the file, which must have exactly the names and shapes of `expected`."""
    if not path.is_file():
        raise _unreadable(path, FileNotFoundError("there is no such file"))
    try:
        weights = load_file(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged or cut short ({path.stat().st_size} bytes: {error}). Fetch the file "
                              f"again.") from error
    problems = [f"{name} is missing" for name in expected if name not in weights]
    problems += [f"{name} belongs to no part of this model" for name in weights if name not in expected]
    for name, weight in weights.items():
        if name in expected and tuple(weight.shape) != expected[name]:
            problems.append(f"{name} is {tuple(weight.shape)}, and the config asks for {expected[name]}")
        elif weight.dtype not in WEIGHT_DTYPES:
            problems.append(f"{name} is stored as {weight.dtype}, and weights are float16, bfloat16 or float32")
        elif not torch.isfinite(weight).all():
            problems.append(f"{name} holds numbers that are not finite")
    if problems:
        raise CheckpointError(f"{path} does not fit its config: {first_problems(problems)}. "
                              "Use the weights and the config that were saved together.")
    return weights


def first_problems(problems: Sequence[str]) -> str:
    """The first MOST_TOLD of some problems, and how many more there are, for a message."""
    more = [f"and {len(problems) - MOST_TOLD} more"] if len(problems) > MOST_TOLD else []
    return "; ".join([*problems[:MOST_TOLD], *more])


def _unreadable(path: Path, error: OSError) -> CheckpointError:
    return CheckpointError(f"{path} cannot be read ({error.strerror or error}). A model's folder holds {WEIGHTS}, "
                           f"{CONFIG} and {TOKENIZER}: fetch the missing file, or save the model again.")
