"""The files of Hugging Face models: shards, number formats, old names; and whatever is damaged, missing or unknown is
refused with a sentence that says so.
"""
import errno
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from core import huggingface
from core.huggingface import PretrainedError, families, hub, refusals, stored, weights
from core.huggingface.errors import REASONS
from tests.core.huggingface.test_tokens import gpt2 as gpt2_tokenizer
from tests.core.huggingface.test_tokens import written
from tests.helpers.huggingface_models import hf, ids, made, saved
from tests.helpers.ids import named

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    saved("llama", folder)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    return Path(shutil.copytree(original, tmp_path / "model"))


def change_config(folder, **fields):
    path = folder / "config.json"
    values = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({name: value for name, value in values.items() if value != "gone"}))


def change_weights(folder, change):
    stored = load_file(folder / "model.safetensors")
    stored = change(stored) or stored
    save_file({name: weight.contiguous() for name, weight in stored.items()}, folder / "model.safetensors")


def refusal(folder, reason) -> str:
    """The reason that loading gives, as the preview if it can tell."""
    with pytest.raises(PretrainedError) as error:
        huggingface.from_pretrained(folder)
    assert error.value.reason == reason and reason in REASONS
    if "finite" not in str(error.value):
        with pytest.raises(PretrainedError) as told:
            huggingface.preview(folder)
        assert str(told.value) == str(error.value)
    return str(error.value)


def logits(folder):
    return huggingface.from_pretrained(folder)[0](ids(9)).logits


# What is read

def test_shards_are_one_model(tmp_path, original):
    model = made("llama")
    model.save_pretrained(tmp_path, max_shard_size="10KB")
    assert len(weights.weight_files(tmp_path)) > 3
    assert (torch.equal(logits(tmp_path), logits(original))
            and huggingface.preview(tmp_path).n_parameters == model.num_parameters())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_other_number_formats_become_float32(dtype, tmp_path):
    theirs = made("t5").to(getattr(torch, dtype))
    theirs.save_pretrained(tmp_path)
    ours, _ = huggingface.from_pretrained(tmp_path)
    assert (huggingface.preview(tmp_path).dtype == dtype
            and huggingface.preview(tmp_path).n_bytes == 4 * theirs.num_parameters())
    assert {p.dtype for p in ours.parameters()} == {torch.float32} and torch.equal(ours.E, theirs.shared.weight.float())
    assert torch.equal(ours.blocks[1].W_1, theirs.decoder.block[1].layer[2].DenseReluDense.wi.weight.T.float())


