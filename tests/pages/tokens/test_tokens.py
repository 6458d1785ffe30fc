"""The lesson Tokens: what the pictures are given is what the tokenizers do, the numbers hold, the question has
the right answer.
"""
from __future__ import annotations

import functools
import math
import re
from collections import Counter
from pathlib import Path

import pytest
import tokenizers
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.app.state.run import Run, read
from core.base import prose, signs
from core.language.segmentation import WORDS, words_of
from core.model.tokenizer import Tokenizer, visible_form
from pages.tokens import learned, merges, methods, vocabulary
from pages.tokens.shared import bundled_tokenizers, hex_bytes
from tests.helpers import lessons, messages
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas
from tests.helpers.predictions import ask, commit, question
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
TEXT = prose.load("tokens")
COMPONENT = {"merges": "token_merges", "methods": "token_methods", "bpe": "token_bpe",
             "unigram": "token_unigram", "train": "token_training",
             "vocabulary": "token_vocabulary"}


open_at = functools.partial(lessons.open_at, "tokens")


def given(at: AppTest, view: str) -> dict:
    return messages.given(at, COMPONENT[view])


def run_of(prompt: str) -> Run:
    return read(cache.shared_model(cache.model_names()[0], "cpu"), prompt)


@pytest.mark.parametrize("prompt", [*PROMPTS.values(), "word " * 5000, "x" * 30_000, "$a_b^c$ \\ {} #", "\n\n\n"],
                         ids=[*PROMPTS, "long", "one long word", "TeX", "blank"])
@pytest.mark.parametrize("view", COMPONENT)
def test_every_view_bears_every_prompt(view: str, prompt: str | None):
    query = {} if prompt is None else {"prompt": prompt}
    assert fine(open_at(tokens_view=view, tokens_source="prompt", tokens_bpe_source="prompt", **query))


# ---- merges ----------------------------------------------------------------------------------------------------------


def replayed(sent: dict, step: int) -> list[int]:
    """The ids of the pieces after `step` steps, from the single merges that the component was given."""
    pieces = {i: (i + 1, token) for i, token in enumerate(sent["leaves"])}
    for when, start, middle, end, token in sent["nodes"]:
        if when < step:
            assert pieces[start][0] == middle and pieces[middle][0] == end, "a merge joins two neighbours"
            del pieces[middle]
            pieces[start] = (end, token)
    return [token for _, (_, token) in sorted(pieces.items())]


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_the_merges_end_at_the_models_tokens(prompt: str | None):
    at = open_at(**({} if prompt is None else {"prompt": prompt}))
    sent, run = given(at, "merges"), run_of(at.session_state["prompt"])
    final = replayed(sent, len(sent["steps"]))
    assert final == list(run.token_ids[sent["first"]:][:len(final)])
    assert len(sent["leaves"]) <= merges.MOST_BYTES + 64
    if prompt != PROMPTS["256 tokens"]:
        assert final == list(run.token_ids[1:])


def test_the_next_step_is_the_waiting_pair_of_the_lowest_rank():
    sent = given(open_at(), "merges")
    starts = set(sent["words"])
    for step, (rank, left, right, made) in enumerate(sent["steps"]):
        pieces, at, waiting = replayed(sent, step), 0, []
        lengths = {i: len(bytes.fromhex(sent["bytes"][str(i)])) for i in pieces}
        for one, other in zip(pieces, pieces[1:]):
            at += lengths[one]
            if at not in starts and f"{one},{other}" in sent["pairs"]:
                waiting.append(sent["pairs"][f"{one},{other}"])
        assert min(waiting) == rank == sent["pairs"][f"{left},{right}"] and made == 256 + rank


