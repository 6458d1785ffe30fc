"""Encoders and encoder-decoders in the layout of the published ones: config.json with the keys that the hub's files
have (from memory, the sizes made small) loads as what transformers reads of it.
"""
import json
import re

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from core import huggingface
from core.huggingface import PretrainedError
from core.model import positional
from core.model.generation import translations
from tests.core.huggingface import test_mutations
from tests.core.huggingface.test_families import relative_error
from tests.helpers import sentencepiece_files
from tests.helpers.huggingface_models import N_SOURCE, N_TOKENS, hf, ids, made
from tests.helpers.models_encoders import PUBLISHED

pytestmark = pytest.mark.long


def written(name: str, folder) -> hf.PreTrainedModel:
    """The random model of the case under the published config.json, as transformers reads both."""
    case, values = PUBLISHED[name]
    model = made(case)
    model.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(values))
    auto = hf.AutoModelForSeq2SeqLM if values.get("is_encoder_decoder") else hf.AutoModelForMaskedLM
    return auto.from_pretrained(folder, attn_implementation="eager").eval()


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_layout_is_read_as_transformers_reads_it(name, tmp_path):
    theirs = written(name, tmp_path)
    ours, _ = huggingface.from_pretrained(tmp_path)
    token_ids, source = ids(N_TOKENS), ids(N_SOURCE, seed=5)
    with torch.no_grad():
        if ours.encoder is None:
            expected, found = theirs(token_ids[None]).logits[0], ours(token_ids).logits
        else:
            expected = theirs(input_ids=source[None], decoder_input_ids=token_ids[None]).logits[0]
            found = ours(token_ids, source_ids=source).logits
    assert float((found - expected).abs().max() / expected.abs().max()) < 1e-5
    assert ours.config.end_of_text == (None if ours.encoder is None else values_end(name))


def values_end(name: str) -> int:
    return PUBLISHED[name][1]["eos_token_id"]


