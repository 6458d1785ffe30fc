"""Linear probes: what they read of vectors made by hand, beside the formula of least squares; and what was recorded."""
from __future__ import annotations

import numpy as np
import pytest
import torch

from core.learning import probe
from core.model import checkpoints

SIZE, D = 12, 24


def made(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(n, D) vectors in which one of SIZE classes is written as a direction of its own, and the classes (n,)."""
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(SIZE, D, generator=torch.Generator().manual_seed(9))
    classes = torch.randint(SIZE, (n,), generator=generator)
    return directions[classes] + 0.1 * torch.randn(n, D, generator=generator), classes


def test_a_probe_reads_what_a_matrix_product_reaches_and_nothing_of_shuffled_labels():
    (h, classes), beside, (new, true) = made(4000, 1), made(500, 5), made(1000, 2)
    share, bits = probe.tried(probe.trained(h, classes, beside, SIZE + 1, seed=0), new, true)
    assert share > 0.99 and bits < 0.1
    shuffled = classes[torch.randperm(len(classes), generator=torch.Generator().manual_seed(3))]
    reader = probe.trained(h, shuffled, beside, SIZE + 1, seed=0, steps=200)
    counts = torch.bincount(classes, minlength=SIZE + 1) + 0.5
    assert torch.equal(reader(new).argmax(-1), counts.argmax().expand(len(new)))       # the commonest class, always
    assert probe.tried(reader, new, true)[1] == pytest.approx(float(-(counts / counts.sum()).log2()[true].mean()),
                                                              rel=1e-5)


def test_the_class_of_all_others_is_never_named():
    h, classes = made(500, 4)
    reader = torch.nn.Linear(D, SIZE)
    with torch.no_grad():
        reader.weight.zero_()
        reader.bias.copy_(torch.arange(SIZE).float())
    share, bits = probe.tried(reader, h, classes)
    p = np.exp(np.arange(SIZE)) / np.exp(np.arange(SIZE)).sum()
    assert share == pytest.approx(float((classes == SIZE - 2).float().mean()))
    assert bits == pytest.approx(-np.log2(p[classes.numpy()]).mean(), rel=1e-5)


def test_labels_stand_k_places_before_the_vectors():
    model, _ = checkpoints.load_bundled(probe.MODEL)
    texts = probe.written(model, 3, 20, seed=1)
    far = probe.DISTANCES[-1]
    assert texts.shape == (3, 20) and (texts[:, 0] == model.config.first_token).all()
    h = probe.vectors(model, texts, 4)
    for row, text in enumerate(texts):
        trace = model(text)
        for place, t in enumerate(range(far + 1, 20)):
            assert torch.allclose(h[row, place], trace.blocks[4].resid_pre[t], atol=1e-4)
            assert [int(probe.labels(texts, k)[row, place]) for k in probe.DISTANCES] == [
                int(text[t - k]) for k in probe.DISTANCES]


def test_the_commonest_tokens_are_the_first_classes():
    assert probe.classes_of(torch.tensor([[5, 5, 5], [2, 2, 7]]), 9, 3).tolist() == [2, 2, 1, 2, 2, 0, 2, 2, 2]


def test_what_was_recorded_lies_between_its_controls_and_what_can_be_named():
    found = probe.recorded()
    n_blocks = checkpoints.load_bundled(probe.MODEL)[0].config.n_layers
    assert found.accuracy.shape == found.bits.shape == (n_blocks + 1, len(probe.DISTANCES))
    assert found.accuracy.max() <= found.covered + 0.02
    assert np.abs(found.shuffled - found.commonest).max() < 0.01
    assert (found.bits < found.entropy + 0.03).all()
    assert (found.accuracy[1:, 1:3].min(0) > 2 * found.commonest[1:3]).all()
    assert (found.bits[-1, 1:4] < found.entropy[1:4]).all()


def test_the_middle_blocks_name_more_than_the_last_and_far_tokens_are_hardly_named():
    found, last = probe.recorded(), probe.DISTANCES.index(16)
    near = slice(1, probe.DISTANCES.index(6) + 1)
    assert (found.accuracy[3, near] > found.accuracy[-1, near]).all() and found.accuracy[-1, 1] > 0.6
    assert (np.diff(found.accuracy[-1, near]) < 0).all()
    assert found.accuracy[1:, last].max() < 1.5 * found.commonest[last]