def test_a_text_that_does_not_fit_is_played_from_its_first_whole_word():
    run = run_of("alpha beta gamma delta " * 200)
    found = merges.merging_of(run)
    assert run.n_cut > 0 and found.left_out == 0
    final = [run.tokenizer.id_of(piece) for word in found.final for piece in word]
    assert final == list(run.token_ids[found.first:][:len(final)])
    long = merges.merging_of(run_of("everything " * 200))
    assert long.left_out > 0 and long.n_bytes <= merges.MOST_BYTES


def test_single_merges_of_a_word_by_hand():
    words = (b"abab",)
    steps = tuple(merges.segmentation.merge_steps([merges.split(word) for word in words],
                                                  {(b"a", b"b"): 1, (b"ab", b"ab"): 2}))
    assert merges.nodes_of(words, steps) == [(0, 0, 1, 2, b"ab"), (0, 2, 3, 4, b"ab"), (1, 0, 2, 4, b"abab")]
    assert merges.merges_made(merges.split(b"abab"), list(steps)) == [2, 1]


def test_the_player_opens_at_its_beginning():
    assert given(open_at(), "merges")["settings"]["step"] == 0


def test_a_link_stands_at_its_step_and_present_mode_does_not_confuse_it():
    assert given(open_at(tokens_merged="7"), "merges")["settings"]["step"] == 7
    at = open_at(tokens_merged="7", present="true")
    assert any("0 / 6" in m.value for m in at.markdown)


def test_the_numbers_of_merges():
    assert r"\frac{7}{7} = 1.0000" in formulas(open_at(prompt="the cat"))[0]          # before the first merge
    lines = formulas(open_at(prompt="the cat", position="1", tokens_merged="-1"))
    run = run_of("the cat")
    assert re.search(r"\{7\}\{(\d+)\}", lines[0])[1] == str(len(run.token_ids) - 1)
    token = run.token_ids[1]
    assert lines[1] == rf"\mathrm{{id}} = 256 + k = 256 + {token - 256} = {token}"
    assert lines[2] == "3 - 2 = 1"


@pytest.mark.parametrize("merged", ["0", "1", "5", "40", "-1"])
def test_the_rate_is_that_of_the_pieces_that_are_drawn(merged: str):
    at = open_at(tokens_merged=merged)
    sent = given(at, "merges")
    step = len(sent["steps"]) if merged == "-1" else int(merged)
    n, pieces = len(sent["leaves"]), len(replayed(sent, step))
    assert formulas(at)[0].endswith(rf"\frac{{{n}}}{{{pieces}}} = {n / pieces:.4f}")


# ---- methods ---------------------------------------------------------------------------------------------------------


def test_the_table_counts_what_each_method_makes():
    at = open_at(tokens_view="methods")
    sent, run = given(at, "methods"), run_of(at.session_state["prompt"])
    texts = [*prose.load("tokens").section("examples").splitlines(), run.text]
    assert len(texts) == len(sent["examples"]) == 7
    names = [method["name"] for method in sent["methods"]]
    counts = {name: method["counts"] for name, method in zip(names, sent["methods"])}
    assert (counts["Split at spaces"] == [len(one.split(" ")) for one in texts]
            and counts["Split at spaces"][:2] == [1, 1])
    assert counts["Characters"] == [len(one) for one in texts] and counts["Characters"][:2] == [7, 25]
    assert counts["Bytes"] == [len(one.encode()) for one in texts] and counts["Bytes"][:2] == [21, 25]
    assert counts["BPE of stories"] == [len(run.tokenizer.encode(one)) for one in texts]
    for name in ("induction", "translator"):
        other = Tokenizer.load(ROOT / "assets" / "models" / name / "tokenizer.json")
        assert counts[f"BPE of {name}"] == [len(other.encode(one)) for one in texts]
    for method in sent["methods"]:
        for count, pieces in zip(method["counts"], method["pieces"]):
            assert len(pieces) == min(count, methods.SHOWN)
    assert sent["methods"][-1]["unknown"][0] == 7 and sent["methods"][3]["unknown"] == [0] * 7


