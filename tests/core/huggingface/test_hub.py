"""Models from the Hub, by a stand-in on this machine: real requests of huggingface_hub, in a process of its own, whose
environment says where the Hub is.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.core.huggingface.test_piece_tokenizers import LLAMA, llama_file, write
from tests.core.huggingface.test_tokenizer_forms import two_files, vocab_txt
from tests.core.huggingface.test_tokens import gpt2, written
from tests.helpers import sentencepiece_files
from tests.helpers.hub_server import COMMIT, served
from tests.helpers.huggingface_models import made, saved

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
RUN = """
import dataclasses, json, sys, torch
from core import huggingface
from core.huggingface import PretrainedError, Stopped
from core.huggingface import hub
hub._client()
import pathlib, time
from huggingface_hub import constants
constants.DOWNLOAD_CHUNK_SIZE = 4096       # of a file that fits a test
time.sleep = lambda seconds: None                          # between two tries
said, disk = [], lambda: sorted(str(path) for path in pathlib.Path(constants.HF_HUB_CACHE).glob("models--*/**/*"))
def stop(done, total):
    if done > total / 2:
        raise Stopped
for call, name in json.loads(sys.argv[1]):
    heard = []
    try:
        if call == "preview":
            told = huggingface.preview(name)
            said.append([told.name, told.family, told.n_parameters, told.dtype, told.tokenizer,
                         told.download_bytes, told.config.vocab_size])
        elif call == "load":
            model, tokenizer = huggingface.from_pretrained(name, lambda *bytes: heard.append(bytes))
            ids = torch.tensor([5, 6, 7])
            logits = model(ids, source_ids=None if model.encoder is None else ids).logits
            said.append([model.n_parameters, tokenizer.method, float(logits.sum()), heard])
        elif call == "stop":
            before = disk()
            try:
                huggingface.from_pretrained(name, stop)
            except Stopped:
                said.append([before == disk(), len(before)])
        else:
            said.append(huggingface.is_here(name))
    except PretrainedError as error:
        said.append([error.reason, str(error)])
