"""The lesson Positions: hand-worked numbers, the identities it teaches, its questions answered a second way, its
state in the URL.
"""
from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.app.state.lesson_settings import Setting
from core.app.state.run import Run, read
from core.base import prose
from core.figures import positions as figures
from core.figures.numbers import readable
from core.model import positional
from core.model.config import POSITIONS, ModelConfig
from core.model.intervention import Intervention
from core.model.transformer import Transformer
from pages.positions import biases, rotary, symmetry, waves
from tests.helpers import lessons, messages, predictions
from tests.helpers.messages import formulas, unpacked

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
# settings that no range shows: the table is bent by its own, a mode and a case are buttons of other names
WITHOUT_WORDS = {"r", "mode", "case"}
VIEWS = ("waves", "learned", "rotary", "biases", "concat", "symmetry", "beyond")


def opened(view: str = "waves", prompt: str | None = None, **query: str) -> AppTest:
    return lessons.open_at("positions", positions_view=view, prompt=prompt, **query)


def component(at: AppTest, key: str):
    """The message to the component whose key ends in `key`: header and arrays."""
    for element in at.get("bidi_component"):
        if key in element.proto.id:
            return unpacked(element.proto.bytes)
    raise AssertionError(f"no component {key}")


# The notes' formula, by hand.

def test_sinusoids_by_hand():
    P = positional.sinusoidal(3, 4).numpy()
    assert P[0].tolist() == [0, 1, 0, 1]
    # pair 0 turns by 1 a position, pair 1 by 10000^(−2/4) = 0.01
    np.testing.assert_allclose(P[2], [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)], rtol=0, atol=1e-15)


def test_dot_products_are_sums_of_cosines_of_the_distance():
    for n, d, base in ((40, 6, 10_000.0), (128, 64, 10_000.0), (64, 2, 1.0), (32, 30, 37.0)):
        P, omegas = positional.sinusoidal(n, d, base).numpy(), positional.frequencies(d, base).numpy()
        for i, j in ((0, 0), (3, 17), (n - 1, 2)):
            assert P[i] @ P[j] == pytest.approx(sum(math.cos((i - j) * w) for w in omegas), abs=1e-12)
        assert waves.residual(P, omegas) < 1e-11
        P[1, 0] += 1e-3
        assert waves.residual(P, omegas) > 1e-5   # the residual does see a wrong entry


def test_a_step_is_one_rotation_wherever_it_starts():
    P, omega = positional.sinusoidal(50, 8).numpy(), positional.frequencies(8).numpy()[1]
    turn = 7 * omega
    R = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    for i in (0, 11, 42):
        np.testing.assert_allclose(P[i, 2:4] @ R, P[i + 7, 2:4], atol=1e-14)


def test_rotary_score_depends_on_the_distance_alone():
    q, k = np.random.default_rng(0).normal(size=(2, 32))
    assert rotary.score(q, k, 12, 5, 1e4) == pytest.approx(rotary.score(q, k, 1012, 1005, 1e4), abs=1e-10)
    assert rotary.score(q, k, 9, 9, 1e4) == pytest.approx(q @ k, abs=1e-12)
    assert abs(rotary.score(q, k, 12, 5, 1e4) - rotary.score(q, k, 12, 6, 1e4)) > 1e-3


def test_rotary_score_by_hand():
    # one pair, turned by a right angle more: (1, 0) at i = 1 against (1, 0) at j = 0 is cos 1
    assert rotary.score(np.array([1.0, 0.0]), np.array([1.0, 0.0]), 1, 0, 1e4) == pytest.approx(math.cos(1), abs=1e-15)


def test_attention_of_a_bias_by_hand():
    bias = np.log(np.array([[1, 1, 1], [1, 3, 1], [1, 2, 5]]))
    np.testing.assert_allclose(figures.softmax_of_bias(bias, 1), [0.25, 0.75])
    np.testing.assert_allclose(figures.softmax_of_bias(bias, 2), [1 / 8, 2 / 8, 5 / 8])


