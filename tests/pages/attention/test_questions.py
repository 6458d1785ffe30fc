"""Before you look, on Attention: each answer is right by a second computation, from the weights or a pass of its own,
on the lesson's prompt and on another; and what the statement says that is called true, is.
"""
from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch

from core.app.base import prose
from core.app.state.run import Run, telling
from core.figures.numbers import readable
from core.model.intervention import Intervention
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


def row_of(run: Run, keys_as_queries: bool = False) -> np.ndarray:
    """The weights (N, N) of the head that the lesson opens with, from X and the weights."""
    layer, head = telling(run)
    block, X = run.model.blocks[layer], run.trace.blocks[layer].X.double()
    Q, K = (X @ W[head].double() + b[head].double() for W, b in ((block.W_Q, block.b_Q), (block.W_K, block.b_K)))
    scores = Q @ (Q if keys_as_queries else K).T / math.sqrt(run.model.config.d_k)
    return scores.masked_fill(torch.ones(scores.shape, dtype=torch.bool).triu(1), -torch.inf).softmax(-1).numpy()


@BOTH
def test_how_much_the_token_gets_that_gets_most(prompt: str | None):
    at, run = asked("steps", prompt)
    row = row_of(run)[-1]
    assert f"with {len(row)} tokens" in question(at)["question"]
    found = told(at, "steps", 30)
    assert found["answer"] == pytest.approx(100 * row.max(), abs=0.06)
    assert found["true"] == written("steps", 0 if row.max() >= 0.5 else 2 if row.max() < 1.5 / len(row) else 1)
    header = given(at, "attention_steps")
    assert header["guess"] == 30 and header["settings"]["step"] == "x"


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
    found = told(at, "switches", 50)
    assert found["answer"] == pytest.approx(100 * float(q[top]), abs=0.06)
    moved = float(q[top] - p[top])
    assert found["true"] == written("switches", 0 if abs(moved) < 0.05 else 1 if moved < 0 else 2,
                                    top=run.tokenizer.visible(top))


def test_without_a_division_a_softmax_is_the_scaled_one_on_scores_times_the_root():
    """The scaling switch, worked out by hand for the first block, where nothing has changed yet."""
    at, run = asked("switches")
    off = run.trace_with(Intervention(scale_scores=False)).blocks[0]
    scores = run.trace.blocks[0].scores.double() * math.sqrt(run.model.config.d_k)
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    assert torch.allclose(scores.masked_fill(hidden, -torch.inf).softmax(-1), off.pattern.double(), atol=1e-4)


def test_nothing_is_asked_where_no_switch_is_thrown():
    assert not is_asked(asked("switches", attention_scaling="own")[0])


@pytest.mark.parametrize("query", [{}, {"attention_scaling_d": "1"}, {"attention_scaling_keys": "8",
                                                                      "attention_scaling_seed": "4"}])
def test_how_much_the_best_key_gets_without_the_division(query: dict[str, str]):
    at, _ = asked("scaling", **query)
    found = told(at, "scaling", 20)
    sent = messages.given(at, "attention_scaling")
    d, place = sent["settings"]["d"], sent["d_ks"].index(sent["settings"]["d"])
    # the same softmax from the weights with the division: logarithms are the scores but for a constant
    scaled = np.array(sent["weights"]["scaled"][place])
    powers = scaled ** math.sqrt(d)
    assert found["answer"] == pytest.approx(100 * (powers / powers.sum()).max(), abs=0.06)
    assert found["true"] == written("scaling", 1 if d == 1 else 0) and sent["guess"] == [place, 0.2]


@BOTH
def test_how_many_tokens_would_look_at_themselves(prompt: str | None):
    at, run = asked("roles", prompt)
    itself = np.arange(len(run.token_ids))
    own, alike = (int((row_of(run, same).argmax(-1) == itself).sum()) for same in (False, True))
    found = told(at, "roles", 4)
    assert found["answer"] == alike > own and f"{own} of {len(itself)}" in found["reason"]
    assert found["true"] == written("roles", 0)


def test_only_the_first_part_asks():
    assert not is_asked(asked("roles", attention_roles_part="change")[0])


@BOTH
def test_how_alike_the_tokens_become_without_the_feed_forward_parts(prompt: str | None):
    at, run = asked("averages", prompt)
    cut = copy.deepcopy(run.model)
    with torch.no_grad():
        for block in cut.blocks:
            block.W_2.zero_()
            block.b_2.zero_()
        ends = [model(torch.tensor(run.token_ids)).resid_final.double() for model in (run.model, cut)]
    cosines = [torch.nn.functional.cosine_similarity(x[:, None], x[None], dim=-1) for x in ends]
    whole, without = (float(c[~torch.eye(len(c), dtype=torch.bool)].mean()) for c in cosines)
    assert readable(whole) in question(at)["question"]
    found = told(at, "averages", 0.3)
    assert found["answer"] == pytest.approx(without, abs=6e-4)
    assert found["true"] == written("averages", 2 if abs(without - whole) < 0.02 else 0 if without > whole else 1)


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
