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
from core.app.state import Run, reader
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
    """One dot: a question of a group, and what the model answers."""

    group: str
    relation: int
    place: int
    claim: Claim


def prompt_of(phrasing: str, relation: dict, subject: str) -> str:
    """The question for a subject, in one of PHRASINGS: the two first were trained on, the others never."""
    return TEMPLATES[phrasing].format(q=question_of(phrasing, relation, subject))


def question_of(phrasing: str, relation: dict, subject: str) -> str:
    """The bare question."""
    return relation["questions"][phrasing == "other"].format(s=subject)


def subjects(relation: dict, group: str) -> list[tuple[str, str]]:
    """N_CASES subjects of a relation with their answers, of the taught ones evenly spread; an invented one
    has no answer.
    """
    if group == "invented":
        return [(subject, "") for subject in relation["invented"]]
    return relation[group][::max(1, len(relation[group]) // N_CASES)][:N_CASES]


def exercises(phrasing: str) -> list[tuple[int, int, Exercise]]:
    """All questions in a phrasing, N_CASES of every group and relation, each with the numbers of its relation and of
    its place there.
    """
    return [(i, place, Exercise(group, prompt_of(phrasing, relation, subject), answer and f" {answer}"))
            for group in GROUPS for i, relation in enumerate(teaching_text.relations())
            for place, (subject, answer) in enumerate(subjects(relation, group))]


def cases(page: Lesson, run: Run, phrasing: str) -> list[Case]:
    """All questions in a phrasing and the model's answers, kept for all readers."""
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
    _controls(page, relations, names)
    relation, phrasing = relations[names.index(read("relation"))], read("phrasing")
    own = " ".join(str(read("subject"))[:MOST_CHARACTERS].split())
    asked = [_asked(relation, phrasing, group, own) for group in GROUPS]
    answers = [_leading(run, exercise) for exercise in asked]
    found = cases(page, run, phrasing)
    title = page.label("facts_title", question=code(question_of(phrasing, relation,
                                                                subjects(relation, "untaught")[read("untaught")][0])),
                       answer=code(_shown(confidence.said(answers[1]))), p=probability(confidence.said(answers[1]).p),
                       truth=code(asked[1].answer.strip()))
    header = {"text": page.labels("facts"), "scale": reader.scale(), "title_line": unmarked(title),
              "note": " ".join(filter(None, (page.label(f"phrasing_note_{phrasing}"),
                                             unmarked(origin(page, run.model_name))))),
              "rows": [_row(page, group, own, exercise, claims, found, names.index(relation["name"]))
                       for group, exercise, claims in zip(GROUPS, asked, answers)],
              "areas": [page.label("facts_area", other=page.label(f"group_{group}"),
                                   value=plain_number(_area(found, group), 3)) for group in GROUPS[1:]],
              "settings": {"threshold": read("threshold")}}
    _picture(header, key=f"{PREFIX}facts", on_settings=lambda settings: _settled(names, settings))
    return Reading(_lines(page, asked, answers, found), _question(page, found),
                   [confidence.claims, confidence.leading, pairs_won], {"answers.csv": lambda: _table(found)},
                   ".facts-rows", title)


def _controls(page: Lesson, relations: Sequence[dict], names: list[str]) -> None:
    among("relation", names)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox(page.label("relation"), names,
                     format_func=lambda name: relations[names.index(name)]["questions"][0].format(s="…"), width=270,
                     **attached("relation"))
        st.selectbox(page.label("phrasing"), PHRASINGS, format_func=lambda name: page.label(f"phrasing_{name}"),
                     width=290, **attached("phrasing"))
        st.text_input(page.label("subject"), placeholder=page.label("subject_empty"), max_chars=MOST_CHARACTERS,
                      width=280, **attached("subject"))


def _settled(names: list[str], settings: dict) -> None:
    """Callback: the threshold that was moved, or the dot that was picked."""
    if (picked := settings.get("picked")) and picked[0] in GROUPS:
        keep(relation=names[picked[1] % len(names)], **{picked[0]: picked[2]},
             **({"subject": ""} if picked[0] == "invented" else {}))
    keep(threshold=settings["threshold"])


def _asked(relation: dict, phrasing: str, group: str, own: str) -> Exercise:
    """The question that stands in a group's row: in the last one the reader's own subject, if there is one."""
    if group == "invented" and own:
        known = dict(map(tuple, relation["taught"] + relation["untaught"]))
        return Exercise(group, prompt_of(phrasing, relation, own), known.get(own, "") and f" {known[own]}")
    subject, answer = subjects(relation, group)[read(group)]
    return Exercise(group, prompt_of(phrasing, relation, subject), answer and f" {answer}")


def _leading(run: Run, exercise: Exercise) -> list[Claim]:
    return growing_results.made(run.loaded.key("leading answers", exercise),
                                lambda: confidence.leading(run.loaded.runner, run.tokenizer, exercise),
                                lambda made: 800 * len(made))


def _shown(claim: Claim) -> str:
    return " ".join(claim.text.split()) or "–"


def _row(page: Lesson, group: str, own: str, exercise: Exercise, claims: list[Claim], found: list[Case],
         relation: int) -> dict:
    """One group as facts.js reads it."""
    mine = [case for case in found if case.group == group]
    bars = [{"name": _shown(claim), "p": claim.p, "shown": probability(claim.p), "right": claim.right,
             "said": claim is confidence.said(claims)} for claim in claims]
    rest = max(0.0, 1 - math.fsum(claim.p for claim in claims))
    is_own = group == "invented" and bool(own)
    return {"group": group, "name": page.label("group_own" if is_own else f"group_{group}"), "ask": exercise.prompt,
            "truth": exercise.answer.strip(), "bars": bars, "rest": rest,
            "picked": -1 if is_own else next(i for i, case in enumerate(mine)
                                             if (case.relation, case.place) == (relation, read(group))),
            "dots": [[round(case.claim.p, 6), case.claim.right, case.relation, case.place,
                      f"{case.claim.exercise.prompt}{case.claim.text}"] for case in mine],
            "own": confidence.said(claims).p if is_own else None}


def _values(found: list[Case], group: str) -> np.ndarray:
    return np.array([case.claim.p for case in found if case.group == group])


def _area(found: list[Case], group: str) -> float:
    """The area under the ROC curve of the answer's probability, for telling the taught questions from another group."""
    one, other = _values(found, "taught"), _values(found, group)
    return pairs_won(one, other) / (len(one) * len(other))


def _lines(page: Lesson, asked: list[Exercise], answers: list[list[Claim]], found: list[Case]) -> list[tuple[str, str]]:
    lines = []
    for exercise, claim in zip(asked, map(confidence.said, answers)):
        factors = r" \cdot ".join(bracketed(latex_operand(math.exp(value))) for value in claim.log_probs)
        lines.append((page.label("numbers_answer", prompt=code(exercise.prompt), answer=code(_shown(claim))),
                      rf"p = {factors} = {latex_number(claim.p)}"))
    one = _values(found, "taught")
    for group in GROUPS[1:]:
        other = _values(found, group)
        won, n = pairs_won(one, other), len(one) * len(other)
        lines.append((page.label("numbers_area", n=len(one), m=len(other), other=page.label(f"group_{group}")),
                      rf"\mathrm{{AUC}} = \frac{{{won:g}}}{{{len(one)} \cdot {len(other)}}} = {latex_number(won / n)}"))
    said = [case.claim for case in found if case.claim.p >= read("threshold")]
    if said:
        wrong = sum(not claim.right for claim in said)
        lines.append((page.label("numbers_said", threshold=plain_number(read("threshold"), 2)),
                      rf"\frac{{\text{{wrong}}}}{{\text{{said}}}} = \frac{{{wrong}}}{{{len(said)}}} = "
                      rf"{latex_number(wrong / len(said))}"))
    return lines


def _question(page: Lesson, found: list[Case]) -> Question:
    """How many of the made-up questions are answered with more certainty than the least certain quarter of
    what was taught.
    """
    limit = float(np.quantile(_values(found, "taught"), 0.1))
    others = _values(found, "invented")
    above = int((others > limit).sum())
    shares = (0, 0.05, 0.2)
    return Question("facts_above", page.label("question_above", limit=plain_number(limit, 3), n=len(others)),
                    [page.label(f"question_above_{k}") for k in range(4)],
                    sum(above / len(others) > share for share in shares),
                    page.label("because_above", above=above, n=len(others), most=probability(float(others.max()))))


def _table(found: list[Case]) -> pd.DataFrame:
    return pd.DataFrame([{"group": case.group, "prompt": case.claim.exercise.prompt, "answer": case.claim.text,
                          "p": case.claim.p, "truth": case.claim.exercise.answer, "right": case.claim.right}
                         for case in found])
