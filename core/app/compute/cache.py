"""Models and results that all sessions share: one model for each (name, device), those of the library within a bound,
and an LRU of results that is bounded in bytes.

Nothing here belongs to a reader: a key names every input of a value, so two sessions share a value only if both asked
for the same computation.
"""
import collections
import dataclasses
import functools
import logging
import secrets
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import streamlit as st
import torch

from core.app.compute import queue, turns
from core.app.compute.library import names
from core.app.compute.library.shelf import Shelf
from core.app.streamlit import context
from core.base import deployment, devices, prose
from core.base.markdown import without_paths
from core.model import checkpoints, remote
from core.model.config import STORIES
from core.model.fused import lay_out
from core.model.intervention import NOTHING, Intervention
from core.model.tokenizer import Tokenizer
from core.model.trace import Trace
from core.model.transformer import Transformer

LOG = logging.getLogger(__name__)
T = TypeVar("T")
TRACE_BYTES = 512 * 2**20
RESULT_BYTES = 128 * 2**20
RANDOM_MODEL = "random"
MAIN_MODEL = "stories"          # the model that the app opens with
# between a model's name and the step of its training at which it was kept: stories-small@2100
MOMENT = "@"
MOST_OWN = 16                   # models trained in the app that the server keeps for their readers
# random bytes in the name of such a model: anyone with the name has the model, as anyone with a link has its page
OWN_SECRET = 8
MOST_MOMENTS = 8


class ByteBoundedCache:
    """A least-recently-used store whose values together take at most `capacity` bytes.

    Safe for many threads; a value that several ask for at once is made once.

    A value larger than the whole store is returned and not kept. look: called now and then by a thread that waits for
    another thread to make a value.
    """

    def __init__(self, capacity: int, look: Callable[[], None] = lambda: None) -> None:
        self.capacity = capacity
        self._shared, self._look = turns.Shared(), look
        self.n_bytes = 0
        self._entries: collections.OrderedDict[Hashable, tuple[object, int]] = collections.OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable):
        """The value of `key`; None if it is not there."""
        return self._entry(key)[0]

    def get_or_make(self, key: Hashable, make: Callable[[], object], size: Callable[[object], int]):
        """The value of `key`, made by `make()` if it is not there; `size(value)` is its size in bytes."""
        value, is_there = self._entry(key)
        return value if is_there else self._shared.get(key, lambda: self._made(key, make, size), self._look)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self.n_bytes = 0

    def drop(self, name: str) -> None:
        """Drop every value whose key contains this name."""
        with self._lock:
            for key in [key for key in self._entries if _names(key, name)]:
                self.n_bytes -= self._entries.pop(key)[1]

    def _entry(self, key: Hashable) -> tuple[object, bool]:
        with self._lock:
            if key not in self._entries:
                return None, False
            self._entries.move_to_end(key)
            return self._entries[key][0], True

    def _made(self, key: Hashable, make: Callable[[], object], size: Callable[[object], int]):
        value, is_there = self._entry(key)
        if is_there:            # another thread has just made it
            return value
        value = make()   # outside the lock: a slow forward pass must not hold up the others
        self._put(key, value, size(value))
        return value

    def _put(self, key: Hashable, value: object, n_bytes: int) -> None:
        if n_bytes > self.capacity:
            return
        with self._lock:
            if key in self._entries:
                self.n_bytes -= self._entries.pop(key)[1]
            self._entries[key] = (value, n_bytes)
            self.n_bytes += n_bytes
            while self.n_bytes > self.capacity:
                _, (_, freed) = self._entries.popitem(last=False)
                self.n_bytes -= freed


def _names(key: Hashable, name: str) -> bool:
    return key == name or isinstance(key, tuple) and any(_names(part, name) for part in key)


