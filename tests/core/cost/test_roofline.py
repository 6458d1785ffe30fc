"""The roofline: bytes that are moved, counted on a built model's tensors; bounds by hand, and by their two times."""
from __future__ import annotations

import math

import pytest
import torch

from core.cost import built_models, counting, roofline
from core.model.config import STORIES, ModelConfig
from core.model.kv_cache import KVCache
from core.model.presets import PRESETS
from core.model.transformer import Transformer

HARDWARE = built_models.load().hardware
GPT3 = PRESETS["gpt3"].config
SMALL = dict(vocab_size=60, d_model=24, n_layers=3, n_heads=4, n_context=20)


@pytest.mark.parametrize("design", [dict(), dict(tied_embeddings=False), dict(positions="rotary", n_kv_heads=2),
                                    dict(activation="swiglu", tied_embeddings=False, positions="none")], ids=str)
def test_a_pass_moves_all_weights_once_and_what_its_cache_holds(design: dict):
    config = ModelConfig.of(**SMALL | design)
    model, cache = Transformer(config), KVCache()
    model.logits(torch.zeros(7, dtype=torch.long), cache)
    numbers = sum(p.numel() for name, p in model.named_parameters()
                  if name != "P" and not (name == "E" and model.W_U is not None))
    tables = ("P" in dict(model.named_parameters())) + (model.W_U is not None)
    kept = sum(t.numel() for pair in cache.keys_and_values.values() for t in pair)
    assert roofline.reading(config, 7).bytes == 2 * (numbers + tables * 7 * 24 + kept)
    assert roofline.writing(config, 7, 3).bytes == 2 * (numbers + tables * 3 * 24 + 3 * kept)


def test_gpt_3_by_hand():
    """Weights 174.6 · 2 GB; a token of the cache 4.72 MB. Writing takes two operations a weight of two bytes: 1."""
    write, read = roofline.writing(GPT3, 2048), roofline.reading(GPT3, 2048)
    assert write.intensity == pytest.approx(1, abs=0.001)
    assert read.intensity == pytest.approx(2048, rel=0.01)
    assert write.bytes == pytest.approx(2 * 174_604_259_328 + 2048 * 4_718_592, rel=0.001)
    assert write.operations == pytest.approx(2 * 174_604_259_328 + 2048 * 4 * 96 * 12_288, rel=0.001)
    device = HARDWARE["h100"]
    assert roofline.attainable(read, device) == device.peak == 989e12
    assert roofline.attainable(write, device) == pytest.approx(3.35e12, rel=0.001)


@pytest.mark.parametrize("device", HARDWARE.values(), ids=lambda device: device.name)
@pytest.mark.parametrize("texts", [1, 8, 1024])
def test_the_bound_is_the_longer_of_the_two_times(device: built_models.Hardware, texts: int):
    for config in (GPT3, STORIES, PRESETS["llama2-70b"].config):
        for work in (roofline.reading(config, 200), roofline.writing(config, 200, texts)):
            longest = max(work.operations / device.peak, work.bytes / device.bandwidth)
            assert work.operations / roofline.attainable(work, device) == pytest.approx(longest)


def test_a_batch_raises_the_intensity_up_to_what_the_cache_alone_allows():
    found = [roofline.writing(GPT3, 2048, 2 ** k).intensity for k in range(16)]
    one = sum(counting.products(GPT3, 1, cached=2047).values())
    assert found == sorted(found) and found[-1] < one / counting.kv_cache_bytes(GPT3, 2048)
    assert found[-1] == pytest.approx(one / counting.kv_cache_bytes(GPT3, 2048), rel=0.01)
    shared = PRESETS["llama2-70b"].config
    assert roofline.writing(shared, 2048, 256).intensity > 3 * roofline.writing(GPT3, 2048, 256).intensity


# NVIDIA's data sheets of V100 SXM2 32 GB, A100 SXM 80 GB and H100 SXM, and Google Cloud's page on TPU v4
@pytest.mark.parametrize(("key", "ridge"), [("v100", 125e12 / 900e9), ("a100", 312e12 / 2039e9),
                                            ("h100", 989e12 / 3350e9), ("tpu_v4", 275e12 / 1200e9)])
def test_the_ridge_of_each_device(key: str, ridge: float):
    device = HARDWARE[key]
    assert device.peak / device.bandwidth == pytest.approx(ridge)
    low, high = (roofline.Work(operations, 1) for operations in (math.floor(ridge), math.ceil(ridge)))
    assert roofline.attainable(low, device) < device.peak == roofline.attainable(high, device)
