"""BPE as it learns and Unigram as it prunes: what the pictures count is what counting by hand and by definition finds.
"""
from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter

import pytest

from core.base import prose
from core.language.segmentation import words_of
from tests.helpers import lessons, messages
from tests.helpers.javascript import evaluate
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas
from tests.helpers.predictions import ask, commit, question
from tests.helpers.prompts import PROMPTS

WORDS = prose.load("tokens")
TEXTS = {"textbook": WORDS.section("textbook"), "example": WORDS.section("training")}
# after n merges, the pair that is joined next and how often it stands, counted by hand: newest 6, low 5, widest 3,
# lower 2, and the first low has no space before it
BY_HAND = [("e", "s", 9), ("es", "t", 9), ("l", "o", 7), ("lo", "w", 7), (" ", "n", 6)]

open_at = functools.partial(lessons.open_at, "tokens")


def counted(text: str, merges: list) -> Counter:
    """The pairs of neighbours after these merges, by rewriting every word of the text as it stands."""
    pairs: Counter = Counter()
    for word in words_of(text):
        pieces = list(word)
        for left, right in merges:
            at = 0
            while at + 1 < len(pieces):
                if pieces[at] == left and pieces[at + 1] == right:
                    pieces[at:at + 2] = [left + right]
                at += 1
        pairs.update(zip(pieces, pieces[1:]))
    return pairs


@pytest.mark.parametrize("n", range(len(BY_HAND)))
def test_the_textbook_case_is_the_one_worked_by_hand(n: int):
    at = open_at(tokens_view="bpe", tokens_joined=str(n))
    sent = messages.given(at, "token_bpe")
    left, right, times = BY_HAND[n]
    assert sent["merges"][n] == [left, right] and counted(TEXTS["textbook"], sent["merges"][:n])[left, right] == times
    shown = formulas(at)[0]
    products = [int(a) * int(b) for a, b in re.findall(r"(\d+) \\cdot (\d+)", shown)]
    assert sum(products) == times and shown.endswith(f"= {times}")


@pytest.mark.parametrize("source", TEXTS)
@pytest.mark.parametrize("n", [0, 1, 3, 9, -1])
def test_the_numbers_are_of_the_state_that_is_drawn(source: str, n: int):
    at = open_at(tokens_view="bpe", tokens_bpe_source=source, tokens_joined=str(n))
    sent, text = messages.given(at, "token_bpe"), TEXTS[source]
    done = len(sent["merges"]) if n < 0 else n
    states = evaluate("pages/tokens/bpe.js",
                      "(() => { const s = new m.States(words, merges); return { pairs: m.pairCounts(s.at(n)), "
                      "tokens: s.tokens(n), next: n < merges.length ? s.tokens(n + 1) : null }; })()",
                      words=sent["words"], merges=sent["merges"], n=done)
    pairs = counted(text, sent["merges"][:done])
    assert {(pair["left"], pair["right"]): pair["count"] for pair in states["pairs"]} == pairs
    lines = formulas(at)
    size = len(set(text))
    assert lines[-1] == f"|V| = {size} + {done} = {size + done}"
    if done < len(sent["merges"]):
        assert pairs[tuple(sent["merges"][done])] == max(pairs.values())
        assert lines[1] == f"{states['tokens']} - {states['tokens'] - states['next']} = {states['next']}"
    else:
        assert not pairs and lines[0] == f"{states['tokens']}" and states["tokens"] == len(words_of(text))


def test_merging_in_the_browser_goes_from_left_to_right():
    assert evaluate("pages/tokens/bpe.js", 'm.joined(["a", "a", "a", "b"], "a", "a")') == ["aa", "a", "b"]


@pytest.mark.parametrize("query", [{}, {"tokens_bpe_source": "example"},
                                   {"tokens_bpe_source": "prompt", "prompt": "banana bandana cabana"}])
def test_the_first_pair_is_the_most_frequent_of_the_text(query: dict):
    at = ask("tokens", "bpe", **query)
    text = query.get("prompt") or TEXTS[query.get("tokens_bpe_source", "textbook")]
    pairs = counted(text, [])
    offered = [tuple(re.findall(r"`([^`]+)`", name)) for name in question(at)["guess"]["texts"]]
    counts = [pairs[tuple(piece.replace("·", " ") for piece in pair)] for pair in offered]
    found = commit(at, "tokens", "bpe", 0)
    assert counts[found["answer"]] == max(pairs.values()) and counts.count(max(counts)) == 1
    assert f"{max(counts)} times" in found["reason"]


# ---- Unigram ---------------------------------------------------------------------------------------------------------


