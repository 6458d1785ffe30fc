"""The part that reads text of models that read pictures as well."""
import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from core import huggingface
from core.huggingface import PretrainedError
from core.huggingface.families import plan_of
from tests.core.huggingface.test_families import compared, relative_error
from tests.helpers.huggingface_models import N_TOKENS, hf, ids, randomised, saved
from tests.helpers.models_pictures import LEFT_OUT, PUBLISHED, unused

FILE = "model.safetensors"


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_sparse_published_config_is_completed_as_its_class_does_and_both_layouts_are_one_model(name, tmp_path):
    """With the vocabulary that the published files leave to the default, 262,208 tokens."""
    values = PUBLISHED[name]
    (tmp_path / "config.json").write_text(json.dumps(values))
    theirs = randomised(hf.AutoModelForCausalLM.from_config(hf.AutoConfig.from_pretrained(tmp_path),
                                                            dtype=torch.float32, attn_implementation="eager"))
    parts = {name: p.contiguous() for name, p in theirs.named_parameters()}
    old = {name.replace("model.language_model.", "language_model.model.").removeprefix("model."): p
           for name, p in parts.items()}
    expected, models = theirs(ids(1, N_TOKENS), output_attentions=True, output_hidden_states=True), []
    for layout in (parts, old):
        save_file(layout, tmp_path / FILE)
        models.append(huggingface.from_pretrained(tmp_path)[0])
        errors = [relative_error(*both) for both in compared(models[-1](ids(1, N_TOKENS)), expected)]
        assert max(errors) < 1e-5, errors
    config = models[0].config
    assert models[1].config == config and config.head.text_alone
    assert (config.vocab_size, config.n_context, config.rotary.rotary_scaling) == (262_208, 131_072, (8.0,))
    assert config.scores.block_masks == ("sliding-window",) * 5 + ("causal", "sliding-window")
    assert config.scores.window == 6
    assert (config.end_of_text, config.special.end_tokens, config.special.begin_of_text) == (1, (106,), 2)
    # an image's token without a picture is read as transformers reads it: by its row of E
    text = torch.tensor([[2, 255_999, 262_144, 256_000, 7]])
    assert relative_error(models[0](text).logits, theirs(text).logits) < 1e-5


def test_what_is_left_out_is_counted_by_part_and_nothing_else_is_ignored(tmp_path):
    theirs = saved("gemma3 with pictures", tmp_path)
    told = huggingface.preview(tmp_path)
    assert [part for part, *_ in told.left_out] == ["vision_tower", "multi_modal_projector"]
    assert sum(numbers for *_, numbers in told.left_out) == unused(theirs)
    weights = load_file(tmp_path / FILE)
    assert sum(n for _, n, _ in told.left_out) == sum(name.startswith(LEFT_OUT) for name in weights)
    assert told.n_bytes == 4 * (theirs.num_parameters() - unused(theirs)), "what is loaded, alone"
    for stray in ("audio_tower.weight", "vision_towers.weight", "language_model.model.more.weight", "model.stray"):
        save_file(weights | {stray: torch.zeros(2)}, tmp_path / FILE)
        with pytest.raises(PretrainedError, match=f"{stray} has no place") as error:
            huggingface.preview(tmp_path)
        assert error.value.reason == "mismatch"


def test_a_text_model_without_pictures_leaves_nothing_out(tmp_path):
    saved("gemma3", tmp_path)
    assert huggingface.preview(tmp_path).left_out == ()
    weights = load_file(tmp_path / FILE)
    save_file(weights | {"vision_tower.weight": torch.zeros(2)}, tmp_path / FILE)
    with pytest.raises(PretrainedError, match="vision_tower.weight has no place"):
        huggingface.preview(tmp_path)


@pytest.mark.parametrize("changes, said", [
    (dict(text_config=dict(model_type="llama")), "model_type = 'llama'"),
    (dict(text_config=dict(tie_word_embeddings=False)), "tie_word_embeddings = False"),
    (dict(text_config=dict(use_bidirectional_attention=True)), "use_bidirectional_attention = True"),
    (dict(text_config=dict(attn_logit_softcapping=50.0)), "attn_logit_softcapping = 50.0"),
    (dict(text_config=dict(final_logit_softcapping=30.0)), "final_logit_softcapping = 30.0"),
    (dict(text_config=dict(rope_scaling=dict(rope_type="yarn", factor=2.0))), "'yarn'"),
    (dict(text_config=dict(rope_scaling=dict(rope_type="linear", factor=2.0, beta_fast=3))), "beta_fast = 3"),
    (dict(text_config=[3]), r"text_config as \[3\]")], ids=str)
def test_what_would_be_computed_otherwise_is_refused_by_name_and_value(changes, said):
    with pytest.raises(PretrainedError, match=said):
        plan_of(PUBLISHED["gemma-3-4b-it"] | changes, ())


def test_what_transformers_does_not_know_is_passed_over_in_each_of_the_tables():
    values = PUBLISHED["gemma-3-4b-it"]
    text = values["text_config"] | dict(a_trick=3, rope_scaling=dict(rope_type="linear", factor=2.0, slope=1))
    passed = plan_of(values | dict(another_trick=3, text_config=text), ()).passed_over
    assert passed == ("slope = 1 (of its rotary positions)", "a_trick = 3", "another_trick = 3")


@pytest.mark.parametrize("family", ["mistral3", "llama4", "qwen2_vl", "paligemma", "llava"])
def test_other_models_that_read_pictures_are_refused_by_name(family):
    with pytest.raises(PretrainedError, match=family) as error:
        plan_of(dict(PUBLISHED["gemma-3-4b-it"], model_type=family), ())
    assert error.value.reason == "family"