@pytest.mark.parametrize("source, text", [("example", "example"), ("prompt", "your text"),
                                          ("textbook", "textbook")])
def test_what_was_learned_is_named_by_its_text(source: str, text: str):
    names = [method["name"] for method in given(open_at(tokens_view="methods", tokens_source=source),
                                                "methods")["methods"]]
    assert names[-2:] == [f"BPE, {text}", f"Unigram, {text}"]


def test_every_different_tokenizer_is_there_once():
    assert set(bundled_tokenizers()) == {"stories", "induction", "translator"}


def test_the_pieces_of_a_word_are_the_word():
    sent = given(open_at(tokens_view="methods"), "methods")
    for method in sent["methods"]:
        assert "".join(method["pieces"][1]) == "Abwasserbehandlungsanlage"


# ---- train -----------------------------------------------------------------------------------------------------------


def test_the_picture_of_training_is_given_cuts_that_make_up_the_words():
    sent = given(open_at(tokens_view="train"), "train")
    assert sent["sizes"] == sorted(set(sent["sizes"])) and sent["bpe"][0]["size"] == sent["sizes"][0]
    for kind in ("bpe", "unigram"):
        for entry in sent[kind]:
            assert [sum(cut) for cut in entry["cuts"]] == [len(word) for word in sent["letters"]]
    assert sent["bpe"][0]["tokens"] == sent["ends"]["characters"] and sent["bpe"][-1]["tokens"] == sent["ends"]["words"]
    assert [e["tokens"] for e in sent["bpe"]] == sorted((e["tokens"] for e in sent["bpe"]), reverse=True)


def test_bpe_of_the_picture_is_the_library_trained_for_that_size():
    learnt = prose.load("tokens").section("training")
    sent = given(open_at(tokens_view="train"), "train")
    for at in (3, 9):
        library = tokenizers.Tokenizer(tokenizers.models.BPE())
        library.pre_tokenizer = WORDS
        library.train_from_iterator([learnt],
                                    tokenizers.trainers.BpeTrainer(vocab_size=sent["sizes"][at], show_progress=False))
        assert len(library.encode(learnt).ids) == sent["bpe"][at]["tokens"]


def test_the_objective_is_the_likelihood_of_the_text():
    at = open_at(tokens_view="train")
    sent = given(at, "train")
    found = learned.learned(prose.load("tokens").section("training"))
    size = sent["settings"]["size"]
    unigram = found.unigram(size)
    # word for word along the text, each by the sum over its ways, deep enough to hold them all
    slow = 0.0
    for word in words_of(found.text):
        slow += math.log(sum(math.exp(score) for score, _ in unigram.segmentations(word, 10_000)))
    shown = float(re.search(r"= (-[\d.]+)$", formulas(at)[-1])[1])
    assert (shown == pytest.approx(slow, abs=1e-3)
            and sent["unigram"][sent["sizes"].index(size)]["log"] == pytest.approx(slow, abs=1e-6))


def test_the_numbers_of_training_hold_on_a_calculator():
    lines = formulas(open_at(tokens_view="train"))
    best = next(line for line in lines if r"\ln \prod_i" in line and "sum" not in line)
    *terms, total = (float(number) for number in re.findall(r"-\d+\.\d+", best))
    assert sum(terms) == pytest.approx(total, abs=6e-5)


def test_the_textbook_case_merges_es_then_est():
    experiment = next(e for e in prose.load("tokens").experiments if e.id == "train")
    sent = given(open_at(**{k: str(v) for k, v in experiment.settings.items()}), "bpe")
    assert sent["merges"][:4] == [["e", "s"], ["es", "t"], ["l", "o"], ["lo", "w"]]


def test_an_empty_prompt_teaches_by_the_example_and_says_so():
    at = open_at(tokens_view="train", tokens_source="prompt", prompt="")
    assert fine(at) and any(c.value == prose.load("tokens").label("source_empty") for c in at.caption)
    assert given(at, "train")["identity"] == prose.load("tokens").section("training")


