"""Tokenizers in a file of SentencePiece alone: what transformers' classes make of the same file, segmentations worked
out by hand, and a plain sentence for what is not read.
"""
import functools
import importlib
import json
import random
import re

import pytest
import torch

from core import huggingface
from core.huggingface import PretrainedError, tokens
from tests.core.huggingface.test_tokenizer_forms import MORE
from tests.core.huggingface.test_tokens import BYTES, HARD, LIKE_SPECIAL, llama, spoken, t5
from tests.helpers import sentencepiece_files as files
from tests.helpers.huggingface_models import hf, saved
from tests.helpers.ids import named

TEXTS = [*HARD, *MORE, "<sep> the <sep>cat<sep>", "a\n\nb\n\n\nc", "the     cat", "½ ﬁn … ﷺ e\u0301\u0308 \u200b",
         "🙂", "the ▁<extra_id_0> cat", "0000", "<mask> <new>"]
LLAMA, GEMMA, T5 = (dict(tokenizer_class=f"{name}Tokenizer") for name in ("Llama", "Gemma", "T5"))
ALL_BYTES = [(byte, 0.0, files.BYTE) for byte in BYTES]
ADDED = dict(lstrip=False, rstrip=False, single_word=False, normalized=False, special=False)


@pytest.fixture(autouse=True)
def with_protobuf_alone(monkeypatch):
    """transformers asks for the package sentencepiece before it reads such a file, and reads it with protobuf alone."""
    monkeypatch.setattr(importlib.import_module("transformers.convert_slow_tokenizer"), "requires_backends",
                        lambda *_: None)


@functools.cache
def learned() -> list[tuple[str, float, int]]:
    """The pieces of a small BPE, in their order, without special tokens and bytes."""
    numbers = llama()[0].get_vocab()
    return [(piece, -float(i), files.NORMAL) for i, piece in enumerate(sorted(numbers, key=numbers.get)[259:])]


def llama_file(*more, **parts) -> bytes:
    return files.model([*files.SPECIAL, *more, *ALL_BYTES, *learned()], files.BPE, **parts)


def gemma_file() -> bytes:
    control = [(name, 0.0, files.CONTROL) for name in ("<pad>", "<eos>", "<bos>")]
    own = [(name, 0.0, files.USER_DEFINED) for name in ("<mask>", "\n\n", "▁▁")]
    rest = [piece for piece in learned() if piece[0] not in ("\n\n", "▁▁")]
    return files.model([*control, ("<unk>", 0.0, files.UNKNOWN), *own, *ALL_BYTES, *rest], files.BPE)


def t5_pieces(*more) -> list[tuple[str, float, int]]:
    first = [("<pad>", 0.0, files.CONTROL), ("</s>", 0.0, files.CONTROL), ("<unk>", 0.0, files.UNKNOWN)]
    normal = json.loads(t5()[0].to_str())["model"]["vocab"][3:]
    return [*first, *more, *((piece, score, files.NORMAL) for piece, score in normal)]


def t5_file(*more, **parts) -> bytes:
    return files.model(t5_pieces(*more), **dict(replaced=files.REPLACED) | parts)


def mt5_file() -> bytes:
    sentinels = [(f"▁<extra_id_{i}>", 0.0, files.USER_DEFINED) for i in (2, 1, 0)]
    return files.model([*t5_pieces(*ALL_BYTES), *sentinels], replaced=files.REPLACED, trainer={35: 1})


def write(folder, made: bytes, settings: dict, family: str) -> int:
    """Write the files of a tokenizer; give a number of rows that is large enough for its tokens."""
    name = "spiece.model" if settings.get("tokenizer_class") == "T5Tokenizer" or family == "t5" else "tokenizer.model"
    (folder / name).write_bytes(made)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps({"model_type": family}))
    return 1000


def read(folder, made: bytes, settings: dict, family: str = "llama") -> tokens.PretrainedTokenizer:
    return tokens.load(folder, write(folder, made, settings, family), None)


SENTINELS = [f"<extra_id_{i}>" for i in range(5)]


