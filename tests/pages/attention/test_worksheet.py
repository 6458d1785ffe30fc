"""The views Worksheet, Scaling and Why query and key: the answers are torch's, the experiment is what theory says,
changes that should not show do not.
"""
from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from streamlit.testing.v1 import AppTest

from core.analysis import score_scaling, symmetries
from core.app.compute import cache
from core.app.lesson.lesson import Lesson
from core.app.state import prompts
from core.app.state.run import Run, read, telling
from core.base import prose
from core.figures.numbers import readable
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.sheets import attention_by_hand
from pages.attention import roles as roles_view
from pages.attention import scaling as scaling_view
from pages.attention import worksheet as worksheet_view
from tests.helpers import lessons, messages
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas, unpacked
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

COMPONENT = {"worksheet": "attention_worksheet", "scaling": "attention_scaling", "roles": "attention_matrices",
             "roles symmetric": "attention_view"}
PARTS = ("symmetric", "change", "relabel")
WORDS = prose.load("attention")
PAGE = Lesson("attention", WORDS, prose.load("app"))
SENTENCE = "Once upon a time, there was a little girl named Lily."


def open_at(**query: str) -> AppTest:
    """The lesson as a link with these settings opens it, on the worksheet if they name no view."""
    return lessons.open_at("attention", **({"attention_view": "worksheet"} | query))


def given(at: AppTest, view: str) -> dict:
    return messages.given(at, COMPONENT[view])


def run_of(prompt: str, model: str = "stories") -> Run:
    return read(cache.shared_model(model, "cpu"), prompt)


def number(written: str) -> float:
    """A number as a formula writes it."""
    return float(re.sub(r"\s*\\cdot 10\^\{(-?\d+)\}", r"e\1", written.strip("() ")))


# ---- every view, every prompt, every address -------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_every_view_bears_every_prompt(prompt: str | None):
    """The worksheet reads no prompt; it is the first view here and is borne with each."""
    at = open_at(**({} if prompt is None else {"prompt": prompt}))
    for view, part in (("worksheet", None), ("scaling", None), *(("roles", part) for part in PARTS)):
        if view != at.session_state["attention_view"]:
            at.segmented_control("attention_view_widget").set_value(view).run()
        if part is not None and part != at.session_state["attention_roles_part"]:
            at.segmented_control("attention_roles_part_widget").set_value(part).run()
        assert fine(at) and given(at, "roles symmetric" if part == "symmetric" else view)["text"], (view, part)


@pytest.mark.parametrize("query", [
    {"attention_view": "worksheet", "attention_sheet_seed": "-7", "attention_sheet_width": "3"},
    {"attention_view": "worksheet", "attention_sheet_seed": "1e300", "attention_sheet_width": "<b>"},
    {"attention_view": "scaling", "attention_scaling_d": "100", "attention_scaling_keys": "5",
     "attention_scaling_seed": "nan"},
    {"attention_view": "scaling", "attention_scaling_d": "-inf", "layer": "99", "head": "99"},
    {"attention_view": "roles", "attention_roles_part": "change", "attention_roles_stretch": "1e9",
     "attention_roles_seed": "x"},
    {"attention_view": "roles", "attention_roles_stretch": "-1", "attention_roles_part": "none", "position": "999"}],
                         ids=str)
def test_an_absurd_address_is_borne(query: dict[str, str]):
    assert fine(open_at(**query))


@pytest.mark.parametrize("model", ["positions-rotary", "positions-alibi", "positions-sinusoidal", "scores-additive",
                                   "scores-multiplicative"])
def test_every_kind_of_model_is_borne(model: str):
    run = run_of(SENTENCE, model)
    heads = scaling_view.heads_of(run)
    assert (heads == ()) == (model == "scores-additive")
    alike = roles_view.compared(run, "keys", 0, 1).after
    assert symmetries.split(alike.scores).share == pytest.approx(1) or model == "scores-multiplicative"
    found = roles_view.compared(run, "basis", 0, 1, 3, 2.0)
    same = found.difference < roles_view.UNSEEN
    assert (same == (model in ("positions-alibi", "positions-sinusoidal"))
            and roles_view.largest(found.before.Q, found.after.Q) > 0.1)
    found = roles_view.relabelled(run, 0, 2)
    assert ((max(found.difference, roles_view.largest(found.logits, found.other_logits)) < roles_view.UNSEEN)
            == (model != "positions-sinusoidal"))
    at = open_at(model=model, attention_view="roles", attention_roles_part="change")
    assert fine(at) and ("rounding" in given(at, "roles")["title"]) == same


