"""Every key of a config.json is read, known to be without effect, refused by name and value where transformers knows
it, or passed over and named where it does not.
"""
import json

import pytest
import torch

from core import huggingface
from core.huggingface import PretrainedError, keys, reference
from core.huggingface.families import FAMILIES, plan_of
from tests.core.huggingface.test_families import relative_error
from tests.helpers import published_sizes, reference_keys
from tests.helpers.huggingface_models import CASES, ENCODERS, hf, ids, randomised
from tests.helpers.published_configs import PUBLISHED

T5_HEAD = {"lm_head.weight"}
DECODERS = [name for name, values in PUBLISHED.items() if "bert" not in name and values["model_type"] != "t5"]


def refusal(values: dict) -> str:
    with pytest.raises(PretrainedError) as error:
        plan_of(values, T5_HEAD if values["model_type"] == "t5" else ())
    assert error.value.reason == "architecture"
    return str(error.value)


def test_every_family_is_here():
    assert {values["model_type"] for values in PUBLISHED.values()} >= {
        "gpt2", "opt", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "gemma", "phi", "bert", "roberta",
        "distilbert", "t5"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_configs_are_accepted_and_what_transformers_does_not_know_is_passed_over(name):
    values, head = PUBLISHED[name], T5_HEAD if PUBLISHED[name]["model_type"] == "t5" else ()
    plan = plan_of(values, head)
    silent = {"a_new_trick": None, "pruned_heads": {}, "quantization_config": None}
    assert plan_of(values | silent, head).config == plan.config and not plan.passed_over
    more = plan_of(values | {"a_new_trick": 3, "a_table": list(range(999))}, head)
    assert more.config == plan.config and more.passed_over[-2] == "a_new_trick = 3"
    assert more.passed_over[-1].startswith("a_table = [0, 1") and len(more.passed_over[-1]) < 60


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_transformers_reads_and_this_program_does_not_is_refused(name):
    long = refusal(PUBLISHED[name] | {"per_layer_config": {str(i): {"head_dim": 2} for i in range(99)}})
    assert "per_layer_config = {'0': {'head_dim'" in long and len(long) < 400


@pytest.mark.parametrize("name", published_sizes.MODELS)
def test_a_model_of_its_published_size_is_read_and_what_has_no_effect_is_named(name):
    values, passed = published_sizes.MODELS[name]
    plan = plan_of(values, T5_HEAD if "t5" in name else ())
    assert plan.passed_over == passed
    assert plan.config.n_layers == (values.get("num_hidden_layers") or values.get("n_layer") or values.get("num_layers")
                                    or values["n_layers"])


def test_the_table_of_keys_is_what_transformers_declares_and_reads():
    assert json.loads(reference.FILE.read_text()) == reference_keys.table(), (
        "python -m tests.helpers.reference_keys writes it anew")


@pytest.mark.parametrize("family, name", [
    ("gpt2", "scale_attn_by_inverse_layer_idx"), ("llama", "mlp_bias"), ("llama", "is_causal"), ("opt", "ffn_dim"),
    ("gemma2", "final_logit_softcapping"), ("gpt_neox", "rotary_pct"), ("t5", "scale_decoder_outputs"),
    ("mpt", "qk_ln"), ("bert", "is_decoder"), ("mistral", "sliding_window"), ("olmo", "clip_qkv")])
def test_the_table_holds_what_counts(family, name):
    assert reference.knows(name, family) and not reference.knows("n_special", family)


@pytest.mark.parametrize("name, more", [
    ("gpt2", published_sizes.CONVERTED), ("llama", dict(activation="gelu", logit_scale=0.1)),
    ("llama", dict(rope_scaling=dict(type="yarn", factor=2.0, original_max_position_embeddings=20, finetuned=True))),
    ("opt", dict(learned_embeddings=True, n_head=7)), ("bert", dict(pruned_layers=2, use_conv=True))])
def test_what_is_passed_over_changes_nothing_in_transformers(name, more, tmp_path):
    values = PUBLISHED[name]
    auto = hf.AutoModelForMaskedLM if name in ENCODERS else hf.AutoModelForCausalLM
    randomised(auto.from_config(hf.AutoConfig.for_model(**values))).float().save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(values | more))
    theirs = auto.from_pretrained(tmp_path, attn_implementation="eager", dtype=torch.float32)
    with torch.no_grad():
        expected = theirs(input_ids=ids(1, 9)).logits
    assert relative_error(huggingface.from_pretrained(tmp_path)[0](ids(1, 9)).logits, expected) < 1e-5
    assert huggingface.preview(tmp_path).passed_over


