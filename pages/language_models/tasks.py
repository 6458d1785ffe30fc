"""Tasks: sentiment, questions, opposites and summaries as the prediction of words, each with its accuracy on a small
labelled set.
"""
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.statistics import Proportion
from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.base.markdown import code, unmarked
from core.components.lib.token_view import token_view
from core.evaluation import teaching_tasks as evaluation
from core.figures.numbers import latex_number, latex_operand, percent, plain_number
from pages.language_models import exercises, written
from pages.language_models.exercises import CLASSES, Result
from pages.language_models.shared import PREFIX, attached, choice, keep, named, read
from pages.language_models.written import Written

MOST_CHARACTERS = 300      # of the reader's own text
HALF = 0.5                 # what a coin toss gets right
SURE = (0.2, 0.6)          # the limits between the options of the question
# A task as word prediction: the prompt with its template, the next tokens, and the model's accuracy on a labelled set.
_picture = token_view("lm_tasks", __file__)


def predict(page: Lesson, run: Run) -> Prediction:
    """Whether the model gets all exercises of the labelled set right, more than half, fewer, or none."""
    task, shots = read("task"), int(read("shots"))
    n = exercises.SIZES[task]
    what = [page.label("asked_shots", k=shots)] if shots else []
    what += [page.label(f"asked_{task}", n=n, prompt=code(exercises.prompt_of(task, page.label(f"own_{task}"))))]

    def truth(_guess: int) -> Truth:
        score = _score(_results(page, run, task, shots))
        right, said = score.right, page.label("before_tasks_said", right=score.right, n=n)
        low, high = score.interval
        return Truth(0 if right == n else 1 if right > n / 2 else 2 if right else 3, said=said,
                     seen=0 if low > HALF else 2 if high < HALF else 1, values={"said": said})

    options = [page.label(f"before_tasks_{k}", n=n) for k in range(4)]
    return Prediction("tasks", Options(options), truth, {"what": " ".join(what), "n": n}, (task, shots))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the choice of a task, the reader's own case and the labelled set; return what they show."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        task = choice(page, "task")
        shots = int(choice(page, "shots"))
        if not reader.present():
            st.caption(page.label("shots_note"), width="content")
    st.text_input(page.label("own"), placeholder=page.label(f"own_{task}"), max_chars=MOST_CHARACTERS,
                  label_visibility="collapsed", **attached(f"own_{task}"))
    text = (str(read(f"own_{task}"))[:MOST_CHARACTERS] or page.label(f"own_{task}")).strip()
    before = exercises.examples(task, shots)
    case = _case(run, task, before + exercises.prompt_of(task, text))
    told = written.steps(page, case) if isinstance(case, Written) else []
    step = min(read("answered"), len(told) - 1) if told else 0
    results = _results(page, run, task, shots)
    score = _score(results)
    verdict = page.label("verdict", right=score.right, n=score.n, task=page.label(f"task_{task}"),
                         share=plain_number(100 * score.share, 0))
    header = _message(page, task, case, told, results) | {
        "template": [exercises.TEMPLATES[task][0], text, exercises.TEMPLATES[task][1]], "shots": before,
        "answers": [_entry(r, before) for r in results], "verdict_line": verdict, "settings": {"step": step},
        "identity": f"{task} {shots} {text}"}
    _picture(header, key=f"{PREFIX}tasks", on_settings=lambda settings: keep(answered=settings["step"]))
    title = verdict + " " + page.label("tasks_twin", own=named(text), answer=code(case.answer.strip() or "–"))
    return Reading(_lines(page, task, case, step, score), _question(page, run, task),
                   [evaluation.choices, evaluation.answers, evaluation.is_right],
                   {"answers.csv": lambda: _table(results, before)}, ".tasks-chart", title)


def _results(page: Lesson, run: Run, task: str, shots: int) -> list[Result]:
    """The results on the whole labelled set."""
    def steps() -> Iterator[Part]:
        results: list[Result] = []
        for part in exercises.results(run, task, shots):
            results = results + part
            yield Part(results, len(results), exercises.SIZES[task])

    return growing_results.result(run.loaded.key("task", task, shots), steps, lambda value: 2_000 * len(value),
                                  page.label("working"))


