"""One block of an encoder-decoder's decoder through AppTest: the bundled translator, random models of every wiring, and
a T5 and a Marian of the library.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.app.lesson import lesson as frame
from core.base import prose
from core.figures.numbers import readable
from core.model.config import ModelConfig
from core.model.trace import BlockTrace, Trace
from core.model.transformer import Transformer
from tests.core.analysis.test_one_block import CROSSED, FIELDS
from tests.helpers import kinds, lessons, library_models, predictions
from tests.helpers.messages import formulas, given, numbers_in
from tests.pages.residual_stream.test_residual_stream import answered
from tests.pages.residual_stream.test_wirings import strips

pytestmark = pytest.mark.long

WORDS = prose.load("residual_stream").of_kind("encoder-decoder")
DATE, WRITTEN, BESIDE = "the twenty-first of march nineteen eighty-four", "1984-03-21", 3
OPERATORS = {"A": r"\operatorname{SelfAttention}", "C": r"\operatorname{CrossAttention}",
             "N": r"\operatorname{LayerNorm}", "R": r"\operatorname{RMSNorm}", "F": r"\operatorname{FFN}"}
PRE = "O = X + A(N(X)) | C = O + C(N(O), m) | H = C + F(N(C))"
POST = "O = N(X + A(X)) | C = N(O + C(O, m)) | H = N(C + F(C))"
FORMULAS = {
    "crossed pre": PRE, "crossed post": POST, "Marian": POST,
    "T5": PRE.replace("N(", "R("), "T5, gated": PRE.replace("N(", "R("),
    "crossed sandwich": "O = X + N(A(N(X))) | C = O + N(C(N(O), m)) | H = C + N(F(N(C)))",
    "crossed deepnorm": r"O = N(\alpha\, X + A(X)) | C = N(\alpha\, O + C(O, m)) | H = N(\alpha\, C + F(C)) | "
                        r"\alpha = 1.732",                                                       # (3 · 3)^(1/4)
    "crossed attention alone": "O = X + A(N(X)) | H = O + C(N(O), m)",
}
# the rows of the part between, from what it reads to the stream after it
NAMES = {
    "crossed pre": "N(O)|+ CrossAttention(…, memory)|C = O + cross-attention|N(C)",
    "crossed post": "+ CrossAttention(O, memory)|O + cross-attention|C = N(…)",
    "Marian": "+ CrossAttention(O, memory)|O + cross-attention|C = N(…)|Swish(C W_{1} + b_{1})|+ FFN(C)|C + FFN",
    "T5": "R(O)|+ CrossAttention(…, memory)|C = O + cross-attention|R(C)|ReLU(z W_{1})",
    "T5, gated": "R(O)|+ CrossAttention(…, memory)|C = O + cross-attention|R(C)|GELU(z W_{gate}) · z W_{1}",
    "crossed sandwich": "N(O)|CrossAttention(…, memory)|+ N(cross-attention)|C = O + N(cross-attention)|N(C)",
    "crossed deepnorm": "+ CrossAttention(O, memory)|α O + cross-attention|C = N(…)",
    "crossed attention alone": "N(O)|+ CrossAttention(…, memory)|H = O + cross-attention",
}
READINGS = {
    "crossed pre": "X #, normed #; plus attention # gives O #, normed #; plus cross-attention to memory # gives C #, "
                   "normed #; plus FFN # gives H #",
    "crossed post": "X #; plus attention # is #, normed O #; plus cross-attention to memory # is #, normed C #; plus "
                    "FFN # is #, normed H #",
    "crossed deepnorm": "X #; attention #, with α X #, normed O #; cross-attention to memory #, with α O #, normed C "
                        "#; FFN #, with α C #, normed H #",
}
crossings = pytest.mark.parametrize("crossing", CROSSED)


@functools.cache
def kept(crossing: str) -> cache.LoadedModel:
    """A small random encoder-decoder of this wiring, as a reader's own model is kept; "translator" is the bundled one.
    """
    translator = cache.shared_model("translator", "cpu")
    if crossing == "translator":
        return translator
    config = ModelConfig.of(**{"kind": "encoder-decoder", "n_encoder_layers": 1, "n_context": 64, "d_model": 12,
                            "vocab_size": translator.tokenizer.vocab_size, "n_layers": 3, "n_heads": 4,
                            } | CROSSED[crossing][0])
    model, generator = Transformer(config), torch.Generator().manual_seed(7)
    model.initialise(generator)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator))
    name = cache.keep_own(model.eval().requires_grad_(False), translator.tokenizer, "crossed")
    return cache.shared_model(name, "cpu")


def opened(crossing: str, **settings: str) -> AppTest:
    return lessons.opened("residual_stream", {"view": "block", "beside": str(BESIDE)} | settings,
                          model=kept(crossing).name, prompt=DATE, layer="1")


def traced(crossing: str) -> Trace:
    """The pass over what the model writes for the date, token by token and without a cache."""
    model = kept(crossing).model
    source, ids = torch.tensor(kept(crossing).tokenizer.encode(DATE)), [model.config.first_token]
    while len(ids) < 41:
        likeliest = int(model(torch.tensor(ids), source_ids=source).logits[-1].argmax())
        if likeliest in model.config.ends:
            break
        ids.append(likeliest)
    # of 40 tokens that do not end the last is read no more
    return model(torch.tensor(ids[:40]), source_ids=source)


def of(block: BlockTrace, field: str) -> torch.Tensor:
    place, _, name = field.rpartition(".")
    return getattr(block.cross if place else block, name)


@pytest.mark.parametrize("crossing", ["translator", *CROSSED])
def test_the_strips_are_what_the_pass_over_its_own_translation_computed(crossing):
    header, trace = given(opened(crossing), "residual_block"), traced(crossing)
    names = CROSSED["crossed post" if crossing == "translator" else crossing][1].split()
    assert [row["kind"] for row in header["rows"]] == names
    assert [row["kind"] for row in header["rows"] if row["reads_memory"]] == ["cross"]
    visible = kept(crossing).tokenizer.visible
    assert header["tokens"] == [visible(int(trace.token_ids[i])) for i in (-1, BESIDE)]
    for name, own_and_other in zip(names, strips(header)):
        for values, position in zip(own_and_other, (-1, BESIDE)):
            if name in FIELDS:
                assert np.allclose(values, of(trace.blocks[1], FIELDS[name])[position].numpy(), atol=2e-5), name


def test_the_translator_writes_the_date_while_its_block_is_shown():
    at = opened("translator")
    assert any(WRITTEN in caption.value and "10 tokens" in caption.value for caption in at.caption)
    assert at.session_state["model"] == "translator" and at.query_params["model"] == "translator"
    assert "".join(kept("translator").tokenizer.decode([int(i)]) for i in traced("translator").token_ids[1:]) == WRITTEN
    places = lessons.listed(at, "residual_stream_pick_position").options
    assert len(places) == len(traced("translator").token_ids) and places[-1].endswith("1")


@crossings
def test_the_lines_the_names_and_what_the_pointer_reads_are_those_of_the_wiring(crossing):
    at = opened(crossing)
    line = re.sub(r"\b[ACNRF](?=\()", lambda letter: OPERATORS[letter[0]], FORMULAS[crossing])
    line = line.replace(", m)", r", \text{memory})")
    assert line.split(" | ") in [re.findall(r"\$(.+?)\$", each.value) for each in at.markdown]
    rows = given(at, "residual_block")["rows"]
    names = [re.sub(r"\b[NR](?=\()", lambda norm: {"N": "LayerNorm", "R": "RMSNorm"}[norm[0]], name)
             for name in NAMES[crossing].split("|")]
    first = [row["kind"] for row in rows].index("O") + 1
    assert [row["name"] for row in rows[first:first + len(names)]] == names
    said = "".join(text if text[0] in ",;" else f" {text}" for text in
                   (WORDS.label(f"blocks_read_{row['read']}").replace("{value}", "#") for row in rows if row["read"]))
    assert said.strip() == READINGS.get(crossing, said.strip())


@pytest.mark.parametrize("exchange", ["attention", "cross", "mlp"])
@pytest.mark.parametrize("crossing", ["translator", *CROSSED])
def test_only_an_exchange_before_self_attention_reaches_the_rows_of_another_token(crossing, exchange):
    at = opened(crossing, exchange=exchange)
    rows = given(at, "residual_block")["rows"]
    if exchange == "mlp" and "mlp" not in [row["kind"] for row in rows]:        # there is no such choice
        assert [row["changed"] for row in rows] == [""] * len(rows)
        return
    same = [row["changed"] == WORDS.label("block_same") for row in rows]
    reached = [row["kind"] for row in rows].index("attention")
    assert same == [exchange != "attention" or place < reached for place in range(len(rows))]


@crossings
def test_the_sums_in_numbers_add_up(crossing):
    lines, block = formulas(opened(crossing)), traced(crossing).blocks[1]
    alpha, factor = 3 ** 0.5 if crossing == "crossed deepnorm" else 1, crossing == "crossed deepnorm"
    for letters, stream, added in (("x_0 + a_0", block.resid_pre, block.attn_added),
                                   ("o_0 + c_0", block.resid_mid, block.cross.attn_added)):
        line = next(line for line in lines if letters in line)
        *terms, total = numbers_in(line)
        x, y = float(stream[-1, 0]), float(added[-1, 0])
        assert terms == pytest.approx([*[alpha] * factor, x, y], abs=2e-4) and line.startswith(r"\alpha") is factor
        assert total == pytest.approx(alpha * x + y, abs=2e-4)


@crossings
def test_the_title_and_the_table_say_what_the_rows_hold(crossing, monkeypatch):
    told = {}
    monkeypatch.setattr(frame.code_and_data, "draw", lambda _lesson, _title, _functions, data, _picture, twin, *_:
                        told.update(data, title=twin))
    header, block = given(opened(crossing), "residual_block"), traced(crossing).blocks[1]
    for vector in (block.resid_pre, block.attn_added, block.cross.attn_added, block.resid_post):
        assert readable(float(vector[-1].norm())) in told["title"]
    assert "cross-attention one of" in told["title"]
    table = told["block.csv"]()
    assert table["row"].unique().tolist() == [row["name"] for row in header["rows"]]
    last = table[-2 * 12:]
    assert last["position"].tolist() == [len(block.resid_post) - 1] * 12 + [BESIDE] * 12
    assert np.allclose(last["value"], block.resid_post[[-1, BESIDE]].numpy().ravel(), atol=2e-5)


@pytest.mark.parametrize("crossing", ["translator", "crossed pre", "T5, gated", "Marian"])
def test_two_tokens_that_enter_with_one_vector_differ_from_self_attention_on(crossing):
    answered(opened(crossing), "block", 1)


@pytest.mark.parametrize("crossing", ["translator", "crossed pre", "T5", "crossed sandwich"])
def test_the_guess_before_the_picture_is_about_all_three_parts(crossing):
    asked = dict(model=kept(crossing).name, prompt=DATE, layer="1")
    waiting = predictions.question(predictions.ask("residual_stream", "block", **asked))
    assert "of the decoder" in waiting["question"]
    assert waiting["guess"]["texts"] == [
        WORDS.label(f"before_block_{name}") for name in ("attention", "cross", "mlp", "both", "none")]
    shown = predictions.told("residual_stream", "block", 0, **asked)
    assert shown["answer"] == 0 and shown["true"].startswith("Before self-attention the exchange")


def test_its_norms_cannot_be_moved_and_a_single_token_is_drawn_alone():
    at = lessons.opened("residual_stream", {"view": "block", "block_order": "pre"}, model="translator", prompt=DATE)
    assert "residual_stream_block_order_widget" not in [each.key for each in at.get("button_group")]
    assert "cross_sum" in [row["kind"] for row in given(at, "residual_block")["rows"]]
    at = lessons.opened("residual_stream", {"view": "block"}, model="translator", prompt="")
    assert given(at, "residual_block")["rows"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    root = tmp_path_factory.mktemp("crossed")
    library_models.other_kind(root, "t5")
    library_models.marian(root)
    with kinds.offered(root):
        yield


@pytest.mark.parametrize("name, line", [
    ("t5", r"C = O + \operatorname{CrossAttention}(\operatorname{RMSNorm}(O), \text{memory})"),
    ("marian", r"C = \operatorname{LayerNorm}(O + \operatorname{CrossAttention}(O, \text{memory}))")])
def test_a_block_of_a_published_one_is_drawn_as_transformers_has_its_kind(name, line, library):
    at = lessons.opened("residual_stream", {"view": "block"}, model=f"folder:{name}", prompt="the cat sat")
    assert any(line in each.value for each in at.markdown if each.value.startswith("$O"))
    assert any(row["reads_memory"] for row in given(at, "residual_block")["rows"])
    other = lessons.opened("residual_stream", {"view": "lens"}, model=f"folder:{name}", prompt="the cat sat")
    assert prose.load("app").label("not_of_encoder-decoder") in [info.value for info in other.info]
