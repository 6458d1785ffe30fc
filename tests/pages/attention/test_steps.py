"""The lesson "Attention, step by step", its steps, switches and averages: the steps against the model, hand-worked
numbers, what the pictures are given, the formulas worked out again, and each question's answer computed a second time.
"""
from __future__ import annotations

import functools
import math
import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core import huggingface
from core.analysis.attention_steps import head_steps, simple_steps, tempered_weights
from core.app.compute import cache
from core.base import prose
from core.components.lib.bytes import pack
from core.figures.numbers import probability, readable
from core.model import checkpoints
from core.model.config import ModelConfig
from core.model.intervention import Intervention
from core.model.norms import Norm
from core.model.trace import Trace
from core.model.transformer import Transformer
from pages.attention import steps, switches, weights_route
from pages.attention.averages import plane_of
from pages.attention.steps import rest_name, stages, transforms, vectors, window
from tests.helpers import huggingface_models, lessons, messages
from tests.helpers.javascript import evaluate
from tests.helpers.messages import formulas
from tests.helpers.parity import randomised
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

VIEWS = {"steps": {}, "simple": {"step": "softmax", "variant": "simple"},
         "switches": {"view": "switches", "score": "additive", "mask": "sliding-window"},
         "averages": {"view": "averages"}}
ABSURD = [{"step": "zzz", "key": "99999", "component": "1e9"}, {"step": "turn", "key": "-7", "variant": "x"},
          {"view": "switches", "width": "0", "seed": "-1", "mask": "upwards", "score": "3"},
          {"view": "averages", "temperature": "nan"}, {"view": "averages", "temperature": "1e300"}, {"view": "nothing"}]
# plain, rotary, biases, score functions
MODELS = ("stories", "stories-small", "positions-alibi", "positions-relative", "scores-multiplicative",
          "scores-additive")
SIZES = dict(vocab_size=40, d_model=16, n_layers=2, n_heads=4, n_context=16)      # of random models
WORDS, FRAME = prose.load("attention"), prose.load("app")


opened = functools.partial(lessons.opened, "attention")


def given(at: AppTest) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays of the step component."""
    return parts(messages.given(at, "attention_steps"))


def parts(header: dict) -> tuple[dict, dict[str, np.ndarray]]:
    """A header alone, and its arrays."""
    arrays = {name: header.pop(name) for name, *_ in header.pop("arrays")}
    return header, arrays


def loaded(name: str = "stories") -> cache.LoadedModel:
    return cache.shared_model(name, "cpu")


def ids_of(name: str = "stories", prompt: str | None = None) -> torch.Tensor:
    from core.app.state.prompts import default_prompt
    model = loaded(name)
    return torch.tensor(model.tokenizer.prompt(default_prompt() if prompt is None else prompt,
                                               model.model.config.n_context).token_ids)


def value_of(written: str) -> float:
    """A formula's number or simple expression as a calculator reads it."""
    for mark, plain in ((r"\frac", ""), (r"\sqrt", "math.sqrt"), (r"\cdot 10^", "*10**"), (r"\cdot", "*"),
                        (r"\ln", "math.log"), ("}{", ")/("), ("{", "("), ("}", ")"), (")(", ")*(")):
        written = written.replace(mark, plain)
    return eval(written, {"math": math})      # noqa: S307 (the page's own digits)


# ---- the mathematics -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_the_steps_end_at_the_models_own_weights_and_output(name):
    the_steps_agree(loaded(name).model, ids_of(name))


def the_steps_agree(model: Transformer, ids: torch.Tensor) -> None:
    """Every head of a model, for one query: the steps against the trace, and q and k made again from the bytes that the
    browser is given, as it makes them.
    """
    trace = model(ids)
    for layer, (block, weights) in enumerate(zip(trace.blocks, model.blocks)):
        for head in range(model.config.n_heads):
            query = (7 * layer + 3 * head) % len(ids)
            steps = head_steps(block, weights, head, query)
            assert torch.allclose(steps.weights.float(), block.pattern[head, query], atol=2e-5)
            assert torch.allclose(steps.output.float(), block.head_out[head, query], atol=2e-4)
            assert torch.allclose(steps.written.float(), block.head_contribution[head, query], atol=2e-4)
            assert torch.allclose(steps.scores.float(), block.scores[head, query], atol=1e-4)
            assert bool((steps.exponentials[~block.allowed[query]] == 0).all())
            keys = window(len(ids), query)
            sent, way = vectors(block, weights, steps, head, query, keys), transforms(weights)
            if weights.W_S is None:
                assert np.allclose(on_the_way(sent["q_raw"], sent.get("q_gain"), way, query), sent["q"], atol=2e-5)
            for k, made, j in zip(sent["K_raw"], sent["K"], keys):
                assert np.allclose(on_the_way(k, sent.get("k_gain"), way, j), made, atol=2e-5)


