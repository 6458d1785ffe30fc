"""Before you look, on Heads: each answer is right by a second computation, from a pass of its own and with numpy alone,
on the lesson's prompt and on another; other options are right elsewhere; and the statement called true is true.
"""
from __future__ import annotations

import numpy as np
import pytest
import torch

from core.app.lesson import prediction
from core.app.state.run import Run
from core.base import prose
from core.figures.heads import ROLES, roles
from core.figures.numbers import percent
from core.model.intervention import HeadEdit, Intervention
from pages.heads import names
from pages.heads.panels import suggested
from pages.heads.shared import patterns_of
from tests.claims.passes import run as run_on
from tests.helpers.messages import given
from tests.helpers.predictions import ask, commit, modes, question, statements

WORDS = prose.load("heads")
OTHER = "Mia likes apples. Tom likes pears. Mia likes"
BOTH = pytest.mark.parametrize("prompt", [None, OTHER])


def asked(name: str, prompt: str | None, **query: str):
    """The page with the question, the Run, the patterns (L, h, N, N) of a pass of its own, and the picked head."""
    at = ask("heads", name, prompt=prompt, **query)
    run = run_on(at.session_state["prompt"])
    return at, run, patterns_on(run), shown_head(run)


def patterns_on(run: Run, intervention: Intervention | None = None) -> np.ndarray:
    with torch.inference_mode():
        trace = run.model(torch.tensor(run.token_ids), intervention or Intervention())
    return np.stack([block.pattern.double().numpy() for block in trace.blocks])


def shown_head(run: Run) -> tuple[int, int]:
    """The head that the lesson opens with: the one with the most weight on the copies of the predicted token, else the
    largest on any token but the first, the query and the one before it.
    """
    rows = patterns_on(run)[:, :, -1]
    top = int(run.trace.logits[-1].argmax())
    copies = [j for j in range(1, len(run.token_ids) - 2) if run.token_ids[j] == top]
    share = rows[..., copies].sum(-1)
    if not copies or share.max() < 0.25:
        share = rows[..., 1:-2].max(-1)
    return tuple(int(i) for i in np.unravel_index(share.argmax(), share.shape))


def told(at, name: str, guess) -> dict:
    return commit(at, "heads", name, guess)


def written(name: str, number: int, **values) -> str:
    """A statement of a question, with {values} put in."""
    line = statements("heads", name)[number]
    return line.format(**values) if values else line


def test_the_lesson_opens_with_a_head_that_looks_at_the_word_to_come():
    run = run_on(prose.load("app").section("prompts").splitlines()[0])
    layer, head = shown_head(run)
    row = patterns_on(run)[layer, head, -1]
    assert row.max() > 0.5 and run.token_ids[int(row.argmax())] == int(run.trace.logits[-1].argmax())


def answer(name: str, told: dict) -> int:
    """The index of the right option, of those in the text file."""
    n = len(told["guess"]["texts"])
    assert told["guess"]["texts"] == [WORDS.label(f"guess_{name}_{k}") for k in range(n)]
    return told["answer"]


@pytest.mark.parametrize(("prompt", "model", "right"), [
    (None, "stories", 1), (OTHER, "stories", 1), ("The cat sat on the mat. The dog sat on the", "positions-rotary", 0),
    (None, "induction", 2), (None, "positions-alibi", 3)])
def test_which_habit_most_heads_have(prompt: str | None, model: str, right: int):
    at = ask("heads", "wall", prompt=prompt, model=model)
    found = told(at, "wall", 0)
    named = given(at, "heads_wall")["roles"]
    start, before, copies = (sum(role in roles for role in named)
                             for roles in (("start",), ("before",), ("copy", "same")))
    assert answer("wall", found) == right
    most = max(start, before, copies)
    assert right == (3 if [start, before, copies].count(most) > 1 else [before, start, copies].index(most))
    assert f"{start} heads look" in found["reason"] and f"{before} at the token before, {copies} at" in found["reason"]
    assert found["true"] == written("wall", 0 if 2 * (start + before + copies) > len(named) else 1)


@BOTH
def test_the_tiles_that_look_at_the_first_token_or_the_one_before_are_named(prompt: str | None):
    at, run, patterns, _ = asked("wall", prompt)
    start, before = patterns[:, :, 1:, 0].mean(-1), np.diagonal(patterns, offset=-1, axis1=-2, axis2=-1).mean(-1)
    told(at, "wall", 0)
    named = given(at, "heads_wall")["roles"]
    assert named.count("start") == ((start >= 0.4) & (start > before)).sum()
    assert named.count("before") == ((before >= 0.4) & (before >= start)).sum()


