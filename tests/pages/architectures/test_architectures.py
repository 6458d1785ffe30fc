"""The lesson Architectures: what its pictures are given is what the counts, the clock and the tables say, the numbers
hold, the questions have the right answers.
"""
from __future__ import annotations

import functools
import math
import re

import pandas as pd
import pyarrow as pa
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.base import prose
from core.cost import built_models as record_data
from core.cost import counting, growth, length_times, sparse
from core.model.config import ModelConfig
from core.model.presets import PRESETS
from core.model.transformer import Transformer
from pages.architectures import cost, designs
from pages.architectures.design import _wider
from pages.architectures.shared import SETTINGS, prefixed
from tests.helpers import lessons, messages
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas, unpacked
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

WORDS = prose.load("architectures")


open_at = functools.partial(lessons.open_at, "architectures")


def given(at: AppTest) -> dict:
    return messages.given(at, "design_view")


def whole(written: str) -> int:
    """A whole number as it is written in a formula or a title."""
    return int(written.replace(",", ""))


# ---- designs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_the_design_bears_every_prompt(prompt: str | None):
    assert fine(open_at(architectures_design="stories;activation=swiglu",
                        **({} if prompt is None else {"prompt": prompt})))


@pytest.mark.parametrize("written",
                         ["", "x" * 9000, "gpt5", "gpt2;n_layers=0;d_model=-3;n_heads=9e9;kind=<b>;;=;norm",
                          "gpt2;n_layers=²", "stories;n_heads=7;n_kv_heads=3", "stories;positions=rotary;d_model=24"])
def test_a_design_that_makes_no_sense_is_named_and_something_is_drawn(written: str):
    at = open_at(architectures_design=written, architectures_base=written)
    assert fine(at) and given(at)["parts"]
    if ";n_heads=7" in written or "d_model=24" in written:
        assert len(at.warning) == 1 and "must be" in at.warning[0].value


def test_a_design_is_written_and_read_as_it_is():
    design = designs.Design("gpt2").with_change("norm_placement", "sandwich").with_change("n_layers", 3).with_change(
        "tied", "no")
    assert designs.parse(design.spec) == (design, True)
    assert (design.with_change("n_layers", 12).changes
            == {"norm_placement": "sandwich", "tied": "no"}), "the preset's own value is no change"
    assert design.config == ModelConfig.of(**PRESETS["gpt2"].fields
                                          | dict(norm_placement="sandwich", n_layers=3, tied_embeddings=False))


@pytest.mark.parametrize("name", PRESETS)
def test_the_controls_of_every_preset_show_its_own_values_and_change_nothing(name: str):
    config = PRESETS[name].config
    for setting, value in designs.values(config).items():
        assert designs.Design(name).with_change(setting, value).changes == {}, setting


SWITCHES = [("kind", "encoder"), ("kind", "encoder-decoder"), ("norm_placement", "post"),
            ("norm_placement", "sandwich"), ("norm_placement", "deepnorm"), ("norm", "rmsnorm"), ("activation", "relu"),
            ("activation", "swiglu"), ("activation", "geglu"), ("positions", "rotary"), ("positions", "relative"),
            ("biases", "none"), ("tied", "no"), ("n_kv_heads", "2"), ("n_layers", "2")]


@pytest.mark.parametrize("name, value", SWITCHES)
def test_every_switch_builds_another_model_that_is_counted_and_run(name: str, value: str):
    at = open_at(architectures_design=f"stories;{name}={value}", prompt="Tom and Mia went home")
    assert fine(at)
    sent, config = given(at), designs.parse(f"stories;{name}={value}")[0].config
    model = Transformer(config)
    assert ({part["name"]: part["now"] for part in sent["parts"]}
            == {WORDS.label(f"part_{part}"): count for part, count in
                counting.totals((n, p.numel()) for n, p in model.named_parameters()).items()
                if count or part in ("P", "biases") and
                counting.parameters_by_part(PRESETS["stories"].config)[part]})
    said = next(c.value for c in at.caption if "counted in its tensors" in c.value)
    assert (said.startswith("Built now with random weights")
            and whole(re.search(r"weights: ([\d,]+)", said)[1]) == model.n_parameters
            and WORDS.label("count_same") in said)
    assert f"× {config.vocab_size}" in said
    assert (any(box["changed"] or sublayer["sum_changed"] for stack in sent["stacks"] for item in stack["items"]
                for sublayer in item.get("sublayers", []) for box in sublayer["inside"] + sublayer["after"])
            or any(item.get("changed") for stack in sent["stacks"] for item in stack["items"]) or name == "n_layers")