def on_the_way(x: np.ndarray, gain: np.ndarray | None, way: dict, position: int) -> np.ndarray:
    """A query or key as steps.js norms it and turns it.

    A pair stands half of the turned components apart, and those after them stay.
    """
    x = x.astype(float)
    if way["norm"]:
        x = x - x.mean() if way["norm"]["heads"] else x
        x = x / math.sqrt((x @ x) / len(x) + way["norm"]["epsilon"]) * gain
    half, turned = len(way["angles"]), x.copy()
    for pair, omega in enumerate(way["angles"]):
        a, b, angle = x[pair], x[pair + half], position * omega
        turned[pair], turned[pair + half] = (a * math.cos(angle) - b * math.sin(angle),
                                             a * math.sin(angle) + b * math.cos(angle))
    return turned


@pytest.mark.parametrize("name", ["gpt2", "opt", "opt post-norm", "pythia", "phi grouped", "llama", "llama stretched",
                                  "mistral", "qwen2", "qwen3", "gemma", "stablelm with a norm for each head",
                                  "cohere with a norm for each head"])
def test_the_steps_of_every_family_end_at_its_own_weights_and_output(name, tmp_path):
    huggingface_models.saved(name, tmp_path)
    the_steps_agree(huggingface.from_pretrained(tmp_path)[0], huggingface_models.ids(20))


def test_the_simple_variant_by_hand():
    """x_1 = (0, 2) against (1, 0), (0, 2) and (3, 1): products 0, 4 and 2; the last is masked. α = (1, e⁴)/(1 + e⁴)."""
    steps = simple_steps(torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]]), 1, torch.tensor([True, True, False]))
    assert steps.products.tolist() == [0.0, 4.0, 2.0] and steps.top == 4.0
    total = 1 + math.e ** 4
    assert steps.weights.tolist() == pytest.approx([1 / total, math.e ** 4 / total, 0.0])
    assert steps.output.tolist() == pytest.approx([1 / total, 2 * math.e ** 4 / total])
    divided = simple_steps(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), 1, torch.tensor([True, True]), divided=True)
    assert divided.scores.tolist() == pytest.approx([0.0, 4 / math.sqrt(2)]) and divided.products[1] == 4


def test_temperature_goes_from_one_key_to_all_alike():
    """Scores ln 1, ln 2, ln 4 and one masked: weights 1/7, 2/7, 4/7 at τ = 1, and squares of the numerators at τ = 1/2.
    """
    scores = torch.tensor([0.0, math.log(2), math.log(4), -math.inf], dtype=torch.float64)
    assert tempered_weights(scores, 1.0).tolist() == pytest.approx([1 / 7, 2 / 7, 4 / 7, 0])
    assert tempered_weights(scores, 0.5).tolist() == pytest.approx([1 / 21, 4 / 21, 16 / 21, 0])
    assert (tempered_weights(scores, 1e-3)[2] == 1
            and tempered_weights(scores, 1e6).tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0], abs=1e-5))
    with pytest.raises(ValueError, match="above 0"):
        tempered_weights(scores, 0.0)


def test_the_output_lies_within_the_values_on_their_plane():
    model, ids = loaded().model, ids_of()
    trace = model(ids)
    for layer, head in ((0, 0), (3, 3), (5, 2)):
        steps = head_steps(trace.blocks[layer], model.blocks[layer], head, len(ids) - 1)
        plane = plane_of(steps)
        centred = steps.V - steps.V.mean(0)
        share = np.sort(np.linalg.eigvalsh((centred.T @ centred).numpy()))[-2:].sum() / (centred ** 2).sum().item()
        assert plane.share == pytest.approx(share) and plane.points.shape == (len(ids), 2)
        weights = np.exp(plane.scores - plane.scores.max())
        mean = weights @ plane.points / weights.sum()
        angles = np.linspace(0, 2 * np.pi, 64)
        directions = np.stack([np.cos(angles), np.sin(angles)])
        # no direction leads out of the hull
        assert ((plane.points @ directions).max(0) >= mean @ directions - 1e-9).all()


