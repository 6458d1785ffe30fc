"""A look at a library model before it is loaded, and the loading, each on a thread of its own that all readers who ask
for the same model share.

The threads know nothing of any session and make no call to Streamlit. A failure is a `Problem`: a reason and a plain
sentence without any path.
"""
from __future__ import annotations

import collections
import dataclasses
import logging
import math
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from core import huggingface
from core.app.compute import cache
from core.app.compute.library import disk, names
from core.app.compute.library.pace import Pace
from core.app.compute.library.shelf import Room
from core.base import devices, prose
from core.base.markdown import without_paths
from core.huggingface.hub import MOST_CONFIG
from core.huggingface.tokens import NumberedTokens
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.loss import next_token_loss

LOG = logging.getLogger(__name__)
LOOKS_AT_ONCE, LOADS_AT_ONCE = 4, 2
MOST_WAITING = 16           # tasks that run or wait, on the whole server
MOST_KEPT = 64              # looks whose result is kept
HIDDEN = 7                  # about 15 %, as such models learn
CHANCE = 0.95               # times ln |V|: a loss above it is no better than chance, or hardly so


@dataclass(frozen=True)
class Problem:
    """The reason of a failure, and the sentence for the reader.

    reason: one of core.huggingface.errors.REASONS, or "memory", "disk", "kind", "busy", "stopped", "unexpected".
    """

    reason: str
    sentence: str


class Task:
    """One look or one loading: its result or its problem, and how far it is."""

    def __init__(self, name: str, make: Callable[[Task], object], slots: threading.Semaphore) -> None:
        self.name = name
        self.result: object = None
        self.problem: Problem | None = None
        self.phase, self.done, self.total = "waiting", 0, 0
        self.pace = Pace()
        self._make, self._slots, self._stop = make, slots, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it has ended, or that many seconds."""
        if self._thread.ident is not None:
            self._thread.join(seconds)

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end and has not ended yet."""
        return self._stop.is_set() and self.running

    def stop(self) -> None:
        """Ask it to end between two pieces of the download or two tensors; then nothing of it is kept."""
        self._stop.set()

    def check(self) -> None:
        """Raise huggingface.Stopped if the task was asked to end."""
        if self._stop.is_set():
            raise huggingface.Stopped

    def tell(self, done: int, total: int) -> None:
        """Note the bytes so far, and in all: first of the download, if there is one, then of the reading."""
        self.check()
        if self.phase == "download" and self.total and total != self.total:
            self.phase = "reading"
        self.done, self.total = done, total
        self.pace.tell(done, total)

    def refuse(self, problem: Problem) -> Task:
        """End the task, with a problem, before it begins."""
        self.problem = problem
        return self

    def start(self) -> Task:
        self._thread.start()
        return self

    def _run(self) -> None:
        while not self._slots.acquire(timeout=0.1):
            if self._stop.is_set():
                self.problem = problem_of(self.name, huggingface.Stopped())
                return
        try:
            self.result = self._make(self)
        except Exception as error:
            self.problem = problem_of(self.name, error)
        finally:
            self._slots.release()


_looks: collections.OrderedDict[str, Task] = collections.OrderedDict()
_loads: dict[str, Task] = {}
_lock = threading.Lock()
_look_slots, _load_slots = threading.Semaphore(LOOKS_AT_ONCE), threading.Semaphore(LOADS_AT_ONCE)


def look(name: str, again: bool = False) -> Task:
    """The look at an offered model, running or ended; its result is a huggingface.Preview.

    `again` repeats a look that has ended.
    """
    with _lock:
        kept = _looks.get(name)
        if kept is None or again and not kept.running:
            kept = _looks[name] = _begun(name, _look, _look_slots, _looks)
        _looks.move_to_end(name)
        for old in [old for old, task in _looks.items() if not task.running][:max(0, len(_looks) - MOST_KEPT)]:
            del _looks[old]
        return kept


def load(name: str) -> Task:
    """The loading of an offered model, begun now unless it runs already or the model is there.

    When it has succeeded, cache.exists finds the model.
    """
    with _lock:
        if name not in _loads or not _loads[name].running and not cache.exists(name):
            _loads[name] = _begun(name, _load, _load_slots, _loads)
        return _loads[name]


