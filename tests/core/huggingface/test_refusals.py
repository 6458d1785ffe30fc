"""The words on a model that is not read: what it is, why, and the nearest that opens."""
import csv
import json
import re
import types
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from core import huggingface
from core.huggingface import PretrainedError, hub, refusals, tables
from core.huggingface.families import FAMILIES, plan_of
from tests.core.huggingface.test_families import relative_error
from tests.core.huggingface.test_tokenizer_forms import vocab_txt
from tests.helpers.huggingface_models import hf, ids, saved
from tests.helpers.published_configs import BERT, PUBLISHED

TEXTS = Path(__file__).parents[3] / "assets/text/en"
# beside those of transformers: families that came with code of their own, or are read by later versions
ELSEWHERE = {"falcon_mamba", "rwkv7", "retnet", "llada", "kimi_k2", "kimi_linear"}


def refusal(of: Path) -> PretrainedError:
    """The words that both the look at a model and the loading say."""
    with pytest.raises(PretrainedError) as error:
        huggingface.from_pretrained(of)
    with pytest.raises(PretrainedError) as told:
        huggingface.preview(of)
    assert str(told.value) == str(error.value)
    return error.value


def written(folder: Path, config: dict | None, *files: str) -> Path:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(b"x")
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("family, reason, near", [
    ("qwen3_5", "in place of attention", "Qwen/Qwen3-0.6B"), ("qwen3_next", "in place of", "Qwen/Qwen3-0.6B"),
    ("qwen3_5_moe", "in place of attention", "Qwen/Qwen1.5-MoE-A2.7B"),
    ("gemma4", "embeddings of its own", "google/gemma-3-270m"), ("gemma3n", "values of earlier", "gemma-3-270m"),
    ("lfm2", "short convolutions", "HuggingFaceTB/SmolLM2-135M"), ("olmo3", "windows in three", "OLMo-2-0425-1B"),
    ("granitemoehybrid", "a state in place of", "granite-3.1-2b-base"), ("glm4", "interleaved", "SmolLM2-135M"),
    ("nanochat", "square of ReLU", "SmolLM2-135M"), ("deepseek_v3", "latent attention", "OLMoE-1B-7B"),
    ("albert", "one block again", "bert-base-uncased"), ("mpnet", "by distance", "all-MiniLM-L6-v2"),
    ("m2m_100", "sine waves", "mbart-large-50"), ("umt5", "of its own in each block", "t5-small"),
    ("openai-gpt", "norms after", "openai-community/gpt2"), ("ministral3", "long text", "SmolLM2-135M"),
    ("bitnet", "−1, 0 and 1", "SmolLM2-135M"), ("mistral3", "reads pictures", "SmolLM2-135M"),
    ("qwen12_dense", "does not know", "Qwen/Qwen3-0.6B"), ("whisper", "hears sound", "It knows GPT-2, OPT"),
    ("unheard", "does not know", "It knows GPT-2, OPT")])
def test_a_family_is_refused_with_its_reason_and_the_nearest_that_opens(family, reason, near):
    with pytest.raises(PretrainedError) as error:
        plan_of({"model_type": family}, ())
    assert error.value.reason == "family" and reason in str(error.value) and near in str(error.value)


def test_the_nearest_are_in_the_tables_of_the_page_and_no_reason_is_of_a_family_that_is_read():
    rows = list(csv.DictReader((TEXTS / "families.tsv").read_text().splitlines(), delimiter="\t"))
    listed = [name for row in rows for name in re.split(r", | to ", row["models"])]
    for model in tables.NEAREST.values():
        assert not model or any(name in model for name in listed), model
    assert not set(tables.NOT_READ) & set(FAMILIES)
    assert set(tables.NOT_READ) <= set(CONFIG_MAPPING_NAMES) | ELSEWHERE


def test_a_family_that_is_not_read_is_told_before_weights_that_are_missing(tmp_path):
    for values in ({"model_type": "qwen3_5"}, {"model_type": "unheard"}):
        assert refusal(written(tmp_path, values)).reason == "family"


def test_a_folder_with_only_a_gguf_file_and_the_file_itself_are_told_as_what_they_are(tmp_path):
    folder = written(tmp_path / "mine", None, "smollm2.Q4_1.gguf")
    for of in (folder, folder / "smollm2.Q4_1.gguf"):
        told = refusal(of)
        assert told.reason == "format" and "is a model of llama.cpp (GGUF, smollm2.Q4_1.gguf)" in str(told)
        command = str(told).partition("python -c ")[2]
        compile(command.strip('"'), "command", "exec")
        assert "gguf_file=file" in command and f"{str(folder)!r}, 'smollm2.Q4_1.gguf', 'smollm2.Q4_1'" in command
    assert "GGUF" in str(refusal(written(folder, PUBLISHED["llama"])))


