"""Answers to a reader who goes into the picture: every number is the Trace's, and follows from those before it,
in models with one key for two heads, with turned queries, with a bias for each distance, and with other scores.
"""
from __future__ import annotations

import numpy as np
import pytest
import torch

from core.app.compute import cache
from core.app.state.run import read
from core.model.activation import CURVES
from core.model.intervention import NOTHING
from pages.overview import inside
from pages.overview.shared import SETTINGS, edited, packed_pass, traced
from tests.helpers import messages, shapes

LAYER, HEAD, QUERY, KEY = 1, 2, 6, 4
HER = "One day Lily lost her ball. She looked for her"
TEXT = "The cat sat on the mat. The dog sat on the"
BUNDLED = ("stories", "positions-none", "positions-alibi", "positions-relative", "positions-rotary", "blanks",
           "scores-additive", "scores-multiplicative")


@pytest.fixture(scope="module", params=[*BUNDLED, *shapes.SHAPES])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> inside.Pass:
    if request.param not in shapes.SHAPES:
        there = read(cache.shared_model(request.param, "cpu"), TEXT)
        return inside.Pass(there.model, there.tokenizer, there.has_head, there.trace)
    shown = shapes.shown(tmp_path_factory.mktemp("shapes"), request.param)
    return inside.Pass(shown.model, shown.tokenizer, True, shown.trace)


def test_a_heads_weights_are_the_traces_row_after_row(run: inside.Pass):
    _, arrays = inside.head(run, LAYER, HEAD)
    block, at = run.trace.blocks[LAYER], 0
    for query, (first, last) in enumerate(zip(arrays["first"], arrays["last"])):
        row = arrays["pattern"][at:at + last - first + 1]
        assert np.array_equal(row, block.pattern[HEAD, query, first:last + 1].numpy())
        assert row.sum() == pytest.approx(1, abs=1e-5)
        at += len(row)
    assert at == len(arrays["pattern"])


