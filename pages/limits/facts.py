"""Facts: questions that the model was taught, was not taught, and that have no answer; the model's answers and their
probabilities.
"""
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.statistics import mann_whitney
from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.base.markdown import code, unmarked
from core.components.lib.token_view import token_view
from core.evaluation import confidence
from core.evaluation.confidence import Claim
from core.figures.numbers import bracketed, latex_number, latex_operand, percent, plain_number
from core.training import teaching_text
from core.training.teaching_text import Exercise
from pages.limits.shared import (
    PHRASINGS,
    PREFIX,
    USUAL,
    among,
    attached,
    keep,
    met_teaching,
    origin,
    read,
    say_sample,
    step_of,
)

GROUPS = ("taught", "untaught", "invented")
ASKED = "untaught"         # the group of the question before the picture
HALF = 0.5                 # the probability from which on that calls an answer a sure one
N_CASES = 4                # of each group, for each kind of fact
MOST_CHARACTERS = 80       # of the reader's own subject
TOKENS = 27                # of a question with its answer
TEMPLATES = {"taught": "Q: {q} A:", "other": "Q: {q} A:", "polite": "Q: Can you tell me: {q} A:",
             "labels": "Question: {q} Answer:", "story": '"{q}" asked the teacher. Tom said, "It is'}
# A row for each group: the model's answers to one question, the probabilities of its answers to all questions, and a
# common threshold.
_picture = token_view("limits_facts", __file__)


@dataclass(frozen=True)
class Case:
    """A dot of the picture: the model's answer to a question of a group, about subject `place` of a relation."""

    group: str
    relation: int
    place: int
    claim: Claim


def question_of(phrasing: str, relation: dict, subject: str) -> str:
    """The bare question."""
    return relation["questions"][phrasing == "other"].format(s=subject)


def exercise_of(group: str, phrasing: str, relation: dict, subject: str, answer: str) -> Exercise:
    """The question about a subject in one of PHRASINGS, of which only the first two occur in the training text."""
    return Exercise(group, TEMPLATES[phrasing].format(q=question_of(phrasing, relation, subject)),
                    answer and f" {answer}")


