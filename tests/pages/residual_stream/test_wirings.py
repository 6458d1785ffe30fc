"""One block of every wiring through AppTest: its formula, its rows with their numbers and paths, what an exchange
changes, its sums in numbers, its table and its questions.
"""
from __future__ import annotations

import functools
import re

import numpy as np
import pytest
import torch

from core.analysis import one_block
from core.app.compute import cache
from core.app.lesson import lesson as frame
from core.base import prose
from core.figures.numbers import readable
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from tests.core.analysis.test_one_block import WIRINGS
from tests.helpers import lessons, predictions
from tests.helpers.messages import formulas, given, numbers_in
from tests.pages.residual_stream.test_residual_stream import answered

pytestmark = pytest.mark.long

WORDS, PROMPT, LAYER, BESIDE = prose.load("residual_stream"), "The cat sat on the mat.", 1, 3
OPERATORS = {"A": r"\operatorname{SelfAttention}", "N": r"\operatorname{LayerNorm}", "F": r"\operatorname{FFN}"}
# of each wiring the line above the picture, its operators by their letters
FORMULAS = {
    "pre": "O = X + A(N(X)) | H = O + F(N(O))",
    "post": "O = N(X + A(X)) | H = N(O + F(O))",
    "sandwich": "O = X + N(A(N(X))) | H = O + N(F(N(O)))",
    "output": "O = X + N(A(X)) | H = O + N(F(O))",
    "deepnorm": r"O = N(\alpha\, X + A(X)) | H = N(\alpha\, O + F(O)) | \alpha = 1.565",      # 6^(1/4)
    "parallel": "H = X + A(N_1(X)) + F(N_2(X))",
    "parallel, one norm": "z = N(X) | H = X + A(z) + F(z)",
    "smaller shares": r"O = X + 0.25\,A(N(X)) | H = O + 0.25\,F(N(O))",
    "attention alone": "H = X + A(N(X))",
    "attention alone, post": "H = N(X + A(X))",
    "experts": "O = X + A(N(X)) | H = O + F(N(O))",
    "experts in a sandwich": "O = X + N(A(N(X))) | H = O + N(F(N(O)))",
}
ACT = "GELU({z} W_{1} + b_{1})"
# of each wiring the names of its rows, where N stands for LayerNorm and ACT for the neurons of z
NAMES = {
    "pre": "X, what enters|N(X)|+ SelfAttention(…)|O = X + attention|N(O)|ACT|+ FFN(…)|H = O + FFN",
    "post": "X, what enters|+ SelfAttention(X)|X + attention|O = N(…)|ACT of O|+ FFN(O)|O + FFN|H = N(…)",
    "sandwich": "X, what enters|N(X)|SelfAttention(…)|+ N(attention)|O = X + N(attention)|N(O)|ACT|FFN(…)"
                "|+ N(FFN)|H = O + N(FFN)",
    "output": "X, what enters|SelfAttention(X)|+ N(attention)|O = X + N(attention)|ACT of O|FFN(O)|+ N(FFN)"
              "|H = O + N(FFN)",
    "deepnorm": "X, what enters|+ SelfAttention(X)|α X + attention|O = N(…)|ACT of O|+ FFN(O)|α O + FFN|H = N(…)",
    "parallel": "X, what enters|N_{1}(X)|+ SelfAttention(…)|N_{2}(X)|ACT|+ FFN(…)|H = X + attention + FFN",
    "parallel, one norm": "X, what enters|N(X)|+ SelfAttention(…)|ACT|+ FFN(…)|H = X + attention + FFN",
    "smaller shares": "X, what enters|N(X)|SelfAttention(…)|+ 0.25 · attention|O = X + 0.25 · attention|N(O)|ACT"
                      "|FFN(…)|+ 0.25 · FFN|H = O + 0.25 · FFN",
    "attention alone": "X, what enters|N(X)|+ SelfAttention(…)|H = X + attention",
    "attention alone, post": "X, what enters|+ SelfAttention(X)|X + attention|H = N(…)",
    "experts": "X, what enters|N(X)|+ SelfAttention(…)|O = X + attention|N(O)|+ FFN(…), 2 of 4 experts|H = O + FFN",
    "experts in a sandwich": "X, what enters|N(X)|SelfAttention(…)|+ N(attention)|O = X + N(attention)|N(O)"
                             "|FFN(…), 2 of 4 experts|+ N(FFN)|H = O + N(FFN)",
}
# what the pointer reads, where it differs in more than a norm: the numbers of the rows by #
READINGS = {
    "pre": "X #, normed #; plus attention # gives O #, normed #; plus FFN # gives H #",
    "post": "X #; plus attention # is #, normed O #; plus FFN # is #, normed H #",
    "sandwich": "X #, normed #; attention #, added as # gives O #, normed #; FFN #, added as # gives H #",
    "output": "X #; attention #, added as # gives O #; FFN #, added as # gives H #",
    "deepnorm": "X #; attention #, with α X #, normed O #; FFN #, with α O #, normed H #",
    "parallel": "X #, normed #; attention #; X normed again #; FFN #; X plus both gives H #",
    "parallel, one norm": "X #, normed #; attention #; FFN #; X plus both gives H #",
    "attention alone": "X #, normed #; plus attention # gives H #",
}
REWIRED = {"pre", "post", "attention alone", "attention alone, post", "smaller shares", "experts"}
wirings = pytest.mark.parametrize("wiring", WIRINGS)


