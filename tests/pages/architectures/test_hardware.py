"""Hardware: what the three pictures are given and say, by second computations, and what the browser computes itself."""
from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from core.cost import built_models, counting, roofline, systolic
from core.figures.numbers import percent
from core.model.presets import PRESETS
from pages.architectures import hardware
from tests.claims.passes import opening
from tests.helpers.javascript import evaluate
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import formulas, given, numbers_in
from tests.helpers.predictions import ask, commit, question, statements

WORK = "pages/architectures/hardware_work.js"
HARDWARE = built_models.load().hardware


def opened(picture: str, **query: str):
    at = open_at("architectures", architectures_view="hardware", architectures_machine=picture,
                 **{f"architectures_{name}": value for name, value in query.items()})
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


def state_of(sent: dict, n: int) -> dict:
    return next(state for state in sent["states"] if state["n"] == n)


# ---- what a pass is made of ------------------------------------------------------------------------------------------


def test_the_products_of_the_prompts_pass_are_those_that_torch_counts():
    there, sent = opening(), given(opened("pass"), "hardware")
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        there.model(torch.tensor(there.token_ids))
    state = state_of(sent, sent["at"])
    values = {part["name"]: part["value"] for part in state["parts"]}
    products = sum(values[name] for name in sent["products"])
    assert sent["at"] == sent["own"] == len(there.token_ids) and products == counter.get_total_flops()
    assert state["share"] == percent(products / sum(values.values()), 2)


def test_the_formulas_say_what_the_picture_says():
    at = opened("pass", pass_model="gpt3", machine_length="2048")
    sent, lines = given(at, "hardware"), formulas(at)
    values = {part["name"]: part["value"] for part in state_of(sent, 2048)["parts"]}
    assert lines[1].endswith(f"= {values['mlp']}") and values["mlp"] == 2 * 2048 * 8 * 12288 ** 2 * 96
    assert values["scores"] == values["weighted"] == 2 * 2048 ** 2 * 12288 * 96
    whole = sum(values[name] for name in sent["products"])
    assert whole == sum(counting.flops(PRESETS["gpt3"].config, 2048).values())
    share = numbers_in(lines[0])[-1]
    rest = sum(value for name, value in values.items() if name not in sent["products"])
    assert share == pytest.approx(1 - rest / sum(values.values()), abs=5e-5)


@pytest.mark.parametrize("query", [{"pass_model": "gpt3", "machine_length": "9e9"}, {"machine_length": "-4"},
                                   {"pass_model": "gpt5", "machine_length": "x"}, {"machine_length": "100000"}])
def test_an_absurd_setting_is_brought_back(query: dict):
    sent = given(opened("pass", **query), "hardware")
    assert sent["at"] in [state["n"] for state in sent["states"]]


@pytest.mark.parametrize("most", [1, 5, 256, 1000, 4096])
def test_the_lengths_grow_by_half_or_a_third_and_end_at_the_context(most: int):
    found = hardware.lengths(most, 26)
    assert found[0] == 1 and most in found and 26 in found and found == sorted(set(found))
    assert max(found) == max(most, 26)


def test_a_model_without_a_feed_forward_part_is_shown():
    at = open_at("architectures", architectures_view="hardware", model="induction")
    values = {part["name"]: part["value"] for part in given(at, "hardware")["states"][0]["parts"]}
    assert fine(at) and values["mlp"] == values["activation"] == 0 < values["qkv"]


def test_twice_the_tokens_make_four_times_the_scores():
    at = opened("pass")
    at.radio("architectures_pass_given").set_value(1).run()
    at.button("architectures_pass_commit").click().run()
    assert any(m.value.startswith("Yes") for m in at.markdown)


# ---- the roofline ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "n", "texts", "device"), [
    ("gpt3", 2048, 1, "h100"), ("gpt3", 26, 64, "v100"), ("llama2-70b", 4096, 1024, "a100"), ("own", 256, 8, "tpu_v4")])
def test_the_browser_finds_the_bounds_of_python(model: str, n: int, texts: int, device: str):
    sent = given(opened("roofline", roofline_model=model, machine_context=str(n), machine_batch=str(texts),
                        machine_device=device), "hardware")
    config = opening().model.config if model == "own" else PRESETS[model].config
    length = sent["at"]
    state, one = state_of(sent, length), next(d for d in sent["devices"] if d["id"] == device)
    read, write, count = evaluate(WORK, """[m.readingOf(state), m.writingOf(state, texts),
        m.devicesFor(weights, state.cache, texts, device)].map((found) => (typeof found === "number" ? found
        : { ...found, rate: m.attained(found.intensity, device) }))""", state=state, texts=texts, device=one,
                                  weights=sent["weights"])
    for found, work in ((read, roofline.reading(config, length)), (write, roofline.writing(config, length, texts))):
        assert (found["operations"], found["bytes"]) == (work.operations, work.bytes)
        assert found["rate"] == pytest.approx(min(HARDWARE[device].teraflops * 1e12,
                                                  work.intensity * HARDWARE[device].gigabytes_per_second * 1e9))
    size = 2 * counting.n_parameters(config) + texts * counting.kv_cache_bytes(config, length, roofline.DTYPE)
    assert count == math.ceil(size / (HARDWARE[device].gigabytes * 1e9))