@BOTH
@pytest.mark.parametrize("position", [None, "6"])
def test_where_the_head_looks(prompt: str | None, position: str | None):
    at, run, patterns, (layer, head) = asked("head", prompt, **({"position": position} if position else {}))
    query = len(run.token_ids) - 1 if position is None else int(position)
    assert question(at)["guess"]["offered"] == list(range(query + 1))
    row = patterns[layer, head, query, :query + 1]
    found = told(at, "head", 2)
    assert found["answer"] == int(row.argmax()) and found["said"].startswith(f"{100 * row.max():.3g}"[:3])
    kind = 0 if row.max() >= 0.5 else 2 if row.max() < 1.5 / len(row) else 1
    assert found["true"] == written("head", kind, token=run.tokens[query])
    assert given(at, "attention_view")["guess"] == [query, 2]


def test_a_guess_is_told_no_more_once_another_head_is_picked():
    at, run, _, (layer, head) = asked("head", None)
    session, state = at.session_state, (f"{layer}.{head}", len(run.token_ids) - 1)
    session[prediction.MADE] = {"heads/head": prediction.Reply((session["model"], session["prompt"]), 2, None, state)}
    at.run()
    assert given(at, "prediction")["mode"] == "told"
    session["selection"] = {"layer": (layer + 1) % 6, "head": head}
    at.run()
    assert not [c for c in at.get("bidi_component") if c.proto.component_name == "prediction"
                and b'"told"' in c.proto.bytes]
    assert given(at, "attention_view")["guess"] is None


@pytest.mark.parametrize(("prompt", "model", "right"), [
    (None, "stories", 2), (OTHER, "stories", 1), (None, "stories-small", 0)])
def test_whether_the_head_that_does_it_most_does_hardly_anything_else(prompt: str | None, model: str, right: int):
    at = ask("heads", "roles", prompt=prompt, model=model)
    trace = run_on(at.session_state["prompt"], model).trace
    patterns = np.stack([block.pattern.double().numpy() for block in trace.blocks])
    before = np.diagonal(patterns, offset=-1, axis1=-2, axis2=-1).mean(-1)
    found = told(at, "roles", 0)
    assert answer("roles", found) == right == (0 if before.max() >= 0.8 else 1 if before.max() >= 0.5 else 2)
    assert found["said"].startswith(f"{100 * before.max():.3g}"[:3])
    step = 10.0 ** np.floor(np.log10(1.1 * before.max()))
    middle = min(1.0, np.ceil(1.1 * before.max() / step) * step) / 2
    left, right = (before < middle).sum(), (before > middle).sum()
    assert left != right and found["true"] == written("roles", 0 if left > right else 1)


def test_nothing_is_asked_of_a_measure_that_is_no_share():
    at = ask("heads", "roles", heads_x="entropy")
    assert "ask" not in modes(at)


@pytest.mark.parametrize(("prompt", "right"), [
    (None, 1), ("The cat sat on the mat. The dog sat on the", 0), (OTHER, 2)])
def test_whether_the_head_that_looks_most_sharply_writes_most(prompt: str | None, right: int):
    at, run, patterns, (layer, _) = asked("write", prompt)
    block, rows = run.trace.blocks[layer], patterns[layer, :, -1]
    W_O = run.model.blocks[layer].W_O.double().numpy()
    parts = np.stack([block.head_out[h, -1].double().numpy() @ W_O[h] for h in range(len(W_O))])
    total = parts.sum(0) + run.model.blocks[layer].b_O.double().numpy()
    shares, sharpest = parts @ total / (total @ total), int(rows.max(-1).argmax())
    assert f"head {layer}.{sharpest} looks" in question(at)["question"]
    assert f"at `{run.tokens[rows[sharpest].argmax()]}`" in question(at)["question"]
    found = told(at, "write", 0)
    assert answer("write", found) == right == (2 if shares[sharpest] < 0 else int(shares.argmax() != sharpest))
    assert f"that of head {layer}.{shares.argmax()}" in found["reason"]
    assert found["true"] == written("write", int((shares < 0).any()))


@BOTH
@pytest.mark.parametrize("action", ["zero", "uniform"])
def test_what_is_left_of_the_probability(prompt: str | None, action: str):
    at, run, _, (layer, head) = asked("change", prompt, heads_action=action)
    with torch.inference_mode():
        after = run.model(torch.tensor(run.token_ids), Intervention(heads=(HeadEdit(layer, head, action),)))
    p, q = (torch.softmax(trace.logits[-1].double(), -1) for trace in (run.trace, after))
    top = int(p.argmax())
    found = told(at, "change", 0)
    moved = float(q[top] - p[top])
    kind = 0 if abs(moved) < 0.05 else 1 if moved < 0 else 2
    assert answer("change", found) == (kind if int(q.argmax()) == top else 3)
    assert f"`{run.tokenizer.visible(int(q.argmax()))}`, with" in found["reason"]
    assert found["true"] == written("change", kind, top=run.tokenizer.visible(top))


