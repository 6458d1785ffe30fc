"""The tables of the page Models: a row for each family that is read and none beside, checked as the page says; and the
models to try, with the sizes that follow from their configs.
"""
from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.base import catalogue, deployment, prose, tables
from core.cost.counting import n_parameters
from core.huggingface import PretrainedError, families
from tests.core.huggingface import test_families
from tests.helpers import huggingface_models
from tests.helpers.lessons import fine, open_at

WORDS = prose.load("library")
LLAMA = dict(hidden_act="silu", rms_norm_eps=1e-5, tie_word_embeddings=True)
PUBLISHED = {       # what a config.json on the Hub says, as far as it decides the number of parameters
    "openai-community/gpt2": dict(vocab_size=50257, n_embd=768, n_layer=12, n_head=12, n_positions=1024),
    "distilbert/distilgpt2": dict(vocab_size=50257, n_embd=768, n_layer=6, n_head=12, n_positions=1024),
    "EleutherAI/pythia-70m": dict(vocab_size=50304, hidden_size=512, num_hidden_layers=6, num_attention_heads=8,
                                  intermediate_size=2048, max_position_embeddings=2048, rotary_pct=0.25,
                                  tie_word_embeddings=False),
    "HuggingFaceTB/SmolLM2-135M": dict(vocab_size=49152, hidden_size=576, num_hidden_layers=30, num_attention_heads=9,
                                       num_key_value_heads=3, intermediate_size=1536, max_position_embeddings=8192,
                                       **LLAMA),
    "google/gemma-3-270m": dict(vocab_size=262144, hidden_size=640, num_hidden_layers=18, num_attention_heads=4,
                                num_key_value_heads=1, head_dim=256, intermediate_size=2048,
                                max_position_embeddings=32768, hidden_activation="gelu_pytorch_tanh",
                                sliding_window=512),
    "Qwen/Qwen3-0.6B": dict(vocab_size=151936, hidden_size=1024, num_hidden_layers=28, num_attention_heads=16,
                            num_key_value_heads=8, head_dim=128, intermediate_size=3072,
                            max_position_embeddings=40960, **LLAMA),
    "meta-llama/Llama-3.2-1B": dict(vocab_size=128256, hidden_size=2048, num_hidden_layers=16, num_attention_heads=32,
                                    num_key_value_heads=8, head_dim=64, intermediate_size=8192,
                                    max_position_embeddings=131072, **LLAMA),
}


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch):
    for name in (deployment.ROOTS, deployment.HUB, deployment.HUB_MODELS, "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)


def written(at: AppTest) -> str:
    return "\n".join(each.value for each in (*at.markdown, *at.caption))


def test_every_family_has_a_row_and_no_row_is_of_another():
    rows = tables.families()
    assert sorted(row.id for row in rows) == sorted(families.TITLES)
    for family in families.FAMILIES.keys() ^ families.TITLES.keys():       # known by name alone, to be refused
        with pytest.raises(PretrainedError):
            families.plan_of({"model_type": family}, ())
    for row in rows:
        assert row.models and row.special and row.tokenizer and "|" not in f"{row.models}{row.special}{row.tokenizer}"
        assert tables.name_of(row.place) is not None, row.id


def test_every_family_is_checked_as_the_page_says():
    """A case of each goes through the comparison with transformers, whose bound is the one on the page."""
    kinds = {}
    for kind, settings in huggingface_models.CASES.values():
        config = kind(**settings)
        kinds[config.model_type] = families.plan_of(config.to_dict(), ()).config.kind
    assert {row.id: row.kind for row in tables.families()} == kinds
    assert test_families.TOLERANCE == 1e-5 and "10⁻⁵" in WORDS.section("checked")


def test_the_models_to_try_are_ten_of_known_families_and_their_sizes_follow_from_their_configs():
    rows = {row.name: row for row in tables.models_to_try()}
    assert len(rows) == 10
    for name, row in rows.items():
        assert row.family in families.TITLES and deployment.is_hub_name(name) and row.licence and row.why.endswith(".")
        assert 1.9 < 1e3 * row.disk / row.millions < 4.6, name       # bytes a parameter: 16 or 32 bits, and a little
    for name, config in PUBLISHED.items():
        n = n_parameters(families.plan_of({"model_type": rows[name].family} | config, ()).config)
        assert rows[name].millions == round(n / 1e6), name


def test_the_page_lists_all_of_them_with_a_button_each():
    at = open_at("models")
    assert fine(at)
    text = written(at)
    for row in tables.families():
        assert f"**{families.TITLES[row.id]}**: {row.models}" in text and row.special in text
    for row in tables.models_to_try():
        [button] = [each for each in at.button if each.key == f"models_use_try_hub:{row.name}"]
        assert button.label == WORDS.label("look") and f"**{row.name}**" in text.replace("\\", "")
    assert "124 M parameters · 550 MB on disk, 496 MB in memory · MIT." in text


def test_a_row_says_why_it_has_no_button(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(deployment.HUB_MODELS, "openai-community/gpt2")
    at = open_at("models")
    assert fine(at)
    keys = [each.key for each in at.button if "_try_" in (each.key or "")]
    assert keys == ["models_use_try_hub:openai-community/gpt2"]
    assert written(at).count(WORDS.label("try_not_offered")) == 9
    monkeypatch.setenv(deployment.HUB, "off")
    at = open_at("models")
    assert fine(at) and not [each for each in at.button if "_try_" in (each.key or "")]
    assert written(at).count(WORDS.label("hub_off")) == 1 + 10


def test_offline_a_row_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pages.models.listing.is_offline", lambda: True)
    monkeypatch.setattr("pages.models.listing.is_here", lambda name: name == "openai-community/gpt2")
    assert written(open_at("models")).count(WORDS.label("try_offline")) == 9


def test_no_family_is_led_to_a_block_that_is_not_drawn():
    """One block draws a block of every family whose row leads there."""
    led = {row.id for row in tables.families() if row.place.settings.get("residual_stream_view") == "block"}
    for kind, settings in huggingface_models.CASES.values():
        config = kind(**settings)
        if config.model_type in led:
            own = families.plan_of(config.to_dict(), ()).config.kind
            assert catalogue.is_shown("residual_stream", "block", own), config.model_type