@pytest.mark.parametrize("files", [["onnx/model.onnx"], ["onnx/decoder_model_merged.onnx", "onnx/x.bin", "a/b/c.bin"]])
def test_onnx_in_a_folder_of_its_own_is_named(files, tmp_path):
    told = refusal(written(tmp_path, PUBLISHED["gpt2"], *files))
    assert told.reason == "format" and f"as ONNX, a graph of operations ({files[0]})" in str(told)


@pytest.mark.parametrize("files, said", [
    (["README.md", "q4/m-00001.gguf"], "us/m is a model of llama.cpp (GGUF, q4/m-00001.gguf)"),
    (["adapter_config.json"], "us/m is an adapter"), (["README.md"], "us/m on the Hub has no config.json")])
def test_what_a_hub_repository_without_a_config_is(files, said, monkeypatch):
    monkeypatch.setattr(hub, "_client", lambda client=hub._client(): types.SimpleNamespace(
        errors=client.errors, snapshot_download=lambda *_args, **_asked: [],
        HfApi=lambda: types.SimpleNamespace(list_repo_files=lambda _name: files)))
    with pytest.raises(PretrainedError, match=re.escape(said)):
        hub.listed("us/m")


def test_gpt_oss_as_published_is_told_how_it_is_dequantised():
    with pytest.raises(PretrainedError) as error:
        plan_of({"model_type": "gpt_oss", "quantization_config": {"quant_method": "mxfp4"}}, ())
    command = str(error.value).partition('python -c "')[2].partition('"')[0]
    compile(command, "command", "exec")
    assert "C(dequantize=True)" in command and "42 GB" in str(error.value) and hf.Mxfp4Config(dequantize=True)
    assert refusals.MADE_FROM not in str(error.value)


def test_what_that_command_writes_is_read_and_what_it_would_write_otherwise_is_told(tmp_path):
    published, plain, renamed = (tmp_path / name for name in ("published", "plain", "renamed"))
    saved("gpt-oss", published, hidden_size=64, intermediate_size=64)
    weights = load_file(published / "model.safetensors")
    for name in [name for name in weights if name.endswith(("gate_up_proj", "down_proj"))]:
        n, n_in, n_out = weights.pop(name).shape
        weights[f"{name}_blocks"] = torch.arange(n * n_out * n_in // 2).remainder(251).to(torch.uint8).view(
            n, n_out, n_in // 32, 16)
        weights[f"{name}_scales"] = torch.full((n, n_out, n_in // 32), 120, dtype=torch.uint8)
    save_file(weights, published / "model.safetensors", {"format": "pt"})
    values = json.loads((published / "config.json").read_text())
    (published / "config.json").write_text(json.dumps(values | {"quantization_config": {"quant_method": "mxfp4"}}))
    told = str(refusal(published))
    command = told.partition('python -c "')[2].partition('"')[0].partition("T.from_pretrained")[0]
    names = "name, new = 'openai/gpt-oss-20b', 'gpt-oss-20b-plain'"
    for command_given, new in ((command, plain), (command.replace("save_original_format=False", ""), renamed)):
        exec(command_given.replace(names, f"name, new = {str(published)!r}, {str(new)!r}"), {})
    theirs = hf.AutoModelForCausalLM.from_pretrained(plain, dtype=torch.float32, attn_implementation="eager")
    with torch.no_grad():
        expected = theirs(ids(1, 9)).logits
    assert relative_error(huggingface.from_pretrained(plain)[0](ids(1, 9)).logits, expected) < 1e-5
    assert "under the names of quantised weights" in str(refusal(renamed)) and command in str(refusal(renamed))


@pytest.mark.parametrize("bare", [False, True])
def test_a_bert_from_before_there_was_a_model_type_is_read(bare, tmp_path):
    size = vocab_txt({}, tmp_path)
    theirs = saved("bert", tmp_path, vocab_size=size)
    if bare:
        theirs.base_model.save_pretrained(tmp_path)
    kept = {name: value for name, value in json.loads((tmp_path / "config.json").read_text()).items() if name in BERT}
    assert "model_type" not in kept and plan_of(kept, ())
    (tmp_path / "config.json").write_text(json.dumps(kept))
    (tmp_path / "tokenizer_config.json").unlink()
    ours, tokenizer = huggingface.from_pretrained(tmp_path)
    with torch.no_grad():
        expected = theirs.base_model(ids(1, 9)).last_hidden_state
    assert relative_error(ours(ids(1, 9)).h_final, expected) < 1e-5 and tokenizer.method == "WordPiece"
    assert huggingface.preview(tmp_path).family == "BERT"
    with pytest.raises(PretrainedError, match="the family None"):
        plan_of(kept | {"type_vocab_size": 1}, ())
