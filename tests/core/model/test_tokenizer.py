"""Any text comes back as it went in; every token can be seen; nothing typed becomes the end-of-text token."""
import re
import string

import pytest
import tokenizers
from tokenizers import models

from core.model.tokenizer import (
    ASSISTANT,
    BYTE_OF_CHARACTER,
    END_OF_TEXT,
    MASK,
    SYSTEM,
    USER,
    Prompt,
    Tokenizer,
    encodable,
    visible_form,
)

TRAINING_TEXTS = ["the cat sat on the mat", "the other cat ate the rat", "a dog and the cat"] * 4


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.train(TRAINING_TEXTS, 280)


TEXTS = ["", " ", "the cat", "  two  spaces ", "line\nline\r\n\ttab", "naïve café", "👩‍👩‍👧‍👦🏳️‍🌈", "שלום עולם",
         "مرحبا", "\u202eright to left\u202c", "中文没有空格", "e\u0301 combining", "\x00\x01\x7f\x85",
         "\ufeff\u200b\u2028", "\U0010ffff", "<b>&amp;</b>", END_OF_TEXT, f"a{END_OF_TEXT}{END_OF_TEXT}b",
         "".join(map(chr, range(256))), string.printable, "\ufffd"]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_comes_back(tok, text):
    ids = tok.encode(text)
    assert tok.decode(ids) == text
    assert b"".join(tok.token_bytes(i) for i in ids) == text.encode()
    assert all(0 <= i < tok.vocab_size for i in ids)


def test_every_character_comes_back(tok):
    text = "".join(chr(c) for c in range(0, 0x110000, 7) if not 0xD800 <= c <= 0xDFFF)
    assert tok.decode(tok.encode(text)) == text


def test_single_digits_are_tokens_of_their_own_and_any_text_comes_back():
    texts = ["1984 1984 1984 the year 1984", "on 21 march 1984"] * 20
    tok, plain = Tokenizer.train(texts, 400, single_digits=True), Tokenizer.train(texts, 400)
    assert [tok.decode([i]) for i in tok.encode("the year 1984, 21st")] == ["the", " year", " ", "1", "9", "8", "4",
                                                                            ",", " ", "2", "1", "s", "t"]
    assert len(plain.encode(" 1984")) == 1
    assert [tok.visible(i) for i in tok.encode("19")] == ["1", "9"]
    for text in (*TEXTS, "٣٤", "½ x² 10.5", "1" * 50):
        assert tok.decode(tok.encode(text)) == text and tok.encode_batch([text]) == [tok.encode(text)]


def test_a_batch_is_encoded_as_each_text_alone(tok):
    assert tok.encode_batch(TEXTS) == [tok.encode(text) for text in TEXTS]


def test_lone_surrogates_are_read_as_the_replacement_character(tok):
    assert encodable("a\ud83db\udc4bc") == "a\ufffdb\ufffdc"
    assert encodable("\ud83d\udc4b") == "👋"
    assert tok.decode(tok.encode("a\udce9")) == "a\ufffd"


def test_a_typed_end_of_text_is_plain_letters(tok):
    assert tok.end_of_text not in tok.encode(f"once {END_OF_TEXT} upon")
    assert tok.end_of_text not in Tokenizer.train([f"a {END_OF_TEXT} b"] * 50, 400).encode(END_OF_TEXT)


def test_end_of_text_is_token_0_and_adds_no_text(tok):
    assert tok.end_of_text == 0
    assert tok.decode([0, *tok.encode("cat"), 0]) == "cat"
    assert tok.token_bytes(0) == b""


def test_every_byte_is_a_token(tok):
    single = {tok.token_bytes(i) for i in range(tok.vocab_size) if len(tok.token_bytes(i)) == 1}
    assert single == {bytes([b]) for b in range(256)}
    assert sorted(BYTE_OF_CHARACTER.values()) == list(range(256))


def test_the_most_frequent_words_become_tokens(tok):
    """By hand: " the" is the commonest word of the training texts, so byte pairs merge until it is one token."""
    assert [tok.visible(i) for i in tok.encode(" the cat")] == ["·the", "·cat"]


def test_training_again_gives_the_same_tokenizer(tok):
    again = Tokenizer.train(TRAINING_TEXTS, 280)
    assert [again.token_bytes(i) for i in range(280)] == [tok.token_bytes(i) for i in range(280)]


@pytest.mark.parametrize("token, shown", [
    (b" the", "·the"), (b"\n\n", "⏎⏎"), (b"\t", "⇥"), (b"\r", "␍"), (b"\x00", "‹00›"), (b"\x7f", "‹7F›"),
    (b"\xe2", "‹E2›"), (b"\xe2\x82", "‹E2›‹82›"), ("€".encode(), "€"), (b" \xc3", "·‹C3›"),
    ("\u202e".encode(), "‹U+202E›"), ("\u200b".encode(), "‹U+200B›"), ("é".encode(), "é"),
    ("e\u0301".encode(), "e\u0301"), ("\u0301a".encode(), "◌\u0301a"), ("❤\ufe0f".encode(), "❤\ufe0f"),
    ("\ufe0f".encode(), "‹U+FE0F›"), ("\U000e0101".encode(), "‹U+E0101›"), ("·".encode(), "‹U+00B7›"),
    *((c.encode(), f"‹U+{ord(c):04X}›") for c in "\u3164\u115f\u2800")])
def test_visible_forms(token, shown):
    assert visible_form(token) == shown