print(json.dumps([said, "transformers" in sys.modules]))
"""


def run(calls: list[tuple[str, str]], cache: Path, **environment: str) -> list:
    """Each call's output, in a process that keeps its downloads in `cache`."""
    settings = {**os.environ, "HF_HOME": str(cache), "HF_HUB_DOWNLOAD_TIMEOUT": "5",
                "OMP_NUM_THREADS": "1", **environment}
    settings.pop("HF_TOKEN", None)
    done = subprocess.run([sys.executable, "-c", RUN, json.dumps(calls)], cwd=ROOT, env=settings, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said, transformers = json.loads(done.stdout.splitlines()[-1])
    assert not transformers
    return said


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The output online, then offline, then with nobody at the address; the models; and the requests."""
    root, cache = tmp_path_factory.mktemp("hub"), tmp_path_factory.mktemp("cache")
    for name in ("us/whole", "us/sharded", "us/gated", "us/pickled", "us/strange", "us/half", "us/cut", "us/lost",
                 "us/pieces", "us/adapter", "us/words", "us/class", "us/marian", "us/llama"):
        (root / name).mkdir(parents=True)
    size = written(*gpt2(), root / "us/whole")
    theirs = saved("gpt2", root / "us/whole", vocab_size=size)
    (root / "us/whole/modeling_evil.py").write_text("raise SystemExit")
    (root / "us/whole/pytorch_model.bin").write_bytes(b"evil")
    made("llama").to(torch.bfloat16).save_pretrained(root / "us/sharded", max_shard_size="10KB")
    saved("gpt2", root / "us/gated")
    saved("gpt2", root / "us/pickled")
    (root / "us/pickled/model.safetensors").rename(root / "us/pickled/pytorch_model.bin")
    (root / "us/strange/model.safetensors").write_bytes(b"x")
    made("llama").save_pretrained(root / "us/half", max_shard_size="20KB")
    next((root / "us/half").glob("model-00002-*")).unlink()
    for name in ("us/pieces", "us/class"):
        saved("gpt2", root / name)
    (root / "us/pieces/sentencepiece.bpe.model").write_bytes(b"x")
    saved("llama", root / "us/llama", vocab_size=write(root / "us/llama", llama_file(), LLAMA, "llama"))
    (root / "us/whole/tokenizer.model").write_bytes(b"beside tokenizer.json")
    (root / "us/adapter/adapter_config.json").write_text("{}")
    (root / "us/adapter/adapter_model.safetensors").write_bytes(b"x")
    saved("bert", root / "us/words", vocab_size=vocab_txt({"do_lower_case": False}, root / "us/words"))
    two_files(gpt2()[0], {"tokenizer_class": "BlenderbotTokenizer"}, root / "us/class")
    saved("marian", root / "us/marian", vocab_size=sentencepiece_files.write_marian(root / "us/marian"))
    for name in ("us/cut", "us/lost"):
        made("gpt2", n_embd=48).save_pretrained(root / name)
    cuts = {"us/cut/model.safetensors": [10_000, 9_000], "us/lost/model.safetensors": [9_000] + [0] * 20}
    with served(root, {"us/gated"}, cuts) as (address, hub):
        online = run([("here", "us/whole"), ("preview", "us/whole"), ("load", "us/whole"), ("here", "us/whole"),
                      ("preview", "us/whole"), ("load", "us/whole"), ("preview", "us/sharded"),
                      ("load", "us/sharded"), ("load", "us/gated"), ("load", "us/pickled"), ("preview", "us/strange"),
                      ("load", "us/nothing"), ("preview", "us/nothing"), ("load", "a/b/c"), ("preview", ""),
                      ("load", "us/half"), ("load", "us/cut"), ("load", "us/lost"), ("here", "us/lost"),
                      ("preview", "us/pieces"), ("load", "us/pieces"), ("preview", "us/adapter"),
                      ("preview", "us/class"), ("preview", "us/words"), ("load", "us/words"), ("preview", "us/marian"),
                      ("load", "us/marian"), ("preview", "us/llama"), ("load", "us/llama"), ("here", "us/llama")],
                     cache, HF_ENDPOINT=address)
        cuts.clear()
        again = run([("preview", "us/lost"), ("stop", "us/lost"), ("load", "us/lost"), ("here", "us/lost")], cache,
                    HF_ENDPOINT=address)
    offline = run([("load", "us/whole"), ("preview", "us/whole"), ("load", "us/gated"), ("preview", "us/gated"),
                   ("load", "us/llama")], cache, HF_ENDPOINT=address, HF_HUB_OFFLINE="1")
    unreachable = run([("load", "us/whole"), ("load", "us/nothing"), ("preview", "us/nothing")], cache,
                      HF_ENDPOINT=address)
    return online, offline, unreachable, theirs, root, hub, again


def test_a_preview_fetches_no_weights_and_is_exact(world):
    online, _, _, theirs, root, hub, _ = world
    asked = hub.asked
    sizes = sum((root / "us/whole" / name).stat().st_size
                for name in ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
                             "tokenizer_config.json"))
    assert online[0] is False and online[1] == ["us/whole", "GPT-2", theirs.num_parameters(), "float32",
                                                "tokenizer.json", sizes, theirs.config.vocab_size]
    name, family, _, dtype, tokenizer, to_come, _ = online[6]
    assert (name, family, dtype, tokenizer) == ("us/sharded", "Llama", "bfloat16", "") and to_come > 0
    first_load = asked.index(f"GET us/whole/resolve/{COMMIT}/model.safetensors")
    assert ([one for one in asked[:first_load] if "model.safetensors" in one and "GET" in one]
            == ["GET us/whole/resolve/main/model.safetensors"]), "only the header, by its range"


def test_a_model_is_fetched_once_and_loaded(world):
    online, _, _, theirs, root, hub, _ = world
    asked = hub.asked
    parameters, method, total, heard = online[2]
    assert ((parameters, method) == (theirs.num_parameters(), "byte-level BPE") and online[3] is True
            and online[4][5] == 0)
    assert (online[5][:3] == [parameters, method, total]
            and asked.count(f"GET us/whole/resolve/{COMMIT}/model.safetensors") == 1)
    assert online[7][1] == "numbers"


def test_progress_is_told_of_the_download_then_of_the_reading(world):
    online, _, _, theirs, root, *_ = world
    heard, to_come = online[2][3], online[1][5]
    download = [done for done, total in heard if total != 4 * theirs.num_parameters()]
    assert download == sorted(download) and 0 < download[-1] <= to_come
    before = sum((root / "us/whole" / name).stat().st_size for name in ("config.json", "tokenizer_config.json"))
    assert download[-1] == to_come - before, "the settings came with the preview"
    assert heard[-1] == [4 * theirs.num_parameters()] * 2


def test_nothing_but_config_tokenizer_and_safetensors_is_asked_for(world):
    asked = [one.rsplit("/", 1)[-1] for one in world[-2].asked if "/resolve/" in one]
    read = (".json", ".safetensors", "merges.txt", "vocab.txt", "source.spm", "tokenizer.model")
    assert asked and all(name.endswith(read) for name in asked)
    assert not any("telemetry" in one for one in world[-2].asked)


@pytest.mark.parametrize("which, reason, said", [
    (8, "gated", "HF_TOKEN"), (9, "format", "its weights are in pytorch_model.bin"),
    (9, "format", "name, new = 'us/pickled', 'pickled-safetensors'; M.from_pretrained(name).save_pretrained(new)"),
    (19, "tokenizer", "in the form sentencepiece.bpe.model"), (20, "tokenizer", "form sentencepiece.bpe.model"),
    (21, "format", "us/adapter is an adapter"), (22, "tokenizer", "of the class BlenderbotTokenizer"),
    (10, "format", "no config.json"),
    (11, "unknown", "There is no model us/nothing"), (12, "unknown", "Look at the spelling"),
    (13, "name", "no name of a model"), (14, "name", "no name of a model"),
    (15, "incomplete", "is missing, of 3 weight files")])
def test_what_the_hub_refuses(world, which, reason, said):
    assert world[0][which][0] == reason and said in world[0][which][1]


def test_a_tokenizer_of_words_is_fetched_and_read(world):
    online = world[0]
    assert online[23][4] == "vocab.txt" and online[24][1] == "WordPiece"


def test_the_two_files_of_a_marian_are_fetched_and_no_others(world):
    online = world[0]
    assert online[25][4] == "source.spm" and online[26][1] == "Unigram"
    fetched = {one.rsplit("/", 1)[-1] for one in world[-2].asked if one.startswith("GET us/marian/resolve/")}
    assert fetched == {"config.json", "generation_config.json", "model.safetensors", "source.spm", "vocab.json",
                       "tokenizer_config.json"}


def test_a_file_of_sentencepiece_is_fetched_where_there_is_no_tokenizer_json(world):
    online, offline, *_, root, hub, _ = world
    assert online[27][4] == "tokenizer.model" and online[28][1] == "BPE" and online[29] is True
    assert online[27][5] == sum(path.stat().st_size for path in (root / "us/llama").iterdir())
    assert offline[4][:3] == online[28][:3]
    fetched = {one for one in hub.asked if one.startswith("GET") and one.endswith("tokenizer.model")}
    assert fetched == {f"GET us/llama/resolve/{COMMIT}/tokenizer.model"}


def test_what_is_refused_is_not_fetched(world):
    fetched = [one for one in world[-2].asked if one.startswith("GET") and "/resolve/" in one]
    assert not any(name in one and one.endswith((".model", ".bin", "adapter_model.safetensors"))
                   for one in fetched for name in ("us/pieces", "us/pickled", "us/adapter"))
    assert not any(f"us/pieces/resolve/{COMMIT}/model.safetensors" in one for one in fetched)


def test_offline_what_was_fetched_is_there(world):
    online, offline, unreachable, *_ = world
    assert offline[0][:3] == unreachable[0][:3] == online[2][:3] and offline[1] == online[4]
    for said in offline[2:4]:
        assert said[0] == "offline" and "HF_HUB_OFFLINE" in said[1]


def test_without_a_connection_the_reader_is_told(world):
    for said in world[2][1:]:
        assert said[0] == "connection" and "Look at the connection to http://127.0.0.1" in said[1]


def test_a_connection_that_is_cut_is_taken_up_where_it_was_cut(world):
    online, hub = world[0], world[-2]
    heard = online[16][3]
    download = [done for done, total in heard if total == heard[0][1]]
    parts = [one.split("bytes=")[1] for one in hub.ranges
             if one.startswith("us/cut/model.safetensors") and one.endswith("-")]
    assert (online[16][0] > 0 and download == sorted(download) and download[-1] == heard[0][1] and len(parts) == 2
            and 0 < int(parts[0][:-1]) <= 10_000 < int(parts[1][:-1]))


def test_a_download_that_is_lost_is_told_and_comes_whole_the_next_time(world):
    online, again = world[0], world[-1]
    assert online[17][0] == "connection" and "files that came whole are kept" in online[17][1] and online[18] is False
    assert again[2][0] == online[16][0] and again[3] is True


def test_a_download_that_is_stopped_leaves_the_disk_as_it_was(world):
    same, n_files = world[-1][1]
    assert same and n_files > 0, "the config and what came whole before stay"
