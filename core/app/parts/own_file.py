"""Parts of every file that works without a server: whether its model can be in it, the model's weights, and the words
around its picture.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Parts:
    """The share of a page in its file. words: what the worker reads; state: the reader's settings, as the script reads
    them.
    """

    picture: page.Picture
    words: Mapping
    state: Mapping


def maker(run: Run, parts: Callable[..., Parts], *given: object) -> Callable[[], bytes]:
    """The maker of a file, called when the reader saves it: outside of the session, whose settings are `given` now, and
    not before, since the parts may take seconds.
    """
    return lambda: made(run, parts(run, *given))


def made(run: Run, parts: Parts) -> bytes:
    """The file."""
    return page.file_of(parts.picture, said(run, parts), packed(run), words_around(run))


def said(run: Run, parts: Parts) -> dict:
    """The values that the script of a page reads."""
    return {"tokenizer": json.loads(run.tokenizer.as_json()), "words": parts.words,
            "failed": prose.load("takeaway").label("failed"), "state": {"prompt": run.text} | dict(parts.state)}


def words_around(run: Run, about: str = "about") -> dict[str, str]:
    """The words around a picture. about: the label of what is said of the model."""
    frame = prose.load("takeaway")
    about = frame.label(about, model=run.title, n=f"{run.model.n_parameters:,}")
    return {name: frame.label(name) for name in ("prompt", "waits", "noscript", "old")} | {"about": about}


def styles(*own: Path) -> tuple[Path, ...]:
    """The CSS of a component: what all have, and its own."""
    return COMPONENTS / "lib" / "component.css", *own


def packed(run: Run) -> str:
    """The packed weights as the file holds them, made once for a model."""
    return cache.result(run.loaded.key("takeaway"), lambda: page.packed(weights.packed(run.model)), len)
