"""Before you look, on Architectures: each answer by a second computation, and statements that are true of what the
picture is given.
"""
from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from core.app.frame import prediction
from core.cost import counting
from core.model.presets import PRESETS
from core.model.transformer import Transformer
from pages.architectures.designs import parse
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given
from tests.helpers.predictions import ask, commit, modes, statements


def told(name: str, guess: object, **query: str) -> dict:
    return commit(ask("architectures", name, **query), "architectures", name, guess)


def is_asked(name: str, **query: str) -> bool:
    at = open_at("architectures", ask="true", architectures_view=name, **query)
    assert fine(at)
    return "ask" in modes(at)


@pytest.mark.parametrize("design, seen", [("stories", 0), ("gpt3", 0), ("bert-base", 0), ("t5-11b", 0),
                                          ("stories;d_ff=64", 1), ("stories;n_layers=1", 2)])
def test_the_share_of_attention_is_that_of_the_models_own_tensors(design: str, seen: int):
    shown = told("design", 50, architectures_design=design)
    with torch.device("meta"):
        sizes = {name: p.numel() for name, p in Transformer(parse(design)[0].config).named_parameters()}
    attention = sum(size for name, size in sizes.items()
                    if name.rpartition(".")[2] in ("W_Q", "W_K", "W_V", "W_O"))
    assert shown["answer"] == pytest.approx(100 * attention / sum(sizes.values()), abs=0.051)
    assert shown["true"] == statements("architectures", "design")[seen]


def test_the_guess_stands_in_the_bars_of_the_design_and_goes_with_another_one():
    at = ask("architectures", "design")
    commit(at, "architectures", "design", 50)
    made = at.session_state[prediction.MADE]["architectures/design"]
    at.session_state[prediction.MADE] = {"architectures/design": replace(made, state="stories")}
    at.run()
    rows = {row["meaning"]: row["guess"] for row in given(at, "design_view")["parts"]}
    assert rows["attention"] == pytest.approx(counting.n_parameters(PRESETS["stories"].config) / 2)
    assert [meaning for meaning, guess in rows.items() if guess is not None] == ["attention"]
    at.session_state["architectures_design"] = "gpt2"
    at.run()
    assert fine(at) and all(row["guess"] is None for row in given(at, "design_view")["parts"])


def test_nothing_is_asked_of_a_design_in_which_positions_are_most():
    assert is_asked("design") and not is_asked("design", architectures_design="stories;n_context=100000")
