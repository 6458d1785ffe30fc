"""The overview: what its map is given equals the Trace, its numbers hold on a calculator, its question has
the right answer.
"""
from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.app.state.dice import Dice
from core.app.state.run import Run, read
from core.base import prose
from core.figures.numbers import percent, readable
from core.model.config import ModelConfig
from core.model.sampling import truncate
from core.model.transformer import Transformer
from pages.overview import below, packing
from pages.overview import map as drawing
from tests.helpers import lessons, messages
from tests.helpers.messages import formulas, numbers_in
from tests.helpers.predictions import ask, commit, question
from tests.helpers.prompts import PROMPTS
from tests.pages.test_pages import opened

ROOT = Path(__file__).parents[3]


def given(at: AppTest) -> dict:
    """The message to a page's map: header and arrays."""
    return messages.given(at, "overview_map")


def run_of(at: AppTest) -> Run:
    return read(cache.shared_model(cache.model_names()[0], at.session_state["device"]), at.session_state["prompt"])


def small_model(**changes) -> Transformer:
    settings = dict(vocab_size=17, d_model=8, n_layers=2, n_heads=2, n_context=64) | changes
    return Transformer(ModelConfig.of(**settings)).initialise(torch.Generator().manual_seed(5)).eval().requires_grad_(
        False)


# ---- what is packed, by hand -----------------------------------------------------------------------------------------


def test_columns_share_by_their_largest_value_and_the_last_group_may_be_smaller():
    values = np.array([[1.0, 5.0, -3.0, -2.0, -1.0]])
    assert packing.strongest(values, 3).tolist() == [[5.0, -2.0, -1.0]]
    assert packing.strongest(values, 99).tolist() == values.tolist()


def test_bytes_of_signed_values():
    values, scale = packing.quantised(np.array([-2.0, 0.0, 1.0, 2.0]))
    assert scale == 2.0 and values.tolist() == [1, 128, 192, 255]
    assert packing.quantised(np.zeros(3))[0].tolist() == [128, 128, 128]


def test_a_draw_says_the_interval_that_holds_xi():
    truncation = truncate(np.log([0.2, 0.5, 0.3]))
    thrown = packing.throw(truncation, 0.6, "abc".__getitem__)
    assert (thrown["token"], thrown["id"], thrown["place"]) == ("c", 2, 1)
    assert (thrown["from"] == pytest.approx(0.5) and thrown["to"] == pytest.approx(0.8)
            and thrown["probability"] == pytest.approx(0.3))
    assert packing.throw(truncation, 0.0, "abc".__getitem__)["from"] == 0.0


@pytest.mark.parametrize("changes", [{}, {"d_ff": None}, {"positions": "rotary"}, {"mask": "bidirectional"},
                                     {"norm_placement": "post"}, {"activation": "swiglu"}], ids=str)
@pytest.mark.parametrize("n", [1, 9, 60])
def test_the_packed_pass_is_the_trace(changes: dict, n: int):
    trace = small_model(**changes)(torch.arange(n) % 17)
    sizes, arrays = packing.pass_arrays(trace)
    assert (sizes["exact"] == (n <= packing.EXACT_TOKENS) and ("P" in arrays) == (trace.position is not None)
            and ("mlp" in arrays) == (trace.config.d_ff is not None))
    for name, values in (("E", trace.embedding), ("h", trace.h_final)):
        shown = arrays[name] if sizes["exact"] else (arrays[name].astype(float) - 128) / 127 * sizes["scales"][name]
        assert np.abs(shown - values.numpy()).max() <= (0 if sizes["exact"] else sizes["scales"][name] / 253)
    for layer, block in enumerate(trace.blocks):
        assert np.allclose(arrays["attention"][layer],
                           np.sqrt((block.attn_out.numpy().astype(float) ** 2).sum(-1)), rtol=1e-6)
        assert np.allclose(arrays["middle"][layer],
                           np.sqrt((block.resid_mid.numpy().astype(float) ** 2).sum(-1)), rtol=1e-6)
        assert np.allclose(arrays["stream"][layer + 1],
                           np.sqrt((block.resid_post.numpy().astype(float) ** 2).sum(-1)), rtol=1e-6)