@dataclass(frozen=True)
class LoadedModel:
    """A shared model, never written to after loading.

    `problem` is the plain reason why a bundled model could not be loaded, if any.

    `model` is on the CPU, where weights and traces are read and drawn; `runner` is the copy on the device that makes
    the forward passes.
    loss: for a library model, nats per token on the fixed text (core.app.compute.library.loading); None if it was not
    measured. passed_over: the keys of its config.json that have no effect (core.huggingface.Preview).
    """

    name: str
    device: str
    model: Transformer
    runner: Transformer
    tokenizer: Tokenizer
    is_random: bool = False
    problem: str = ""
    loss: float | None = None
    passed_over: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Its name as a page shows it, without the mark of its origin."""
        return names.short(self.name)

    def key(self, what: str, *inputs: Hashable) -> Hashable:
        """The key of a cached result `what` that is computed from this model on its device and from these inputs."""
        return what, self.name, self.device, *inputs


# By name and device; each model counts as 1. A look-up, of which a run makes several, takes `st.cache_resource` fifty
# times as long: it reads the function's signature for its key.
_bundled, _moments = ByteBoundedCache(1_000), ByteBoundedCache(MOST_MOMENTS)
_own: collections.OrderedDict[str, LoadedModel] = collections.OrderedDict()
_own_lock = threading.Lock()
_placing = threading.Lock()


def _forget(name: str) -> None:
    """Drop the traces and results of a library model that was removed: they hold on to its weights."""
    _traces().drop(name)
    _results().drop(name)
    devices.give_memory_back()


shelf = Shelf(_forget)          # name -> {device: LoadedModel}


def keep_loaded(name: str, model: Transformer, tokenizer: Tokenizer, loss: float | None,
                passed_over: tuple[str, ...] = ()) -> None:
    """Put a library model, whose room was reserved, where every session finds it."""
    shelf.put(name, {devices.CPU: dataclasses.replace(_placed(name, devices.CPU, model, tokenizer), loss=loss,
                                                      passed_over=passed_over)})


def _on_device(kept: dict[str, LoadedModel], device: str) -> LoadedModel:
    """A library model on a device; the copy there is made when it is first asked for."""
    with _placing:
        if device not in kept:
            first = kept[devices.CPU]
            kept[device] = dataclasses.replace(_placed(first.name, device, first.model, first.tokenizer),
                                               loss=first.loss, passed_over=first.passed_over)
        return kept[device]


def model_names() -> tuple[str, ...]:
    """The bundled models that continue a text and are allowed here, the main one first; if there are none, the random
    stand-in alone.
    """
    if allowed := deployment.current().models:
        return allowed
    return _in_order(checkpoints.BUNDLED, checkpoints.bundled_names())


@functools.lru_cache(maxsize=4)
def _in_order(folder: Path, found: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the bundled models, which lie in `folder`, that continue a text, the main one first."""
    decoders = [name for name in found if deployment.continues_text(folder, name)]
    return tuple(sorted(decoders, key=lambda name: (name != MAIN_MODEL, name))) or (RANDOM_MODEL,)


def name_and_step(name: str) -> tuple[str, int | None]:
    """A model's own name, and the step of its training that is meant; None: the end.

    >>> name_and_step("stories-small@2100"), name_and_step("stories")
    (('stories-small', 2100), ('stories', None))
    """
    if names.is_library_name(name):
        return name, None
    base, _, step = name.partition(MOMENT)
    return base, int(step) if step.isascii() and step.isdigit() and len(step) < 10 else None


def moments(name: str) -> tuple[checkpoints.Milestone, ...]:
    """The moments of its training at which a model was kept; `name` may be that of any of them."""
    base, _ = name_and_step(name)
    return _history(checkpoints.BUNDLED, base) if base in model_names() and base != RANDOM_MODEL else ()


@functools.lru_cache(maxsize=64)
def _history(folder: Path, name: str) -> tuple[checkpoints.Milestone, ...]:
    try:
        return checkpoints.history(name)
    except checkpoints.CheckpointError:
        LOG.exception("The history of %s cannot be read.", name)
        return ()


def exists(name: str) -> bool:
    """Whether there is such a model: a bundled one, a moment of its training, a model trained in the app that is still
    kept, or a loaded model of the library.
    """
    if is_bundled(name) or name in _own or name in shelf:
        return True
    base, step = name_and_step(name)
    return name == f"{base}{MOMENT}{step}" and any(moment.step == step for moment in moments(base))


def is_bundled(name: str) -> bool:
    """Whether a model comes with the app, as it was at the end of its training."""
    return name in model_names() or _is_other(name)


