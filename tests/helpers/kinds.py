"""One small random model of each kind that the app opens, in folders as an operator offers them, and all that a page
says of one.

A kind is added to KINDS; tests.pages.test_other_models then opens every view with it.
"""
from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.app.compute.library import loading, names
from core.base import deployment
from tests.core.huggingface import test_tokens
from tests.helpers import huggingface_models
from tests.helpers.messages import unpacked

CONTEXT = 300           # longer than what lessons read at once


# LaTeX of parts that a kind has not: a tied E as what the last vector meets, another matrix for that, a mean that
# a norm takes off, turned queries and keys, a gate, none
TIED, UNTIED = r"h_N\^L ?(\\,)?E\b|E\^\{\\mathsf T\}", r"W_U"
CENTRED = r"\\alpha.*x_\d? ?- ?\\mu|\\beta_\d"
TURNED, GATED, UNGATED = r"q'_\{\d|k'_\{\d", r"W_(\\mathrm)?\{gate\}", r"FFN\}\(z\) = \\operatorname"


@dataclass(frozen=True)
class Kind:
    """case: of tests.helpers.huggingface_models, with its changes; tokenizer: its maker in
    tests.core.huggingface.test_tokens; never: looks of LaTeX that no formula of the pages has with it.
    """

    case: str
    tokenizer: str
    never: tuple[str, ...] = ()
    changes: dict = field(default_factory=lambda: dict(max_position_embeddings=CONTEXT))


KINDS = {
    # 2 blocks of 3 heads, d = 24: byte-level BPE, learned positions, LayerNorm, E tied, nothing before a text
    "gpt2-shaped": Kind("gpt2", "gpt2", (UNTIED, TURNED, GATED), dict(n_positions=CONTEXT)),
    # BPE on ▁ with bytes for the rest, a token before every text, rotary, RMSNorm, gated, grouped, E not tied
    "llama-shaped": Kind("llama", "llama", (TIED, CENTRED, UNGATED)),
    # queries and keys normed, heads wider than d/h, grouped, byte-level BPE that splits digits
    "qwen3-shaped": Kind("qwen3", "qwen", (TIED, CENTRED, UNGATED)),
    # windows and rotary bases by block, norms on both sides of each part, embeddings times √d, E tied
    "gemma3-shaped": Kind("gemma3", "llama", (UNTIED, CENTRED, UNGATED)),
    # rows of E narrower than the stream, mapped into it and back by a matrix each; norms after each part
    "opt-350m-shaped": Kind("opt narrow post-norm", "gpt2", (UNTIED, TURNED, GATED)),
    # experts in the place of the feed-forward part
    "mixtral-shaped": Kind("mixtral", "llama", (TIED, CENTRED, UNGATED)),
}


def saved(root: Path, name: str) -> Path:
    """The model `name` of KINDS with its tokenizer, in a folder of that name below `root`."""
    kind, place = KINDS[name], root / name
    place.mkdir()
    vocab_size = test_tokens.written(*getattr(test_tokens, kind.tokenizer)(), place)
    huggingface_models.saved(kind.case, place, vocab_size=vocab_size, bos_token_id=0, eos_token_id=0,
                             pad_token_id=None, **kind.changes)
    return place


def loaded(root: Path) -> contextlib.AbstractContextManager[None]:
    """Every model of KINDS saved below `root`, offered and loaded meanwhile."""
    for name in KINDS:
        saved(root, name)
    return offered(root)


@contextlib.contextmanager
def offered(root: Path) -> Iterator[None]:
    """The models in the folders below `root`, offered as an operator does and loaded meanwhile."""
    found = [place.name for place in root.iterdir()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(deployment.ROOTS, str(root))
        names._folders.cache_clear()
        for name in found:
            task = loading.load(f"folder:{name}")
            task.wait(60)
            assert task.problem is None, task.problem
        yield
    for name in found:
        cache.shelf.drop(f"folder:{name}")
    names._folders.cache_clear()


TOLD_TO_SCRIPTS = {"identity", "of", "model"}       # keys of a header that no reader sees
WRITTEN = ("markdown", "caption", "title", "header", "subheader", "info", "warning", "success", "error")
LABELLED = ("button", "selectbox", "radio", "toggle", "slider", "select_slider", "checkbox", "text_input", "text_area",
            "number_input")


def said(at: AppTest) -> list[str]:
    """Every text that a page shows: its prose without the addresses of its links, the names, hints and options of its
    controls, what its components and charts were given; in no order.
    """
    texts = [element.value for name in WRITTEN for element in at.get(name)]
    for name in LABELLED:
        for element in at.get(name):
            texts += [element.label, getattr(element.proto, "help", ""), *map(str, getattr(element, "options", []))]
    for element in at.get("bidi_component"):
        if element.proto.bytes:
            texts += _strings(unpacked(element.proto.bytes))
    for element in at.get("vega_lite_chart"):
        texts += _strings(json.loads(element.proto.spec))
    return [re.sub(r"\]\([^)\s]*\)", "]", text) for text in texts if text]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from () if key in TOLD_TO_SCRIPTS else _strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)
