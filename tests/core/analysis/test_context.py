"""The context's vector after exchanging a token, against whole traced passes."""
import random

import numpy as np
import pytest
import torch

from core.analysis import context
from tests.core.analysis.test_stream_and_heads import run


def test_an_exchange_is_measured_as_whole_passes_measure_it():
    model, trace = run()
    ids = trace.token_ids.tolist()
    found = context.exchanged(model, ids, seed=3, n_times=2)
    assert found.kl.shape == found.cosine.shape == found.changed.shape == (len(ids),)
    for i in (1, 4, len(ids) - 1):
        others = sorted(set(ids[1:]) - {ids[i]})
        drawn = random.Random(f"3 {i}").sample(others, 2)
        kl, cosine, changed = [], [], []
        for other in drawn:
            with torch.no_grad():
                after = model(torch.tensor([*ids[:i], other, *ids[i + 1:]]))
            p, q = (t.logits[-1].softmax(-1).numpy() for t in (trace, after))
            a, b = (t.h_final[-1].numpy() for t in (trace, after))
            kl.append((p * np.log(p / q)).sum())
            cosine.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
            changed.append((a.astype(np.float16) != b.astype(np.float16)).sum())
        assert found.kl[i] == pytest.approx(np.mean(kl), abs=1e-9)
        assert found.cosine[i] == pytest.approx(np.mean(cosine), abs=1e-9) and found.changed[i] == min(changed)


def test_a_text_of_one_kind_of_token_can_be_exchanged_too():
    model, _ = run()
    found = context.exchanged(model, [5, 5, 5], seed=1)
    assert np.isfinite(found.kl).all() and (found.kl > 0).all()
