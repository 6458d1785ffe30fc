"""The tasks of the lesson as exercises with one right answer, and the model's answers, part by part."""
import functools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from core.app.state import Run
from core.evaluation import teaching_tasks as evaluation
from core.training import teaching_text
from core.training.teaching_text import Exercise

SEED = 7                # of the exercises; the model was trained on none but facts
PART = 4                # exercises of one step of the progress bar
# the classes of the tasks that are a choice between two
CLASSES = {"sentiment": (" positive", " negative"), "labels": (" A", " B")}
SIZES = {"sentiment": 24, "labels": 24, "questions": 16, "untaught": 16, "opposites": 16, "summary": 8, "table": 12}
TEMPLATES = {"sentiment": ('The sentiment of the sentence "', '" is:'), "labels": ("", " =>"),
             "questions": ("Q: ", " A:"), "untaught": ("Q: ", " A:"),
             "opposites": ("The opposite of ", " is"), "summary": ("", "\ntl;dr"), "table": ("", " =>")}
PLACES = ("Clowns", "Blue Spice", "The Eagle", "Giraffe", "The Vaults", "Strada", "Zizzi", "Cotto", "Browns",
          "Wildwood", "Aromi", "The Punter", "Green Man", "The Plough", "Cocum", "Loch Fyne", "The Waterman",
          "The Phoenix", "The Rice Boat", "The Mill", "The Olive", "Fitzbillies", "The Twenty Two", "The Golden Curry")
KINDS = ("coffee shop", "pub", "restaurant")
_QUOTED = re.compile(r'^The sentiment of the sentence "(.*)" is:$', re.DOTALL)


@dataclass(frozen=True)
class Result:
    """An exercise, the model's answer, and whether it is right."""

    exercise: Exercise
    said: str
    right: bool


def prompt_of(task: str, text: str) -> str:
    """The reader's own text in the task's template."""
    before, after = TEMPLATES[task]
    return f"{before}{text}{after}"


@functools.cache
def pool(task: str) -> tuple[Exercise, ...]:
    """The task's exercises and 12 more for solved examples, in the order of SEED."""
    n = SIZES[task] + 12
    if task in ("questions", "untaught"):
        every = list(teaching_text.fact_questions(task == "questions"))
        return tuple(random.Random(SEED).sample(every, min(n, len(every))))
    if task == "labels":
        return tuple(_relabelled(exercise) for exercise in teaching_text.held_out("sentiment", n, SEED))
    if task == "table":
        return tuple(_row(name, KINDS[k % len(KINDS)]) for k, name in enumerate(PLACES))
    return tuple(teaching_text.held_out(task, n, SEED))


def _row(name: str, kind: str) -> Exercise:
    """A row of a table and the sentence that says it, as in the set of restaurants with which this task is known."""
    return Exercise("table", prompt_of("table", f"name: {name} | eatType: {kind}"), f" {name} is a {kind}")


def _relabelled(exercise: Exercise) -> Exercise:
    """A sentiment exercise with arbitrary labels, A for positive and B for negative, whose meaning only solved examples
    show.
    """
    sentence = _QUOTED.match(exercise.prompt)[1]
    new = dict(zip(CLASSES["sentiment"], CLASSES["labels"]))
    return Exercise("labels", prompt_of("labels", sentence), new[exercise.answer],
                    tuple(new[answer] for answer in exercise.alternatives))


def examples(task: str, shots: int) -> str:
    """`shots` solved exercises, a line each, from those that are not asked; the classes of a choice alternate."""
    rest = pool(task)[SIZES[task]:]
    if task in CLASSES:
        classes = [[e for e in rest if e.answer == answer] for answer in CLASSES[task]]
        rest = [e for pair in zip(*classes) for e in pair]
    return "".join(f"{e.text}\n" for e in rest[:shots])


def results(run: Run, task: str, shots: int) -> Iterator[list[Result]]:
    """Yield the model's results on the task's exercises after the solved examples, PART at a time."""
    before = examples(task, shots)
    asked = [replace(e, prompt=before + e.prompt) for e in pool(task)[:SIZES[task]]]
    for start in range(0, len(asked), PART):
        part = asked[start:start + PART]
        yield _evaluate(run, task, part)


def _evaluate(run: Run, task: str, part: Sequence[Exercise]) -> list[Result]:
    model, tokenizer = run.loaded.runner, run.tokenizer
    if task in CLASSES:
        return [Result(a.exercise, a.exercise.answer if a.right else a.exercise.alternatives[0], a.right)
                for a in evaluation.choices(model, tokenizer, part)]
    order = {id(exercise): i for i, exercise in enumerate(part)}
    answers = sorted(evaluation.answers(model, tokenizer, part), key=lambda a: order[id(a.exercise)])
    return [Result(a.exercise, a.text, a.right) for a in answers]
