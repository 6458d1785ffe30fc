"""Questions before the pictures of Residual stream: each answer by a second computation, from the weights, other
options that are right elsewhere, and statements that are true of the picture. And its first states.
"""
from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from core.app.lesson.lesson import Lesson
from core.base import prose
from pages.residual_stream import contributions, lens, without_path
from tests.claims.passes import run
from tests.helpers.lessons import fine, listed, open_at
from tests.helpers.messages import given
from tests.helpers.predictions import ask, commit, modes, statements
from tests.pages.residual_stream.test_residual_stream import ids_of, loaded, logits_of, opened, streams

WORDS = prose.load("residual_stream")
CAT = "The cat sat on the mat. The dog sat on the"
PROMPTS = [None, CAT]


def told(name: str, prompt: str | None, guess: object = 0, **query: str) -> dict:
    query = query if prompt is None else query | {"prompt": prompt}
    return commit(ask("residual_stream", name, **query), "residual_stream", name, guess)


def answer(shown: dict, name: str) -> int:
    """The index of the right option, of those in the text file."""
    n = len(shown["guess"]["texts"])
    assert shown["guess"]["texts"] == [WORDS.label(f"guess_{name}_{k}") for k in range(n)]
    return shown["answer"]


def seen(shown: dict, name: str) -> int:
    """The index of the true statement in the file."""
    return statements("residual_stream", name).index(shown["true"])


@pytest.mark.parametrize(("prompt", "right"), [
    (None, 3), ("Tom and Mia went", 2), ("Once upon", 1), ("The cat sat on the mat. The", None)])
def test_where_the_final_answer_comes_up(prompt: str | None, right: int | None):
    model, shown = loaded().model, told("lens", prompt)
    guesses = [int(logits_of(model, x[-1]).argmax()) for x in streams(model, ids_of(prompt))]
    settled = next(i for i in range(len(guesses)) if set(guesses[i:]) == {guesses[-1]})
    limits = [range(1), range(1, 4), range(4, 6), range(6, 7)]
    assert answer(shown, "lens") == next(k for k, at in enumerate(limits) if settled in at)
    assert right in (None, shown["answer"]) and f"From {settled} of 6 blocks" in shown["reason"]
    changes = sum(a != b for a, b in zip(guesses, guesses[1:]))
    assert seen(shown, "lens") == (0 if changes > 1 else 2 - changes)
    assert loaded().tokenizer.visible(guesses[-1]) in shown["reason"]