def ways(word: str, log_p: dict[str, float]) -> list[tuple[float, list[int]]]:
    """ln p of every way to cut the word with the lengths of its pieces, the best first."""
    found = []
    for places in itertools.chain.from_iterable(itertools.combinations(range(1, len(word)), k)
                                                for k in range(len(word))):
        cuts = list(zip((0, *places), (*places, len(word))))
        if all(word[a:b] in log_p for a, b in cuts):
            found.append((sum(log_p[word[a:b]] for a, b in cuts), [b - a for a, b in cuts]))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("number", [0, 2, 5, -1])
@pytest.mark.parametrize("word", ["", "slowness", "walked"])
def test_the_lattice_and_the_numbers_are_of_the_round_that_is_drawn(number: int, word: str):
    at = open_at(tokens_view="unigram", tokens_round=str(number), tokens_cut=word)
    sent = messages.given(at, "token_unigram")
    one, cut = sent["rounds"][number], sent["word"]
    assert cut == (f" {word}" if word else max(words_of(TEXTS["example"]), key=len))
    p = {cut[start:end]: math.log(value) for start, end, value in one["edges"]}
    every = ways(cut, p)
    assert one["score"] == pytest.approx(every[0][0]) and one["cut"] == every[0][1]
    total = math.log(sum(math.exp(score) for score, _ in every))
    assert one["share"] == pytest.approx(math.exp(every[0][0] - total))
    lines = formulas(at)
    assert lines[0].endswith(f"= {every[0][0]:.4f}") and lines[1].endswith(f"= {total:.4f}")
    assert float(re.search(r"= (-[\d.]+)$", lines[2])[1]) == pytest.approx(one["log"], abs=1e-3)
    if one["dropped"]:
        loss = one["dropped"][0][3]
        assert (lines[3].endswith("< 10^{-6}") if loss < 1e-6
                else float(lines[3].rsplit("= ", 1)[1]) == pytest.approx(loss, abs=1e-4))


def test_of_each_round_the_least_missed_are_dropped_and_listed():
    rounds = messages.given(open_at(tokens_view="unigram"), "token_unigram")["rounds"]
    for one, after in zip(rounds, rounds[1:]):
        assert after["size"] == one["size"] - one["n_dropped"]
        assert max(item[3] for item in one["dropped"]) <= min((item[3] for item in one["kept"]), default=1e9) + 1e-8
        assert all(item[0] in item[4] for item in (*one["dropped"], *one["kept"]))
    assert rounds[-1]["n_dropped"] == 0 and rounds[-1]["size"] == len(set(TEXTS["example"]))
    # what is dropped first is not missed: a longer piece does its work
    assert rounds[0]["free"] == rounds[0]["n_dropped"] > 50


def test_a_word_that_was_never_read_is_cut_into_parts_that_were():
    experiment = next(one for one in WORDS.experiments if one.id == "prune")
    assert "slowness" not in TEXTS["example"]
    sent = messages.given(open_at(**{key: str(value) for key, value in experiment.settings.items()}), "token_unigram")
    cuts = [one["cut"] for one in sent["rounds"]]
    assert sent["word"] == " slowness" and cuts[0] == [5, 4] and cuts[-1] == [1] * 9 and [5, 1, 1, 1, 1] in cuts


def test_rows_of_the_lattice_never_overlap_and_the_best_way_is_in_them():
    edges = [[0, 1, 0.1], [1, 2, 0.2], [0, 2, 0.3], [2, 3, 0.1], [1, 3, 0.05], [0, 3, 0.01]]
    found = evaluate("pages/tokens/pruning.js", 'm.stacked(edges, new Set(["0,2", "2,3"]), 2)', edges=edges)
    assert sorted(found["rows"][0]) == [[0, 2, 0.3], [2, 3, 0.1]] and found["left"] == 2
    for row in found["rows"]:
        spans = sorted(edge[:2] for edge in row)
        assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))


def test_the_piece_that_is_needed_most_has_the_largest_loss():
    at = ask("tokens", "unigram")
    offered = [name.strip("`").replace("·", " ") for name in question(at)["guess"]["texts"]]
    found = commit(at, "tokens", "unigram", 0)
    one = messages.given(at, "token_unigram")["rounds"][1]
    losses = {item[0]: item[3] for item in (*one["dropped"], *one["kept"])}
    assert offered[found["answer"]] == max(losses, key=losses.get) and "below 0.01 nats" in found["true"]


@pytest.mark.parametrize("view, component", [("bpe", "token_bpe"), ("unigram", "token_unigram")])
@pytest.mark.parametrize("prompt", [*filter(None, PROMPTS.values()), "a", "\n\n", "x" * 900], ids=len)
def test_any_text_can_be_played(view: str, component: str, prompt: str):
    at = open_at(tokens_view=view, tokens_source="prompt", tokens_bpe_source="prompt", tokens_round="1",
                 tokens_joined="1", prompt=prompt)
    assert fine(at) and messages.given(at, component)["identity"]