@pytest.mark.parametrize("family", FAMILIES)
def test_every_attribute_of_the_familys_config_is_accepted(family):
    """As transformers gives them, the defaults of all of them together."""
    values = json.loads(hf.AutoConfig.for_model(family).to_json_string(use_diff=False))
    assert not plan_of(values, T5_HEAD).passed_over


@pytest.mark.parametrize("name", CASES)
def test_what_transformers_saves_is_accepted(name, tmp_path):
    kind, settings = CASES[name]
    kind(**settings).save_pretrained(tmp_path)
    plan_of(json.loads((tmp_path / "config.json").read_text()), T5_HEAD if "t5" in name else ())


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_that_sees_what_follows_is_refused(name):
    for value in (False, None):
        assert f"is_causal = {value}" in refusal(PUBLISHED[name] | {"is_causal": value})
    plan_of(PUBLISHED[name] | {"is_causal": True}, ())


def test_two_accounts_of_the_positions_are_refused_where_they_differ():
    older = dict(rope_type="linear", factor=2.0)
    newer = PUBLISHED["llama"] | dict(rope_parameters=dict(rope_type="default", rope_theta=10000.0))
    said = refusal(newer | dict(rope_scaling=older))
    assert "rope_scaling = {'rope_type': 'linear', 'factor': 2.0} beside rope_parameters = {'rope_type'" in said
    plan_of(newer | dict(rope_scaling=None), ())
    both = plan_of(PUBLISHED["llama"] | dict(rope_scaling=older, rope_parameters=older), ())
    assert both.config.rotary.rotary_scaling == (2.0,)


@pytest.mark.parametrize("name, changes, said", [
    ("gpt2", dict(num_attention_heads=2), "n_head = 4 and num_attention_heads = 2, two numbers for the same"),
    ("gpt2", dict(n_ctx=20), "n_positions = 40 and n_ctx = 20"),
    ("llama", dict(sliding_window=3), "sliding_window = 3"), ("llama", dict(partial_rotary_factor=0.5), "= 0.5"),
    ("llama", dict(rope_scaling=dict(rope_type="linear", factor=2.0, beta_fast=3)), "beta_fast = 3"),
    ("mistral", dict(layer_types=["full_attention"] * 2), "layer_types = ['full_attention'"),
    ("pythia", dict(rope_theta=500.0), "rope_theta = 500.0"), ("phi", dict(head_dim=4), "head_dim = 4"),
    ("gemma", dict(hidden_activation="silu"), "hidden_activation = 'silu'"),
    ("bert", dict(is_decoder=True), "is_decoder = True"), ("t5", dict(is_gated_act=True), "is_gated_act = True"),
    ("flan-t5", dict(dense_act_fn="relu"), "dense_act_fn = 'relu'")], ids=str)
def test_what_would_be_computed_otherwise_is_refused_by_name_and_value(name, changes, said):
    assert said in refusal(PUBLISHED[name] | changes)


def test_a_window_that_is_not_written_is_the_familys():
    values = {name: value for name, value in PUBLISHED["mistral"].items() if name != "sliding_window"}
    assert plan_of(values, ()).config.mask == "causal", "4096, more than its texts have"
    far = plan_of(values | dict(max_position_embeddings=9000), ()).config
    assert (far.mask, far.scores.window) == ("sliding-window", 4096)
    unset = {name: value for name, value in PUBLISHED["qwen2.5"].items() if name != "use_sliding_window"}
    assert plan_of(unset, ()).config.mask == "causal", "it is off unless it is switched on"


