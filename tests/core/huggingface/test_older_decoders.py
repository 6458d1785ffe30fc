"""Decoders between GPT-2 and Llama: config.json and weights as the hub has them, and what is refused by name."""
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from core import huggingface
from core.huggingface import PretrainedError, entries
from core.huggingface.families import FAMILIES
from core.huggingface.fields import Fields
from core.model.transformer import Transformer
from tests.helpers.huggingface_models import hf, ids, randomised
from tests.helpers.models_older import PUBLISHED

# What their files hold besides the weights: masks that follow from the config
MASKS = {"gpt_neo": {"h.0.attn.attention.bias": (1, 1, 40, 40), "h.0.attn.attention.masked_bias": ()},
         "codegen": {"h.0.attn.causal_mask": (1, 1, 40, 40)},
         "gptj": {"h.0.attn.bias": (1, 1, 40, 40), "h.0.attn.masked_bias": ()}}
# their files are of the bare model, without the beginning of its names
BARE = ("BLOOM",)


def published(name: str, folder: Path) -> hf.PreTrainedModel:
    """transformers' random model of a published config.json, and its files under the names of the hub."""
    values = PUBLISHED[name]
    theirs = randomised(hf.AutoModelForCausalLM.from_config(
        hf.AutoConfig.for_model(**values), dtype=torch.float32, attn_implementation="eager"))
    theirs.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(values))
    weights = load_file(folder / "model.safetensors")
    if name in BARE:
        weights = {key.removeprefix("transformer."): weight for key, weight in weights.items()}
    masks = {f"transformer.{key}": torch.ones(shape) for key, shape in MASKS.get(values["model_type"], {}).items()}
    save_file(weights | masks, folder / "model.safetensors")
    return theirs


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_model_as_the_hub_has_it(name, tmp_path):
    theirs = published(name, tmp_path)
    ours, _ = huggingface.from_pretrained(tmp_path)
    expected, trace = theirs(ids(1, 23), output_attentions=True), ours(ids(1, 23))
    assert float((trace.logits - expected.logits).abs().max() / expected.logits.abs().max()) < 1e-5
    for block, pattern in zip(trace.blocks, expected.attentions, strict=True):
        torch.testing.assert_close(block.pattern, pattern, atol=1e-5, rtol=0)
    assert ours.config == FAMILIES[theirs.config.model_type](Fields(theirs.config.to_dict()), ()).config
    assert ours.n_parameters == theirs.num_parameters()


@pytest.mark.parametrize("n_heads", [4, 6])
def test_falcon_rounds_its_alibi_as_the_fused_pass_of_transformers(n_heads, tmp_path):
    """Over a text so long that exact lines of ALiBi give other logits; and ALiBi is added once."""
    values = PUBLISHED["Falcon RW"] | dict(num_attention_heads=n_heads, max_position_embeddings=600)
    theirs = randomised(hf.AutoModelForCausalLM.from_config(
        hf.AutoConfig.for_model(**values), dtype=torch.float32, attn_implementation="sdpa"))
    theirs.save_pretrained(tmp_path)
    ours, _ = huggingface.from_pretrained(tmp_path)
    expected = theirs(ids(1, 600)).logits

    def error(model) -> float:
        return float((model.logits(ids(1, 600)) - expected).abs().max() / expected.abs().max())

    assert error(ours) < 1e-5
    exact = Transformer(ours.config.changed(rounded_alibi=False)).eval().requires_grad_(False)
    exact.load_state_dict(ours.state_dict())
    assert error(exact) > 1e-3


def refusal(values: dict) -> PretrainedError:
    with pytest.raises(PretrainedError) as error:
        FAMILIES[values["model_type"]](Fields(values), ())
    return error.value


