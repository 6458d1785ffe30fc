"""Decoders since 2024 from a config.json as it was published, with smaller sizes, and as transformers saves it now."""
import json
import math

import pytest
import torch
from safetensors.torch import save_file
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from core import huggingface
from core.huggingface import PretrainedError
from core.huggingface.families import plan_of
from core.huggingface.positions import longrope, yarn
from core.model import positional
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from tests.core.huggingface.test_families import compared, relative_error
from tests.helpers.huggingface_models import N_TOKENS, hf, ids, randomised, saved
from tests.helpers.models_published import PUBLISHED


def published(values: dict, folder):
    """transformers' model of this config.json, with random weights, and the two files as they were published."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(values))
    theirs = randomised(hf.AutoModelForCausalLM.from_config(hf.AutoConfig.from_pretrained(folder), dtype=torch.float32,
                                                            attn_implementation="eager"))
    save_file({name: p.clone().contiguous() for name, p in theirs.named_parameters()}, folder / "model.safetensors")
    return theirs


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_files_and_those_that_are_saved_today_are_one_model(name, tmp_path):
    theirs = published(PUBLISHED[name], tmp_path / "published")
    theirs.save_pretrained(tmp_path / "saved")
    models = [huggingface.from_pretrained(tmp_path / layout)[0] for layout in ("published", "saved")]
    expected = theirs(ids(1, N_TOKENS), output_attentions=True, output_hidden_states=True)
    for ours in models:
        errors = [relative_error(*both) for both in compared(ours(ids(1, N_TOKENS)), expected)]
        assert expected.logits.std() > 0.2 and max(errors) < 1e-5, errors
    assert models[0].config == models[1].config
    assert all(torch.equal(*pair) for pair in zip(*(model.state_dict().values() for model in models), strict=True))
    greedy = theirs.generate(ids(1, 7), max_new_tokens=12, do_sample=False, eos_token_id=None)[0].tolist()
    found = list(generate(models[0], ids(7).tolist(), SamplingConfig(temperature=0), max_new_tokens=12))
    assert greedy[:len(found[-1].token_ids)] == list(found[-1].token_ids)


def plan(name: str, **changes):
    """Our config for a published config.json with changes; None takes a key away."""
    values = PUBLISHED[name] | changes
    return plan_of({key: value for key, value in values.items() if value is not None}, ()).config


def test_gemma_3_by_its_keys():
    config = plan("gemma-3-1b")
    assert config.scores.block_masks == ("sliding-window",) * 2 + ("causal",) + ("sliding-window",) * 2
    assert config.scores.window == 6
    assert config.rotary.block_rotary_bases == (10_000.0, 10_000.0, 1e6, 10_000.0, 10_000.0)
    assert config.rotary.rotary_base == 1e6
    assert config.scores.score_divisor == pytest.approx(256 ** 0.5)
    assert (config.scores.score_cap, config.head.logit_cap) == (0, 0)
    wide = plan("gemma-3-1b", sliding_window=40)
    assert not wide.scores.block_masks and wide.rotary.block_rotary_bases == config.rotary.block_rotary_bases
    assert plan("gemma-3-1b", sliding_window_pattern=1).rotary.rotary_base == 1e6
    assert not plan("gemma-3-1b", sliding_window_pattern=1).rotary.block_rotary_bases
    slowed = dict(rope_type="linear", factor=8.0)
    windows = plan("gemma-3-1b", sliding_window_pattern=9, rope_scaling=slowed)
    assert (windows.rotary.rotary_base, windows.rotary.rotary_scaling) == (10_000.0, ()), \
        "only blocks without a window are slowed"
    assert plan("gemma-3-1b", rope_scaling=slowed).rotary.rotary_scaling == (8.0,)


def test_smollm_3_by_its_keys():
    config = plan("SmolLM3-3B")
    assert config.rotary.block_rotary_bases == (5e6, 5e6, 5e6, 0.0)
    assert (config.mask, config.scores.block_masks) == ("causal", ())
    assert plan("SmolLM3-3B", no_rope_layers=None, no_rope_layer_interval=2).rotary.block_rotary_bases == (5e6, 0.0) * 2
    assert plan("SmolLM3-3B", rope_theta=None).rotary.rotary_base == 2e6
    windowed = plan("SmolLM3-3B", layer_types=None, use_sliding_window=True, sliding_window=7)
    assert windowed.scores.block_masks == ("causal",) * 3 + ("sliding-window",) and windowed.scores.window == 7
    assert plan("SmolLM3-3B", num_key_value_heads=None).n_kv_heads == 4      # the default of its class
    with_yarn = plan("SmolLM3-3B", rope_scaling=dict(rope_type="yarn", factor=2.0, original_max_position_embeddings=20))
    assert with_yarn.rotary.rotary_factors and with_yarn.rotary.block_rotary_bases == config.rotary.block_rotary_bases


def test_scores_of_granite_are_divided_by_one_over_its_number():
    assert plan("granite-3.3-2b").scores.score_divisor == 64 and plan("granite-3.3-2b").head.logit_scale == 1 / 8
    usual = plan("granite-3.3-2b", attention_multiplier=6 ** -0.5)
    assert (usual.scores.scale_scores, usual.scores.score_divisor, usual.divisor) == (True, 0.0, 6 ** 0.5)
    assert not plan("granite-3.3-2b", attention_multiplier=1).scores.scale_scores


def test_yarn_by_hand():
    """Width 8 and base 10: pair j turns 63/2π · 10^(−j/4) times within 63 tokens, which is 10.03 · 10^(−j/4). Two turns
    are at j = 2.8, one at 4.0046: pairs up to 2 keep their ω, pairs from 5 on have a quarter, and pair 3, a third of
    the way, has 2/3 ω + 1/3 ω/4 = 3/4 ω.
    """
    found = yarn(dict(factor=4.0, beta_fast=2.0), 8, 10.0, 63, 252)
    assert found["rotary_factors"] == pytest.approx((1, 1, 1, 4 / 3))
    assert found["rotary_gain"] == pytest.approx(1 + 0.1 * math.log(4))
    exact = yarn(dict(factor=4.0, beta_fast=2.0, truncate=False), 8, 10.0, 63, 252)["rotary_factors"]
    share = (3 - 2.800523) / (4.004643 - 2.800523)
    assert exact == pytest.approx((1, 1, 1, 1 / (1 - share + share / 4)))


@pytest.mark.parametrize("table", [
    dict(), dict(beta_fast=4.0, beta_slow=0.5), dict(truncate=False, beta_fast=3.0), dict(attention_factor=0.8),
    dict(mscale=0.7, mscale_all_dim=1.3), dict(mscale=0.7), dict(factor=None), dict(factor=0.5),
    dict(original_max_position_embeddings=7), dict(beta_fast=1.0, beta_slow=1.0)], ids=str)
@pytest.mark.parametrize("width, base", [(8, 50.0), (64, 10_000.0)])
def test_yarn_is_theirs(table, width, base):
    table = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=30) | table
    config = hf.LlamaConfig(hidden_size=2 * width, num_attention_heads=2, max_position_embeddings=120,
                            rope_parameters=table | dict(rope_theta=base))
    expected, gain = ROPE_INIT_FUNCTIONS["yarn"](config)
    found = yarn(table, width, base, table["original_max_position_embeddings"], 120)
    ours = positional.rotary_frequencies(width, base, factors=found["rotary_factors"])
    torch.testing.assert_close(ours.float(), expected, rtol=1e-5, atol=0)
    assert found["rotary_gain"] == pytest.approx(gain)


@pytest.mark.parametrize("table", [dict(), dict(attention_factor=1.5), dict(factor=3.0), dict(factor=1.0)], ids=str)
def test_longrope_is_theirs(table):
    table = dict(rope_type="longrope", short_factor=[1.0, 1.5, 4.0], long_factor=[2.0, 3.0, 8.0]) | table
    config = hf.Phi3Config(hidden_size=12, num_attention_heads=2, max_position_embeddings=160, rope_parameters=table,
                           original_max_position_embeddings=40, pad_token_id=0)
    expected, gain = ROPE_INIT_FUNCTIONS["longrope"](config)
    found = longrope(table, 40, 160)
    ours = positional.rotary_frequencies(6, 10_000.0, factors=found["rotary_factors"])
    torch.testing.assert_close(ours.float(), expected, rtol=1e-5, atol=0)
    assert found["rotary_gain"] == pytest.approx(gain) and found["n_context"] == 40


@pytest.mark.parametrize("name", ["phi3 tied, for long texts", "llama in dynamic ntk"])
def test_the_longest_text_is_theirs_and_a_longer_one_would_be_turned_otherwise(name, tmp_path):
    theirs = saved(name, tmp_path)
    ours, _ = huggingface.from_pretrained(tmp_path)
    assert relative_error(ours(ids(1, 40)).logits, theirs(ids(1, 40)).logits) < 1e-5
    assert relative_error(ours(ids(1, 41)).logits, theirs(ids(1, 41)).logits) > 1e-3


@pytest.mark.parametrize("table", [
    dict(factor=2.0, beta_fast="many"), dict(factor=2.0, original_max_position_embeddings=0), dict(factor=-2.0),
    dict(factor=2.0, rope_theta=1.0), dict(factor=float("inf"))], ids=str)
def test_yarn_that_cannot_be_computed_is_refused(table):
    with pytest.raises(PretrainedError) as error:
        plan("Qwen2.5-7B, for long texts", rope_scaling=dict(type="yarn", original_max_position_embeddings=20) | table)
    assert error.value.reason == "config"


@pytest.mark.parametrize("table", [dict(short_factor=[1.0]), dict(short_factor=None), dict(short_factor=["a"] * 3),
                                   dict(short_factor=[1.0] * 3, attention_factor=0.0)], ids=str)
def test_longrope_that_cannot_be_computed_is_refused(table):
    with pytest.raises(PretrainedError) as error:
        plan("Phi-3.5-mini", rope_scaling=dict(type="longrope", long_factor=[1.0] * 3) | table)
    assert error.value.reason == "config"


@pytest.mark.parametrize("name, changes, told", [
    ("gemma-3-1b", dict(use_bidirectional_attention=True), "use_bidirectional_attention = True"),
    ("gemma-3-1b", dict(attn_logit_softcapping=50.0), "attn_logit_softcapping = 50.0"),
    ("gemma-3-1b", dict(rope_scaling=dict(rope_type="yarn", factor=2.0)), "of the kind 'yarn'"),
    ("gemma-3-1b", dict(rope_scaling=dict(type="linear", factor=2.0)), "of the kind 'linear'"),
    ("gemma-3-1b", dict(rope_parameters=dict(rope_theta=9.0)), "rope_theta in rope_parameters"),
    ("gemma-3-1b", dict(rope_local_base_freq=1e6, rope_scaling=dict(rope_type="linear", factor=2)), "one rotary base"),
    ("gemma-3-1b", dict(layer_types=["chunked_attention"] * 5), "of the type 'chunked_attention'"),
    ("gemma-3-1b", dict(query_pre_attn_scalar=0), "query_pre_attn_scalar = 0"),
    ("gemma-2-2b", dict(hidden_activation="tanh"), "activation 'tanh'"),
    ("SmolLM3-3B", dict(rope_scaling=dict(type="longrope", factor=2.0)), "of the kind 'longrope'"),
    ("SmolLM3-3B", dict(layer_types=["chunked_attention"] * 4), "of the type 'chunked_attention'"),
    ("granite-3.3-2b", dict(rope_scaling=dict(partial_rotary_factor=0.7)), "partial_rotary_factor = 0.7"),
    ("c4ai-command-r-v01", dict(rope_scaling=dict(partial_rotary_factor=0.7)), "partial_rotary_factor = 0.7"),
    ("gemma-3-1b", dict(rope_scaling=dict(partial_rotary_factor=0.7)), "partial_rotary_factor = 0.7"),
    ("SmolLM3-3B", dict(partial_rotary_factor=0.7), "partial_rotary_factor = 0.7"),
    ("OLMo-1B-hf", dict(clip_qkv=8.0), "clip_qkv = 8.0"),
    ("Phi-3-mini-4k", dict(rope_scaling=dict(type="linear", factor=2.0)), "of the kind 'linear'"),
    ("granite-3.3-2b", dict(attention_multiplier=0), "attention_multiplier = 0"),
    ("granite-3.3-2b", dict(logits_scaling=-1.0), "logits_scaling = -1.0"),
    ("c4ai-command-r7b", dict(use_qk_norm=True), "use_qk_norm = True"),
    ("c4ai-command-r7b", dict(use_parallel_block=False), "use_parallel_block = False"),
    ("c4ai-command-r7b", dict(rotary_pct=0.5), "rotary_pct = 0.5"),
    ("c4ai-command-r7b", dict(head_dim=8), "head_dim = 8"),
], ids=str)
def test_what_this_program_cannot_do_is_refused_by_name(name, changes, told):
    with pytest.raises(PretrainedError, match=told) as error:
        plan(name, **changes)
    assert error.value.reason == "architecture"
