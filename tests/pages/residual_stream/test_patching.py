"""Patching in the lesson Residual stream: what the pictures of vectors and of heads are given, against passes of the
model; what is asked; texts that cannot be compared.
"""
from __future__ import annotations

import functools
from unittest import mock

import numpy as np
import pyarrow
import pytest
import torch

from core.base import prose
from core.language import contrasts
from core.model.edits import HeadEdits
from core.model.intervention import Intervention, Patch
from core.model.trace import Trace
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import formulas, numbers_in
from tests.helpers.predictions import ask, commit, modes, statements
from tests.pages.residual_stream.test_residual_stream import answered, component, ids_of, loaded, opened

pytestmark = pytest.mark.long

WORDS = prose.load("residual_stream")
EXCHANGES = contrasts.sets()["exchanges"]


def texts(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    one = contrasts.exchange(*EXCHANGES[name])
    return ids_of(one.text), ids_of(one.changed)


@functools.cache
def plain(ids: tuple[int, ...]) -> Trace:
    """The pass of a text as it is."""
    return loaded().model(torch.tensor(ids))


def share(here: torch.Tensor, there: torch.Tensor, logits: torch.Tensor) -> float:
    """How far these logits (|V|,) are on the way from one text's answer to the other's, by the two tokens whose
    probability moves most.
    """
    one, other = (plain(tuple(ids.tolist())) for ids in (here, there))
    moved = other.probs[-1] - one.probs[-1]
    a, b = int(moved.argmin()), int(moved.argmax())

    def gap(u: torch.Tensor) -> float:
        return float(u[b].double() - u[a].double())

    start, end = gap(one.logits[-1]), gap(other.logits[-1])
    return (gap(logits) - start) / (end - start)


def shares(here: torch.Tensor, there: torch.Tensor) -> np.ndarray:
    """(L + 1, N) by one pass for every cell."""
    return _shares(tuple(here.tolist()), tuple(there.tolist()))


@functools.cache
def _shares(one: tuple[int, ...], ids: tuple[int, ...]) -> np.ndarray:
    model, here, there = loaded().model, torch.tensor(one), torch.tensor(ids)
    return np.array([[share(here, there, model(here, Intervention(patches=(Patch(depth, i, ids, i),))).logits[-1])
                      for i in range(len(here))] for depth in range(model.config.n_layers + 1)])


@pytest.mark.parametrize("name", EXCHANGES)
def test_each_text_of_the_lesson_has_its_picture(name: str):
    header, arrays = component(opened({"view": "patching", "patch_pair": name}), "residual_grid")
    here, there = texts(name)
    assert np.allclose(arrays["values"].reshape(header["rows"], header["columns"]), shares(here, there), atol=2e-3)
    different = [i for i in range(len(here)) if here[i] != there[i]]
    assert different and [i for i, label in enumerate(header["column_labels"]) if "/" in label] == different
    assert header["picked"] == [3, different[0]] and header["low"] == -1 and header["high"] == 1


def test_the_picked_exchange_is_worked_out_and_changes_the_distribution():
    at = opened({"view": "patching", "patch_depth": "4", "patch_position": "14"})
    here, there = texts("give")
    assert len(here) == 14, "position 14 is none of this text: the changed word stands instead"
    shown = numbers_in(formulas(at)[3])[-1]
    assert shown == pytest.approx(shares(here, there)[4, 9], abs=2e-3)
    at = opened({"view": "patching", "patch_depth": "4", "patch_position": "13"})
    patched = loaded().model(here, Intervention(patches=(Patch(4, 13, tuple(there.tolist()), 13),)))
    best = loaded().tokenizer.visible(int(patched.logits[-1].argmax()))
    [chart] = at.get("vega_lite_chart")
    shown = pyarrow.ipc.open_stream(chart.proto.datasets[0].data.data).read_all().to_pandas()
    p = shown[(shown["token"] == best) & (shown["which"] == "after")]["p"].item()
    assert best == "·Tom" and p == pytest.approx(float(patched.probs[-1].max()), abs=1e-4)


def test_the_readers_own_word():
    at = opened({"view": "patching", "patch_pair": "own", "patch_place": "1", "patch_other": "king"},
                prompt="The cat sat on the mat. The dog sat on the")
    header, arrays = component(at, "residual_grid")
    here, there = (ids_of(f"The {word} sat on the mat. The dog sat on the") for word in ("cat", "king"))
    assert np.allclose(arrays["values"].reshape(header["rows"], -1), shares(here, there), atol=2e-3)
    assert "·cat/·king" in header["column_labels"]


@pytest.mark.parametrize("prompt, other, label", [
    ("The cat sat", "cat", "patch_same"), ("The cat sat", "refrigerator", "patch_lengths"), ("12 !", "", "patch_none"),
    ("The cat sat", "<b>\x00‮", None)])
def test_texts_that_cannot_be_compared_say_what_to_do(prompt: str, other: str, label: str | None):
    at = open_at("residual_stream", residual_stream_view="patching", residual_stream_patch_pair="own", prompt=prompt,
                 residual_stream_patch_place="1", residual_stream_patch_other=other)
    assert fine(at) and at.session_state["prompt"] == prompt
    if label:
        start = WORDS.label(label).split("{")[0].strip()
        assert any(start in info.value for info in at.info)


def test_before_the_changed_word_nothing_moves_it():
    answered(opened({"view": "patching"}), "patching", 0)


@pytest.mark.parametrize("name", EXCHANGES)
def test_where_the_last_token_takes_over(name: str):
    asked = ask("residual_stream", "patching", residual_stream_patch_pair=name)
    shown = commit(asked, "residual_stream", "patching", 0)
    here, there = texts(name)
    values, first = shares(here, there), int((here != there).nonzero()[0, 0])
    depth = next(row for row in range(len(values)) if values[row, -1] > values[row, first])
    assert shown["guess"]["texts"] == [WORDS.label(f"guess_vectors_{k}") for k in range(4)]
    assert shown["answer"] == [0, 0, 1, 1, 2, 2, 3][depth] and f"After {depth} blocks" in shown["reason"]
    between = np.abs(values[:, first + 1:-1]).max()
    assert statements("residual_stream", "patching").index(shown["true"]) == int(between >= 0.2)


def test_nothing_is_asked_where_the_last_word_is_the_changed_one():
    at = open_at("residual_stream", ask="true", residual_stream_view="patching", residual_stream_patch_pair="own",
                 prompt="Once upon a time, there was a little", residual_stream_patch_other="big")
    assert fine(at) and "ask" not in modes(at)


# ---- single heads ----------------------------------------------------------------------------------------------------

HEADS = {"view": "patching", "patch_what": "heads"}
ANSWERS = {"give": 0, "copy": 1, "opposite": 2, "pronoun": 0, "agreement": 0}


def pass_with(here: torch.Tensor, there: torch.Tensor, layer: int, column: int) -> torch.Tensor:
    """(|V|,) the last token's logits of a whole pass in which one head (column 8: the feed-forward part) writes what it
    writes for the other text.
    """
    other = plain(tuple(there.tolist())).blocks[layer]

    def on_head_out(_, head_out: torch.Tensor, at: int) -> torch.Tensor:
        return head_out if at != layer or column == 8 else torch.cat(
            [head_out[:column], other.head_out[column:column + 1], head_out[column + 1:]])

    def on_sublayer(_, out: torch.Tensor, at: int, sublayer: str) -> torch.Tensor:
        return other.mlp_out if (at, sublayer, column) == (layer, "mlp", 8) else out

    with (mock.patch.object(HeadEdits, "on_head_out", on_head_out),
          mock.patch.object(HeadEdits, "on_sublayer", on_sublayer)):
        return loaded().model(here).logits[-1]


@functools.cache
def shares_of_outputs(name: str) -> np.ndarray:
    """(L, h + 1) by one pass for every cell."""
    config, (here, there) = loaded().model.config, texts(name)
    return np.array([[share(here, there, pass_with(here, there, layer, column)) for column in range(config.n_heads + 1)]
                     for layer in range(config.n_layers)])


@pytest.mark.parametrize("name", EXCHANGES)
def test_each_text_has_its_picture_of_heads(name: str):
    at = opened(HEADS | {"patch_pair": name})
    header, arrays = component(at, "residual_grid")
    expected = shares_of_outputs(name)
    assert np.allclose(arrays["values"].reshape(header["rows"], header["columns"]), expected, atol=2e-3)
    assert header["row_labels"] == [f"block {layer}" for layer in range(6)]
    assert header["column_labels"] == [f"head {head}" for head in range(8)] + ["FFN"]
    layer, head = np.unravel_index(expected[:, :-1].argmax(), (6, 8))
    assert header["picked"] == [layer, head] and f"head {layer}.{head}" in header["twin"]
    assert numbers_in(formulas(at)[3])[-1] == pytest.approx(expected[layer, head], abs=2e-3)


@pytest.mark.parametrize("layer, column, said", [(2, 6, "What head 2.6 writes"),
                                                 (0, 8, "What the feed-forward part of block 0 writes")])
def test_a_picked_output_is_worked_out_and_changes_the_distribution(layer: int, column: int, said: str):
    at = opened(HEADS | {"patch_block": str(layer), "patch_part": str(column)})
    here, there = texts("give")
    logits = pass_with(here, there, layer, column)
    assert numbers_in(formulas(at)[3])[-1] == pytest.approx(share(here, there, logits), abs=2e-3)
    assert component(at, "residual_grid")[0]["twin"].startswith(said)
    [chart] = at.get("vega_lite_chart")
    shown = pyarrow.ipc.open_stream(chart.proto.datasets[0].data.data).read_all().to_pandas()
    best = loaded().tokenizer.visible(int(logits.argmax()))
    p = shown[(shown["token"] == best) & (shown["which"] == "after")]["p"].item()
    assert p == pytest.approx(float(logits.softmax(-1).max()), abs=1e-4)


def test_a_head_that_is_not_there_is_the_one_that_moves_the_answer_most():
    header, _ = component(opened(HEADS | {"patch_block": "3", "patch_part": "9"}), "residual_grid")
    assert header["picked"] == [3, 7]


def test_all_heads_together_move_the_answer_all_of_the_way():
    at = opened(HEADS | {"patch_pair": "agreement"})
    total = round(100 * shares_of_outputs("agreement")[:, :-1].sum(), 1)
    [options] = [radio.options for radio in at.radio]
    assert options == ["0\u00a0%", f"{total}\u00a0%", "100\u00a0%"]
    answered(at, "patching_heads", 2)


@pytest.mark.parametrize("name", EXCHANGES)
def test_how_far_one_head_alone_moves_the_answer(name: str):
    shown = commit(ask("residual_stream", "patching_heads", residual_stream_patch_pair=name), "residual_stream",
                   "patching_heads", 0)
    values = np.sort(shares_of_outputs(name)[:, :-1].ravel())[::-1]
    layer, head = np.unravel_index(shares_of_outputs(name)[:, :-1].argmax(), (6, 8))
    assert shown["guess"]["texts"] == [WORDS.label(f"guess_carried_{k}") for k in range(3)]
    assert shown["answer"] == (0 if values[0] > 0.5 else 1 if values[0] > 0.2 else 2) == ANSWERS[name]
    assert f"What head {layer}.{head} writes" in shown["reason"]
    assert statements("residual_stream", "patching_heads").index(shown["true"]) == int(values[0] < 2 * values[1])


def test_nothing_is_asked_after_a_picture_whose_last_token_is_the_changed_one():
    at = open_at("residual_stream", residual_stream_view="patching", residual_stream_patch_what="heads",
                 residual_stream_patch_pair="own", prompt="Once upon a time, there was a little",
                 residual_stream_patch_other="big")
    assert fine(at) and not at.radio and component(at, "residual_grid")[0]["columns"] == 9
