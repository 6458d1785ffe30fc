"""Models of the library: which names are offered, the bound of memory, loading that readers share, what goes wrong, and
the lessons on models unlike the bundled ones.
"""
from __future__ import annotations

import dataclasses
import gc
import json
import math
import re
import threading
import weakref
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
import torch
import transformers as hf
from streamlit.testing.v1 import AppTest

from core import huggingface
from core.analysis import contributions, embeddings
from core.app.bar import model_offer
from core.app.compute import cache
from core.app.compute.library import loading, names, shelf
from core.app.lesson import differs
from core.app.state import run
from core.base import catalogue, deployment, devices, prose
from core.cost import counting
from core.huggingface import PretrainedError, families
from core.huggingface.tokens import NumberedTokens
from core.learning.learner import Copying, Learner
from core.model.activation import GATE_CURVES
from core.model.config import ACTIVATIONS, ModelConfig
from core.model.transformer import Transformer
from pages.models import listing
from tests.browser.views import LESSONS, address
from tests.helpers import hostile, huggingface_models, library_models
from tests.helpers.lessons import fine, go, open_at
from tests.helpers.messages import formulas

pytestmark = pytest.mark.long

WORDS = prose.load("library")


@pytest.fixture(scope="session")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    for name in library_models.FAMILIES:
        library_models.folder(root, name)
    hostile.folder(root)
    return root


@pytest.fixture(autouse=True)
def offered(roots: Path, monkeypatch: pytest.MonkeyPatch):
    """The operator offers the folders; every test begins with nothing loaded."""
    _fresh()
    monkeypatch.setenv(deployment.ROOTS, str(roots))
    for name in (deployment.HUB, deployment.HUB_MODELS, deployment.GIGABYTES):
        monkeypatch.delenv(name, raising=False)
    names._folders.cache_clear()
    yield
    _fresh()


def _fresh() -> None:
    for task in [*loading._looks.values(), *loading._loads.values()]:
        task.wait(60)
    loading._looks.clear()
    loading._loads.clear()
    for name, _ in cache.shelf.listed():
        cache.shelf.drop(name)


def loaded(name: str) -> cache.LoadedModel:
    task = loading.load(name)
    task.wait(60)
    assert task.problem is None, task.problem
    return cache.shared_model(name, devices.CPU)


def looked(name: str) -> loading.Task:
    task = loading.look(name)
    task.wait(60)
    return task


# ---- names -----------------------------------------------------------------------------------------------------------


def test_folders_are_found_at_any_depth_and_under_their_names_alone(roots: Path, tmp_path: Path,
                                                                    monkeypatch: pytest.MonkeyPatch):
    deep = tmp_path / "a" / "b" / "model"
    deep.mkdir(parents=True)
    (deep / "config.json").write_text("{}")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "config.json").write_text("{}")
    monkeypatch.setenv(deployment.ROOTS, f"{roots}:{tmp_path}:{deep}")
    assert set(names.folders()) == {*library_models.FAMILIES, hostile.NAME, "a/b/model", "model"}
    assert names.source("folder:a/b/model") == deep and names.source("folder:model") == deep


def test_a_folder_with_a_gguf_file_alone_is_listed_and_told_as_what_it_is(tmp_path: Path,
                                                                          monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "ollama").mkdir()
    (tmp_path / "ollama" / "gemma.Q4_K_M.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv(deployment.ROOTS, str(tmp_path))
    assert names.is_offered("folder:ollama")
    problem = looked("folder:ollama").problem
    assert problem.reason == "format" and "ollama is a model of llama.cpp (GGUF, gemma.Q4_K_M.gguf)" in problem.sentence
    assert str(tmp_path) not in problem.sentence and "Download the model again" not in problem.sentence


def test_no_link_leads_out_of_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "inside", root / "leaking", outside):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    (outside / "model.safetensors").write_text("a secret")
    (root / "linked").symlink_to(outside)
    (root / "leaking" / "model.safetensors").symlink_to(outside / "model.safetensors")
    (root / "inside" / "round").symlink_to(root)
    monkeypatch.setenv(deployment.ROOTS, str(root))
    assert set(names.folders()) == {"inside"}


