"""The loss by position, against one pass for each piece; and how positions are put together."""

import numpy as np
import pytest
import torch

from core.evaluation.lengths import loss_by_position, stretches
from core.model.config import ModelConfig
from core.model.transformer import Transformer

CONFIG = ModelConfig(vocab_size=11, d_model=8, n_layers=1, n_heads=2, n_context=6, positions="rotary")
DOCUMENTS = [np.array([1, 2, 3, 4, 5, 6, 7, 8, 9]), np.array([3, 1]),
             np.array([9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 2, 3, 4, 5, 6, 7, 8])]


def model_of(**changes) -> Transformer:
    return (Transformer(CONFIG.changed(**changes)).initialise(torch.Generator().manual_seed(0))
            .requires_grad_(False))


def test_each_position_is_the_mean_of_its_losses():
    model, pieces = model_of(), [DOCUMENTS[0][:8], DOCUMENTS[2][:8], DOCUMENTS[2][8:16]]
    by_hand = [-torch.log_softmax(model(torch.tensor([0, *piece[:-1]])).logits.double(), -1)[range(8), piece].numpy()
               for piece in pieces]
    assert loss_by_position(model, pieces, batch_size=2) == pytest.approx(np.mean(by_hand, axis=0), rel=1e-5)
    found = stretches(model, DOCUMENTS, window=8, width=4)
    assert [(s.first, s.last, s.n) for s in found] == [(0, 4, 12), (4, 6, 6), (6, 8, 6)]
    assert found[1].nats_per_token == pytest.approx(np.mean(by_hand, axis=0)[4:6].mean(), rel=1e-5)


def test_learned_positions_end_where_they_were_trained():
    assert [s.last for s in stretches(model_of(positions="learned"), DOCUMENTS, window=8, width=4)] == [4, 6]


def test_without_a_long_document_there_is_nothing_to_measure():
    assert stretches(model_of(), DOCUMENTS, window=18) == ()