def loading_of(name: str) -> Task | None:
    """The loading of a model, if it runs or has failed; None if it was not asked for, or succeeded."""
    task = _loads.get(name)
    return task if task is not None and (task.running or task.problem is not None) else None


def forget(name: str) -> None:
    """Forget a look or a loading that has ended."""
    with _lock:
        for tasks in (_looks, _loads):
            if name in tasks and not tasks[name].running:
                del tasks[name]


def _begun(name: str, make: Callable[[Task], object], slots: threading.Semaphore, others: dict[str, Task]) -> Task:
    task = Task(name, make, slots)
    if sum(other.running for other in others.values()) >= MOST_WAITING:
        return task.refuse(Problem("busy", words().label("busy")))
    return task.start()


def words() -> prose.TextFile:
    return prose.load("library")


def refusal(preview: huggingface.Preview) -> Problem | None:
    """The problem of a model that has no room in memory or on the disk; None if it can be loaded."""
    return too_large(room_for(preview)) or too_much(preview.download_bytes)


def too_much(n_bytes: int) -> Problem | None:
    """The problem of a download for which the disk has no room; None if it has room."""
    if disk.fits(n_bytes):
        return None
    needed, taken, bound = map(readable_bytes, (n_bytes, disk.taken(), disk.bound()))
    return Problem("disk", words().label("too_large_disk", needed=needed, taken=taken, bound=bound))


def room_for(preview: huggingface.Preview) -> Room:
    """The room in memory for a model, as float32."""
    return cache.shelf.room(preview.n_bytes)


def too_large(room: Room) -> Problem | None:
    """The problem of a model that has no room in memory, and what to do; None if it has room."""
    if room.fits:
        return None
    which = "largest" if room.needed > room.largest else "bound" if room.needed > room.bound else "free"
    return Problem("memory", words().label(f"too_large_{which}", needed=readable_bytes(room.needed),
                                           free=readable_bytes(room.free), bound=readable_bytes(room.bound),
                                           largest=readable_bytes(room.largest)))


def readable_bytes(n: int) -> str:
    """
    >>> readable_bytes(12_345), readable_bytes(548_000_000), readable_bytes(1_480_000_000)
    ('12.3 kB', '548 MB', '1.48 GB')
    """
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n >= size:
            return f"{float(f'{n / size:.3g}'):g} {unit}"
    return f"{n} bytes"


def _look(task: Task) -> huggingface.Preview:
    """The Preview of a model; for a model of the Hub this downloads its config. Raises Refused if the disk is full."""
    source = names.source(task.name)
    if not huggingface.is_here(source) and (problem := too_much(MOST_CONFIG)) is not None:
        raise Refused(problem)
    return huggingface.preview(source)


def _load(task: Task) -> None:
    name = task.name
    source = names.source(name)
    task.phase = "reading" if huggingface.is_here(source) else "download"
    task.check()
    preview = huggingface.preview(source)
    task.check()
    problem = refusal(preview)
    if problem is not None or not cache.shelf.reserve(name, preview.n_bytes):
        raise Refused(problem or Problem("memory", words().label("too_large_now")))
    try:
        with disk.reserved(preview.download_bytes):
            model, tokenizer = huggingface.from_pretrained(source, task.tell)
        task.phase = "measuring"
        loss = loss_on_fixed_text(model, tokenizer)
        task.check()
        cache.keep_loaded(name, with_end(model, tokenizer), with_words(tokenizer), loss, preview.passed_over)
        with _lock:
            _looks.pop(name, None)              # it spoke of a download that is now done
    finally:
        cache.shelf.release(name)


class Refused(Exception):
    """End a loading with a problem that is known already."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.sentence)
        self.problem = problem


def problem_of(name: str, error: Exception) -> Problem:
    """The problem, for a reader, behind an exception; the server's log has the rest."""
    if isinstance(error, Refused):
        return error.problem
    if isinstance(error, disk.Full):
        return Problem("disk", words().label("too_large_disk_now"))
    if isinstance(error, huggingface.Stopped):
        return Problem("stopped", words().label("stopped"))
    if isinstance(error, huggingface.PretrainedError):
        LOG.warning("%s: %s", name, error)
        return Problem(error.reason, without_paths(str(error), *_folder(name)))
    if isinstance(error, KeyError):
        return Problem("unknown", words().label("gone"))
    LOG.exception("%s could not be loaded.", name)
    full = devices.is_out_of_memory(error)
    return Problem("memory" if full else "unexpected", words().label("too_large_now" if full else "unexpected"))