def test_the_formulas_of_the_roofline():
    lines = formulas(opened("roofline", machine_batch="8"))
    work = roofline.writing(PRESETS["gpt3"].config, 2048, 8)
    assert f"{work.operations}}}{{{work.bytes}}}" in lines[1]
    assert numbers_in(lines[2])[-1] == pytest.approx(989 / 3.35, abs=1e-3)
    assert numbers_in(lines[3])[-1] == pytest.approx(8 / (work.bytes / 3.35e12), rel=1e-4)
    square, vector = (part.split(" = ")[-1] for part in lines[4].split(r", \qquad "))
    d = 12288
    assert float(square.replace("{,}", "")) == pytest.approx(2 * d ** 3 / (3 * d * d * 2))
    assert float(vector) == pytest.approx(2 * d * d / ((d * d + 2 * d) * 2), abs=1e-4)


def test_a_faster_memory_and_not_a_higher_peak_makes_writing_faster():
    at = opened("roofline")
    at.radio("architectures_roofline_given").set_value(1).run()
    at.button("architectures_roofline_commit").click().run()
    assert any(m.value.startswith("Yes") for m in at.markdown)


# ---- the array -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "n", "seed"), [(3, 3, 0), (1, 4, 7), (8, 3, 2), (8, 4, 5)])
def test_the_browsers_array_is_pythons_and_makes_numpys_product(m: int, n: int, seed: int):
    at = opened("array", machine_rows=str(m), machine_side=str(n), seed=str(seed))
    sent = given(at, "hardware")
    X, W = np.array(sent["X"])[:m, :n], np.array(sent["W"])[:n, :n]
    shown = evaluate(WORK, "m.runArray(X, W)", X=X.tolist(), W=W.tolist())
    product, states = np.full((m, n), np.nan), list(systolic.run(X, W))
    assert len(shown) == len(states) == m + 2 * n - 2
    for mine, own in zip(shown, states):
        for name in ("inputs", "sums"):
            np.testing.assert_array_equal(np.array(mine[name], dtype=float), getattr(own, name))
        assert {(one["row"], one["column"]): one["value"] for one in mine["results"]} == own.results
        for one in mine["results"]:
            product[one["row"], one["column"]] = one["value"]
    np.testing.assert_array_equal(product, X @ W)
    lines = formulas(at)
    assert [float(value) for value in re.findall(r"-?\d+", lines[0].split(" = ")[1])] == (X @ W).flatten().tolist()
    assert lines[1].endswith(f"= {m + 2 * n - 2}")
    assert numbers_in(lines[2])[-1] == pytest.approx(m / (m + 2 * n - 2), abs=5e-5)


def test_one_row_uses_hardly_anything_of_a_large_array():
    at = opened("array")
    assert numbers_in(formulas(at)[3]) == pytest.approx([1 / 511, 256 / 766, 2048 / 2558], abs=5e-5)
    at.radio("architectures_array_given").set_value(0).run()
    at.button("architectures_array_commit").click().run()
    assert any(m.value.startswith("Yes") for m in at.markdown)


# ---- before they are shown -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "seen"), [({}, 0), ({"architectures_pass_model": "gpt3"}, 0),
                                             ({"model": "induction"}, 1)])
def test_the_share_of_the_matrix_products_is_asked(query: dict, seen: int):
    at = ask("architectures", "hardware", **query)
    shown = commit(at, "architectures", "hardware", 0)
    sent = given(at, "hardware")
    state = state_of(sent, sent["at"])
    share = float(state["share"].split("\u00a0")[0])
    assert shown["answer"] == (share >= 50) + (share >= 90) + (share >= 99) and shown["said"] == state["share"]
    assert state["rest"] in shown["reason"]
    assert shown["true"] == statements("architectures", "hardware")[seen]


@pytest.mark.parametrize(("query", "seen"), [
    ({}, 0), ({"architectures_machine_context": "16"}, 1),
    ({"architectures_roofline_model": "llama2-70b", "architectures_machine_context": "256",
      "architectures_machine_batch": "1024"}, None)])
def test_what_writing_reaches_is_asked_of_the_roofline(query: dict, seen: int | None):
    shown = commit(ask("architectures", "hardware_roofline", **query), "architectures", "hardware_roofline", 0)
    config = PRESETS[query.get("architectures_roofline_model", "gpt3")].config
    n, texts = int(query.get("architectures_machine_context", 2048)), int(query.get("architectures_machine_batch", 1))
    write, read = roofline.writing(config, n, texts), roofline.reading(config, n)
    reached = min(1, (write.operations / 989e12) / (write.bytes / 3350e9))
    assert shown["answer"] == (reached >= 0.02) + (reached >= 0.5) + (reached == 1)
    assert shown["said"] == percent(reached, 2)
    slope = [work.operations / 989e12 < work.bytes / 3350e9 for work in (write, read)]
    right = 0 if slope == [True, False] else 1 if slope[0] else 2
    assert seen in (None, right) and shown["true"] == statements("architectures", "hardware_roofline")[right]


@pytest.mark.parametrize(("m", "n"), [(3, 3), (8, 4), (1, 4), (2, 3)])
def test_the_ticks_of_a_product_are_asked(m: int, n: int):
    at = ask("architectures", "hardware_array", architectures_machine_rows=str(m), architectures_machine_side=str(n))
    texts = question(at)["guess"]["texts"]
    shown = commit(at, "architectures", "hardware_array", texts.index(f"{m + 2 * n - 2} ticks"))
    assert shown["right"] and shown["true"] == statements("architectures", "hardware_array")[0]
    assert {f"{m} ticks", f"{m * n * n} ticks"} < set(texts) and len(texts) >= 3
