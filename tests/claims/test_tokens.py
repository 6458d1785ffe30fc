"""Claims of Tokens about the tokenizer of `stories`."""
from collections import Counter

import torch

from core.base import prose, signs, tables
from core.language import segmentation, unigram
from pages.tokens import merges, vocabulary
from tests.claims import claims, shows
from tests.claims.passes import experiment, prompt_of, run, says
from tests.helpers import lessons, messages


def pieces(word: str) -> set[bytes]:
    """All pieces that stand on the way from a word's bytes to its tokens."""
    steps = merges.rules_of(run("").tokenizer, word.encode())
    return {piece for step in steps for way in step.words for piece in way}


@claims("tokens.md", "See which pieces *princess* and *prince* share, and where they part.")
def test_words_share_pieces_and_part():
    prompt_of(experiment("tokens", "play"))
    first, second = pieces(" princess"), pieces(" prince")
    assert b" prin" in first & second and b" princess" in first - second and b" prince" in second - first


@claims("tokens.md", "The last token is a lone space, although nearly every word has its space at its own front. So "
        "`stories` expects what does come after one: a digit, or the start of a rare word such as *zebra*. Press *Drop "
        "the space*, and open Next token.")
def test_after_a_lone_space_the_model_expects_what_has_none_of_its_own():
    there = prompt_of(experiment("tokens", "space"))
    best = [there.tokenizer.visible(int(i)) for i in there.trace.probs[-1].topk(2).indices]
    assert there.text.endswith(" ") and there.tokens[-1] == "·" and best == ["3", "ze"]
    assert [there.tokenizer.visible(i) for i in there.tokenizer.encode(" zebra")][:2] == ["·", "ze"]
    words = [i for i in range(there.tokenizer.vocab_size) if there.tokenizer.visible(i).removeprefix("·").isalpha()]
    assert sum(there.tokenizer.visible(i).startswith("·") for i in words) > len(words) / 2
    assert says(run(there.text.rstrip(" ")))[0] == "·girl"


@claims("tokens.md", "The stories that `stories` learned from hardly have it: it falls apart into three bytes, and the "
        "most likely next token is `oth`. Press *Type them* below the prompt and open Next token: now it is `·play`.")
def test_a_curly_apostrophe_leads_the_model_astray():
    there = prompt_of(experiment("tokens", "curly"))
    assert there.tokens[-6:-3] == ["‹E2›", "‹80›", "‹99›"] and says(there)[0] == "oth"
    assert says(run(signs.plain(there.text)))[0] == "·play"


@shows("B4")
@claims("tokens.md", "The tokenizers of `stories` and its kin have seen no Chinese, so each character costs three "
        "tokens, one for each byte.")
def test_chinese_costs_three_tokens_a_character():
    text = prose.load("tokens").section("examples").splitlines()[0]
    assert len(run("").tokenizer.encode(text)) == 3 * len(text)


@claims("tokens.md", "0 is the end of text, then come 256 ids of single bytes, then one for each rule.",
        "vocabulary_special: It is no piece of text. It marks where a text begins or ends, a blank, what is unknown, "
        "or who speaks in a chat.")
def test_ids_follow_the_order_of_learning():
    tokenizer = run("").tokenizer
    without = [i for i in range(tokenizer.vocab_size) if not tokenizer.token_bytes(i)]
    assert without == sorted([tokenizer.end_of_text, *tokenizer.markers.values()]) and max(without) < 257
    assert len(tokenizer.merges) == tokenizer.vocab_size - 257
    for rank, (left, right) in enumerate(list(tokenizer.merges)[:100], 1):
        assert tokenizer.token_bytes(256 + rank) == left + right


@claims("tokens.md", "Special tokens ({signs}), bytes, and merges")
def test_the_vocabulary_adds_up():
    lines = messages.formulas(lessons.open_at("tokens", tokens_view="vocabulary"))
    assert "|V| = 4 + 253 + 3839 = 4096" in lines[0]


@shows("B6", "B7")
def test_the_places_of_bpe_and_unigram_count_and_prune():
    settings = {idea.id: idea.place.settings for idea in tables.ideas()}
    sent = messages.given(lessons.open_at("tokens", **settings["B6"]), "token_bpe")
    assert sent["settings"]["step"] == 0 and sent["merges"][:4] == [["e", "s"], ["es", "t"], ["l", "o"], ["lo", "w"]]
    sent = messages.given(lessons.open_at("tokens", **settings["B7"]), "token_unigram")
    one = sent["rounds"][sent["settings"]["step"]]
    assert one["cut"] == [5, 4] and one["dropped"] and one["kept"]      # slow, ness


@claims("tokens.md", "So *lowest*, which is not among these words, becomes *low* and *est*.",
        "*newest* occurs six times and *widest* three times")
def test_the_textbooks_merges_cut_a_new_word():
    text = prose.load("tokens").section("textbook")
    bpe, words = segmentation.learn_bpe(text), segmentation.words_of(text)
    assert bpe.cut(" lowest", len(bpe.merges)) == (" low", "est") and "lowest" not in text
    assert Counter(words) == {"low": 1, " low": 4, " lower": 2, " newest": 6, " widest": 3}


@claims("tokens.md", "*singin* stands wherever *singing* does, and nobody misses it.",
        "The text never has *slowness*, and yet it can be cut, into *slow* and *ness*, as long as these pieces last. "
        "Go through the rounds: *ness* is dropped before *slow*.")
def test_what_unigram_drops_first_and_last():
    text = prose.load("tokens").section("training")
    rounds = list(unigram.rounds(text))
    assert text.count("singin") == text.count("singing") and rounds[0].losses["singin"] < 0.01
    cuts = [one.model.segmentations(" slowness", 1)[0][1] for one in rounds]
    assert "slowness" not in text and cuts[0] == (" slow", "ness") and cuts[-1] == tuple(" slowness")
    last = {piece: max(k for k, one in enumerate(rounds) if piece in one.log_p) for piece in (" slow", "ness")}
    assert last["ness"] < last[" slow"]


@shows("B22")
def test_words_that_are_phrases_and_a_prompt_as_rows():
    settings = {idea.id: idea.place.settings for idea in tables.ideas()}
    examples = prose.load("tokens").section("examples").splitlines()
    assert [len(text.split(" ")) for text in examples[4:6]] == [2, 3]
    there = run(settings["B22"]["prompt"])
    rows = vocabulary.rows_of(there)
    assert rows["token"].tolist()[0] in ("I", "·I") and "".join(rows["token"]).replace("·", " ") == there.text
    assert rows["id"].tolist() == there.tokenizer.encode(there.text)
    values = [[float(value.replace("−", "-")) for value in row] for row in rows.iloc[:, 2:].to_numpy()]
    assert torch.tensor(values).allclose(there.model.E[rows["id"].tolist(), :4], atol=1e-4)
