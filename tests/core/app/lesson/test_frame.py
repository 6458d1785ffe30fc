"""The frame: state through the URL, experiments, commit before reveal, bad addresses, caches bounded in bytes,
complete text files.
"""
from __future__ import annotations

import math
import re
import threading
import types
import urllib.parse
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.analysis import attribution
from core.app.bar import prompt_bar
from core.app.compute import cache, queue
from core.app.compute.library import loading, names
from core.app.lesson import experiments
from core.app.parts import named_token
from core.app.shell import shell
from core.app.state import notices, prompts, run
from core.base import catalogue, deployment, devices, prose, signs
from core.base.markdown import unmarked
from core.figures.numbers import grouped, latex_number, latex_operand, plain_number, probability, readable
from core.model import checkpoints
from core.model.config import ModelConfig
from core.model.intervention import NOTHING, HeadEdit, Intervention
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from tests.helpers import library_models
from tests.helpers.lessons import open_at

ROOT = Path(__file__).resolve().parents[4]
TEXTS = sorted(path.stem for path in (ROOT / "assets" / "text" / "en").glob("*.md"))
LESSON = """
# title
Demo
# sentence
One sentence.
# explanation
One paragraph.
# labels
strength: Strength
# try: ball
title: Give the ball away
prompt: "Tom has a ball.\\nTom gave"
layer: 2
demo_strength: 0.25

Look at *Tom*.
# try: long
title: Repeat
prompt: Mia likes apples. Mia likes

Look at *likes*.
"""


def framed_app():
    """An app of one lesson with all frame parts, run by AppTest."""
    import pandas as pd
    import streamlit as st

    from core.app.bar import prompt_bar
    from core.app.lesson import check, experiments, lesson
    from core.app.parts.guard import guard
    from core.app.state import address, model_choice, reader
    from core.app.state.lesson_settings import Setting, Settings
    from core.base import prose

    settings = Settings("demo", {"strength": Setting(0.5, low=0, high=1)})
    reader.begin()
    model_choice.enter("demo")
    address.open_page()
    prompt_bar.draw()
    words = prose.parse("demo", st.session_state["demo_source"])
    page = lesson.Lesson("demo", words, prose.load("app"))
    with guard():
        reading = page.run()
        strength = st.slider(page.label("strength"), 0.0, 1.0, **settings.attached("strength"))
        st.text(f"{reader.selection()} {strength}")
        page.named_token(reading, -1)
        st.button("append", on_click=lambda: reader.append_token(st.session_state["to_append"]))
        st.button("present", on_click=lambda: reader.apply({"present": True}))
        page.pins({"Strength": f"{strength}"})
        page.explanation()
        page.numbers([("A sum", "1 + 1 = 2")])
        page.experiments()
        page.check(check.Question("which", "Which?", ["first", "second"], 1, "Because it is."))
        page.code([experiments.draw_all], {"demo.csv": lambda: pd.DataFrame({"x": [1]})}, ".demo",
                  "One computed sentence.")
        if st.session_state.get("fail"):
            raise RuntimeError("a secret detail")
    address.close_page()


def framed(**query: str) -> AppTest:
    at = AppTest.from_function(framed_app, default_timeout=600)
    at.session_state["demo_source"] = LESSON
    for key, value in query.items():
        at.query_params[key] = value
    return at.run()


def whole(at: AppTest) -> str:
    return "\n".join(m.value for m in at.markdown)


# --- state and URL ----------------------------------------------------------------------------------------------------

def test_state_is_read_from_the_url_and_written_back():
    at = framed(prompt="The cat sat", layer="3", head="5", position="1", demo_strength="0.75")
    assert at.session_state["prompt"] == "The cat sat"
    assert "layer=3, head=5, position=1, target=None, seed=4, xi=None) 0.75" in at.text[0].value
    at.text_area(key="prompt").set_value("A dog").run()
    assert at.query_params["prompt"] == "A dog" and at.query_params["layer"] == "3"


def test_the_default_state_leaves_the_url_empty():
    assert dict(framed().query_params) == {}