# keys of these families, with odd values
ODD = {
    "scale_embedding": [True, False], "encoder_ffn_dim": [40, 41], "decoder_ffn_dim": [40, 41],
    "encoder_layers": [1, 2, 3], "decoder_layers": [2, 3], "encoder_attention_heads": [2, 4], "d_model": [24, 32],
    "normalize_before": [True, False], "normalize_embedding": [True, False], "add_final_layer_norm": [True],
    "static_position_embeddings": [False], "share_encoder_decoder_embeddings": [False], "decoder_vocab_size": [61, 60],
    "embedding_size": [12, 24, None], "global_attn_every_n_layers": [1, 2, 3, 4], "local_attention": [2, 7, 8, 128],
    "global_rope_theta": [7.0, None], "local_rope_theta": [7.0, 500], "norm_bias": [True, False],
    "norm_eps": [0.1, 1e-5], "classifier_bias": [True, False], "decoder_bias": [True, False],
    "classifier_pooling": ["cls", "mean"], "classifier_activation": ["gelu", "relu"], "head_dim": [3, 6, None],
    "layer_types": [["sliding_attention"] * 4, ["full_attention"] * 4, ["full_attention"] * 2],
    "rope_parameters": [None, {"full_attention": {"rope_type": "default", "rope_theta": 9.0}},
                        {"sliding_attention": {"rope_theta": 9.0}}, {"rope_type": "default", "rope_theta": 9.0}],
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_mutated_configs_load_equal_or_are_refused(name, tmp_path):
    case, values = PUBLISHED[name]
    made(case).save_pretrained(tmp_path)

    @st.composite
    def mutated(draw) -> dict:
        changed = dict(draw(test_mutations.mutated_configs(values)))
        for key in draw(st.lists(st.sampled_from(sorted(ODD)), max_size=2)):
            changed[key] = draw(st.sampled_from(ODD[key]))
        return changed

    @settings(max_examples=30, derandomize=True, database=None, deadline=None,
              suppress_health_check=list(HealthCheck))
    @given(changed=mutated())
    def check(changed):
        (tmp_path / "config.json").write_text(json.dumps(changed))
        test_mutations.compared(tmp_path, changed)

    (tmp_path / "config.json").write_text(json.dumps(values))
    assert test_mutations.compared(tmp_path, values) == "equal"
    check()


@pytest.mark.parametrize("case, change, said", [
    ("electra", dict(hidden_act="relu"), "hidden_act"),
    ("xlm-roberta", dict(hidden_act="relu"), "hidden_act"), ("camembert", dict(is_decoder=True), "is_decoder"),
    ("modernbert", dict(layer_types=["chunked_attention"] * 4), "chunked_attention"),
    ("modernbert", dict(classifier_activation="relu"), "classifier_activation"),
    ("modernbert", dict(rope_scaling=dict(rope_type="yarn", factor=2.0)), "rope_scaling"),
    ("modernbert", dict(rope_parameters=dict(full_attention=dict(rope_type="linear", factor=2.0))), "'linear'"),
    ("bart", dict(decoder_ffn_dim=80), "decoder_ffn_dim = 80"),
    ("bart", dict(decoder_attention_heads=2), "decoder_attention_heads"),
    ("bart", dict(tie_word_embeddings=False), "tie_word_embeddings"),
    ("marian", dict(share_encoder_decoder_embeddings=False), "share_encoder_decoder_embeddings"),
    ("marian", dict(decoder_vocab_size=99), "decoder_vocab_size = 99")], ids=str)
def test_what_is_not_there_is_refused_by_name_and_value(case, change, said, tmp_path):
    made(case).save_pretrained(tmp_path)
    values = json.loads((tmp_path / "config.json").read_text()) | change
    (tmp_path / "config.json").write_text(json.dumps(values))
    with pytest.raises(PretrainedError, match="which this program cannot do") as error:
        huggingface.preview(tmp_path)
    assert said in str(error.value) and error.value.reason == "architecture"


@pytest.mark.parametrize("case", ["marian", "pegasus"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("waves", [True, False])
def test_positions_that_are_stored_are_those_that_are_used(case, dtype, waves, tmp_path):
    """Sine waves or any others: transformers takes what stands in the file."""
    made(case).save_pretrained(tmp_path)
    weights = {name: tensor.to(dtype) for name, tensor in load_file(tmp_path / "model.safetensors").items()}
    for stack in ("encoder", "decoder"):
        table = positional.sinusoidal(40, 24, halves=waves)     # else sines and cosines by turns, another order
        weights[f"model.{stack}.embed_positions.weight"] = table.to(dtype)
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    theirs = hf.AutoModelForSeq2SeqLM.from_pretrained(tmp_path, attn_implementation="eager", dtype=torch.float32)
    source, target = ids(1, N_SOURCE, seed=5), ids(1, 9)
    with torch.no_grad():
        expected = theirs(input_ids=source, decoder_input_ids=target).logits
    ours, _ = huggingface.from_pretrained(tmp_path)
    assert ours.config.positions == huggingface.preview(tmp_path).config.positions == (
        "sinusoidal" if waves and dtype == torch.float32 else "learned")
    assert relative_error(ours(target, source_ids=source).logits, expected) < 1e-5
    save_file({name: tensor for name, tensor in weights.items() if name != "model.decoder.embed_positions.weight"},
              tmp_path / "model.safetensors", {"format": "pt"})
    if not waves:
        with pytest.raises(PretrainedError, match="embed_positions.weight, which holds other positions than the sine"):
            huggingface.preview(tmp_path)


def test_a_translation_of_each_family_is_theirs(tmp_path):
    for case in ("bart", "marian", "pegasus", "mbart"):
        theirs = made(case)
        theirs.save_pretrained(tmp_path / case)
        ours, _ = huggingface.from_pretrained(tmp_path / case)
        source = ids(1, N_SOURCE, seed=5)
        expected = theirs.generate(source, max_new_tokens=12, do_sample=False, num_beams=1)[0].tolist()
        (_, found), = translations(ours, [source[0].tolist()], max_new_tokens=12)
        assert [ours.config.first_token, *found] == expected, case


def test_a_marian_in_its_published_files_translates_a_text(tmp_path):
    """config.json, pytorch_model.bin, source.spm, target.spm, vocab.json, tokenizer_config.json and
    generation_config.json, whose weights are refused until they are safetensors.
    """
    size = sentencepiece_files.write_marian(tmp_path)
    theirs = made("marian", vocab_size=size, pad_token_id=size - 1, decoder_start_token_id=size - 1)
    theirs.save_pretrained(tmp_path)
    values = PUBLISHED["opus-mt-en-de"][1] | dict(
        vocab_size=size, decoder_vocab_size=size, pad_token_id=size - 1, decoder_start_token_id=size - 1,
        bad_words_ids=[[size - 1]])
    (tmp_path / "config.json").write_text(json.dumps(values))
    (tmp_path / "generation_config.json").write_text(json.dumps(dict(
        bad_words_ids=[[size - 1]], bos_token_id=0, decoder_start_token_id=size - 1, eos_token_id=0,
        forced_eos_token_id=0, max_length=512, num_beams=6, pad_token_id=size - 1)))
    (tmp_path / "model.safetensors").rename(tmp_path / "aside")
    torch.save(theirs.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(PretrainedError, match="its weights are in pytorch_model.bin"):
        huggingface.preview(tmp_path)
    (tmp_path / "aside").rename(tmp_path / "model.safetensors")
    assert huggingface.preview(tmp_path).tokenizer == "source.spm"
    ours, tokenizer = huggingface.from_pretrained(tmp_path)
    source = [*tokenizer.encode("the cat sat on it."), *tokenizer.end]
    expected = theirs.generate(torch.tensor([source]), max_new_tokens=12, do_sample=False, num_beams=1,
                               generation_config=hf.GenerationConfig(eos_token_id=0, pad_token_id=size - 1,
                                                                     decoder_start_token_id=size - 1))[0].tolist()
    (_, found), = translations(ours, [source], max_new_tokens=12)
    assert (ours.config.first_token, ours.config.end_of_text, tokenizer.end) == (size - 1, 0, (0,))
    assert [ours.config.first_token, *found] == expected and tokenizer.decode(found).strip()


@pytest.mark.parametrize("file", ["config.json", "generation_config.json"])
def test_a_marian_never_writes_what_its_files_forbid(tmp_path, file):
    size = sentencepiece_files.write_marian(tmp_path)
    theirs = made("marian", vocab_size=size, pad_token_id=size - 1, decoder_start_token_id=size - 1)
    theirs.final_logits_bias[0, size - 1] = 50.0        # padding is the most probable token everywhere
    theirs.save_pretrained(tmp_path)
    source = [5, 7, 6, 0]
    (_, free), = translations(huggingface.from_pretrained(tmp_path)[0], [source], max_new_tokens=6)
    assert set(free) == {size - 1}
    values = json.loads((tmp_path / file).read_text())
    (tmp_path / file).write_text(json.dumps(values | dict(bad_words_ids=[[size - 1]])))
    ours, _ = huggingface.from_pretrained(tmp_path)
    (_, found), = translations(ours, [source], max_new_tokens=6)
    expected = theirs.generate(torch.tensor([source]), max_new_tokens=6, do_sample=False, num_beams=1,
                               bad_words_ids=[[size - 1]])[0].tolist()
    assert [ours.config.first_token, *found] == expected and size - 1 not in found
    (tmp_path / file).write_text(json.dumps(values | dict(bad_words_ids=[[1, 2]])))
    with pytest.raises(PretrainedError, match=re.escape("bad_words_ids = [[1, 2]]")):
        huggingface.from_pretrained(tmp_path)