# ---- vocabulary ------------------------------------------------------------------------------------------------------


def test_the_vocabulary_is_the_tokenizers():
    at = open_at(tokens_view="vocabulary", target="300")
    sent, tokenizer = given(at, "vocabulary"), run_of("").tokenizer
    assert len(sent["names"]) == tokenizer.vocab_size and sent["settings"]["token"] == 300
    assert [bytes.fromhex(one) for one in sent["bytes"]] == [tokenizer.token_bytes(i)
                                                             for i in range(tokenizer.vocab_size)]
    for token, (left, right) in sent["parts"].items():
        assert tokenizer.token_bytes(left) + tokenizer.token_bytes(right) == tokenizer.token_bytes(int(token))


@pytest.mark.parametrize("character", ["h", "é", "我", "🐶"])
def test_the_bits_of_a_character_add_up_to_its_number(character: str):
    written = vocabulary.utf8(character)
    number, point, coded = re.fullmatch(r"(\d+) = \\mathbf\{([01\\,]+)\}_2 \\;\\to\\; (.+) \\;=\\; .+",
                                        written).groups()
    assert int(point.replace(r"\,", ""), 2) == int(number) == ord(character)
    coded_bytes = [int(re.sub(r"\\math(bf|rm)|[{}]", "", byte), 2) for byte in coded.split(r"\;\;")]
    assert (bytes(coded_bytes) == character.encode()
            and hex_bytes(character.encode()) == written.rsplit("{", 1)[1].rstrip("}").replace(r"\;", " "))


def test_a_search_stays_short_in_the_address():
    assert (given(open_at(tokens_view="vocabulary", tokens_find="x" * 5000), "vocabulary")["settings"]["find"]
            == "x" * vocabulary.MOST_SEARCHED)


# ---- before the picture ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", [None, "The princess and the prince were playing in the palace."])
def test_the_first_pair_is_that_of_the_earliest_rule_in_the_text(prompt: str | None):
    at = ask("tokens", "merges", **({} if prompt is None else {"prompt": prompt}))
    offered, run = question(at)["guess"]["texts"], run_of(at.session_state["prompt"])
    pairs = [(word[i:i + 1], word[i + 1:i + 2]) for word in run.tokenizer.words(run.text) for i in range(len(word) - 1)]
    rules = list(run.tokenizer.merges)
    first = min(set(pairs) & set(rules), key=rules.index)
    found = commit(at, "tokens", "merges", 0)
    assert offered[found["answer"]] == " + ".join(f"`{visible_form(piece)}`" for piece in first)
    assert f"is rule {rules.index(first) + 1}." in found["reason"] and 2 <= len(offered) <= 4
    counts = Counter(pairs)
    often = max(counts.values())
    assert any(f"`{visible_form(a)}` + `{visible_form(b)}`" in offered for (a, b), n in counts.items() if n == often)
    places = pairs.count(first)
    assert ("several places" in found["true"]) == (places > 1)


def test_where_no_pair_is_to_be_chosen_nothing_is_asked_of_merges():
    assert given(open_at(prompt="a", ask="true"), "merges")["settings"]["step"] == 0


@pytest.mark.parametrize(("model", "example", "answer"), [("stories", 0, "more"), ("stories-small", 1, "fewer")])
def test_the_tokens_of_an_example_are_counted_by_the_definition_of_bpe(model: str, example: int, answer: str):
    at = ask("tokens", "methods", model=model, tokens_example=str(example))
    text = prose.load("tokens").section("examples").splitlines()[example]
    there = cache.shared_model(model, "cpu").tokenizer
    offered = question(at)["guess"]["texts"]
    found, n = commit(at, "tokens", "methods", 3), slow_count(there, text)
    assert offered[found["answer"]] == TEXT.label(f"before_methods_{answer}") and found["said"] == f"{n} tokens"
    assert answer == ("more" if n > len(text) else "fewer" if n < len(text) else "one")
    assert f"makes {n} tokens of {len(text.encode())} bytes" in found["reason"]
    seen = found["true"]
    assert ("as many tokens as *Bytes*" in seen) == (n == len(text.encode()))
    assert seen.endswith("fewer tokens than *Characters*.") == (n < len(text) and n < len(text.encode()))