def test_an_encoder_is_asked_at_its_blank():
    words, there = prose.load("residual_stream").of_kind("encoder"), run("The cat sat on the ____ and ate.", "blanks")
    asked = lens.predict(Lesson("residual_stream", words, words), there)
    text = next(entry for entry in words.entries("before") if entry.id == "lens")
    assert asked.values["what"] == words.label("asked_what", token="‹mask›") == "the word in the place of `‹mask›`"
    truth = asked.truth(0)
    best = there.trace.logits[there.tokens.index("‹mask›")].argmax()
    assert truth.values["last"] == there.tokenizer.visible(int(best)) and "{" not in text.look.format(
        **asked.values, **truth.values)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_how_many_parts_argue_against_the_word(prompt: str | None):
    model, ids, shown = loaded().model, ids_of(prompt), told("contributions", prompt)
    trace = model(ids)
    target, x = int(trace.logits[-1].argmax()), trace.resid_final[-1].double()
    gain = model.final_norm.weight.double() * model.E[target].double()
    sigma = (x.var(correction=0) + model.config.norm_epsilon).sqrt()

    def share(vector: torch.Tensor) -> float:
        vector = vector.double()
        return float(((vector - vector.mean()) / sigma) @ gain)

    parts = {"embedding": share(model.E[ids[-1]]), "position": share(model.P[len(ids) - 1]),
             "final": float(model.final_norm.bias.double() @ model.E[target].double())}
    for layer, (weights, block) in enumerate(zip(model.blocks, trace.blocks)):
        parts |= {f"head {layer}.{h}": share(block.head_contribution[h, -1]) for h in range(model.config.n_heads)}
        parts |= {f"mlp {layer}": share(block.mlp_post[-1] @ weights.W_2), f"b_O {layer}": share(weights.b_O),
                  f"b_2 {layer}": share(weights.b_2)}
    assert sum(parts.values()) == pytest.approx(float(trace.logits[-1, target]), abs=1e-3)
    against = sum(value < 0 for value in parts.values())
    assert 1 <= against < len(parts) / 2 and f"{against} of {len(parts)} shares" in shown["reason"]
    assert answer(shown, "contributions") == (1 if against < len(parts) / 4 else 2)
    longest = max(parts, key=lambda name: abs(parts[name]))
    assert seen(shown, "contributions") == (0 if "head" in longest else 1 if "mlp" in longest else 2)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_whose_vector_grows_longest(prompt: str | None):
    lengths = torch.stack(streams(loaded().model, ids_of(prompt))).norm(dim=-1).max(0).values.detach().numpy()
    shown = told("norms", prompt, 3)
    assert shown["answer"] == lengths.argmax() and shown["guess"]["kind"] == "place"
    assert seen(shown, "norms") == (0 if lengths.max() > 1.25 * np.sort(lengths)[-2] else 1)


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("query, where", [({}, "attention"), ({"residual_stream_norm_where": "final"}, "final")])
def test_a_short_vector_and_a_long_one_are_normed_to_the_same_length(prompt: str | None, query: dict, where: str):
    model, ids = loaded().model, ids_of(prompt)
    x = streams(model, ids)[0 if where == "attention" else -1]
    lengths = x.norm(dim=-1)
    other = max(range(len(x)), key=lambda at: abs(math.log(lengths[at] / lengths[-1])))
    pair = sorted((len(x) - 1, other), key=lengths.__getitem__)
    shown = told("norm", prompt, 0, **query)
    normed = [float(F.layer_norm(x[at], x[at].shape, eps=model.config.norm_epsilon).norm()) for at in pair]
    assert normed == pytest.approx([256 ** 0.5] * 2, rel=1e-2)
    assert answer(shown, "norm") == 1 and seen(shown, "norm") == 0
    tokens = [loaded().tokenizer.visible(int(ids[at])) for at in pair]
    assert f"`{tokens[0]}` and `{tokens[1]}`, are {float(lengths[pair[0]]):.3g}" in shown["question"]


@pytest.mark.parametrize("prompt, layer", [(None, None), (CAT, None), (None, 0), (CAT, 2), (CAT, 0), ("a", 0)])
def test_how_many_neurons_fire(prompt: str | None, layer: int | None):
    model, ids = loaded().model, ids_of(prompt)
    shown = told("mlp", prompt, 0, **({} if layer is None else {"layer": str(layer)}))
    at, block = (4 if layer is None else layer), model.blocks[4 if layer is None else layer]
    x = streams(model, ids)[at] + model(ids).blocks[at].attn_out
    z = F.layer_norm(x, x.shape[-1:], block.mlp_norm.weight, block.mlp_norm.bias, model.config.norm_epsilon)[-1]
    share = float(((z @ block.W_1 + block.b_1) > 0).double().mean())
    assert 0 < share < 0.75 and answer(shown, "mlp") == (1 if share < 0.25 else 2)
    assert seen(shown, "mlp") == (0 if share < 0.5 else 1)
    assert f"block {at}" in shown["question"]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_how_alike_the_tokens_become_without_the_path(prompt: str | None):
    model, ids, ends = loaded().model, ids_of(prompt), []
    for path in (True, False):
        unit = F.normalize(streams(model, ids, path)[-1].double(), dim=-1)
        ends.append(float((unit @ unit.T)[~torch.eye(len(ids), dtype=torch.bool)].mean()))
    shown = told("cut", prompt)
    assert answer(shown, "cut") == 0 and ends[1] > ends[0] + 0.05 and f"{ends[1]:.3g}"[:4] in shown["reason"]
    best = [int(logits_of(model, streams(model, ids, path)[-1][-1]).argmax()) for path in (True, False)]
    assert seen(shown, "cut") == int(best[0] == best[1])


@pytest.mark.parametrize(("ends", "right"), [((0.5, 0.6), 0), ((0.5, 0.4), 1), ((0.5, 0.52), 2)])
def test_the_tokens_might_also_become_less_alike_or_stay_so(ends: tuple[float, float], right: int):
    with mock.patch.object(without_path, "alike_at_end", mock.Mock(side_effect=ends)):
        assert without_path.predict(Lesson("residual_stream", WORDS, WORDS), run(CAT)).truth(0).answer == right