def kind(name: str) -> str:
    """The kind of an existing model, as in ModelConfig."""
    if names.is_library_name(name):
        kept = shelf.get(name)
        return "decoder" if kept is None else kept[devices.CPU].model.config.kind
    if own := _own.get(name):
        return own.model.config.kind
    return _bundled_kind(checkpoints.BUNDLED, name) if _is_other(name) else "decoder"


def _is_other(name: str) -> bool:
    """Whether it is a bundled model that continues no text: no list offers it, but a link or an experiment may ask for
    it.
    """
    return name in checkpoints.bundled_names() and not deployment.continues_text(checkpoints.BUNDLED, name)


@functools.lru_cache(maxsize=64)
def _bundled_kind(folder: Path, name: str) -> str:
    """The kind of a bundled model, which lies in `folder`."""
    return checkpoints.bundled_config(name).kind


def keep_own(model: Transformer, tokenizer: Tokenizer, title: str) -> str:
    """Keep a model that a reader has trained, so that every lesson can run it; return its name, which nobody can guess.
    The oldest is dropped if there are more than MOST_OWN.
    """
    name = f"{title}-{secrets.token_hex(OWN_SECRET)}"
    with _own_lock:
        _own[name] = _placed(name, devices.CPU, model, tokenizer)
        while len(_own) > MOST_OWN:
            _own.popitem(last=False)
    return name


@functools.lru_cache(maxsize=1)
def _traces() -> ByteBoundedCache:
    return ByteBoundedCache(TRACE_BYTES, _look)


@functools.lru_cache(maxsize=1)
def _results() -> ByteBoundedCache:
    return ByteBoundedCache(RESULT_BYTES, _look)


def shared_model(name: str, device: str) -> LoadedModel:
    """The one copy of a model on a device.

    If its folder is missing or broken, return the random stand-in, which says why; if the device is full, the CPU's
    copy.

    For a library model that is not loaded, or was dropped meanwhile, return the main model.
    """
    if own := _own.get(name):
        return own
    try:
        if names.is_library_name(name):
            kept = shelf.get(name)
            return shared_model(model_names()[0], device) if kept is None else _on_device(kept, device)
        return (_moments if MOMENT in name else _bundled).get_or_make((name, device), lambda: _load(name, device),
                                                                      lambda _: 1)
    except Exception as error:
        if devices.is_out_of_memory(error) and device != devices.CPU:
            LOG.warning("%s does not fit on %s; the CPU takes it.", name, device)
            return shared_model(name, devices.CPU)
        LOG.exception("Loading %s failed.", name)
        return dataclasses.replace(_random_model(device), problem=problem_of(error, name))


def problem_of(error: Exception, name: str) -> str:
    """The sentence for a reader about a bundled model that could not be loaded."""
    base, _ = name_and_step(name)
    return without_paths(str(error), checkpoints.BUNDLED / base, base)


def _load(name: str, device: str) -> LoadedModel:
    if name == RANDOM_MODEL:
        return _random_model(device)
    base, step = name_and_step(name)
    return _placed(name, device, *checkpoints.load_bundled(base, step=step))


@st.cache_resource(show_spinner=False)
def _random_model(device: str) -> LoadedModel:
    """The stories architecture with random weights and a tokenizer of little more than bytes; with it the app opens
    without any bundled model.
    """
    tokenizer = Tokenizer.train(prose.load("app").section("prompts").splitlines(), 400)
    model = Transformer(dataclasses.replace(STORIES, vocab_size=tokenizer.vocab_size))
    model.initialise(torch.Generator().manual_seed(0))
    return _placed(RANDOM_MODEL, device, model, tokenizer, is_random=True)


def _placed(name: str, device: str, model: Transformer, tokenizer: Tokenizer, is_random: bool = False) -> LoadedModel:
    lay_out(model.eval().requires_grad_(False))
    runner = model if device == devices.CPU else _copied(model, device)
    return LoadedModel(name, device, model, runner, tokenizer, is_random)


def _copied(model: Transformer, device: str) -> Transformer:
    """A copy of the model on a device; made tensor by tensor, so that main memory holds the model once."""
    with torch.device("meta"):
        made = Transformer(model.config)
    made.load_state_dict({name: weight.to(device) for name, weight in model.state_dict().items()}, assign=True)
    return made.eval().requires_grad_(False)


