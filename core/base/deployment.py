"""The operator's settings, from environment variables: all are read here, and checked when the server starts.

A variable that is not set, or empty, leaves its setting at the default. Streamlit has settings of its own
(`STREAMLIT_SERVER_…`), such as the base path and the trusted origins; assets/text/docs/deployment.md lists both.
"""
import contextlib
import difflib
import functools
import os
import re
import sqlite3
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from core import files

PREFIX = "TRANSFORMER_"
MODELS, ROOTS, HUB, HUB_MODELS = ("TRANSFORMER_MODELS", "TRANSFORMER_MODEL_ROOTS", "TRANSFORMER_HUB",
                                  "TRANSFORMER_HUB_MODELS")
GIGABYTES, LARGEST = "TRANSFORMER_MODEL_GB", "TRANSFORMER_LARGEST_MODEL_GB"
HUB_GIGABYTES = "TRANSFORMER_HUB_GB"
CHARACTERS, TOKENS = "TRANSFORMER_PROMPT_CHARACTERS", "TRANSFORMER_PROMPT_TOKENS"
TRAINING = "TRANSFORMER_TRAINING"
PASSES = "TRANSFORMER_PASSES"
ASK_FIRST = "TRANSFORMER_ASK_FIRST"
CLASSES = "TRANSFORMER_CLASSES"
ADDRESS = "TRANSFORMER_ADDRESS"
FRAME_ANCESTORS = "TRANSFORMER_FRAME_ANCESTORS"
OFF = "off"                     # of classes
LEAST_CHARACTERS, MOST_CHARACTERS = 100, 20_000     # of a prompt; the most is far more than any context takes
# of a lesson's text: more columns would be too narrow to be told apart on a screen
LEAST_TOKENS, MOST_TOKENS = 8, 256
_ORIGIN = re.compile(r"https?://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d{1,5})?")
_HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")


class SettingError(ValueError):
    """A variable has an invalid value; the message names it and says what is allowed, in one line."""


@dataclass(frozen=True)
class Deployment:
    """The settings of this server; the defaults hold without any variable."""

    # the bundled models that readers may choose, the main one first; none: all
    models: tuple[str, ...] = ()
    model_roots: tuple[Path, ...] = ()              # folders with models of the library
    hub: bool = True                                # whether anything is fetched from the Hub
    hub_models: tuple[str, ...] = ()                # the only models of the Hub that may be fetched; none: any
    hub_bytes: int = 20 * 10**9                     # bound on all downloads from the Hub together, on the disk
    # bound on all loaded models of the library together; None: a share of the machine's memory
    all_models_bytes: int | None = None
    largest_model_bytes: int | None = None          # bound on one loaded model; None: the same
    prompt_characters: int = MOST_CHARACTERS
    prompt_tokens: int = MOST_TOKENS
    training: bool = True                           # whether readers may train models
    ask_first: bool = True       # whether a question is asked before each picture, until a reader says otherwise
    # the origin at which other machines reach this server, for links and QR codes; none: detected
    address: str = ""
    # the place where classes with phones are kept: OFF for no classes, the address of a Valkey or Redis, or a file;
    # none: this process's memory
    classes: str = ""
    # the address of the replicas that compute forward passes; none: they are computed here
    passes: str = ""
    # further origins whose pages may show the app in a frame
    frame_ancestors: tuple[str, ...] = ()


def current() -> Deployment:
    """The settings of this process.

    Raises SettingError, but not after the server has started, unless the environment changes.
    """
    return _read(tuple(map(os.environ.get, READERS)))


def check() -> None:
    """End the process, with one plain line, if a variable is wrong. The server calls this when it starts."""
    try:
        current()
        _refuse_unknown(os.environ)
    except SettingError as error:
        raise SystemExit(f"The app does not start: {error}") from None


@functools.lru_cache(maxsize=4)
def _read(written: tuple[str | None, ...]) -> Deployment:
    values = {}
    for (name, (field, read)), text in zip(READERS.items(), written, strict=True):
        if text := (text or "").strip():
            try:
                values[field] = read(text)
            except ValueError as error:
                raise SettingError(f"{name} is {_shown(text)}; {error}") from None
    return Deployment(**values)


def _refuse_unknown(environment: Mapping[str, str]) -> None:
    """Raise SettingError for an unknown name: a misspelt one would leave its setting at the default unnoticed."""
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in READERS:
            meant = difflib.get_close_matches(name, READERS, 1)
            raise SettingError(f"there is no setting {name}; "
                               + (f"{meant[0]} may be meant" if meant else f"there are {', '.join(READERS)}"))