@pytest.mark.parametrize("make, settings, family", [
    (llama_file, LLAMA | dict(add_bos_token=True, sp_model_kwargs={}), "llama"), (llama_file, LLAMA, "llama"),
    (llama_file, dict(tokenizer_class="LlamaTokenizerFast", legacy=True, add_eos_token=True, pad_token="[PAD]"),
     "llama"),
    (llama_file, LLAMA | dict(add_prefix_space=False, legacy=None), "llama"),
    (lambda: llama_file(("<sep>", 0.0, files.USER_DEFINED)), LLAMA, "llama"),
    (lambda: llama_file(("<sep>", 0.0, files.USER_DEFINED), normaliser={3: 0, 4: 0}), LLAMA | dict(legacy=True),
     "llama"),
    (lambda: llama_file(replaced=files.REPLACED), LLAMA | dict(added_tokens_decoder={
        str(259 + len(learned())): ADDED | dict(content="<new>")}), "llama"),
    (gemma_file, GEMMA | dict(add_bos_token=True), "gemma"), (gemma_file, {}, "gemma2"), (llama_file, GEMMA, "gemma"),
    (t5_file, T5, "t5"), (t5_file, {}, "t5"), (t5_file, T5 | dict(extra_ids=0, add_bos_token=True), "mt5"),
    (t5_file, T5 | dict(extra_ids=5, additional_special_tokens=["<new>", *SENTINELS], add_prefix_space=True), "t5"),
    (lambda: t5_file(("<sep>", 0.0, files.USER_DEFINED), replaced=None, normaliser={3: 0}), T5, "t5"),
    (mt5_file, T5 | dict(extra_ids=0, additional_special_tokens=None), "mt5")], ids=named)
def test_a_file_is_read_as_transformers_reads_it(make, settings, family, tmp_path):
    write(tmp_path, make(), settings, family)
    theirs = hf.AutoTokenizer.from_pretrained(tmp_path)
    ours = tokens.load(tmp_path, len(theirs) + 3, None)
    assert type(theirs).__name__ in ("LlamaTokenizer", "GemmaTokenizer", "T5Tokenizer")
    assert len({tuple(ours.encode(text)) for text in TEXTS}) > 20
    special = {i: token.content for i, token in theirs.added_tokens_decoder.items() if token.special}
    for text in TEXTS:
        if any(name in text for name in special.values()):
            continue                    # which theirs finds in plain letters
        ids = theirs(text, add_special_tokens=False, split_special_tokens=True).input_ids
        assert ours.encode(text) == ids, text
        assert list(ours.prompt(text, 900).token_ids) == theirs(text, split_special_tokens=True).input_ids or not ids
        assert ours.decode(ids) == theirs.decode(spoken(theirs, ids)), text
    rows = range(len(theirs))
    assert {i for i in rows if ours.visible(i).startswith("‹") and not ours.token_bytes(i)} == {*special}
    assert ours.end_of_text == theirs.eos_token_id and not ours.is_used(len(theirs))


def test_a_mistral_is_read_by_the_class_that_it_names(tmp_path):
    """AutoTokenizer reads its tokenizer.model without the space in front of a text, and its tokenizer.json with it."""
    ours = read(tmp_path, llama_file(), LLAMA | dict(legacy=True), "mistral")
    theirs = hf.LlamaTokenizer.from_pretrained(tmp_path)
    assert all(ours.encode(text) == theirs(text, split_special_tokens=True).input_ids for text in TEXTS)
    assert ours.visible(ours.encode("the")[0]).startswith("·")


# by hand; SentencePiece 0.2.3 cuts these texts in the same way
BPE = [*files.SPECIAL, *ALL_BYTES, *((piece, -float(i), files.NORMAL) for i, piece in enumerate(
    ["▁t", "he", "▁the", "▁c", "at", "▁cat", "▁", "t", "h", "e", "c", "a", "s"]))]