def test_concatenating_is_adding_two_projections():
    x, p = np.array([1.0, 2.0]), np.array([3.0])
    whole, parts = figures.concatenated(x, p, np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[10.0, 100.0]]))
    assert whole.tolist() == parts.tolist() == [31.0, 302.0]


def test_open_pairs_by_hand():
    # wavelengths 2π, 20π, 200π: within 63 positions the second has turned once (62.8), the third has not
    assert figures.open_pairs(np.array([1, 0.1, 0.01]), 63).tolist() == [False, False, True]
    assert figures.open_pairs(np.array([1, 0.1, 0.01]), 62).tolist() == [False, True, True]


def test_geometry_by_hand():
    found = figures.geometry(np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
    assert found.lengths.tolist() == [3, 4, 0]
    assert found.cosines.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    np.testing.assert_allclose(found.spectrum, [16 / 25, 9 / 25])
    assert found.rank == 2


def test_turning_onto_the_axes_keeps_every_dot_product():
    P = np.random.default_rng(1).normal(size=(20, 8))
    turned = figures.geometry(P).turned
    np.testing.assert_allclose(turned @ turned.T, P @ P.T, atol=1e-12)
    assert (np.diff((turned**2).sum(axis=0)) <= 1e-9).all()   # the strongest axis first


# The symmetry of the core.

@pytest.fixture(scope="module")
def small_model() -> Transformer:
    model = Transformer(ModelConfig(vocab_size=50, d_model=24, n_layers=3, n_heads=4, n_context=16))
    model.initialise(torch.Generator().manual_seed(3))
    return model.double().eval().requires_grad_(False)


@pytest.mark.parametrize("case, follows", [("none", True), ("mask", False), ("positions", False), ("both", False)])
def test_permutation_symmetry(small_model, case, follows):
    ids, order = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6]), (5, 2, 7, 0, 3, 1, 6, 4)
    switches = symmetry.SWITCHES[case]
    before = small_model(ids, Intervention(**switches)).h_final
    after = small_model(ids, Intervention(permutation=order, **switches)).h_final
    difference = float((after - before[list(order)]).abs().max())
    assert (difference < 1e-12) if follows else (difference > 1e-3)


@pytest.mark.parametrize("order, expected", [("reverse", (4, 3, 2, 1, 0)), ("swap", (0, 3, 2, 1, 4))])
def test_orders_by_hand(order, expected):
    assert symmetry.reordered(order, 5, 1, 3, 0) == expected


def test_a_shuffle_is_its_seed_and_nothing_else():
    assert (symmetry.reordered("shuffle", 30, 0, 0, 7) == symmetry.reordered("shuffle", 30, 0, 0, 7)
            != symmetry.reordered("shuffle", 30, 0, 0, 8))
    assert symmetry.reordered("swap", 2, 5, 9, 0) == (0, 1)   # places past the end are the last one


# The page.