def test_a_link_opens_the_same_state():
    at = framed(prompt="One & two=3\nthree ü 😀", layer="1", demo_strength="0.2")
    link = re.search(r"\[link to it\]\((\./)?\?([^)]*)\)", whole(at))[2]
    values = {k: v[0] for k, v in urllib.parse.parse_qs(link, keep_blank_values=True).items()}
    assert (values["prompt"] == "Tom has a ball.\nTom gave" and values["layer"] == "2"
            and values["demo_strength"] == "0.25")
    again = framed(**values)
    assert again.session_state["prompt"] == "Tom has a ball.\nTom gave"
    assert "layer=2" in again.text[0].value and again.text[0].value.endswith("0.25")


def late_request():
    """A part of the page whose request left the browser before the pick of another part reached it, with the
    address of then.
    """
    import streamlit as st

    from core.app.compute import cache
    from core.app.state import reader
    st.session_state.update(prompt="The cat", model=cache.model_names()[0], device="cpu",
                            selection={"position": 1, "layer": 0})
    st.query_params["position"] = "5"
    reader.selection()


def test_an_old_address_is_put_right_by_whatever_reads_the_selection():
    at = AppTest.from_function(late_request).run()
    assert not at.exception and at.query_params["position"] == "1"


def test_the_prompt_survives_an_empty_one():
    at = framed(prompt="")
    assert not at.error and at.session_state["prompt"] == "" and at.query_params["prompt"] == ""
    assert at.session_state["bounds"].n_tokens == 1


@pytest.mark.parametrize("key, value",
                         [("layer", "two"), ("head", "-1"), ("position", "1e9"), ("target", "٣"), ("layer", "9" * 400),
                          ("model", "<script>alert(1)</script>"), ("device", "abacus"), ("layer", ""),
                          ("present", "perhaps"), ("class", "-1")])
def test_a_value_that_cannot_be_is_left_out_with_a_notice(key, value):
    at = framed(**{key: value})
    assert not at.exception and not at.error
    assert len(at.info) == 1 and key in at.info[0].value and "<" not in at.info[0].value and len(at.info[0].value) < 150
    assert key not in at.run().query_params


@pytest.mark.parametrize("query", [{"layer": "999", "head": "999", "position": "999", "target": "99999999"},
                                   {"demo_strength": "lots"}, {"demo_strength": "17"},
                                   {"prompt": "x" * 100_000}])
def test_a_value_out_of_range_is_clamped(query):
    at = framed(**query)
    assert not at.exception and not at.error
    shown = re.search(r"layer=(\d+), head=(\d+), position=(\d+), target=(\w+), .*\) ([\d.]+)", at.text[0].value)
    bounds = at.session_state["bounds"]
    assert int(shown[1]) < bounds.n_layers and int(shown[2]) < bounds.n_heads and int(shown[3]) < bounds.n_tokens
    assert shown[4] == "None" or int(shown[4]) < bounds.vocab_size
    assert 0 <= float(shown[5]) <= 1


def test_a_notice_outlasts_the_next_rerun_and_then_goes(monkeypatch):
    at = framed(layer="two")
    assert at.run().info
    monkeypatch.setattr(notices, "NOTICE_SECONDS", 0)
    assert not at.run().info


def test_a_text_of_more_than_a_megabyte_is_cut_and_said():
    at = framed()
    at.text_area(key="prompt").set_value("word " * 300_000).run()
    assert not at.exception and not at.error
    assert (at.session_state["prompt"] == ("word " * 4000)
            and len(at.session_state["prompt"]) == deployment.MOST_CHARACTERS)
    assert any("1500000" in info.value.replace(",", "") for info in at.info)
    assert "prompt" not in at.query_params   # too long for an address


def test_line_ends_are_kept_as_newlines():
    assert prompts.clean_prompt("a\r\nb\rc\nd") == "a\nb\nc\nd"


# --- the parts of a lesson --------------------------------------------------------------------------------------------

