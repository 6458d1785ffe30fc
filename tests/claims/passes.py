"""Passes and experiments that the tests of several text files share."""
from functools import cache as kept

import torch

from core.analysis.stream_and_heads import HeadStatistics, head_statistics
from core.app.compute import cache
from core.app.state.prompts import example_prompts
from core.app.state.run import Run, read
from core.base import prose
from core.base.prose import Experiment
from core.model.intervention import HeadEdit, Intervention


@kept
def run(prompt: str, model: str = "stories") -> Run:
    """The prompt as a bundled model reads it."""
    return read(cache.shared_model(model, "cpu"), prompt)


def opening() -> Run:
    """The prompt that the lessons open with."""
    return run(example_prompts()[0])


def experiment(lesson: str, name: str, kind: str = "decoder") -> Experiment:
    """One "Try this" of a lesson as it is read with a model of that kind, or a step of the course."""
    file = prose.load(lesson).of_kind(kind)
    return next(one for one in (*file.experiments, *file.entries("step")) if one.id == name)


def prompt_of(one: Experiment, model: str = "stories") -> Run:
    """An experiment's prompt in its model; without a prompt of its own the opening one."""
    return run(one.settings.get("prompt", example_prompts()[0]), one.settings.get("model", model))


def address(one: Experiment) -> dict[str, str | None]:
    """The parameters of the address that an experiment stands for."""
    return {name: None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in one.settings.items()}


def says(there: Run, position: int = -1) -> tuple[str, float]:
    """The most probable next token as it is shown, and its probability."""
    p, token_id = there.trace.probs[position].max(-1)
    return there.tokenizer.visible(int(token_id)), float(p)


def probability(there: Run, token: str, position: int = -1) -> float:
    """The probability of a token, given as text, next."""
    [token_id] = there.tokenizer.encode(token)
    return float(there.trace.probs[position, token_id])


def heads_of(there: Run, off: tuple[tuple[int, int], ...] = ()) -> HeadStatistics:
    """Statistics of every head, with some heads, (layer, head) each, switched off."""
    return head_statistics(there.trace_with(Intervention(heads=tuple(HeadEdit(*head) for head in off))))


def self_match(scores: torch.Tensor) -> float:
    """The share of queries whose highest score, in scores (N, N) before the mask, is the score of their own key."""
    return float((scores.argmax(-1) == torch.arange(len(scores))).double().mean())


def strongest(scores: torch.Tensor) -> tuple[int, int]:
    """(layer, head) of the largest of (L, h)."""
    return divmod(int(scores.argmax()), scores.shape[-1])
