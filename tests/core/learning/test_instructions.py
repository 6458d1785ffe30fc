"""Instructions: the lecture's table number by number, templates, chats, and the overlap counted another way."""
from __future__ import annotations

import itertools

import pytest

from core.learning import instructions
from core.learning.instructions import MOST_OVERLAP, chosen, filled, forms, pieces, rouge_l, row
from core.model import checkpoints

# thousands of instances, as the lecture's table 6 has them
TABLE = {"datasets": {"2021-04": [193], "2021-09": [4_400], "2021-10": [12_100], "2022-04": [5_000],
                      "2022-06": [41_000], "2022-11": [81_000], "2023-03": [43_000]},
         "people": {"2022-04": [160], "2023-01": [87], "2023-03": [90], "2023-04": [15, 161]},
         "model": {"2022-12": [82], "2023-03": [52, 535], "2023-04": [158, 1_500]}}


def longest(a: list[str], b: list[str]) -> int:
    """The longest common subsequence, by trying all of the shorter text's."""
    a, b = sorted((a, b), key=len)
    for n in range(len(a), 0, -1):
        for some in itertools.combinations(a, n):
            rest = iter(b)
            if all(word in rest for word in some):
                return n
    return 0


def test_the_seventeen_collections_are_those_of_the_table():
    found = instructions.collections()
    assert len({each.name for each in found}) == 17 and all("table 6" in each.source for each in found)
    for built, by_date in TABLE.items():
        for date, thousands in by_date.items():
            here = [each.instances // 1000 for each in found if (each.built, each.date) == (built, date)]
            assert sorted(here) == sorted(thousands), (built, date)


@pytest.mark.parametrize("a, b", [("What is the opposite of late?", "What is the opposite of hot?"),
                                  ("Who lives in the barn?", "In the barn lives who?"), ("", "One word"),
                                  ("How many legs has a spider?", "How many legs does a bee have?")])
def test_the_overlap_is_twice_the_longest_common_sequence(a: str, b: str):
    one, other = (text.lower().replace("?", "").split() for text in (a, b))
    assert rouge_l(a, b) == rouge_l(b, a) == pytest.approx(2 * longest(one, other) / (len(one) + len(other)))


def test_a_text_is_kept_unless_it_is_like_a_seed_or_one_that_was_kept():
    texts = [((), text) for text in ("What is the opposite of late?", "Which city is the capital of Italy?",
                                     "Which town is the capital of Italy?", "Tell me more")]
    found = chosen(texts)
    assert [each.kept for each in found] == [False, True, False, False]
    assert found[0].nearest == "What is the opposite of hot?" and found[2].nearest == found[1].text
    assert [each.kept for each in chosen(texts, 1.0)] == [True, True, True, False]


@pytest.mark.parametrize("kind", instructions.SETS)
def test_every_template_takes_the_fields_of_its_rows(kind: str):
    for number in range(5):
        values = row(kind, number)
        for prompt, answer in forms()[kind]:
            both = filled(prompt, values) + filled(answer, values)
            slots = [(text, slot) for text, slot in pieces(prompt, values) + pieces(answer, values) if slot]
            assert "{" not in both and slots and all(values[slot] == text for text, slot in slots)
            assert answer.startswith(" ")


def test_a_chat_gives_an_instance_for_each_answer():
    chat = forms()["chat"]
    found = instructions.instances(chat)
    assert [len(before) for before, _ in found] == [1, 3, 5]
    assert all(chat[len(before)][1] == answer for before, answer in found)


def test_the_model_writes_the_same_again_and_questions_mostly():
    model, tokenizer = checkpoints.load_bundled("stories")
    first = instructions.write(model, tokenizer, 0, 0)
    assert first == instructions.write(model, tokenizer, 0, 0) and set(first[0]) <= set(forms()["seeds"])
    texts = [instructions.write(model, tokenizer, number, 0) for number in range(4)]
    assert sum(text.endswith("?") for _, text in texts) >= 3 and all("\n" not in text for _, text in texts)
    assert MOST_OVERLAP == 0.7 and "\n" not in instructions.answered(model, tokenizer, "What is the opposite of hot?")
    assert instructions.answered(model, tokenizer, "What is the opposite of hot?") == "cold"