def test_the_neurons_of_a_block_keep_their_sizes_beside_a_block_of_giants():
    """In a long prompt, where a value is one byte."""
    model = small_model()
    with torch.no_grad():
        model.blocks[-1].W_1 *= 1e4
    trace = model(torch.arange(60) % 17)
    sizes, arrays = packing.pass_arrays(trace)
    scales = np.array(sizes["scales"]["mlp"])
    shown = (arrays["mlp"].astype(float) - 128) / 127 * scales[:, None, None]
    assert not sizes["exact"] and scales[-1] > 1000 * scales[0]
    assert np.abs(shown[0] - packing.feed_forward_images(trace)[0]).max() <= scales[0] / 253


def test_every_allowed_weight_travels_and_no_other():
    trace = small_model()(torch.arange(9))
    _, arrays = packing.pass_arrays(trace)
    rows = [block.pattern[head, query, :query + 1].tolist() for block in trace.blocks for head in range(2)
            for query in range(9)]
    assert arrays["patterns"].ravel().tolist() == [weight for row in rows for weight in row]


def test_a_long_prompt_sends_every_allowed_weight_and_the_mean_of_each_blocks_heads_to_a_byte():
    trace = small_model()(torch.arange(60) % 17)
    sizes, arrays = packing.pass_arrays(trace)
    weights = np.concatenate([block.pattern.numpy()[:, *np.tril_indices(60)] for block in trace.blocks])
    assert arrays["patterns"].dtype == np.uint8
    assert arrays["patterns"].tolist() == np.rint(np.sqrt(weights) * 255).tolist()
    mean = np.stack([block.pattern.mean(0).numpy()[np.tril_indices(60)] for block in trace.blocks])
    assert sizes["step"] == 1 and np.abs((arrays["mean"] / 255.0) ** 2 - mean).max() < 1 / 255


# ---- the page --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_the_map_is_given_the_trace(prompt: str | None):
    at = opened("overview", prompt)
    assert not at.exception and not at.error
    sent, run = given(at), run_of(at)
    trace, last = run.trace, len(run.token_ids) - 1
    assert (sent["tokens"], sent["ids"], sent["position"]) == (run.tokens, list(run.token_ids), last)
    assert ((sent["n"], sent["layers"], sent["heads"], sent["vocabulary"])
            == (last + 1, len(trace.blocks), *trace.blocks[0].pattern.shape[:1], trace.logits.shape[1]))
    assert np.array_equal(sent["logits"], trace.logits[last].cpu().numpy())
    if sent["exact"]:
        assert (np.array_equal(sent["E"], trace.embedding.cpu().numpy().ravel())
                and np.array_equal(sent["h"], trace.h_final.cpu().numpy().ravel()))
    logits = trace.logits.cpu().numpy().astype(np.float64)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    probs = weights / weights.sum(-1, keepdims=True)
    for position, listed in enumerate(sent["candidates"]):
        assert [p for _, _, p in listed] == pytest.approx(sorted(probs[position], reverse=True)[:len(listed)], rel=1e-9)
        assert all(token == run.tokenizer.visible(token_id) and p == pytest.approx(probs[position, token_id], rel=1e-9)
                   for token, token_id, p in listed)
    check_draw(sent["draw"], probs[last])


@pytest.mark.parametrize(("changes", "said"), [
    ({}, None), ({"logit_scale": 0.5}, "from h Eᵀ"), ({"logit_cap": 30.0}, "from h Eᵀ"),
    ({"tied_embeddings": False, "unembedding_bias": True}, "from h W_Uᵀ")])
