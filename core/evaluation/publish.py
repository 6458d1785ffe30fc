"""Bundling the model of a training run, with its losses by step and a card that says what it scored."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from core import checkpoints

CARDS = Path(__file__).resolve().parents[2] / "assets" / "text" / "en" / "model_cards"


def model_card(template: str, sections: Mapping[str, str], history: Sequence[dict], n_parameters: int) -> str:
    """The template with {parameters}, {steps}, {tokens} (millions) and {hours} filled in, from the last entry of a run's training.json, and the
    sections of the report, each by its name: {losses}, {tasks}, ...
    """
    last = history[-1]
    return template.format(parameters=f"{n_parameters:,}", steps=f"{last['step']:,}", tokens=f"{last['tokens_seen'] / 1e6:.1f}",
                           hours=f"{last['hours']:.1f}", **sections)


def publish(name: str, run: Path, sections: Mapping[str, str]) -> None:
    """Bundle the model of the training run in the folder as assets/models/`name`, with its training.json and its card."""
    model, tokenizer = checkpoints.load(run / "model")
    history = (run / "training.json").read_text(encoding="utf-8")
    template = (CARDS / f"{name}.md").read_text(encoding="utf-8")
    checkpoints.save(checkpoints.BUNDLED / name, model, tokenizer, model_card(template, sections, json.loads(history), model.n_parameters))
    (checkpoints.BUNDLED / name / "training.json").write_text(history, encoding="utf-8")