@pytest.mark.parametrize("name", ["folder:../llama", "folder:/etc", "folder:", "folder:llama/..", "folder:./llama",
                                  "folder:llama\x00", "hub:../gpt2", "hub:/etc/passwd", "hub:a/b/c", "hub:~/x", "hub:",
                                  "hub:gpt2\n", "hub:C:\\x", "hub:https://evil", "hub:a--b", "hub:-x/y",
                                  "hub:" + "a" * 300, "hub:a/..", "hub:<b>"])
def test_a_hostile_name_is_offered_nothing(name: str):
    assert not names.is_offered(name)
    with pytest.raises(KeyError):
        names.source(name)


def test_the_operator_switches_the_hub_off_or_names_what_may_be_fetched(monkeypatch: pytest.MonkeyPatch):
    assert names.is_offered("hub:gpt2") and names.is_offered("hub:EleutherAI/pythia-160m")
    monkeypatch.setenv(deployment.HUB_MODELS, "gpt2, EleutherAI/pythia-70m")
    assert (names.is_offered("hub:gpt2") and names.is_offered("hub:EleutherAI/pythia-70m")
            and not names.is_offered("hub:EleutherAI/pythia-160m"))
    monkeypatch.setenv(deployment.HUB, "off")
    assert not names.is_offered("hub:gpt2")


# ---- memory ----------------------------------------------------------------------------------------------------------


def machine(monkeypatch: pytest.MonkeyPatch, free: int, bound: int) -> None:
    monkeypatch.setattr(devices, "memory_free", lambda device=devices.CPU: free)
    monkeypatch.setenv(deployment.GIGABYTES, str(bound / 1e9))


def test_the_least_recently_used_gives_its_place(monkeypatch: pytest.MonkeyPatch):
    machine(monkeypatch, free=10**12, bound=100)
    dropped: list[str] = []
    kept = shelf.Shelf(dropped.append)
    for name in "abc":
        assert kept.reserve(name, 30)
        kept.put(name, name)
    assert kept.get("a") == "a" and kept.n_bytes == 90
    assert kept.reserve("d", 60) and dropped == ["b", "c"] and kept.n_bytes == 90
    assert not kept.reserve("e", 70), "what is being made gives no place"
    kept.release("d")
    assert kept.n_bytes == 30 and [name for name, _ in kept.listed()] == ["a"]
    assert not kept.reserve("f", 101) and "a" in kept
    machine(monkeypatch, free=shelf.MARGIN + 40, bound=100)
    assert kept.room(71).fits is False and kept.room(70).fits


def test_a_dropped_model_is_freed_and_so_is_what_was_made_of_it(monkeypatch: pytest.MonkeyPatch):
    one = loaded("folder:llama")
    reading = run.read(one, "Once upon a time")
    watched = [weakref.ref(one.model), weakref.ref(one.model.blocks[0].W_O), weakref.ref(reading.trace)]
    cache.result(("made of it", one.name, 1), lambda E=one.model.E: E, lambda made: made.nbytes)
    del one, reading
    gc.collect()
    assert all(ref() is not None for ref in watched)
    machine(monkeypatch, free=10**12, bound=3 * 10**5)          # one of the two
    loaded("folder:neox")
    gc.collect()
    assert [name for name, _ in cache.shelf.listed()] == ["folder:neox"]
    assert [ref() for ref in watched] == [None, None, None]
    assert (cache.shared_model("folder:llama", devices.CPU).name
            == cache.model_names()[0]), "who still asks for it gets the main model"


def test_a_pass_that_ends_after_the_drop_is_not_kept():
    one = loaded("folder:llama")
    cache.shelf.drop("folder:llama")
    watched = weakref.ref(cache.trace(one, (0, 1, 2)))
    gc.collect()
    assert watched() is None


