"""Before you look, on Architectures: each answer by a second computation, and statements that are true of what the
picture is given.
"""
from __future__ import annotations

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.base import prose
from core.figures.numbers import percent
from core.model import checkpoints
from core.model.transformer import Transformer
from pages.architectures.designs import parse
from tests.claims.passes import run as run_on
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given
from tests.helpers.predictions import ask, commit, modes, question, statements
from tests.pages.architectures.test_architectures import chart, drawn
from tests.pages.architectures.test_live_models import filled

pytestmark = pytest.mark.long

WORDS = prose.load("architectures")


def told(name: str, guess: object, **query: str) -> dict:
    return commit(ask("architectures", name, **query), "architectures", name, guess)


def is_asked(name: str, **query: str) -> bool:
    at = open_at("architectures", ask="true", architectures_view=name, **query)
    assert fine(at)
    return "ask" in modes(at)


@pytest.mark.parametrize("design, answer, seen", [
    ("stories", "mlp", 0), ("gpt3", "mlp", 0), ("llama2-70b", "mlp", 1), ("t5-11b", "mlp", 2),
    ("stories;d_ff=64", "attention", 2), ("stories;n_layers=1", "E", 0), ("stories;d_ff=512", "none", 2)])
def test_the_largest_part_is_that_of_the_models_own_tensors(design: str, answer: str, seen: int):
    shown = told("design", 0, architectures_design=design)
    with torch.device("meta"):
        sizes = {name: p.numel() for name, p in Transformer(parse(design)[0].config).named_parameters()}
    named = {"attention": ("W_Q", "W_K", "W_V", "W_O"), "mlp": ("W_1", "W_2", "W_gate"), "E": ("E",)}
    parts = {part: sum(size for name, size in sizes.items() if name.rpartition(".")[2] in names)
             for part, names in named.items()}
    *_, second, most = sorted(parts.values())
    right = "none" if second >= 0.9 * most else max(parts, key=parts.get)
    assert shown["guess"]["texts"][shown["answer"]] == WORDS.label(f"largest_{right}") and right == answer
    assert right == "none" or shown["said"] == percent(most / sum(sizes.values()))
    ratio = parts["attention"] / parts["mlp"]
    assert seen == (1 if ratio < 0.45 else 2 if ratio > 0.55 else 0)
    assert shown["true"] == statements("architectures", "design")[seen]


def test_nothing_is_asked_of_a_design_in_which_positions_are_most():
    assert is_asked("design") and not is_asked("design", architectures_design="stories;n_context=100000")


def words_at(sentence: str) -> tuple[torch.Tensor, torch.Tensor, int]:
    """The probabilities of both models at the gap of a sentence, from passes of their own, and the hidden token."""
    found = filled(sentence)
    (position,) = found.blanks
    encoder, decoder = (checkpoints.load_bundled(name)[0] for name in ("blanks", "stories"))
    with torch.no_grad():
        both = torch.softmax(encoder.logits(torch.tensor(found.inputs))[position].double(), -1)
        left = torch.softmax(decoder.logits(torch.tensor(found.true_ids[:position]))[-1].double(), -1)
    return both, left, found.true_ids[position]


@pytest.mark.parametrize("sentence, gap, seen", [
    ("The little dog was very [sad] because he lost his bone.", "was very ____ because", 0),
    ("The film was [not] boring.", "film was ____ boring.", 0), ("Once upon a [time] there", "upon a ____ there", None),
    ("The dog ran to the [park]", "the ____", None)])
def test_which_word_is_put_into_the_gap(sentence: str, gap: str, seen: int | None):
    at = ask("architectures", "blank", architectures_blank_text=sentence)
    both, left, true = words_at(sentence)
    tokenizer = cache.shared_model("blanks", "cpu").tokenizer
    assert gap in question(at)["question"]
    shown = commit(at, "architectures", "blank", "dog", 70)
    best = both.topk(4)
    assert [bar[0] for bar in shown["bars"][:4]] == [tokenizer.visible(int(i)) for i in best.indices]
    assert [bar[1] for bar in shown["bars"][:4]] == pytest.approx(best.values.tolist(), rel=1e-3)
    p, q = float(both[true]), float(left[true])
    right = 2 if max(p, q) < 1.25 * min(p, q) else int(p < q)
    assert seen in (None, right) and shown["true"] == statements("architectures", "blank")[right].format(
        true=tokenizer.visible(true))
    rows = {side: given(at, "architecture_blank")[side]["rows"] for side in ("encoder", "decoder")}
    for side in rows.values():
        assert [row["token"] for row in side if row["mine"]] == ["·dog"]