def test_an_experiment_sets_prompt_selection_and_widgets():
    at = framed()
    at.button("do_demo_ball").click().run()
    assert at.session_state["prompt"] == "Tom has a ball.\nTom gave"
    assert at.slider(key="demo_strength_widget").value == 0.25
    assert "layer=2" in at.text[0].value and at.query_params["layer"] == "2"


def test_the_link_of_an_experiment_carries_the_model_and_its_own_settings_alone():
    link = re.search(r"\[link to it\]\(\?([^)]*)\)", whole(framed(head="5", position="1", model="stories-small")))[1]
    assert set(urllib.parse.parse_qs(link)) == {"prompt", "model", "layer", "demo_strength"}


def test_the_answer_is_hidden_until_the_reader_commits():
    at = framed()
    assert "Because it is." not in whole(at) and at.button("demo_which_commit").disabled
    at.radio(key="demo_which_given").set_value(0).run()
    assert "Because it is." not in whole(at)
    at.button("demo_which_commit").click().run()
    assert "Because it is." in whole(at) and "first" in whole(at) and "second" in whole(at)
    assert at.radio(key="demo_which_given").disabled


def test_an_answer_that_was_taken_back_meanwhile_is_not_locked_in():
    at = framed()
    at.radio(key="demo_which_given").set_value(0).run()
    at.radio(key="demo_which_given").set_value(None)
    at.button("demo_which_commit").click().run()
    assert not at.exception and not at.error and "Because it is." not in whole(at)
    assert at.button("demo_which_commit").disabled


def test_the_source_shown_is_the_source_that_runs():
    at = framed()
    assert not at.code
    at.session_state["demo_source_open"] = True
    shown = "\n".join(block.value for block in at.run().code)
    assert ("def draw_all(" in shown
            and shown.strip() in (ROOT / "core" / "app" / "lesson" / "experiments.py").read_text())


def test_a_pinned_state_stands_beside_the_present_one_and_can_be_gone_back_to():
    at = framed(prompt="The cat")
    at.slider(key="demo_strength_widget").set_value(0.1).run()
    at.button("demo_pin").click().run()
    at.slider(key="demo_strength_widget").set_value(0.9).run()
    at.text_area(key="prompt").set_value("The dog").run()
    assert at.dataframe[0].value.values.tolist() == [["Strength", "0.1", "0.9"]]
    at.button("demo_pin_open").click().run()
    assert at.session_state["prompt"] == "The cat"


def test_a_token_is_appended_and_one_that_is_no_text_is_refused():
    at = framed(prompt="The cat")
    tokenizer = cache.shared_model(cache.model_names()[0], devices.preferred()).tokenizer
    at.session_state["to_append"] = tokenizer.encode(" a")[0]
    at.button[[b.label for b in at.button].index("append")].click().run()
    assert at.session_state["prompt"] == "The cat" + tokenizer.decode([at.session_state["to_append"]])
    kept = at.session_state["prompt"]
    half = next(i for i in range(tokenizer.vocab_size) if tokenizer.token_bytes(i) == b"\xe2")
    for refused in (half, tokenizer.end_of_text):
        at.session_state["to_append"] = refused
        at.button[[b.label for b in at.button].index("append")].click().run()
        assert at.session_state["prompt"] == kept and at.info


def test_naming_a_token_gives_its_rank_and_makes_it_the_target():
    at = framed(prompt="The cat")
    at.text_input(key="demo_named").set_value("a").run()
    loaded = cache.shared_model(cache.model_names()[0], devices.preferred())
    target = named_token.id_of("a", loaded.tokenizer)
    assert at.query_params["target"] == str(target)
    probs = torch.softmax(run.read(loaded, "The cat").trace.logits[-1].double().cpu(), 0)
    rank = 1 + int((probs > probs[target]).sum())
    assert f"number {rank} of" in whole(at)


def test_present_mode_shows_less_and_one_experiment_at_a_time():
    at = framed()
    at.button[[b.label for b in at.button].index("present")].click().run()
    assert at.query_params["present"] == "true" and at.toggle(key="present").value
    assert "One paragraph." not in whole(at) and not at.code
    with pytest.raises(KeyError):
        at.button("do_demo_ball")


