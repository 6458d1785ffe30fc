"""The lesson "Next token": what the panel is given is the model's own, every number can be worked out again, links
carry the settings.
"""
from __future__ import annotations

import math
import re
from dataclasses import replace

import altair as alt
import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.base import devices, prose
from core.components.sampling_panel import Context, PanelSettings, message, seeded_uniforms
from core.model.sampling import SamplingConfig, truncate
from pages.next_token.below import kept_counts
from pages.next_token.charts import largest_terms, terms_chart, terms_rows
from tests.helpers import lessons, predictions
from tests.helpers.messages import formulas, unpacked
from tests.helpers.passes import assert_same
from tests.helpers.prompts import PROMPTS


def opened(prompt: str | None = None, **query: str) -> AppTest:
    return lessons.open_at("next_token", prompt=prompt, **query)


def given(at: AppTest) -> tuple[dict, np.ndarray]:
    """The header and the logits of the message that the panel was given."""
    elements = [element.proto for element in at.get("bidi_component")]
    [sent] = [proto.bytes for proto in elements if proto.component_name.endswith("sampling_panel")]
    return read(sent)


def read(sent: bytes) -> tuple[dict, np.ndarray]:
    """The header and the logits (contexts, |V|) of a message to the panel."""
    header = unpacked(sent)
    return header, header["logits"].reshape(len(header["contexts"]), -1)


def logits_of(prompt: str) -> np.ndarray:
    """The next-token logits of a prompt, straight from the model."""
    loaded = cache.shared_model(cache.model_names()[0], devices.preferred())
    ids = torch.tensor(loaded.tokenizer.prompt(prompt, loaded.model.config.n_context).token_ids)
    with torch.inference_mode():
        return loaded.model(ids.to(loaded.model.device)).logits[-1].double().cpu().numpy()


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_the_panel_is_given_the_models_own_logits_and_tokens(prompt):
    at = opened(prompt)
    assert not at.exception and not at.error, [e.value for e in at.error]
    header, logits = given(at)
    tokenizer = cache.shared_model(cache.model_names()[0], "cpu").tokenizer
    labels = prose.load("next_token").labels
    prompts = (at.session_state["prompt"], labels["flat_prompt"], labels["peaked_prompt"])
    for shown, text in zip(logits, prompts, strict=True):
        assert_same(shown, logits_of(text), devices.preferred())
    assert header["tokens"] == [tokenizer.visible(token_id) for token_id in range(logits.shape[1])]


def test_a_message_comes_back_as_it_was_packed():
    settings = PanelSettings(SamplingConfig(temperature=0.5), xi=0.25)
    logits = np.array([0.1, -np.inf, 1e-30], np.float32)
    contexts = [Context("a", "x", logits), Context("b", "שלום", logits[::-1])]
    header, rows = read(message(contexts, ["<b>", "·é", "⏎"], {"k": "v"}, settings, 3, named=1))
    np.testing.assert_array_equal(rows, [logits, logits[::-1]])
    assert header["tokens"] == ["<b>", "·é", "⏎"] and header["contexts"][1] == {"name": "b", "text": "שלום"}
    assert (PanelSettings.from_browser(header["settings"]) == settings and header["settings_version"] == 3
            and header["named"] == 1)
    with pytest.raises(ValueError, match="3 logits for 2 tokens"):
        message([Context("a", "x", logits)], ["a", "b"], {}, settings, 1)


@pytest.mark.parametrize("settings", [
    PanelSettings(), PanelSettings(all_cuts=True),
    PanelSettings(SamplingConfig(0.0, None, 1.0, 0.0, 1.0), xi=0.0, seed=0),
    PanelSettings(SamplingConfig(0.05, 4096, 0.999, 1e-05, 0.2), xi=0.9999, seed=7, thousand=True, logarithmic=True,
                  pinned=SamplingConfig(min_p=1e-05, top_k=3)),
    PanelSettings(SamplingConfig(1234567.0, 1), pinned=SamplingConfig()),
])
def test_a_link_carries_every_setting(settings):
    assert PanelSettings.from_link(settings.to_link()) == settings
    assert PanelSettings.from_browser(settings.to_browser()) == settings


@pytest.mark.parametrize("written", ["T-1", "k0", "p2", "x1", "s-1", "q5", "kfive", "Tnan", "xnan", "A~p7", "<b>"])
def test_a_link_that_makes_no_sense_is_left_out_with_a_notice(written):
    with pytest.raises(ValueError):
        PanelSettings.from_link(written)
    at = opened(next_token_panel=written)
    assert not at.exception and not at.error
    xi = given(opened())[0]["settings"]["xi"]
    assert PanelSettings.from_browser(given(at)[0]["settings"]) == PanelSettings(xi=xi)


