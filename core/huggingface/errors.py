"""The exceptions of Hugging Face models."""
import json
from pathlib import Path

from core.model.checkpoints import CheckpointError


class PretrainedError(CheckpointError):
    """A Hugging Face model cannot be downloaded, read or written; the message says in plain words what is wrong and
    what to do.

    reason: one of REASONS, for a page that offers a solution.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        if reason not in REASONS:
            raise ValueError(f"The reason is one of {', '.join(REASONS)}, not {reason!r}.")
        self.reason = reason


REASONS = ("name", "unknown", "gated", "offline", "connection", "incomplete", "damaged", "format", "family", "config",
           "mismatch", "tokenizer", "architecture")


def short(value: object, most: int = 80) -> str:
    """A value as a sentence quotes it: its repr, cut to `most` characters.

    >>> short([1, 2]), short("a" * 9, most=6)
    ('[1, 2]', "'aaa …")
    """
    text = repr(value)
    return text if len(text) <= most else f"{text[:most - 2]} …"


class Stopped(Exception):
    """Raised by a `progress` callback to stop the download or the reading; a stopped download leaves no files."""


def read_table(path: Path, reason: str) -> dict:
    """The table in a JSON file. Raises PretrainedError with this reason if it is damaged."""
    try:
        values = json.loads(path.read_text(encoding="utf-8-sig"))         # some editors write a mark in front
        if not isinstance(values, dict):
            raise ValueError("it holds no table of settings.")
        return values
    except (OSError, ValueError) as error:
        raise PretrainedError(reason, f"{path} is damaged: {error} Download it again.") from error
