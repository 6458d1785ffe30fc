"""Instructions in the lesson Training: every part opens, with the lecture's numbers, losses computed a second time, and
a model's texts that are kept or dropped as their overlap says.
"""
from __future__ import annotations

import copy
import math
import re

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.base import prose
from core.learning import instructions, task_inputs
from tests.helpers import lessons
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas, given, numbers_in
from tests.helpers.predictions import ask, commit, statements
from tests.pages.training.test_training import question, verdict

pytestmark = pytest.mark.long

WORDS = prose.load("training")


def open_at(built: str, **query: str) -> AppTest:
    shared = {name: query.pop(name) for name in ("model",) if name in query}
    return lessons.open_at("training", training_view="instructions", training_built=built,
                           **{f"training_{name}": value for name, value in query.items()}, **shared)


def headline(at: AppTest) -> str:
    return next(m.value for m in at.markdown if m.value.startswith("**"))


def cards_of(at: AppTest) -> list[dict]:
    return given(at, "training_cards")["cards"]


@pytest.mark.parametrize("built", ["collections", *instructions.BUILT, "inputs"])
def test_every_part_bears_an_absurd_address(built: str):
    assert fine(open_at(built))
    assert fine(open_at(built, collections_by="x", data_set="?", data_row="1e9", template="9", turn="-3", written="0",
                        overlap="nan", seed="99", sentence="{x} <b> 你好 " * 20))


def test_the_collections_stand_in_the_order_that_is_picked():
    tables = {by: open_at("collections", collections_by=by).dataframe[0].value for by in ("built", "size", "date")}
    assert all(len(table) == 17 and table["Instances"].sum() == 189_533_000 for table in tables.values())
    assert tables["size"]["Instances"].is_monotonic_decreasing and tables["date"]["Date"].is_monotonic_decreasing
    assert tables["built"]["Built"].drop_duplicates().tolist() == [WORDS.label(f"built_{name}")
                                                                   for name in instructions.BUILT]


def test_where_most_instances_come_from_is_asked_and_told():
    shown = commit(ask("training", "instructions"), "training", "instructions", 1)
    assert shown["guess"]["texts"][shown["answer"]] == WORDS.label("most_datasets")
    assert shown["said"] == f"{100 * 186_693 / 189_533:.1f}\u00a0%"
    assert shown["true"] == statements("training", "instructions")[0]


@pytest.mark.parametrize("kind", instructions.SETS)
def test_the_loss_of_an_instance_is_that_of_its_answer_alone(kind: str):
    at = open_at("datasets", data_set=kind, template="1", data_row="3")
    values, (prompt, answer) = instructions.row(kind, 3), instructions.forms()[kind][1]
    loaded = cache.shared_model("stories", "cpu")
    before = [loaded.tokenizer.first, *loaded.tokenizer.encode(prompt.format(**values))]
    ids = loaded.tokenizer.encode(answer.format(**values))
    log_probs = loaded.model.logits(torch.tensor([before + ids]))[0].double().log_softmax(-1)
    losses = [-float(log_probs[len(before) - 1 + i, token]) for i, token in enumerate(ids)]
    assert float(re.findall(r"-?\d+\.\d+", formulas(at)[0])[-1]) == pytest.approx(sum(losses) / len(losses), abs=2e-4)
    assert "".join(text for text, _ in cards_of(at)[2]["lines"][0]["parts"]) == prompt.format(**values)


def test_the_next_row_and_the_next_answer_are_others():
    at = open_at("datasets")
    first = cards_of(at)[0]
    assert cards_of(at.button("training_another_row").click().run())[0] != first
    at = open_at("people")
    learned = []
    for _ in range(4):
        learned.append(cards_of(at)[2]["lines"][0]["parts"][1][0])
        at.button("training_another_turn").click().run()
    assert len(set(learned)) == 3 and learned[3] == learned[0]