def test_a_look_goes_from_the_products_to_what_is_fetched(run: inside.Pass):
    header, arrays = inside.look(run, LAYER, HEAD, QUERY)
    block, config = run.trace.blocks[LAYER], run.model.config
    seen = slice(header["from"], header["from"] + len(arrays["weights"]))
    keys = arrays["K"].reshape(-1, config.d_k).astype(float)
    assert header["dots"] == (config.score != "additive")
    if header["dots"]:
        assert arrays["products"] == pytest.approx(keys @ arrays["q"].astype(float), rel=1e-4, abs=1e-5)
    assert arrays["products"] / header["divisor"] == pytest.approx(arrays["scaled"])
    assert arrays["scaled"] + arrays["bias"] == pytest.approx(arrays["scores"])
    assert arrays["scores"] == pytest.approx(block.scores[HEAD, QUERY, seen].numpy(), rel=1e-4, abs=1e-4)
    assert np.exp(arrays["scores"] - header["top"]) == pytest.approx(arrays["exponentials"])
    assert arrays["exponentials"] / header["total"] == pytest.approx(arrays["weights"])
    assert arrays["weights"] == pytest.approx(block.pattern[HEAD, QUERY, seen].numpy(), rel=1e-3, abs=1e-6)
    values = arrays["V"].reshape(-1, config.d_v).astype(float)
    assert arrays["weights"] @ values == pytest.approx(arrays["output"], rel=1e-4, abs=1e-5)
    assert arrays["output"] == pytest.approx(block.head_out[HEAD, QUERY].numpy(), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("is_key", [False, True])
def test_a_number_is_its_bias_and_as_many_products_as_the_stream_has_dimensions(run: inside.Pass, is_key: bool):
    config, block = run.model.config, run.trace.blocks[LAYER]
    _, look = inside.look(run, LAYER, HEAD, QUERY)
    for c in (0, config.d_k - 1):
        header, arrays = inside.number_of(run, LAYER, HEAD, QUERY, KEY, c + config.d_k * is_key)
        shared = HEAD // (config.n_heads // config.n_kv_heads)
        own = block.K[shared, KEY, c] if is_key else block.Q[HEAD, QUERY, c]
        assert len(arrays["x"]) == len(arrays["w"]) == config.d_model
        assert header["bias"] + arrays["x"].astype(float) @ arrays["w"].astype(float) == pytest.approx(
            header["value"], rel=1e-4, abs=1e-5)
        assert header["value"] == float(own)
        read_by_score = look["K"].reshape(-1, config.d_k)[KEY, c] if is_key else look["q"][c]
        assert header["used"] == pytest.approx(float(read_by_score), abs=1e-6)
        if config.positions != "rotary" and (is_key or config.score != "multiplicative"):
            assert header["used"] == pytest.approx(header["value"])


def test_a_neuron_reads_the_token_and_writes_what_it_promotes(run: inside.Pass):
    block, weights = run.trace.blocks[LAYER], run.model.blocks[LAYER]
    if block.mlp_post is None:
        with pytest.raises(ValueError, match="no neurons"):
            inside.neurons_of(run, LAYER, QUERY)
        return
    header, arrays = inside.neurons_of(run, LAYER, QUERY)
    assert np.array_equal(arrays["post"], block.mlp_post[QUERY].numpy())
    assert np.array_equal(arrays["pre"], block.mlp_pre[QUERY].numpy())
    assert arrays["size"] == pytest.approx((block.mlp_post[QUERY, :, None] * weights.W_2).norm(dim=-1).numpy())
    best = header["read"][0]
    assert best["neuron"] == arrays["size"].argmax()
    one, own = inside.neuron_of(run, LAYER, QUERY, best["neuron"])
    assert one["promotes"] == best["promotes"] and one["amounts"][:6] == sorted(one["amounts"][:6], reverse=True)
    assert np.array_equal(own["fires"], block.mlp_post[:, best["neuron"]].numpy())
    read = one["bias"] + own["x"].astype(float) @ own["w"].astype(float)
    assert read == pytest.approx(one["pre"], rel=1e-4, abs=1e-5)
    assert one["post"] == own["fires"][QUERY] and (one["up"] is None) == (weights.W_gate is None)
    if one["up"] is None:
        activated = CURVES[run.model.config.activation](torch.tensor(one["pre"]))
        assert one["post"] == pytest.approx(float(activated), rel=1e-4, abs=1e-6)


def test_a_stream_ends_in_the_models_own_prediction(run: inside.Pass):
    header, arrays = inside.stream_of(run, QUERY)
    ends = [run.trace.blocks[0].resid_pre[QUERY], run.trace.resid_final[QUERY]]
    assert arrays["cosine"][[0, -1]] == pytest.approx([float(torch.cosine_similarity(*ends, dim=0)), 1], abs=1e-5)
    assert len(header["guesses"]) == len(arrays["cosine"]) == run.model.config.n_layers + 1
    p, best = run.trace.probs[QUERY].max(0)
    assert header["guesses"][-1][0] == [run.tokenizer.visible(int(best)), pytest.approx(float(p), rel=1e-4)]


def test_the_end_is_a_softmax_over_the_whole_vocabulary_and_a_logit_a_sum_of_products(run: inside.Pass):
    header, arrays = inside.end_of(run, QUERY)
    logits = run.trace.logits[QUERY].double()
    assert arrays["logits"].tolist() == logits[header["ids"]].tolist() == sorted(arrays["logits"], reverse=True)
    assert np.exp(arrays["logits"] - header["top"]) / header["total"] == pytest.approx(arrays["probs"])
    assert arrays["probs"] == pytest.approx(torch.softmax(logits, -1)[header["ids"]].numpy())
    for token_id in header["ids"][:3]:
        said, own = inside.logit_of(run, QUERY, token_id)
        assert said["bias"] + own["x"].astype(float) @ own["w"].astype(float) == pytest.approx(said["value"])
        assert said["used"] == float(logits[token_id]) == pytest.approx(said["value"], rel=1e-4, abs=1e-5)


QUESTION = {"model": "stories", "device": "cpu", "token_ids": [1, 2, 3, 4], "edit": ""}


def test_the_route_answers_for_every_depth_and_refuses_a_place_that_is_none():
    for place, names in (("head.5.7", {"pattern"}), ("look.0.0.3", {"q", "K", "weights"}),
                         ("number.0.0.3.3.63", {"x", "w"}), ("neurons.5.3", {"post", "size", "read"}),
                         ("neuron.0.3.1023", {"fires", "x", "w"}), ("stream.3", {"cosine", "guesses"}),
                         ("end.0", {"ids", "probs"}), ("logit.3.0", {"x", "w", "value"})):
        assert names <= messages.unpacked(inside.answer(QUESTION | {"place": place})).keys()
    for place in ("", "head", "head.1", "head.6.0", "head.0.8", "head.-1.0", "look.0.0.4", "number.0.0.3.0.64",
                  "block.1", "head.1.x", "head.1.1.1", None, 3, "stream.4", "logit.0.99999", "neurons.0.4",
                  "neuron.0.0.1024"):
        with pytest.raises((ValueError, KeyError)):
            inside.answer(QUESTION | {"place": place})


# ---- what is changed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edit", ["heads.4", "head.4.3", "product.4.3.11.6", "product.4.3.11.6=-2.5", "neurons.4.11",
                                  "neuron.4.11.979"])
def test_what_is_changed_changes_what_follows_and_nothing_before(edit: str):
    there = read(cache.shared_model("stories", "cpu"), HER)
    sizes, arrays, guesses = packed_pass(there, edit)
    plain = packed_pass(there)
    assert sizes.keys() == plain[0].keys() and "differs" not in plain[1]
    shifted, differs = arrays["shifted"], arrays["differs"]
    assert (shifted[:5] == 0).all() and shifted[5, -1] > 0.001 and shifted[6, -1] > 0.001
    assert (differs[:4] == 0).all() and (differs[5] > 0).all()
    assert (differs[4] > 0).sum() == edit.startswith("product.4.3.11.6")
    assert guesses[-1][0][2] != plain[2][-1][0][2]
    trace = traced(there, edit)
    assert shifted[6, -1] == pytest.approx(float((trace.resid_final - there.trace.resid_final)[-1].norm()
                                               / there.trace.resid_final[-1].norm()), rel=1e-5)