@pytest.mark.parametrize("name, changes, said", [
    ("TinyStories", dict(attention_layers=["global", "chunked"]), "'chunked'"),
    ("BLOOM", dict(apply_residual_connection_post_layernorm=True), "apply_residual_connection_post_layernorm = True"),
    ("StarCoder2", dict(partial_rotary_factor=0.5), "rotary positions of 3 of 6 dimensions"),
    ("GPT-J", dict(rotary=False), "rotary = False"), ("GPT-J", dict(rotary_dim=0), "rotary_dim = 0"),
    ("GPT-J", dict(scale_attn_weights=False), "scale_attn_weights = False"),
    ("StableLM 2", dict(rotary_pct=0.5), "rotary_pct = 0.5"),
    ("Falcon 7B", dict(rotary_emb_base=99), "rotary_emb_base = 99"),
    ("Falcon 40B", dict(parallel_attn=None), "parallel_attn = False"),
    ("Falcon 7B", dict(num_ln_in_parallel_attn=2), "num_ln_in_parallel_attn = 2"),
    ("Falcon 40B", dict(num_ln_in_parallel_attn=3), "num_ln_in_parallel_attn = 3"),
    ("Falcon 40B", dict(parallel_attn=False), "parallel_attn = False"),
    ("Falcon 7B", dict(multi_query=False, num_kv_heads=2), "num_kv_heads = 2"),
    ("MPT", dict(no_bias=False), "no_bias = False"), ("MPT", dict(logit_scale="inv_sqrt_d_model"), "logit_scale"),
    ("MPT", dict(expansion_ratio=8), "expansion_ratio = 8"), ("MPT", dict(norm_type="rmsnorm"), "norm_type"),
    *(("MPT", dict(attn_config={key: value}), f"{key} = {value!r}")
      for key, value in dict(alibi=False, alibi_bias_max=16, clip_qkv=6, prefix_lm=True, qk_ln=True, softmax_scale=0.5,
                             attn_type="multiquery_attention").items()),
    ("tiny_starcoder", dict(add_cross_attention=True), "add_cross_attention = True"),
    ("CodeGen", dict(n_head=2), "2 heads, which four processors cannot share"),
])
def test_what_is_not_done_is_refused_by_name(name, changes, said):
    error = refusal(PUBLISHED[name] | changes)
    assert error.reason == "architecture" and said in str(error)


def test_the_blocks_of_gpt_neo_come_from_either_list():
    """attention_layers counts where a file has both, as in transformers."""
    values = PUBLISHED["TinyStories"]

    def masks(**changes):
        kept = {key: value for key, value in (values | changes).items() if value != "gone"}
        config = FAMILIES["gpt_neo"](Fields(kept), ()).config
        return [config.mask_of(layer) for layer in range(config.n_layers)]

    assert masks() == masks(attention_layers="gone") == ["causal", "sliding-window"]
    assert masks(attention_layers="gone", attention_types=[[["local"], 2]]) == ["sliding-window"] * 2
    assert masks(attention_layers=["local", "global"]) == ["sliding-window", "causal"]
    assert hf.AutoConfig.for_model(**values | dict(attention_layers=["local", "global"])).attention_layers[0] == "local"
    assert masks(window_size=40) == ["causal"] * 2
    error = refusal(values | dict(attention_layers=["global"]))
    assert error.reason == "config" and "1 kinds of attention for 2 blocks" in str(error)


def test_columns_of_pairs_that_stand_side_by_side_trade_places():
    entry = entries.paired_side_by_side(entries.into_heads("q", "W_Q", 2, 3, 7), 4)
    numbers = torch.arange(42.0).reshape(14, 3)
    W, = entry.split(numbers)
    assert W[1, 0].tolist() == [3 * (7 + column) for column in (0, 2, 1, 3, 4, 5, 6)]
    assert torch.equal(entry.join(W), numbers)
    assert (value := entries.into_heads("v", "W_V", 2, 3, 7)) is entries.paired_side_by_side(value, 4)


def test_the_gain_of_each_heads_norm_is_a_row_of_one_matrix(tmp_path):
    published("StableLM 2 12B", tmp_path)
    ours, stored = huggingface.from_pretrained(tmp_path)[0], load_file(tmp_path / "model.safetensors")
    for part, n_heads in (("q", 4), ("k", 2)):
        gain = getattr(ours.blocks[1], f"{part}_norm").weight
        assert gain.shape == (n_heads, 8)
        assert all(torch.equal(gain[head], stored[f"model.layers.1.self_attn.{part}_layernorm.norms.{head}.weight"])
                   for head in range(n_heads))