# ---- the worksheet ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", attention_by_hand.WIDTHS)
@pytest.mark.parametrize("seed", range(5))
def test_the_answers_are_torchs(seed: int, width: int):
    sheet = attention_by_hand.worksheet(seed, width)
    steps = attention_by_hand.solve(sheet)
    Q, K, V = sheet.X @ sheet.W_Q, sheet.X @ sheet.W_K, sheet.X @ sheet.W_V
    torch.testing.assert_close(steps["output"], F.scaled_dot_product_attention(Q[None], K[None], V[None],
                                                                               is_causal=True)[0], rtol=0, atol=1e-14)
    torch.testing.assert_close(steps["weights"],
                               torch.softmax(Q @ K.T / width**0.5 + torch.full((4, 4), -math.inf).triu(1), -1),
                               rtol=0, atol=1e-15)
    assert (torch.equal(steps["masked"].isinf(), torch.ones(4, 4).triu(1).bool())
            and torch.equal(steps["scaled"] * width**0.5, steps["scaled"] * math.sqrt(width)))
    assert all(values.frac().abs().max() == 0
               for values in (sheet.X, sheet.W_Q, sheet.W_K, sheet.W_V, steps["products"]))
    assert (all(values.abs().max() <= attention_by_hand.MOST_ENTRY for values in (Q, K, V))
            and steps["products"].abs().max() <= attention_by_hand.MOST_PRODUCT)
    assert not any(bool((values == 0).logical_and(values.signbit()).any())
                   for values in steps.values()), "no −0 on the sheet"


def test_a_sheet_is_its_seed_and_seeds_differ():
    one, again, other = (attention_by_hand.worksheet(seed, 2) for seed in (3, 3, 4))
    assert torch.equal(one.X, again.X) and not (torch.equal(one.X, other.X) and torch.equal(one.W_Q, other.W_Q))


def test_slips_are_what_they_say():
    sheet = attention_by_hand.worksheet(1, 4)
    steps, slips = attention_by_hand.solve(sheet), attention_by_hand.mistakes(sheet)
    Q, K, V = (steps[name].numpy() for name in "QKV")
    raw = np.exp(Q @ K.T)
    assert np.allclose(slips["scaled"]["undivided"], Q @ K.T) and np.allclose(slips["scaled"]["by_width"], Q @ K.T / 4)
    assert np.allclose(slips["weights"]["unmasked"].numpy(), np.sqrt(raw) / np.sqrt(raw).sum(1, keepdims=True))
    assert (np.allclose(slips["weights"]["unscaled"].numpy()[2, :3], raw[2, :3] / raw[2, :3].sum())
            and np.allclose(slips["output"]["mean"].numpy()[2], V[:3].mean(0)))
    assert (np.allclose(slips["Q"]["transposed"], sheet.X.numpy() @ sheet.W_Q.numpy().T)
            and "transposed" not in attention_by_hand.mistakes(attention_by_hand.worksheet(1, 2))["Q"])
    assert {f"slip_{slip}" for of in slips.values() for slip in of} <= set(PAGE.labels("sheet"))


def test_the_browser_gets_the_sheet_of_the_address():
    sent = given(open_at(attention_sheet_seed="5", attention_sheet_width="4"), "worksheet")
    steps = attention_by_hand.solve(attention_by_hand.worksheet(5, 4))
    assert (sent["identity"] == "4/5"
            and sent["solution"]["masked"][0] == [float(steps["masked"][0, 0]), "-inf", "-inf", "-inf"])
    assert (torch.equal(torch.tensor(sent["solution"]["output"], dtype=torch.float64), steps["output"])
            and sent["cells"] == {})
    json.dumps(sent["mistakes"], allow_nan=False)