def test_what_the_model_writes_is_kept_or_dropped_by_its_overlap():
    at = open_at("model", written="5")
    at.button("training_write_one").click().run()
    loaded = cache.shared_model("stories", "cpu")
    texts = [instructions.write(loaded.model, loaded.tokenizer, k, 0) for k in range(6)]
    pool, kept = [*instructions.forms()["seeds"]], []
    for _, text in texts:
        kept.append(text.endswith("?") and max(instructions.rouge_l(text, other) for other in pool) < 0.7)
        pool += [text] * kept[-1]
    lines = cards_of(at)[2]["lines"]
    assert [line["kind"] == "kept" for line in lines] == kept[::-1] and 0 < sum(kept) < 6
    assert f"Kept: {sum(kept)} that" in headline(at)
    assert [line["parts"][0][0] for line in lines] == [text for _, text in texts[::-1]]


@pytest.mark.parametrize("model", ["stories", "stories-small"])
def test_a_layer_on_the_extract_tokens_vector_says_what_its_logits_say(model: str):
    at = open_at("inputs", sentence="Tom ate the cake", model=model)
    loaded = cache.shared_model(model, "cpu")
    rows, head = cards_of(at)
    texts = [[text for text, kind in line["parts"] if "chip" in kind] for line in rows["lines"]]
    extract = loaded.tokenizer.visible(loaded.tokenizer.encode(task_inputs.EXTRACT)[0])
    assert len(texts) == 6 and all(text[-1] == extract for text in texts)
    ids = [loaded.tokenizer.first, *loaded.tokenizer.encode("Tom ate the cake:")]
    assert texts[0] == [loaded.tokenizer.visible(i) for i in ids]
    h = loaded.model.final_vectors(torch.tensor(ids))[-1].double()
    fitted = task_inputs.fitted(loaded.model, loaded.tokenizer)
    u = (h @ fitted.W + fitted.b).tolist()
    shown = [float(line["parts"][1][0].removeprefix("u = ").replace("−", "-")) for line in head["lines"][1:3]]
    assert shown == pytest.approx(u, rel=0.01, abs=0.01)
    assert f"{fitted.right} of 24" in head["note"]
    assert float(re.findall(r"[\d.]+", formulas(at)[1])[-1]) == pytest.approx(
        1 / (1 + math.exp(-abs(u[0] - u[1]))), abs=1e-3)


def test_the_questions_have_the_answers_of_a_second_count():
    at = open_at("people")
    assert verdict(at, question(at).options.index("1"))
    at = open_at("inputs")
    assert verdict(at, question(at).options.index("3"))
    at = open_at("model")
    loaded = cache.shared_model("stories", "cpu")
    texts = [instructions.write(loaded.model, loaded.tokenizer, k, 0) for k in range(6)]
    n = sum(each.kept for each in instructions.chosen(texts, 0.5))
    assert verdict(at, question(at).options.index(str(n)))


def test_a_text_that_is_no_question_says_so_beside_its_overlap(monkeypatch: pytest.MonkeyPatch):
    texts = {0: "Tell me more", 1: "Which city is the capital of Italy?"}
    monkeypatch.setattr(instructions, "write", lambda model, tokenizer, number, seed: ((), texts[number]))
    at = open_at("model", written="2", seed="77")
    question, other = cards_of(at)[2]["lines"]
    assert (question["kind"], other["kind"]) == ("kept", "dropped")
    assert other["note"].endswith(", no question") and "," not in question["note"]
    assert "Kept: 1 that are a question" in headline(at)


def test_a_small_loss_has_right_digits():
    """Against the whole pass in float64; in float32 5 · 10⁻⁵ had two."""
    [line] = formulas(open_at("datasets", data_set="sentiment"))
    shared = cache.shared_model("stories", "cpu")
    model, encode = copy.deepcopy(shared.model).double(), shared.tokenizer.encode
    values, (prompt, answer) = instructions.row("sentiment", 0), instructions.forms()["sentiment"][0]
    before, ids = ([shared.tokenizer.first, *encode(instructions.filled(prompt, values))],
                   encode(instructions.filled(answer, values)))
    log_probs = model(torch.tensor(before + ids)).logits.log_softmax(-1)
    exact = [-float(log_probs[len(before) - 1 + i, token]) for i, token in enumerate(ids)]
    assert min(exact) < 1e-4 and numbers_in(line)[:len(exact)] == pytest.approx(exact, rel=1e-4)
