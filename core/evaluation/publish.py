"""Bundle the model of a training run with its losses by step, its milestones, and a card on its training and scores.
"""
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.evaluation.lengths import Stretch
from core.evaluation.lengths import save as save_lengths
from core.files import ASSETS, read_json, write_json
from core.model import checkpoints

CARDS = ASSETS / "text" / "en" / "model_cards"


def stages(run: Path) -> list[dict]:
    """The losses of all stages of a run in order, each entry with the number of its stage, from 1."""
    folders = [*sorted(run.glob("stage-*")), run]
    read = [read_json(folder / "training.json") for folder in folders]
    return [dict(stage=number, **entry) for number, entries in enumerate(read, 1) for entry in entries]


def training_facts(history: Sequence[dict], n_parameters: int) -> dict[str, str]:
    """Return the facts of a training for its card: parameters; steps, tokens (millions) and hours over all stages;
    minutes of the last stage.
    """
    ends = {entry["stage"]: entry for entry in history}.values()        # the last entry of each stage
    return dict(parameters=f"{n_parameters:,}", steps=f"{sum(end['step'] for end in ends):,}",
                tokens=f"{sum(end['tokens_seen'] for end in ends) / 1e6:.1f}",
                hours=f"{sum(end['hours'] for end in ends):.1f}", minutes=f"{history[-1]['hours'] * 60:.0f}")


def template(name: str) -> str:
    """The template of the model's card, by its name or by its family, the part of the name before the first hyphen.

    Raises OSError if there is neither.
    """
    path = CARDS / f"{name}.md"
    return (path if path.exists() else CARDS / f"{name.partition('-')[0]}.md").read_text(encoding="utf-8")


def publish(name: str, run: Path, sections: Mapping[str, str], lengths: Sequence[Stretch] = ()) -> None:
    """Bundle the model of the training run in the folder as assets/models/`name`: weights, losses, milestones, the loss
    by position, and its card with the report's `sections`.
    """
    model, tokenizer = checkpoints.load(run / "model")
    history, folder = stages(run), checkpoints.BUNDLED / name
    values = (dict.fromkeys(("losses", "lengths", "verbatim"), "") | training_facts(history, model.n_parameters)
              | dict(sections))
    card = template(name).format(name=name, hardware=read_json(run / "recipe.json")["hardware"], **values)
    checkpoints.save(folder, model, tokenizer, card)
    write_json(folder / "training.json", history)
    if lengths:
        save_lengths(folder, lengths)
    if (run / checkpoints.HISTORY).exists():
        shutil.copytree(run / checkpoints.HISTORY, folder / checkpoints.HISTORY, dirs_exist_ok=True)