def test_only_cells_of_a_sheet_are_kept_and_only_in_the_readers_own_session():
    accepted = worksheet_view.parsed
    assert accepted({"identity": "2/7", "cells": {"Q.0.1": ["−1", 0], "Q.0.3": ["1", 0], "X.0.0": ["1", 0],
                                                  "weights.3.3": ["x" * 500, 5], "masked.0.1": "bad"}}) == (
                                                      "2/7", {"Q.0.1": ["−1", 0],
                                                              "weights.3.3": ["x" * worksheet_view.MOST_CHARACTERS, 1]})
    assert ([accepted(bad) for bad in (None, {}, {"identity": "3/1", "cells": {}}, {"identity": "2/²", "cells": {}},
                                       {"identity": "2/99999", "cells": {}}, {"identity": "2/1", "cells": []})]
            == [None] * 6)
    at = open_at()
    at.session_state[worksheet_view.TYPED] = {"2/0": {"Q.0.0": ["3", 0]}}
    assert given(at.run(), "worksheet")["cells"] == {"Q.0.0": ["3", 0]}
    at.segmented_control("attention_view_widget").set_value("scaling").run()
    at.segmented_control("attention_view_widget").set_value("worksheet").run()
    assert fine(at) and given(at, "worksheet")["cells"] == {"Q.0.0": ["3", 0]}
    assert given(open_at(), "worksheet")["cells"] == {}


def test_another_sheet_is_the_next_seed():
    at = open_at(attention_sheet_seed="9999")
    at.button("attention_sheet_next").click().run()
    assert fine(at) and given(at, "worksheet")["identity"] == "2/0"


@pytest.mark.parametrize("width", attention_by_hand.WIDTHS)
def test_the_printed_file_has_a_blank_sheet_and_its_solution(width: int):
    found = worksheet_view.solved(3, width)
    blank, solution = worksheet_view._printable(PAGE, found).split('<section class="answers">')
    cells = 3 * 4 * width + 4 * 16 + 4 * width
    given_cells = 16 + 3 * 4 * width
    assert (blank.count("<td></td>") == cells and solution.count("<td></td>") == 0
            and blank.count("<td>") == solution.count("<td>") == cells + given_cells)
    assert (solution.count("<td>−∞</td>") == 6 and f"<td>{float(found.steps['weights'][3, 0]):.4f}</td>" in solution
            and "http" not in blank + solution)


def test_the_worked_row_holds_on_a_calculator():
    at = open_at(attention_sheet_seed="2", attention_sheet_width="4")
    product, scaled, weight, *outputs = formulas(at)
    factors = re.findall(r"(\(?-?\d+\)?) \\cdot (\(?-?\d+\)?)", product)
    assert sum(int(a.strip("()")) * int(b.strip("()")) for a, b in factors) == int(product.rsplit("= ", 1)[1])
    top, root, result = re.fullmatch(r"\\frac\{(-?\d+)\}\{\\sqrt\{(\d)\}\} = (.+)", scaled).groups()
    assert int(top) / math.sqrt(int(root)) == pytest.approx(number(result), abs=6e-5)
    powers = [math.exp(number(power)) for power in re.findall(r"e\^\{(.+?)\}(?= |\}|$)", weight)]
    assert (len(powers) == 5
            and powers[0] / sum(powers[1:]) == pytest.approx(number(weight.rsplit("= ", 1)[1]), abs=6e-5))
    for output in outputs:
        total = sum(number(a) * int(v.strip("()"))
                    for a, v in re.findall(r"([\d.]+(?: \\cdot 10\^\{-\d+\})?) \\cdot (\(?-?\d+\)?)", output))
        assert total == pytest.approx(number(output.rsplit("= ", 1)[1]), abs=6e-5)


