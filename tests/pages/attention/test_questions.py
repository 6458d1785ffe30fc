"""Before you look, on Attention: each answer is right by a second computation, from the weights or a pass of its own,
on the lesson's prompt and on another; other options are right elsewhere; and the statement called true is true.
"""
from __future__ import annotations

import copy
import math
from unittest import mock

import numpy as np
import pytest
import torch

from core.app.lesson.lesson import Lesson
from core.app.state.run import Run, telling
from core.base import prose
from core.figures.numbers import readable
from core.model.intervention import Intervention
from pages.attention import averages
from tests.claims.passes import run as run_on
from tests.helpers import messages
from tests.helpers.messages import given
from tests.helpers.predictions import ask, commit, modes, question, statements

WORDS = prose.load("attention")
OTHER = "Tom and Mia went to the park. Tom gave the ball to"
BOTH = pytest.mark.parametrize("prompt", [None, OTHER])


def asked(name: str, prompt: str | None = None, **query: str):
    at = ask("attention", name, prompt=prompt, **query)
    return at, run_on(at.session_state["prompt"])


def told(at, name: str, guess) -> dict:
    return commit(at, "attention", name, guess)


def written(name: str, number: int, **values) -> str:
    """A statement of a question, with {values} put in."""
    line = statements("attention", name)[number]
    return line.format(**values) if values else line


def is_asked(at) -> bool:
    return "ask" in modes(at)


def row_of(run: Run, keys_as_queries: bool = False, head: tuple[int, int] | None = None) -> np.ndarray:
    """The weights (N, N) of a head, or of that which the lesson opens with, from X and the weights."""
    layer, head = head or telling(run)
    block, X = run.model.blocks[layer], run.trace.blocks[layer].X.double()
    Q, K = (X @ W[head].double() + b[head].double() for W, b in ((block.W_Q, block.b_Q), (block.W_K, block.b_K)))
    scores = Q @ (Q if keys_as_queries else K).T / math.sqrt(run.model.config.d_k)
    return scores.masked_fill(torch.ones(scores.shape, dtype=torch.bool).triu(1), -torch.inf).softmax(-1).numpy()


def answer(name: str, told: dict) -> int:
    """The index of the right option, of those in the text file."""
    n = len(told["guess"]["texts"])
    assert told["guess"]["texts"] == [WORDS.label(f"guess_{name}_{k}") for k in range(n)]
    return told["answer"]


@BOTH
@pytest.mark.parametrize("position", [None, "2", "5"])
def test_which_token_gets_most(prompt: str | None, position: str | None):
    at, run = asked("steps", prompt, **({} if position is None else {"position": position}))
    i = len(run.token_ids) - 1 if position is None else int(position)
    row = row_of(run)[i][:i + 1]
    best = int(row.argmax())
    assert f"with {len(row)} tokens" in question(at)["question"]
    found = told(at, "steps", 0)
    assert answer("steps", found) == [best == i, best == i - 1, best == 0, True].index(True)
    assert f"`{run.tokens[best]}` gets" in found["reason"] and found["right"] == (best == i)
    assert found["true"] == written("steps", 0 if row.max() >= 0.5 else 2 if row.max() < 1.5 / len(row) else 1)
    assert given(at, "attention_steps")["settings"]["step"] == "softmax"


@pytest.mark.parametrize(("head", "right"), [("1.0", 0), ("1.3", 1), ("0.0", 2), ("0.1", 3)])
def test_each_kind_of_place_is_that_of_some_head(head: str, right: int):
    layer, head = head.split(".")
    assert answer("steps", told(ask("attention", "steps", layer=layer, head=head), "steps", 0)) == right


def test_nothing_is_asked_of_the_simple_variant_or_of_two_tokens():
    assert is_asked(asked("steps")[0]) and not is_asked(asked("steps", attention_variant="simple")[0])
    assert not is_asked(ask("attention", "steps", prompt="a"))


SWITCHES = {"scaling": ({}, dict(scale_scores=False)),
            "mask": ({"attention_scaling": "own", "attention_mask": "sliding-window", "attention_width": "2"},
                     dict(mask="sliding-window", window=2)),
            "score": ({"attention_scaling": "own", "attention_score": "additive", "attention_seed": "3"},
                      dict(score="additive", score_seed=3))}


@BOTH
@pytest.mark.parametrize("switch", SWITCHES)
def test_what_a_switch_leaves_of_the_probability(prompt: str | None, switch: str):
    query, change = SWITCHES[switch]
    at, run = asked("switches", prompt, **query)
    with torch.inference_mode():
        after = run.model(torch.tensor(run.token_ids), Intervention(**change))
    p, q = (torch.softmax(trace.logits[-1].double(), -1) for trace in (run.trace, after))
    top = int(p.argmax())
    found = told(at, "switches", 0)
    moved = float(q[top] - p[top])
    kind = 0 if abs(moved) < 0.05 else 1 if moved < 0 else 2
    assert answer("switches", found) == (kind if int(q.argmax()) == top else 3)
    assert f"`{run.tokenizer.visible(int(q.argmax()))}`, with" in found["reason"]
    assert found["true"] == written("switches", kind, top=run.tokenizer.visible(top))


def test_without_a_division_a_softmax_is_the_scaled_one_on_scores_times_the_root():
    """The scaling switch, worked out by hand for the first block, where nothing has changed yet."""
    at, run = asked("switches")
    off = run.trace_with(Intervention(scale_scores=False)).blocks[0]
    scores = run.trace.blocks[0].scores.double() * math.sqrt(run.model.config.d_k)
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    assert torch.allclose(scores.masked_fill(hidden, -torch.inf).softmax(-1), off.pattern.double(), atol=1e-4)