def test_logits_are_called_the_products_only_where_they_are(changes: dict, said: str | None):
    model = small_model(**changes)
    run = SimpleNamespace(model=model, trace=model(torch.arange(3)), is_encoder=False)
    words = drawing.own_words(prose.load("overview"), run)
    assert words.get("shape_logits") == (said and f"u {said}: {{v}} logits")


def check_draw(thrown: dict, probs: np.ndarray) -> None:
    """ξ lies in the drawn token's stretch of [0, 1) cut in falling order of probability."""
    order = np.argsort(-probs, kind="stable")
    place = int(np.flatnonzero(order == thrown["id"])[0])
    before = math.fsum(probs[order[:place]])
    assert thrown["from"] <= thrown["xi"] < thrown["to"]
    assert (thrown["from"] == pytest.approx(before, abs=1e-9)
            and thrown["to"] == pytest.approx(before + probs[thrown["id"]], abs=1e-9))


def test_a_picked_position_is_lit_and_no_draw_is_offered_inside_the_text():
    at = lessons.open_at("overview", position="3")
    sent = given(at)
    assert sent["position"] == 3 and sent["draw"] is None
    assert np.array_equal(sent["logits"], run_of(at).trace.logits[3].cpu().numpy())


def test_the_seed_of_the_link_decides_the_draw():
    at = lessons.open_at("overview", seed="7")
    run = run_of(at)
    assert given(at)["draw"]["xi"] == Dice(7, len(run.token_ids)).xi() != Dice(8, len(run.token_ids)).xi()


def test_every_part_of_the_map_opens_a_lesson_that_exists():
    led_to = given(opened("overview", None))["lessons"]
    assert {"P", "attention", "stream", "logits"} <= set(led_to)
    assert all((ROOT / "pages" / lesson / "page.py").exists() for lesson in led_to.values())


# ---- in numbers ------------------------------------------------------------------------------------------------------


def test_the_softmax_line_holds_on_a_calculator():
    logits = np.log(np.array([2.0, 5.0, 3.0]))
    exponent, total, own, again, y = numbers_in(below.softmax_latex(logits, 1))
    assert (exponent, total, own, again, y) == (1.6094, 10.0, 5.0, 10.0, 0.5)
    assert (below.softmax_latex(logits + 500, 1).count(r"\max u") == 2
            and numbers_in(below.softmax_latex(logits + 500, 1))[-1] == 0.5)


@pytest.mark.parametrize("position", [0, 5])
def test_the_lines_of_the_page_are_the_models_own(position: int):
    at = lessons.open_at("overview", position=str(position))
    trace = run_of(at).trace
    embed, stream, softmax, _ = formulas(at)
    e, p, total = numbers_in(embed)
    assert (e == pytest.approx(float(trace.embedding[position, 0]), abs=5.1e-5)
            and p == pytest.approx(float(trace.position[position, 0]), abs=5.1e-5))
    assert total == pytest.approx(e + p, abs=1.1e-4)
    block = trace.blocks[0]
    lengths = [math.sqrt(sum(x * x for x in vector[position].tolist()))
               for vector in (block.resid_pre, block.attn_out, block.mlp_out, block.resid_post)]
    assert numbers_in(stream) == pytest.approx(lengths, abs=1e-4)
    logits = trace.logits[position].double()
    assert numbers_in(softmax)[-1] == pytest.approx(float(torch.softmax(logits, -1).max()), rel=1e-3)


def test_the_parts_add_up_to_the_model():
    at = opened("overview", "")
    at.session_state["overview_tables_open"] = True
    at.run()
    table = next(frame.value for frame in at.dataframe if prose.load("overview").label("parameters") in frame.value)
    counts = table.iloc[:, 2].tolist()
    assert sum(counts[:-1]) == counts[-1] == run_of(at).model.n_parameters
    assert str(counts[-1]) in formulas(at)[-1]