@pytest.mark.parametrize("n, query, expected", [(1, 0, (0, 1)), (12, 3, (0, 12)), (13, 12, (1, 13)), (40, 0, (0, 12)),
                                                (40, 20, (11, 23)), (40, 38, (28, 40)), (256, 255, (244, 256))])
def test_the_window_holds_the_query_and_at_most_twelve_keys(n, query, expected):
    keys = window(n, query)
    assert (keys.start, keys.stop) == expected and query in keys and len(keys) <= 12


def test_the_keys_outside_the_window_are_named():
    assert (rest_name(9, range(9)), rest_name(13, range(1, 13)), rest_name(40, range(14, 26))) == ("",
                                                                                                   "0", "0–13, 26–39")


# ---- the page --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_every_view_opens_whole_on_every_prompt(prompt):
    at = opened({}, prompt=prompt)
    for settings in VIEWS.values():
        for name, value in settings.items():
            at.session_state[f"attention_{name}"] = value
        at.run()
        assert not at.exception and not at.error, [e.value for e in (*at.exception, *at.error)]
        headings = "\n".join(m.value for m in at.markdown)
        for part in ("numbers", "check", "code"):
            assert f"## {FRAME.label(part)}" in headings
        assert at.radio and at.get("bidi_component") and "nan" not in headings.lower().split()


@pytest.mark.parametrize("settings", ABSURD, ids=str)
def test_a_link_that_makes_no_sense_still_opens(settings):
    opened(settings, prompt="The cat sat", layer="99", head="77", position="12345")


def in_browser(header: dict, arrays: dict[str, np.ndarray]) -> list[dict]:
    """Results of the component's script from its message: weights and output of the head, and of the simple variant.
    """
    read = "Object.fromEntries(Object.entries(arrays).map(([name, values]) => [name, Float32Array.from(values)]))"
    worked = f"((given) => [false, true].map((simple) => m.numbersOf(given, simple)))({{ ...header, ...{read} }})"
    return evaluate("pages/attention/steps_work.js",
                    f"{worked}.map(({{ items, out }}) => ({{ alpha: items.map((item) => item.alpha), out }}))",
                    header=header, arrays={name: values.tolist() for name, values in arrays.items()})


def test_a_query_is_normed_as_the_model_norms_it():
    x, gain = np.random.default_rng(0).normal(size=(2, 16))
    norm = Norm(ModelConfig(vocab_size=2, d_model=16, n_layers=1, n_heads=1, n_context=2, norm_epsilon=1e-6), 16)
    x, gain, epsilon = torch.tensor(x), torch.tensor(gain), norm.epsilon
    for settings, by_torch in (({}, torch.nn.functional.rms_norm(x, (16,), gain, epsilon)),
                               (HEADS, torch.nn.functional.layer_norm(x, (16,), gain, None, epsilon))):
        mean, scale = steps.statistics(x[None, None], norm, ModelConfig.of(**SIZES | settings), 0)
        normed = evaluate("pages/attention/steps_work.js", "m.normed(Float64Array.from(x), gain, mean, scale)",
                          x=x.tolist(), gain=gain.tolist(), mean=float(mean[0]), scale=float(scale[0]))
        np.testing.assert_allclose(normed, by_torch)


HEADS = dict(qk_norm=True, qk_norm_heads=True)
EVERYTHING = dict(norm="rmsnorm", norm_bias=False, positions="rotary", score_cap=2.0, score_divisor=5.0,
                  attention_sinks=True, qk_norm=True, qk_norm_joint=True, n_kv_heads=2, window=4,
                  block_masks=("causal", "sliding-window"), block_rotary_bases=(0.0, 50.0),
                  rotary_factors=(1.0, 4.0), rotary_gain=1.1)


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("settings", [EVERYTHING, dict(EVERYTHING, attention_sinks=False, qk_norm_joint=False),
                                      dict(EVERYTHING, norm="layernorm", norm_bias=True, qk_norm_joint=False,
                                           qk_norm_heads=True)], ids=["all", "plain norm", "norm per head"])