UNIGRAM = [("<pad>", 0.0, files.CONTROL), ("</s>", 0.0, files.CONTROL), ("<unk>", 0.0, files.UNKNOWN), *(
    (piece, score, files.NORMAL) for piece, score in {
        "▁the": -2.0, "▁": -3.0, "t": -4.0, "h": -4.0, "e": -4.0, "a": -4.0, "▁c": -3.5, "at": -3.0, "▁cat": -5.0,
        "▁ca": -2.5, "th": -7.5}.items())]
BY_HAND = [
    (BPE, LLAMA, "the cats", "·the ·cat s"), (BPE, LLAMA, "that heat", "·t h at · he at"),
    (BPE, LLAMA, "tea\ncat", "·t e a ‹0A› c at"), (BPE, LLAMA, "🙂", "· ‹F0› ‹9F› ‹99› ‹82›"),
    (BPE, LLAMA, "é</s>", "· ‹C3› ‹A9› ‹3C› ‹2F› s ‹3E›"), (BPE, LLAMA, "", ""),
    # ▁cat has −5, ▁ca and t −6.5, ▁c and at −6.5; th −7.5, t and h −8
    (UNIGRAM, T5, "the cat", "·the ·cat"), (UNIGRAM, T5, "hat that", "· h at · th at"),
    (UNIGRAM, T5, "  the\n cat ", "·the ·cat"), (UNIGRAM, T5, "the xyz", "·the · ‹unk›"), (UNIGRAM, T5, "", "")]


@pytest.mark.parametrize("pieces, settings, text, shown", BY_HAND, ids=lambda value: str(value)[:12])
def test_segmentations_by_hand(pieces, settings, text, shown, tmp_path):
    made = files.model(pieces, files.BPE if pieces is BPE else files.UNIGRAM, normaliser={4: int(pieces is UNIGRAM)},
                       replaced=files.REPLACED if pieces is UNIGRAM else None, trainer={35: int(pieces is BPE)})
    ours = read(tmp_path, made, settings)
    ids = ours.encode(text)
    assert " ".join(ours.visible(i) for i in ids) == shown
    assert ours.decode(ids) == (text if pieces is BPE else " ".join(text.split()).replace("xyz", "<unk>"))


def test_each_token_stands_where_its_text_is(tmp_path):
    bpe, unigram = tmp_path / "bpe", tmp_path / "unigram"
    bpe.mkdir(), unigram.mkdir()
    for ours in (read(bpe, llama_file(), LLAMA), read(unigram, t5_file(), T5, "t5")):
        for text in TEXTS:
            spans = ours.spans(text)
            assert [i for i, _, _ in spans] == ours.encode(text)
            assert all(0 <= start <= end <= len(text) for _, start, end in spans)
            assert all(a[1] <= b[1] and a[2] <= b[2] for a, b in zip(spans, spans[1:]))
            covered = {at for _, start, end in spans for at in range(start, end)}
            assert ours.method == "Unigram" or covered == {*range(len(text))}, text
    ours = read(bpe, llama_file(), LLAMA)
    assert all(ours.decode(ours.encode(text)) == text for text in TEXTS if "▁" not in text and text[:1] != " ")


def test_what_a_reader_types_is_no_special_token(tmp_path):
    bpe, unigram = tmp_path / "bpe", tmp_path / "unigram"
    bpe.mkdir(), unigram.mkdir()
    for ours in (read(bpe, llama_file(), LLAMA), read(unigram, t5_file(), T5, "t5")):
        special = {i for i in range(ours.vocab_size) if ours.visible(i)[0] == "‹" and not ours.token_bytes(i)}
        special -= {ours.id_of(b"<unk>"), 0 if ours.method == "BPE" else 2}
        for text in [*LIKE_SPECIAL, "<extra_id_0>", "the <extra_id_99> cat"]:
            assert not special & {*ours.encode(text)}, text


