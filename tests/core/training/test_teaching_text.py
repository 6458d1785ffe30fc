"""The teaching text: sums in two forms, and passages with a question."""
import re

import pytest

from core.training import teaching_text
from core.training.teaching_text import fact_questions, held_out, relations

pytestmark = pytest.mark.long

STEPS = re.compile(r"Step by step: (\d+) ([+-]) (\d+) =((?: \d+ [+-] \d+ =)*) (\d+)")


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return [line for document in teaching_text.documents(20_000) for line in document.split("\n")]


def value(a: str, sign: str, b: str) -> int:
    return int(a) + int(b) if sign == "+" else int(a) - int(b)


def test_every_step_of_a_sum_has_the_value_of_the_whole(lines):
    written = [STEPS.fullmatch(line) for line in lines if line.startswith("Step by step:")]
    assert len(written) > 1000
    for a, sign, b, between, result in (match.groups() for match in written):
        chain = re.findall(r"(\d+) ([+-]) (\d+)", between)
        assert value(a, sign, b) == int(result) and all(value(*step) == int(result) for step in chain)
        assert [int(step[2]) for step in chain] == list(range(int(b) - 1, -1, -1))


def test_about_as_many_sums_have_their_steps_as_not(lines):
    documents = teaching_text.documents(20_000)
    stepped = sum(document.startswith("Step by step:") for document in documents)
    assert stepped / len(documents) == pytest.approx(
        teaching_text.SHARES["sums"] / sum(teaching_text.SHARES.values()), rel=0.1)


def test_the_same_sums_are_held_out_in_both_forms(lines):
    """A sum that is asked is taught in neither form; a sum in words has no second form."""
    plain = {exercise.prompt for exercise in held_out("sums", 2000) if exercise.prompt[0].isdigit()}
    stepped = {exercise.prompt.removeprefix("Step by step: ") for exercise in held_out("steps", 200)}
    assert len(stepped) > 20 and stepped <= plain
    assert not [line for line in lines for prompt in stepped if line.removeprefix("Step by step: ").startswith(
        f"{prompt} ") and (line.startswith("Step") or line[0].isdigit())]


def test_the_answer_of_a_passage_stands_in_it():
    exercises = held_out("reading", 300)
    assert len(exercises) == 300
    for exercise in exercises:
        passage, question = exercise.prompt.split(" Q: ")
        assert question.endswith("? A:") and exercise.answer.strip().lower() in passage.lower()


def test_a_passage_is_not_answered_by_what_was_taught():
    """Hardly any passage with facts tells a taught fact: its answer has to be read."""
    taught = {(exercise.prompt, exercise.answer) for exercise in fact_questions(taught=True)}
    told = [(f"Q: {exercise.prompt.split(' Q: ')[1]}", exercise.answer) for exercise in held_out("reading", 300)]
    assert sum(pair in taught for pair in told) <= 3


def test_a_hundred_facts_are_untaught(lines):
    untaught = list(fact_questions(taught=False))
    assert len(untaught) == 100
    assert not {exercise.prompt for exercise in untaught} & {line.partition(" A:")[0] + " A:" for line in lines}
    for relation in relations():
        taught = {subject for subject, _ in relation["taught"]}
        assert not taught & {subject for subject, _ in relation["untaught"]}