def test_a_failure_is_a_plain_sentence_and_keeps_the_readers_state():
    at = framed(prompt="The cat")
    at.session_state["fail"] = True
    at.run()
    assert not at.exception and len(at.error) == 1
    assert "secret" not in at.error[0].value and "Traceback" not in at.error[0].value
    assert at.session_state["prompt"] == "The cat"


def test_saved_prompts_belong_to_their_session():
    one, other = framed(prompt="Mine"), framed(prompt="Yours")
    one.session_state["examples"] = True
    one.run().button("save_prompt").click().run()
    assert one.session_state["saved_prompts"] == ["Mine"]
    assert other.run().session_state["saved_prompts"] == []


@pytest.mark.parametrize("key", ["model", "device"])
def test_what_a_run_that_was_broken_off_took_along_is_read_from_the_address_again(key):
    at = framed(prompt="The cat")
    del at.session_state[key]
    at.run()
    assert (not at.exception and not at.error and at.session_state["prompt"] == "The cat"
            and at.session_state["device"] == devices.preferred())


def test_what_was_cut_off_is_said():
    at = framed(prompt="The dog ran to the park. " * 200)
    loaded = cache.shared_model(cache.model_names()[0], devices.preferred())
    n = len(loaded.tokenizer.encode("The dog ran to the park. " * 200))
    assert any(grouped(n) in c.value and grouped(n - loaded.model.config.n_context + 1) in c.value for c in at.caption)


# --- models, devices, caches ------------------------------------------------------------------------------------------

def test_without_a_bundled_model_the_random_one_says_so(monkeypatch):
    monkeypatch.setattr(checkpoints, "bundled_names", lambda: ())
    at = framed()
    assert not at.exception and not at.error
    assert any("random" in w.value for w in at.warning)


def test_only_models_that_continue_a_text_are_offered(monkeypatch, tmp_path):
    tokenizer = Tokenizer.train(["the cat"], 260)
    for kind in ("decoder", "encoder", "encoder-decoder"):
        config = ModelConfig(vocab_size=260, d_model=4, n_layers=1, n_heads=1, n_context=8, kind=kind)
        checkpoints.save(tmp_path / f"a {kind}", Transformer(config), tokenizer, "")
    monkeypatch.setattr(checkpoints, "BUNDLED", tmp_path)
    assert checkpoints.bundled_names() == ("a decoder", "a encoder", "a encoder-decoder")
    assert cache.model_names() == ("a decoder",)


def test_the_offer_of_a_model_tells_what_its_heaviest_picture_takes(monkeypatch, tmp_path):
    library_models.folder(tmp_path, "llama")
    monkeypatch.setenv(deployment.ROOTS, str(tmp_path))
    names._folders.cache_clear()
    look = loading.look("folder:llama")
    look.wait(60)
    config = look.result.config
    heaviest, twin = map(loading.readable_bytes, (attribution.memory(config, run.room(config)), look.result.n_bytes))
    assert prose.load("library").label("preview_heaviest", heaviest=heaviest, twin=twin) in whole(
        framed(model="folder:llama"))


def test_the_main_model_comes_first_and_every_other_says_what_it_is(monkeypatch):
    assert cache.model_names()[0] == "stories"
    assert all(prompt_bar.model_note(name) for name in cache.model_names()[1:]) and not prompt_bar.model_note("stories")
    assert ("smaller model" in prompt_bar.model_note("stories-small")
            and "positions-rotary" in prompt_bar.model_note("positions-rotary"))
    monkeypatch.setattr(prompt_bar, "model_note", lambda name: f"About {name}.")
    assert "About stories." in [c.value for c in framed().caption]