def test_the_tokenizer_is_shown_and_saved_as_what_it_is(tmp_path):
    ours = read(tmp_path, t5_file(), T5, "t5")
    assert (ours.method, ours.begin, ours.end, ours.end_of_text) == ("Unigram", (), (1,), 1)
    first = len(t5_pieces())
    assert [ours.visible(first), ours.visible(first + 99)] == ["‹extra_id_99›", "‹extra_id_0›"]
    ours.save(tmp_path / "tokenizer.json")
    again = tokens.load(tmp_path, 1000, None)
    assert all(again.encode(text) == ours.encode(text) for text in TEXTS)
    assert [again.visible(i) for i in range(1000)] == [ours.visible(i) for i in range(1000)]


# What is not read

@pytest.mark.parametrize("made, settings, said", [
    (lambda: llama_file(trainer={24: 1}), LLAMA, "sets treat_whitespace_as_suffix"),
    (lambda: llama_file(normaliser={5: 0}), LLAMA, "sets escape_whitespaces"),
    (lambda: llama_file() + files.field(5, files.field(2, b"abc")), LLAMA, "sets denormalizer_spec"),
    (lambda: llama_file(("the", 0.0, files.UNUSED)), LLAMA, "has pieces that are not used"),
    (lambda: files.model([*files.SPECIAL, *ALL_BYTES[1:], *learned()], files.BPE), GEMMA, "has no bytes for what"),
    (lambda: files.model([*files.SPECIAL, *learned()], files.BPE), LLAMA, "(byte_fallback)"),
    (t5_file, LLAMA, "cuts by Unigram"), (llama_file, T5, "cuts by BPE"),
    (lambda: t5_file(method=3), T5, "cuts by words"), (lambda: t5_file(method=4), T5, "cuts by characters"),
    (lambda: files.model([*files.SPECIAL, *t5_pieces()[3:]]), T5, "gives what has no piece the number 0 instead of 2")],
    ids=named)
def test_options_of_a_file_that_are_not_done_are_refused_by_name(made, settings, said, tmp_path):
    with pytest.raises(PretrainedError, match=re.escape(said) + ".* cannot do for a .* another model") as error:
        read(tmp_path, made(), settings)
    assert error.value.reason == "tokenizer" and ".model" in str(error.value)


@pytest.mark.parametrize("make, settings, said", [
    (t5_file, T5 | dict(add_prefix_space=False), "add_prefix_space = False"),
    (gemma_file, GEMMA | dict(add_prefix_space=True), "add_prefix_space = True"),
    (llama_file, LLAMA | dict(do_lower_case=True), "do_lower_case = True"),
    (t5_file, T5 | dict(extra_ids="5"), "extra_ids = '5'"), (t5_file, T5 | dict(extra_ids=-1), "extra_ids = -1"),
    (t5_file, T5 | dict(extra_ids=10**9), "extra_ids = 1000000000"), (mt5_file, T5, "does not say extra_ids = 0"),
    (llama_file, LLAMA | dict(sp_model_kwargs={"nbest_size": 9}), "sp_model_kwargs = {'nbest_size': 9}"),
    (llama_file, LLAMA | dict(added_tokens_decoder={"5": ADDED | dict(content="<new>")}), "<new> the id")], ids=named)
def test_settings_that_are_not_done_are_refused_by_name(make, settings, said, tmp_path):
    with pytest.raises(PretrainedError, match=re.escape(said)):
        read(tmp_path, make(), settings)


TABLE = files.charsmap({"\t": " "})


@pytest.mark.parametrize("made, settings", [
    (b"", LLAMA), (b"x", LLAMA), (b"\xff" * 40, T5), (files.model(BPE, files.BPE)[:3000], LLAMA),
    (files.model([*BPE, ("a", 0.0, 1)], files.BPE), LLAMA), (files.model([("a", 0.0, 1)]), T5),
    (files.model(UNIGRAM[1:2] + UNIGRAM[:1] + UNIGRAM[2:]).replace(b"</s>", b"</t>"), T5),
    *((files.model(UNIGRAM) + files.field(3, files.field(2, table)), T5) for table in (
        b"\x01", TABLE[:100], TABLE[:-1], TABLE + b"\xff\0"))], ids=lambda value: str(len(value)))
