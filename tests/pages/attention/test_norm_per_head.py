"""The pages of models that norm queries and keys, each head with a norm of its own or all heads with one."""
from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from core.app.compute import cache
from core.base import prose
from core.model.norms import norm_heads
from pages.positions import rotary
from tests.core.huggingface import test_tokens
from tests.helpers import huggingface_models, kinds, latex, lessons, messages

CASES = {"stablelm": "stablelm with a norm for each head", "cohere": "cohere with a norm for each head",
         "olmo2": "olmo2"}
OF_HEADS = ("stablelm", "cohere")
PROMPT = "The cat sat on the mat."
WORDS = {lesson: prose.load(lesson) for lesson in ("attention", "heads", "positions")}


@pytest.fixture(scope="module", autouse=True)
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    root = tmp_path_factory.mktemp("models")
    for name, case in CASES.items():
        (root / name).mkdir()
        size = test_tokens.written(*test_tokens.gpt2(), root / name)
        huggingface_models.saved(case, root / name, vocab_size=size, bos_token_id=0, eos_token_id=0, pad_token_id=None)
    with kinds.offered(root):
        yield


def opened(lesson: str, name: str, **settings: str):
    at = lessons.open_at(lesson, model=f"folder:{name}", prompt=PROMPT, layer="1", head="3", position="4",
                         **{f"{lesson}_{key}": value for key, value in settings.items()})
    assert lessons.fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


def traced(name: str):
    """The block that is picked, and its trace."""
    loaded = cache.shared_model(f"folder:{name}", "cpu")
    return loaded.model.blocks[1], loaded.model(torch.tensor(loaded.tokenizer.prompt(PROMPT, 40).token_ids)).blocks[1]


@pytest.mark.parametrize("name", OF_HEADS)
def test_the_steps_say_mean_and_deviation_and_give_the_numbers_of_both(name):
    at = opened("attention", name, view="steps", step="norm", key="2", component="1")
    weights, block = traced(name)
    header = messages.given(at, "attention_steps")
    arrays = {key: header[key] for key, *_ in header["arrays"]}
    shared = 3 * weights.config.n_kv_heads // weights.config.n_heads
    place = header["window"].index(2)
    for part, made, head, row, at_row in (("q", block.Q, 3, 4, 0), ("k", block.K, shared, 2, place)):
        x, norm = made[head, row].double().numpy(), getattr(weights, f"{part}_norm")
        assert arrays[f"{part}_mean"][at_row] == pytest.approx(x.mean(), abs=1e-6)
        assert arrays[f"{part}_scale"][at_row] == pytest.approx((x.var() + norm.epsilon) ** 0.5, abs=1e-6)
        np.testing.assert_allclose(arrays[f"{part}_gain"], norm.weight[head])
    labels = header["labels"]
    assert "standard deviation" in labels["say_norm"] and header["norm"]["heads"]
    said = " ".join(kinds.said(at))
    assert WORDS["attention"].label("differs_steps_norm_per_head") in said
    told = [text for key, text in labels.items() if key in ("say_norm", "norm_heads_says")]
    assert not [text for text in told if "root mean square" in text]


@pytest.mark.parametrize("name", OF_HEADS)
def test_a_normed_key_in_numbers_is_right_on_a_calculator(name):
    at = opened("attention", name, view="steps", step="norm", key="2", component="1")
    weights, block = traced(name)
    line = next(line for line in messages.formulas(at) if line.startswith(r"\hat{k}_{2,1}"))
    _, worked, result = latex.parts(line)[0]
    shared = 3 * weights.config.n_kv_heads // weights.config.n_heads
    expected = norm_heads(block.K, weights.k_norm, weights.config)[shared, 2, 1]
    assert result.value[0].point == pytest.approx(float(expected), abs=6e-5)
    assert not latex.false(worked.value, "=", result.value) and worked.text.count("-") >= 1


@pytest.mark.parametrize("name", CASES)
def test_the_roles_name_the_norm_that_stands_between_query_and_key(name):
    fact = "joint_norm" if name == "olmo2" else "norm_per_head"
    why, product_why = (WORDS["attention"].label(f"roles_{what}_{fact}") for what in ("why", "product_why"))
    changed = messages.given(opened("attention", name, view="roles", roles_part="change"), "attention_matrices")
    assert changed["title"].endswith(why)
    at = opened("attention", name, view="roles", roles_part="product")
    assert any(product_why in element.value for kind in kinds.WRITTEN for element in at.get(kind))
    opened("attention", name, view="roles", roles_part="symmetric")


@pytest.mark.parametrize("name", CASES)
def test_the_vectors_that_are_turned_are_the_normed_ones(name):
    at = opened("positions", name, view="rotary")
    fact = "joint_norm" if name == "olmo2" else "norm_per_head"
    assert WORDS["positions"].label(f"differs_rotary_{fact}") in " ".join(kinds.said(at))
    weights, block = traced(name)
    run = SimpleNamespace(trace=SimpleNamespace(blocks=[None, block]), model=SimpleNamespace(
        blocks=[None, weights], config=weights.config))
    q, k = rotary.query_and_key(run, 1, 3, 4)
    shared = 3 * weights.config.n_kv_heads // weights.config.n_heads
    for found, made, norm, head, row in ((q, block.Q, weights.q_norm, 3, 4), (k, block.K, weights.k_norm, shared, 3)):
        np.testing.assert_allclose(found, norm_heads(made, norm, weights.config)[head, row, :len(found)], atol=1e-6)


@pytest.mark.parametrize("name", OF_HEADS)
def test_the_heads_say_what_their_norm_does(name):
    said = " ".join(kinds.said(opened("heads", name)))
    assert WORDS["heads"].label("differs_norm_per_head") in said
    assert WORDS["heads"].label("differs_qk_norm") not in said


@pytest.mark.parametrize("name", OF_HEADS)
def test_the_parts_of_a_pass_name_the_queries_and_keys_that_are_normed(name):
    at = opened("architectures", name, view="hardware", machine="pass")
    sent = messages.given(at, "hardware")
    state = next(state for state in sent["states"] if state["n"] == sent["at"])
    norms, config = (next(part for part in state["parts"] if part["name"] == "norms"),
                     cache.shared_model(f"folder:{name}", "cpu").model.config)
    n, d, d_k = sent["at"], config.d_model, config.d_k
    # a shared norm before both parts of each of two blocks and one at the end; four queries and two keys a block
    assert norms["of"] == f"{3 * n} vectors of {d}, and {2 * 6 * n} of {d_k}"
    assert norms["value"] == n * (3 * ((6 + config.sublayer.norm_bias) * d + 2) + 12 * (6 * d_k + 2))