def test_the_worksheets_question_is_answered_by_plain_exponentials():
    found = worksheet_view.solved(4, 2)
    question = worksheet_view._question(PAGE, found)
    sheet = found.sheet
    q, K = (sheet.X @ sheet.W_Q)[3].tolist(), (sheet.X @ sheet.W_K).tolist()
    powers = [math.exp(sum(a * b for a, b in zip(q, k))) for k in K]
    assert (question.options[question.answer] == f"{max(powers) / sum(powers):.4f}"
            and len(set(question.options)) == len(question.options) >= 3)


# ---- scaling ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4, 16])
def test_the_experiment_is_what_theory_says(n: int):
    found = score_scaling.experiment(0, n)
    off = np.abs(found.variance.mean - score_scaling.D_KS) / found.variance.error
    assert (off < 4).all() and found.variance.error[-1] < 0.08 * 512
    scaled, unscaled = found.entropy
    assert np.ptp(scaled.mean) < 0.06 and (np.diff(unscaled.mean) < 0).all() and unscaled.mean[-1] < 0.1
    assert np.ptp(found.gradient[0].mean) < 0.05 and found.gradient[1].mean[-1] < 0.3 * found.gradient[0].mean[-1]
    assert scaled.mean[0] == unscaled.mean[0], "√1 = 1"


def test_one_throw_serves_every_width():
    raw = score_scaling.products(7, 4)
    dice = np.random.default_rng([7, 4])
    q, k = dice.standard_normal((score_scaling.CHUNK, 1, 512)), dice.standard_normal((score_scaling.CHUNK, 4, 512))
    for at in (0, 3, 9):
        d = score_scaling.D_KS[at]
        assert np.allclose(raw[:score_scaling.CHUNK, at], (q[..., :d] * k[..., :d]).sum(-1))


def test_entropy_and_gradient_are_those_of_the_definition():
    scores = torch.tensor(np.random.default_rng(0).standard_normal(7) * 2, requires_grad=True)
    p = torch.softmax(scores, -1)
    jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), scores.detach())
    assert score_scaling.gradient_size(p.detach().numpy()) == pytest.approx(float(jacobian.norm()), rel=1e-12)
    assert (score_scaling.entropy_share(p.detach().numpy())
            == pytest.approx(float(torch.distributions.Categorical(p.detach()).entropy()) / math.log(7), rel=1e-12))
    assert np.allclose(score_scaling.softmax(scores.detach().numpy()), p.detach().numpy(), rtol=1e-14)


@pytest.mark.parametrize("model", ["stories", "positions-rotary", "positions-alibi"])
def test_the_models_own_heads_are_measured(model: str):
    run = run_of(SENTENCE, model)
    config, head = run.model.config, 1
    block, found = run.trace.blocks[1], scaling_view.heads_of(run)[1]
    Q, K = block.Q_rotated[head].double().numpy(), block.K_rotated[head].double().numpy()
    pairs = [(i, j) for i in range(len(Q)) for j in range(i + 1)]
    assert found.variance[head] == pytest.approx(np.var([Q[i] @ K[j] for i, j in pairs]), rel=1e-10)
    pattern = block.pattern[head].double().numpy()
    shares = [-sum(p * math.log(p) for p in pattern[i, :i + 1] if p > 0) / math.log(i + 1) for i in range(1, len(Q))]
    assert found.entropy_scaled[head] == pytest.approx(np.mean(shares), rel=1e-4)
    for entropy, divisor in ((found.entropy_unscaled, 1), (found.entropy_by_width, math.sqrt(config.d_model))):
        scores = block.scores[head].double().numpy() + (Q @ K.T) * (1 / divisor - 1 / math.sqrt(config.d_k))
        rows = [score_scaling.softmax(scores[i, :i + 1]) for i in range(1, len(Q))]
        assert entropy[head] == pytest.approx(np.mean([score_scaling.entropy_share(p) for p in rows]), rel=1e-4)


def test_the_root_of_the_width_is_told_beside_that_of_a_heads_width():
    at, found = open_at(attention_view="scaling"), scaling_view.heads_of(run_of(prompts.default_prompt()))
    layer, head = telling(run_of(prompts.default_prompt()))
    [said] = [m.value for m in at.markdown if "√256" in m.value]
    assert "dₖ = 32" in said and f"By √D = √256: {readable(found[layer].entropy_by_width[head])}." in said
    assert found[layer].entropy_by_width[head] > found[layer].entropy_scaled[head]


