"""The worksheets: what they ask is solved once more, by other means, from what stands on the sheet alone."""
from __future__ import annotations

import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from core.base import prose
from core.model import checkpoints
from core.model.config import ModelConfig
from core.sheets import exercises
from core.sheets.exercises_print import Blank, Block, Code, Sheet, printable

SEEDS = range(12)
WORDS = prose.load("course").section("merge_words").split()


@pytest.fixture(scope="module")
def tokenizer():
    return checkpoints.load_bundled("stories")[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_merges_by_the_lowest_rule_lead_to_the_tokenizers_own_tokens(tokenizer, seed):
    sheet = exercises.merges(seed, tokenizer, WORDS)
    rules = {(left, right): rank for rank, left, right in sheet.rules}
    assert (len(sheet.words) == 3 and len(rules) <= exercises.MOST_RULES
            and [rank for rank, *_ in sheet.rules] == sorted(rules.values()))
    for word in sheet.words:
        pieces = list(word.word)
        for rank, after in word.steps:
            pairs = [(rules[pair], i) for i, pair in enumerate(zip(pieces, pieces[1:])) if pair in rules]
            assert min(pairs)[0] == rank
            i = min(pairs)[1]
            pieces[i:i + 2] = ["".join(pieces[i:i + 2])]
            while tuple(pieces) != after:       # the same rule once more, farther right
                i = min(i for r, i in ((rules.get(pair), i) for i, pair in enumerate(zip(pieces, pieces[1:])))
                        if r == rank)
                pieces[i:i + 2] = ["".join(pieces[i:i + 2])]
        assert not any(pair in rules for pair in zip(pieces, pieces[1:]))
        assert [tokenizer.token_bytes(i).decode() for i in tokenizer.encode(word.word)] == pieces


def test_a_list_of_words_that_do_not_suit_is_refused(tokenizer):
    with pytest.raises(ValueError, match="Too few"):
        exercises.merges(0, tokenizer, ["a", "I"])


@pytest.mark.parametrize("seed", SEEDS)
def test_softmax_top_k_top_p_and_the_draw_from_the_six_rounded_logits(seed):
    dice = np.random.default_rng(100 + seed)
    logits, names = dice.normal(0, 2, 50), [f"t{i}" for i in range(50)]
    sheet = exercises.sampling(seed, logits, names)
    best = sorted(range(50), key=lambda i: -logits[i])[:6]
    assert (sheet.tokens == tuple(names[i] for i in best)
            and np.array_equal(sheet.logits, [round(float(logits[i]), 1) for i in best]))
    weights = [math.exp(u - sheet.logits[0]) for u in sheet.logits]
    y = [w / sum(weights) for w in weights]
    assert np.allclose(sheet.truncated().probs, y)
    warm = [math.exp((u - sheet.logits[0]) / sheet.temperature) for u in sheet.logits]
    assert np.allclose(sheet.truncated(temperature=sheet.temperature).probs, [w / sum(warm) for w in warm])
    assert np.allclose(sheet.truncated(k=sheet.k).renormalised,
                       [p / sum(y[:sheet.k]) if i < sheet.k else 0 for i, p in enumerate(y)])
    kept = next(n for n in range(1, 7) if sum(y[:n]) >= sheet.p)
    mass, ends = sum(y[:kept]), [sum(y[:i + 1]) / sum(y[:kept]) for i in range(kept)]
    assert (1 < kept < 6 or y[0] > 0.85) and np.allclose(sheet.truncated(p=sheet.p).renormalised,
                                                         [p / mass if i < kept else 0 for i, p in enumerate(y)])
    assert sheet.drawn == next(i for i, end in enumerate(ends) if sheet.xi < end)
    # no rounding decides
    assert (y[0] > 0.85 or min(abs(sum(y[:n]) - sheet.p) for n in range(1, 7)) > 0.01
                           and min(abs(end - sheet.xi) for end in ends) > 0.01)


def test_one_candidate_that_outweighs_all_others_is_borne():
    sheet = exercises.sampling(3, np.array([40.0, 1, 1, 1, 1, 1, 1]), list("abcdefg"))
    assert sheet.tokens[sheet.drawn] == "a"


def test_the_chain_rule_from_the_rounded_probabilities():
    sheet = exercises.chain(list("abcdefghijkl"), np.log(np.linspace(0.1234567, 0.9, 12)))
    assert len(sheet.tokens) == 8 and sheet.probabilities[0] == 0.123
    assert (math.isclose(math.exp(-sheet.total), math.prod(sheet.probabilities))
            and np.allclose(np.exp(-sheet.nats), sheet.probabilities))
    assert math.isclose(sheet.perplexity, math.prod(sheet.probabilities) ** (-1 / 8))
    assert exercises.chain(["a", "b"], np.log([0.99987, 1 - 1e-9])).probabilities.tolist() == [0.9999, 0.999999999]


@pytest.mark.parametrize("seed", SEEDS)
def test_positions_are_sines_and_cosines_and_two_products_are_equal(seed):
    sheet = exercises.positions(seed)
    a, b, c, d = sheet.places
    assert b - a == d - c and len(set(sheet.places)) == 4
    slow = 1 / math.sqrt(sheet.base)
    vectors = [[math.sin(i), math.cos(i), math.sin(i * slow), math.cos(i * slow)] for i in sheet.places]
    assert np.allclose(sheet.vectors, vectors)
    P = np.array(vectors)
    assert (math.isclose(P[0] @ P[1], P[2] @ P[3])
            and math.isclose(P[0] @ P[1], math.cos(b - a) + math.cos((b - a) * slow)))


def test_counting_agrees_with_the_weights_of_the_bundled_model():
    model, _ = checkpoints.load_bundled("stories")
    counts = exercises.counts(exercises.architecture(0, model.config))
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    assert counts["total"] == sum(sizes.values()) and counts["E"] == sizes["E"]
    assert (counts["attention"] == sum(sizes[f"blocks.0.{name}"] for name in ("W_Q", "W_K", "W_V", "W_O"))
            and counts["mlp"] == sum(sizes[f"blocks.0.{name}"] for name in ("W_1", "W_2")))


@pytest.mark.parametrize("more", [dict(qk_norm=True), dict(n_experts=2, n_active_experts=1)], ids=str)
def test_a_model_with_more_than_the_sheet_has_rows_for_is_not_counted(more):
    config = ModelConfig.of(vocab_size=10, d_model=4, n_layers=1, n_heads=1, n_context=4, **more)
    drawn = exercises.architecture(0, config)
    assert not drawn.sublayer.qk_norm and not drawn.experts.n_experts and exercises.architecture(0, drawn) == drawn


@pytest.mark.parametrize("seed", range(1, 8))
def test_counting_a_drawn_model(seed):
    config = exercises.architecture(seed, ModelConfig(vocab_size=10, d_model=4, n_layers=1, n_heads=1, n_context=4))
    d, L, counts = config.d_model, config.n_layers, exercises.counts(config)
    assert d == config.n_heads * config.d_k and config.d_ff == 4 * d
    assert counts["blocks"] == L * (4 * d * d + 8 * d * d) == counts["rough"]
    assert (counts["total"] == config.vocab_size * d + config.n_context * d + 12 * L * d * d + (2 * L + 1) * 2 * d
                               + L * (4 * d + 4 * d + d))


# ---- the printed page ------------------------------------------------------------------------------------------------


class _Cells(HTMLParser):
    """The text of every table cell."""

    def __init__(self) -> None:
        super().__init__()
        self.cells, self.inside = [], False

    def handle_starttag(self, tag, attributes):
        self.inside = tag == "td"
        if self.inside:
            self.cells.append("")

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "td"

    def handle_data(self, data):
        if self.inside or (self.cells and self.cells[-1] and data.isalnum() and len(data) < 3):
            self.cells[-1] += data


def cells(page: str) -> list[str]:
    reader = _Cells()
    reader.feed(page)
    return reader.cells


def test_answers_stand_on_the_solution_alone_and_nothing_is_markup():
    block = Block("x_i <b>", "e^z & more", ["u_i"], [[Code("<a_b>"), Blank("42"), Blank("_c^", code=True)]], "because")
    sheet = Sheet("A <title>", "note", "intro", [block], "Name", "footer")
    blank, solved = (printable(sheet, solved, "solution") for solved in (False, True))
    assert cells(blank) == ["<a_b>", "", ""] and cells(solved) == ["<a_b>", "42", "_c^"]
    assert ("<title>A &lt;title&gt;</title>" in blank and "<sub>i</sub>" in blank
            and "e<sup>z</sup> &amp; more" in blank and "<b>" not in blank)
    assert "Name ____" in blank and "Name ____" not in solved and "A &lt;title&gt;: solution" in solved
    assert "because" in solved and "because" not in blank
    assert re.search(r"@page", blank) and "script" not in blank