def subjects(relation: dict, group: str) -> list[tuple[str, str]]:
    """N_CASES (subject, answer) of a relation, evenly spread over its list; an invented subject has the answer ""."""
    if group == "invented":
        return [(subject, "") for subject in relation["invented"]]
    return relation[group][::max(1, len(relation[group]) // N_CASES)][:N_CASES]


def exercises(phrasing: str) -> list[tuple[int, int, Exercise]]:
    """(index of the relation, index of the subject, question): N_CASES of every group and relation in one phrasing."""
    return [(i, place, exercise_of(group, phrasing, relation, *subject))
            for group in GROUPS for i, relation in enumerate(teaching_text.relations())
            for place, subject in enumerate(subjects(relation, group))]


def cases(page: Lesson, run: Run, phrasing: str) -> list[Case]:
    """The model's answers to all questions in one phrasing, shared by all readers; of a large model to a sample."""
    whole = exercises(phrasing)
    step = step_of(run, TOKENS * len(whole))
    asked = whole[::step]

    def of(answers: Mapping[int, Claim]) -> list[Case]:
        return [Case(exercise.kind, relation, place, answers[i]) for i, (relation, place, exercise) in enumerate(asked)]

    def steps() -> Iterator[Part]:
        answers = {}
        for i, claim in confidence.claims(run.loaded.runner, run.tokenizer, [exercise for _, _, exercise in asked]):
            answers[i] = claim
            yield Part(None, len(answers), len(asked))
        yield Part(of(answers), len(asked), len(asked))

    def restore(kept: list) -> list[Case]:
        return of({i: Claim(asked[i][2], tuple(ids), run.tokenizer.decode(ids), tuple(log_probs))
                   for i, (ids, log_probs) in enumerate(kept)})

    return growing_results.result(run.loaded.key("facts", phrasing, step), steps, lambda value: 800 * len(value),
                                  page.label("asking"), restore)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Whether the model's answer to a question that it was never taught is right, or wrong and how sure of it it is."""
    relation = next((one for one in teaching_text.relations() if one["name"] == read("relation")), None)
    if relation is None or met_teaching(run.model_name) != "whole":
        return None
    phrasing = phrasing_for(run)
    exercises = [_exercise(relation, phrasing, group, "") for group in (ASKED, "taught")]

    def truth(_guess: int) -> Truth:
        answer, known = map(confidence.greedy, _leading(run, exercises))
        return Truth(1 if answer.right else 2 if answer.p < HALF else 3,
                     said=page.label("before_facts_said", p=percent(answer.p)), seen=int(known.p <= answer.p),
                     values={"answer": _text(answer), "p": percent(answer.p), "truth": exercises[0].answer.strip()})

    subject = subjects(relation, ASKED)[read(ASKED)][0]
    return Prediction("facts", Options([page.label(f"before_facts_{k}") for k in range(4)]), truth,
                      {"question": question_of(phrasing, relation, subject)},
                      (read("relation"), phrasing, read(ASKED), read("taught")))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the picture; return what they show."""
    relations = teaching_text.relations()
    names = [relation["name"] for relation in relations]
    index, phrasing, subject = _controls(page, run, relations, names)
    relation = relations[index]
    asked = [_exercise(relation, phrasing, group, subject) for group in GROUPS]
    _say_sample(page, run, phrasing)
    answers = _leading(run, asked)
    dots, title = cases(page, run, phrasing), _title(page, relation, phrasing, subject, [*zip(asked, answers)])
    note = f"{page.label(f'phrasing_note_{phrasing}')} {unmarked(origin(page, run.model_name))}"
    header = page.header("facts") | {"title_line": unmarked(title),
              "note": note.strip(),
              "rows": [_row(page, subject, exercise, claims, dots, index) for exercise, claims in zip(asked, answers)],
              "areas": [page.label("facts_area", other=page.label(f"group_{group}"),
                                   value=plain_number(won / (n * m), 3))
                        for group in GROUPS[1:] for won, n, m in [_pairs(dots, group)]],
              "settings": {"threshold": read("threshold")}}
    _picture(header, key=f"{PREFIX}facts", on_settings=lambda settings: _settled(names, settings))
    return Reading(_lines(page, asked, answers, dots), _question(page, dots),
                   [confidence.claims, confidence.leading, mann_whitney], {"answers.csv": lambda: _table(dots)},
                   ".facts-rows", title)


def _say_sample(page: Lesson, run: Run, phrasing: str) -> None:
    whole = len(exercises(phrasing))
    counted = len(range(0, whole, step_of(run, TOKENS * whole)))
    say_sample(page, run, TOKENS * whole, "facts", counted=counted, whole=whole)


def _title(page: Lesson, relation: dict, phrasing: str, subject: str,
           answered: list[tuple[Exercise, list[Claim]]]) -> str:
    """The model's answer about the reader's own subject or, if there is none, about the untaught one."""
    exercise, answers = answered[GROUPS.index("invented" if subject else ASKED)]
    answer = confidence.greedy(answers)
    question = question_of(phrasing, relation, subject or subjects(relation, ASKED)[read(ASKED)][0])
    return page.label("facts_title_own" if subject else "facts_title", question=code(question),
                      answer=code(_text(answer)), p=percent(answer.p), truth=code(exercise.answer.strip()))


def phrasing_for(run: Run) -> str:
    """Today's phrasing."""
    return _usual(run) if read("phrasing") == USUAL else read("phrasing")


def _usual(run: Run) -> str:
    """The phrasing unless another is picked: as `stories` was taught; for a model of others, which never met that form,
    with Question and Answer written out.
    """
    return "labels" if met_teaching(run.model_name) == "published" else "taught"


def _controls(page: Lesson, run: Run, relations: Sequence[dict], names: list[str]) -> tuple[int, str, str]:
    """Draw the controls; return the index of the picked relation, the phrasing, and the reader's own subject."""
    among("relation", names)
    usual = _usual(run)
    if read("phrasing") == usual:       # so that another model is asked in its own
        keep(phrasing=USUAL)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        named = {"label_visibility": "collapsed" if reader.present() else "visible"}
        name = st.selectbox(page.label("relation"), names, **named, width=270, **attached("relation"),
                            format_func=lambda name: relations[names.index(name)]["questions"][0].format(s="…"))
        st.selectbox(page.label("phrasing"), [USUAL if name == usual else name for name in PHRASINGS], **named,
                     format_func=lambda name: page.label(f"phrasing_{usual if name == USUAL else name}"), width=290,
                     **attached("phrasing"))
        subject = st.text_input(page.label("subject"), **named, placeholder=page.label("subject_empty"),
                                max_chars=MOST_CHARACTERS, width=280, **attached("subject"))
    return names.index(name), phrasing_for(run), " ".join(subject[:MOST_CHARACTERS].split())


def _settled(names: list[str], settings: dict) -> None:
    """Callback: keep the threshold that was moved and the dot that was picked."""
    if (picked := settings.get("picked")) and picked[0] in GROUPS:
        keep(relation=names[picked[1] % len(names)], **{picked[0]: picked[2]},
             **({"subject": ""} if picked[0] == "invented" else {}))
    keep(threshold=settings["threshold"])


def _exercise(relation: dict, phrasing: str, group: str, subject: str) -> Exercise:
    """The question in a group's row; in the last row it is about the reader's own subject, if there is one."""
    if group == "invented" and subject:
        known = dict(map(tuple, relation["taught"] + relation["untaught"]))
        return exercise_of(group, phrasing, relation, subject, known.get(subject, ""))
    return exercise_of(group, phrasing, relation, *subjects(relation, group)[read(group)])


def _leading(run: Run, asked: Sequence[Exercise]) -> list[list[Claim]]:
    return growing_results.made(run.loaded.key("leading answers", *asked),
                                lambda: confidence.leading(run.loaded.runner, run.tokenizer, asked),
                                lambda value: 3_200 * len(value))


def _text(claim: Claim) -> str:
    return " ".join(claim.text.split()) or "–"


def _row(page: Lesson, subject: str, exercise: Exercise, claims: list[Claim], dots: list[Case], relation: int) -> dict:
    """One group as facts.js reads it."""
    group, answer = exercise.kind, confidence.greedy(claims)
    of_group = [case for case in dots if case.group == group]
    typed = group == "invented" and bool(subject)
    places, here = [(case.relation, case.place) for case in of_group], (relation, read(group))
    is_dot = not typed and here in places          # a sample has no dot of the picked question, or of another
    return {"group": group, "name": page.label("group_own" if typed else f"group_{group}"), "ask": exercise.prompt,
            "truth": exercise.answer.strip(), "rest": max(0.0, 1 - math.fsum(claim.p for claim in claims)),
            "bars": [{"name": _text(claim), "p": claim.p, "shown": percent(claim.p), "right": claim.right,
                      "said": claim is answer} for claim in claims],
            "picked": places.index(here) if is_dot else -1,
            "dots": [[round(case.claim.p, 6), case.claim.right, case.relation, case.place,
                      f"{case.claim.exercise.prompt}{case.claim.text}"] for case in of_group],
            "own": None if is_dot else answer.p}


def _certainties(dots: list[Case], group: str) -> np.ndarray:
    return np.array([case.claim.p for case in dots if case.group == group])


def _pairs(dots: list[Case], group: str) -> tuple[float, int, int]:
    """(U, n, m): in U of the n m pairs of a taught question and one of another group the taught one has the more
    probable answer; U / (n m) is the area under the ROC curve that separates the two groups.
    """
    taught, others = _certainties(dots, "taught"), _certainties(dots, group)
    return mann_whitney(taught, others), len(taught), len(others)


def _lines(page: Lesson, asked: list[Exercise], answers: list[list[Claim]], dots: list[Case]) -> list[tuple[str, str]]:
    lines = []
    for exercise, claim in zip(asked, map(confidence.greedy, answers)):
        factors = r" \cdot ".join(bracketed(latex_operand(math.exp(value))) for value in claim.log_probs)
        lines.append((page.label("numbers_answer", prompt=code(exercise.prompt), answer=code(_text(claim))),
                      rf"p = {factors} = {latex_number(claim.p)}"))
    for group in GROUPS[1:]:
        won, n, m = _pairs(dots, group)
        lines.append((page.label("numbers_area", n=n, m=m, other=page.label(f"group_{group}")),
                      rf"\mathrm{{AUC}} = \frac{{{won:g}}}{{{n} \cdot {m}}} = {latex_number(won / (n * m))}"))
    threshold = read("threshold")
    if said := [case.claim for case in dots if case.claim.p >= threshold]:
        wrong = sum(not claim.right for claim in said)
        lines.append((page.label("numbers_said", threshold=plain_number(threshold, 2)),
                      rf"\frac{{\text{{wrong}}}}{{\text{{said}}}} = \frac{{{wrong}}}{{{len(said)}}} = "
                      rf"{latex_number(wrong / len(said))}"))
    return lines


def _question(page: Lesson, dots: list[Case]) -> Question:
    """How many invented questions have an answer more probable than the 10 % quantile of the taught ones."""
    limit = float(np.quantile(_certainties(dots, "taught"), 0.1))
    others = _certainties(dots, "invented")
    above = int((others > limit).sum())
    return page.question("above", [page.label(f"question_above_{k}") for k in range(4)],
                         int(np.searchsorted((0, 0.05, 0.2), above / len(others))), limit=percent(limit),
                         n=len(others), above=above, most=percent(float(others.max())))


def _table(dots: list[Case]) -> pd.DataFrame:
    return pd.DataFrame([{"group": case.group, "prompt": case.claim.exercise.prompt, "answer": case.claim.text,
                          "p": case.claim.p, "truth": case.claim.exercise.answer, "right": case.claim.right}
                         for case in dots])