@pytest.mark.parametrize("prompt", [None, "", "a", "The dog ran to the park and saw a bird. " * 40, "I ❤️ 🐶!",
                                    "שלום עולם مرحبا", "<script>alert(1)</script> <b>$x$ `c`"],
                         ids=["default", "empty", "one token", "256 tokens", "emoji", "right to left", "HTML"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_picture_takes_every_prompt(view, prompt):
    at = opened(view, prompt)
    assert not at.exception and not at.error, [e.value for e in (*at.exception, *at.error)]
    sent = component(at, f"positions_{view}_instrument")
    # a range, a choice: what has no words would stand there as "undefined"
    assert all(sent["labels"].get(name) for name in sent["settings"] if name not in WITHOUT_WORDS)
    assert formulas(at), "the numbers are missing"


def test_waves_get_the_settings_of_the_link():
    at = opened("waves", positions_waves_n="200", positions_waves_d="9", positions_waves_pair="300",
                positions_waves_base="nonsense")
    settings = component(at, "positions_waves_instrument")["settings"]
    assert settings == {"n": 200, "d": 8, "base": 10_000.0, "pair": 3, "i": 40, "j": 52}


def test_the_numbers_of_the_default_waves():
    at = opened()
    shown = "\n".join(formulas(at))
    omega, angle = 10_000 ** (-16 / 64), 4.0
    assert (f"= {omega:.4f}" in shown and f"= {math.sin(angle):.4f}" in shown and f"= {math.cos(angle):.4f}" in shown
            and f"= {2 * math.pi / omega:.4f}" in shown)
    assert f"{sum(math.cos(12 * 10_000 ** (-k / 32)) for k in range(32)):.4f}" in shown


def words(at: AppTest) -> list[str]:
    return [option for radio in at.radio for option in radio.options]


def check(at: AppTest, key: str) -> str:
    """Commit to the first option and read what the page then says."""
    at.radio(key=f"positions_{key}_given").set_value(0).run()
    at.button(key=f"positions_{key}_commit").click().run()
    return "\n".join(item.value for item in at.markdown)


def test_the_waves_question_against_plain_arithmetic():
    at = opened()
    options = words(at)

    def product(option: str) -> float:
        a, b = (int(part.strip()[1:]) for part in option.split("·"))
        return sum(math.sin(a * w) * math.sin(b * w) + math.cos(a * w) * math.cos(b * w)
                   for w in (10_000 ** (-k / 32) for k in range(32)))

    target = product("P40 · P52")
    right = [option for option in options if abs(product(option) - target) < 1e-9]
    assert len(right) == 1 and right[0] in check(at, "waves")


def test_the_rotary_question_against_plain_arithmetic():
    at = opened("rotary")
    wavelength = 2 * math.pi * 10_000 ** (30 / 32)
    right = f"{wavelength:,.1f}"
    assert right in words(at) and right in check(at, "rotary")


def test_the_biases_question_against_plain_arithmetic():
    at = opened("biases")
    asked = next(m.value for m in at.markdown if "half the weight of the nearest" in m.value)
    back = float(re.search(r"key ([\d.]+) positions back", asked)[1])
    halves = [math.log(2) * 2 ** (head + 1) for head in range(8)]      # head h of 8 has slope 2^-(h + 1)
    right = min(range(8), key=lambda head: abs(halves[head] - back))
    lessons.answer(at, "biases", words(at).index(f"Head {right}"))


def test_the_symmetry_question_against_a_second_run():
    at = opened("symmetry", "The cat sat on the mat and saw the dog.")
    model = at.session_state["model"]
    loaded = cache.shared_model(model, "cpu")
    run = read(loaded, "The cat sat on the mat and saw the dog.")
    ids = torch.tensor(run.token_ids)
    n, a = len(ids), len(ids) // 2
    swapped = ids.clone()
    swapped[[a, a + 1]] = ids[[a + 1, a]]
    plain, changed = (loaded.model(x, Intervention(positions="none")).h_final for x in (ids, swapped))
    still = sum(bool((plain[t] - changed[t]).abs().max() < 1e-4 * plain.abs().max()) for t in range(n)
                if t not in (a, a + 1))
    assert still == a and str(still) in words(at) and f"So {still} stay" in check(at, "symmetry")


def test_the_beyond_question_against_plain_arithmetic():
    at = opened("beyond")
    right = sum(2 * math.pi * 10_000 ** (k / 32) > 512 for k in range(32))
    assert str(right) in words(at) and f"{right}" in check(at, "beyond")


def test_a_bent_table_in_a_link_is_refused():
    assert biases.checked_table("1,2") == biases.checked_table("a,b") == biases.SETTINGS["r"].default
    good = ",".join(["0.5"] * 33)
    assert biases.checked_table(good) == good
    assert biases.checked_table(good.replace("0.5", "inf", 1)) == biases.SETTINGS["r"].default


@pytest.mark.parametrize("setting, written, value", [
    (Setting(8, 0, 10), "12", 10), (Setting(8, 0, 10), "x", None), (Setting(8, 0, 10), "nan", None),
    (Setting(1.5, 0, 2), "1e400", 2.0), (Setting("a", options=("a", "b")), "c", None), (Setting(False), "true", True),
    (Setting(False), "7", None), (Setting(8, 0, 10), 3.0, 3),
])
def test_settings_take_what_makes_sense(setting, written, value):
    assert setting.accept(written) == value


# ---- measured --------------------------------------------------------------------------------------------------------


def losses(scheme: str, beyond: bool) -> list[tuple[float, int]]:
    """(nats, tokens) of the stretches beyond the 128 positions of training, or inside them, straight from the file."""
    stretches = json.loads((ROOT / "assets" / "models" / f"positions-{scheme}" / "lengths.json").read_text())
    return [(s["nats_per_token"], s["n"]) for s in stretches if (s["first"] >= 128) == beyond]


def mean_of(pairs: list[tuple[float, int]]) -> float:
    return float(np.average([nats for nats, _ in pairs], weights=[n for _, n in pairs]))


@pytest.mark.parametrize("scheme", [scheme for scheme in POSITIONS if scheme != "learned"])
def test_the_measured_losses_are_those_of_the_bundled_models(scheme):
    at = opened("measured", positions_measured_scheme=scheme)
    assert not at.exception and not at.error
    inside, beyond = (mean_of(losses(scheme, side)) for side in (False, True))
    title = next(m.value for m in at.markdown if "nats a token inside" in m.value)
    assert (f"{inside:.4f}" in title and f"{beyond:.4f}" in title
            and f"{round(beyond, 4) - round(inside, 4):+.4f}".replace("-", "−") in title)
    assert f"= {round(beyond, 4) - round(inside, 4):.4f}" in formulas(at)[1]
    assert f"{math.exp(inside):.4f}" in formulas(at)[0]


def test_what_the_mask_alone_is_worth():
    """The open question of breaking the symmetry: 0.26 nats behind rotary, 0.60 before sine waves."""
    inside = {scheme: mean_of(losses(scheme, False)) for scheme in POSITIONS}
    at = opened("measured", positions_measured_scheme="none")
    [said] = [m.value for m in at.markdown if "by the mask alone" in m.value]
    assert (f"{inside['none'] - min(inside.values()):.2f} nats above the best, Rotary" in said
            and f"{max(inside.values()) - inside['none']:.2f} nats below Sinusoidal" in said)
    assert not any("by the mask alone" in m.value for m in opened("measured").markdown)


def test_learned_positions_have_nothing_beyond():
    at = opened("measured", positions_measured_scheme="learned")
    assert (losses("learned", True) == [] and any("Beyond there is no position" in m.value for m in at.markdown)
            and len(formulas(at)) == 1)


def test_the_measured_question_is_a_ratio_of_perplexities():
    at = opened("measured")
    a, b = (math.exp(mean_of(losses(scheme, True))) for scheme in ("rotary", "alibi"))
    lessons.answer(at, "measured", words(at).index(f"{a / b:.2f} times"))


def test_the_axis_of_losses_leaves_out_the_worst_scheme_unless_it_is_picked():
    table = pd.DataFrame({"scheme": ["a", "a", "b", "c"], "nats": [1.0, 2.0, 3.0, 90.0]})
    assert (figures.loss_range(table, "a") == pytest.approx((1 - 0.16, 3 + 0.32))
            and figures.loss_range(table, "c")[1] > 90)


# ---- before you look -------------------------------------------------------------------------------------------------

def run_of(prompt: str, model: str) -> Run:
    return read(cache.shared_model(model, "cpu"), prompt)


def largest_changes(run: Run, order: list[int], **switches) -> torch.Tensor:
    """(N,) the largest change of each token's output when the ids themselves come in another order."""
    ids = torch.tensor(run.token_ids)
    with torch.no_grad():
        plain, moved = (run.model(x, Intervention(**switches)).h_final for x in (ids, ids[order]))
    return (moved - plain[order]).abs().amax(-1)


@pytest.mark.parametrize(("prompt", "model", "seen"), [
    ("The cat sat on the mat.", "stories", "In one of"), ("Tom saw a red ball", "positions-none", "In two of")])
def test_the_outputs_that_follow_their_tokens_are_counted_by_another_way(prompt: str, model: str, seen: str):
    run = run_of(prompt, model)
    order = list(reversed(range(len(run.token_ids))))
    same = int((largest_changes(run, order, positions="none", mask="bidirectional") < 1e-3).sum())
    told = predictions.told("positions", "symmetry", 0, prompt=prompt, model=model)
    assert told["answer"] == 0 and same == len(order) and told["said"] == f"{same} of {same}"
    assert told["statements"][told["seen"]].startswith(seen)
    # under the mask alone the answer would be another one
    assert (largest_changes(run, order, positions="none") > 1e-3).any()


def test_nothing_is_asked_of_an_order_that_moves_no_token():
    at = opened("symmetry", "Tom saw", positions_order="swap", positions_first="3", positions_second="3", ask="true")
    assert predictions.modes(at) <= {"switch"}


def test_the_numbers_are_those_of_the_picked_case():
    at = opened("symmetry", "Tom saw a red ball.", positions_symmetry_case="mask")
    run = run_of("Tom saw a red ball.", "stories")
    change = float(largest_changes(run, list(reversed(range(len(run.token_ids)))), positions="none").max())
    assert f"= {change:.3f}" in formulas(at)[2]


@pytest.mark.parametrize(("settings", "n", "d", "base", "shape", "seen"), [
    ({}, 128, 64, 1e4, "wavers", "The upper rows"), ({"d": "8", "base": "5"}, 128, 8, 5.0, "wavers", "Every row"),
    ({"n": "200", "d": "16", "base": "1000"}, 200, 16, 1000.0, "wavers", "More than half"),
    ({"n": "4"}, 4, 64, 1e4, "falls", "The upper rows"), ({"base": "1"}, 128, 64, 1.0, "returns", "Every row")])
def test_what_the_dot_product_does_is_seen_in_the_rows_of_the_matrix(settings: dict, n: int, d: int, base: float,
                                                                     shape: str, seen: str):
    turned = sum(2 * math.pi * base ** (2 * pair / d) <= n for pair in range(d // 2))
    angles = [[i * base ** (-2 * pair / d) for pair in range(d // 2)] for i in range(n)]
    products = [sum(math.sin(a) * math.sin(b) + math.cos(a) * math.cos(b) for a, b in zip(angles[0], row))
                for row in angles]
    rises = [i for i in range(1, n) if products[i] > products[i - 1]]
    found = ("falls" if not rises else
             "returns" if max(products[rises[0]:]) > 0.99 * products[0] else "wavers")
    told = predictions.told("positions", "waves", 0, **{f"positions_waves_{name}": value
                                                        for name, value in settings.items()})
    assert told["guess"]["texts"][told["answer"]] == prose.load("positions").label(f"before_waves_{shape}")
    assert found == shape and told["statements"][told["seen"]].startswith(seen)
    assert f": {turned} of the {d // 2} hands turn" in told["reason"]
    assert f"distance {int(np.argmin(products))}." in told["reason"]


@pytest.mark.parametrize(("heads", "head", "seen"), [(8, 2, "In every row the weights fade"),
                                                     (8, 7, "The weights in every row are nearly")])
def test_weights_fall_by_the_same_factor_where_scores_fall_by_the_same_amount(heads: int, head: int, seen: str):
    told = predictions.told("positions", "biases", 0, positions_biases_heads=str(heads),
                            positions_biases_head=str(head))
    scores = -2.0 ** (-8 * (head + 1) / heads) * torch.arange(24, dtype=torch.float64)
    weights = torch.softmax(scores, 0)
    assert torch.allclose(weights[1:] / weights[:-1], weights[1] / weights[0]) and weights[1] < weights[0]
    assert told["guess"]["texts"][told["answer"]].startswith("By the same factor")
    assert told["said"] == f"× {readable(float(weights[1] / weights[0]))}"
    assert told["statements"][told["seen"]].startswith(seen)


@pytest.mark.parametrize("model", ["stories", "stories-small"])
def test_word_and_position_are_mixed_in_every_result_and_adding_is_a_special_case(model: str):
    told = predictions.told("positions", "concat", 1, prompt="Tom saw", model=model, position="1")
    assert told["guess"]["texts"][told["answer"]] == "All of them" and told["said"] == "3 of 3"
    assert told["statements"][told["seen"]].startswith("Every result is a part from x plus")
    for mode, same in (("concatenate", False), ("add", True)):
        at = opened("concat", "Tom saw", model=model, position="1", positions_concat_mode=mode, positions_concat_i="3")
        run, sent = run_of("Tom saw", model), component(at, "positions_concat_instrument")
        W_X = run.model.blocks[0].W_Q[0][:4, :3].double().numpy()
        x, p = run.trace.embedding[1][:4].double().numpy(), np.array([math.sin(3), math.cos(3)])
        np.testing.assert_allclose(np.ravel(sent["W_X"]), W_X.ravel(), rtol=1e-6)
        np.testing.assert_allclose(np.ravel(sent["x"]), x, rtol=1e-6)
        W_P = W_X[:2] if same else np.reshape(sent["W_P"], (2, 3))
        apart = np.abs(np.concatenate([x, p]) @ np.concatenate([W_X, W_P]) - (x + [*p, 0, 0]) @ W_X).max()
        assert (apart < 1e-12) == same and (f"= {apart:.4f}" in formulas(at)[3]) != same


def test_the_question_of_concatenating_is_a_product():
    lessons.answer(opened("concat"), "concat", sorted([256 + 64, 64 * 32, 256 * 32, 64]).index(64 * 32))


@pytest.mark.parametrize(("prompt", "model", "head"), [("Tom saw a red ball.", "stories", "0"),
                                                       ("The cat sat on the mat.", "stories-small", "2")])
def test_the_score_of_two_words_that_move_on_is_found_with_complex_numbers(prompt: str, model: str, head: str):
    run = run_of(prompt, model)
    q, k = rotary.query_and_key(run, 0, int(head), len(run.tokens) - 1)
    half = len(q) // 2
    q, k = (x[:half] + 1j * x[half:] for x in (q, k))
    omega = 10_000 ** (-np.arange(half) / half)
    scores = [(q * np.exp(1j * t * omega) * k.conj()).sum().real for t in range(-128, 129)]
    here, there = ((q * np.exp(1j * (12 + moved) * omega) * (k * np.exp(1j * (5 + moved) * omega)).conj()).sum().real
                   for moved in (0, 100))
    told = predictions.told("positions", "rotary", 1, prompt=prompt, model=model, layer="0", head=head)
    best = int(np.argmax(scores)) - 128
    assert here == pytest.approx(there, abs=1e-8) and told["guess"]["texts"][told["answer"]].startswith("The same")
    assert f"score is {readable(here)}, at 112 and 105 it is {readable(there)}:" in told["reason"]
    assert told["statements"][told["seen"]].startswith("The highest point of the curve is "
                                                       + ("at most" if abs(best) <= 4 else "more than"))


@pytest.mark.parametrize(("model", "i", "answer"), [
    ("stories", "40", "Nearly the same"), ("positions-learned", "9", "Somewhat alike")])
def test_neighbouring_positions_are_as_alike_as_their_rows(model: str, i: str, answer: str):
    told = predictions.told("positions", "learned", 0, model=model, positions_learned_i=i)
    P = run_of("a", model).model.P.detach().double()
    cosine = torch.nn.functional.cosine_similarity
    near = float(cosine(P[int(i)], P[int(i) + 1], 0))
    assert told["guess"]["texts"][told["answer"]].startswith(answer) and told["said"] == readable(near)
    assert answer == ("Nearly the same" if near > 0.9 else "Somewhat alike" if near > 0.1 else "less")
    row = cosine(P[int(i)], P, 1)
    is_hill = float(row[int(i) + 1]) > 0.5 > float(row.min()) + 0.1
    assert told["statements"][told["seen"]].split(": ")[0].endswith("a hill" if is_hill else "a needle")


def test_the_directions_that_hold_nine_tenths_are_the_eigenvectors_of_the_largest_eigenvalues():
    P = run_of("a", "stories").model.P.detach().double()
    shares = torch.linalg.eigvalsh(P.T @ P).flip(0)
    count = int((shares.cumsum(0) / shares.sum() < 0.9).sum()) + 1
    at = opened("learned")
    lessons.answer(at, "learned", words(at).index(str(count)))


def test_a_token_and_its_place_are_the_first_rows_that_are_added():
    there = run_of("The cat sat", "stories")
    sent = messages.given(opened("learned", prompt="The cat sat"), "position_learned")
    at = len(there.token_ids) - 1
    assert (sent["token"], sent["settings"]["i"]) == (at, at) and sent["tokens"] == list(there.tokens)
    d = sent["d"]
    E, P = (sent[name].reshape(-1, d) for name in ("E", "learned"))
    assert np.array_equal(E, there.model.E[list(there.token_ids)].detach().numpy())
    assert E[at] + P[at] == pytest.approx(there.trace.blocks[0].resid_pre[at].numpy(), abs=1e-6)
    elsewhere = messages.given(opened("learned", prompt="The cat sat", position="1", positions_learned_i="200"),
                               "position_learned")
    assert (elsewhere["token"], elsewhere["settings"]["i"]) == (1, 200)


def test_a_model_without_learned_positions_is_not_asked_about_them():
    at = opened("learned", model="stories-small", ask="true")
    assert predictions.modes(at) <= {"switch"}


@pytest.mark.parametrize(("base", "hatched"), [("10000", "Two"), ("2", "One")])
def test_only_a_shared_table_meets_nothing_new(base: str, hatched: str):
    told = predictions.told("positions", "beyond", 0, positions_beyond_base=base, positions_beyond_trained="64",
                            positions_beyond_clip="32")
    trained, read = range(64), range(64, 1024)
    meets = [lambda i: i, lambda i: -0.5 * i, lambda i: min(i, 32)]      # a row of its own, a bias, a shared entry
    new = [bool({of(i) for i in read} - {of(i) for i in trained}) for of in meets]
    assert new == [True, True, False] and told["answer"] == 3
    slowest = float(base) ** (-62 / 64)
    assert told["statements"][told["seen"]].startswith("Two" if 64 * slowest < 2 * math.pi else "One")
    assert told["statements"][told["seen"]].startswith(hatched)


def test_nothing_is_asked_where_no_position_is_beyond():
    at = opened("beyond", ask="true", positions_beyond_trained="500", positions_beyond_read="300")
    assert predictions.modes(at) <= {"switch"}


def test_the_worst_of_the_six_is_so_in_the_files():
    inside = [mean_of(losses(scheme, False)) for scheme in POSITIONS]
    told = predictions.told("positions", "measured", 0)
    assert told["said"] == "Sinusoidal" and POSITIONS[int(np.argmax(inside))] == "sinusoidal"
    assert told["guess"]["texts"][told["answer"]].startswith("One whose vectors")
    assert f"loss of {max(inside):.2f} nats" in told["reason"]
    assert told["statements"][told["seen"]].startswith("One line ends")
    assert [scheme for scheme in POSITIONS if not losses(scheme, True)] == ["learned"]
