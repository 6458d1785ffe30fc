"""The lesson "Residual stream" through AppTest: every view with every kind of prompt, what the pictures are given, and
each question's answer computed a second time, from the weights.
"""
from __future__ import annotations

import copy
import functools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.app.lesson.lesson import Lesson
from core.base import prose
from core.components.lib.bytes import pack
from core.figures import residual_stream as figures
from core.figures.lines import Look
from core.figures.numbers import plain_number
from core.model.transformer import Transformer
from pages.residual_stream import charts as vector_figures
from pages.residual_stream import contributions
from tests.helpers import lessons
from tests.helpers.messages import formulas, numbers_in, unpacked, value_of
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

VIEWS = {
    "norms": {"view": "norms"}, "norms, moved": {"view": "norms", "measure": "change"},
    "norms, turned": {"view": "norms", "measure": "turn"},
    "norms, logarithmic": {"view": "norms", "measure": "mlp", "log": "true"},
    "lens": {}, "lens, whole": {"view": "lens", "depth": "-1"},
    "contributions": {"view": "contributions"},
    "contributions, by size": {"view": "contributions", "detail": "sublayers", "order": "size"},
    "norm": {"view": "norm", "norm_where": "mlp"}, "batch": {"view": "norm", "norm_view": "batch"},
    "placement": {"view": "placement"},
    "block": {"view": "block"}, "block, exchanged": {"view": "block", "exchange": "attention", "beside": "0"},
    "block, the other order": {"view": "block", "exchange": "mlp", "block_order": "post"},
    "patching": {"view": "patching"}, "patching, heads": {"view": "patching", "patch_what": "heads"},
    "mlp": {"view": "mlp"}, "cut": {"view": "cut"},
    "cut, length": {"view": "cut", "cut_measure": "length"},
}
WORDS, FRAME = prose.load("residual_stream"), prose.load("app")


opened = functools.partial(lessons.opened, "residual_stream")


def component(at: AppTest, name: str) -> tuple[dict, dict[str, np.ndarray]]:
    """The component's last message."""
    return parts([e.proto.bytes for e in at.get("bidi_component") if e.proto.component_name == name][-1])


