"""Processor time of each view until it is whole, with a random GPT-2 of the small size, against one pass of the same
model.

Nothing of a figure waits: it is the time of the server's processor, all its threads together, while one reader without
a browser opens the view and lets it grow to its end.
"""
from __future__ import annotations

import asyncio
import itertools
import string
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import tokenizers
import torch

from core import huggingface
from core.app.compute.library import names
from core.base import catalogue, deployment
from core.files import ASSETS
from core.model.fused import lay_out
from core.model.tokenizer import Tokenizer
from tests.benchmarks.lessons import views
from tests.benchmarks.reader import Answer, Reader, key_of, query_of
from tests.benchmarks.sizes import Sizes
from tests.benchmarks.timing import Figure, figure, in_turn, processor_seconds
from tests.browser.serving import Server, serve
from tests.helpers import huggingface_models

NAME = f"{names.IN_FOLDER}small"
LONG = "Once upon a time, there was a little girl who lived in a small house near the forest with her old dog. "
TOKENS = 64             # of the pass that all is measured against
MOST_SECONDS = 900      # that a view is waited for
EVERY = 0.5             # seconds between two looks at a model that is loaded


def large_figures(sizes: Sizes) -> list[Figure]:
    """A figure for each view of the lessons, in seconds and in passes of TOKENS tokens."""
    with tempfile.TemporaryDirectory() as root:
        folder = saved(Path(root) / "small", sizes.large)
        reference = pass_seconds(folder, sizes.repeats)
        room = {deployment.ROOTS: root, deployment.GIGABYTES: "4"}
        with serve(env=room) as server:
            measured = asyncio.run(_views(server, sizes))
    if all(answer.error for _, _, answer in measured):
        raise RuntimeError(f"No view was opened: {', '.join({answer.error for _, _, answer in measured})}")
    note = f"reference: one pass of {TOKENS} tokens"
    return [figure(view, [seconds], reference, "s", answer.error or answer.growing or note)
            for view, seconds, answer in measured]


def saved(folder: Path, shape: Mapping[str, int]) -> Path:
    """The random model, and a byte-level BPE of the app's own texts, filled up to the model's vocabulary."""
    huggingface_models.saved("gpt2", folder, **shape, bos_token_id=0, eos_token_id=0)
    texts = [path.read_text(encoding="utf-8") for path in sorted((ASSETS / "text").rglob("*.md"))]
    Tokenizer.train(texts, shape["vocab_size"]).save(folder / "tokenizer.json")
    bpe = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    unused = ("".join(letters) for letters in itertools.product(string.ascii_uppercase, repeat=6))
    while (missing := shape["vocab_size"] - bpe.get_vocab_size()) > 0:
        bpe.add_tokens(list(itertools.islice(unused, missing)))
    bpe.save(str(folder / "tokenizer.json"))
    return folder


def pass_seconds(folder: Path, repeats: int) -> list[float]:
    """Seconds of the processor of a pass of TOKENS tokens with everything kept."""
    model, _ = huggingface.from_pretrained(folder)
    lay_out(model)
    ids = torch.randint(4, model.config.vocab_size, (TOKENS,), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        return [milliseconds / 1e3 for milliseconds in in_turn([lambda: model(ids)], repeats, time.process_time)[0]]


async def _views(server: Server, sizes: Sizes) -> list[tuple[str, float, Answer]]:
    """(lesson › view, seconds of the processor, the answer) of each, opened one after the other by new readers."""
    measured, shown = [], {"model": NAME, "prompt": LONG}
    async with Reader(server.url) as reader:
        await _loaded(reader)
        # what all pages share: the pass of the prompt
        await reader.open("", query_of(**shown), MOST_SECONDS)
    for lesson, view, settings in itertools.islice(views(sizes.lessons), sizes.cases):
        async with Reader(server.url) as reader:
            before = processor_seconds(server.process.pid)
            answer = await reader.open(catalogue.url_path(lesson), query_of(**shown, **settings), MOST_SECONDS)
            taken = processor_seconds(server.process.pid) - before
        measured.append((f"{lesson} › {view}" if view else lesson, taken, answer))
    return measured


async def _loaded(reader: Reader) -> None:
    """Loads the model, as a reader does who presses the button."""
    def button():
        return reader.find(lambda shown: key_of(shown) == "model_load")

    async with asyncio.timeout(MOST_SECONDS):
        await reader.open("", query_of(model=NAME))
        while not button():
            await asyncio.sleep(EVERY)
        await reader.set("load", button()[0], True)
        while reader.find(lambda shown: key_of(shown) in ("model_load", "model_stop")):
            await asyncio.sleep(EVERY)