def test_memory_is_read_from_the_machine_and_its_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "meminfo").write_text("MemTotal: 1000 kB\nMemAvailable: 400 kB\n")
    monkeypatch.setattr(devices, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(devices, "CGROUP", tmp_path)
    assert (devices.memory_total(), devices.memory_free()) == (1024_000, 409_600)
    for name, value in (("memory.max", "500000"), ("memory.current", "300000"),
                        ("memory.stat", "anon 1\ninactive_file 50000\n")):
        (tmp_path / name).write_text(value)
    assert (devices.memory_total(), devices.memory_free()) == (500_000, 250_000)
    (tmp_path / "memory.max").write_text("max\n")
    assert devices.memory_total() == 1024_000


def test_what_a_lesson_reads_is_bounded_by_the_memory_of_a_pass():
    assert ([run.room(cache.shared_model(name, devices.CPU).model.config) for name in ("stories", "induction")]
            == [256, 64])
    large = ModelConfig(vocab_size=128_256, d_model=2048, n_layers=16, n_heads=32, n_kv_heads=8, n_context=131_072,
                        activation="swiglu", positions="rotary")
    assert (run.LEAST_TOKENS <= run.room(large) < 256
            and counting.trace_bytes(large, run.room(large)) <= cache.TRACE_BYTES / 2)
    for config in (ModelConfig(vocab_size=300, d_model=32, n_layers=3, n_heads=4, n_context=64),
                   ModelConfig(vocab_size=300, d_model=32, n_layers=2, n_heads=4, n_kv_heads=2, n_context=64,
                               positions="rotary", activation="swiglu")):
        made = Transformer(config).initialise(torch.Generator().manual_seed(0))(torch.arange(50)).n_bytes
        assert made == pytest.approx(counting.trace_bytes(config, 50), rel=0.15)


# ---- looking and loading ---------------------------------------------------------------------------------------------


def test_two_readers_share_one_load(monkeypatch: pytest.MonkeyPatch):
    began, go_on, calls = threading.Event(), threading.Event(), []
    whole = huggingface.from_pretrained

    def slow(name, progress=None):
        calls.append(name)
        began.set()
        go_on.wait(30)
        return whole(name, progress)

    monkeypatch.setattr(huggingface, "from_pretrained", slow)
    first = loading.load("folder:llama")
    assert began.wait(30) and loading.load("folder:llama") is first and loading.loading_of("folder:llama") is first
    assert not cache.exists("folder:llama") and cache.shelf.n_bytes > 0
    go_on.set()
    first.wait(60)
    assert len(calls) == 1 and cache.exists("folder:llama") and loading.loading_of("folder:llama") is None
    assert first.phase == "measuring" and first.done == first.total > 0


def test_a_failed_load_gives_its_room_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(huggingface, "from_pretrained", lambda *_: (_ for _ in ()).throw(MemoryError()))
    task = loading.load("folder:llama")
    task.wait(60)
    assert task.problem.reason == "memory" and cache.shelf.n_bytes == 0 and not cache.exists("folder:llama")


def models_in_memory() -> int:
    return sum(type(one) is Transformer for one in gc.get_objects())


def test_a_stopped_load_leaves_memory_as_it_was_and_can_begin_again(monkeypatch: pytest.MonkeyPatch):
    told, tell = [], loading.Task.tell

    def until_the_third(task: loading.Task, done: int, total: int) -> None:
        told.append((done, total))
        if len(told) == 3:
            task.stop()
        tell(task, done, total)

    monkeypatch.setattr(loading.Task, "tell", until_the_third)
    gc.collect()
    before = models_in_memory()
    task = loading.load("folder:llama")
    task.wait(60)
    gc.collect()
    assert task.problem.reason == "stopped" and len(told) == 3 and told[2][0] < told[2][1], "between two tensors"
    assert not cache.exists("folder:llama") and cache.shelf.n_bytes == 0 and models_in_memory() == before
    monkeypatch.setattr(loading.Task, "tell", tell)
    assert loaded("folder:llama").model.n_parameters == 42_936


def test_a_load_goes_on_while_its_reader_is_elsewhere_and_is_stopped_from_the_page(monkeypatch: pytest.MonkeyPatch):
    began, asked = threading.Event(), threading.Event()

    def endless(name, progress=None):
        began.set()
        while True:
            progress(300, 1000)
            asked.wait(0.05)

    monkeypatch.setattr(huggingface, "from_pretrained", endless)
    at = settled(open_at("models", model="folder:llama"), "folder:llama")
    at.button(key="model_load").click().run()
    assert began.wait(30)
    task = loading.loading_of("folder:llama")
    go(at, "tokens").run()
    assert fine(at) and task.running
    other = settled(open_at("models"), "folder:llama")
    assert other.button(key="models_use_folder:llama").label == WORDS.label("watch"), "another reader sees it, too"
    monkeypatch.setattr(task.pace, "seconds_left", lambda: 130.0)
    assert go(at, "models").run().button(key="model_stop"), "coming back finds it"
    assert at.get("progress")[0].proto.text == "llama: reading, 300 bytes of 1 kB · about 3 min left"
    at.button(key="model_stop").click().run()
    task.wait(30)
    at.run()
    assert (fine(at) and "The loading was stopped" in said(at) and at.button(key="model_load")
            and cache.shelf.n_bytes == 0)


@pytest.mark.parametrize("error, reason",
                         [(PretrainedError("offline", "It was told to stay offline."), "offline"),
                          (PretrainedError("gated", "Accept its terms on https://huggingface.co/a/b first."), "gated"),
                          (PretrainedError("unknown", "There is no model."), "unknown"),
                          (RuntimeError("a secret detail"), "unexpected"), (OSError("/secret/place"), "unexpected")])
def test_what_goes_wrong_is_a_plain_sentence_and_can_be_tried_again(error: Exception, reason: str,
                                                                    monkeypatch: pytest.MonkeyPatch):
    answers = [error, None]

    def preview(name):
        if (now := answers.pop(0)) is not None:
            raise now
        return "a preview"

    monkeypatch.setattr(huggingface, "preview", preview)
    task = looked("hub:a/b")
    assert task.problem.reason == reason and "secret" not in task.problem.sentence
    if isinstance(error, PretrainedError):
        assert task.problem.sentence == str(error)
    assert loading.look("hub:a/b") is task, "a failure is kept until someone asks again"
    again = loading.look("hub:a/b", again=True)
    again.wait(60)
    assert again.result == "a preview" and again.problem is None


def test_a_broken_folder_is_named_without_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(deployment.ROOTS, str(tmp_path))
    for name in ("half", "cut", "strange", "mixed"):
        library_models.folder(tmp_path, "llama").rename(tmp_path / name)
    (tmp_path / "half" / "model.safetensors").unlink()
    whole = (tmp_path / "cut" / "model.safetensors").read_bytes()
    (tmp_path / "cut" / "model.safetensors").write_bytes(whole[:len(whole) // 2])
    (tmp_path / "strange" / "config.json").write_text('{"model_type": "mamba"}')
    config = (tmp_path / "mixed" / "config.json").read_text()
    (tmp_path / "mixed" / "config.json").write_text(config.replace('"num_hidden_layers": 2', '"num_hidden_layers": 3'))
    for name, reason in (("half", "incomplete"), ("cut", "damaged"), ("strange", "family"), ("mixed", "mismatch")):
        problem = looked(f"folder:{name}").problem
        assert (problem.reason == reason and str(tmp_path) not in problem.sentence and "/tmp" not in problem.sentence
                and len(problem.sentence) > 30), problem


def test_random_weights_are_known_by_their_loss_and_trained_ones_too():
    one, vocabulary = loaded("folder:llama"), 700
    assert loading.is_chance(one.loss, vocabulary)
    uniform = Transformer(one.model.config)                 # weights of zero: every logit is 0
    assert loading.loss_on_fixed_text(uniform, one.tokenizer) == pytest.approx(math.log(vocabulary), rel=1e-6)
    main = cache.shared_model("stories", devices.CPU)
    assert not loading.is_chance(loading.loss_on_fixed_text(main.model, main.tokenizer), main.model.config.vocab_size)


def test_a_model_without_tokenizer_takes_numbers_and_any_text():
    tokenizer = loaded("folder:numbers").tokenizer
    assert tokenizer.encode("17 #4 699") == [17, 4, 699] and tokenizer.decode([17, 4]) == "17 4"
    made = tokenizer.encode("700 Lily Lily ٣ 99999999999 \ud800")
    assert made[1] == made[2] and all(0 <= i < 700 for i in made) and len(made) == 6
    assert loaded("folder:numbers").loss is None


def test_principal_axes_of_a_large_matrix_are_those_of_the_small_road(monkeypatch: pytest.MonkeyPatch):
    vectors = torch.randn(300, 12, generator=torch.Generator().manual_seed(0)) * torch.arange(1, 13)
    one = embeddings.principal_axes(vectors, 3)
    monkeypatch.setattr(embeddings, "LARGE", 100)
    monkeypatch.setattr(embeddings, "ROWS", 77)
    other = embeddings.principal_axes(vectors, 3)
    for name in ("mean", "axes", "shares"):
        assert torch.allclose(getattr(one, name), getattr(other, name), atol=1e-9), name


# ---- the page and the address ----------------------------------------------------------------------------------------


def settled(at: AppTest, name: str) -> AppTest:
    """The page once the look at a model has ended."""
    looked(name)
    return at.run()


def said(at: AppTest) -> str:
    return "\n".join(element.value for kind in (at.markdown, at.caption, at.info, at.warning) for element in kind)


def test_a_link_to_a_model_that_is_not_loaded_offers_it_and_loading_it_keeps_prompt_and_settings():
    at = settled(open_at("residual_stream", model="folder:llama", prompt="The cat sat", residual_stream_view="lens"),
                 "folder:llama")
    assert fine(at) and at.session_state["model"] == "folder:llama" and at.query_params["model"] == "folder:llama"
    assert "is not loaded" in said(at) and "42,936 parameters" in said(at) and "stories" in said(at)
    at.button(key="model_load").click().run()
    loading.load("folder:llama").wait(60)
    at.run()
    assert fine(at) and "is not loaded" not in said(at) and "no better than chance" in said(at)
    assert at.session_state["prompt"] == "The cat sat" and at.session_state["residual_stream_view"] == "lens"
    other = open_at("tokens", model="folder:llama")
    assert fine(other) and "is not loaded" not in said(other), "it is there for everyone"
    cache.shelf.drop("folder:llama")
    other.run()
    settled(other, "folder:llama")
    assert fine(other) and "is not loaded" in said(other) and other.session_state["model"] == "folder:llama"
    other.button(key="model_stay").click().run()
    assert fine(other) and other.session_state["model"] == "stories" and "is not loaded" not in said(other)


def test_keys_of_a_config_without_effect_are_named_before_and_after_loading(tmp_path: Path,
                                                                            monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(deployment.ROOTS, str(tmp_path))
    config = library_models.folder(tmp_path, "llama") / "config.json"
    more = {"activation": "swiglu", "n_special": 0, "`x`": 1, "a": 2, "b": 3}
    config.write_text(json.dumps(json.loads(config.read_text()) | more))
    at = settled(open_at("tokens", model="folder:llama"), "folder:llama")
    named = "also sets `activation = 'swiglu'`, `n_special = 0`, `ˋxˋ = 1`, `a = 2` and 1 keys more, which the library"
    assert fine(at) and named in said(at)
    at.button(key="model_load").click().run()
    loading.load("folder:llama").wait(60)
    assert fine(at.run()) and "is not loaded" not in said(at) and named in said(at)


def test_a_model_that_comes_while_the_page_is_drawn_is_shown_by_all_of_it(monkeypatch: pytest.MonkeyPatch):
    """It comes when the bar has been drawn, and before what offers it is."""
    loading.load("folder:llama").wait(60)
    exists, draw, is_here = cache.exists, model_offer.draw, []

    def drawn() -> None:
        is_here.append(True)
        draw()

    monkeypatch.setattr(cache, "exists", lambda name: exists(name) and (bool(is_here) or name != "folder:llama"))
    monkeypatch.setattr(model_offer, "draw", drawn)
    at = open_at("tokens", model="folder:llama")
    [bar] = [drawer.proto.popover.label for drawer in at.get("popover") if "model_drawer" in drawer.proto.id]
    assert fine(at) and bar.startswith("llama") and "no better than chance" in said(at)


@pytest.mark.parametrize("name", ["folder:../../etc", "folder:nothing", "hub:a/b/c", "hub:<b>x</b>", "folder:"])
def test_an_address_that_names_no_offered_model_is_left_out_with_a_notice(name: str):
    at = open_at("tokens", model=name)
    assert (fine(at) and at.session_state["model"] == "stories" and len(at.info) >= 1
            and "<b>" not in said(at).replace("<b>bold", ""))


def test_what_is_wrong_with_a_hub_model_is_said_in_its_place(monkeypatch: pytest.MonkeyPatch):
    def preview(_name):
        raise PretrainedError("offline", "gpt2 was not downloaded before, and there is no connection.")

    monkeypatch.setattr(huggingface, "preview", preview)
    at = settled(open_at("tokens", model="hub:gpt2", prompt="The cat"), "hub:gpt2")
    assert fine(at) and any("no connection" in warning.value for warning in at.warning)
    assert at.session_state["prompt"] == "The cat" and not any(button.key == "model_load" for button in at.button)


def test_a_model_that_will_not_fit_is_refused_beforehand(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(deployment.GIGABYTES, "0.0001")
    at = settled(open_at("models", model="folder:llama"), "folder:llama")
    assert (fine(at) and any("will not fit" in warning.value for warning in at.warning)
            and not any(button.key == "model_load" for button in at.button))
    task = loading.load("folder:llama")
    task.wait(60)
    assert task.problem.reason == "memory"


def test_the_page_lists_every_model_and_takes_names_of_the_hub(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(huggingface, "preview",
                        lambda name: (_ for _ in ()).throw(PretrainedError("unknown", f"There is no model {name}.")))
    at = open_at("models")
    assert fine(at)
    assert {f"models_use_folder:{name}" for name in library_models.FAMILIES} <= {button.key for button in at.button}
    for written, wanted in (("../../etc/passwd", "stories"), ("no/such-model", "hub:no/such-model")):
        at.text_input(key="models_hub_name").set_value(written)
        next(button for button in at.button
             if button.label == WORDS.label("look") and "hub" in str(button.proto.form_id)).click().run()
        assert fine(at) and at.session_state["model"] == wanted
    monkeypatch.setenv(deployment.HUB, "off")
    at.run()
    assert fine(at) and at.session_state["model"] == "stories" and WORDS.label("hub_off") in said(at)


def test_an_own_model_becomes_a_file_that_transformers_loads(tmp_path: Path):
    learner = Learner(Copying())
    name = cache.keep_own(learner.copy(), learner.task.tokenizer, "copying-0")
    packed = listing.transformers_zip(cache.shared_model(name, devices.CPU))
    zipfile.ZipFile(BytesIO(packed)).extractall(tmp_path)
    theirs = hf.AutoModelForCausalLM.from_pretrained(tmp_path / name)
    ids = torch.arange(5, 15)
    assert torch.allclose(theirs(ids[None]).logits[0],
                          cache.shared_model(name, devices.CPU).model(ids).logits, atol=1e-4)


def test_the_page_makes_that_file_or_says_why_there_is_none():
    learner = Learner(Copying())
    good = cache.keep_own(learner.copy(), learner.task.tokenizer, "copying-0")
    other = Transformer(dataclasses.replace(learner.model.config, positions="alibi")).initialise(
        torch.Generator().manual_seed(0))
    without = cache.keep_own(other, learner.task.tokenizer, "alibi-0")
    at = open_at("models")
    at.session_state["own_models"] = [good, without]
    at.run()
    for name in (good, without):
        at.button(key=f"models_make_{name}").click().run()
        assert fine(at)
    assert len(at.get("download_button")) == 1 and "no model of this architecture" in said(at)


def test_a_copy_for_another_device_computes_the_same():
    own = cache.shared_model("stories", devices.CPU).model
    made, ids = cache._copied(own, devices.CPU), torch.arange(9)
    assert (torch.equal(made.logits(ids), own.logits(ids)) and not made.training
            and not any(p.requires_grad for p in made.parameters()))


# ---- every lesson ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [hostile.NAME, "numbers"], ids=["hostile", "numbers"])
def test_every_view_of_every_lesson_works_on_other_models_or_says_why_not(name: str):
    """One of them, of the family of neox, has tokens and a name that would be markup if a page took them for it; the
    other has no tokenizer. Those of tests.pages.test_other_models have all that.
    """
    loaded(f"folder:{name}")
    at = open_at("models", model=f"folder:{name}", prompt=hostile.PROMPT if name == hostile.NAME else None)
    assert hostile.markup(at) == []
    for entry in catalogue.existing():
        go(at, entry.id)
        for view in LESSONS[entry.id]:
            for setting, option in address(entry.id, view).items():
                at.session_state[setting] = option
            at.run()
            assert fine(at), (entry.id, view, [e.value for e in (*at.exception, *at.error)])
            assert at.session_state["model"] == f"folder:{name}" and hostile.markup(at) == [], (entry.id, view)
    go(at, "training")
    at.session_state["training_view"], at.session_state["training_base"] = "tuning", "loaded"
    assert fine(at.run()) and hostile.markup(at) == []


def value(written: str) -> float:
    """A sum of products and quotients in LaTeX as a calculator reads it."""
    for mark, plain in ((r"\frac", ""), (r"\sqrt", "math.sqrt"), (r"\cdot 10^", "*10**"), (r"\cdot", "*"),
                        ("}{", ")/("), ("{", "("), ("}", ")"), (")(", ")*(")):
        written = written.replace(mark, plain)
    return eval(written, {"math": math})      # noqa: S307 (the page's own digits)


def shown(at: AppTest, start: str) -> list[str]:
    """The parts after each = of the formula that begins with this."""
    return next(latex for latex in formulas(at) if latex.startswith(start)).split("=")[1:]


def test_the_numbers_of_a_model_unlike_the_bundled_ones_hold_on_a_calculator():
    phi, qwen = loaded("folder:phi"), loaded("folder:numbers")
    at = open_at("next_token", model="folder:phi", prompt="The cat sat on the")
    *_, terms, u = shown(at, "u = h_N^L")
    logits = run.read(phi, "The cat sat on the").logits()
    assert value(terms) == pytest.approx(float(u), abs=6e-5) and float(u) == pytest.approx(logits.max(), abs=6e-5)
    assert len(re.findall(r"[\d.]+", terms)) == 5, "three products, the rest, and b_U"
    go(at, "attention").run()
    _, turned, result = ["", *shown(at, "k'_")]
    assert value(turned) == pytest.approx(float(result), abs=6e-5)
    at = open_at("attention", model="folder:numbers", prompt="17 4 256 3", layer="0", head="0", position="3",
                 attention_component="3")
    for start in (r"\hat{k}_", "k'_"):
        made, result = shown(at, start)
        assert value(made) == pytest.approx(float(result), abs=6e-5)
    block = run.read(qwen, "17 4 256 3").trace.blocks[0]
    key = int(re.match(r"k'_\{(\d+),3\}", next(latex for latex in formulas(at) if latex.startswith("k'_")))[1])
    assert float(result) == pytest.approx(float(block.K_rotated[0, key, 3]), abs=6e-5)
    at.session_state["residual_stream_view"] = "mlp"
    go(at, "residual_stream").run()
    made, result = shown(at, r"a = ")[-2:]
    neuron = int(re.search(r"W_2\^\{\((\d+)\)\}", "".join(formulas(at)))[1])
    assert (value(made) == pytest.approx(float(result), abs=6e-5)
            and float(result) == pytest.approx(float(block.mlp_post[3, neuron]), abs=6e-5))


def test_every_kind_of_model_has_its_words():
    """A label for every curve, part, and fact that a family brings, and no sentence about a fact that is not known."""
    known = set(differs.facts(ModelConfig(vocab_size=2, d_model=2, n_layers=1, n_heads=1, n_context=2),
                              NumberedTokens(2)))
    residual, architectures = prose.load("residual_stream").labels, prose.load("architectures").labels
    for name in ACTIVATIONS:
        assert ({f"curve_{name}", f"curve_{GATE_CURVES.get(name, name)}"} <= set(residual)
                and f"activations_short_{name}" in architectures)
    for kind in re.findall(r'"([a-z ]+)"', contributions.Part.__doc__):
        assert f"part_{kind.replace(' ', '_')}" in residual, kind
    for entry in catalogue.existing():
        for label in prose.load(entry.id).labels:
            if label.startswith("differs_"):
                fact = next((fact for fact in sorted(known, key=len) if label.endswith(f"_{fact}")), None)
                assert fact is not None, label
    for case in ("phi", "gemma", "qwen3", "mistral", "opt post-norm", "gemma2", "granite", "cohere2", "olmo", "phi3",
                 "gpt-neo", "bloom", "mpt"):
        config = families.plan_of(huggingface_models.CASES[case][0](**huggingface_models.CASES[case][1]).to_dict(),
                                  ()).config
        said = {entry.id: differs.sentences(prose.load(entry.id), view, config, NumberedTokens(61))
                for entry in catalogue.existing() for view in ("steps", "contributions", "rotary", "product")}
        assert said["overview"] and "{" not in str(said.values()).replace("sqrt{d_k}", "")


@pytest.mark.parametrize("case, lesson, view, sentence", [
    ("gpt-neo", "attention", "steps", "not divided by √d_k"), ("gpt-neo", "heads", "grid", "nothing divides them"),
    ("bloom", "overview", "flow", "passes a norm first"), ("bloom", "embeddings", "product", "the row passes a norm"),
    ("bloom", "residual_stream", "lens", "between E and the first"),
    ("mpt", "residual_stream", "contributions", "learn no shift β")])
def test_what_older_decoders_do_otherwise_is_said_of_them_alone(case, lesson, view, sentence):
    def told(case):
        kind, settings = huggingface_models.CASES[case]
        config = families.plan_of(kind(**settings).to_dict(), ()).config
        return sentence in " ".join(differs.sentences(prose.load(lesson), view, config, NumberedTokens(61)))

    assert told(case) and not told("llama")


@pytest.mark.parametrize("prompt", ["", "17 4 256", "x" * 3000])
def test_prompts_that_are_hard_for_other_tokenizers(prompt: str):
    for name in ("neox", "numbers"):
        loaded(f"folder:{name}")
        at = open_at("attention", model=f"folder:{name}", prompt=prompt)
        assert fine(at) and at.session_state["prompt"] == prompt
        assert ("begins a text with no token" in said(at)) == (prompt == "" )
        assert ("read the last 256 tokens of a text" in said(at)) == (name == "neox" and len(prompt) == 3000)