def test_a_damaged_file_is_told(made, settings, tmp_path):
    with pytest.raises(PretrainedError, match=r"(tokenizer|spiece)\.model is damaged: .* Download it again") as error:
        read(tmp_path, made, settings)
    assert error.value.reason == "tokenizer"


def test_a_file_with_wrong_bytes_is_read_or_refused_and_cuts_every_text(tmp_path):
    """The library replaces characters by a table, and would end the program where one leads out of itself."""
    whole, rng, n_read = files.model(UNIGRAM, replaced=files.REPLACED), random.Random(2), 0
    table = len(whole) - len(files.charsmap(files.REPLACED))
    for _ in range(80):
        spoilt = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            used = [at for at in range(table, len(spoilt)) if spoilt[at]]
            spoilt[rng.choice([rng.randrange(table), rng.choice(used)])] = rng.randrange(256)
        try:
            ours = read(tmp_path, bytes(spoilt), T5, "t5")
        except PretrainedError:
            continue
        n_read += 1
        for text in ("the ﬁ cat\té e\u0301 … ½", "\u0301\u0308ﷺ\u200b aaaa"):
            ours.spans(text)
    assert 8 < n_read < 77


@pytest.mark.parametrize("file, settings, said", [
    ("tokenizer.model", dict(tokenizer_class="CodeLlamaTokenizer"), "tokenizer.model, of the class CodeLlamaTokenizer"),
    ("tokenizer.model", {}, "tokenizer.model, of the class that nothing names"),
    ("spiece.model", dict(tokenizer_class="PegasusTokenizer"), "spiece.model, of the class PegasusTokenizer"),
    ("spiece.model", LLAMA, "spiece.model, of the class LlamaTokenizer"),
    ("sentencepiece.bpe.model", LLAMA, "in the form sentencepiece.bpe.model, which"),
    ("spiece.model", dict(tokenizer_class="GPTSw3Tokenizer"), "GPTSw3Tokenizer transformers writes no tokenizer.json")])
def test_other_classes_are_refused_by_name_before_a_download(file, settings, said, tmp_path):
    saved("llama", tmp_path)
    (tmp_path / file).write_bytes(b"x")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    for call in (huggingface.from_pretrained, huggingface.preview):
        with pytest.raises(PretrainedError, match=re.escape(said)) as error:
            call(tmp_path)
        assert error.value.reason == "tokenizer"


# With a model

@pytest.mark.parametrize("case, make, settings, file", [
    ("llama", llama_file, LLAMA | dict(add_bos_token=True), "tokenizer.model"), ("t5", t5_file, T5, "spiece.model")])
def test_a_whole_model_gives_their_logits_of_a_text(case, make, settings, file, tmp_path):
    size = write(tmp_path, make(), settings, case)
    theirs = saved(case, tmp_path, vocab_size=size)
    assert huggingface.preview(tmp_path).tokenizer == file
    model, tokenizer = huggingface.from_pretrained(tmp_path)
    text = "the cat sat 🙂"
    ids = hf.AutoTokenizer.from_pretrained(tmp_path)(text, return_tensors="pt").input_ids
    ours = torch.tensor([tokenizer.prompt(text, 30).token_ids])
    assert ours.tolist() == ids.tolist()
    target = dict(decoder_input_ids=torch.tensor([[0, 5, 9]])) if case == "t5" else {}
    expected = theirs(ids, **target).logits
    found = (model(target["decoder_input_ids"], source_ids=ours) if target else model(ours)).logits
    assert float((found - expected).abs().max() / expected.abs().max()) < 1e-5 and expected.std() > 1


def test_a_tokenizer_json_beside_it_is_read_instead(tmp_path):
    size = write(tmp_path, b"x", LLAMA, "llama")
    llama()[0].save(str(tmp_path / "tokenizer.json"))
    saved("llama", tmp_path, vocab_size=size)
    assert huggingface.preview(tmp_path).tokenizer == "tokenizer.json"
    assert huggingface.from_pretrained(tmp_path)[1].method == "BPE"