# ---- before the map --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "prompt"), [("stories", "The cat sat on the"), ("stories-small", "Once upon a")])
def test_the_likeliest_of_the_offered_words_is_told_and_the_part_that_adds_most(model: str, prompt: str):
    at = ask("overview", "pass", model=model, prompt=prompt)
    asked, texts = question(at)["question"], question(at)["guess"]["texts"]
    assert asked.startswith(f"“{prompt} ___”") and len(texts) == 4 and texts == sorted(texts, key=str.casefold)
    told = commit(at, "overview", "pass", 0)
    there = cache.shared_model(model, "cpu")
    with torch.inference_mode():
        trace = there.model(torch.tensor([0, *there.tokenizer.encode(prompt)]))
    p = [float(trace.probs[-1][there.tokenizer.encode(f" {word}")[0]]) for word in texts]
    best = max(range(4), key=p.__getitem__)
    assert int(trace.probs[-1].argmax()) == there.tokenizer.encode(f" {texts[best]}")[0]
    assert (told["answer"], told["right"]) == (best, best == 0)
    assert (told["said"], told["own"]) == (percent(p[best]), percent(p[0]))
    assert f"`{texts[best]}` gets {percent(p[best])}" in told["reason"]
    stream = [float(x[-1].double().square().sum().sqrt()) for x in trace.depths]
    # what a part has added is what the stream is more after it than before
    added = [[float((end[-1] - start[-1]).double().square().sum().sqrt()) for end, start in pairs] for pairs in (
        [(block.resid_mid, block.resid_pre) for block in trace.blocks],
        [(block.resid_post, block.resid_mid) for block in trace.blocks])]
    part, block = max(((part, block) for part in (0, 1) for block in range(len(trace.blocks))),
                      key=lambda at: added[at[0]][at[1]])
    assert (f"block {block}, {('attention', 'feed-forward')[part]}, with a vector of length "
            f"{readable(added[part][block])}.") in told["reason"]
    assert ("grow" in told["true"]) == all(a < b for a, b in pairwise(stream[1:]))


def test_of_an_earlier_row_nothing_is_asked():
    assert given(lessons.open_at("overview", position="3", ask="true"))["position"] == 3


# ---- check yourself --------------------------------------------------------------------------------------------------


def without_attention(model: Transformer, token_id: int, position: int) -> np.ndarray:
    """Logits of one row alone, in float64 and by hand: embedding, position, every feed-forward part, final norm;
    nothing read from another row.
    """
    def norm(x, parameters):
        x = (x - x.mean()) / np.sqrt(x.var() + model.config.norm_epsilon)
        return x * parameters.weight.double().cpu().numpy() + parameters.bias.double().cpu().numpy()

    E = model.E.double().cpu().numpy()
    x = E[token_id] + model.P.double().cpu().numpy()[position]
    for block in model.blocks:
        before = norm(x, block.mlp_norm) @ block.W_1.double().cpu().numpy() + block.b_1.double().cpu().numpy()
        active = 0.5 * before * (1 + np.array([math.erf(v / math.sqrt(2)) for v in before]))
        x = x + active @ block.W_2.double().cpu().numpy() + block.b_2.double().cpu().numpy()
    return norm(x, model.final_norm) @ E.T


@pytest.mark.parametrize("prompt", ["The cat sat on the", "", "Mia likes apples. Mia likes"])
def test_the_question_is_answered_by_the_row_alone(prompt: str):
    at = opened("overview", prompt)
    run = run_of(at)
    logits = without_attention(run.model, run.token_ids[-1], len(run.token_ids) - 1)
    at.radio("overview_off_given").set_value(0).run()
    at.button("overview_off_commit").click().run()
    shown = "\n".join(m.value for m in at.markdown)
    right = run.tokenizer.visible(int(logits.argmax())).replace("`", "ˋ")
    weights = np.exp(logits - logits.max())
    assert f"`{right}`" in at.radio("overview_off_given").options
    said = re.search(r"Without attention it is `(.+?)`, with probability (\S+\s%);", shown)
    assert said and said[1] == right and said[2] == percent(float(weights.max() / weights.sum()))