@pytest.mark.parametrize(("against", "right"), [(0, 0), (1, 1), (2, 2), (4, 2), (5, 3)])
def test_the_votes_against_are_none_a_few_many_or_most(against: int, right: int):
    rows = [{"value": 1.0 - 2 * (place < against), "meaning": "mlp"} for place in range(8)]
    with mock.patch.object(contributions, "_rows", lambda *_: rows):
        assert contributions.predict(Lesson("residual_stream", WORDS, WORDS), run(CAT)).truth(0).answer == right


def test_what_cannot_be_asked_is_not_asked():
    for view, query in (("lens", {"prompt": ""}), ("norms", {"prompt": "a"}), ("cut", {"prompt": ""}),
                        ("norms", {"residual_stream_measure": "turn"}),
                        ("norm", {"residual_stream_norm_view": "batch"}), ("norm", {"prompt": ""}),
                        ("cut", {"residual_stream_cut_measure": "length"}), ("contributions", {"prompt": ""})):
        at = open_at("residual_stream", ask="true", residual_stream_view=view, **query)
        assert fine(at) and "ask" not in modes(at), (view, query)


def test_the_guess_is_marked_in_the_picture():
    at = ask("residual_stream", "norms")
    commit(at, "residual_stream", "norms", 3)
    assert given(at, "residual_norms")["mine"] == [3, "you"]


# ---- first states ----------------------------------------------------------------------------------------------------


def test_the_lesson_opens_on_the_lens_at_its_beginning():
    at = opened({})
    assert at.session_state["residual_stream_view"] == "lens" and given(at, "residual_lens")["picked"][0] == 0


def test_feed_forward_opens_on_the_last_block_but_one_until_another_is_picked():
    at = opened({"view": "mlp"})
    assert listed(at, "residual_stream_pick_layer").value == 4
    listed(at, "residual_stream_pick_layer").set_value(1).run()
    assert fine(at) and listed(at, "residual_stream_pick_layer").value == 1
    assert listed(opened({"view": "mlp"}, layer="0"), "residual_stream_pick_layer").value == 0


def test_where_a_neuron_fires_is_shown_for_all_that_are_listed():
    at = opened({"view": "mlp", "neuron": "17"}, layer="2")
    header = given(at, "residual_neurons")
    post = loaded().model(ids_of()).blocks[2].mlp_post
    listed = [row["neuron"] for row in header["rows"]]
    assert header["tokens"] == [loaded().tokenizer.visible(int(i)) for i in ids_of()] and header["position"] == 25
    assert np.allclose(np.array(header["fires"]).reshape(len(listed), -1), post[:, listed].T.detach(), atol=1e-5)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_before_which_part_an_exchange_leaves_a_trace(prompt: str | None):
    """By hand, from the weights: what attention writes for the last token with one token's vector replaced. The
    feed-forward part is given one row alone.
    """
    model, ids, shown = loaded().model, ids_of(prompt), told("block", prompt)
    layer, block = model.config.n_layers - 2, model(ids).blocks[model.config.n_layers - 2]
    looks = block.pattern[:, -1].mean(0)
    looks[[0, -1]] = -1
    other, source = int(looks.argmax()), 0
    changed = block.resid_pre.clone()
    changed[other] = block.resid_pre[source]
    normed = model.blocks[layer].attn_norm(changed, "layernorm")
    values = torch.einsum("nd,hdk->hnk", normed, model.blocks[layer].W_V)
    keys = torch.einsum("nd,hdk->hnk", normed, model.blocks[layer].W_K) + model.blocks[layer].b_K[:, None]
    scores = torch.einsum("hk,hnk->hn", block.Q[:, -1], keys) / model.config.d_k ** 0.5
    read = torch.einsum("hn,hnk->hk", scores.softmax(-1), values + model.blocks[layer].b_V[:, None])
    moved = torch.einsum("hk,hkd->d", read, model.blocks[layer].W_O) + model.blocks[layer].b_O - block.attn_out[-1]
    assert moved.abs().max() > 1e-2 and shown["answer"] == 0 and seen(shown, "block") == 0
    assert loaded().tokenizer.visible(int(ids[other])) in shown["question"]