def test_caps_sinks_divisors_and_joint_norms_come_out_in_the_browser(settings, layer):
    """Queries, keys, weights and output of a head of a random model with all that models of today have."""
    model = randomised(Transformer(ModelConfig.of(**SIZES | settings)).initialise(torch.Generator().manual_seed(0)))
    block, weights = model(torch.arange(9)).blocks[layer], model.blocks[layer]
    made, keys, head, query = head_steps(block, weights, 3, 7), range(9), 3, 7
    arrays = steps.vectors(block, weights, made, head, query, keys) | {"rest_head": np.zeros(4, np.float32)}
    header = steps.transforms(weights) | {
        "window": list(keys), "sizes": {"n": 9, "d": 16, "d_k": 4, "d_v": 4}, "score": "dot", "scaled": True,
        "chosen": {"position": query}, "sink": made.sink, "rest": {"head": {"top": made.top, "sum": 0}}}
    read = "Object.fromEntries(Object.entries(arrays).map(([name, values]) => [name, Float32Array.from(values)]))"
    found = evaluate("pages/attention/steps_work.js",
                     f"(({{ items, out, sinkAlpha }}, levels) => ({{ alpha: items.map((item) => item.alpha), "
                     f"cap: items.map((item) => item.cap), out: [...out], sinkAlpha, normed: [...levels.norm.q] }}))"
                     f"(m.numbersOf({{ ...header, ...{read} }}, false), m.levelsOf({{ ...header, ...{read} }}, []))",
                     header=header, arrays={name: values.ravel().tolist() for name, values in arrays.items()})
    np.testing.assert_allclose(found["alpha"], made.weights, atol=1e-6)
    np.testing.assert_allclose(found["alpha"], block.pattern[head, query], atol=1e-6)
    np.testing.assert_allclose(found["cap"], block.scores[head, query], atol=1e-5)
    np.testing.assert_allclose(found["out"], block.head_out[head, query], atol=1e-5)
    assert found["sinkAlpha"] == pytest.approx(1 - float(block.pattern[head, query].sum()), abs=1e-6)
    if layer == 0:                  # which turns nothing
        np.testing.assert_allclose(found["normed"], block.Q_rotated[head, query], atol=1e-5)
    assert ("turn" in steps.stages(weights, "head")) == (layer == 1) and "cap" in steps.stages(weights, "head")


@pytest.mark.parametrize("name", MODELS)
def test_the_browser_is_given_what_makes_every_number(name):
    """Weights and output again, from the bytes alone, by the component's own script."""
    header, arrays = given(opened({"step": "sum"}, prompt=None, model=name, layer="1", head="2", position="18"))
    block, config = loaded(name).model(ids_of(name)).blocks[1], loaded(name).model.config
    keys, n = header["window"], len(header["window"])
    head, simple = in_browser(header, arrays)
    assert np.allclose(head["alpha"], block.pattern[2, 18, keys], atol=2e-5)
    assert np.allclose(head["out"], block.head_out[2, 18], atol=2e-4)
    by_hand = simple_steps(block.resid_pre, 18, block.allowed[18], divided=True)
    assert np.allclose(simple["alpha"], by_hand.weights[keys], atol=2e-5)
    assert np.allclose(simple["out"], by_hand.output, atol=2e-4)
    assert np.allclose(arrays["written"], block.head_contribution[2, 18], atol=2e-4)
    asked, weights = parts(messages.unpacked(weights_route.answer(header["question"])))
    X, project = arrays["X"].reshape(n, -1), lambda part: weights[f"W_{part}"].reshape(config.d_model, -1)
    for part, expected in (("Q", block.Q), ("K", block.K), ("V", block.V)):
        assert np.allclose(X @ project(part) + weights[f"b_{part}"], expected[2, keys], atol=1e-4)
    assert np.allclose(block.head_out[2, 18] @ weights["W_O"].reshape(-1, config.d_model), arrays["written"], atol=2e-4)
    # the weights, six times as much, come once a head
    assert asked["asked"] == header["question"] and len(pack(header, arrays)) < 48_000
    assert (header["stageNames"]["head"] == stages(loaded(name).model.blocks[1], "head")
            and ("turn" in header["stageNames"]["head"]) == (name in ("stories-small", "scores-multiplicative")))
    assert header["rest"]["count"] == len(ids_of(name)) - n


@pytest.mark.parametrize("wrong",
                         [{"layer": 6}, {"head": -1}, {"layer": "0"}, {"model": "../x"}, {"device": "tpu"}], ids=str)