def trace(loaded: LoadedModel, token_ids: tuple[int, ...], intervention: Intervention = NOTHING,
          source_ids: tuple[int, ...] = ()) -> Trace:
    """The Trace of one forward pass, on the CPU, computed once for each (model, device, intervention, token ids);
    source_ids: the tokens that an encoder-decoder's encoder reads.
    """
    key = (loaded.name, loaded.device, intervention, token_ids, source_ids)
    return _traces().get_or_make(key, lambda: _in_turn(loaded, token_ids, intervention, source_ids),
                                 lambda made: _weight(loaded, made.n_bytes))


def kept_trace(loaded: LoadedModel, token_ids: tuple[int, ...], intervention: Intervention,
               source_ids: tuple[int, ...] = ()) -> Trace | None:
    """The Trace if it is computed already, else None."""
    return _traces().get((loaded.name, loaded.device, intervention, token_ids, source_ids))


def _weight(loaded: LoadedModel, n_bytes: int) -> int:
    """The size of a trace for its cache; if its model was dropped meanwhile, too large to be kept, since a trace holds
    on to the weights.
    """
    return TRACE_BYTES + 1 if names.is_library_name(loaded.name) and loaded.name not in shelf else n_bytes


def _in_turn(loaded: LoadedModel, token_ids: tuple[int, ...], intervention: Intervention,
             source_ids: tuple[int, ...] = ()) -> Trace:
    """Run the pass: a bundled model's on the replicas, if there are any; any other, and any while they do not answer,
    here when the reader's turn on the device has come.
    """
    # the replicas' protocol has no second text
    if not source_ids and (made := _elsewhere(loaded, token_ids, intervention)) is not None:
        return made
    with turns.line(loaded.device).turn(_reader(), _look):
        return _forward(loaded, token_ids, intervention, source_ids)


def in_turns(loaded: LoadedModel, steps: Iterator[T]) -> Iterator[T]:
    """The steps of an iterator that runs the model, with a turn on the device for each: many texts are then written
    side by side, and a page's own pass waits for a token, not for a text.
    """
    end = object()

    def step() -> T:
        with turns.line(loaded.device).turn(_reader(), _look):
            return next(steps, end)

    yield from queue.in_good_manners(iter(step, end))


def _elsewhere(loaded: LoadedModel, token_ids: tuple[int, ...], intervention: Intervention) -> Trace | None:
    """Run the pass on the replicas, which have a queue of their own; None without replicas, for a model that they do
    not have, and for a model on a GPU of this machine.
    """
    address, (base, step) = deployment.current().passes, name_and_step(loaded.name)
    if not address or loaded.device != devices.CPU or base not in checkpoints.bundled_names():
        return None
    return remote.client(address).trace(base, step, token_ids, intervention, loaded.model)


def _reader() -> Hashable:
    """The id of the one that waits: the session in a page's run, else the thread, which computes for anyone."""
    return context.session_id() or threading.get_ident()


def _look() -> None:
    """End the wait of a page's run that is superseded or whose page was closed: reading the session's state then raises
    Streamlit's own signal.
    """
    if context.session_id() is not None:
        st.session_state.get("page")


def _forward(loaded: LoadedModel, token_ids: tuple[int, ...], intervention: Intervention,
             source_ids: tuple[int, ...] = ()) -> Trace:
    ids, source = (torch.tensor(each, dtype=torch.int64, device=loaded.device) for each in (token_ids, source_ids))
    with torch.inference_mode():
        return loaded.runner(ids, intervention, source if source_ids else None).to(devices.CPU)


def result(key: Hashable, make: Callable[[], object], size: Callable[[object], int]):
    """Any other computed value, kept in a second LRU: the key must name the model, the device and every input."""
    return _results().get_or_make(key, make, size)


def kept(key: Hashable):
    """A result that is in the cache; None if it was not made, or was dropped."""
    return _results().get(key)


def clear() -> None:
    """Drop every kept result, after a device has run out of memory."""
    _traces().clear()
    _results().clear()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
