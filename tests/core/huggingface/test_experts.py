"""Mixtures of experts: config.json and weights as the hub has them, both layouts of the experts, what is refused."""
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from core import huggingface
from core.huggingface import PretrainedError
from core.huggingface.families import plan_of
from core.huggingface.positions import yarn
from core.model.positional import rotary_frequencies
from tests.helpers.huggingface_models import hf, ids, made, randomised
from tests.helpers.models_experts import CASES, PUBLISHED

EXPERTS = {"mixtral": "block_sparse_moe.experts.3.w1.weight", "qwen2_moe": "mlp.experts.3.gate_proj.weight",
           "qwen3_moe": "mlp.experts.3.up_proj.weight", "olmoe": "mlp.experts.3.down_proj.weight",
           "gpt_oss": "mlp.experts.gate_up_proj_bias"}


def published(name: str, folder: Path) -> hf.PreTrainedModel:
    """transformers' random model of a published config.json, and its files under the names of the hub."""
    values = PUBLISHED[name]
    theirs = randomised(hf.AutoModelForCausalLM.from_config(hf.AutoConfig.for_model(**values),
                                                            attn_implementation="eager", dtype=torch.float32))
    theirs.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(values))
    assert f"model.layers.1.{EXPERTS[values['model_type']]}" in load_file(folder / "model.safetensors")
    return theirs


def equal(ours, theirs) -> bool:
    expected, trace = theirs(ids(1, 23), output_attentions=True), ours(ids(1, 23))
    for block, pattern in zip(trace.blocks, expected.attentions, strict=True):
        torch.testing.assert_close(block.pattern, pattern, atol=1e-5, rtol=0)
    return float((trace.logits - expected.logits).abs().max() / expected.logits.abs().max()) < 1e-5


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_model_as_the_hub_has_it(name, tmp_path):
    theirs = published(name, tmp_path)
    ours, _ = huggingface.from_pretrained(tmp_path)
    assert equal(ours, theirs) and ours.n_parameters == theirs.num_parameters()
    theirs.save_pretrained(tmp_path / "new")
    assert huggingface.from_pretrained(tmp_path / "new")[0].config == ours.config


@pytest.mark.parametrize("name", [name for name in CASES if "gpt-oss" not in name])
def test_merged_experts_are_the_same(name, tmp_path):
    theirs = made(name)
    for folder, separate in (("separate", True), ("merged", False)):
        theirs.save_pretrained(tmp_path / folder, save_original_format=separate)
    assert any(key.endswith("experts.gate_up_proj") for key in load_file(tmp_path / "merged" / "model.safetensors"))
    one, other = (huggingface.from_pretrained(tmp_path / folder)[0].state_dict() for folder in ("separate", "merged"))
    assert one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("name", CASES)
def test_what_is_taken_apart_is_put_together_again(name, tmp_path):
    """Every tensor of a file in either layout is what the plan makes of our parameters."""
    theirs = made(name)
    for folder, separate in (("separate", True), ("merged", False)):
        theirs.save_pretrained(tmp_path / folder, save_original_format=separate)
        stored = load_file(tmp_path / folder / "model.safetensors")
        for entry in plan_of(json.loads((tmp_path / folder / "config.json").read_text()), stored).entries:
            assert torch.equal(entry.join(*entry.split(stored[entry.theirs])), stored[entry.theirs])


@pytest.mark.parametrize("table", [
    dict(factor=32.0, beta_fast=32.0, beta_slow=1.0, truncate=False, original_max_position_embeddings=4096),
    dict(factor=4.0, original_max_position_embeddings=64), dict(factor=4.0, attention_factor=1.5),
    dict(factor=40.0, mscale=1.0, mscale_all_dim=0.5, original_max_position_embeddings=512)], ids=str)
def test_yarn_is_transformers(table):
    config = hf.GptOssConfig(head_dim=64, max_position_embeddings=2048,
                             rope_parameters=dict(table, rope_type="yarn", rope_theta=150_000.0))
    expected, gain = hf.modeling_rope_utils.ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    ours = yarn(dict(table, rope_type="yarn"), 64, 150_000.0, table.get("original_max_position_embeddings", 2048), 2048)
    found = rotary_frequencies(64, 150_000.0, factors=ours["rotary_factors"])
    torch.testing.assert_close(found.float(), expected, rtol=1e-5, atol=0)
    assert ours["rotary_gain"] == pytest.approx(gain)


@pytest.mark.parametrize("family, base", [("mixtral", 1e6), ("gpt_oss", 150_000.0), ("olmoe", 1e4)])
def test_a_config_without_positions_has_those_of_its_family(family, base):
    name = next(name for name, values in PUBLISHED.items() if values["model_type"] == family)
    values = {key: value for key, value in PUBLISHED[name].items() if not key.startswith("rope")}
    config, theirs = plan_of(values, ()).config, hf.AutoConfig.for_model(**values)
    assert config.rotary.rotary_base == theirs.rope_parameters["rope_theta"] == base
    assert len(config.rotary.rotary_factors) == (4 if family == "gpt_oss" else 0)


@pytest.mark.parametrize("name, changes, said", [
    ("gpt-oss-20b-bf16", dict(quantization_config=dict(quant_method="mxfp4")), "quantised"),
    ("gpt-oss-20b-bf16", dict(swiglu_limit=5.0), "swiglu_limit = 5.0"),
    ("gpt-oss-20b-bf16", dict(swiglu_alpha=1.0), "swiglu_alpha = 1.0"),
    ("gpt-oss-20b-bf16", dict(layer_types=["chunked_attention"] * 2), "chunked_attention"),
    ("gpt-oss-20b-bf16", dict(rope_scaling=dict(rope_type="yarn", factor=2.0, low_freq_factor=1)),
     "low_freq_factor = 1"),
    ("OLMoE-1B-7B-0924", dict(clip_qkv=8.0), "clip_qkv = 8.0"),
    ("Qwen3-30B-A3B", dict(partial_rotary_factor=0.5), "partial_rotary_factor = 0.5"),
    ("Qwen1.5-MoE-A2.7B", dict(layer_types=["sliding_attention"] * 2), "use_sliding_window = False"),
    ("Mixtral-8x7B-v0.1", dict(hidden_act="tanh"), "'tanh'")], ids=str)
def test_what_is_not_done_is_refused_by_name(name, changes, said):
    with pytest.raises(PretrainedError) as error:
        plan_of(PUBLISHED[name] | changes, ())
    assert error.value.reason == "architecture" and said in str(error.value)


def test_quantised_files_and_latent_attention_are_refused():
    with pytest.raises(PretrainedError, match="MXFP4"):
        plan_of(PUBLISHED["gpt-oss-20b-bf16"], ("model.layers.0.mlp.experts.gate_up_proj_blocks",))
    for family in ("deepseek_v2", "deepseek_v3", "kimi_k2"):
        with pytest.raises(PretrainedError, match="multi-head latent attention"):
            plan_of(dict(model_type=family), ())


def test_a_model_without_experts_in_any_block_is_dense():
    values = PUBLISHED["Qwen3-30B-A3B"] | dict(mlp_only_layers=[0, 1])
    assert plan_of(values, ()).config.experts.n_experts == 0 and plan_of(values, ()).config.d_ff == 72