def test_seeded_uniforms_are_mulberry32():
    # The generator's published reference in JavaScript gives these for the seed 1.
    np.testing.assert_allclose(seeded_uniforms(1, 4), [0.6270739405881613, 0.002735721180215478, 0.5274470399599522,
                                                       0.9810509674716741], rtol=0, atol=0)
    numbers = seeded_uniforms(5, 20_000)
    assert numbers.min() >= 0 and numbers.max() < 1 and abs(numbers.mean() - 0.5) < 0.01


def test_an_experiment_sets_the_panel():
    for experiment in prose.load("next_token").experiments:
        at = opened()
        before = given(at)[0]
        at.button(f"do_next_token_{experiment.id}").click().run()
        after = given(at)[0]
        wanted = PanelSettings.from_link(experiment.settings["next_token_panel"])
        assert PanelSettings.from_browser(after["settings"]) == replace(wanted, xi=after["settings"]["xi"])
        assert after["settings"]["xi"] == experiment.settings.get("xi", before["settings"]["xi"])
        assert after["settings_version"] > before["settings_version"]


def test_the_question_by_another_road():
    """Top-p at T = 2 with torch: sort, sum up, count the tokens before which less than half of the mass stands."""
    logits = logits_of("Once upon a time")
    probabilities = torch.softmax(torch.tensor(logits) / 2, 0).sort(descending=True).values
    expected = int((probabilities.cumsum(0) - probabilities < 0.5).sum())
    options, answer = kept_counts(logits)
    assert options[answer] == expected
    assert len(set(options)) == 4 and options == sorted(options)
    # eight equal tokens: half of the mass is four of them, at any temperature
    options, answer = kept_counts(np.zeros(8))
    assert options[answer] == 4 and options == [1, 2, 3, 4]


def number(written: str) -> float:
    digits, _, power = written.strip("() ").partition(r" \cdot 10^")
    return float(digits) * 10 ** float(power.strip("{}") or 0)


def test_a_calculator_arrives_at_the_numbers():
    at = opened("Tom gave the ball to", next_token_panel="T0.8_k30_p0.7_m0.01_x0.35_s1")
    written = "\n".join(formulas(at))
    terms, u = re.search(r"E_\{xj\} = (.*) = (\S+)", written).groups()
    assert sum(float(x) for x in re.findall(r"[+-]?[\d.]+", terms)) == pytest.approx(float(u), abs=6e-5)
    mine, best, temperature, z = map(
        number, re.search(r"\\frac\{u - \\max u\}\{T\} = \\frac\{(\S+) - (\S+)\}\{(\S+)\} = (\S+)", written).groups())
    assert (mine - best) / temperature == pytest.approx(z, abs=3e-6)
    z_again, total, y = map(number, re.search(r"\\frac\{e\^\{([-\d.]+)\}\}\{([\d.]+)\} = (.*)", written).groups())
    assert z_again == z and math.exp(z) / total == pytest.approx(y, abs=6e-5)
    logits = logits_of("Tom gave the ball to")
    assert y == pytest.approx(float(torch.softmax(torch.tensor(logits) / 0.8, 0).max()), abs=6e-5)
    above, below, renormalised = map(number,
                                     re.search(r"kept\}\} y_w\} = \\frac\{(.*?)\}\{(.*?)\} = (.*)", written).groups())
    assert above / below == pytest.approx(renormalised, abs=6e-5)
    entropy, perplexity = map(number,
                              re.search(r"y_w \\ln y_w = ([\d.]+),\\quad e\^\{H\} = ([\d.]+)", written).groups())
    assert math.exp(entropy) == pytest.approx(perplexity, rel=1e-4)


@pytest.mark.parametrize("panel", ["T0_x0.5_s1", "x0.9999_s1", "k1_x0_s1", "T20_t0.2_x0.5_s3_draws_log_A~k4",
                                   "T0.05_p0_m1_x0.5_s1", "p0.9_t0.5_m0.01_k50_x0.1_s1"])
def test_every_corner_of_the_settings_has_numbers(panel):
    at = opened(next_token_panel=panel)
    assert not at.exception and not at.error
    assert "nan" not in "\n".join(formulas(at)) and "inf" not in "\n".join(formulas(at)).replace(r"\infty", "")