def test_of_the_prompt_whose_tokens_the_page_counts_nothing_is_asked():
    assert given(open_at(tokens_view="methods", tokens_example="6", ask="true"), "methods")


@pytest.mark.parametrize(("prompt", "answer"), [
    (None, "each"), ("low low low low low lower lower newest newest newest widest widest", "unigram"),
    ("The cat sat on the mat.", "bpe")])
def test_which_method_needs_fewer_tokens_is_counted_by_the_library_and_by_trying_all_cuts(prompt: str | None,
                                                                                          answer: str):
    query = {} if prompt is None else {"prompt": prompt, "tokens_source": "prompt"}
    at = ask("tokens", "train", **query)
    offered, text = question(at)["guess"]["texts"], prompt or prose.load("tokens").section("training")
    found, models = commit(at, "tokens", "train", 0), learned.learned(text)
    bpe = [library_size(text, size) for size in models.sizes]
    unigram = [sum(n * fewest_nats(word, one.log_p)[1] for word, n in models.counts.items()) for one in models.unigrams]
    counts = sum(b < u for b, u in zip(bpe, unigram)), sum(u < b for b, u in zip(bpe, unigram))
    assert {(True, True): "each", (True, False): "bpe", (False, True): "unigram"}[bool(counts[0]), bool(counts[1])] == (
        answer)
    assert offered[found["answer"]] == TEXT.label(f"before_train_{answer}") and len(offered) == 4
    assert f"BPE needs fewer tokens at {counts[0]} and Unigram at {counts[1]}." in found["reason"]
    assert "more and more slowly" in found["true"]


def fewest_nats(word: str, log_p: dict[str, float]) -> tuple[float, int]:
    """The least −ln p of all ways to cut a word, and the number of its pieces, letter by letter from the front."""
    best = [(0.0, 0)] + [(math.inf, 0)] * len(word)
    for end in range(1, len(word) + 1):
        best[end] = min((best[start][0] - log_p[word[start:end]], best[start][1] + 1)
                        for start in range(end) if word[start:end] in log_p)
    return best[-1]


def library_size(text: str, vocab_size: int) -> int:
    """How many tokens the library's BPE of that size makes of the text it was trained on."""
    library = tokenizers.Tokenizer(tokenizers.models.BPE())
    library.pre_tokenizer = WORDS
    library.train_from_iterator([text], tokenizers.trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False))
    return len(library.encode(text).ids)


@pytest.mark.parametrize("prompt", [None, "Tom and Mia went to the park"])
def test_the_token_of_the_smallest_number_was_learned_first(prompt: str | None):
    at = ask("tokens", "vocabulary", **({} if prompt is None else {"prompt": prompt}))
    run = run_of(at.session_state["prompt"])
    offered = question(at)["guess"]["offered"]
    assert [run.token_ids[i] for i in offered] == list(dict.fromkeys(run.own_ids))
    found = commit(at, "tokens", "vocabulary", offered[0])
    least = min(run.own_ids)
    assert run.token_ids[found["answer"]] == least and found["said"] == f"id {least}"
    assert found["own"] == f"id {run.token_ids[offered[0]]}" and f"is number {least}." in found["reason"]
    has_parts = len(run.tokenizer.token_bytes(run.token_ids[-1])) > 1
    assert ("two shorter tokens hang" in found["true"]) == has_parts
    assert given(at, "vocabulary")["marked"] == {"answer": least, "mine": run.token_ids[offered[0]]}


# ---- the question, the experiments, links ----------------------------------------------------------------------------