def test_a_broken_model_folder_gives_its_reason_and_a_page_that_works(monkeypatch, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text('{"vocab_size": 10}')
    monkeypatch.setattr(checkpoints, "BUNDLED", tmp_path)
    at = framed()
    assert not at.exception and not at.error
    assert len(at.warning) == 1 and "config" in at.warning[0].value and "random" in at.warning[0].value


def test_a_device_without_room_gives_the_cpu(monkeypatch):
    tried = []

    def load(name, device):
        tried.append(device)
        if device != "cpu":
            raise RuntimeError("MPS backend out of memory (allocated 9 GB)")
        return "the CPU's copy"

    monkeypatch.setattr(cache, "_load", load)
    monkeypatch.setattr(cache, "_bundled", cache.ByteBoundedCache(2))
    assert cache.shared_model("stories", "mps") == "the CPU's copy" and tried == ["mps", "cpu"]


def test_the_cpu_is_always_the_last_device_to_choose():
    assert devices.available()[-1] == "cpu" and devices.preferred() == devices.available()[0]


def test_the_cache_holds_at_most_its_bytes_and_drops_the_least_recently_used():
    store = cache.ByteBoundedCache(100)
    made = []

    def get(key, size):
        return store.get_or_make(key, lambda: made.append(key) or key.upper(), lambda value: size)

    assert get("a", 40) == "A" and get("b", 40) == "B" and get("a", 40) == "A"
    assert made == ["a", "b"]
    get("c", 40)                        # 120 bytes: b, the longest unused, has to go
    assert store.n_bytes == 80 and len(store) == 2
    get("a", 40), get("b", 40)
    assert made == ["a", "b", "c", "b"]
    assert get("huge", 101) == "HUGE" and store.n_bytes == 80   # given, not kept


def test_the_cache_keeps_its_count_under_many_threads():
    store = cache.ByteBoundedCache(1000)

    def work(seed):
        for i in np.random.default_rng(seed).integers(0, 50, 300):
            assert store.get_or_make(int(i), lambda i=i: int(i), lambda value: 10 + value) == i

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert store.n_bytes == sum(size for _, size in store._entries.values()) <= 1000


def test_a_trace_is_computed_once_for_each_prompt_and_intervention():
    loaded = cache.shared_model(cache.model_names()[0], devices.preferred())
    one, other = run.read(loaded, "The cat"), run.read(loaded, "The dog")
    off = Intervention(heads=(HeadEdit(0, 0),))
    assert one.trace is run.read(loaded, "The cat").trace is one.trace_with(NOTHING)
    assert one.trace is not other.trace and one.trace is not one.trace_with(off)
    assert not torch.equal(one.trace.logits, one.trace_with(off).logits)


# --- text -------------------------------------------------------------------------------------------------------------

def test_a_text_file_is_read_into_its_parts():
    words = prose.parse("demo", LESSON)
    assert words.section("title") == "Demo" and words.label("strength") == "Strength"
    first, second = words.experiments
    assert (first.id, first.title, first.look) == ("ball", "Give the ball away", "Look at *Tom*.")
    assert first.settings == {"prompt": "Tom has a ball.\nTom gave", "layer": 2, "demo_strength": 0.25}
    assert second.settings == {"prompt": "Mia likes apples. Mia likes"}
    with pytest.raises(KeyError, match="no label 'nowhere'"):
        words.label("nowhere")


@pytest.mark.parametrize("entry", catalogue.existing(), ids=lambda entry: entry.id)
def test_every_lesson_has_its_text(entry):
    words = prose.load(entry.id)
    own = [f"explanation_{view}" for view in entry.views]
    assert words.section("title") and (words.sections.get("explanation") or own and all(map(words.section, own)))
    assert len(words.section("sentence").splitlines()) == 1
    assert len({experiment.id for experiment in words.experiments}) == len(words.experiments)


def test_every_label_that_the_frame_asks_for_is_there():
    app = prose.load("app")
    asked = {key for path in [ROOT / "app.py", *(ROOT / "core" / "app").rglob("*.py")]
             for key in re.findall(r"""(?:words|frame_words|load\("app"\))\.label\(["'](\w+)["']""", path.read_text())}
    asked |= {key for path in (ROOT / "core" / "app").rglob("*.py")
              for key in re.findall(r'"(notice_\w+)"', path.read_text())}
    own = {key for name in TEXTS if name != "app" for key in prose.load(name).labels}
    assert not {key for key in asked if key not in app.labels} - own
    for stage in catalogue.STAGES:
        assert app.label(f"stage_{stage}") and app.label(f"hint_{stage}")
    for entry in catalogue.existing():
        assert app.label(f"lesson_{entry.id}") and app.label(f"section_{entry.section}")
    for device in ("cuda", "mps", "cpu"):
        assert app.label(f"device_{device}")
    assert {f"sign_{kind}" for kind in (*signs.KINDS, "ligature")} == {key for key in app.labels
                                                                       if key.startswith("sign_")}


def test_no_label_of_the_frame_is_left_over():
    sources = "".join(path.read_text() for path in [ROOT / "app.py", *(ROOT / "core" / "app").rglob("*.py"),
                                                     *(ROOT / "core" / "base").glob("*.py")])
    prefixes = ("before_", "find_", "stage_", "hint_", "lesson_", "section_", "device_", "not_of_", "class_time",
                "add_", "key_", "pick_", "live_", "sign_", "no_start_")
    assert [key for key in prose.load("app").labels
            if not key.startswith(prefixes) and f'"{key}"' not in sources.replace("'", '"')] == []


@pytest.mark.parametrize("name", TEXTS)
def test_every_label_can_be_filled_in(name):
    for key, label in prose.load(name).labels.items():
        assert label.count("{") == label.count("}"), f"{key} has a brace too many"


def test_the_strip_leads_only_to_lessons_that_exist():
    ids = {entry.id for entry in catalogue.existing()}
    assert "overview" in ids
    assert {catalogue.lesson_of(stage) for stage in catalogue.STAGES} - {None} <= ids


# --- numbers and pictures ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("p, shown", [(0.0, "0"), (1.0, "1"), (0.5, "0.500"), (0.12345, "0.123"),
                                      (0.9996, "0.9996"), (0.99949, "0.999"),
                                      (1 - 1e-9, "> 0.9999"), (1e-9, "1.0\u00a0·\u00a010⁻⁹"),
                                      (0.0006, "0.000600")])