@functools.cache
def kept(wiring: str) -> cache.LoadedModel:
    """A small random model of this wiring, with the tokenizer of the bundled one, as a reader's own model is kept."""
    tokenizer = cache.shared_model(cache.model_names()[0], "cpu").tokenizer
    config = ModelConfig.of(**{"vocab_size": tokenizer.vocab_size, "d_model": 12, "n_layers": 3, "n_heads": 3,
                            "n_context": 64} | WIRINGS[wiring][0])
    model, generator = Transformer(config), torch.Generator().manual_seed(7)
    model.initialise(generator)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator))
    return cache.shared_model(cache.keep_own(model.eval().requires_grad_(False), tokenizer, "wired"), "cpu")


def opened(wiring: str, **settings: str):
    return lessons.opened("residual_stream", {"view": "block", "beside": str(BESIDE)} | settings,
                          model=kept(wiring).name, prompt=PROMPT, layer=str(LAYER))


def traced(wiring: str):
    """The block of a pass of its own, and the model's weights of it."""
    model = kept(wiring).model
    ids = torch.tensor(kept(wiring).tokenizer.prompt(PROMPT, model.config.n_context).token_ids)
    return model(ids).blocks[LAYER], model.blocks[LAYER]


def strips(header: dict) -> list[tuple[np.ndarray, np.ndarray]]:
    """The numbers of each row, of the token and of the other one."""
    cut = np.split(header["values"], np.cumsum(np.repeat(header["widths"], 2))[:-1])
    return list(zip(cut[::2], cut[1::2]))


@wirings
def test_the_lines_and_the_names_of_the_rows_are_those_of_the_wiring(wiring):
    at = opened(wiring)
    line = re.sub(r"\b[ANF](?=[(_])", lambda letter: OPERATORS[letter[0]], FORMULAS[wiring])
    assert line.split(" | ") in [re.findall(r"\$(.+?)\$", each.value) for each in at.markdown]
    rows = given(at, "residual_block")["rows"]
    names = [re.sub(r"\bN(?=[(_])", "LayerNorm", name) for name in NAMES[wiring].split("|")]
    neurons = {"ACT": ACT.replace("{z}", "z"), "ACT of O": ACT.replace("{z}", "O")}
    assert [row["name"] for row in rows] == [neurons.get(name, name) for name in names]
    said = "".join(text if text[0] in ",;" else f" {text}" for text in
                   (WORDS.label(f"blocks_read_{row['read']}").replace("{value}", "#") for row in rows if row["read"]))
    assert said.strip() == READINGS.get(wiring, said.strip())


@wirings
def test_the_strips_are_what_the_pass_computed_and_each_sum_is_that_of_the_rows_whose_paths_it_ends(wiring):
    header, (block, weights) = given(opened(wiring), "residual_block"), traced(wiring)
    names, found = WIRINGS[wiring][1].split(), strips(header)
    assert [row["kind"] for row in header["rows"]] == names
    fields = {"X": "resid_pre", "norm": "X", "attention": "attn_out", "added": "attn_added", "O": "resid_mid",
              "hidden": "mlp_post", "mlp": "mlp_out", "added2": "mlp_added", "H": "resid_post"}
    for name, own_and_other in zip(names, found):
        for values, position in zip(own_and_other, (-1, BESIDE)):
            if name in fields:
                assert np.allclose(values, getattr(block, fields[name])[position].numpy(), atol=1e-5), name
    for row, (values, _) in zip(header["rows"], found):
        if len(row["of"]) > 1:
            stream, *added = (found[each][0] for each in row["of"])
            alpha = 6 ** 0.25 if wiring == "deepnorm" else 1
            assert np.allclose(values, alpha * stream + sum(added), atol=1e-5), row["kind"]
    total, normed = (names.index(name) for name in ("sum2", "H")) if "sum2" in names else (0, 0)
    if normed:
        again = weights.mlp_norm(torch.tensor(found[total][0]), "layernorm").numpy()
        assert np.allclose(found[normed][0], again, atol=1e-5)


@wirings
@pytest.mark.parametrize("exchange", ["attention", "mlp"])
def test_an_exchange_before_attention_reaches_what_is_made_of_it_and_one_before_feed_forward_nothing(wiring, exchange):
    names, of = WIRINGS[wiring][1].split(), one_block.wiring(kept(wiring).model.config, LAYER)
    rows = given(opened(wiring, exchange=exchange), "residual_block")["rows"]
    reached = {"attention"}
    for name in names:
        reached |= {name} if reached & set(of[name]) else set()
    if exchange == "mlp" and "mlp" not in names:        # there is no such choice
        assert [row["changed"] for row in rows] == [""] * len(rows)
        return
    same = [row["changed"] == WORDS.label("block_same") for row in rows]
    assert same == [exchange == "mlp" or name not in reached for name in names]