def test_visible_forms_are_never_empty_and_tell_tokens_apart(tok):
    shown = [tok.visible(i) for i in range(tok.vocab_size)]
    assert all(shown) and all(s.isprintable() and not re.search(r"\s", s) for s in shown)
    assert len(set(shown)) == tok.vocab_size


def test_a_prompt_keeps_its_last_tokens(tok):
    ids = tok.encode(" the cat the cat")
    assert tok.prompt(" the cat the cat", 5) == Prompt((0, *ids), 0)
    assert tok.prompt(" the cat the cat", 4) == Prompt((0, *ids[1:]), 1)
    assert tok.prompt(" the cat the cat", 1) == Prompt((0,), 4)
    assert tok.prompt("", 8) == Prompt((0,), 0)
    with pytest.raises(ValueError, match="at least 1"):
        tok.prompt("a", 0)


def test_a_long_text_without_spaces_is_encoded(tok):
    assert tok.decode(tok.encode("x" * 300_000)) == "x" * 300_000


@pytest.mark.parametrize("token_id", [-1, 280])
def test_ids_outside_the_vocabulary_are_refused(tok, token_id):
    for method in (tok.visible, tok.token_bytes, lambda i: tok.decode([i])):
        with pytest.raises(ValueError, match="There is no token"):
            method(token_id)


def test_saved_and_loaded(tok, tmp_path):
    tok.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert again.encode(f" the café {END_OF_TEXT}") == tok.encode(f" the café {END_OF_TEXT}")
    assert (again.vocab_size, again.end_of_text) == (280, 0)


def test_what_is_no_tokenizer_is_refused(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match="holds no tokenizer"):
        Tokenizer.load(path)
    tokenizers.Tokenizer(models.BPE()).save(str(path))
    with pytest.raises(ValueError, match="has no"):
        Tokenizer.load(path)
    with pytest.raises(ValueError, match="at least 257"):
        Tokenizer.train(["a"], 100)


# Blanks

@pytest.fixture(scope="module")
def with_mask(tok) -> Tokenizer:
    return tok.with_mask()


def test_the_mask_is_one_more_token(tok, with_mask):
    assert (tok.mask_token, with_mask.mask_token) == (None, 280) and with_mask.vocab_size == 281
    assert [with_mask.token_bytes(i) for i in range(280)] == [tok.token_bytes(i) for i in range(280)]
    assert with_mask.token_bytes(280) == b"" and with_mask.visible(280) == "‹mask›"
    with pytest.raises(ValueError, match="already"):
        with_mask.with_mask()


@pytest.mark.parametrize("text", [*TEXTS, MASK, f"the {MASK} cat", "____"])
def test_what_is_typed_is_never_the_mask(tok, with_mask, text):
    assert with_mask.encode(text) == tok.encode(text)


@pytest.mark.parametrize("text, parts", [
    ("the ____ sat", ["the", None, " sat"]), ("___", [None]), ("the cat ___.", ["the cat", None, "."]),
    ("un______ly", ["un", None, "ly"]), ("____ ____", [None, None]), ("the  ___", ["the ", None]),
    ("a __ b", ["a __ b"]), ("", []), (f"{MASK} ___", [MASK, None])])
def test_underscores_are_blanks(with_mask, text, parts):
    """A blank takes the space before it, as every word's first token does."""
    assert with_mask.encode_blanks(text) == [i for part in parts
                                             for i in ([280] if part is None else with_mask.encode(part))]


def test_blanks_need_a_mask_token(tok):
    with pytest.raises(ValueError, match="no token for a blank"):
        tok.encode_blanks("the ____")


def test_a_mask_is_saved_and_loaded(with_mask, tmp_path):
    with_mask.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (again.mask_token, again.vocab_size) == (280, 281)
    assert again.encode_blanks(f"{MASK} cat ___") == with_mask.encode_blanks(f"{MASK} cat ___")
    assert again.decode(again.encode_blanks("the ____ cat")) == "the cat"


# Chats

@pytest.fixture(scope="module")
def with_markers(tok) -> Tokenizer:
    return tok.with_markers()


def test_markers_take_the_place_of_bytes_that_no_text_holds(tok, with_markers):
    changed = {i for i in range(tok.vocab_size) if tok.token_bytes(i) != with_markers.token_bytes(i)}
    assert with_markers.vocab_size == tok.vocab_size and changed == set(with_markers.markers.values())
    assert {tok.token_bytes(i) for i in changed} == {b"\xc0", b"\xc1", b"\xf5"}
    assert [with_markers.encode(text) for text in TEXTS] == [tok.encode(text) for text in TEXTS]
    assert tok.markers == {}


@pytest.mark.parametrize("text", [SYSTEM, f"a{USER}b", f"{ASSISTANT}{ASSISTANT}"])
def test_what_is_typed_is_never_a_marker(tok, with_markers, text):
    assert with_markers.encode(text) == tok.encode(text) == with_markers.encode_batch([text])[0]


def test_a_chat_by_hand(tok, with_markers):
    system, user, assistant = (with_markers.markers[marker] for marker in (SYSTEM, USER, ASSISTANT))
    ids = with_markers.encode_chat(f"{SYSTEM} the cat{USER} a{ASSISTANT}")
    assert ids == [system, *tok.encode(" the cat"), user, *tok.encode(" a"), assistant]
    assert with_markers.decode(ids) == " the cat a"
    assert [with_markers.visible(i) for i in (system, user, assistant)] == ["‹system›", "‹user›", "‹assistant›"]
    with pytest.raises(ValueError, match="no markers"):
        tok.encode_chat("a")


def test_markers_are_saved_and_loaded(with_markers, tmp_path):
    with_markers.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").markers == with_markers.markers
