"""Every claim stands in the text, and no experiment and no number of a bundled model stands there unclaimed."""
import re
from importlib import import_module
from pathlib import Path

import pytest

from core.app.base import prose
from core.model import checkpoints
from tests.claims import CLAIMS

HERE = Path(__file__).parent
TEXT = HERE.parents[1] / "assets" / "text" / "en"
for module in sorted(HERE.glob("test_*.py")):
    if module != Path(__file__):
        import_module(f"tests.claims.{module.stem}")

# the files that are claimed whole -> their experiments and class steps that say nothing of what a bundled model does:
# arithmetic, networks with random weights, models trained in the page, or the reader is only asked to look
OF_NO_MODEL = {
    "architectures": ("gpt3", "patterns"), "course": ("whole", "next"), "library": (), "limits": (), "models": (),
    "positions": ("one_wave", "shift", "mask"), "recurrence": ("bound", "vanish", "both", "memory"),
    "residual_stream": ("cut",), "tokens": ("train",), "training": ("pack", "floor")}
# a bundled model's name: in marks where it is an English word too
NAME = re.compile("|".join(rf"\b{name}\b" if "-" in name else rf"[*`]{name}[*`]|\b{name}, (?=\d)|\b{name}: (?=\w+, \d)"
                           for name in sorted(checkpoints.bundled_names(), key=len, reverse=True)))


def is_claimed(file: str, sentence: str) -> bool:
    """Whether a claim holds the sentence or a part of it."""
    said = " ".join(sentence.split())
    kept = (" ".join(claim.split()) for claim in CLAIMS[f"{file}.md"])
    return bool(said) and any(claim in said or said in claim for claim in kept)


def named_with_numbers(text: str) -> list[str]:
    """The sentences that name a bundled model and hold a digit of their own, which no page puts in."""
    return [sentence for line in text.splitlines() for sentence in re.split(r"(?<=[.!?]) ", line)
            if NAME.search(sentence) and re.search(r"\d", NAME.sub("", sentence))]


@pytest.mark.parametrize("file", sorted(CLAIMS))
def test_what_is_recomputed_stands_in_the_text(file):
    text = " ".join((TEXT / file).read_text().split())
    assert [s for s in CLAIMS[file] if " ".join(s.split()) not in text] == []


@pytest.mark.parametrize("file", OF_NO_MODEL)
def test_every_experiment_is_claimed(file):
    written = prose.load(file)
    experiments = (*written.experiments, *written.entries("step"))
    assert [one.id for one in experiments if not any(
        is_claimed(file, part) for part in re.split(r"(?<=[.!?]) ", one.look))] == list(OF_NO_MODEL[file])


@pytest.mark.parametrize("file", OF_NO_MODEL)
def test_every_number_of_a_named_model_is_claimed(file):
    assert [s for s in named_with_numbers((TEXT / f"{file}.md").read_text()) if not is_claimed(file, s)] == []


def test_a_number_beside_a_models_name_is_found():
    assert named_with_numbers("It beats *stories* by 3 %. A model of 4 stories. **{name}** has {n}.\n*blanks* has none."
                              " stories-small has 5.") == ["It beats *stories* by 3 %.", "stories-small has 5."]
