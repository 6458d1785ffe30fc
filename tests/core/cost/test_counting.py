"""Counting: the formulas against models that exist, against torch's own count of operations, and against numbers worked
by hand or published.
"""
import itertools

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from core.cost import counting
from core.model.config import ACTIVATIONS, KINDS, NORM_PLACEMENTS, POSITIONS, STORIES, ModelConfig
from core.model.kv_cache import KVCache
from core.model.presets import PRESETS
from core.model.transformer import Transformer

SIZES = dict(vocab_size=60, d_model=24, n_layers=3, n_heads=4, n_context=20)
DESIGNS = ([dict(kind=kind, norm_placement=placement, activation=activation)
            for kind, placement, activation in itertools.product(KINDS, NORM_PLACEMENTS, ACTIVATIONS)] + [
                dict(kind=kind, positions=positions, **rest) for kind, positions in itertools.product(KINDS, POSITIONS)
                for rest in (dict(n_kv_heads=2), dict(d_k=8, d_v=4, d_ff=50), dict(d_ff=None, attention_bias=False),
                             dict(mlp_bias=False, norm_bias=False, tied_embeddings=False), dict(n_classes=3))
            ] + [dict(positions="relative", relative_buckets=8, kind=kind) for kind in KINDS]
           + [dict(embedding_norm=True, head_transform=True, unembedding_bias=True, n_token_types=2),
              dict(embedding_width=10, head_transform=True, head_bias=False, plain_maps=True),
              dict(qk_norm=True, d_k=8), dict(qk_norm=True, qk_norm_heads=True, n_kv_heads=2, d_k=8),
              dict(qk_norm=True, qk_norm_heads=True, norm_bias=False),
              dict(parallel_residual=True, shared_norm=True), dict(output_bias=False)]
           + [dict(score=score) for score in ("multiplicative", "additive")]
           + [dict(kind="encoder-decoder", n_encoder_layers=5)])


def on_meta(config: ModelConfig) -> dict[str, int]:
    with torch.device("meta"):
        model = Transformer(config)
    return counting.totals((name, p.numel()) for name, p in model.named_parameters())


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_the_formula_is_what_a_built_model_holds(design):
    config = ModelConfig.of(**SIZES | design)
    model = Transformer(config)
    assert (counting.parameters_by_part(config)
            == counting.totals((name, p.numel()) for name, p in model.named_parameters()) == on_meta(config))
    assert counting.n_parameters(config) == sum(p.numel() for p in model.parameters()) == model.n_parameters


@pytest.mark.parametrize("name", PRESETS)
def test_the_formula_of_every_preset_is_its_count_on_the_meta_device(name):
    config = PRESETS[name].config
    assert counting.parameters_by_part(config) == on_meta(config)


# Counts that are known: those of the released weights (GPT, GPT-2, LLaMA), and of the papers.
@pytest.mark.parametrize("name, known", [("gpt", 116_534_784), ("gpt2", 124_439_808), ("gpt2-medium", 354_823_168),
                                         ("gpt2-large", 774_030_080), ("gpt2-xl", 1_557_611_200),
                                         ("llama-7b", 6_738_415_616), ("llama-65b", 65_285_660_672),
                                         ("llama2-70b", 68_976_648_192), ("gpt3", 174_604_259_328)])
def test_counts_that_are_known_to_the_last_digit(name, known):
    assert counting.n_parameters(PRESETS[name].config) == known


def test_models_whose_released_weights_hold_more_than_ours_differ_by_what_is_named():
    segments, embedding_norm = 2 * 768, 2 * 768
    # and the pooler
    assert (counting.n_parameters(PRESETS["bert-base"].config) + segments + embedding_norm + 768 * 768
            + 768 == 109_482_240)
    # BLOOM norms its embeddings
    assert counting.n_parameters(PRESETS["bloom"].config) + 2 * 14_336 == 176_247_271_424
    # T5 shares its biases among blocks
    ours, theirs = 2 * 12 * 12 * 33, 2 * 12 * 32
    assert counting.n_parameters(PRESETS["t5-base"].config) - ours + theirs == 222_903_552


@pytest.mark.parametrize("name, preset", PRESETS.items())
def test_every_preset_is_as_large_as_its_paper_says_within_four_percent(name, preset):
    if preset.published:
        assert counting.n_parameters(preset.config) == pytest.approx(preset.published, rel=0.04)