def test_the_slider_stands_where_the_address_says_and_the_formulas_hold():
    at = open_at(attention_view="scaling", attention_scaling_d="250")
    sent = given(at, "scaling")
    assert (sent["settings"]["d"] == 256 and len(sent["weights"]["scaled"]) == 10
            and sum(sent["weights"]["unscaled"][8]) == pytest.approx(1))
    _, divided, score, gradient, _, own = formulas(at)
    for formula in (divided, own):
        top, bottom, result = re.search(r"= \\frac\{([^{}]+)\}\{([^{}]+)\} = (\S+)$", formula).groups()
        assert number(top) / number(bottom) == pytest.approx(number(result), abs=6e-5)
    top, bottom, result = re.search(r"\\frac\{([-\d.]+)\}\{([\d.]+)\} = ([-\d.]+),", score).groups()
    assert number(top) / number(bottom) == pytest.approx(number(result), abs=6e-5)
    squares, cubes, again, result = re.search(r"\\sqrt\{([^ ]+) - 2 \\cdot ([^ ]+) \+ ([^ ]+)\^2\} = (\S+)$",
                                              gradient).groups()
    assert (squares == again and math.sqrt(number(squares) - 2 * number(cubes) + number(squares) ** 2)
                                 == pytest.approx(number(result), abs=6e-5))


@pytest.mark.parametrize("at", [0, 5, 9])
def test_scalings_question_is_answered_by_another_sum(at: int):
    found = score_scaling.experiment(0, 8)
    question = scaling_view._question(PAGE, found, at)
    other = at + 2 if at < 8 else at - 2
    measured = score_scaling.products(0, 8)[:, other].var()
    assert (float(question.options[question.answer]) == pytest.approx(measured, rel=5e-3)
            and len(set(question.options)) == len(question.options) == 4)


# ---- roles -----------------------------------------------------------------------------------------------------------


def small(**changes) -> Transformer:
    sizes = {"vocab_size": 40, "d_model": 12, "n_layers": 2, "n_heads": 4, "n_context": 16}
    config = ModelConfig.of(**sizes | changes)
    model = Transformer(config).initialise(torch.Generator().manual_seed(1)).eval().requires_grad_(False)
    for name, values in model.named_parameters():      # norms and biases that tell the dimensions apart
        if values.dim() <= 2 and name.rsplit(".", 1)[-1] not in ("E", "P", "W_U"):
            values.add_(0.3 * torch.randn(values.shape, generator=torch.Generator().manual_seed(len(name))))
    return model


CONFIGS = [{}, {"positions": "rotary", "norm": "rmsnorm", "norm_bias": False, "activation": "swiglu", "d_k": 4},
           {"positions": "rotary", "qk_norm": True, "qk_norm_heads": True, "n_kv_heads": 2, "d_k": 4},
           {"positions": "alibi", "d_ff": None, "tied_embeddings": False},
           {"positions": "relative", "n_kv_heads": 2, "norm_placement": "post"},
           {"positions": "none", "attention_bias": False, "parallel_residual": True, "activation": "geglu"},
           {"kind": "encoder", "norm_placement": "post", "embedding_norm": True, "n_token_types": 2,
            "head_transform": True, "unembedding_bias": True}]
IDS = torch.tensor([1, 5, 3, 9, 2, 5])


