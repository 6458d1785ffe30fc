"""The lesson Heads: the wall is given the Trace's own weights, the numbers hold on a calculator, the question has
the right answer.
"""
from __future__ import annotations

import copy
import functools
import math
import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.app.state.run import Run, read
from core.base import prose
from core.components import heads_wall as wall
from core.components.attention_view import payload
from core.components.lib import pattern as pattern_rows
from core.components.lib.bytes import pack
from core.figures import heads as figures
from core.figures.numbers import latex_number
from core.model.config import ModelConfig
from core.model.intervention import HeadEdit, Intervention
from core.model.transformer import Transformer
from pages.heads import below, route, shared, words
from pages.heads.panels import axis_end
from pages.heads.shared import MEASURES, NONE, Pair, Patterns
from tests.benchmarks import calls
from tests.helpers import lessons
from tests.helpers.javascript import evaluate
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas, given, unpacked
from tests.helpers.passes import assert_same
from tests.helpers.prompts import PROMPTS
from tests.pages.test_pages import opened


def run_of(at: AppTest) -> Run:
    return read(cache.shared_model(cache.model_names()[0], at.session_state["device"]), at.session_state["prompt"])


def stacked(run: Run, intervention: Intervention | None = None) -> np.ndarray:
    """Every pattern of a run, (L · h, N, N), straight from a forward pass of its own."""
    with torch.inference_mode():
        trace = run.model(torch.tensor(run.token_ids, device=run.model.device), intervention or Intervention())
    return np.concatenate([block.pattern.cpu().numpy() for block in trace.blocks])


open_at = functools.partial(lessons.open_at, "heads")


# ---- what is packed, by hand -----------------------------------------------------------------------------------------


def test_packed_arrays_come_back_and_stand_on_multiples_of_eight():
    arrays = {"a": np.array([1, 2, 3], np.uint8), "b": np.array([0.1, np.nan], np.float32), "c": np.array([0.1])}
    sent = pack({"word": "שלום"}, arrays)
    header = unpacked(sent)
    assert header["word"] == "שלום" and header["a"].tolist() == [1, 2, 3] and header["c"].tolist() == [0.1]
    assert header["b"][0] == np.float32(0.1) and math.isnan(header["b"][1])
    assert len(sent) % 8 == 0


def test_rows_keep_what_lies_between_the_first_and_the_last_allowed_key():
    allowed = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1]], bool)
    pattern = np.arange(9, dtype=np.float32).reshape(1, 3, 3)
    assert [v.tolist() for v in pattern_rows.row_ranges(allowed)] == [[0, 0, 1], [0, 1, 2]]
    assert pattern_rows.rows_of(pattern, allowed).tolist() == [[0, 3, 4, 7, 8]]


def test_a_hole_in_the_mask_is_no_zero():
    allowed = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1]], bool)
    packed = pattern_rows.rows_of(np.ones((1, 3, 3), np.float32), allowed)[0]
    assert np.isnan(packed).tolist() == [False, False, False, False, True, False]


def test_the_picture_of_a_long_prompt_takes_the_largest_weight_of_each_block():
    pattern = np.zeros((1, 5, 5), np.float32)
    pattern[0, 3, 2], pattern[0, 4, 4] = 0.25, 1.0
    tiles, seen = pattern_rows.picture(pattern, np.tril(np.ones((5, 5), bool)), step=2)
    assert tiles[0].tolist() == [[0, 0, 0], [0, 128, 0], [0, 0, 255]]        # 255 sqrt(0.25) = 127.5, rounded to even
    assert seen.tolist() == np.tril(np.ones((3, 3), bool)).tolist()


