"""Scaling laws and the record: numbers worked by hand or published, and tables that hold together."""
import re

import pytest

from core.cost import built_models, scaling_laws
from core.model.presets import PRESETS


def test_training_flops_of_gpt_3_and_its_petaflop_days():
    flops = scaling_laws.training_flops(175e9, 300e9)
    # Brown et al. 2020, table D.1: 3.14e23, 3.64e3 PF-days
    assert flops == pytest.approx(3.15e23) and flops == pytest.approx(3.14e23, rel=0.01)
    assert flops / scaling_laws.PETAFLOP_DAY == pytest.approx(3640, rel=0.01)


def test_device_days_by_hand():
    assert (scaling_laws.device_days(86_400e12, 1, 1) == 1
            and scaling_laws.device_days(86_400e12, 10, 0.5) == pytest.approx(0.2))
    llama = scaling_laws.device_days(scaling_laws.training_flops(65.2e9, 1.4e12), 312, 0.5)
    # Touvron et al. 2023, table 15, GPU hours; about half of the peak is reached
    assert llama * 24 == pytest.approx(1_022_362, rel=0.05)
    with pytest.raises(ValueError, match="share"):
        scaling_laws.device_days(1, 1, 0)


def test_the_energy_of_a_training_by_hand():
    assert scaling_laws.training_energy(2, 100, 1.5) == 2 * 24 * 100 * 1.5
    # Patterson et al. 2021, table 4: 10,000 V100, 14.8 days, 330 W with their hosts, PUE 1.1, 1,287 MWh
    assert scaling_laws.training_energy(148_000, 330, 1.1) == pytest.approx(1287e6, rel=0.002)
    with pytest.raises(ValueError, match="0.9"):
        scaling_laws.training_energy(1, 1, 0.9)


def test_training_takes_as_much_as_writing_three_times_its_text():
    assert scaling_laws.training_flops(7, 11) == 3 * 11 * scaling_laws.writing_flops(7)


def test_the_laws_by_hand():
    for name, (power, critical) in scaling_laws.LAWS.items():
        assert (scaling_laws.law(name, critical) == 1
                and scaling_laws.law(name, critical / 2 ** (1 / power)) == pytest.approx(2))
    assert scaling_laws.law("parameters", 1.5e9) == pytest.approx((8.8e13 / 1.5e9) ** 0.076)
    # parameters without end: the law for D is left
    assert scaling_laws.joint_loss(1e30, 1e10) == pytest.approx((1.8e13 / 1e10) ** 0.103, rel=1e-6)
    assert scaling_laws.joint_loss(1e9, 1e30) == pytest.approx((6.4e13 / 1e9) ** 0.076, rel=1e-6)
    # Chinchilla: 70 billion, 1.4 trillion
    n, d = scaling_laws.best_split(5.88e23)
    assert n == pytest.approx(70e9, rel=0.001) and d == pytest.approx(1.4e12, rel=0.001)


def test_the_record_holds_together():
    told = built_models.load()
    assert len({model.name for model in told.models}) == len(told.models) > 50
    assert [model.released for model in told.models] == sorted(model.released for model in told.models)
    for model in told.models:
        assert re.fullmatch(r"20[12]\d-(0[1-9]|1[0-2])", model.released) and model.source
        assert model.billions is None or model.billions > 0
        assert bool(model.shape_source) == any((model.layers, model.width, model.heads, model.context))
        assert model.access in ("open", "closed") and model.made in ("whole", "moe", "adapted")
        assert (model.flops is not None) == (model.made == "whole" and model.billion_tokens is not None)
    assert all(row["name"] for row in told.translation[1] + told.corpora[1]) and len(told.translation[1]) == 10
    for mix in told.mixes:
        assert set(mix.shares) <= set(told.kinds) and mix.source and 99 <= sum(mix.shares.values()) <= 101


def test_layers_and_widths_make_the_published_sizes():
    """12 L d² parameters in the blocks, within a sixth of the size, for models of plain width: not T5 and LaMDA, whose
    feed-forward parts are wider, and not StarCoder, whose heads share one key.
    """
    for model in built_models.load().models:
        if model.layers and model.billions > 10 and model.name not in ("T5", "LaMDA", "StarCoder"):
            blocks = 12 * model.layers * model.width ** 2 / 1e9
            assert blocks == pytest.approx(model.billions, rel=0.16), model.name
    by_name = {model.name: model for model in built_models.load().models}
    sizes = {"gpt3": "GPT-3", "llama-65b": "LLaMA", "llama2-70b": "LLaMA 2", "bloom": "BLOOM", "t5-11b": "T5",
             "bert-large": "BERT large", "gpt": "GPT", "gpt2-xl": "GPT-2"}
    for preset, name in sizes.items():
        config, model = PRESETS[preset].config, by_name[name]
        assert (config.n_layers, config.d_model, config.n_heads, config.n_context) == (
            model.layers, model.width, model.heads, model.context)


def test_the_family_is_a_tree_in_time():
    source, members = built_models.load().family
    released = {one.id: one.released for one in members}
    assert [one.released for one in members] == sorted(released.values()) and source
    for one in members:
        assert all(released[parent] <= one.released for parent in one.parents) and one.source
        assert one.model is None or any(model.name == one.model for model in built_models.load().models)
    assert built_models.load().ancestors("text3") == {"text2", "code2", "codex", "instruct", "gpt3", "gpt2", "gpt1"}
    assert built_models.load().ancestors("gpt1") == set()


def test_facts_of_the_notes():
    by_name = {model.name: model for model in built_models.load().models}
    for name, released, billions in (("T5", "2019-10", 11), ("CPM-2", "2021-06", 198), ("NLLB", "2022-07", 54.5),
                                     ("BLOOM", "2022-11", 176), ("LLaMA", "2023-02", 65),
                                     ("StarCoder", "2023-05", 15.5), ("PanGu-Σ", "2023-03", 1085)):
        assert (by_name[name].released, by_name[name].billions) == (released, billions)
    scores = {row["name"]: row for row in built_models.load().translation[1]}
    assert scores["Transformer (big)"] == {"name": "Transformer (big)", "en_de": 28.4, "en_fr": 41.8,
                                           "flops_en_de": 2.3e19, "flops_en_fr": 2.3e19}
    assert (scores["Transformer (base)"]["flops_en_de"] == 3.3e18 and scores["ByteNet"]["en_de"] == 23.75
            and scores["GNMT + RL ensemble"]["flops_en_fr"] == 1.1e21)


def test_the_machines_of_a_training():
    by_name = {model.name: model for model in built_models.load().models}
    assert by_name["GPT-3"].machine == (10_000, "V100") and by_name["GPT-3"].device_hours == 10_000 * 14.8 * 24
    assert by_name["T5"].machine == (1024, "TPU v3") and by_name["T5"].device_hours is None
    assert by_name["GPT-2"].machine is None and by_name["GPT-2"].device_hours is None


def test_the_energy_of_llama_is_its_hours_at_400_watts():
    llama = next(model for model in built_models.load().models if model.name == "LLaMA")
    assert llama.MWh == pytest.approx(1_022_362 * 400 * 1.1 / 1e6, rel=0.005)         # Touvron et al. 2023: PUE 1.1
    assert built_models.load().hardware["a100"].watts == 400
