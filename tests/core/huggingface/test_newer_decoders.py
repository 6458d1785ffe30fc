"""Decoders since 2024 from a config.json as it was published, with smaller sizes, and as transformers saves it now."""
import json

import pytest
import torch
from safetensors.torch import save_file

from core import huggingface
from core.huggingface import PretrainedError
from core.huggingface.families import plan_of
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from tests.core.huggingface.test_families import compared, relative_error
from tests.helpers.huggingface_models import N_TOKENS, hf, ids, randomised
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
        assert expected.logits.std() > 0.5 and max(errors) < 1e-5, errors
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
    assert config.block_masks == ("sliding-window",) * 2 + ("causal",) + ("sliding-window",) * 2 and config.window == 6
    assert config.block_rotary_bases == (10_000.0, 10_000.0, 1e6, 10_000.0, 10_000.0) and config.rotary_base == 1e6
    assert (config.score_divisor, config.score_cap, config.logit_cap) == (pytest.approx(256 ** 0.5), 0, 0)
    wide = plan("gemma-3-1b", sliding_window=40)
    assert not wide.block_masks and wide.block_rotary_bases == config.block_rotary_bases
    assert plan("gemma-3-1b", sliding_window_pattern=1).rotary_base == 1e6
    assert not plan("gemma-3-1b", sliding_window_pattern=1).block_rotary_bases
    assert plan("gemma-3-1b", sliding_window_pattern=9).rotary_base == 10_000.0
    assert plan("gemma-3-1b", rope_scaling=dict(rope_type="linear", factor=8.0)).rotary_scaling == (8.0,)


@pytest.mark.parametrize("name, changes, told", [
    ("gemma-3-1b", dict(use_bidirectional_attention=True), "use_bidirectional_attention = True"),
    ("gemma-3-1b", dict(attn_logit_softcapping=50.0), "attn_logit_softcapping = 50.0"),
    ("gemma-3-1b", dict(rope_scaling=dict(rope_type="yarn", factor=2.0)), "of the kind 'yarn'"),
    ("gemma-3-1b", dict(rope_scaling=dict(type="linear", factor=2.0)), "of the kind 'linear'"),
    ("gemma-3-1b", dict(rope_parameters=dict(rope_theta=9.0)), "rope_theta in rope_parameters"),
    ("gemma-3-1b", dict(rope_local_base_freq=1e6, rope_scaling=dict(rope_type="linear", factor=2)), "one rotary base"),
    ("gemma-3-1b", dict(layer_types=["chunked_attention"] * 5), "of the type 'chunked_attention'"),
    ("gemma-3-1b", dict(query_pre_attn_scalar=0), "query_pre_attn_scalar = 0"),
    ("gemma-3-1b", dict(model_type="gemma3"), "reads pictures as well as text"),
    ("gemma-2-2b", dict(hidden_activation="tanh"), "activation 'tanh'"),
], ids=str)
def test_what_this_program_cannot_do_is_refused_by_name(name, changes, told):
    with pytest.raises(PretrainedError, match=told) as error:
        plan(name, **changes)
    assert error.value.reason == "architecture"