def test_the_trained_model_is_read_as_it_is_and_a_random_one_knows_nothing():
    trained = next(c.value for c in open_at().caption if "counted in its tensors" in c.value)
    assert trained.startswith("This is the trained model") and float(re.search(r"at ([\d.]+) nats", trained)[1]) < 3
    random = next(c.value for c in open_at(architectures_design="stories;norm=rmsnorm").caption
                  if "counted in its tensors" in c.value)
    assert float(re.search(r"at ([\d.]+) nats", random)[1]) == pytest.approx(8.3178, abs=0.5)


def test_large_designs_are_counted_and_not_built():
    at = open_at(architectures_design="gpt3")
    assert any(c.value.startswith("Too large to be built here: 174,604,259,328") for c in at.caption)
    assert "174,604,259,328 parameters" in given(at)["titled"]


def test_what_changed_is_named_with_what_it_costs():
    sent = given(open_at(architectures_design="gpt2;norm_placement=sandwich"))
    # 24 norms of 2 · 768
    assert "pre-norm → sandwich norm" in sent["compared"] and f"+{36_864:,}" in sent["compared"]
    same = given(open_at(architectures_design="gpt2;norm_placement=sandwich",
                         architectures_base="gpt2;norm_placement=sandwich"))
    assert all(part["change_text"] == "=" for part in same["parts"])


def test_the_diagram_wires_each_placement_as_the_model_does():
    for placement, inside, after, ends in (("pre", 2, 0, True), ("post", 1, 1, False), ("sandwich", 3, 0, True),
                                           ("deepnorm", 1, 1, False)):
        stack = given(open_at(architectures_design=f"stories;norm_placement={placement}"))["stacks"][0]
        block = next(item for item in stack["items"] if "sublayers" in item)
        assert [(len(s["inside"]), len(s["after"])) for s in block["sublayers"]] == [(inside, after)] * 2
        assert (stack["items"][-2].get("name") == "LayerNorm") == ends
        assert all(("α = 1.86" in s["sum"]) == (placement == "deepnorm") for s in block["sublayers"])      # (2 · 6)^¼


def test_a_switch_changes_the_address_and_a_kept_design_is_the_baseline():
    at = open_at()
    at.selectbox("architectures_norm_placement_widget").set_value("post").run()
    assert at.query_params["architectures_design"] == "stories;norm_placement=post"
    at.button("architectures_keep_base").click().run()
    assert at.query_params["architectures_base"] == "stories;norm_placement=post"
    at.number_input("architectures_n_layers_widget").set_value(3).run()
    assert "L 6 → 3" in given(at)["compared"] and "norm" not in given(at)["compared"]
    at.selectbox("architectures_preset_widget").set_value("bert-base").run()
    assert at.query_params["architectures_design"] == "bert-base" and fine(at)


