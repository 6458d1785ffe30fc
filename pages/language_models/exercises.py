"""The tasks of the lesson as exercises with one right answer, and what the model makes of them, part by part."""
import functools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from core.app.state import Run
from core.evaluation import teaching_tasks as evaluation
from core.training import teaching_text
from core.training.teaching_text import Exercise

SEED = 7                # of the exercises; the model was trained on none of them, facts aside
PART = 4                # exercises worked out at once, between two steps of the progress bar
# of the tasks that are a choice between two
CLASSES = {"sentiment": (" positive", " negative"), "labels": (" A", " B")}
SIZES = {"sentiment": 24, "labels": 24, "questions": 16, "untaught": 16, "opposites": 16, "summary": 8}
TEMPLATES = {"sentiment": ('The sentiment of the sentence "', '" is:'), "labels": ("", " =>"),
             "questions": ("Q: ", " A:"), "untaught": ("Q: ", " A:"),
             "opposites": ("The opposite of ", " is"), "summary": ("", "\ntl;dr")}
_QUOTED = re.compile(r'^The sentiment of the sentence "(.*)" is:$', re.DOTALL)


@dataclass(frozen=True)
class Result:
    """An exercise, what the model said, and whether that is right."""

    exercise: Exercise
    said: str
    right: bool


def prompt_of(task: str, own: str) -> str:
    """The reader's own text in the task's template."""
    before, after = TEMPLATES[task]
    return f"{before}{own}{after}"


@functools.cache
def pool(task: str) -> tuple[Exercise, ...]:
    """The task's exercises and as many more to take solved examples from, in an order that the seed fixes."""
    n = SIZES[task] + 12
    if task in ("questions", "untaught"):
        found = list(teaching_text.fact_questions(task == "questions"))
        return tuple(random.Random(SEED).sample(found, min(n, len(found))))
    if task == "labels":
        return tuple(_relabelled(exercise) for exercise in teaching_text.held_out("sentiment", n, SEED))
    return tuple(teaching_text.held_out(task, n, SEED))


def _relabelled(exercise: Exercise) -> Exercise:
    """A sentiment exercise with labels that say nothing, A for positive and B for negative: what they mean only solved
    examples can tell.
    """
    sentence = _QUOTED.match(exercise.prompt)[1]
    new = dict(zip(CLASSES["sentiment"], CLASSES["labels"]))
    return Exercise("labels", prompt_of("labels", sentence), new[exercise.answer],
                    tuple(new[one] for one in exercise.alternatives))


def examples(task: str, shots: int) -> str:
    """That many solved exercises, a line each, from those that are not asked; of a choice both classes take turns."""
    rest = pool(task)[SIZES[task]:]
    if task in CLASSES:
        classes = [[one for one in rest if one.answer == answer] for answer in CLASSES[task]]
        rest = [one for pair in zip(*classes) for one in pair]
    return "".join(f"{one.text}\n" for one in rest[:shots])


def results(run: Run, task: str, shots: int) -> Iterator[list[Result]]:
    """What the model makes of the task's exercises after the solved examples, part by part."""
    before = examples(task, shots)
    asked = [replace(one, prompt=before + one.prompt) for one in pool(task)[:SIZES[task]]]
    for start in range(0, len(asked), PART):
        part = asked[start:start + PART]
        yield _worked_out(run, task, part)


def _worked_out(run: Run, task: str, part: Sequence[Exercise]) -> list[Result]:
    model, tokenizer = run.loaded.runner, run.tokenizer
    if task in CLASSES:
        return [Result(one.exercise, one.exercise.answer if one.right else one.exercise.alternatives[0], one.right)
                for one in evaluation.choices(model, tokenizer, part)]
    order = {id(exercise): i for i, exercise in enumerate(part)}
    found = sorted(evaluation.answers(model, tokenizer, part), key=lambda one: order[id(one.exercise)])
    return [Result(one.exercise, one.text, one.right) for one in found]
