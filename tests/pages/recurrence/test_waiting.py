"""The losses that come in: those of the picture are torch's, and the steps are those of the question."""
from __future__ import annotations

import pytest
import torch
from torch import nn

from core.app.compute import cache
from core.app.state.run import read
from pages.recurrence import unrolled, waiting
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import formulas, given
from tests.helpers.predictions import modes

PROMPT = "The bank of the river was green."


def test_the_losses_are_those_of_torchs_network_and_of_the_model():
    run = read(cache.shared_model(cache.model_names()[0], "cpu"), PROMPT)
    found, ids = waiting.losses_of(run), torch.tensor(run.token_ids)
    n = len(ids) - 1
    with torch.no_grad():
        p = run.model.logits(ids)[:-1].double().softmax(-1)[range(n), ids[1:]]
    assert found["transformer"] == pytest.approx((-p.log()).tolist(), abs=1e-4)
    generator, X = torch.Generator().manual_seed(0), unrolled.inputs(run)[:-1]
    W_x = torch.randn(1, X.shape[1], 16, generator=generator, dtype=torch.float64)[0] / X.shape[1] ** 0.5
    Q, R = torch.linalg.qr(torch.randn(16, 16, generator=generator, dtype=torch.float64))
    twin = nn.RNN(X.shape[1], 16, bias=False, batch_first=True).double()
    with torch.no_grad():
        twin.weight_ih_l0.copy_(W_x.T)
        twin.weight_hh_l0.copy_((Q * R.diagonal().sign()).T)
        V = torch.randn(16, run.model.config.vocab_size, generator=generator, dtype=torch.float64) / 4
        logits = twin(X[None])[0][0] @ V
    assert found["recurrent"] == pytest.approx((-logits.log_softmax(-1)[range(n), ids[1:]]).tolist(), abs=1e-9)
    assert all(loss > min(found["transformer"]) for loss in found["recurrent"])


def test_the_page_says_the_steps_and_the_mean():
    at = open_at("recurrence", recurrence_view="serial", recurrence_race="losses", prompt=PROMPT)
    assert fine(at)
    sent = given(at, "recurrence_waiting")
    n, mean = len(sent["tokens"]), sum(sent["losses"]["transformer"]) / len(sent["tokens"])
    assert sent["blocks"] == 6 and n == len(sent["losses"]["recurrent"])
    assert float(formulas(at)[0].split(" = ")[-1]) == pytest.approx(mean, abs=6e-5)


def test_a_text_of_one_token_has_no_loss_and_shows_the_times():
    at = open_at("recurrence", recurrence_view="serial", recurrence_race="losses", prompt="")
    assert fine(at) and at.get("vega_lite_chart")


def test_nothing_is_asked_where_the_losses_come_in():
    at = open_at("recurrence", ask="true", recurrence_view="serial", recurrence_race="losses")
    assert fine(at) and "ask" not in modes(at)
