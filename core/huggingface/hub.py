"""The Hugging Face Hub: listing and downloading the files of a model that this program reads (config, tokenizer,
safetensors), never code or pickles.

huggingface_hub, imported when first needed, does the work: it keeps downloads under HF_HOME, resumes a broken download,
takes a token from HF_TOKEN, and does not use the network with HF_HUB_OFFLINE=1. Its telemetry is off.
"""
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.huggingface import families, refusals, tokenizer_forms, weights
from core.huggingface.errors import PretrainedError, Stopped, read_table
from core.huggingface.stored import Stored
from core.huggingface.weights import CONFIG, modern

GENERATION = "generation_config.json"
PATTERNS = [CONFIG, GENERATION, *tokenizer_forms.FILES, weights.SINGLE, weights.INDEX,
            "model-?????-of-?????.safetensors"]
PAGE = "https://huggingface.co/"
MOST_CONFIG = 2**20         # bytes of a config.json, which is downloaded first; usually it has a few thousand


def _client():
    """The module huggingface_hub, without telemetry and progress bars."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")         # its downloads cannot be stopped in the middle
    import huggingface_hub
    return huggingface_hub


def is_offline() -> bool:
    """Whether HF_HUB_OFFLINE, or its older name, keeps this program from the network."""
    asked = {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"} & set(os.environ)
    return bool(asked) and _client().constants.HF_HUB_OFFLINE


def cached(name: str) -> Path | None:
    """The folder of a model that is downloaded completely, else None; does not use the network."""
    hub = _client()
    try:
        folder = Path(hub.snapshot_download(name, allow_patterns=PATTERNS, local_files_only=True))
        if not (folder / tokenizer_forms.WHOLE).exists():
            hub.snapshot_download(name, allow_patterns=[*PATTERNS, *tokenizer_forms.PIECES], local_files_only=True)
        return folder
    except (hub.errors.LocalEntryNotFoundError, hub.errors.HFValidationError):
        return None


def listed(name: str) -> dict[str, int]:
    """The files of a model on the Hub that this program reads, with the bytes of each still to download.

    Raises PretrainedError if they are unavailable, include no safetensors, or a tokenizer in a form that is not read.
    """
    hub = _client()
    with _plain_errors(name):
        files = hub.snapshot_download(name, allow_patterns=[*PATTERNS, *tokenizer_forms.PIECES], dry_run=True,
                                      tqdm_class=_reporter(None, 0))
    if any(file.filename == tokenizer_forms.WHOLE for file in files):
        files = [file for file in files if file.filename not in tokenizer_forms.PIECES]
    sizes = {file.filename: file.file_size or 0 for file in files}
    whole = weights.SINGLE in sizes or weights.INDEX in sizes
    everything = list(sizes) if whole and tokenizer_forms.tokenizer_file(sizes) else _all_files(name)
    if CONFIG not in sizes:
        raise refusals.no_config(name, everything) or PretrainedError(
            "format", f"{name} on the Hub has no {CONFIG}, so it is no model of the transformers library. Choose "
                      f"another.")
    if sizes[CONFIG] > MOST_CONFIG:
        raise PretrainedError("format", f"The {CONFIG} of {name} on the Hub is far too large. Choose another.")
    if not whole:
        values = config(name)
        families.refuse_unknown(values)
        raise refusals.no_weights(name, everything, values)
    tokenizer_forms.tokenizer_file(everything)
    return {file.filename: sizes[file.filename] if file.will_download else 0 for file in files}


def _all_files(name: str) -> list[str]:
    """All files of a model on the Hub, also those that this program does not read."""
    with _plain_errors(name):
        return _client().HfApi().list_repo_files(name)


def fetched(name: str, progress: Callable[[int, int], None] | None = None) -> Path:
    """The folder with the files of a model, after downloading the missing ones; without a connection, the files
    downloaded before.

    progress: called with the bytes received and the bytes in all, from the threads that receive them; if it raises
    Stopped, the new files are removed. Raises PretrainedError for every failure.
    """
    hub = _client()
    folder = cached(name)
    try:
        files = listed(name)
    except PretrainedError as error:
        if folder is not None and error.reason in ("offline", "connection"):
            return folder
        raise
    before = _kept_files(name)
    try:
        with _plain_errors(name):
            return Path(hub.snapshot_download(name, allow_patterns=list(files),
                                              tqdm_class=_reporter(progress, sum(files.values()))))
    except Stopped:
        for path in sorted(_kept_files(name) - before, reverse=True):       # the files of a folder before the folder
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        raise


def _kept_files(name: str) -> set[Path]:
    """All files and folders of a model in the cache on disk."""
    _client()
    from huggingface_hub import constants, file_download  # most readers never ask the Hub
    return set(
        (Path(constants.HF_HUB_CACHE) / file_download.repo_folder_name(repo_id=name, repo_type="model")).rglob("*"))


def kept_bytes() -> int:
    """Bytes of all downloads on disk, complete or not, of this program and of others with the same HF_HOME."""
    _client()
    from huggingface_hub import constants  # most readers never ask the Hub
    n_bytes = 0
    for folder, _, files in os.walk(constants.HF_HUB_CACHE):
        for name in files:
            with suppress(FileNotFoundError):           # a file is renamed when its download ends
                status = os.lstat(os.path.join(folder, name))
                n_bytes += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return n_bytes


def config(name: str) -> dict:
    """The config.json of a model on the Hub."""
    return read_config(_fetched_file(name, CONFIG))


def settings(name: str) -> dict:
    """The tokenizer_config.json of a model on the Hub."""
    return read_table(_fetched_file(name, tokenizer_forms.SETTINGS), "tokenizer")


def _fetched_file(name: str, file: str) -> Path:
    with _plain_errors(name):
        return Path(_client().hf_hub_download(name, file))


def read_config(path: Path) -> dict:
    """The table in a config.json. Raises PretrainedError if it is missing or damaged."""
    if not path.exists():
        raise refusals.no_config(str(path.parent), [file.name for file in path.parent.iterdir()]) or PretrainedError(
            "incomplete", f"{path.parent} holds no {CONFIG}, so it is no model of the transformers library, or only "
                          f"half of one. Download the model again.")
    return read_table(path, "damaged")


def headers(model: str) -> dict[str, Stored]:
    """Every tensor of a model on the Hub, in the form of weights.headers, from the first bytes of its files."""
    hub = _client()
    with _plain_errors(model):
        try:
            files = hub.get_safetensors_metadata(model).files_metadata
        except (hub.errors.SafetensorsParsingError, hub.errors.NotASafetensorsRepoError) as error:
            raise PretrainedError("damaged", f"The weights of {model} on the Hub cannot be read: {error} Choose "
                                             f"another model.") from error
    return {modern(name): Stored(name, tuple(tensor.shape), tensor.dtype, file) for file, header in files.items()
            for name, tensor in header.tensors.items()}


@contextmanager
def _plain_errors(name: str) -> Iterator[None]:
    """Turn every failure of the Hub into a PretrainedError with a plain sentence."""
    hub = _client()
    import httpx2  # most readers never ask the Hub
    errors = hub.errors
    try:
        yield
    except PretrainedError:
        raise
    except (OSError, ValueError, httpx2.HTTPError, errors.RevisionResolutionError) as error:
        cause = (error.__cause__ if isinstance(error, (errors.DryRunError, errors.LocalEntryNotFoundError))
                                    and error.__cause__ is not None else error)
        raise _explained(name, cause, errors) from error


def _explained(name: str, error: BaseException, errors) -> PretrainedError:
    if isinstance(error, errors.HFValidationError):
        return PretrainedError("name", f"{name!r} is no name of a model on the Hub: those are like gpt2 or "
                                       f"EleutherAI/pythia-160m.")
    if isinstance(error, errors.GatedRepoError):
        return PretrainedError("gated", f"{name} is given only to those who have accepted its terms. Accept them on "
                                        f"{PAGE}{name}, and start this program with your token in HF_TOKEN.")
    if isinstance(error, errors.RepositoryNotFoundError):
        return PretrainedError("unknown",
                               f"There is no model {name} on the Hub, or it is private. Look at the spelling on "
                               f"{PAGE}models; for a private one, start this program with your token in HF_TOKEN.")
    if isinstance(error, errors.OfflineModeIsEnabled):
        return PretrainedError("offline", f"{name} was not downloaded before, and this program is told to stay offline "
                                          f"(HF_HUB_OFFLINE). Start it without that, or choose a model that is here.")
    if isinstance(error, errors.RemoteEntryNotFoundError):
        return PretrainedError("incomplete", f"A file of {name} is missing on the Hub: {error}. Choose another model.")
    if isinstance(error, errors.HfHubHTTPError) and error.response is not None:
        return PretrainedError("connection", f"The Hub refused {name} (HTTP status {error.response.status_code}). Try "
                                             f"again in a while.")
    return PretrainedError("connection", f"{name} cannot be fetched: {error}. Look at the connection to "
                                         f"{os.environ.get('HF_ENDPOINT', PAGE)} and the room on the disk, then try "
                                         f"again; files that came whole are kept.")


def _reporter(progress: Callable[[int, int], None] | None, total: int) -> type:
    """A class of progress bar that draws nothing and calls `progress` with the bytes."""
    from tqdm.auto import tqdm  # most readers never ask the Hub
    lock, most = threading.Lock(), [0]

    class Reporter(tqdm):
        def __init__(self, *args, **kwargs) -> None:
            self._received, self._counts_bytes = 0, kwargs.get("unit") == "B"
            super().__init__(*args, **(kwargs | {"disable": True}))

        def update(self, n: float | None = 1) -> None:
            if not self._counts_bytes or progress is None:
                return
            with lock:                              # two bars count the same bytes: received, and written
                self._received += int(n or 0)
                most[0] = max(most[0], min(self._received, total))
                progress(most[0], total)

    return Reporter
