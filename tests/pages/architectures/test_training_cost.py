"""The cost of a training: what the browser computes, what the page says, and the published trainings beside it."""
from __future__ import annotations

import pytest

from core.cost import built_models, scaling_laws
from pages.architectures import training_cost
from tests.helpers.javascript import evaluate
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import formulas, given, numbers_in

WORK = "pages/architectures/training_cost_work.js"
HARDWARE = built_models.load().hardware
LLAMA = {"parameters": "65", "tokens": "1400", "hardware": "a100", "devices": "2048", "share": "47"}


def opened(**query: str):
    at = open_at("architectures", architectures_view="record", architectures_measure="energy",
                 **{f"architectures_{name}": value for name, value in query.items()})
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


@pytest.mark.parametrize("query", [{}, LLAMA, {"hardware": "h100", "share": "100", "pue": "1", "price": "9.5"}])
def test_the_browser_computes_what_python_does(query: dict):
    sent = given(opened(**query), "training_cost")
    settings, device = sent["settings"], HARDWARE[sent["settings"]["hardware"]]
    found = evaluate(WORK, "m.trainingOf(settings, device)", settings=settings,
                     device=next(one for one in sent["devices"] if one["id"] == settings["hardware"]))
    n, d = settings["parameters"] * 1e9, settings["tokens"] * 1e9
    flops = scaling_laws.training_flops(n, d)
    days = scaling_laws.device_days(flops, device.teraflops, settings["share"] / 100)
    energy = scaling_laws.training_energy(days, device.watts, settings["pue"])
    assert found == pytest.approx({"operations": flops, "hours": 24 * days, "days": days / settings["devices"],
                                   "energy": energy, "dollars": 24 * days * settings["price"],
                                   "site": energy / training_cost.SITE * 3600, "written": 2 * n})


def test_it_opens_as_the_training_of_gpt3():
    sent = given(opened(), "training_cost")
    gpt3 = next(model for model in sent["models"] if model["name"] == "GPT-3")
    same = {"parameters": "parameters", "tokens": "tokens", "hardware": "device", "devices": "devices",
            "share": "share"}
    assert {name: sent["settings"][name] for name in same} == {name: gpt3[of] for name, of in same.items()}
    assert gpt3["reported"] == pytest.approx(gpt3["operations"], rel=0.005)


def test_the_published_times_say_what_share_of_the_peak_was_reached():
    """By hand: GPT-3 3.15e23 / (10,000 · 14.8 days · 125e12), LLaMA 5.46e23 / (2,048 · 21 days · 312e12), BLOOM
    3.8654e23 / (384 · 105 days · 312e12); OPT's days are not in the record.
    """
    models = {model.name: model for model in training_cost.published()}
    assert set(models) == {"GPT-3", "OPT", "BLOOM", "LLaMA"}
    shares = {"GPT-3": 0.1971, "LLaMA": 0.4709, "BLOOM": 0.3556}
    assert {name: training_cost.share_reached(models[name]) for name in shares} == pytest.approx(shares, abs=1e-4)
    assert training_cost.share_reached(models["OPT"]) is None


@pytest.mark.parametrize("name", ["GPT-3", "BLOOM", "LLaMA"])
def test_the_computed_energy_is_near_the_published_one(name: str):
    model = next(one for one in training_cost.published() if one.name == name)
    _, device = training_cost.device_of(model)
    share = round(100 * training_cost.share_reached(model)) / 100
    days = scaling_laws.device_days(model.flops, device.teraflops, share)
    assert days / model.machine[0] == pytest.approx(model.days, rel=0.02)
    assert scaling_laws.training_energy(days, device.watts, 1.1) == pytest.approx(model.MWh * 1e6, rel=0.11)


def test_the_formulas_hold_and_check_the_published_training():
    lines = formulas(opened(**LLAMA))
    days, hours = 5.46e23 / (312e12 * 0.47) / 86_400, 5.46e23 / (312e12 * 0.47) / 3600
    ends = [numbers_in(line.split("=")[-1])[-1] for line in lines]
    assert ends[1] == pytest.approx(days / 2048, abs=1e-4)
    assert ends[2] == pytest.approx(hours * 400 * 1.1 / 1e6, abs=1e-4)
    assert ends[3] == pytest.approx(hours * 2, rel=1e-6) and ends[4] == pytest.approx(hours * 440 / 5e9, abs=1e-4)
    assert lines[0].endswith(r"5.46 \cdot 10^{23}") and lines[5].endswith(r"1.3 \cdot 10^{11}")
    assert ends[6] == pytest.approx(0.4709, abs=1e-4) and ends[7] == pytest.approx(449e6 / (2048 * 21 * 24), abs=1e-4)
    assert len(formulas(opened(parameters="66"))) == 6


def test_the_answer_is_three_times_the_text():
    at = opened()
    at.radio("architectures_written_given").set_value(2).run()
    at.button("architectures_written_commit").click().run()
    assert any(m.value.startswith("Yes") and "900 B" in m.value for m in at.markdown)


@pytest.mark.parametrize("query", [{"hardware": "abacus", "share": "0", "devices": "0"}, {"pue": "-3", "price": "x"},
                                   {"parameters": "1e99", "tokens": "1e-99"}])
def test_an_absurd_setting_is_brought_back(query: dict):
    settings = given(opened(**query), "training_cost")["settings"]
    assert settings["hardware"] in HARDWARE and settings["share"] >= 1 and settings["devices"] >= 1
    assert settings["pue"] >= 1 and settings["price"] > 0 and settings["parameters"] > 0 and settings["tokens"] > 0