def test_the_first_transformer_by_hand():
    """d = 512, d_ff = 2048, 6 + 6 blocks, 37,000 pieces: E 18,944,000; 18 attentions of 4·512²; 12 feed-forward parts
    of 2·512·2048 + 2048 + 512; 30 norms of 2·512.
    """
    assert counting.parameters_by_part(PRESETS["first-base"].config) == {
        "E": 37_000 * 512, "P": 0, "attention": 18 * 4 * 512 ** 2, "mlp": 12 * 2 * 512 * 2048, "norms": 30 * 1024,
        "biases": 12 * 2560, "output": 0}
    assert counting.n_parameters(PRESETS["first-base"].config) == 63_045_632      # the paper: 65 million


def test_gpt_3_by_hand():
    config = PRESETS["gpt3"].config
    parts = counting.parameters_by_part(config)
    assert (counting.rough_parameters(config) == 12 * 96 * 12_288 ** 2 == 173_946_175_488
            == parts["attention"] + parts["mlp"])
    assert parts["E"] == 50_257 * 12_288 and parts["P"] == 2048 * 12_288
    assert parts["biases"] + parts["norms"] == 96 * 13 * 12_288 + 2 * 12_288
    assert (counting.kv_cache_bytes(config, 1) == 96 * 2 * 12_288 * 2
            and counting.weight_bytes(config, "int8") == counting.n_parameters(config))


def test_grouped_keys_and_values_shrink_the_cache_and_nothing_else_but_their_maps():
    whole, grouped = (ModelConfig.of(**SIZES, n_kv_heads=n) for n in (4, 1))
    assert counting.kv_cache_bytes(whole, 10) == 4 * counting.kv_cache_bytes(grouped, 10)
    assert counting.attention_parameters(whole) - counting.attention_parameters(grouped) == 3 * 24 * 12
    assert counting.kv_cache_bytes(ModelConfig.of(**SIZES, kind="encoder"), 10) == 0


@pytest.mark.parametrize("config", [ModelConfig.of(**SIZES), STORIES], ids=["small", "stories"])
def test_the_cache_is_as_large_as_the_one_that_generation_keeps(config):
    model, cache = Transformer(config), KVCache()
    model.logits(torch.zeros(12, dtype=torch.long), cache)
    kept = sum(t.numel() * t.element_size() for pair in cache.keys_and_values.values() for t in pair)
    assert kept == counting.kv_cache_bytes(config, 12, "float32")


@pytest.mark.parametrize("design", [dict(), dict(n_kv_heads=2), dict(activation="swiglu", d_k=8, d_v=4),
                                    dict(kind="encoder", d_ff=None, tied_embeddings=False),
                                    dict(kind="encoder-decoder", n_encoder_layers=2, n_kv_heads=2),
                                    dict(norm_placement="sandwich", positions="alibi"),
                                    dict(kind="encoder", head_transform=True, unembedding_bias=True)], ids=str)
def test_operations_are_those_that_torch_counts(design):
    config = ModelConfig.of(**SIZES | design)
    model, crossed = Transformer(config), config.kind == "encoder-decoder"
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(11, dtype=torch.long), source_ids=torch.zeros(7, dtype=torch.long) if crossed else None)
    assert counter.get_total_flops() == sum(counting.flops(config, 11, n_source=7).values())


def test_the_parts_of_the_products_by_hand():
    """d = 24, h = 4, d_k = d_v = 6, d_ff = 96, |V| = 60, L = 3, N = 5; a head of 3 classes reads one vector."""
    config = ModelConfig.of(**SIZES, n_classes=3)
    found = counting.products(config, 5)
    assert found == {"qkv": 2 * 5 * 3 * 24 * 24 * 3, "scores": 2 * 25 * 6 * 4 * 3, "weighted": 2 * 25 * 6 * 4 * 3,
                     "maps_out": 2 * 5 * 24 * 24 * 3, "mlp": 2 * 5 * 2 * 24 * 96 * 3,
                     "output": 2 * 5 * 24 * 60 + 2 * 24 * 3}
    assert tuple(found) == counting.PRODUCTS and sum(counting.flops(config, 5).values()) == sum(found.values())


def test_a_token_after_cached_ones_is_what_the_whole_costs_more():
    config = ModelConfig.of(**SIZES)
    one, whole, less = counting.flops(config, 1, cached=10), counting.flops(config, 11), counting.flops(config, 10)
    assert {name: whole[name] - less[name] for name in one if name != "scores"} == {name: one[name] for name in one
                                                                                    if name != "scores"}
    assert one["scores"] == 3 * 2 * 4 * 12 * 11