@wirings
def test_a_switch_stands_where_the_norms_can_stand_at_the_other_place(wiring):
    at = opened(wiring, block_order="post" if "post" not in wiring else "pre")
    keys = [each.key for each in at.get("button_group")]
    assert ("residual_stream_block_order_widget" in keys) is (wiring in REWIRED)
    kinds = [row["kind"] for row in given(at, "residual_block")["rows"]]
    if wiring in REWIRED:
        assert ("sum" in kinds) is ("post" not in wiring)
    else:
        assert kinds == WIRINGS[wiring][1].split()


@wirings
def test_the_numbers_of_the_sum_and_of_the_feed_forward_part_add_up(wiring):
    at, (block, weights) = opened(wiring), traced(wiring)
    lines, names = formulas(at), WIRINGS[wiring][1].split()
    first = next(line for line in lines if "x_0 + a_0" in line)
    *terms, total = numbers_in(first)
    x, added, alpha = float(block.resid_pre[-1, 0]), float(block.attn_added[-1, 0]), float(weights.alpha)
    if wiring == "deepnorm":
        assert terms == pytest.approx([alpha, x, added], abs=1e-4) and first.startswith(r"\alpha\, x_0 + a_0 = ")
        assert total == pytest.approx(alpha * x + added, abs=1e-4)
    else:
        fed = [float(block.mlp_added[-1, 0])] if wiring.startswith("parallel") else []
        assert terms == pytest.approx([x, added, *fed], abs=1e-4) and ("+ f_0" in first) is bool(fed)
        assert total == pytest.approx(sum(terms), abs=2e-4)
    if "mlp" in names:
        assert numbers_in(lines[-1])[-1] == pytest.approx(float(block.mlp_out[-1, 0]), abs=1e-4)
        *terms, total = numbers_in(lines[-1])
        if "experts" in wiring:
            assert len(terms) == 4 and sum(terms[:4:2]) == pytest.approx(1, abs=2e-4)
            terms = [weight * value for weight, value in zip(terms[::2], terms[1::2])]
        assert sum(terms) == pytest.approx(total, abs=4e-4)
    else:
        assert len(lines) == 1


@wirings
def test_the_title_and_the_table_say_what_the_rows_hold(wiring, monkeypatch):
    told = {}
    monkeypatch.setattr(frame.code_and_data, "draw", lambda _lesson, _title, _functions, data, _picture, twin, *_:
                        told.update(data, title=twin))
    header, (block, _) = given(opened(wiring), "residual_block"), traced(wiring)
    vectors = [block.resid_pre, block.attn_added, *([] if block.mlp_added is None else [block.mlp_added]),
               block.resid_post]
    for vector in vectors:
        assert readable(float(vector[-1].norm())) in told["title"]
    assert ("feed-forward" in told["title"]) is ("mlp" in WIRINGS[wiring][1])
    table = told["block.csv"]()
    assert table["row"].unique().tolist() == [row["name"] for row in header["rows"]]
    last = table[-2 * 12:]
    assert last["position"].tolist() == [len(block.resid_post) - 1] * 12 + [BESIDE] * 12
    assert np.allclose(last["value"], block.resid_post[[-1, BESIDE]].numpy().ravel(), atol=1e-5)


@wirings
def test_two_tokens_that_enter_with_one_vector_differ_from_what_attention_adds_on(wiring):
    answered(opened(wiring), "block", 1)


@pytest.mark.parametrize("wiring", ["parallel", "parallel, one norm", "sandwich", "output", "deepnorm", "experts"])
def test_only_an_exchange_before_attention_leaves_a_trace(wiring):
    shown = predictions.told("residual_stream", "block", 0, model=kept(wiring).name, prompt=PROMPT, layer=str(LAYER))
    assert shown["answer"] == 0
    assert predictions.statements("residual_stream", "block").index(shown["true"]) == 0


def test_nothing_is_asked_before_the_picture_of_a_block_without_a_feed_forward_part():
    at = lessons.open_at("residual_stream", ask="true", residual_stream_view="block", prompt=PROMPT,
                         model=kept("attention alone").name)
    assert lessons.fine(at) and given(at, "residual_block")["rows"]


@pytest.mark.parametrize("wiring", ["experts", "attention alone", "parallel"])
def test_a_single_token_is_drawn_alone(wiring):
    at = lessons.opened("residual_stream", {"view": "block"}, model=kept(wiring).name, prompt="")
    header = given(at, "residual_block")
    assert len(header["tokens"]) == 1 and [row["kind"] for row in header["rows"]] == WIRINGS[wiring][1].split()