@pytest.mark.parametrize("changes", CONFIGS, ids=str)
def test_relabelled_and_rebased_models_compute_the_same(changes: dict):
    model = small(**changes)
    before = {name: values.clone() for name, values in model.named_parameters()}
    double = symmetries.double_copy(model)
    kept = {name: values.clone() for name, values in double.named_parameters()}
    logits = double(IDS).logits
    order = torch.randperm(12, generator=torch.Generator().manual_seed(2))
    relabelled = symmetries.relabelled(double, order)
    trace = relabelled(IDS)
    torch.testing.assert_close(trace.logits, logits, rtol=0, atol=1e-12)
    torch.testing.assert_close(trace.resid_final, double(IDS).resid_final[:, order], rtol=0, atol=1e-12)
    assert not torch.equal(relabelled.blocks[0].W_Q, double.blocks[0].W_Q)
    A = symmetries.change_of_basis(0, model.config.d_k, 4.0)
    rebased = symmetries.with_change_of_basis(double, 1, 2, A)
    difference = float((rebased(IDS).logits - logits).abs().max())
    assert (difference < 1e-11 if model.config.positions != "rotary"
            else difference > 1e-6), "a rotation stands between A and its inverse"
    queries = symmetries.with_queries_as_keys(double, 0, 3)(IDS)
    scores = symmetries.scores_alone(queries.blocks[0], queries.config, 3)
    torch.testing.assert_close(scores, scores.T, rtol=0, atol=1e-12)
    own = double(IDS).blocks[0]
    # heads that shared their keys have one each now: a product of other shapes, so of other last digits
    torch.testing.assert_close(queries.blocks[0].pattern[:3], own.pattern[:3], rtol=0,
                               atol=1e-15 if "n_kv_heads" in changes else 0)
    assert (queries.logits - logits).abs().max() > 1e-9
    assert (all(torch.equal(values, before[name]) for name, values in model.named_parameters())
            and all(torch.equal(values, kept[name]) for name, values in double.named_parameters()))


def test_computed_positions_cannot_follow_a_relabelling():
    double = symmetries.double_copy(small(positions="sinusoidal"))
    assert (symmetries.relabelled(double, torch.arange(11, -1, -1))(IDS).logits - double(IDS).logits).abs().max() > 1e-3


def test_every_weight_that_touches_the_stream_is_relabelled():
    model = Transformer(ModelConfig.of(vocab_size=41, d_model=37, n_layers=1, n_heads=3, n_context=11, d_k=5,
                                    d_v=7, d_ff=13, activation="swiglu",
                                    tied_embeddings=False, n_classes=2, head_transform=True,
                                    embedding_norm=True, n_token_types=2, unembedding_bias=True, kind="encoder"))
    for name, values in model.named_parameters():
        assert (symmetries.WIDTH_AXES.get(name.rsplit(".", 1)[-1], ())
                == tuple(axis for axis, size in enumerate(values.shape) if size == 37)), name


