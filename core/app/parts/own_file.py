"""What every file that works without a server has: whether its model can be in it, the model's weights, and the words
around its picture.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from core.app.compute import cache
from core.app.state import Run
from core.base import prose
from core.components import COMPONENTS
from core.model.tokenizer import Tokenizer
from core.takeaway import page, weights

MOST_NUMBERS = 6_250_000        # of a model: more do not go into 8 MB


def refusal(run: Run) -> str | None:
    """The reason, in words, why a file cannot hold the run's model; None if it can."""
    words, n = prose.load("takeaway"), run.model.n_parameters
    if setting := weights.refusal(run.model.config):
        return words.label("refused_setting", setting=setting)
    if type(run.tokenizer) is not Tokenizer:
        return words.label("refused_tokenizer")
    return words.label("refused_size", n=f"{n:,}") if n > MOST_NUMBERS else None


def made(run: Run, picture: page.Picture, words: Mapping, state: Mapping) -> bytes:
    """The file of a picture. words: what its worker reads; state: the reader's settings, as its page reads them."""
    frame = prose.load("takeaway")
    said = {"tokenizer": json.loads(run.tokenizer.as_json()), "words": words, "failed": frame.label("failed"),
            "state": {"prompt": run.text} | dict(state)}
    names = {name: frame.label(name) for name in ("prompt", "waits", "noscript", "old")}
    about = frame.label("about", model=run.title, n=f"{run.model.n_parameters:,}")
    return page.file_of(picture, said, _weights(run), names | {"about": about})


def styles(*own: Path) -> tuple[Path, ...]:
    """The CSS of a component: what all have, and its own."""
    return COMPONENTS / "lib" / "component.css", *own


def _weights(run: Run) -> str:
    """The packed weights as the file holds them, made once for a model."""
    return cache.result(run.loaded.key("takeaway"), lambda: page.packed(weights.packed(run.model)), len)
