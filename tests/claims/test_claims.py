"""Every claim stands in the text, and no experiment and no number of a bundled model stands there unclaimed."""
import re
from importlib import import_module
from pathlib import Path

import pytest

from core.base import prose, tables
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
    "language_models": ["mouse"], "next_token": ["greedy"], "overview": ["repeat", "early", "long"],
    "positions": ["breaks"], "recurrence": ["both"], "residual_stream": ["names", "first_token"], "tokens": ["prune"],
    "training": ["floor", "bump"]}
# ideas of the lectures whose place shows the same with every model: algebra, shapes and counts, networks with random
# weights, models trained in the page, published figures
IDEAS_OF_NO_MODEL = {f"{deck}{number}" for deck, numbers in {
    "A": (3, 4, 6, 7, 8, 9, 12, 13, 21, 23, 25, 26, 27, 28, 29, 35, 36, 38, 41, 43, 44),
    "B": (3, 5, 12, 13, 15, 16, 17, 18, 19, 20, 21, 24, 25, 27, 28, 29, 30, 31),
    "C": (1, 2, 3, 4, 5, 7, 12, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 29, 31, 32, 33, 34, 41, 42, 43, 46,
          47),
    "D": (1, 3, 4, 6, 7, 8, 9, 11, 12, 17, 20, 21, 33, 34, 35, 36, 41, 42)}.items() for number in numbers}
LESSONS = sorted(path.stem for path in TEXT.glob("*.md"))
FILES = sorted(str(path.relative_to(TEXT)) for ending in ("md", "tsv") for path in TEXT.rglob(f"*.{ending}"))
# a bundled model's name: in marks where it is also an English word
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