def test_old_files_with_other_names_and_more_in_them(tmp_path):
    saved("gpt2", tmp_path)
    expected = logits(tmp_path)
    change_weights(tmp_path, lambda w: {name.removeprefix("transformer."): weight for name, weight in w.items()}
                                       | {"h.0.attn.bias": torch.ones(1, 1, 40, 40),
                                          "lm_head.weight": w["transformer.wte.weight"].clone()})
    assert torch.equal(logits(tmp_path), expected)
    saved("bert", tmp_path)
    expected, names = logits(tmp_path), {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    more = {"bert.pooler.dense.weight": torch.zeros(24, 24), "cls.seq_relationship.bias": torch.zeros(2),
            "bert.embeddings.position_ids": torch.arange(40)[None]}
    change_weights(tmp_path, lambda w: {"LayerNorm".join(name.split("LayerNorm")[:-1])
                                        + names["LayerNorm" + name.split("LayerNorm")[-1]] if "LayerNorm" in name
                                        else name: weight for name, weight in w.items()} | more)
    assert torch.equal(logits(tmp_path), expected)


def test_an_old_config_names_rotary_positions_otherwise(folder):
    expected, rope = logits(folder), json.loads((folder / "config.json").read_text())["rope_parameters"]
    change_config(folder, rope_parameters="gone", rope_theta=rope.pop("rope_theta"),
                  rope_scaling={"type" if name == "rope_type" else name: value for name, value in rope.items()})
    assert torch.equal(logits(folder), expected)


def test_the_weights_are_of_their_own(folder):
    model, _ = huggingface.from_pretrained(folder)
    before = model(ids(9)).logits
    (folder / "model.safetensors").write_bytes(b"\0" * (folder / "model.safetensors").stat().st_size)
    assert torch.equal(model(ids(9)).logits, before)


def test_no_code_of_a_model_is_run(folder):
    (folder / "modeling_evil.py").write_text("raise SystemExit('run')")
    change_config(folder, auto_map={"AutoModelForCausalLM": "modeling_evil.Evil"})
    huggingface.from_pretrained(folder)


def test_progress_is_told_in_bytes(folder):
    heard = []
    model, _ = huggingface.from_pretrained(folder, lambda done, total: heard.append((done, total)))
    assert (heard[-1] == (4 * model.n_parameters, 4 * model.n_parameters)
            and [done for done, _ in heard] == sorted(done for done, _ in heard) and len(heard) == 21)


def test_neither_transformers_nor_the_hub_is_imported_for_a_folder(folder):
    code = ("import sys; from core import huggingface; huggingface.from_pretrained(sys.argv[1]); print([m for m in "
            "('transformers', 'huggingface_hub', 'streamlit') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True,
                          text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


# What is refused

def test_pickles_are_not_read(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    said = refusal(folder, "format")
    assert "its weights are in pytorch_model.bin" in said and "can run code" in said
    assert f"AutoModelForCausalLM as M, AutoTokenizer as T; name, new = '{folder}', 'model-safetensors'" in said
    (folder / "pytorch_model.bin").unlink()
    assert "holds no weights" in refusal(folder, "incomplete")


@pytest.mark.parametrize("architecture, reader", [
    ("GPT2LMHeadModel", "AutoModelForCausalLM"), ("OPTForCausalLM", "AutoModelForCausalLM"),
    ("T5WithLMHeadModel", "AutoModelForSeq2SeqLM"), ("T5ForConditionalGeneration", "AutoModelForSeq2SeqLM"),
    ("BertForPreTraining", "AutoModelForMaskedLM"), ("BertModel", "AutoModel"), ("", "AutoModel")])
def test_a_pickle_is_converted_by_the_class_that_keeps_its_head(architecture, reader):
    command = refusals.conversion("us/old", {"architectures": [architecture]} if architecture else {})
    assert f"import {reader} as M" in command and hasattr(hf, reader)


@pytest.mark.parametrize("name", ["bert", "headless"])
def test_the_command_that_converts_a_pickle_does(name, tmp_path):
    """The sentence's own command, in another process; a head is kept, and no head is made up."""
    model = made("bert").base_model if name == "headless" else made(name)
    folder = tmp_path / "old one"
    model.save_pretrained(folder)
    expected = logits(folder)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    written(*gpt2_tokenizer(), folder)
    command = refusal(folder, "format").partition("writes: ")[2]
    done = subprocess.run(shlex.split(command.replace("python", sys.executable, 1)), cwd=tmp_path, timeout=600,
                          capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    (tmp_path / "old one-safetensors" / "tokenizer.json").unlink()
    for settings in (tmp_path / "old one-safetensors").glob("*token*"):
        settings.unlink()
    ours, _ = huggingface.from_pretrained(tmp_path / "old one-safetensors")
    assert ours.config.head.head_transform == (name == "bert")
    assert torch.allclose(ours(ids(9)).logits, expected, atol=1e-4)


OTHER_FILES = [
    ("model.gguf", "format", "GGUF"), ("model.onnx", "format", "ONNX"), ("tf_model.h5", "format", "TensorFlow"),
    ("flax_model.msgpack", "format", "Flax"), ("consolidated.safetensors", "format", "(consolidated)"),
    ("consolidated.00.pth", "format", "(consolidated)"), ("weights.safetensors", "format", "not transformers'"),
    ("model-00001-of-00002.safetensors", "incomplete", "without model.safetensors.index.json"),
    ("adapter_config.json", "format", "is an adapter"), ("pytorch_model-00001-of-00002.bin", "format", "can run code"),
    ("training_args.bin", "incomplete", "holds no weights")]


@pytest.mark.parametrize("file, reason, said", OTHER_FILES)
def test_other_files_are_told_as_what_they_are(file, reason, said, folder):
    (folder / "model.safetensors").rename(folder / file)
    assert said in refusal(folder, reason)


def test_an_adapter_without_a_config_is_one(folder):
    (folder / "config.json").unlink()
    (folder / "adapter_config.json").write_text("{}")
    assert "is an adapter" in refusal(folder, "format")


def test_a_pointer_of_git_lfs_is_no_damage(folder):
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n")
    assert "pointer of git-lfs" in refusal(folder, "incomplete")


def test_the_whole_file_counts_beside_an_index(folder):
    expected = logits(folder)
    (folder / weights.INDEX).write_text(json.dumps({"weight_map": {"a": "model-00001-of-00009.safetensors"}}))
    assert torch.equal(logits(folder), expected)


def test_a_config_with_a_mark_in_front_is_read(folder):
    expected = logits(folder)
    (folder / "config.json").write_bytes(b"\xef\xbb\xbf" + (folder / "config.json").read_bytes())
    assert torch.equal(logits(folder), expected)


@pytest.mark.parametrize("name, head, architecture, said", [
    ("gpt2", "classifier.bias", "GPT2ForTokenClassification", "to label every token"),
    ("llama", "qa_outputs.weight", "LlamaForQuestionAnswering", "to find answers in a text"),
    ("llama", "score.weight", "LlamaForSequenceClassification", "to sort texts into classes"),
    ("gpt2", "v_head.summary.weight", "", "for another task than language")])
def test_heads_for_other_tasks_are_told_with_their_architecture(name, head, architecture, said, tmp_path):
    made(name).base_model.save_pretrained(tmp_path)
    change_weights(tmp_path, lambda w: w | {head: torch.zeros(3, 24)})
    change_config(tmp_path, architectures=[architecture] if architecture else "gone")
    told = refusal(tmp_path, "architecture")
    assert said in told and head.split(".")[0] in told and architecture in told


# Files that are larger than the memory

def test_a_file_larger_than_any_memory_is_looked_at(tmp_path):
    """Its header is read by hand, and nothing is mapped: 400 GB that take no room on the disk."""
    values = dict(model_type="gpt2", vocab_size=61, n_embd=65536, n_layer=2, n_head=4, n_positions=40)
    (tmp_path / "config.json").write_text(json.dumps(values))
    table, end = {}, 0
    for entry in families.plan_of(values, ()).entries:
        begin, end = end, end + 4 * math.prod(entry.shape)
        table[entry.theirs] = dict(dtype="F32", shape=entry.shape, data_offsets=[begin, end])
    header = json.dumps(table).encode()
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + end)
    told = huggingface.preview(tmp_path)
    assert told.n_bytes == end > 4e11 and told.dtype == "float32"


@pytest.mark.parametrize("change, said", [
    (lambda table, last: table[last].update(shape=[5]), "has not as many numbers as its shape (5,) says"),
    (lambda table, last: table[last].update(data_offsets=[0, 8]), "is damaged"),
    (lambda table, last: table[last]["data_offsets"].reverse(), "the place of"),
    (lambda table, last: table.pop(last), "its header speaks of"),
    (lambda table, last: table[last].pop("shape"), "'shape'")], ids=named)
def test_a_header_that_contradicts_its_file_is_damage(change, said, folder):
    content = (folder / "model.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    table = json.loads(content[8:8 + length])
    table.pop("__metadata__", None)
    change(table, max(table, key=lambda name: table[name]["data_offsets"][0]))
    header = json.dumps(table).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + content[8 + length:])
    assert said in refusal(folder, "damaged")


def test_a_name_that_stands_twice_is_damage(tmp_path):
    made("llama").save_pretrained(tmp_path, max_shard_size="20KB")
    first, second, *_ = weights.weight_files(tmp_path)
    shutil.copy(tmp_path / first, tmp_path / second)
    assert "stands in two places" in refusal(tmp_path, "damaged")


def test_tensors_are_read_row_by_row(folder):
    theirs = load_file(folder / "model.safetensors")
    for tensor in stored.header(folder / "model.safetensors"):
        assert torch.equal(stored.tensor(folder, tensor), theirs[tensor.name])
        assert torch.equal(stored.tensor(folder, tensor, 3, 5), theirs[tensor.name][3:8])
        assert torch.equal(stored.tensor(folder, tensor, 9, 500), theirs[tensor.name][9:])


def test_a_missing_shard_is_named(tmp_path):
    made("llama").save_pretrained(tmp_path, max_shard_size="20KB")
    shard = weights.weight_files(tmp_path)[1]
    (tmp_path / shard).unlink()
    assert shard in refusal(tmp_path, "incomplete")
    for index in ("{", "[]", '{"weight_map": {}}', '{"weight_map": {"a": "../model.safetensors"}}',
                  '{"weight_map": {"a": 1}}'):
        (tmp_path / weights.INDEX).write_text(index)
        assert f"{weights.INDEX} is damaged" in refusal(tmp_path, "damaged")


@pytest.mark.parametrize("keep", [0, 4, 100, 20_000])
def test_weights_cut_short(folder, keep):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    assert "cut short" in refusal(folder, "damaged")


@pytest.mark.parametrize("fields, reason, said", [
    (dict(model_type="gemma3n"), "family", "'gemma3n'"), (dict(model_type="gone"), "family", "None"),
    (dict(hidden_size="gone"), "config", "hidden_size"), (dict(hidden_size="wide"), "config", "hidden_size"),
    (dict(num_attention_heads=0), "config", "n_heads"),
    (dict(num_key_value_heads=3), "config", "multiple of n_kv_heads"),
    (dict(rms_norm_eps=-1), "config", "norm_epsilon"),
    (dict(hidden_act="relu2"), "architecture", "'relu2' with a gate"),
    (dict(rope_parameters=dict(rope_type="longrope", factor=2.0)), "architecture", "'longrope'"),
    (dict(rope_parameters=dict(rope_type="linear")), "config", "no factor"),
    (dict(rope_parameters=[1]), "config", "not as a table"),
    (dict(quantization_config={"bits": 4}), "architecture", "quantised"),
    (dict(num_hidden_layers=1), "mismatch", "has no place in this model"),
    (dict(num_hidden_layers=3), "mismatch", "is missing"),
    (dict(intermediate_size=41), "mismatch", "(40, 24), and the config asks for (41, 24)"),
    (dict(vocab_size=62), "mismatch", "asks for (62, 24)"),
    (dict(model_type="qwen2"), "mismatch", "q_proj.bias is missing"),
    (dict(attention_bias=True), "mismatch", "bias is missing"), (dict(num_hidden_layers=10 ** 12), "config", "layers")])
def test_a_config_that_cannot_be_had(folder, fields, reason, said):
    change_config(folder, **fields)
    assert said in refusal(folder, reason)


@pytest.mark.parametrize("name, fields", [
    ("gpt2", dict(scale_attn_by_inverse_layer_idx=True)), ("opt", dict(_remove_final_layer_norm=True)),
    ("phi", dict(qk_layernorm=True)), ("bert", dict(is_decoder=True)),
    ("bert", dict(position_embedding_type="relative_key")),
    ("qwen2 with window", dict(layer_types=["full_attention", "chunked_attention"])),
    ("gemma", dict(use_bidirectional_attention=True)),
    ("t5", dict(feed_forward_proj="gated-relu")), ("roberta", dict(hidden_act="relu"))], ids=named)
def test_what_our_transformer_does_not_do_is_refused_by_name(name, fields, tmp_path):
    saved(name, tmp_path)
    change_config(tmp_path, **fields)
    assert "this program cannot do" in refusal(tmp_path, "architecture")


@pytest.mark.parametrize("content", ["{", "[1]", "", "\x00"])
def test_a_damaged_or_missing_config(folder, content):
    (folder / "config.json").write_text(content)
    assert "config.json is damaged" in refusal(folder, "damaged")
    (folder / "config.json").unlink()
    assert "holds no config.json" in refusal(folder, "incomplete")


def test_weights_that_do_not_fit(folder):
    change_weights(folder, lambda w: {**w, "model.norm.weight": torch.zeros(24, dtype=torch.int32)})
    assert "model.norm.weight is stored as I32" in refusal(folder, "mismatch")
    change_weights(folder, lambda w: {**w, "model.norm.weight": torch.full((24,), float("nan"))})
    assert "model.norm.weight holds numbers that are not finite" in refusal(folder, "damaged")
    change_weights(folder, lambda w: {**w, "model.norm.weight": torch.ones(24), "stray": torch.zeros(1)})
    assert "stray has no place" in refusal(folder, "mismatch")
    change_weights(folder, lambda w: {"stray": torch.zeros(1)})
    assert "; and 17 more" in refusal(folder, "mismatch")


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert"])
def test_an_encoder_without_a_head_is_loaded_without_one(name, tmp_path):
    theirs = made(name).base_model
    theirs.save_pretrained(tmp_path)
    model, _ = huggingface.from_pretrained(tmp_path)
    assert not model.config.head.head_transform and not huggingface.preview(tmp_path).config.head.unembedding_bias
    ids = torch.arange(4, 20)
    assert torch.allclose(model(ids).h_final, theirs(ids[None]).last_hidden_state[0], atol=1e-4)


def test_half_a_head_is_missed(tmp_path):
    made("bert").save_pretrained(tmp_path)
    change_weights(tmp_path, lambda w: {key: value for key, value in w.items() if "transform.dense" not in key})
    assert "cls.predictions.transform.dense.weight is missing" in refusal(tmp_path, "mismatch")


def test_a_folder_that_is_not_there():
    for name in ("/no/such/folder", "./nor/this", "~nobody/here", Path("nor this")):
        assert not huggingface.is_hub_name(name) and not huggingface.is_here(name)
        with pytest.raises(PretrainedError, match="There is no folder") as error:
            huggingface.preview(name)
        assert error.value.reason == "unknown"


def test_a_disk_that_is_full_is_told(monkeypatch):
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(hub, "listed", lambda name: {"model.safetensors": 10})
    monkeypatch.setattr(hub, "_client", lambda client=hub._client(): types.SimpleNamespace(
        errors=client.errors, snapshot_download=lambda *_args, **asked: (_ for _ in ()).throw(
            client.errors.LocalEntryNotFoundError("not here") if asked.get("local_files_only") else full)))
    with pytest.raises(PretrainedError, match="No space left on device.* the room on the disk, then try again") as told:
        hub.fetched("gpt2")
    assert told.value.reason == "connection"