@pytest.mark.parametrize("design", ["stories", "gpt3", "t5-base", "llama2-70b", "bert-base"])
def test_the_numbers_of_a_design_hold_on_a_calculator(design: str):
    lines, config = formulas(open_at(architectures_design=design)), PRESETS[design].config
    sums = re.fullmatch(r"(.+) = ([\d\\,]+)", lines[0])
    assert sum(map(whole, sums[1].split(" + "))) == whole(sums[2]) == counting.n_parameters(config)
    rough = re.search(r"12 \\cdot (\d+) \\cdot (\d+)\^2 = ([\d\\,]+)", lines[1])
    assert 12 * int(rough[1]) * int(rough[2]) ** 2 == whole(rough[3])
    lecture = re.fullmatch(r"\|T\|.+ = (\d+) \\cdot (\d+) \+ 5 \\cdot (\d+) \\cdot (\d+)\^2 = (\d+)", lines.pop(2))
    size, d, blocks, width, rule = map(int, lecture.groups())
    assert (size, d, blocks) == (config.vocab_size, config.d_model, config.n_layers)
    assert rule == size * d + 5 * blocks * width ** 2
    for left, right in re.findall(r"= ([\d\\ ()+cdot]+?) = (\d+(?:\\,\d+)*)", lines[2]):
        assert eval(left.replace(r"\cdot", "*")) == whole(right)
    terms, total, ratio = re.match(r"([\d\\, +]+) = ([\d\\,]+), \\qquad .+ = ([\d.]+)$", lines[3]).groups()
    assert sum(whole(term.replace(" ", "")) for term in terms.split(" + ")) == whole(total)
    if config.kind != "encoder":
        left, one, whole_context = re.search(r"\\cdot 2 = ((?:2 \\cdot )?\d+ \\cdot \d+ \\cdot \(\d+ \+ \d+\) \\cdot "
                                             r"2) = ([\d\\,]+), .+ = ([\d\\,]+)$", lines[4]).groups()
        assert eval(left.replace(r"\cdot", "*")) == whole(one) and whole(one) * config.n_context == whole(whole_context)
    bits, structure, ratio = re.search(r"= \\frac\{([\d\\,]+)\}\{([\d\\,]+)\} = ([\d.]+(?: \\cdot 10\^\{\d+\})?)$",
                                       lines[-1]).groups()
    assert (whole(bits) == 16 * counting.n_parameters(config)
            and 8 * 5_000 < whole(structure) == counting.structure_bits(config) < 8 * 50_000)
    assert eval(ratio.replace(r" \cdot 10^{", "e").rstrip("}")) == pytest.approx(whole(bits) / whole(structure),
                                                                                 rel=1e-4)
    assert len(lines) == (5 if config.kind == "encoder" else 6)


@pytest.mark.parametrize("design", ["stories", "gpt3", "first-base"])
def test_the_answer_is_the_count_of_the_wider_model(design: str):
    at, config = open_at(architectures_design=design), PRESETS[design].config
    with torch.device("meta"):
        sizes = [sum(p.numel() for p in Transformer(c).parameters()) for c in (config, _wider(config))]
    right = min((2, 3, 4), key=lambda n: abs(sizes[1] / sizes[0] - n))
    at.radio("architectures_wider_given").set_value(right - 2).run()
    at.button("architectures_wider_commit").click().run()
    assert (any(m.value.startswith("Yes") for m in at.markdown)
            and any(f"{sizes[1] / sizes[0]:.3f} times" in m.value for m in at.markdown))


def test_prefixes():
    assert [prefixed(value) for value in (0, 999, 1000, 12_345, 999_960, 1e15)] == ["0", "999", "1.000 k", "12.35 k",
                                                                                    "1.000 M", "1.000 P"]
    assert prefixed(-12_345_678, "B") == "−12.35 MB"


# ---- cost ------------------------------------------------------------------------------------------------------------


def chart(at: AppTest, place: int) -> pd.DataFrame:
    """The rows of an altair chart of the page."""
    return pa.ipc.open_stream(at.get("vega_lite_chart")[place].proto.datasets[0].data.data).read_pandas()


def drawn(at: AppTest, place: int, role: str = "line") -> pd.DataFrame:
    """The rows of one role of a line chart of the page."""
    return chart(at, place).query("role == @role")


@pytest.mark.parametrize("query", [dict(architectures_cost="growth"), dict(architectures_cost="patterns"),
                                   dict(architectures_cost="patterns", architectures_length="9e99",
                                        architectures_near="-3", architectures_drawn="x"),
                                   dict(architectures_width="1e300", architectures_window="nan"),
                                   dict(architectures_cost="patterns", architectures_near="0",
                                        architectures_central="0", architectures_drawn="0")], ids=str)
def test_cost_bears_its_settings(query):
    at = open_at(architectures_view="cost", **query)
    assert fine(at)