@pytest.mark.parametrize("method, said", [
    (dict(quantization_config=dict(quant_method="gptq", bits=4)), "(GPTQ, 4 bits)"),
    (dict(quantization_config=dict(quant_method="awq", bits=4)), "(AWQ, 4 bits)"),
    (dict(quantization_config=dict(load_in_8bit=True)), "(bitsandbytes)"),
    (dict(quantization_config=dict(quant_method="fp8")), "(FP8)"),
    (dict(quantization=dict(group_size=64, bits=4)), "(MLX, 4 bits)"),
    (dict(compression_config=dict(format="int")), "compression_config = {'format'")])
def test_quantised_weights_are_told_with_their_method(method, said):
    assert said in refusal(PUBLISHED["llama"] | method) and "quantised" in refusal(PUBLISHED["llama"] | method)


@pytest.mark.parametrize("values, said", [
    (dict(model_type="mamba"), "in place of attention"), (dict(model_type="deberta-v2"), "'deberta-v2': one keeps"),
    (dict(model_type="rwkv"), "in place of attention"), (dict(model_type="dbrx"), "to experts in a way of its own"),
    (dict(model_type="unheard", auto_map={"AutoModel": "m.M"}), "code of its own (auto_map"),
    (dict(auto_map={"AutoModel": "m.M"}), "this program runs none"), (dict(model_type=["a"]), "['a']")])
def test_other_families_are_told_with_the_reason(values, said):
    with pytest.raises(PretrainedError) as error:
        plan_of(values, ())
    assert error.value.reason == "family" and said in str(error.value)
    assert ("Gemma (the first)" in str(error.value)) != ("The nearest that opens: " in str(error.value))


def test_no_key_stands_twice_or_under_no_reason():
    names = [name for some in keys.BY_REASON.values() for name in some]
    assert len(names) == len(set(names)) and not set(names) & set(keys.HARMLESS)
    assert set(keys.IN_FAMILY) | set(keys.HARMLESS_IN_FAMILY) <= set(FAMILIES)


@pytest.mark.parametrize("name", ["llama 3.2", "gpt2", "bert", "flan-t5"])
def test_what_is_called_without_effect_is(name, tmp_path):
    """transformers computes the same with every such key set to something odd."""
    values = PUBLISHED[name]
    auto = (hf.AutoModelForMaskedLM if name in ENCODERS else
            hf.AutoModelForSeq2SeqLM if values["model_type"] == "t5" else hf.AutoModelForCausalLM)
    model = randomised(auto.from_config(hf.AutoConfig.for_model(**values), attn_implementation="eager")).float()
    model.save_pretrained(tmp_path)
    odd = {"pretraining_tp": 2, "tie_weights_": False, "attention_dropout": 0.3, "hidden_dropout_prob": 0.3,
           "layerdrop": 0.5, "sep_token_id": 7, "temperature": 3.0, "gradient_checkpointing": True,
           "summary_use_proj": False, "chunk_size_feed_forward": 3, "use_cache": False, "pad_token_id": 5}
    (tmp_path / "config.json").write_text(json.dumps(values | odd))
    again = auto.from_pretrained(tmp_path, attn_implementation="eager", dtype=torch.float32)
    inputs = dict(input_ids=ids(1, 9)) | (dict(decoder_input_ids=ids(1, 5)) if values["model_type"] == "t5" else {})
    with torch.no_grad():
        # a BERT's feed-forward part in chunks of three tokens has other last digits on a CPU without AVX-512
        assert relative_error(again.double()(**inputs).logits, model.double()(**inputs).logits) < 1e-14
        again = again.float()
        ours = huggingface.from_pretrained(tmp_path)[0]
        found = (ours(inputs["decoder_input_ids"], source_ids=inputs["input_ids"]) if ours.encoder is not None
                 else ours(inputs["input_ids"]))
        assert relative_error(found.logits, again(**inputs).logits) < 1e-5
