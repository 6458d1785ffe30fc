"""A Run: the reader's prompt as the chosen model reads it, with its Trace."""
from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from core.analysis.stream_and_heads import telling_head
from core.app.compute import cache, growing_results
from core.app.compute.library import names
from core.app.state import model_choice, prompts, reader
from core.base import deployment, devices
from core.base.deployment import LEAST_TOKENS
from core.cost.counting import trace_bytes
from core.model.config import ModelConfig
from core.model.generation import translations
from core.model.intervention import NOTHING, Intervention
from core.model.tokenizer import Tokenizer
from core.model.trace import Trace
from core.model.transformer import Transformer

# Parameters × tokens of a pass that a moving hand may ask for: some 2 s on one core, as for gpt2 on 256 tokens.
MOST_LIVE = 40_000_000_000
LARGE = 50_000_000      # parameters of a model whose passes may take seconds
MOST_WRITTEN = 40       # tokens that an encoder-decoder writes for a source; the longest date has 16


@dataclass(frozen=True)
class Run:
    """One prompt under one model. Equal prompts share their Trace, which is computed when it is first read."""

    loaded: cache.LoadedModel
    text: str
    # begins with the token that the model's texts begin with, such as end of text, if they begin with one
    token_ids: tuple[int, ...]
    tokens: list[str]            # their visible forms
    n_cut: int                   # tokens of the text that did not fit and were left out, from its start
    source_ids: tuple[int, ...] = ()    # the encoder's tokens, if token_ids are those of the decoder behind it

    @property
    def model_name(self) -> str:
        return self.loaded.name

    @property
    def title(self) -> str:
        """The model's name as a page shows it."""
        return self.loaded.title

    @property
    def model(self) -> Transformer:
        return self.loaded.model

    @property
    def tokenizer(self) -> Tokenizer:
        return self.loaded.tokenizer

    @property
    def device(self) -> str:
        return self.loaded.device

    @property
    def trace(self) -> Trace:
        """The forward pass without an Intervention."""
        return self.trace_with(NOTHING)

    def trace_with(self, intervention: Intervention) -> Trace:
        """The forward pass under an Intervention."""
        return _traced(self.loaded, self.token_ids, intervention, self.source_ids)

    def trace_of(self, token_ids: tuple[int, ...]) -> Trace:
        """The forward pass of the same model on other token ids (a second prompt, a permuted one)."""
        return _traced(self.loaded, tuple(token_ids), NOTHING, self.source_ids)

    def key(self, what: str, *inputs: Hashable) -> Hashable:
        """The key of a cached result `what` that is computed from this Run and these inputs."""
        return self.loaded.key(what, self.token_ids, self.source_ids, *inputs)

    def named(self) -> dict:
        """The fields that name this Run in a question from outside a session; `of_tokens` reads them."""
        return {"model": self.model_name, "device": self.device, "token_ids": list(self.token_ids)}

    def with_text(self, text: str) -> Run:
        """The same model on another text, for a lesson that compares two."""
        return read(self.loaded, text)

    def with_token(self, position: int, token_id: int) -> Run:
        """The same prompt with another token at a position; `text` stays what the reader wrote. Raises ValueError for a
        position or a token that is not there.
        """
        if not (0 <= position < len(self.token_ids) and 0 <= token_id < self.model.config.vocab_size):
            raise ValueError("there is no such position or token")
        ids = (*self.token_ids[:position], token_id, *self.token_ids[position + 1:])
        return replace(self, token_ids=ids, tokens=self.tokenizer.all_visible(ids))

    @property
    def own_ids(self) -> tuple[int, ...]:
        """The tokens of the text itself, without the ones that begin and end all of the model's texts."""
        begin, end = len(self.tokenizer.begin), len(self.tokenizer.end)
        return self.token_ids[begin:len(self.token_ids) - end] if self.text else ()

    def own_ids_until(self, position: int) -> tuple[int, ...]:
        """The tokens of the text itself up to and including a position."""
        return self.token_ids[len(self.tokenizer.begin):position + 1] if self.text else ()

    @property
    def is_encoder(self) -> bool:
        """Whether the model predicts the token at a position, seeing all of the text, and not the token that follows.
        """
        return self.model.config.kind == "encoder"

    @property
    def has_head(self) -> bool:
        """Whether the model's logits mean anything: an encoder may have come without a language head, or with another
        head (core.huggingface.task_heads).
        """
        return self.model.config.head.output_head == "language"

    @property
    def asked(self) -> int:
        """The position whose prediction is shown if the reader has picked none: the last one; in an encoder the first
        blank, or else the last token of the text itself.
        """
        last = len(self.token_ids) - 1
        if not self.is_encoder:
            return last
        mask = self.tokenizer.mask_token
        return self.token_ids.index(mask) if mask in self.token_ids else max(0, last - len(self.tokenizer.end))

    def logits(self, position: int = -1) -> np.ndarray:
        """Logits, (|V|,) float64, of the next token after `position`; in an encoder, of the token at `position`."""
        return self.trace.logits[position].to("cpu", torch.float64).numpy()


def _traced(loaded: cache.LoadedModel, token_ids: tuple[int, ...], intervention: Intervention,
            source_ids: tuple[int, ...]) -> Trace:
    """The Trace of a pass. With a large model it may take seconds: a view waits for it as for any long computation.
    """
    asked = loaded, token_ids, intervention, source_ids
    if loaded.model.n_parameters <= LARGE or cache.kept_trace(*asked) is not None:
        return cache.trace(*asked)
    key = loaded.key("trace", token_ids, source_ids, intervention)
    # a trace has a cache of its own
    made = growing_results.made(key, lambda: cache.trace(*asked), lambda _: cache.RESULT_BYTES + 1)
    growing_results.forget(key)
    return made