def test_nothing_is_asked_where_no_switch_is_thrown():
    assert not is_asked(asked("switches", attention_scaling="own")[0])


@pytest.mark.parametrize(("query", "right"), [
    ({}, 2), ({"attention_scaling_d": "1"}, 0), ({"attention_scaling_d": "4"}, 1),
    ({"attention_scaling_keys": "8", "attention_scaling_seed": "4"}, None)])
def test_how_the_weight_is_shared_without_the_division(query: dict[str, str], right: int | None):
    at, _ = asked("scaling", **query)
    found = told(at, "scaling", 0)
    sent = messages.given(at, "attention_scaling")
    d, n, place = sent["settings"]["d"], sent["n"], sent["d_ks"].index(sent["settings"]["d"])
    # the same softmax from the weights with the division: logarithms are the scores but for a constant
    scaled = np.array(sent["weights"]["scaled"][place])
    powers = scaled ** math.sqrt(d)
    most = (powers / powers.sum()).max()
    assert answer("scaling", found) == (2 if most >= 0.5 else 0 if most < 2 / n else 1) == (
        found["answer"] if right is None else right)
    assert found["true"] == written("scaling", 1 if d == 1 else 0)


@BOTH
@pytest.mark.parametrize(("head", "right"), [(None, 0), ("0.2", 1), ("0.1", 2)])
def test_where_the_tokens_would_look(prompt: str | None, head: str | None, right: int):
    layer, index = ("", "") if head is None else head.split(".")
    at, run = asked("roles", prompt, **({} if head is None else {"layer": layer, "head": index}))
    n, place = len(run.token_ids), telling(run) if head is None else (int(layer), int(index))
    own, alike = (row_of(run, same, place).argmax(-1) for same in (False, True))
    at_themselves = [int((looked == np.arange(n)).sum()) for looked in (own, alike)]
    assert right == (0 if at_themselves[1] > n / 2 else 1 if np.bincount(alike).max() > n / 2 else 2)
    found = told(at, "roles", 0)
    assert answer("roles", found) == right and f"{at_themselves[0]} of {n}" in found["reason"]
    assert found["true"] == written("roles", 0 if at_themselves[1] > at_themselves[0] else
                                    1 if at_themselves[1] < at_themselves[0] else 2)


def test_only_the_first_part_asks():
    assert not is_asked(asked("roles", attention_roles_part="change")[0])


@pytest.mark.parametrize(("prompt", "model", "crosses"), [(None, "stories", 0), (OTHER, "stories", 0),
                                                          (None, "stories-small", 1)])
def test_whether_the_tokens_become_alike_without_the_feed_forward_parts(prompt: str | None, model: str, crosses: int):
    at = ask("attention", "averages", prompt=prompt, model=model)
    run = run_on(at.session_state["prompt"], model)
    cut = copy.deepcopy(run.model)
    with torch.no_grad():
        for block in cut.blocks:
            block.W_2.zero_()
            block.b_2.zero_()
        traces = [each(torch.tensor(run.token_ids)) for each in (run.model, cut)]
    whole, without = (np.array([likeness(x) for x in (*(block.resid_pre for block in trace.blocks), trace.resid_final)])
                      for trace in traces)
    assert without[-1] > whole[-1] + 0.02
    found = told(at, "averages", 1)
    assert answer("averages", found) == 0 and readable(float(without[-1])) in found["reason"]
    sides = np.sign(np.round(without - whole, 3))
    assert ({-1, 1} <= set(sides)) == bool(crosses) and found["true"] == written("averages", crosses)


def likeness(x: torch.Tensor) -> float:
    """The mean cosine between different rows."""
    cosines = torch.nn.functional.cosine_similarity(x.double()[:, None], x.double()[None], dim=-1)
    return float(cosines[~torch.eye(len(x), dtype=torch.bool)].mean())


@pytest.mark.parametrize(("end", "right"), [(0.3, 1), (0.51, 2), (0.9, 0)])
def test_tokens_may_also_become_less_alike_or_stay_so(end: float, right: int):
    lines = {"whole": np.array([0.4, 0.5]), "without": np.array([0.4, end])}
    with mock.patch.object(averages, "alike", lambda _: lines):
        assert averages.predict(Lesson("attention", WORDS, WORDS), run_on(OTHER)).truth(0).answer == right


def test_nothing_is_asked_of_a_model_without_feed_forward_parts():
    assert not is_asked(ask("attention", "averages", model="induction"))


@pytest.mark.parametrize("width", ["2", "4"])
def test_how_many_weights_of_the_sheet_are_zero(width: str):
    at, _ = asked("worksheet", attention_sheet_width=width, attention_sheet_seed="3")
    found = told(at, "worksheet", 8)
    assert found["answer"] == sum(j > i for i in range(4) for j in range(4)) and not found["right"]
    assert found["true"] == written("worksheet", 0 if width == "2" else 1)
    given_ = messages.given(at, "attention_worksheet")["given"]
    assert (len(given_["W_Q"][0]) < len(given_["X"][0])) == (width == "2")


def test_the_lesson_opens_with_the_head_of_heads_at_its_first_step():
    at = ask("attention", "steps")
    commit(at, "attention", "steps", 1)
    header = given(at, "attention_steps")
    layer, head = telling(run_on(at.session_state["prompt"]))
    assert (header["chosen"]["layer"], header["chosen"]["head"]) == (layer, head)
    assert at.session_state.get("selection", {}).get("layer") is None
