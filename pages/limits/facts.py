"""Facts: questions that the model was taught, that it was not taught, and that have no answer; what it says to each,
and how sure it is.
"""
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.statistics import pairs_won
from core.app.base.markdown import code, unmarked
from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run
from core.components.lib.token_view import token_view
from core.evaluation import confidence
from core.evaluation.confidence import Claim
from core.figures.numbers import bracketed, latex_number, latex_operand, plain_number, probability
from core.training import teaching_text
from core.training.teaching_text import Exercise
from pages.limits.shared import PHRASINGS, PREFIX, among, attached, keep, origin, read

GROUPS = ("taught", "untaught", "invented")
N_CASES = 4                # of each group, for each kind of fact
MOST_CHARACTERS = 80       # of the reader's own subject
TEMPLATES = {"taught": "Q: {q} A:", "other": "Q: {q} A:", "polite": "Q: Can you tell me: {q} A:",
             "labels": "Question: {q} Answer:", "story": '"{q}" asked the teacher. Tom said, "It is'}
# Three rows of questions: what the model answers to one of them, how sure it is of its answers to all of them, and a
# threshold over all rows.
_picture = token_view("limits_facts", __file__)


@dataclass(frozen=True)
class Case:
    """A dot of the picture: a question of a group, and what the model answers."""

    group: str
    relation: int
    place: int
    claim: Claim


def question_of(phrasing: str, relation: dict, subject: str) -> str:
    """The bare question."""
    return relation["questions"][phrasing == "other"].format(s=subject)


def exercise_of(group: str, phrasing: str, relation: dict, subject: str, answer: str) -> Exercise:
    """The question for a subject, in one of PHRASINGS: the first two were trained on, the others never."""
    return Exercise(group, TEMPLATES[phrasing].format(q=question_of(phrasing, relation, subject)),
                    answer and f" {answer}")