@dataclass(frozen=True)
class Chosen:
    """A choice between two words: the likelier one, and ln p of each in nats."""

    answer: str
    bars: list[dict]
    log_probs: list[float]


def _case(run: Run, task: str, prompt: str) -> Chosen | Written:
    """The reader's own case: the choice between the task's classes, else the answer that the model writes."""
    def make() -> Chosen | Written:
        if task not in CLASSES:
            return written.write(run, task, prompt)
        values = evaluation.answer_log_probs(run.loaded.runner, run.tokenizer,
                                             [(prompt, label) for label in CLASSES[task]]).tolist()
        best = CLASSES[task][int(np.argmax(values))]
        return Chosen(best, [written.bar(label.strip(), math.exp(value), label == best)
                             for label, value in zip(CLASSES[task], values)], values)

    return growing_results.made(run.loaded.key("own task", task, prompt), make, lambda _: 6_000)


def _message(page: Lesson, task: str, case: Chosen | Written, told: list[dict], results: list[Result]) -> dict:
    """The case and the set's score, as tasks.js has them. told: the steps of a written answer."""
    low, high = (plain_number(100 * share, 0) for share in _score(results).interval)
    return page.header("tasks") | {
        "answer": case.answer, "steps": told, "bars": [] if told else case.bars,
        "bars_title": page.label("tasks_choice"), "counts": _confusion(task, results),
        "classes": [answer.strip() for answer in CLASSES.get(task, ())],
        "note": " ".join((unmarked(page.label(f"note_{task}")), page.label("interval", low=low, high=high)))}


def _score(results: list[Result]) -> Proportion:
    return Proportion(sum(r.right for r in results), len(results))


def _confusion(task: str, results: list[Result]) -> list[list[int]] | None:
    """The confusion matrix, a row for each true class, a column for each answer; None for a task that is no choice."""
    if task not in CLASSES:
        return None
    return [[sum(r.exercise.answer == true and r.said == said for r in results) for said in CLASSES[task]]
            for true in CLASSES[task]]


def _entry(r: Result, before: str) -> dict:
    return {"ask": r.exercise.prompt.removeprefix(before), "said": r.said.strip() or "–",
            "should": r.exercise.answer.strip(), "right": r.right}


def _lines(page: Lesson, task: str, case: Chosen | Written, step: int, score: Proportion) -> list[tuple[str, str]]:
    share = (page.label("numbers_right"),
             rf"\frac{{{score.right}}}{{{score.n}}} = {latex_number(score.share)}, \qquad \text{{95 %: }} "
             rf"[{latex_number(score.interval[0])}, {latex_number(score.interval[1])}]".replace("%", r"\%"))
    if isinstance(case, Written):
        return [*written.lines(page, case, step), share]
    a, b = (rf"\text{{{label.strip()}}}" for label in CLASSES[task])
    p = [math.exp(value) for value in case.log_probs]
    odds = (rf"\frac{{P({a} \mid c)}}{{P({b} \mid c)}} = "
            rf"\frac{{{latex_operand(p[0])}}}{{{latex_operand(p[1])}}} = "
            rf"{latex_number(math.exp(case.log_probs[0] - case.log_probs[1]))}")
    return [(page.label("numbers_task_odds"), odds), share]


def _question(page: Lesson, run: Run, task: str) -> Question:
    """For a choice: which class the template without a sentence favours. Else: the probability of the next token in a
    question about something that does not exist.
    """
    if task in CLASSES:
        values = _case(run, task, exercises.prompt_of(task, "")).log_probs
        names = [label.strip() for label in CLASSES[task]]
        return page.question("prior", names, int(np.argmax(values)), prompt=code(exercises.prompt_of(task, "")),
                             **{key: percent(math.exp(value)) for key, value in zip("ab", values)}, one=names[0],
                             other=names[1])
    prompt = exercises.prompt_of(task, page.label(f"made_up_{task}"))
    made_up = _case(run, task, prompt)
    p = math.exp(made_up.log_probs[0][0])
    return page.question("made_up", [page.label(f"made_up_option_{k}") for k in range(3)],
                         int(np.searchsorted(SURE, p)), prompt=code(prompt.replace("\n", "⏎")),
                         token=code(made_up.names[0][0]), p=percent(p))


def _table(results: list[Result], before: str) -> pd.DataFrame:
    return pd.DataFrame([_entry(r, before) for r in results])