def room(config: ModelConfig) -> int:
    """The number of tokens that a lesson reads at once: at most the model's context, at most the number allowed, and
    fewer if the trace would fill more than half of the cache of traces.
    """
    return _room(config, min(deployment.current().prompt_tokens, config.n_context), cache.TRACE_BYTES // 2)


@functools.lru_cache(maxsize=64)
def _room(config: ModelConfig, most: int, most_bytes: int) -> int:
    while most > LEAST_TOKENS and trace_bytes(config, most) > most_bytes:
        most = max(LEAST_TOKENS, most * 3 // 4)
    return most


def read(loaded: cache.LoadedModel, text: str) -> Run:
    """The Run of a text: its last tokens, as many as there is room for, after the token that the model's texts begin
    with.

    If a model's texts begin with no such token, an empty text is token 0, since a model cannot read nothing. An encoder
    with a mask token reads ____ as a blank to fill in.
    """
    config, tokenizer = loaded.model.config, loaded.tokenizer
    prompt = tokenizer.prompt(prompts.clean_prompt(text), room(config),
                              blanks=config.kind == "encoder" and tokenizer.mask_token is not None)
    token_ids = prompt.token_ids or (0,)
    return Run(loaded, text, token_ids, tokenizer.all_visible(token_ids), prompt.n_cut)


def asked_model(name: str, device: str) -> cache.LoadedModel:
    """The model that a question from outside a session names.

    Raises ValueError if the model or the device is not here, and for a model of two stacks.
    """
    if not cache.exists(name) or device not in devices.available():
        raise ValueError("there is no such model or device")
    if cache.kind(name) == "encoder-decoder":
        raise ValueError("this model needs a text for each of its two stacks")
    return cache.shared_model(name, device)


def of_tokens(name: str, device: str, token_ids: Sequence[int]) -> Run:
    """The Run that a question from outside a session names.

    Raises ValueError like `asked_model`, for tokens that the model does not have, for a pass that would take seconds.
    """
    loaded = asked_model(name, device)
    ids = tuple(int(token_id) for token_id in token_ids)
    config = loaded.model.config
    if not 0 < len(ids) <= room(config) or not all(0 <= i < config.vocab_size for i in ids):
        raise ValueError("these are no tokens of the model, or too many")
    if loaded.model.n_parameters * len(ids) > MOST_LIVE:
        raise ValueError("the pass would take seconds")
    return Run(loaded, loaded.tokenizer.decode(list(ids)), ids, loaded.tokenizer.all_visible(ids), 0)


def current() -> Run:
    """The Run of the shared prompt under the chosen model; from here on the selection is clamped to its bounds."""
    run = read(cache.shared_model(model_choice.shown(), reader.device()), reader.prompt())
    reader.set_bounds(bounds_of(run))
    return run


def decoded(run: Run) -> Run:
    """The Run of the stack that writes: for an encoder-decoder that of its decoder, with the text that it writes after
    its encoder has read the prompt; for any other model the run itself.
    """
    if run.model.config.kind != "encoder-decoder":
        return run
    # the bundled model has learned from sources without a first token of their own
    source = run.token_ids if names.is_library_name(run.model_name) else run.own_ids or run.token_ids
    ids = (run.model.config.first_token, *written(run.loaded, source)[:-1])
    return replace(run, token_ids=ids, tokens=run.tokenizer.all_visible(ids), source_ids=source)


def written(loaded: cache.LoadedModel, source_ids: tuple[int, ...]) -> tuple[int, ...]:
    """The tokens that an encoder-decoder writes for a source, by `greedy`, cached."""
    return cache.result(loaded.key("written", source_ids), lambda: greedy(loaded.runner, source_ids),
                        lambda ids: 8 * len(ids))


def greedy(model: Transformer, source: tuple[int, ...]) -> tuple[int, ...]:
    """The greedy target tokens, up to end of text or MOST_WRITTEN tokens."""
    with torch.inference_mode():
        return dict(translations(model, [source], min(MOST_WRITTEN, model.config.n_context)))[0]


def selection(run: Run) -> reader.Selection:
    """The reader's selection in a lesson about heads: if neither a block nor a head was picked, a head that shows
    something on this prompt.
    """
    chosen = reader.selection()
    if reader.picked_head():
        return chosen
    layer, head = telling(run)
    return replace(chosen, layer=layer, head=head)


def telling(run: Run) -> tuple[int, int]:
    """(block, head) of a head that shows something on this prompt."""
    return cache.result(run.key("telling head"), lambda: telling_head(run.trace, run.asked), lambda _: 64)


def select_head(run: Run, **picked: int) -> None:
    """Callback: pick a block, a head or both; the one not given stays as it is shown."""
    shown = selection(run)
    reader.select(**{"layer": shown.layer, "head": shown.head} | picked)


def select(run: Run, **picked: int) -> None:
    """Callback: pick a block, a head or a position."""
    if set(picked) == {"position"}:
        reader.select(**picked)
    else:
        select_head(run, **picked)


def bounds_of(run: Run) -> reader.Bounds:
    """The bounds to which a selection is clamped while this Run is shown."""
    config = run.model.config
    return reader.Bounds(config.n_layers, config.n_heads, len(run.token_ids), config.vocab_size, run.asked)
