"""Patching in the lesson Residual stream: what the picture is given, against passes of the model; what is asked; texts
that cannot be compared.
"""
from __future__ import annotations

import numpy as np
import pyarrow
import pytest
import torch

from core.app.base import prose
from core.language import contrasts
from core.model.intervention import Intervention, Patch
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import formulas, numbers_in
from tests.helpers.predictions import ask, commit, modes, statements
from tests.pages.residual_stream.test_residual_stream import answered, component, ids_of, loaded, opened

WORDS = prose.load("residual_stream")
EXCHANGES = contrasts.sets()["exchanges"]


def texts(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    one = contrasts.exchange(*EXCHANGES[name])
    return ids_of(one.text), ids_of(one.changed)


def shares(here: torch.Tensor, there: torch.Tensor) -> np.ndarray:
    """(L + 1, N) by one pass for every cell, of the two tokens whose probability moves most."""
    model, ids = loaded().model, tuple(there.tolist())
    moved = model(there).probs[-1] - model(here).probs[-1]
    a, b = int(moved.argmin()), int(moved.argmax())

    def gap(logits: torch.Tensor) -> float:
        return float(logits[-1, b].double() - logits[-1, a].double())

    start, end = gap(model(here).logits), gap(model(there).logits)
    return np.array([[(gap(model(here, Intervention(patches=(Patch(depth, i, ids, i),))).logits) - start)
                      / (end - start) for i in range(len(here))] for depth in range(model.config.n_layers + 1)])


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
    assert shown["answer"] == depth and f"After {depth} blocks" in shown["reason"]
    between = np.abs(values[:, first + 1:-1]).max()
    assert statements("residual_stream", "patching").index(shown["true"]) == int(between >= 0.2)


def test_nothing_is_asked_where_the_last_word_is_the_changed_one():
    at = open_at("residual_stream", ask="true", residual_stream_view="patching", residual_stream_patch_pair="own",
                 prompt="Once upon a time, there was a little", residual_stream_patch_other="big")
    assert fine(at) and "ask" not in modes(at)