def test_before_anyone_measured_there_is_no_time_and_after_it_there_are_all(monkeypatch):
    cost._measurements().clear()
    at = open_at(architectures_view="cost", architectures_width="16", architectures_window="32")
    assert len(at.get("vega_lite_chart")) == 1 and any(i.value == WORDS.label("unmeasured") for i in at.info)
    steps = list(growth.measure(16, 32, (16, 32), rounds=1))
    timings = [growth.Timing(t.method, n,
                             {"attention": 1e-9 * n ** 2, "window": 1e-7 * n, "recurrent": 1e-6 * n}[t.method])
               for n in growth.LENGTHS for t in steps[:3]]
    monkeypatch.setattr(growth, "measure", lambda d, w: iter(timings))
    at.button("architectures_measure_now").click().run()
    assert fine(at) and len(at.get("vega_lite_chart")) == 2 and not at.info
    assert any("power 2.00 ± 0.00 for full attention, 1.00 ± 0.00 for the window" in m.value for m in at.markdown)
    assert any(c.value.startswith("Timed at ") for c in at.caption)
    again = open_at(architectures_view="cost", architectures_width="16", architectures_window="32")
    assert len(again.get("vega_lite_chart")) == 2, "kept for everyone who asks this process"
    assert len(open_at(architectures_view="cost", architectures_width="16",
                       architectures_window="64").get("vega_lite_chart")) == 1, "and for no other width or window"
    for line in formulas(at)[3:]:
        high, low, n, least, slope = (
            float(number.replace(r" \cdot 10^{", "e").rstrip("}"))
            for number in re.fullmatch(r"\\frac\{\\ln\((.+) / (.+)\)\}\{\\ln\((\d+) / (\d+)\)\} = (.+)", line).groups())
        assert math.log(high / low) / math.log(n / least) == pytest.approx(slope, abs=2e-4)
    cost._measurements().clear()


def test_the_operations_that_are_drawn_are_those_of_the_formula():
    at = open_at(architectures_view="cost", architectures_width="32", architectures_window="16")
    rows = drawn(at, 0).set_index(["method", "x"])["y"]
    assert (rows["attention", 1024] == 4 * 1024 ** 2 * 32 and rows["window", 1024] == 4 * 1024 * 32 * 32
            and rows["recurrent", 1024] == 4 * 1024 * 32 ** 2
            and rows["whole", 1024] == 6 * 1024 * 32 ** 2 + 4 * 1024 ** 2 * 32)
    written = re.findall(r"= ([\d\\ ^cdot+]+?) = (\d+(?:\\,\d+)*)", "\n".join(formulas(at)[:2]))
    assert len(written) == 4
    for left, right in written:
        assert eval(left.replace(r"\cdot", "*").replace("^", "**")) == whole(right)


def test_the_first_chart_of_times_is_a_recorded_run_that_says_so_and_gives_way_to_a_measured_one(monkeypatch):
    cost._measurements().clear()
    at = open_at(architectures_view="cost")
    rows = drawn(at, 1).groupby("method")["y"]
    assert {method: times.max() for method, times in rows} == {
        method: max(time.seconds for time in length_times.recorded(64, 64) if time.method == method)
        for method in growth.METHODS}
    assert any(m.value.startswith("**Recorded run") for m in at.markdown)
    assert any(c.value.startswith("Recorded on another machine") for c in at.caption)
    assert at.button("architectures_measure_now").label == WORDS.label("measure_now")
    timings = [growth.Timing(method, n, 1e-6 * n) for method in growth.METHODS for n in growth.LENGTHS]
    monkeypatch.setattr(growth, "measure", lambda d, w: iter(timings))
    at.button("architectures_measure_now").click().run()
    assert fine(at) and any(m.value.startswith("**Measured: time grows as N to the power 1.00") for m in at.markdown)
    assert not length_times.recorded(64, 32) and not length_times.recorded(32, 64)
    cost._measurements().clear()


def test_a_hundred_times_the_operations_read_ten_times_the_tokens():
    at = open_at(architectures_view="cost")
    at.radio("architectures_budget_given").set_value(1).run()
    at.button("architectures_budget_commit").click().run()
    assert any(m.value.startswith("Yes: 40,960") for m in at.markdown)
    assert growth.operations("attention", 40_960, 64, 64) == 100 * growth.operations("attention", 4096, 64, 64)