def _folder(name: str) -> tuple[Path | None, str]:
    """The folder of a model below one of the operator's roots, else None, and the name that readers know it by."""
    short = names.short(name)
    return names.folders().get(short) if name.startswith(names.IN_FOLDER) else None, short


# ---- judging and completing a loaded model ---------------------------------------------------------------------------


def loss_on_fixed_text(model: Transformer, tokenizer: Tokenizer) -> float | None:
    """Loss of a model on the examples of the prompt bar, as one text, in nats per token; None without a tokenizer.

    A decoder goes from left to right; an encoder fills in every HIDDEN-th token, all of them hidden at once; an
    encoder-decoder writes the text that it has read. A loss near ln |V|, that of guessing, or above it means that the
    model has learned nothing about such a text.
    """
    if isinstance(tokenizer, NumberedTokens):
        return None
    ids = torch.tensor(tokenizer.prompt(prose.load("app").section("prompts"),
                                        min(256, model.config.n_context)).token_ids)
    if len(ids) < 2 or model.config.kind == "encoder" and not fills(model, tokenizer):
        return None
    with torch.inference_mode():
        return float(next_token_loss(*_guesses(model, tokenizer, ids)))


def fills(model: Transformer, tokenizer: Tokenizer) -> bool:
    """Whether an encoder of the library can fill in a blank: it has a mask token and a language head
    (core.huggingface.task_heads).
    """
    return tokenizer.mask_token is not None and model.config.head.output_head == "language"


def _guesses(model: Transformer, tokenizer: Tokenizer, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (n, |V|) for tokens of a text that the model is not shown, and the ids of these tokens (n,)."""
    if model.config.kind == "decoder":
        return model.logits(ids[:-1]), ids[1:]
    if model.config.kind == "encoder-decoder":
        return (model.logits(torch.cat([torch.tensor([model.config.first_token]), ids[:-1]]), memory=model.encode(ids)),
                ids)
    asked = torch.arange(len(tokenizer.begin), len(ids) - len(tokenizer.end), HIDDEN)
    shown = ids.index_fill(0, asked, tokenizer.mask_token)
    return model.logits_of(model.final_vectors(shown)[asked]), ids[asked]


def is_chance(loss: float | None, vocab_size: int) -> bool:
    """Whether a loss, in nats per token, is no better than guessing, or hardly better."""
    return loss is not None and loss > CHANCE * math.log(vocab_size)


class StandInTokens(NumberedTokens):
    """The tokenizer of a model that came without one: a whole number is the token of that id, and any other word gets
    an id made from its letters.

    So every lesson can draw its pictures; the model's predictions about words then mean nothing.
    """

    def encode(self, text: str) -> list[int]:
        """The ids of the words of `text`."""
        return [self._id(word.removeprefix("#")) for word in text.split()]

    def _id(self, word: str) -> int:
        if word.isascii() and word.isdigit() and len(word) < 10 and int(word) < self.vocab_size:
            return int(word)
        return zlib.crc32(word.encode("utf-8", errors="replace")) % self.vocab_size


def with_end(model: Transformer, tokenizer: Tokenizer) -> Transformer:
    """Give the model and its tokenizer an end-of-text token if they have none: the token that texts begin with, else
    token 0. Return the model.
    """
    if model.config.end_of_text is None:
        model.config = dataclasses.replace(model.config, end_of_text=tokenizer.first or 0)
    if tokenizer.end_of_text is None:
        tokenizer.end_of_text = model.config.end_of_text
    return model


def with_words(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, or a stand-in that takes any text if it is missing."""
    return (StandInTokens(tokenizer.vocab_size, tokenizer.end_of_text) if isinstance(tokenizer, NumberedTokens)
            else tokenizer)