@pytest.mark.parametrize("query", [
    {"architectures_blank_text": "The film was boring."}, {"architectures_blank_text": "The ____ was [not] boring."},
    {"architectures_blank_text": "Tom ____ home."}, {"architectures_blank_text": "A [very sad] dog."},
    {"architectures_blank_text": ""}, {"architectures_blank_way": "chance"}])
def test_nothing_is_asked_without_one_hidden_word(query: dict):
    assert is_asked("blank") and not is_asked("blank", **query)


SOURCES = ("the twenty-first of march nineteen eighty-four", "1984-03-21",
           "in ten sixty-six, on the fourteenth of october")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("picked", [{}, {"architectures_translate_head": "2"}, {"architectures_translate_block": "0"}])
def test_where_the_first_token_of_a_translation_comes_from(source: str, picked: dict):
    at = ask("architectures", "translate", architectures_translate_text=source, **picked)
    model, tokenizer = checkpoints.load_bundled("translator")
    ids = torch.tensor(tokenizer.encode(source))
    assert question(at)["guess"]["texts"] == [tokenizer.visible(int(i)) for i in ids]
    with torch.no_grad():
        trace = model(torch.tensor([model.config.first_token]), source_ids=ids)
    pattern = trace.blocks[int(picked.get("architectures_translate_block", 1))].cross.pattern[:, 0]
    row = pattern[2] if "architectures_translate_head" in picked else pattern.mean(0)
    shown = commit(at, "architectures", "translate", 0)
    assert shown["answer"] == int(row.argmax()) and shown["said"] == percent(float(row.max()))
    right = 0 if row.max() >= 0.5 else 2 if row.max() < 1.5 / len(row) else 1
    assert shown["true"] == statements("architectures", "translate")[right]
    assert tokenizer.visible(int(trace.logits[-1].argmax())) in shown["reason"]
    assert given(at, "architecture_translate")["guess"] == 0


def test_nothing_is_asked_of_another_attention_or_of_no_text():
    assert is_asked("translate") and not is_asked("translate", architectures_translate_attention="encoder")
    assert not is_asked("translate", architectures_translate_text="")


@pytest.mark.parametrize("query", [{}, {"prompt": "Tom and Mia went home.", "architectures_norms_other": "A dog.",
                                        "layer": "3", "position": "2", "architectures_norms_where": "mlp"}])
def test_how_far_the_other_text_moves_a_batch_normed_vector(query: dict):
    at = ask("architectures", "norms", **query)
    run = run_on(at.session_state["prompt"])
    other = run_on(query.get("architectures_norms_other", "Tom and Mia went to the park."))
    layer, place = int(query.get("layer", 0)), int(query.get("position", len(run.tokens) - 1))
    stream = "resid_mid" if query else "resid_pre"
    X, more = (getattr(each.trace.blocks[layer], stream).double().numpy() for each in (run, other))
    epsilon = run.model.config.norm_epsilon

    def normed(rows: np.ndarray) -> np.ndarray:
        return (rows[place] - rows.mean(0)) / np.sqrt(rows.var(0) + epsilon)

    before, after = normed(X), normed(np.concatenate([X, more[1:]]))
    shown = commit(at, "architectures", "norms", 0)
    moved = float(np.linalg.norm(after - before) / np.linalg.norm(before))
    assert shown["answer"] == (moved > 0) + (moved >= 0.1) + (moved >= 0.5) and shown["said"] == percent(moved)
    assert shown["true"] == statements("architectures", "norms")[0]
    sent = given(at, "architecture_norms")["norms"]
    assert {norm["kind"]: norm["still"][1] for norm in sent} == {"layernorm": True, "rmsnorm": True,
                                                                 "batchnorm": False}