def test_a_question_for_weights_that_are_not_there_is_refused(wrong):
    with pytest.raises(ValueError):
        weights_route.answer({"model": "stories", "device": "cpu", "layer": 0, "head": 0} | wrong)


@pytest.mark.parametrize("settings, shared", [({}, {}), ({"key": "3"}, {"position": "5", "layer": "4", "head": "6"}),
                                              ({"variant": "simple", "key": "1"}, {"position": "5"}),
                                              ({}, {"model": "positions-alibi", "position": "9"}),
                                              ({}, {"model": "scores-additive"})], ids=str)
def test_the_numbers_hold_on_a_calculator(settings, shared):
    at = opened(settings, prompt=None, **shared)
    shown = formulas(at)
    checked = 0
    for latex in shown:
        parts = [part.strip() for part in latex.split("=")[1:]]
        for left, right in zip(parts, parts[1:]):
            if r"\cdots" in left or r"\sum" in left or "e^" in left:
                continue
            assert value_of(left) == pytest.approx(value_of(right), abs=6e-5 + 1e-4 * abs(value_of(right)))
            checked += 1
    assert checked >= 1
    score, top, own = re.search(r"= e\^\{(.+?) - \(?(-?[\d.]+)\)?\} = (.+)$",
                                next(latex for latex in shown if r"e^{s - m}" in latex)).groups()
    assert math.exp(value_of(score) - float(top)) == pytest.approx(value_of(own), rel=1e-4)


def test_the_row_of_the_query_is_in_the_table():
    at = opened({}, prompt="The cat sat on the mat.", position="4", layer="2", head="1")
    table = at.dataframe[0].value
    own = loaded().model(ids_of(prompt="The cat sat on the mat.")).blocks[2].pattern[1, 4]
    assert [float(w) for w in table[WORDS.label("column_weight")]] == pytest.approx(own.tolist(), abs=6e-5)
    assert list(table[WORDS.label("column_score")][5:]) == ["−∞"] * (len(own) - 5)


def test_experiments_lead_where_they_say():
    for experiment in WORDS.experiments:
        at = opened({})
        at.button(f"do_attention_{experiment.id}").click().run()
        assert not at.exception and not at.error
        for key, value in experiment.settings.items():
            assert (at.session_state[key] if key in at.session_state else at.session_state["selection"][key]) == value


# ---- switches --------------------------------------------------------------------------------------------------------


def kl(before: torch.Tensor, after: torch.Tensor) -> float:
    return float(torch.nn.functional.kl_div(after.double().log_softmax(-1), before.double().log_softmax(-1),
                                            reduction="sum", log_target=True))


def test_the_divergence_is_that_of_the_switched_pass():
    """Without the division: the same weights with W_Q and b_Q times √d_k, in a model of their own."""
    at = opened({"view": "switches"})
    model, ids = loaded().model, ids_of()
    other, _ = checkpoints.load_bundled("stories")
    with torch.no_grad():
        for block in other.blocks:
            block.W_Q *= math.sqrt(32)
            block.b_Q *= math.sqrt(32)
        expected = kl(model(ids).logits[-1], other(ids).logits[-1])
    shown = next(latex for latex in formulas(at) if "KL" in latex)
    assert float(re.search(r"= ([\d.]+)\\ ", shown)[1]) == pytest.approx(expected, abs=2e-4) and expected > 0.01


def test_a_window_as_wide_as_the_text_changes_nothing_and_a_trained_model_speaks_for_itself():
    at = opened({"view": "switches", "scaling": "own", "mask": "sliding-window", "width": "64"})
    assert r"= 0.0000\ \text{nats}" in next(latex for latex in formulas(at) if "KL" in latex)
    at = opened({"view": "switches", "scaling": "own", "score": "additive"})
    table = at.dataframe[0].value
    for row, name in zip(table.itertuples(index=False), switches.TRAINED.values()):
        p = loaded(name).model(ids_of(name)).probs[-1]
        assert row[1] == name and row[2].split("  ")[0] == loaded(name).tokenizer.visible(int(p.argmax()))
        assert float(row[2].split("  ")[1]) == pytest.approx(float(p.max()), rel=1e-2)
    assert any(loaded().name in c.value and "random" in c.value for c in at.caption)


def share_of_entropy(trace: Trace) -> float:
    """Mean over all heads and queries that have a choice of −Σ α ln α by the ln of their keys; causal, query by query.
    """
    shares = [-(row * row.log()).sum(-1) / math.log(i + 1) for block in trace.blocks
              for i in range(1, len(trace.token_ids)) for row in [block.pattern[:, i, :i + 1].double()]]
    return float(torch.cat(shares).mean())