def test_the_patterns_that_are_drawn_are_those_of_the_masks():
    at = open_at(architectures_view="cost", architectures_cost="patterns", architectures_length="12",
                 architectures_near="1", architectures_seed="3")
    sent = unpacked(next(c.proto.bytes for c in at.get("bidi_component")
                         if c.proto.component_name == "sparse_patterns"))
    for pattern, drawn in zip(sparse.PATTERNS, sent["patterns"]):
        layers = torch.tensor([ord(cell) - 48 for cell in drawn["cells"]]).view(12, 12)
        mask = sparse.pattern_mask(pattern, 12, 1, 1, 2, 3)
        assert torch.equal(layers == 1, mask) and drawn["lines"][0].startswith(f"{int(mask.sum())} of 144 pairs")
        assert torch.equal(layers > 0, torch.matrix_power(mask.double(), 12) > 0), "what is ever reached"
    assert "all joined in 11 layers" in sent["patterns"][2]["lines"]
    assert ([(hand["name"], hand["value"]) for hand in sent["hands"]]
            == [("architectures_length", 12), ("architectures_near", 1), ("architectures_central", 1),
                ("architectures_drawn", 2)]
            and all(hand["question"] == {"architectures_seed": 3} for hand in sent["hands"])
            and [field.value for field in at.number_input] == [3])
    assert all(SETTINGS.each[hand["name"].removeprefix("architectures_")].low == hand["low"] <= hand["value"]
               <= hand["high"] for hand in sent["hands"])


@pytest.mark.parametrize("n", [8, 13, 32, 64])
def test_how_wide_a_window_must_be_for_four_layers(n: int):
    at = open_at(architectures_view="cost", architectures_cost="patterns", architectures_length=str(n))
    layers = {wide: int(sparse.layers_between(sparse.pattern_mask("window", n, wide))[-1, 0]) for wide in range(1, n)}
    right, radio = min(wide for wide in layers if layers[wide] <= 4), at.radio("architectures_wide_given")
    assert len(set(radio.options)) == 4
    radio.set_value(radio.options.index(f"±{right}")).run()
    at.button("architectures_wide_commit").click().run()
    assert any(m.value.startswith("Yes") for m in at.markdown)


# ---- record ----------------------------------------------------------------------------------------------------------


RECORDS = ([dict(architectures_record="models", architectures_measure=measure)
            for measure in ("parameters", "layers", "width", "heads", "context", "tokens", "compute")]
           + [dict(architectures_record="data", architectures_mix="models")]
           + [dict(architectures_record="translation", architectures_pair=pair) for pair in ("en_de", "en_fr")]
           + [dict(architectures_record="data"), dict(architectures_record="scaling"),
              dict(architectures_record="scaling", architectures_parameters="1e-6", architectures_tokens="1e9"),
              dict(architectures_record="scaling", architectures_parameters="1e99", architectures_tokens="-1")])


@pytest.mark.parametrize("query", RECORDS, ids=str)
def test_every_record_draws(query):
    at = open_at(architectures_view="record", **query)
    charts = {"scaling": 3, "data": 1 if "architectures_mix" in query else 2}.get(query["architectures_record"], 1)
    assert fine(at) and len(at.get("vega_lite_chart")) == charts and formulas(at)


def test_the_timeline_shows_what_is_known_and_nothing_else():
    for measure in ("parameters", "layers", "width", "heads", "context", "tokens", "compute"):
        at = open_at(architectures_view="record", architectures_measure=measure)
        rows = chart(at, 0).drop_duplicates("name").set_index("name")
        missing = [text.value for text in at.markdown if "the record has no figure" in text.value]
        n_shown, n_models = len(set(rows.index) - {""}), len(record_data.load().models)
        assert [int(re.search(r"Of (\d+) other", text).group(1)) for text in missing] == (
            [n_models - n_shown] if n_shown < n_models else [])
        for model in record_data.load().models:
            value = {"parameters": model.billions and model.billions * 1e9, "context": model.context,
                     "tokens": model.billion_tokens and model.billion_tokens * 1e9,
                     "layers": model.layers, "width": model.width, "heads": model.heads,
                     "compute": 6e18 * model.billions * model.billion_tokens
                                if model.made == "whole" and model.billion_tokens else None}[measure]
            in_lane = measure == "parameters" and model.billions is None
            assert (model.name in rows.index) == (value is not None or in_lane)
            assert not in_lane or rows["value"][model.name] < 1e8, "below the axis"
            if value is not None:
                assert rows["value"][model.name] == pytest.approx(value)