def test_a_probability_is_never_rounded_into_a_falsehood(p, shown):
    assert probability(p) == shown
    assert (shown == "1") == (p == 1) and (shown == "0") == (p == 0)


def test_numbers_are_never_rounded_into_a_falsehood():
    assert [readable(v) for v in (0.9996, 0.99999999, 1.0, 12.34, -0.5, 0.0, 3.2e-7, math.inf, math.nan)] == [
        "0.9996", "> 0.9999", "1", "12.3", "−0.5", "0", "3.2\u00a0·\u00a010⁻⁷", "∞", "–"]
    assert [plain_number(w) for w in (0.0, 1.0, 0.25, 0.99999, 0.00001, -0.0)] == [
        "0.0000", "1.0000", "0.2500", "0.99999", "1.0000\u00a0·\u00a010⁻⁵", "0.0000"]
    assert [latex_number(v) for v in (0.99996, 1.0, 0.12345678, -2.0, 1.5e-7, 62.831853)] == [
        "0.99996", "1.0000", "0.1235", "-2.0000", r"1.5000 \cdot 10^{-7}", "62.8319"]
    assert [latex_number(v) for v in (-0.99996, -1.5e-7, 7.225974e86, math.nan, -math.inf)] == [
        "-0.99996", r"-1.5000 \cdot 10^{-7}", r"7.225974 \cdot 10^{86}", r"\text{–}", r"-\infty"]


def value_of(latex: str) -> float:
    digits, _, power = latex.partition(r" \cdot 10^")
    return float(digits) * 10 ** float(power.strip("{}") or 0)