def test_with_a_whole_block_switched_off_another_token_may_lead():
    assert answer("change", told(ask("heads", "change", heads_changed="0.*"), "change", 0)) == 3


def test_nothing_is_asked_where_no_head_is_changed():
    at = ask("heads", "change", heads_changed="none")
    assert "ask" not in modes(at)


@BOTH
def test_where_the_head_looks_in_another_text(prompt: str | None):
    at, run, patterns, (layer, head) = asked("prompts", prompt)
    other = run.with_text(WORDS.label("other_default"))
    own, there = patterns[layer, head, -1], patterns_on(other)[layer, head, -1]
    assert question(at)["guess"]["texts"] == other.tokens
    found = told(at, "prompts", 1)
    assert found["answer"] == int(there.argmax())
    assert found["true"] == written("prompts", 2 - int(own.max() >= 0.5) - int(there.max() >= 0.5))


@BOTH
def test_from_which_token_the_largest_part_has_come(prompt: str | None):
    at, run, patterns, _ = asked("rollout", prompt)
    product, rows = np.eye(len(run.token_ids)), []
    for pattern in patterns:
        product = (0.5 * pattern.mean(0) + 0.5 * np.eye(len(product))) @ product
        rows.append(product[-1])
    assert question(at)["guess"]["offered"] == list(range(len(product)))
    found = told(at, "rollout", 3)
    assert found["answer"] == int(rows[-1].argmax()) and not found["right"]
    assert found["own"] == percent(float(rows[-1][3]))
    assert given(at, "attention_view")["guess"] == [len(product) - 1, 3]
    assert found["true"] == written("rollout", int(rows[0].argmax() == rows[-1].argmax()), token=run.tokens[-1])


# ---- the names beside the wall, and what is suggested ----------------------------------------------------------------


@BOTH
def test_the_names_beside_the_wall_are_counted_and_lead_to_the_clearest_head(prompt: str | None):
    at = ask("heads", "wall", prompt=prompt)
    commit(at, "heads", "wall", 1)
    measures, roles = patterns_of(run_on(at.session_state["prompt"])).measures, given(at, "heads_wall")["roles"]
    shown = [b for b in at.button if b.key.startswith("heads_open_")]
    assert {b.key.removeprefix("heads_open_") for b in shown} == {
        role for role in ROLES if role in measures and WORDS.label(f"role_{role}") in roles}
    best = np.unravel_index(np.nanargmax(measures["first_token"]), measures["first_token"].shape)
    [start] = [b for b in shown if b.key == "heads_open_first_token"]
    assert start.label == WORDS.label("names_open", head=f"{best[0]}.{best[1]}")
    table = next(m.value for m in at.markdown if m.value.startswith(WORDS.label("names_blocks")))
    assert sum(int(n) for row in table.splitlines()[4:] for n in row.strip("| ").split(" | ")[1:] if n.strip()) == 48
    start.click().run()
    assert at.session_state["heads_panel"] == "head" and at.session_state["selection"] == {
        "layer": best[0], "head": best[1]}


def test_three_different_heads_are_suggested():
    measures = {"previous_token": np.array([[0.9, 0.8], [0.1, 0.2]]), "first_token": np.array([[0.0, 0.5], [0.4, 0.1]])}
    assert suggested(measures, (0, 0)) == {"telling": (0, 0), "previous_token": (0, 1), "first_token": (1, 0)}
    assert suggested({name: values[:1, :1] for name, values in measures.items()}, (0, 0)) == {"telling": (0, 0)}


def test_a_suggestion_switches_that_head_off_alone():
    at = ask("heads", "change", heads_changed="0.*")
    commit(at, "heads", "change", 1)
    at.button("heads_suggest_first_token").click().run()
    at.run()
    assert sum(given(at, "heads_wall")["crossed"]) == 1 and at.session_state["heads_changed"].count(".") == 1


def test_the_title_counts_the_named_heads():
    class Page:
        label = staticmethod(WORDS.label)

    measures = {"previous_token": np.array([[0.9, 0.3]]), "first_token": np.array([[0.0, 0.5]])}
    assert names.title(Page, roles(measures)) == WORDS.label("names_title", n=2, all=2)