def _shown(text: str) -> str:
    """A value as one short line."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


def _names(is_allowed: Callable[[str], bool], kind: str, hint: str) -> Callable[[str], tuple[str, ...]]:
    """A reader for a list of names of this kind, each kept once."""
    def read(text: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(filter(None, re.split(r"[,\s]+", text))))
        if wrong := [name for name in names if not is_allowed(name)]:
            raise ValueError(f"{wrong[0]!r} is no {kind}. {hint}")
        return names
    return read


def _bundled(text: str) -> tuple[str, ...]:
    from core.model import checkpoints  # imports torch, for which a server need not wait if nothing is set
    allowed = [name for name in checkpoints.bundled_names() if continues_text(checkpoints.BUNDLED, name)]
    return _names(allowed.__contains__, "bundled model that continues a text",
                  f"Allowed are, separated by commas, {', '.join(allowed)}")(text)


@functools.lru_cache(maxsize=64)
def continues_text(folder: Path, name: str) -> bool:
    """Whether a bundled model, which lies in `folder`, is a decoder.

    A model whose config cannot be read counts as one, so that a reader who chooses it is told the reason.
    """
    from core.model import checkpoints  # imports torch, as above
    try:
        return checkpoints.bundled_config(name).kind == "decoder"
    except checkpoints.CheckpointError:
        return True


def _folders(text: str) -> tuple[Path, ...]:
    folders = [Path(written).expanduser() for written in filter(None, text.split(os.pathsep))]
    if wrong := next((folder for folder in folders if not folder.is_dir()), None):
        raise ValueError(f"there is no folder {wrong}. Allowed are folders that exist, separated by {os.pathsep!r}")
    return tuple(folder.resolve() for folder in folders)


def _switch(text: str) -> bool:
    meanings = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}
    if text.lower() not in meanings:
        raise ValueError("allowed are on and off")
    return meanings[text.lower()]


def is_hub_name(written: str) -> bool:
    """Whether a text has the form of a model's name on the Hub.

    >>> [is_hub_name(name) for name in ("gpt2", "EleutherAI/pythia-160m", "../gpt2", "a/b/c", "https://x", "a..b")]
    [True, True, False, False, False, False]
    """
    return (_HUB_NAME.fullmatch(written) is not None and ".." not in written and "--" not in written
            and not written.endswith((".git", "-", ".")))


def _bytes(text: str) -> int:
    """The bytes in a number of GB, 10⁹ bytes each."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e6:
        raise ValueError("allowed is a number of GB below a million, such as 4 or 0.5")
    return round(number * 1e9)


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= high):
            raise ValueError(f"allowed is a whole number from {low} to {high}")
        return int(text)
    return read


def _address(text: str) -> str:
    try:
        parts = urllib.parse.urlsplit(text)
        if (parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
                and not (parts.query or parts.fragment or parts.username)):
            return text
    except ValueError:          # the port is no number
        pass
    raise ValueError("allowed is the address of a service, such as http://127.0.0.1:8000")


def _origin(text: str) -> str:
    if not _ORIGIN.fullmatch(text) or "*" in text:
        raise ValueError("allowed is an origin, such as https://transformer.school.example or http://192.168.1.20:8501")
    return text


def _place_of_classes(text: str) -> str:
    if text.lower() == OFF:
        return OFF
    if text.startswith(("redis://", "rediss://", "unix://")):
        return text
    allowed = ("allowed are off, the address of a Valkey or Redis, such as redis://127.0.0.1:6379, and a file in a "
               "folder that exists, such as /var/lib/transformer/classes.db")
    file = Path(text).expanduser()
    if "://" in text or not (file.parent != Path() or file.suffix == ".db") or not file.parent.is_dir():
        raise ValueError(allowed)
    try:
        files.create_private(file)
        with contextlib.closing(sqlite3.connect(file)) as data:
            data.execute("PRAGMA journal_mode = WAL")
    except (OSError, sqlite3.Error) as error:
        raise ValueError(f"no classes can be kept there ({error}); {allowed}") from None
    return str(file.resolve())


# name -> (field of Deployment, function that reads its value or raises ValueError that says what is allowed)
READERS: dict[str, tuple[str, Callable[[str], object]]] = {
    MODELS: ("models", _bundled),
    ROOTS: ("model_roots", _folders),
    HUB: ("hub", _switch),
    HUB_MODELS: ("hub_models", _names(is_hub_name, "name of a model on the Hub", "Allowed are names like gpt2 or "
                                      "EleutherAI/pythia-160m, separated by commas")),
    HUB_GIGABYTES: ("hub_bytes", _bytes),
    GIGABYTES: ("all_models_bytes", _bytes),
    LARGEST: ("largest_model_bytes", _bytes),
    CHARACTERS: ("prompt_characters", _whole(LEAST_CHARACTERS, MOST_CHARACTERS)),
    TOKENS: ("prompt_tokens", _whole(LEAST_TOKENS, MOST_TOKENS)),
    TRAINING: ("training", _switch),
    ASK_FIRST: ("ask_first", _switch),
    PASSES: ("passes", _address),
    ADDRESS: ("address", _origin),
    CLASSES: ("classes", _place_of_classes),
    FRAME_ANCESTORS: ("frame_ancestors", _names(_ORIGIN.fullmatch, "origin", "Allowed are origins like "
                                                "https://moodle.school.example or https://*.school.example, separated "
                                                "by commas")),
}