def slow_count(tokenizer: Tokenizer, written: str) -> int:
    """Tokens of a text by the definition of BPE: in each word, the neighbours of the lowest rank are joined until none
    are in the list.
    """
    order = {pair: rank for rank, pair in enumerate(tokenizer.merges)}
    total = 0
    for word in tokenizer.words(written):
        pieces = [bytes([byte]) for byte in word]
        while ranked := [(order[pair], i) for i, pair in enumerate(zip(pieces, pieces[1:])) if pair in order]:
            _, i = min(ranked)
            pieces[i:i + 2] = [pieces[i] + pieces[i + 1]]
        total += len(pieces)
    return total


@pytest.mark.parametrize("prompt", [None, "", "a", "Once upon a time", "我今天 去了 商店", "12 34"])
def test_the_right_answer_is_what_bpe_makes_without_the_spaces(prompt: str | None):
    at = open_at(**({} if prompt is None else {"prompt": prompt}))
    written, tokenizer = at.session_state["prompt"], run_of("").tokenizer
    before, after = slow_count(tokenizer, written), slow_count(tokenizer, written.replace(" ", ""))
    right = 0 if after < before else 1 if after == before else 2
    at.radio("tokens_spaces_given").set_value(right).run()
    at.button("tokens_spaces_commit").click().run()
    assert (any(m.value.startswith("Yes") for m in at.markdown)
            and any(f"With spaces {before} tokens, without {after}" in m.value for m in at.markdown))


def test_every_experiment_leads_to_the_view_that_it_names():
    for experiment in prose.load("tokens").experiments:
        at = open_at()
        at.button(f"do_tokens_{experiment.id}").click().run()
        assert fine(at) and at.session_state["tokens_view_widget"] == experiment.settings["tokens_view"], experiment.id
        assert given(at, experiment.settings["tokens_view"])


def test_a_lone_space_at_the_end_is_said_and_dropped_by_one_press():
    at = open_at(prompt="there was a little ")
    assert any(c.value == prose.load("app").label("lone_space") for c in at.caption)
    at.button("drop_space").click().run()
    assert fine(at) and at.session_state["prompt"] == "there was a little"
    assert not any(button.key == "drop_space" for button in at.button)


@pytest.mark.parametrize("prompt", ["there was a little", "there was a little\n", ""])
def test_of_no_other_end_of_a_text_anything_is_said(prompt: str):
    assert not any(button.key == "drop_space" for button in open_at(prompt=prompt).button)


def test_signs_that_no_keyboard_types_are_named_and_typed_by_one_press():
    prompt = "Tom said “no”. He didn’t\u00a0want to…"
    at, names = open_at(prompt=prompt), prose.load("app")
    named = ", ".join(names.label(f"sign_{kind}") for kind in ("apostrophe", "quote", "space", "dots"))
    typed, encode = signs.plain(prompt), cache.shared_model("stories", "cpu").tokenizer.encode
    said = names.label("other_signs", names=named, n=len(encode(prompt)), fewer=len(encode(typed)))
    assert [c.value for c in at.caption].count(said) == 1 and typed == "Tom said \"no\". He didn't want to..."
    at.button("plain_signs").click().run()
    assert fine(at) and at.session_state["prompt"] == typed
    assert not any(button.key == "plain_signs" for button in at.button)


@pytest.mark.parametrize("prompt", ["Tom didn't want to", "Zoë – 猫", ""])
def test_of_signs_that_are_typed_or_cost_no_more_nothing_is_said(prompt: str):
    at = open_at(prompt=prompt)
    shown = any(button.key == "plain_signs" for button in at.button)
    encode = cache.shared_model("stories", "cpu").tokenizer.encode
    assert shown == (len(encode(signs.plain(prompt))) < len(encode(prompt)))


def test_pieces_are_shown_as_they_are():
    assert visible_form("·".encode()) == "‹U+00B7›" and hex_bytes(b" ") == "20"