@pytest.mark.parametrize("n_heads, n", [(48, 48), (448, 15), (448, 16), (448, 64), (144, 256), (1024, 100)])
def test_the_wall_of_any_model_sends_no_more_than_that_of_48_heads(n_heads: int, n: int):
    lower = np.tril(np.ones((n, n), bool))
    patterns = np.broadcast_to(lower / lower.sum(1, keepdims=True), (n_heads, n, n)).astype(np.float32)
    fields, arrays = wall.wall_arrays(patterns, lower, [0])
    assert arrays["values"].nbytes <= (48 * 49 // 2 * 48 * 4 if fields["whole"] else 128 * 129 // 2 * 48)
    assert fields["whole"] == (n <= {48: 48, 448: 15, 144: 27, 1024: 10}[n_heads])
    assert fields["whole"] or arrays["exact_values"].tobytes() == patterns[0][lower].tobytes()


def test_a_wall_of_more_than_eight_layers_is_summed_up_by_a_map_and_by_how_many_heads_do_what():
    values = np.linspace(0.0, 1.0, 9 * 4).reshape(9, 4)
    measures = ({name: values if name in words.SHARES else 3 * values for name in MEASURES}
                | {"induction": np.full((9, 4), np.nan)})
    large, small = (Patterns(np.zeros(0), np.zeros(0), {name: one[:n] for name, one in measures.items()})
                    for n in (9, 8))
    said = prose.load("heads")
    assert words.summary(said, None, small, "entropy") is None
    assert words.summary(said, None, large, "entropy") == wall.HeadMap(
        [said.label(f"measure_{name}") for name in MEASURES], [1.0, 1.0, 1.0, 1.0, 3.0, 3.0],
        [True] * 4 + [False] * 2, "entropy", picks=True)
    assert words.title(said, None, large) == said.label("wall_large", n=36, previous_token=int((values >= 0.4).sum()),
                                                        first_token=0, induction=0, duplicate_token=0)
    assert words.title(said, None, small) == said.label("wall", n=32)


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_the_browser_writes_the_note_on_each_head_with_the_characters_of_python(kind: str):
    rng, names = np.random.default_rng(7), shared.IN_AN_ENCODER if kind == "encoder" else MEASURES
    note, shape = prose.load("heads").of_kind(kind).label("note"), (20, 16)
    values = [rng.random(shape), 10 ** rng.uniform(-9, 0, shape), 1 - 10 ** rng.uniform(-9, 0, shape),
              rng.integers(0, 65, shape) / 64, 10 ** rng.uniform(-1, 3, shape), np.full(shape, np.nan)]
    measures = {name: one.astype(np.float32) for name, one in zip(names, [*values, values[4], values[0]])}
    sent = unpacked(pack(*wall.Heads(np.ones((*shape, 1, 1), np.float32), np.ones((1, 1), bool), measures,
                                     note).message([0])))
    expected = [prose.filled(note, {name: shared.measured(float(value)) for name, value in zip(measures, each)})
                for each in zip(*(one.flat for one in measures.values()))]
    wall_in_browser = {"layers": 20, "heads": 16, "measured": sent["measured"], "note": sent["note"],
                       "measures": sent["measures"].tolist()}
    written = evaluate("core/components/heads_wall/tiles.js",
                       "Array.from({ length: 320 }, (_, head) => m.noteOf(wall, head))", wall=wall_in_browser)
    assert written == expected and len({*written}) == 320


def test_scores_of_the_opened_head_keep_their_sign():
    header = unpacked(payload(np.array([[-1.5, 9.0], [2.0, -0.25]]), np.tril(np.ones((2, 2), bool)), "", None,
                              {"signed": True}))
    assert header["values"].tolist() == [-1.5, 2.0, -0.25] and header["n"] == 2


# ---- figures on small arrays -----------------------------------------------------------------------------------------


def test_roles_name_the_largest_share_of_at_least_two_fifths():
    shares = {"previous_token": [[0.9, 0.3]], "first_token": [[0.05, 0.39]], "induction": [[np.nan, np.nan]],
              "duplicate_token": [[0.0, 0.1]]}
    assert figures.roles({name: np.array(value) for name, value in shares.items()}).tolist() == [["previous_token", ""]]


@pytest.mark.parametrize("largest, end", [(0.98, 1.0), (1.0, 1.0), (0.2, 0.3), (0.95, 1.0), (0.003, 0.004), (1.05, 2.0),
                                          (3.1, 4.0), (0.0, 1.0)])
def test_an_axis_ends_past_its_largest_value_and_that_of_shares_at_1(largest: float, end: float):
    assert axis_end(np.array([[0.0, largest], [np.nan, 0.0]])) == pytest.approx(end)


def test_scatter_has_a_point_a_head_and_rings_the_picked_one():
    table = figures.statistics_table({"previous_token": np.array([[0.9, 0.1]]), "induction": np.array([[0.2, np.nan]])})
    spec = figures.scatter(table, "previous_token", "induction", ("Across", "Upwards"), (1.0, 1.0), "0.0", "light",
                           1.0, 200).to_dict()
    data = next(iter(spec["datasets"].values()))
    assert data == [{"head": "0.0", "x": 0.9, "y": 0.2, "chosen": True, "label": "0.0"}]
    assert [layer["encoding"]["x"]["title"] for layer in spec["layer"]] == ["Across"] * 3
    assert any(param["name"] == "picked" and param["select"]["fields"] == ["head"] for param in spec["params"])


def test_before_and_after_keep_the_order_and_tell_tokens_apart_that_look_alike():
    spec = figures.before_after(["·a", "‹E2›", "·a"], np.array([0.5, 0.25, 0.125]), np.array([0.1, 0.6, 0.2]),
                                ("p", "b", "a"), "dark", 1.0, 200).to_dict()
    data = next(iter(spec["datasets"].values()))
    assert [row["token"] for row in data] == ["·a", "‹E2›", "·a\u200b"]
    assert [row["after"] for row in data] == [0.1, 0.6, 0.2] and spec["layer"][0]["encoding"]["y"]["sort"] is None


def test_candidates_are_the_likeliest_of_both_and_what_moved_most():
    before, after = np.array([0.5, 0.3, 0.1, 0.06, 0.04]), np.array([0.1, 0.2, 0.1, 0.06, 0.54])
    assert figures.candidates(before, after, [0], n=2).tolist() == [0, 4]
    assert figures.candidates(before, after, [2], n=3).tolist() == [0, 2, 4]
    assert figures.candidates(before, after, [0], n=99).tolist() == [0, 1, 2, 3, 4]


def test_shares_along_the_sum_add_up_to_one():
    parts = np.random.default_rng(0).normal(size=(9, 16))
    shares = figures.shares_of_sum(parts, parts.sum(0))
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert shares[3] == pytest.approx(parts[3] @ parts.sum(0) / np.linalg.norm(parts.sum(0)) ** 2)


# ---- the page --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_the_wall_is_given_the_weights_of_the_trace(prompt: str | None):
    at = opened("heads", prompt)
    assert fine(at)
    run, header = run_of(at), given(at, "heads_wall")
    patterns, n = stacked(run), len(run.token_ids)
    config = run.model.config
    assert (header["layers"], header["heads"], header["n"]) == (config.n_layers, config.n_heads, n)
    assert header["tokens"] == run.tokens
    lower = np.tril(np.ones((n, n), bool))
    if n <= wall.WHOLE_TOKENS:
        assert_same(header["values"], patterns[:, lower], run.model.device.type)
        return
    [shown] = header["exact_heads"]
    assert shown == header["selected"]
    assert_same(header["exact_values"], patterns[shown][lower], run.model.device.type)
    step = -(-n // wall.PICTURE_SIDE)
    side = header["side"]
    tiles = header["values"].reshape(len(patterns), -1)
    head, block_row, block_key = len(patterns) - 1, side - 1, side // 3
    block = patterns[head, block_row * step:(block_row + 1) * step, block_key * step:(block_key + 1) * step]
    at_cell = int((header["last"][:block_row].astype(int) + 1).sum()) + block_key
    assert tiles[head, at_cell] == round(255 * math.sqrt(block.max()))


def test_the_opened_head_is_the_selected_one_and_its_scores_are_those_of_the_trace():
    at = open_at(heads_panel="head", layer="2", head="5", position="4")
    run = run_of(at)
    n = len(run.token_ids)
    lower = np.tril(np.ones((n, n), bool))
    view = given(at, "attention_view")
    assert view["label"] == "2.5" and view["query"] == 4
    assert_same(view["values"], stacked(run)[2 * run.model.config.n_heads + 5][lower], run.model.device.type)
    assert view["key"] == int(stacked(run)[2 * run.model.config.n_heads + 5][4].argmax())
    at = open_at(heads_panel="head", layer="2", head="5", heads_values="scores", heads_key="1")
    scores = run.trace.blocks[2].scores[5].cpu().numpy()
    assert given(at, "attention_view")["values"].tobytes() == scores[lower].tobytes()
    assert given(at, "attention_view")["key"] == 1


def test_what_a_layer_writes_adds_up_to_attn_out():
    at = open_at(heads_panel="write", layer="1", position="3")
    run, sent = run_of(at), given(at, "heads_sum")
    rows = sent["written"].reshape(-1, sent["d"]).astype(np.float64)
    assert np.abs(rows[:-1].sum(0) - rows[-1]).max() < 1e-5 * np.abs(rows[-1]).max()
    assert rows[-1].astype(np.float32).tobytes() == run.trace.blocks[1].attn_out[3].cpu().numpy().tobytes()
    # the concatenated vector against W_O as one matrix
    z, block = torch.tensor(sent["outputs"].copy()), run.model.blocks[1]
    W_O, b_O = block.W_O.reshape(-1, sent["d"]).cpu(), block.b_O.cpu()
    assert torch.allclose(z @ W_O + b_O, torch.tensor(rows[-1], dtype=torch.float32), atol=1e-5)
    assert sent["shares"][:-1].sum() == pytest.approx(1.0, abs=1e-4)


def without_heads(model: Transformer, heads: list[tuple[int, int]]) -> Transformer:
    """The same model with the rows of W_O of some heads set to zero: nothing that they compute reaches the stream."""
    cut = copy.deepcopy(model)
    with torch.no_grad():
        for layer, head in heads:
            cut.blocks[layer].W_O[head] = 0.0
    return cut


def kl(before: torch.Tensor, after: torch.Tensor) -> float:
    p, q = torch.softmax(before.double(), -1), torch.softmax(after.double(), -1)
    return float((p * (p.log() - q.log())).sum())


def test_switching_heads_off_shows_the_divergence_and_the_changed_wall():
    at = open_at(heads_panel="change", heads_changed="0.1 2.*")
    run = run_of(at)
    heads = [(0, 1), *((2, head) for head in range(run.model.config.n_heads))]
    with torch.inference_mode():
        cut = without_heads(run.model, heads)(torch.tensor(run.token_ids, device=run.model.device))
    expected = kl(run.trace.logits[-1], cut.logits[-1])
    said = next(found for m in at.markdown if (found := re.search(r"KL divergence ([\d.e-]+\d)", m.value)))
    assert float(said[1]) == pytest.approx(expected, rel=6e-3, abs=1e-9)
    header = given(at, "heads_wall")
    assert [i for i, crossed in enumerate(header["crossed"]) if crossed] == [layer * run.model.config.n_heads + head
                                                                             for layer, head in heads]
    lower = np.tril(np.ones((len(run.token_ids),) * 2, bool))
    shown = header["values"].reshape(len(header["crossed"]), -1)
    patterns = np.concatenate([block.pattern.cpu().numpy() for block in cut.blocks])
    assert np.allclose(shown, patterns[:, lower], atol=1e-6)
    assert not np.array_equal(shown, stacked(run)[:, lower])


@pytest.mark.parametrize("action, edit", [("mean", {}), ("scale", {"factor": 2.0}), ("uniform", {})])
def test_every_action_is_the_intervention_of_its_name(action: str, edit: dict):
    at = open_at(heads_panel="change", heads_changed="1.3", heads_action=action, heads_factor="2.0")
    run = run_of(at)
    reference = run.token_ids if action == "mean" else ()
    lower = np.tril(np.ones((len(run.token_ids),) * 2, bool))
    expected = stacked(run, Intervention(heads=(HeadEdit(1, 3, action, **edit),), reference_ids=reference))
    assert_same(given(at, "heads_wall")["values"], expected[:, lower], run.model.device.type)


def test_the_factor_stands_on_the_wall_while_heads_are_scaled_and_asks_for_the_same_wall():
    at = open_at(heads_panel="change", heads_changed="0.*", heads_action="scale", heads_factor="2.0")
    wall = given(at, "heads_wall")
    hand = wall["hand"]
    assert (hand["low"], hand["value"], hand["high"], hand["path"]) == (-1.0, 2.0, 3.0, "/live/heads")
    answered = unpacked(route.answer(hand["question"] | {hand["name"]: 2.0, "exact_heads": [0]}))
    assert answered["values"].tobytes() == wall["values"].tobytes()
    assert answered["measures"].tobytes() == wall["measures"].tobytes()
    assert all(answered[words] == wall[words] for words in ("roles", "measured", "note", "badges", "crossed", "digest"))
    assert given(open_at(heads_panel="change", heads_changed="0.*", heads_action="zero"), "heads_wall")["hand"] is None


def test_a_new_prompt_asks_for_nothing_again_and_again():
    made, changes_of_file = calls.of_prompt("heads")
    assert made <= 4000 and changes_of_file <= 1100


def test_undo_and_all_on_bring_the_heads_back():
    at = open_at(heads_panel="change", heads_changed="1.3 1.4")
    at.button("heads_clear").click().run()        # redraws the wall alone; the whole page is asked for next
    assert at.session_state["heads_changed"] == NONE and not any(given(at, "heads_wall")["crossed"])
    at.run().button("heads_undo").click().run()
    assert at.session_state["heads_changed"] == "1.3 1.4" and sum(given(at, "heads_wall")["crossed"]) == 2


def test_names_that_are_no_heads_are_left_out():
    at = open_at(heads_panel="change", heads_changed="99.0 0.99 x.y 1.2 <b>")
    assert fine(at) and sum(given(at, "heads_wall")["crossed"]) == 1


def test_two_prompts_and_rollout_show_their_own_values():
    at = open_at(heads_panel="prompts", heads_other="Tom has a ball.", layer="1", head="2")
    run = run_of(at)
    views = [unpacked(c.proto.bytes) for c in at.get("bidi_component") if c.proto.component_name == "attention_view"]
    assert views[0]["tokens"] == run.tokens and views[1]["tokens"] == run.with_text("Tom has a ball.").tokens
    at = open_at(heads_panel="rollout", heads_block="1")
    view, n = given(at, "attention_view"), len(run.token_ids)
    first, second = (0.5 * block.pattern.double().mean(0).cpu().numpy() + 0.5 * np.eye(n)
                     for block in run.trace.blocks[:2])
    assert np.allclose(view["values"], (second @ first)[np.tril(np.ones((n, n), bool))], atol=1e-6)


# ---- in numbers, and the question ------------------------------------------------------------------------------------


def test_the_numbers_hold_on_a_calculator():
    at = open_at(layer="3", head="1", position="6", heads_key="2")
    lines = formulas(at)
    product = float(re.search(r"&= (-?[\d.]+) \\end", lines[0])[1])
    score = float(re.search(r"= (-?[\d.]+)\s*\$*$", lines[1])[1])
    assert score == pytest.approx(product / math.sqrt(run_of(at).model.config.d_k), abs=1.1e-6)
    own, total, weight = (float(number)
                          for number in re.search(r"\\frac\{([\d.]+)\}\{([\d.]+)\} = ([\d.]+)", lines[3]).groups())
    assert f"{own / total:.4f}" == f"{weight:.4f}"
    run = run_of(at)
    block = run.trace.blocks[3]
    weights = run.model.blocks[3]
    q = block.X[6].double() @ weights.W_Q[1].double() + weights.b_Q[1].double()
    k = block.X[2].double() @ weights.W_K[1].double() + weights.b_K[1].double()
    assert (product == pytest.approx(float(q @ k), abs=2e-5)
            and weight == pytest.approx(float(block.pattern[1, 6, 2]), abs=5.1e-5))


def test_a_masked_key_is_said_to_be_masked():
    lines = formulas(open_at(position="1", heads_key="3"))
    assert r"-\infty" in lines[2] and len(lines) == 3


def test_grouped_heads_read_the_key_that_they_share():
    config = ModelConfig(vocab_size=11, d_model=8, n_layers=1, n_heads=4, n_kv_heads=2, n_context=8, positions="rotary")
    model = Transformer(config).initialise(torch.Generator().manual_seed(1)).eval().requires_grad_(False)
    run = Run(cache.LoadedModel("grouped", "cpu", model, model, None), "", (0, 3, 5, 7), ["a", "b", "c", "d"], 0)
    pair = Pair(0, 3, 2, 1)
    q, k = below.factors(run, pair, below.steps_of(run, pair))
    assert q @ k / math.sqrt(2) == pytest.approx(float(run.trace.blocks[0].scores[3, 2, 1]), abs=1e-6)


@pytest.mark.parametrize("model, product", [("scores-multiplicative", r"q_{5} W_S \cdot k_{3}"),
                                            ("scores-additive", r"v \cdot \tanh(q_{5} + k_{3})"),
                                            ("stories-small", r"q'_{5} \cdot k'_{3}")])
def test_the_numbers_follow_the_models_own_score_function(model: str, product: str):
    run = read(cache.shared_model(model, "cpu"), "The cat sat on the mat")
    pair = Pair(1, 2, 5, 3)
    block = run.trace.blocks[pair.layer]
    steps = below.steps_of(run, pair)
    np.testing.assert_allclose(steps.scores, block.scores[pair.head, pair.query].double(), atol=1e-5)
    np.testing.assert_allclose(steps.weights, block.pattern[pair.head, pair.query].double(), atol=1e-6)
    terms = below.products_table(run, pair)
    assert (terms.iloc[:, 3].sum() == pytest.approx(float(steps.products[pair.key]))
            and list(terms.columns[1:3]) == list(below.COLUMNS[run.model.config.score]))
    shown = formulas(open_at(model=model, prompt="The cat sat on the mat", layer="1", head="2",
                             position="5", heads_key="3"))
    assert shown[0].startswith(rf"\begin{{aligned}} {product} &= ")
    assert shown[-1].endswith(f"= {latex_number(float(block.pattern[2, 5, 3]))}")


@pytest.mark.parametrize("prompt", [None, "a", "Mia likes apples. Tom likes pears. Mia likes"])
def test_the_right_answer_is_the_head_whose_loss_changes_the_prediction_most(prompt: str | None):
    at = opened("heads", prompt)
    run = run_of(at)
    question = next(radio for radio in at.radio if radio.key == "heads_knockout_given")
    names = list(question.options)
    divergences = []
    for name in names:
        layer, head = map(int, name.split("."))
        with torch.inference_mode():
            cut = without_heads(run.model, [(layer, head)])(torch.tensor(run.token_ids, device=run.model.device))
        divergences.append(kl(run.trace.logits[-1], cut.logits[-1]))
    right = int(np.argmax(divergences))
    question.set_value(right).run()
    at.button("heads_knockout_commit").click().run()
    assert any(m.value.startswith("Yes") and names[right] in m.value for m in at.markdown)


def test_a_link_says_what_is_on_the_page():
    at = open_at(heads_panel="change", heads_changed=NONE)
    at.text_input("heads_changed_widget").set_value("0.1 0.2").run()
    # the wall is drawn first; the address follows with the panel, which the browser asks for
    at.run()
    assert at.query_params["heads_changed"] == "0.1 0.2" and at.query_params["heads_panel"] == "change"
    again = open_at(heads_panel="change", heads_changed="0.1 0.2")
    assert given(again, "heads_wall")["values"].tobytes() == given(at, "heads_wall")["values"].tobytes()


def test_every_experiment_leads_to_the_panel_that_it_names():
    for experiment in prose.load("heads").experiments:
        at = opened("heads", None)
        at.button(f"do_heads_{experiment.id}").click().run()
        assert fine(at) and at.session_state["heads_panel_widget"] == experiment.settings["heads_panel"], experiment.id
        if wanted := experiment.settings.get("heads_changed"):
            assert any(given(at, "heads_wall")["crossed"]) and at.session_state["heads_changed"] == wanted