def test_nothing_is_asked_of_one_token_or_where_nothing_joins():
    assert not is_asked("norms", architectures_norms_other="") and not is_asked("norms", prompt="")


@pytest.mark.parametrize("query", [{}, {"layer": "5"}, {"prompt": "Tom and Mia went home.", "layer": "2"},
                                   {"model": "stories-small"}])
def test_the_share_of_inputs_below_zero(query: dict):
    at = ask("architectures", "activations", **query)
    run = run_on(at.session_state["prompt"], query.get("model", "stories"))
    layer = int(query.get("layer", 0))
    block, stream = run.model.blocks[layer], run.trace.blocks[layer].resid_mid.double()
    x = (stream - stream.mean(-1, keepdim=True)) / (stream.var(-1, correction=0, keepdim=True)
                                                    + run.model.config.norm_epsilon).sqrt()
    norm = block.mlp_norm
    inputs = (x * norm.weight.double() + norm.bias.double()) @ block.W_1.double() + block.b_1.double()
    below = float((inputs < 0).double().mean())
    shown = commit(at, "architectures", "activations", 0)
    assert f"{inputs.shape[1]:,} neurons" in shown["question"] and f"{inputs.shape[0]} tokens" in shown["question"]
    assert shown["answer"] == (below >= 0.45) + (below >= 0.55) + (below >= 0.9) and shown["said"] == percent(below)
    counts = given(at, "architecture_curves")["histogram"]
    assert shown["true"] == statements("architectures", "activations")[int(max(counts[:25]) < max(counts[25:]))]


def test_nothing_is_asked_of_a_model_without_neurons():
    assert not is_asked("activations", model="induction")


@pytest.mark.parametrize("query", [{}, {"architectures_width": "16", "architectures_window": "256"}])
def test_how_many_times_as_many_operations(query: dict):
    """By hand: 4 N² d for N = 4096 over that for N = 256 is (4096 / 256)²; 4 N d² grows with N."""
    at = ask("architectures", "cost", **query)
    shown = commit(at, "architectures", "cost", 16)
    assert shown["answer"] == 256 and "recurrent network 16 times" in shown["reason"] and not shown["right"]
    assert shown["true"] == statements("architectures", "cost")[0]
    rows = drawn(at, 0).set_index(["method", "x"])["y"]
    steep = {method: rows[method, 4096] / rows[method, 2048] for method in ("attention", "window", "recurrent")}
    assert steep["attention"] == 4 and steep["window"] == steep["recurrent"] == 2
    d = int(query.get("architectures_width", 64))
    assert given_mark(at) == (4096, 16 * 4 * 256 ** 2 * d)


def given_mark(at: AppTest) -> tuple[int, float]:
    """The place of the reader's point in the chart of operations."""
    ((x, y),) = drawn(at, 0, "own")[["x", "y"]].to_numpy()
    return int(x), float(y)


def test_nothing_is_asked_about_sparse_patterns():
    assert not is_asked("cost", architectures_cost="patterns")


def test_how_many_times_as_many_parameters():
    """By the table: 1,200 billion of GLaM (2021) over 0.213 billion of the first transformer; LLaMA 2 is the last."""
    at = ask("architectures", "record")
    shown = commit(at, "architectures", "record", 1)
    times = round(1200 / 0.213)
    assert shown["answer"] == (times > 30) + (times > 300) + (times > 3000) and shown["said"] == f"{times:,} times"
    assert "GLaM" in shown["reason"] and "LLaMA 2" in shown["reason"]
    assert shown["true"] == statements("architectures", "record")[0]
    rows = chart(at, 0)
    highest, last = rows.loc[rows["value"].idxmax()], rows.loc[rows["date"].idxmax()]
    assert highest["access"] == "closed" and highest["name"] != last["name"]


@pytest.mark.parametrize("query", [{"architectures_record": "data"}, {"architectures_measure": "compute"}])
def test_nothing_is_asked_of_the_other_records(query: dict):
    assert not is_asked("record", **query)