def test_a_named_token_is_followed_by_the_numbers():
    at = opened(next_token_panel="k40_p0.9_x0.6_s1")
    logits = logits_of(at.session_state["prompt"])
    rare = int(logits.argmin())
    at.session_state["selection"] = {"target": rare}
    at.run()
    assert given(at)[0]["named"] == rare
    assert f"{logits[rare]:.4f}" in "\n".join(formulas(at))
    rank = len(logits)
    assert rf"\text{{rank }} {rank} > k = 40" in "\n".join(formulas(at))


def test_the_thousand_draws_of_the_table_by_another_road():
    at = opened(next_token_panel="T0.8_p0.95_x0.5_s4")
    found = truncate(logits_of(at.session_state["prompt"]), SamplingConfig(temperature=0.8, top_p=0.95))
    counts = np.zeros(len(found.token_ids), int)
    for xi in seeded_uniforms(4, 1000):
        counts[next(i for i, end in enumerate(found.interval_ends) if xi < end)] += 1
    at.session_state["next_token_tables_open"] = True
    table = at.run().dataframe[-1].value
    assert table[prose.load("next_token").label("column_draws")].tolist() == counts[:len(table)].tolist()


def test_terms_add_up_to_the_logit():
    rng = np.random.default_rng(0)
    h, row = rng.normal(size=16), rng.normal(size=16)
    terms = largest_terms(h, row, n=16)
    assert terms["product"].sum() == pytest.approx(float(h @ row), abs=1e-12)
    assert terms["product"].abs().is_monotonic_decreasing and sorted(terms["j"]) == list(range(16))
    assert largest_terms(h, row, n=3)["j"].tolist() == terms["j"].tolist()[:3]
    with pytest.raises(ValueError, match="one length"):
        largest_terms(h, row[:3])
    spec = terms_chart({"dimension": "dimension j", "product": "h_j · E_xj"}, "light")
    # altair knows the grammar and raises where the spec breaks it
    alt.LayerChart.from_dict(spec | {"data": {"name": "rows"}})
    assert (spec["encoding"]["x"]["title"] == "dimension j"
            and terms_rows(terms)["shown"][0] == f"{terms['product'][0]:+.2f}".replace("-", "−"))


def test_an_earlier_position_shows_its_own_distribution():
    at = opened("One day, a little bird")
    at.session_state["selection"] = {"position": 2}
    at.run()
    loaded = cache.shared_model(cache.model_names()[0], "cpu")
    ids = loaded.tokenizer.prompt("One day, a little bird", loaded.model.config.n_context).token_ids[:3]
    with torch.inference_mode():
        expected = loaded.model(torch.tensor(ids)).logits[-1].double().numpy()
    np.testing.assert_allclose(given(at)[1][0], expected, atol=1e-4)


@pytest.mark.parametrize(("link", "brief"), [("x0.6_s1", True), ("T0.5_x0.1_s3", True), ("k40_x0.6_s1", False),
                                             ("x0.6_s1_draws", False), ("x0.6_s1_all", False), ("A~k4", False)])
def test_a_link_with_a_cut_opens_the_whole_panel(link: str, brief: bool):
    assert PanelSettings.from_link(link).is_brief == brief


def test_every_experiment_opens_the_whole_panel_unless_temperature_is_all_it_sets():
    briefly = {entry.id: PanelSettings.from_link(entry.settings["next_token_panel"]).is_brief
               for entry in prose.load("next_token").experiments}
    assert not any(briefly.values())


@pytest.mark.parametrize(("prompt", "answer"), [
    ("Once upon a time", "3 or fewer"), ("One day, the cat", "4 to 30"), ("The king gave a big", "31 to 300"),
    ("in the", "More than 300")])
def test_the_tokens_that_hold_nine_tenths_are_counted_by_another_way(prompt: str, answer: str):
    y = torch.softmax(torch.tensor(logits_of(prompt)), 0).sort(descending=True).values
    count = next(n for n in range(1, len(y) + 1) if float(y[:n].sum()) >= 0.9)
    told = predictions.told("next_token", "panel", 3, prompt=prompt)
    low, high = {"3 or fewer": (1, 3), "4 to 30": (4, 30), "31 to 300": (31, 300), "More than 300": (301, 4096)}[answer]
    assert low <= count <= high, count
    assert told["guess"]["texts"][told["answer"]] == answer and told["said"] == f"{count:,} of 4,096"
    assert f"“{prompt} ___”" in told["question"] and told["reason"].startswith(f"It takes {count:,} of the")
    seen = "The longest bar is longer" if y[0] > 0.5 else "The longest bar is shorter"
    assert told["statements"][told["seen"]].startswith(seen)


def test_nothing_is_asked_of_another_temperature():
    at = opened("Once upon a time", next_token_panel="T20_x0.6_s1", ask="true")
    assert predictions.modes(at) <= {"switch"}