def asked_under(edit: str, place: str, text: str = HER) -> dict:
    question = inside.question(read(cache.shared_model("stories", "cpu"), text), edit)
    return messages.unpacked(inside.answer(question | {"place": place}))


def test_a_weight_that_is_set_to_0_fetches_nothing():
    plain, off = (asked_under(edit, "look.4.3.11") for edit in ("", "product.4.3.11.6"))
    assert off["weights"][6] == 0 and plain["weights"][6] > 0.7
    assert np.delete(off["weights"], 6) == pytest.approx(np.delete(plain["weights"], 6))
    value = plain["V"].reshape(12, -1)[6]
    assert off["output"] == pytest.approx(plain["output"] - plain["weights"][6] * value, abs=1e-5)


def test_a_score_that_is_set_shares_the_weights_out_anew_as_the_pass_does():
    edit = "product.4.3.11.6=-2.5"
    plain, set_to = (asked_under(each, "look.4.3.11") for each in ("", edit))
    scores = plain["scores"].copy()
    scores[6] = -2.5
    assert set_to["scores"] == pytest.approx(scores, abs=1e-12) and set_to["bias"][6] != 0
    powers = np.exp(scores - scores.max())
    assert set_to["weights"] == pytest.approx(powers / powers.sum(), abs=1e-12)
    trace = traced(read(cache.shared_model("stories", "cpu"), HER), edit)
    assert set_to["weights"] == pytest.approx(trace.blocks[4].pattern[3, 11].double().numpy(), abs=1e-6)
    assert trace.blocks[4].scores[3, 11, 6] == -2.5
    assert asked_under(edit, "look.4.3.10")["scores"] == pytest.approx(asked_under("", "look.4.3.10")["scores"])


def test_another_token_is_read_in_its_place():
    there = read(cache.shared_model("stories", "cpu"), HER)
    at = there.tokens.index("·her")
    other = there.tokenizer.encode(" his")[0]
    put, change = edited(there, f"embedding.{at}={other}")
    assert change == NOTHING and put.text == HER and put.tokens == [*there.tokens[:at], "·his", *there.tokens[at + 1:]]
    assert torch.equal(put.trace.logits, there.trace_of(put.token_ids).logits)
    sizes, arrays, guesses = packed_pass(there, f"embedding.{at}={other}")
    assert (arrays["shifted"][:, :at] == 0).all() and (arrays["shifted"][1:, at:] > 0).all()
    said = asked_under(f"embedding.{at}={other}", f"embedding.{at}")
    assert other not in said["ids"] and "·her" in said["tokens"]


def test_the_tokens_offered_are_those_whose_rows_are_most_like():
    there = read(cache.shared_model("stories", "cpu"), HER)
    at, E = there.tokens.index("·her"), there.model.E.double().numpy()
    own = there.token_ids[at]
    cosine = E @ E[own] / np.linalg.norm(E, axis=1) / np.linalg.norm(E[own])
    cosine[own] = -2
    best = cosine.argsort()[::-1][:inside.LIKE]
    said = asked_under("", f"embedding.{at}")
    assert said["ids"] == best.tolist() and said["cosine"] == pytest.approx(cosine[best], abs=1e-5)
    assert said["tokens"] == [there.tokenizer.visible(int(i)) for i in best]


@pytest.mark.parametrize("edit", [
    "", "head.9.0", "head.4", "look.4.3.11", "product.4.3.12.6", "neuron.0.0.9999", "x.1", "neurons.4.12",
    "neuron.4.12.3", "product.4.3.12.6=1", "product.4.3.11.6=x", "head.4.3=2", "embedding.3", "embedding.12=5",
    "embedding.3=99999", "embedding.3=-1", "embedding.3=1.5", "=3"])
def test_an_edit_that_makes_no_sense_changes_nothing(edit: str):
    there = read(cache.shared_model("stories", "cpu"), HER)
    assert edited(there, edit) == (there, NOTHING)


@pytest.mark.parametrize("text, read_as", [("head.4.3", "head.4.3"), ("product.4.3.11.6=-2.5", "product.4.3.11.6=-2.5"),
                                           ("embedding.3=521", "embedding.3=521"), ("head.4.3=", None), ("=3", None),
                                           ("product.1.1.1.1=1e9", None), ("product.1.1.1.1=9999999", None),
                                           ("<b>", None)])
def test_the_address_of_an_edit(text: str, read_as: str | None):
    assert SETTINGS.each["edit"].reads(text) == read_as