def test_with_a_cosine_the_weights_are_almost_even_and_no_width_divides_it():
    model, ids = loaded().model, ids_of()
    at = opened({"view": "switches", "score": "cosine"})
    plain, switched = model(ids), model(ids, Intervention(score="cosine"))
    title = next(m.value for m in at.markdown if m.value.startswith("**Switched"))
    assert "√" not in title and f"KL = {readable(kl(plain.logits[-1], switched.logits[-1]))} nats" in title
    before, after = map(share_of_entropy, (plain, switched))
    assert f"Entropy of the weights: {readable(before)} → {readable(after)} of its most" in title
    assert before < 0.7 < 0.99 < after
    block = switched.blocks[2]
    cosines = torch.nn.functional.cosine_similarity(block.Q[:, :, None], block.K[:, None], dim=-1)
    assert torch.allclose(block.scores, cosines, atol=1e-5)
    assert any(r"\lVert q_i \rVert" in latex and r"\sqrt" not in latex for latex in formulas(at))
    assert all("random" not in caption.value for caption in at.caption)


def test_one_token_has_no_choice_to_spread():
    at = opened({"view": "switches", "score": "cosine"}, prompt="")
    assert not any("Entropy of the weights" in m.value for m in at.markdown if m.value.startswith("**Switched"))


# ---- check yourself --------------------------------------------------------------------------------------------------


def answered(at: AppTest, key: str, answer: str) -> None:
    """The reader commits to the option `answer`, and the page says that it is right."""
    options = at.radio(key=f"attention_{key}_given").options
    at.radio(key=f"attention_{key}_given").set_value(options.index(answer)).run()
    at.button(key=f"attention_{key}_commit").click().run()
    right = FRAME.label("check_right", answer="").removesuffix(".").strip()
    assert any(m.value.startswith(right) for m in at.markdown), f"the page does not take {answer} for the answer"


@pytest.mark.parametrize("layer, head, position", [(0, 0, 25), (2, 3, 9), (5, 7, 2)])
def test_question_which_key_the_query_before_looks_at(layer, head, position):
    model, ids = loaded().model, ids_of()
    block, X = model.blocks[layer], model(ids).blocks[layer].X
    q, K = X[position - 1] @ block.W_Q[head] + block.b_Q[head], X @ block.W_K[head] + block.b_K[head]
    best = int((K @ q)[:position].argmax())
    answered(opened({}, prompt=None, layer=str(layer), head=str(head), position=str(position)), "steps",
             WORDS.label("one_key", token=f"`{loaded().tokenizer.visible(int(ids[best]))}`", j=best))


def test_question_which_switch_changes_least():
    model, ids = loaded().model, ids_of()
    n, before = len(ids), model(ids).logits[-1]
    everything = tuple(tuple(True for _ in range(n)) for _ in range(n))
    near = tuple(tuple(0 <= i - j < 4 for j in range(n)) for i in range(n))
    found = {"bidirectional": kl(before, model(ids, Intervention(allowed=everything)).logits[-1]),
             "window": kl(before, model(ids, Intervention(allowed=near)).logits[-1])}
    other, _ = checkpoints.load_bundled("stories")
    with torch.no_grad():
        for block in other.blocks:
            block.W_K *= math.sqrt(32)
            block.b_K *= math.sqrt(32)
        found["scaling"] = kl(before, other(ids).logits[-1])
    assert found["window"] > 1      # and a random score breaks it still more
    answered(opened({"view": "switches"}), "switches", WORDS.label(f"option_{min(found, key=found.get)}", width=4))
    answered(opened({"view": "switches"}, prompt="", position="0"), "switches_first", WORDS.label("option_no"))


def test_question_what_another_temperature_makes_of_the_largest_weight():
    model, _ = checkpoints.load_bundled("stories")
    with torch.no_grad():
        scores = model(ids_of()).blocks[3].scores[2, -1].double()
    answered(opened({"view": "averages"}, layer="3", head="2"), "averages",
             probability(float((scores / 2).softmax(-1).max())))
    answered(opened({"view": "averages"}, prompt="a"), "exceeds", WORDS.label("option_no"))
    answered(opened({}, prompt=""), "first", "1")