def test_layers_and_width_make_the_parameters_in_numbers():
    for measure in ("layers", "width", "heads"):
        first, gpt3, head = formulas(open_at(architectures_view="record", architectures_measure=measure))
        assert first.endswith(r"12 \cdot 12 \cdot 768^2 = 8.493466 \cdot 10^{7}")
        assert gpt3.endswith(r"12 \cdot 96 \cdot 12288^2 = 1.739462 \cdot 10^{11}")
        assert head.endswith(r"\frac{12288}{96} = 128")


def test_the_numbers_of_the_laws_hold():
    at = open_at(architectures_view="record", architectures_record="scaling", architectures_parameters="65",
                 architectures_tokens="1400")
    flops, law, best = formulas(at)

    def as_number(written: str) -> float:
        return float(eval(written.replace(r" \cdot ", "*").replace("^{", "**(").replace("}", ")").replace(r"\,", "")))

    left, right = re.fullmatch(r"6 N D = (.+) = (.+)", flops).groups()
    assert as_number(left) == pytest.approx(as_number(right)) == 6 * 65e9 * 1400e9
    assert float(law.rsplit(" = ", 1)[1]) == pytest.approx((8.8e13 / 65e9) ** 0.076, abs=5e-5)
    n, d = (as_number(part.rsplit(" = ", 1)[1]) for part in best.split(r", \qquad "))
    assert d == pytest.approx(20 * n, rel=1e-5) and 6 * n * d == pytest.approx(6 * 65e9 * 1400e9, rel=1e-5)


@pytest.mark.parametrize("query, key, right", [
    (dict(architectures_record="models"), "compute", 3),
    (dict(architectures_record="scaling"), "halve", 3), (dict(architectures_record="data"), "read", 1),
    (dict(architectures_record="data", architectures_mix="models"), "code", 2),
    (dict(architectures_record="family"), "family", 2),
    (dict(architectures_record="pieces"), "patches", 2),
    (dict(architectures_record="translation", architectures_pair="en_de"), "time_en_de", 1),
    (dict(architectures_record="translation", architectures_pair="en_fr"), "time_en_fr", 1)], ids=str)
def test_the_answers_of_the_record(query, key: str, right: int):
    """By hand: 6 N D is largest for Chinchilla (70·1400 > 65·1400 > 280·300 > 175·300); 2^(1/0.076) is about 9,000;
    (784/196)² = 16; 7.7e19 and 1.2e21 are 23 and 364 times 3.3e18, which took half a day.
    """
    at = open_at(architectures_view="record", **query)
    at.radio(f"architectures_{key}_given").set_value(right).run()
    at.button(f"architectures_{key}_commit").click().run()
    assert any(m.value.startswith("Yes") for m in at.markdown)


@pytest.mark.parametrize("pair, work", [("en_de", 7.7e19), ("en_fr", 1.2e21)])
def test_the_time_of_a_training_follows_from_either_transformer(pair: str, work: float):
    at = open_at(architectures_view="record", architectures_record="translation", architectures_pair=pair)
    at.radio(f"architectures_time_{pair}_given").set_value(0).run()
    at.button(f"architectures_time_{pair}_commit").click().run()
    (told,) = [m.value for m in at.markdown if "The big Transformer says the same" in m.value]
    first, second = (float(days) for days in re.findall(r"(?:= |take )([\d.]+) days", told))
    rate = 8 * 9.5e12 * 86_400      # the paper's estimate: eight GPUs of 9.5 TFLOP/s
    assert first == pytest.approx(second, rel=0.01) == pytest.approx(work / rate, rel=0.01)


# ---- experiments -----------------------------------------------------------------------------------------------------


def test_every_experiment_leads_to_what_it_names():
    for experiment in WORDS.experiments:
        at = open_at()
        at.button(f"do_architectures_{experiment.id}").click().run()
        assert fine(at), experiment.id
        if experiment.settings["architectures_view"] == "design":
            assert (at.session_state["architectures_design"] == experiment.settings["architectures_design"]
                    and not at.warning)