def test_a_calculator_arrives_at_the_result_from_what_a_formula_puts_in():
    for seed, scale in enumerate((1, 5, 20, 40)):
        own, other = np.exp(-scale * np.random.default_rng(seed).random((2, 200)))
        for a, b in zip(own, other):
            total = a + b
            share, rest = a / total, 1 - a / total
            assert (value_of(latex_operand(a)) / value_of(latex_operand(total))
                    == pytest.approx(value_of(latex_number(share)), abs=6e-5, rel=1e-4))
            assert 0 < value_of(latex_number(share)) < 1 or share == 1
            assert 1 - value_of(latex_operand(share)) == pytest.approx(rest, rel=1e-4, abs=1e-15)


def test_rank_counts_from_one_and_ties_go_to_the_lower_id():
    logits = np.array([1.0, 3.0, 3.0, 0.0])
    found = [named_token.look_up(logits, i, "x") for i in range(4)]
    assert [token.rank for token in found] == [3, 1, 2, 4]
    assert sum(token.probability for token in found) == pytest.approx(1, abs=1e-15)


def test_the_qr_code_is_a_picture_in_png():
    assert prompt_bar.qr_code("http://localhost:8501/heads?prompt=a%20b")[:8] == b"\x89PNG\r\n\x1a\n"


# ---- the server's own ---------------------------------------------------------------------------------------------


def test_memory_is_given_back_once_a_minute_while_no_page_runs(monkeypatch: pytest.MonkeyPatch):
    given, page, minutes = [], ExitStack(), iter([page_begins := object(), page_ends := object(), None])

    def sleep(seconds: float) -> None:
        assert seconds == shell.TIDY_SECONDS
        minute = next(minutes)
        if minute is page_begins:
            page.enter_context(queue.PAGES)
        elif minute is page_ends:
            page.close()

    monkeypatch.setattr(shell, "time", types.SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(devices, "give_memory_back", lambda: given.append("given"))
    with pytest.raises(StopIteration):
        shell.tidy()
    assert given == ["given", "given"]      # not in the first minute


def test_a_damaged_bundled_model_is_explained_without_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "a school" / "damaged"
    tokenizer = Tokenizer.train(["the cat sat on the mat"] * 4, 260)
    config = ModelConfig(vocab_size=260, d_model=8, n_layers=2, n_heads=2, n_context=16)
    checkpoints.save(folder, Transformer(config), tokenizer, "A card")
    (folder / "model.safetensors").write_bytes(b"cut short")
    monkeypatch.setattr(checkpoints, "BUNDLED", folder.parent)
    at = open_at("overview")
    assert any("model.safetensors" in unmarked(warning.value) for warning in at.warning)
    assert_no_path(at, tmp_path)
    (folder / "config.json").write_text("{")
    at = open_at("models")
    assert any("config.json" in unmarked(text.value) for text in at.markdown)
    assert_no_path(at, tmp_path)


def assert_no_path(at: AppTest, root: Path) -> None:
    shown = " ".join(unmarked(str(each.value)) for kind in (at.markdown, at.warning, at.caption, at.error)
                     for each in kind)
    assert [part for part in ("a school", root.name, "/tmp/", "damaged/") if part in shown] == []


def place_of_the_prompt(**query: str) -> int:
    """The place of the part of the page that holds the prompt."""
    at = open_at("heads", **query)
    return next(place for place, part in at.main.children.items()
                if any(getattr(element, "key", "") == "prompt" for element in part))


def test_present_mode_leaves_the_parts_of_the_page_in_their_places():
    """Else a fragment that still runs for the page before would draw the prompt a second time."""
    assert place_of_the_prompt() == place_of_the_prompt(present="true")


def test_of_a_walk_the_menu_has_the_first_step_and_each_leads_to_the_next():
    walk = [prose.Experiment(name, name, {}, "") for name in ("one_1", "one_2", "one_3", "alone", "two_1")]
    assert [one.id for one in experiments.first_ones(walk)] == ["one_1", "alone", "two_1"]
    assert [next_.id if (next_ := experiments.following(walk, one)) else None for one in walk] == [
        "one_2", "one_3", None, None, None]
