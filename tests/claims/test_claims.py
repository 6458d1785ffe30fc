"""Every claim stands in the text, and no experiment and no number of a bundled model stands there unclaimed."""
import re
from importlib import import_module
from pathlib import Path

import pytest

from core.app.base import prose, tables
from core.model import checkpoints
from tests.claims import CLAIMS, SHOWN

HERE = Path(__file__).parent
TEXT = HERE.parents[1] / "assets" / "text" / "en"
for module in sorted(HERE.glob("test_*.py")):
    if module != Path(__file__):
        import_module(f"tests.claims.{module.stem}")

# experiments and class steps that say nothing of what a bundled model does: arithmetic, networks with random weights,
# models trained in the page, or the reader is only asked to look; an encoder's speak of a BERT
OF_NO_MODEL = {
    "architectures": ["gpt3", "lecture_sizes", "batch", "one_row", "prefix", "patterns"], "course": ["whole", "next",
    "order", "context", "divide", "tasks", "sentences", "neurons", "waves", "objective", "unrolled", "gradient",
    "bottleneck", "averages", "cost", "tuned", "kepler", "cipher", "draw", "twice", "meaning",
    "calibration"], "heads": ["encoder induction"], "language_models": ["guess", "likelihood", "slide"], "limits":
    ["exclusive"], "positions": ["one_wave", "shift", "mask"], "recurrence": ["bound", "vanish", "merged", "memory"],
    "residual_stream": ["beside"], "tokens": ["train"], "training": ["back",
    "instruct", "gamed"]}
# those that are claimed and ask what is seen, or say what is true of any model, of a view's own model, or of no model
OF_ANY_MODEL = {
    "attention": ["walk", "longer", "scale"], "course": ["tokens", "spaces"], "generation": ["overtaken"],
    "language_models": ["mouse"], "next_token": ["greedy"], "overview": ["empty", "repeat", "early", "long"],
    "positions": ["breaks"], "recurrence": ["both"], "residual_stream": ["names", "first_token"], "tokens": ["prune"],
    "training": ["floor", "bump"]}
# ideas of the lectures whose place shows the same with every model: algebra, shapes and counts, networks with random
# weights, models trained in the page, published figures
IDEAS_OF_NO_MODEL = {
    "A3", "A4", "A6", "A7", "A8", "A9", "A12", "A13", "A21", "A23", "A25", "A26", "A27", "A28", "A29", "A35", "A36",
    "A38", "A41", "A43", "A44", "B3", "B5", "B12", "B13", "B15", "B16", "B17", "B18", "B19", "B20", "B21", "B24", "B25",
    "B27", "B28", "B29", "B30", "C1", "C2", "C3", "C4", "C5", "C7", "C12", "C14", "C16", "C17", "C18", "C19", "C20",
    "C21", "C22", "C23", "C24", "C25", "C26", "C29", "C31", "C32", "C33", "C34", "C41", "C42", "C43", "C46", "C47",
    "D1", "D3", "D4", "D6", "D7", "D8", "D9", "D11", "D12", "D17", "D20", "D21", "D33", "D34", "D35", "D36", "D41",
    "D42"}
LESSONS = sorted(path.stem for path in TEXT.glob("*.md"))
FILES = sorted(str(path.relative_to(TEXT)) for ending in ("md", "tsv") for path in TEXT.rglob(f"*.{ending}"))
# a bundled model's name: in marks where it is an English word too
NAME = re.compile("|".join(rf"\b{name}\b" if "-" in name else rf"[*`]{name}[*`]|\b{name}, (?=\d)|\b{name}: (?=\w+, \d)"
                           for name in sorted(checkpoints.bundled_names(), key=len, reverse=True)))


def is_claimed(file: str, sentence: str) -> bool:
    """Whether a claim holds the sentence or a part of it."""
    said = " ".join(sentence.split())
    kept = (" ".join(claim.split()) for claim in CLAIMS.get(file, ()))
    return bool(said) and any(claim in said or said in claim for claim in kept)


def named_with_numbers(text: str) -> list[str]:
    """The sentences that name a bundled model and hold a digit of their own, which no page puts in."""
    return [sentence for line in text.splitlines() for sentence in re.split(r"(?<=[.!?]) ", line)
            if NAME.search(sentence) and re.search(r"\d", NAME.sub("", sentence))]


@pytest.mark.parametrize("file", sorted(CLAIMS))
def test_what_is_recomputed_stands_in_the_text(file):
    text = " ".join((TEXT / file).read_text().split())
    assert [s for s in CLAIMS[file] if " ".join(s.split()) not in text] == []


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_experiment_is_claimed(lesson):
    written = prose.load(lesson)
    said = {one.id: one.look for kind in ("try", "step") for one in written.entries(kind)}
    said |= {f"encoder {one.id}": one.look for one in written.entries("encoder: try")}
    assert [name for name, look in said.items() if not any(
        is_claimed(f"{lesson}.md", part) for part in re.split(r"(?<=[.!?]) ", look))] == OF_NO_MODEL.get(lesson, [])


@pytest.mark.parametrize("lesson", LESSONS)
def test_an_experiment_that_tells_what_a_bundled_model_does_opens_with_it(lesson):
    written = prose.load(lesson)
    entries = (*written.entries("try"), *written.entries("step"))
    assert [one.id for one in entries if "model" not in one.settings
            and one.id not in (*OF_NO_MODEL.get(lesson, ()), *OF_ANY_MODEL.get(lesson, ()))] == []


@pytest.mark.parametrize("file", FILES)
def test_every_number_of_a_named_model_is_claimed(file):
    assert [s for s in named_with_numbers((TEXT / file).read_text()) if not is_claimed(file, s)] == []


def test_the_place_of_every_idea_is_held_or_shows_the_same_with_every_model():
    assert not IDEAS_OF_NO_MODEL & set(SHOWN)
    assert IDEAS_OF_NO_MODEL | set(SHOWN) == {idea.id for idea in tables.ideas()}


def test_a_number_beside_a_models_name_is_found():
    assert named_with_numbers("It beats *stories* by 3 %. A model of 4 stories. **{name}** has {n}.\n*blanks* has none."
                              " stories-small has 5.") == ["It beats *stories* by 3 %.", "stories-small has 5."]