def test_a_matrix_of_scores_is_its_two_parts():
    S = torch.randn(9, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 3
    parts = symmetries.split(S)
    torch.testing.assert_close(parts.symmetric + parts.antisymmetric + S.mean(), S)
    assert torch.equal(parts.symmetric, parts.symmetric.T) and torch.equal(parts.antisymmetric, -parts.antisymmetric.T)
    assert parts.share + float((parts.antisymmetric**2).sum() / (parts.centred**2).sum()) == pytest.approx(1)


@pytest.mark.parametrize("width, stretch", [(1, 1.0), (8, 1.0), (32, 10.0)])
def test_a_change_of_basis_stretches_as_asked(width: int, stretch: float):
    A = symmetries.change_of_basis(5, width, stretch)
    values = torch.linalg.svdvals(A)
    assert (float(values[0]) == pytest.approx(stretch)
            and float(values[0] / values[-1]) == pytest.approx(stretch**2 if width > 1 else 1))
    assert (torch.equal(A, symmetries.change_of_basis(5, width, stretch))
            and (width == 1 or not torch.equal(A, symmetries.change_of_basis(6, width, stretch))))


@pytest.mark.parametrize("n", [1, 12, 96, 256, 384])
def test_the_factorial_is_the_whole_number(n: int):
    mantissa, power = symmetries.scientific_factorial(n)
    digits = str(math.factorial(n))
    assert power + 1 == len(digits) and f"{mantissa:.6f}" == f"{float(digits[0] + '.' + (digits[1:12] or '0')):.6f}"


def test_the_head_is_the_loaded_models_and_the_effect_is_real():
    run = run_of(SENTENCE)
    found = roles_view.compared(run, "keys", 3, 5)
    own, alike = found.before, found.after
    block = run.trace.blocks[3]
    torch.testing.assert_close(own.scores.float(), block.scores[5], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(own.logits, run.trace.logits, rtol=1e-3, atol=1e-3)
    Q = own.Q
    torch.testing.assert_close(alike.scores, Q @ Q.T / math.sqrt(32), rtol=0, atol=1e-12)
    assert (found.difference == pytest.approx(roles_view.largest(own.logits, alike.logits), abs=1e-4)
            and found.difference > 0.01)


@pytest.mark.parametrize("part", PARTS)
def test_the_question_of_a_part_is_answered_anew(part: str):
    at = open_at(attention_view="roles", attention_roles_part=part, layer="3", head="5", prompt=SENTENCE)
    run = run_of(SENTENCE)
    x, block, n = run.trace.blocks[3].X.double(), run.model.blocks[3], len(run.token_ids)
    Q, K = (x @ W[5].double() + b[5].double() for W, b in ((block.W_Q, block.b_Q), (block.W_K, block.b_K)))
    A = symmetries.change_of_basis(0, 32, 3.0)
    moved = float(((Q @ torch.linalg.inv(A) - Q) @ K.T / math.sqrt(32)).abs().max())
    assert moved > 1                        # as the mean of two relabelled models moves logits
    options = [str(o) for o in at.radio(f"attention_roles_{part}_given").options]
    right = str(n * (n + 1) // 2) if part == "symmetric" else WORDS.label("roles_change_option_3")
    at.radio(f"attention_roles_{part}_given").set_value(options.index(right)).run()
    at.button(f"attention_roles_{part}_commit").click().run()
    assert fine(at) and any(m.value.startswith("Yes") for m in at.markdown)


def test_the_matrices_are_those_of_the_run_and_long_prompts_are_cut_for_the_eye():
    sent = given(open_at(attention_view="roles", attention_roles_part="relabel", prompt="word " * 300), "roles")
    shown = roles_view.SHOWN
    assert ([panel["rows"] for panel in sent["panels"]] == [shown] * 2 and len(sent["tokens"]) == shown
            and len(sent["m0"]) == shown * 256)
    order = np.random.default_rng(0).permutation(256)
    assert np.abs(sent["m1"].reshape(shown, 256) - sent["m0"].reshape(shown, 256)[:, order]).max() < 1e-9


@pytest.mark.parametrize("values", ["weights", "scores"])
def test_one_vector_for_both_is_shown_beside_the_head_as_it_is(values: str):
    at = open_at(attention_view="roles", prompt=SENTENCE, layer="3", head="5", attention_roles_values=values)
    run = run_of(SENTENCE)
    own, alike = [unpacked(c.proto.bytes) for c in at.get("bidi_component")
                  if c.proto.component_name == "attention_view"]
    block, weights, n = run.trace.blocks[3], run.model.blocks[3], len(run.token_ids)
    Q = block.X.double() @ weights.W_Q[5].double() + weights.b_Q[5].double()
    same = (Q @ Q.T / math.sqrt(32)).numpy()
    if values == "scores":
        shown = alike["values"].reshape(n, n)
        assert np.allclose(shown, shown.T, atol=1e-4) and np.allclose(shown, same - same.mean(), atol=1e-3)
        assert np.allclose(own["values"].reshape(n, n), block.scores[5] - block.scores[5].mean(), atol=1e-3)
    else:
        lower = np.tril(np.ones((n, n), bool))
        weights = torch.softmax(torch.tensor(np.where(lower, same, -np.inf)), -1).numpy()
        assert np.allclose(alike["values"], weights[lower], atol=1e-4)
        assert np.allclose(own["values"], block.pattern[5].numpy()[lower], atol=1e-5)


def test_every_experiment_leads_where_it_says():
    for experiment in WORDS.experiments:
        if experiment.settings["attention_view"] not in COMPONENT:
            continue
        at = open_at()
        at.button(f"do_attention_{experiment.id}").click().run()
        view = experiment.settings["attention_view"]
        shown = given(at, "roles symmetric" if experiment.id == "mirror" else view)
        assert fine(at) and at.session_state["attention_view_widget"] == view and shown, experiment.id