def parts(sent: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """The header alone, and the arrays."""
    header = unpacked(sent)
    arrays = {name: header.pop(name) for name, *_ in header.pop("arrays")}
    return header, arrays


def loaded() -> cache.LoadedModel:
    return cache.shared_model(cache.model_names()[0], "cpu")


def ids_of(prompt: str | None = None) -> torch.Tensor:
    from core.app.state.prompts import default_prompt
    model = loaded()
    return torch.tensor(model.tokenizer.prompt(default_prompt() if prompt is None else prompt,
                                               model.model.config.n_context).token_ids)


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
@pytest.mark.parametrize("settings", VIEWS.values(), ids=VIEWS.keys())
def test_every_view_opens_whole_on_every_prompt(settings, prompt):
    at = opened(settings, prompt=prompt)
    headings = "\n".join(m.value for m in at.markdown)
    for part in ("numbers", "check", "code"):
        assert f"## {FRAME.label(part)}" in headings
    assert at.radio and at.get("bidi_component")
    assert all(str(at.session_state[f"residual_stream_{name}"]).lower() == value for name, value in settings.items())
    assert "nan" not in headings.lower().split()


# ---- what the pictures are given -------------------------------------------------------------------------------------


def test_norms_are_those_of_the_model():
    at = opened({"view": "norms"})
    header, arrays = component(at, "residual_norms")
    ids, model = ids_of(), loaded().model
    trace = model(ids)
    stream = np.stack([np.sqrt((block.resid_pre.double().numpy() ** 2).sum(-1)) for block in trace.blocks]
                      + [np.sqrt((trace.resid_final.double().numpy() ** 2).sum(-1))])
    assert np.allclose(arrays["values"].reshape(stream.shape), stream, rtol=1e-6)
    assert np.array_equal(arrays["values"], arrays["residual"])
    attention = np.stack([np.sqrt((block.attn_out.double().numpy() ** 2).sum(-1)) for block in trace.blocks])
    assert np.allclose(arrays["attention"].reshape(attention.shape), attention, rtol=1e-6)
    assert tuple(header["peak"]) == np.unravel_index(stream.argmax(), stream.shape)
    assert header["column_labels"] == [loaded().tokenizer.visible(int(i)) for i in ids]
    assert header["picked"] == [model.config.n_layers, len(ids) - 1]


def test_the_lens_ends_on_the_prediction_and_ticks_what_follows():
    header, arrays = component(opened({"view": "lens"}), "residual_lens")
    ids, model = ids_of(), loaded().model
    probs = model(ids).probs
    shape = (model.config.n_layers + 1, len(ids))
    assert np.allclose(arrays["values"].reshape(shape)[-1], probs.max(-1).values.detach())
    guesses = np.array(header["vocabulary"])[arrays["texts"]].reshape(shape)
    best = probs.argmax(-1)
    assert guesses[-1].tolist() == [loaded().tokenizer.visible(int(i)) for i in best]
    assert arrays["marks"].reshape(shape)[-1].tolist() == [*(best[:-1] == ids[1:]).int().tolist(), 0]


def test_what_else_is_considered_is_there_for_every_depth_that_the_hand_may_come_to():
    at = opened({"view": "lens", "depth": "2"}, position="3", target="7")
    (header, arrays), (grid, _) = component(at, "lens_guesses"), component(at, "residual_lens")
    model, trace, read = loaded().model, loaded().model(ids_of()), loaded().tokenizer.visible
    streams = [*(block.resid_pre for block in trace.blocks), trace.resid_final]
    probs = arrays["probs"].reshape(len(streams), -1)
    for depth, stream in enumerate(streams):
        u = (model.final_norm(stream, model.config.norm) @ model.E.T)[3].double()
        y, best = torch.softmax(u, -1), torch.argsort(u, descending=True)[:probs.shape[1]]
        assert (header["tokens"][depth] == [read(int(i)) for i in best]
                and np.allclose(probs[depth], y[best].detach(), rtol=1e-4))
        assert header["marked"][depth] == [int(i == 7) for i in best]
    assert (header["depth"] == 2 and grid["picked"] == [2, 3]
            and grid["titles"] == [WORDS.labels["title_lens"], WORDS.labels["title_lens_end"]])


def test_the_neurons_are_those_of_the_model_and_the_strongest_tell_what_they_promote():
    header, arrays = component(opened({"view": "mlp"}, layer="2"), "residual_neurons")
    model, trace, read = loaded().model, loaded().model(ids_of()), loaded().tokenizer.visible
    block, x, last = model.blocks[2], trace.blocks[2].resid_mid[-1].double(), trace.resid_final[-1].double()
    z = F.layer_norm(x, x.shape, block.mlp_norm.weight.double(), block.mlp_norm.bias.double(),
                     model.config.norm_epsilon) @ block.W_1.double() + block.b_1.double()
    a = F.gelu(z)
    assert np.allclose(arrays["pre"], z.detach(), atol=1e-4) and np.allclose(arrays["post"], a.detach(), atol=1e-4)
    assert np.allclose(arrays["curves"][:len(arrays["inputs"])],
                       F.gelu(torch.tensor(arrays["inputs"], dtype=torch.float64)), atol=1e-6)
    strongest = (a.abs() * block.W_2.double().norm(dim=-1)).topk(5).indices.tolist()
    assert [row["neuron"] for row in header["rows"]] == strongest and header["picked"] == -1
    for row in header["rows"]:
        written = a[row["neuron"]] * block.W_2[row["neuron"]].double()
        added = ((written - written.mean()) / (last.var(correction=0) + model.config.norm_epsilon).sqrt()
                 * model.final_norm.weight.double() @ model.E.T.double())
        order = added.argsort(descending=True)
        assert (row["promotes"] == [read(int(i)) for i in order[:4]]
                and row["suppresses"] == [read(int(i)) for i in order.flip(0)[:4]])


@pytest.mark.parametrize("exchange", ["none", "attention", "mlp"])
@pytest.mark.parametrize("order", ["pre", "post"])
def test_the_rows_of_a_block_are_given_for_two_tokens_and_say_what_an_exchange_changes(order, exchange):
    header, arrays = component(opened({"view": "block", "beside": "3", "exchange": exchange,
                                       "block_order": order}, layer="1"),
                               "residual_block")
    model, ids = loaded().model, ids_of(None)
    sizes, rows = [256] * 8, np.split(arrays["values"], np.cumsum(np.repeat(header["widths"], 2))[:-1])
    sizes[[row["kind"] for row in header["rows"]].index("hidden")] = 1024
    assert header["widths"] == sizes and ("sum" in [row["kind"] for row in header["rows"]]) is (order == "post")
    one, other, end = (loaded().tokenizer.visible(int(ids[i])) for i in (-1, 3, 0))
    assert header["tokens"] == [one, other if exchange == "none" else f"{other} → {end}"]
    by_kind = {row["kind"]: rows[2 * k] for k, row in enumerate(header["rows"])}
    if order == "pre" and exchange == "none":
        block = model(ids).blocks[1]
        assert np.allclose(by_kind["H"], block.resid_post[-1].numpy(), atol=1e-4)
        assert np.allclose(by_kind["X"] + by_kind["attention"], by_kind["O"], atol=1e-4)
    same = [row["changed"] == WORDS.label("block_same") for row in header["rows"]]
    before = {"pre": 2, "post": 1}[order]       # the rows before attention has looked
    assert same == {"none": [False] * 8, "mlp": [True] * 8, "attention": [k < before for k in range(8)]}[exchange]


def test_a_block_wired_anew_is_built_and_run_once_for_all_readers(monkeypatch, empty_caches):
    ran, forward = [], Transformer.forward

    def counted(model: Transformer, *inputs, **more):
        ran.append((id(model), model.config.norm_placement))
        return forward(model, *inputs, **more)

    monkeypatch.setattr(Transformer, "forward", counted)
    passes = []
    for _ in range(2):
        opened({"view": "block", "beside": "3", "exchange": "attention", "block_order": "post"}, layer="1")
        passes.append([model for model, placement in ran if placement == "post"])
    assert passes[0] and passes[1] == passes[0] and len(set(passes[0])) == 1


def test_the_feed_forward_part_adds_up_in_numbers():
    lines = formulas(opened({"view": "block"}))
    x, a, total = numbers_in(lines[0])
    assert x + a == pytest.approx(total, abs=1e-3)
    *terms, total = numbers_in(lines[-1])
    block = loaded().model(ids_of(None)).blocks[4]
    assert sum(terms) == pytest.approx(total, abs=1e-3)
    assert total == pytest.approx(float(block.mlp_out[-1, 0]), abs=1e-3)


def test_a_neuron_that_is_picked_is_listed_first_and_worked_out_and_one_that_is_not_there_is_none():
    at = opened({"view": "mlp", "neuron": "17"}, layer="2")
    header, arrays = component(at, "residual_neurons")
    assert header["picked"] == 17 and [row["neuron"] for row in header["rows"]][0] == 17 and len(header["rows"]) == 5
    written = next(latex for latex in formulas(at) if "W_2^{(17)}" in latex)
    assert (numbers_in(written)[-1]
            == pytest.approx(abs(float(arrays["post"][17])) * float(loaded().model.blocks[2].W_2[17].norm()), abs=1e-4))
    header, _ = component(opened({"view": "mlp", "neuron": "1000000"}), "residual_neurons")
    assert header["picked"] == -1 and len(header["rows"]) == 5


def test_the_page_shows_that_the_parts_add_up_to_the_logit():
    at = opened({"view": "contributions"}, position="3", target="7")
    ids, model = ids_of(), loaded().model
    logit = float(model(ids).logits[3, 7])
    n_parts = 2 + model.config.n_layers * (model.config.n_heads + 3) + 1
    line = next(m.value for m in at.markdown if m.value.startswith(WORDS.label("sum_line").split("{")[0]))
    assert str(n_parts) in line and line.count(plain_number(logit)) == 2
    difference = value_of(line.rsplit("**", 2)[1])
    assert difference <= 1e-5 * max(1.0, abs(logit))


def test_a_picked_token_is_in_every_view():
    for settings, name in (({"view": "norms"}, "residual_norms"), ({"view": "lens", "depth": "2"}, "residual_lens"),
                           ({"view": "norms", "measure": "turn"}, "residual_grid")):
        header, _ = component(opened(settings, position="2", layer="1"), name)
        assert header["picked"][1] == 2


@pytest.mark.parametrize("settings", [{"view": "nothing"}, {"depth": "x"}, {"depth": "99", "view": "lens"},
                                      {"feature": "9999", "view": "norm", "norm_view": "batch"}])
def test_a_link_that_makes_no_sense_still_opens(settings):
    opened(settings)


def test_header_and_arrays_survive_packing():
    arrays = {"values": np.array([1.5, -2.0, np.nan], np.float32), "texts": np.array([3, 0, 1], np.int32)}
    header, back = parts(pack({"rows": 1, "label": "é\ud800"}, arrays))
    assert header == {"rows": 1, "label": "é\ud800"}
    assert all(np.array_equal(back[name], array, equal_nan=True) for name, array in arrays.items())


# ---- check yourself --------------------------------------------------------------------------------------------------


def answered(at: AppTest, key: str, answer: int) -> None:
    """The reader commits to option `answer`, and the page says that it is right."""
    at.radio(key=f"residual_stream_{key}_given").set_value(answer).run()
    at.button(key=f"residual_stream_{key}_commit").click().run()
    right = FRAME.label("check_right", answer="").removesuffix(".").strip()
    assert any(m.value.startswith(right) for m in at.markdown), f"the page does not take {answer} for the answer"


def streams(model: Transformer, ids: torch.Tensor, path: bool = True) -> list[torch.Tensor]:
    """The stream before each block and after the last, from the weights alone: pre-norm, learned positions, GELU;
    without the path, sublayer outputs only.
    """
    x = model.E[ids] + model.P[:len(ids)]
    found = [x]
    for block in model.blocks:
        X = F.layer_norm(x, x.shape[-1:], block.attn_norm.weight, block.attn_norm.bias, model.config.norm_epsilon)
        Q, K, V = (torch.einsum("nd,hdk->hnk", X, W) + b[:, None]
                   for W, b in ((block.W_Q, block.b_Q), (block.W_K, block.b_K), (block.W_V, block.b_V)))
        written = (torch.einsum("hnk,hkd->nd", F.scaled_dot_product_attention(Q, K, V, is_causal=True), block.W_O)
                   + block.b_O)
        x = x + written if path else written
        Z = F.layer_norm(x, x.shape[-1:], block.mlp_norm.weight, block.mlp_norm.bias, model.config.norm_epsilon)
        written = F.gelu(Z @ block.W_1 + block.b_1) @ block.W_2 + block.b_2
        x = x + written if path else written
        found.append(x)
    return found


def logits_of(model: Transformer, x: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], model.final_norm.weight, model.final_norm.bias,
                        model.config.norm_epsilon) @ model.E.T


