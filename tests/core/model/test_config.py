"""A config in its records: what a reader has to see of it, and its way to a file and back."""
import dataclasses
from pathlib import Path

import pytest

from core.model import config, transformer
from core.model.config import ModelConfig
from core.model.experts import Experts
from core.model.positional import Rotary

SIZES = dict(vocab_size=19, d_model=12, n_layers=2, n_heads=3, n_context=8)


def test_somebody_who_learns_what_a_gpt_is_sees_thirty_settings_and_350_lines():
    assert len(dataclasses.fields(ModelConfig)) <= 30
    files = [Path(transformer.__file__).with_name(f"{name}.py") for name in ("attention", "block", "transformer")]
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 350


def test_every_setting_has_one_name():
    names = [f.name for f in dataclasses.fields(ModelConfig) if f.name not in config.RECORDS]
    assert len(names) + sum(len(dataclasses.fields(kind)) for kind in config.RECORDS.values()) == len(
        {*names, *config.RECORD_OF}), "a name in two records would be read into one of them"


def test_settings_of_records_go_to_a_file_and_back_beside_the_others():
    made = ModelConfig.of(**SIZES, positions="rotary", rotary_base=500.0, d_rotary=2, n_experts=4, n_active_experts=2)
    assert made == ModelConfig(**SIZES, positions="rotary", rotary=Rotary(rotary_base=500.0, d_rotary=2),
                               experts=Experts(n_experts=4, n_active_experts=2))
    assert made.to_dict()["rotary_base"] == 500.0 and made.experts.d_expert == made.d_ff == 48
    assert ModelConfig.of(**made.to_dict()) == made and hash(ModelConfig.of(**made.to_dict())) == hash(made)


def test_a_change_keeps_every_other_setting():
    made = ModelConfig.of(**SIZES, score_cap=30.0, end_tokens=(3,))
    changed = made.changed(score_cap=0.0, n_kv_heads=1)
    assert (changed.scores.score_cap, changed.n_kv_heads, changed.special.end_tokens) == (0.0, 1, (3,))
    assert made.changed() == made


@pytest.mark.parametrize("wrong, said", [
    (dict(d_rotary=1, positions="rotary"), "must be even"), (dict(score_cap=-1.0), "at least 0"),
    (dict(block_masks=("causal",)), "an entry for each of 2 blocks"), (dict(begin_of_text=19), "begin_of_text (19)"),
    (dict(n_token_types=True), "n_token_types must be a whole number"),
    (dict(colour=1), "Unknown model settings: colour"),
    (dict(qk_norm_joint=True), "belongs to qk_norm"), (dict(n_classes=2, class_names=("one",)), "each of 2 classes"),
    (dict(n_experts=2, n_active_experts=1, d_ff=None), "no experts")], ids=str)
def test_what_cannot_be_is_told_with_its_name(wrong, said):
    with pytest.raises(ValueError) as told:
        ModelConfig.of(**SIZES | wrong)
    assert said in str(told.value)