def subjects(relation: dict, group: str) -> list[tuple[str, str]]:
    """N_CASES subjects of a relation with their answers, evenly spread over the list; an invented one has no answer."""
    if group == "invented":
        return [(subject, "") for subject in relation["invented"]]
    return relation[group][::max(1, len(relation[group]) // N_CASES)][:N_CASES]


def exercises(phrasing: str) -> list[tuple[int, int, Exercise]]:
    """(index of the relation, place there, question): N_CASES of every group and relation, in one phrasing."""
    return [(i, place, exercise_of(group, phrasing, relation, *subject))
            for group in GROUPS for i, relation in enumerate(teaching_text.relations())
            for place, subject in enumerate(subjects(relation, group))]


def cases(page: Lesson, run: Run, phrasing: str) -> list[Case]:
    """All questions in a phrasing with the model's answers, kept for all readers."""
    def steps() -> Iterator[Part]:
        asked, answers = exercises(phrasing), {}
        for i, claim in confidence.claims(run.loaded.runner, run.tokenizer, [exercise for _, _, exercise in asked]):
            answers[i] = claim
            yield Part(None, len(answers), len(asked))
        yield Part([Case(exercise.kind, relation, place, answers[i])
                    for i, (relation, place, exercise) in enumerate(asked)], len(asked), len(asked))

    return growing_results.result(run.loaded.key("facts", phrasing), steps, lambda made: 800 * len(made),
                                  page.label("asking"))


def draw(page: Lesson, run: Run) -> Reading:
    """The controls and the picture; returns what they show."""
    relations = teaching_text.relations()
    names = [relation["name"] for relation in relations]
    place, phrasing, own = _controls(page, relations, names)
    relation = relations[place]
    asked = [_asked(relation, phrasing, group, own) for group in GROUPS]
    answers = [_leading(run, exercise) for exercise in asked]
    every, said = cases(page, run, phrasing), confidence.said(answers[1])
    question = question_of(phrasing, relation, subjects(relation, "untaught")[read("untaught")][0])
    title = page.label("facts_title", question=code(question), answer=code(_shown(said)), p=probability(said.p),
                       truth=code(asked[1].answer.strip()))
    note = f"{page.label(f'phrasing_note_{phrasing}')} {unmarked(origin(page, run.model_name))}"
    header = page.header("facts") | {"title_line": unmarked(title),
              "note": note.strip(),
              "rows": [_row(page, own, exercise, claims, every, place) for exercise, claims in zip(asked, answers)],
              "areas": [page.label("facts_area", other=page.label(f"group_{group}"),
                                   value=plain_number(won / (n * m), 3))
                        for group in GROUPS[1:] for won, n, m in [_pairs(every, group)]],
              "settings": {"threshold": read("threshold")}}
    _picture(header, key=f"{PREFIX}facts", on_settings=lambda settings: _settled(names, settings))
    return Reading(_lines(page, asked, answers, every), _question(page, every),
                   [confidence.claims, confidence.leading, pairs_won], {"answers.csv": lambda: _table(every)},
                   ".facts-rows", title)


def _controls(page: Lesson, relations: Sequence[dict], names: list[str]) -> tuple[int, str, str]:
    """The index of the relation that is asked for, the phrasing, and the reader's own subject."""
    among("relation", names)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = st.selectbox(page.label("relation"), names, width=270, **attached("relation"),
                            format_func=lambda name: relations[names.index(name)]["questions"][0].format(s="…"))
        phrasing = st.selectbox(page.label("phrasing"), PHRASINGS, width=290, **attached("phrasing"),
                                format_func=lambda name: page.label(f"phrasing_{name}"))
        subject = st.text_input(page.label("subject"), placeholder=page.label("subject_empty"),
                                max_chars=MOST_CHARACTERS, width=280, **attached("subject"))
    return names.index(name), phrasing, " ".join(subject[:MOST_CHARACTERS].split())


def _settled(names: list[str], settings: dict) -> None:
    """Callback: keep the threshold that was moved and the dot that was picked."""
    if (picked := settings.get("picked")) and picked[0] in GROUPS:
        keep(relation=names[picked[1] % len(names)], **{picked[0]: picked[2]},
             **({"subject": ""} if picked[0] == "invented" else {}))
    keep(threshold=settings["threshold"])


def _asked(relation: dict, phrasing: str, group: str, own: str) -> Exercise:
    """The question of a group's row: in the last one about the reader's own subject, if there is one."""
    if group == "invented" and own:
        known = dict(map(tuple, relation["taught"] + relation["untaught"]))
        return exercise_of(group, phrasing, relation, own, known.get(own, ""))
    return exercise_of(group, phrasing, relation, *subjects(relation, group)[read(group)])


def _leading(run: Run, exercise: Exercise) -> list[Claim]:
    return growing_results.made(run.loaded.key("leading answers", exercise),
                                lambda: confidence.leading(run.loaded.runner, run.tokenizer, exercise),
                                lambda made: 800 * len(made))


def _shown(claim: Claim) -> str:
    return " ".join(claim.text.split()) or "–"


def _row(page: Lesson, own: str, exercise: Exercise, claims: list[Claim], every: list[Case], relation: int) -> dict:
    """One group as facts.js reads it."""
    group, said = exercise.kind, confidence.said(claims)
    of_group = [case for case in every if case.group == group]
    is_own = group == "invented" and bool(own)
    return {"group": group, "name": page.label("group_own" if is_own else f"group_{group}"), "ask": exercise.prompt,
            "truth": exercise.answer.strip(), "rest": max(0.0, 1 - math.fsum(claim.p for claim in claims)),
            "bars": [{"name": _shown(claim), "p": claim.p, "shown": probability(claim.p), "right": claim.right,
                      "said": claim is said} for claim in claims],
            "picked": -1 if is_own else [(case.relation, case.place) for case in of_group].index((relation,
                                                                                                  read(group))),
            "dots": [[round(case.claim.p, 6), case.claim.right, case.relation, case.place,
                      f"{case.claim.exercise.prompt}{case.claim.text}"] for case in of_group],
            "own": said.p if is_own else None}


def _values(every: list[Case], group: str) -> np.ndarray:
    return np.array([case.claim.p for case in every if case.group == group])


def _pairs(every: list[Case], group: str) -> tuple[float, int, int]:
    """Of all pairs of n taught questions and m of another group, how many the taught one wins by its answer's
    probability, n and m: won / (n m) is the area under the ROC curve for telling the two groups apart.
    """
    taught, other = _values(every, "taught"), _values(every, group)
    return pairs_won(taught, other), len(taught), len(other)


def _lines(page: Lesson, asked: list[Exercise], answers: list[list[Claim]], every: list[Case]) -> list[tuple[str, str]]:
    lines = []
    for exercise, claim in zip(asked, map(confidence.said, answers)):
        factors = r" \cdot ".join(bracketed(latex_operand(math.exp(value))) for value in claim.log_probs)
        lines.append((page.label("numbers_answer", prompt=code(exercise.prompt), answer=code(_shown(claim))),
                      rf"p = {factors} = {latex_number(claim.p)}"))
    for group in GROUPS[1:]:
        won, n, m = _pairs(every, group)
        lines.append((page.label("numbers_area", n=n, m=m, other=page.label(f"group_{group}")),
                      rf"\mathrm{{AUC}} = \frac{{{won:g}}}{{{n} \cdot {m}}} = {latex_number(won / (n * m))}"))
    threshold = read("threshold")
    if said := [case.claim for case in every if case.claim.p >= threshold]:
        wrong = sum(not claim.right for claim in said)
        lines.append((page.label("numbers_said", threshold=plain_number(threshold, 2)),
                      rf"\frac{{\text{{wrong}}}}{{\text{{said}}}} = \frac{{{wrong}}}{{{len(said)}}} = "
                      rf"{latex_number(wrong / len(said))}"))
    return lines


def _question(page: Lesson, every: list[Case]) -> Question:
    """How many made-up questions are answered with more certainty than the least certain tenth of the taught ones."""
    limit = float(np.quantile(_values(every, "taught"), 0.1))
    others = _values(every, "invented")
    above = int((others > limit).sum())
    return page.question("above", [page.label(f"question_above_{k}") for k in range(4)],
                         int(np.searchsorted((0, 0.05, 0.2), above / len(others))), limit=plain_number(limit, 3),
                         n=len(others), above=above, most=probability(float(others.max())))


def _table(every: list[Case]) -> pd.DataFrame:
    return pd.DataFrame([{"group": case.group, "prompt": case.claim.exercise.prompt, "answer": case.claim.text,
                          "p": case.claim.p, "truth": case.claim.exercise.answer, "right": case.claim.right}
                         for case in every])