def test_question_which_block_turns_the_token_most():
    found = streams(loaded().model, ids_of())
    cosines = [F.cosine_similarity(a[-1], b[-1], dim=0).item() for a, b in zip(found, found[1:])]
    answered(opened({"view": "norms"}), "norms", int(np.argmin(cosines)))


def test_question_how_often_the_end_still_names_what_was_read():
    model, ids = loaded().model, ids_of()
    first, *_, last = (int((logits_of(model, x).argmax(-1) == ids).sum()) for x in streams(model, ids))
    answered(opened({}), "lens", sorted({first, last, len(ids) // 2, len(ids) - first}).index(last))


def test_question_what_becomes_of_the_token_without_its_best_head():
    model, ids = loaded().model, ids_of()
    trace = model(ids)
    target = int(trace.logits[-1].argmax())
    # every head is divided by the same σ: the order needs no division
    row = model.E[target] * model.final_norm.weight
    shares = torch.stack([(heads - heads.mean(-1, keepdim=True)) @ row
                          for heads in (block.head_contribution[:, -1] for block in trace.blocks)])
    layer, head = divmod(int(shares.argmax()), model.config.n_heads)
    without = copy.deepcopy(model)
    without.blocks[layer].W_O.data = without.blocks[layer].W_O.data.clone()
    without.blocks[layer].W_O.data[head] = 0
    before, after = (float(m(ids).probs[-1, target]) for m in (model, without))
    answered(opened({"view": "contributions"}), "contributions",
             2 if abs(after - before) < 0.05 * before else 0 if after < before else 1)


def test_question_a_vector_ten_times_as_long():
    model, ids = loaded().model, ids_of()
    x, norm = model(ids).resid_final[-1].double(), model.final_norm
    once, tenfold = (F.layer_norm(v, v.shape, norm.weight.double(), norm.bias.double(), norm.epsilon).norm()
                     for v in (x, 10 * x))
    factors = [10, math.sqrt(10), 1, 0.1]
    answered(opened({"view": "norm", "norm_where": "final"}), "layer_norm",
             min(range(4), key=lambda i: abs(math.log(tenfold / once / factors[i]))))


def test_question_one_token_under_batch_norm():
    answered(opened({"view": "norm", "norm_view": "batch"}), "batch_norm", 1)      # x − mean(x) over one token is 0


def test_question_how_many_weights_attention_has():
    config = loaded().model.config
    d, d_ff = config.d_model, config.d_ff
    fed, attended = 2 * d * d_ff + d_ff + d, 4 * (d * d + d)
    options = sorted({attended, fed, 2 * fed, attended // 4})
    answered(opened({"view": "mlp"}, layer="2"), "size", options.index(attended))


def test_question_from_which_row_on_two_tokens_of_one_vector_differ():
    """The mask lets them look at other keys."""
    answered(opened({"view": "block", "beside": "3"}), "block", 1)


def test_question_how_many_guesses_are_left_without_the_path():
    model, ids = loaded().model, ids_of()
    before, after = (len(set(logits_of(model, streams(model, ids, path)[-1]).argmax(-1).tolist()))
                     for path in (True, False))
    assert after < before
    answered(opened({"view": "cut"}), "cut", sorted({before, after, len(ids), len(ids) // 2}).index(after))


# ---- charts ----------------------------------------------------------------------------------------------------------


def test_waterfall_bars_join_and_end_at_the_sum():
    chart = figures.waterfall(["a", "b", "c"], ["residual", "attention", "mlp"], ["", "block 0", "block 0"],
                              np.array([2.0, -0.5, 1.0]), "sum", "logit", "light").to_dict()
    rows = max(chart["datasets"].values(), key=lambda data: len(data[0]))
    assert [(row["start"], row["end"]) for row in rows] == [(0, 2), (2, 1.5), (1.5, 2.5), (0, 2.5)]
    assert [row["shown"] for row in rows] == ["+2", "−0.5", "+1", "+2.5"]
    with pytest.raises(ValueError, match="same length"):
        figures.waterfall(["a"], ["residual", "mlp"], [""], np.array([1.0]), "sum", "logit", "light")


def test_no_bar_of_the_waterfall_carries_the_name_that_a_larger_one_beside_it_had_no_room_for():
    values = np.full(40, 0.01)
    values[[12, 14, 16]] = 1.0, 3.0, 5.0       # 14 stands too near to 16; at 12 there would be room
    names = [f"part {i}" for i in range(40)]

    def labelled(**picked) -> set[str]:
        chart = figures.waterfall(names, ["attention"] * 40, [""] * 40, values, "sum", "logit", "light", n_named=2,
                                  **picked).to_dict()
        rows = max(chart["datasets"].values(), key=lambda data: len(data[0]))
        return {row["name"] for row in rows if row["label"]}

    assert {"sum", "part 16"} <= labelled() and not labelled() & {"part 12", "part 14"}
    assert "part 14" in labelled(picked="part 14")


def test_the_small_parts_of_a_large_model_stand_as_one_bar_and_all_still_add_up():
    page, values = (Lesson("residual_stream", WORDS, FRAME),
                    np.random.default_rng(0).normal(size=480) * np.logspace(0, -4, 480))
    rows = [{"name": f"head {i}", "meaning": "attention", "group": "", "value": float(value)}
            for i, value in enumerate(values)]
    *shown, rest = contributions.summed_up(page, rows, "head 479")
    assert (len(shown) == contributions.MOST_BARS + 1 and [row for row in rows if row in shown] == shown
            and rows[479] in shown)
    assert rest["name"] == WORDS.label("smaller_parts", n=480 - len(shown)) and rest["parts"] == 480 - len(shown)
    assert min(abs(row["value"]) for row in shown[:-1]) >= max(abs(row["value"]) for row in rows if row not in shown)
    assert math.fsum(row["value"] for row in [*shown, rest]) == pytest.approx(math.fsum(values), abs=1e-15)
    assert (contributions.summed_up(page, rows[:contributions.MOST_BARS + 1], "head 3")
            == rows[:contributions.MOST_BARS + 1])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_chart_has_a_constant_spec_whatever_its_numbers(theme):
    """An altair chart is updated in place only where its spec, the data left aside, stays the same."""
    generator = np.random.default_rng(0)
    makers = [
        lambda v: figures.cosine_matrix(np.tanh(v[:9]).reshape(3, 3), ["E", "0", "1"], "axis", theme),
        lambda v: figures.guesses(["a", "b"], v[:2], "p", theme),
        lambda v: figures.probability_by_layer(v[:3], np.array([1, 2, 3]), ["E", "0", "1"], ("p", "rank"), theme),
        lambda v: figures.waterfall(["a", "b"], ["residual", "mlp"], ["", "block 0"], v[:2], "sum", "logit", theme),
        lambda v: figures.two_distributions(["a", "b"], v[:2], v[2:4], ("with", "without"), "p", theme),
        lambda v: figures.growth_lines({"a": v[:3], "b": v[3:6]}, ("residual", "accent"), ("x", "y"), Look(theme),
                                       300)[1],
        lambda v: vector_figures.vector_bars(v, "title", "feature", True, theme, 1.0, 110),
    ]
    for make in makers:
        one, other = (make(generator.random(12)) for _ in range(2))
        one, other = (chart if isinstance(chart, dict) else chart.to_dict() for chart in (one, other))
        assert skeleton(one) == skeleton(other)


def skeleton(spec):
    """A spec without its numbers: no datasets, no names made from them."""
    if isinstance(spec, dict):
        return {key: skeleton(value) for key, value in spec.items() if key not in ("datasets", "data")}
    return [skeleton(value) for value in spec] if isinstance(spec, list) else spec
