"""Vocabulary and Ways to cut with the tokenizers of others: each is called by its method, a rule is about the pieces
that it joins, and nothing is called a byte that is none.
"""
from pathlib import Path

import pytest

from core.base import prose
from core.huggingface import tokens
from core.huggingface.tokens import NumberedTokens, PretrainedTokenizer
from core.model.tokenizer import Tokenizer
from pages.tokens import shared, vocabulary
from tests.core.huggingface import test_tokens
from tests.helpers import kinds
from tests.helpers.lessons import opened
from tests.helpers.messages import given

WORDS = prose.load("tokens")
# maker -> piece -> where it is from
PIECES = {
    "gpt2": {"<|endoftext|>": "special", "a": "byte", "Ġ": "byte", "Ġthe": "rule"},
    "pythia": {"a": "byte", "Ġthe": "rule", "    ": "added"},
    "llama": {"<s>": "special", "<0x61>": "byte", "<0x0A>": "byte", "a": "added", "é": "added", "▁": "added",
              "th": "rule"},
    "bert": {"[MASK]": "special", "[UNK]": "special", "a": "piece", "##n": "piece", "the": "piece"},
    "t5": {"</s>": "special", "▁": "probable", "a": "probable"},
}


def read(maker: str, folder: Path) -> PretrainedTokenizer:
    return tokens.load(folder, test_tokens.written(*getattr(test_tokens, maker)(), folder), None)


@pytest.mark.parametrize("maker", PIECES)
def test_every_token_says_where_it_is_from(maker: str, tmp_path: Path):
    tokenizer = read(maker, tmp_path)
    table, pieces = vocabulary.table_of(tokenizer), tokenizer._pieces
    assert {piece: table["origins"][pieces.index(piece)] for piece in PIECES[maker]} == PIECES[maker]
    assert table["origins"][-10:] == ["unused"] * 10 and "unused" not in table["origins"][:-10]
    assert {f"vocabulary_{of}" for of in table["origins"]} <= set(WORDS.labels)
    assert len(table["parts"]) == table["origins"].count("rule")
    for made, (left, right) in table["parts"].items():
        assert pieces[left] + pieces[right] == pieces[made], "the pieces of the rule, and not others of the same bytes"
    if maker in ("gpt2", "pythia", "llama"):
        assert table["origins"].count("byte") == 256


def test_a_vocabulary_of_numbers_has_neither_bytes_nor_rules():
    table = vocabulary.table_of(NumberedTokens(12))
    assert table["origins"] == ["number"] * 12 and not table["parts"]


def test_the_bundled_tokenizers_are_made_of_signs_bytes_and_rules():
    for tokenizer in shared.bundled_tokenizers().values():
        of = vocabulary.table_of(tokenizer)["origins"]
        assert {*of} == {"special", "byte", "rule"} and of.count("rule") == len(tokenizer.merges)
        assert tokenizer.rules == tuple((tokenizer.id_of(left), tokenizer.id_of(right), tokenizer.id_of(left + right))
                                        for left, right in tokenizer.merges)


def test_every_method_has_its_name():
    of = {read_name(maker) for maker in PIECES} | {Tokenizer.method, NumberedTokens.method}
    assert of == set(shared.METHODS) and set(shared.METHODS.values()) <= set(WORDS.labels)


def read_name(maker: str) -> str:
    return PretrainedTokenizer(test_tokens.MAKERS[[make.__name__ for make in test_tokens.MAKERS].index(maker)]()[0],
                               600, {}).method


def test_the_pages_call_a_tokenizer_by_its_method_and_a_model_by_its_name(tmp_path: Path):
    with kinds.loaded(tmp_path):
        names = {}
        for name in kinds.KINDS:
            rows = given(opened("tokens", {"view": "methods"}, model=f"folder:{name}"), "token_methods")["methods"]
            names[name] = rows[3]["name"]
        at = opened("tokens", {"view": "merges"}, model="folder:llama-shaped")
    on_words = {"llama-shaped", "gemma3-shaped", "mixtral-shaped"}
    assert names == {name: f"{'BPE on ▁' if name in on_words else 'BPE'} of {name}" for name in kinds.KINDS}
    assert any("(its method: BPE on ▁)" in info.value for info in at.info)
