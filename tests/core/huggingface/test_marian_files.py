"""The tokenizer of Marian models, from source.spm and vocab.json: ids and texts as transformers' MarianTokenizer with
SentencePiece makes them (recorded by tests/helpers/sentencepiece_files.py), and a plain sentence for what is not read.
"""
import json
import random
import struct

import pytest

from core import huggingface
from core.huggingface import PretrainedError, piece_file, pieces, refusals, tokens
from tests.core.huggingface import test_tokens
from tests.helpers import sentencepiece_files as files
from tests.helpers.huggingface_models import saved

THEIRS = json.loads(files.RECORDED.read_text(encoding="utf-8"))


def read(folder, settings: dict | None = None) -> tokens.MarianTokenizer:
    """The tokenizer of a Marian repository, for a model with three rows more than it has tokens."""
    size = files.write_marian(folder, settings)
    (folder / "config.json").write_text('{"model_type": "marian"}')
    return tokens.load(folder, size + 3, None)


def refusal(folder) -> str:
    with pytest.raises(PretrainedError) as error:
        tokens.load(folder, 200, None)
    assert error.value.reason == "tokenizer"
    return str(error.value)


def test_the_ids_of_hard_texts_are_theirs(tmp_path):
    ours = read(tmp_path)
    assert set(files.texts()) == set(THEIRS["ids"])
    differing = {text: ours.encode(text) for text, ids in THEIRS["ids"].items()
                 if " ".join(map(str, ours.encode(text))) != ids}
    assert differing == {}
    assert ours.encode_batch(["the cat", "ж"]) == [ours.encode("the cat"), ours.encode("ж")]


def test_sums_are_rounded_as_theirs_where_two_ways_are_as_good(tmp_path, monkeypatch):
    ours = read(tmp_path)
    monkeypatch.setattr(pieces, "float32", lambda value: value)
    assert [text for text, ids in THEIRS["ids"].items()
            if " ".join(map(str, ours.encode(text))) != ids and "</s>" not in text][:3] == [
                "aaaaa", ".a.aaaa", "1aaaaa."]


def test_the_texts_of_random_ids_are_theirs(tmp_path):
    ours = read(tmp_path)
    assert [ours.decode(ids) for ids in files.random_ids()] == THEIRS["texts"]


def test_the_tokenizer_is_shown_as_what_it_is(tmp_path):
    ours, numbers = read(tmp_path), files.numbers()
    assert (ours.method, ours.begin, ours.end, ours.end_of_text) == ("Unigram", (), (0,), 0)
    assert ours.prompt("the cat", 9).token_ids == (numbers["▁the"], numbers["▁cat"], 0)
    assert [ours.visible(i) for i in (0, 1, numbers["▁the"], numbers[">>fra<<"], len(numbers))] == [
        "‹/s›", "‹unk›", "·the", ">>fra<<", f"‹#{len(numbers)}›"]
    assert ours.merges == () and not ours.is_byte(numbers["a"]) and not ours.is_used(len(numbers))
    assert ours.token_bytes(numbers["<s>"]) == b"" and ours.id_of(b" cat") == numbers["▁cat"]
    assert ours.words(">>fra<< the  cat") == [b">>fra<<", b" the", b" cat"]
    with pytest.raises(ValueError, match="more than one file"):
        ours.save(tmp_path / "tokenizer.json")


def test_a_code_of_a_language_that_is_a_special_token_is_written_all_the_same(tmp_path):
    ours, numbers = read(tmp_path, dict(additional_special_tokens=[">>fra<<"])), files.numbers()
    assert ours.encode(">>fra<< the") == [numbers[">>fra<<"], numbers["▁the"]]
    assert ours.visible(numbers[">>fra<<"]) == "‹fra›" and ours.decode([numbers[">>fra<<"], numbers["▁the"]]) == "the"


def test_each_token_stands_where_its_text_is(tmp_path):
    ours, numbers = read(tmp_path), files.numbers()
    assert ours.spans(">>fra<<  the  ﬁn") == [
        (numbers[">>fra<<"], 0, 7), (numbers["▁the"], 9, 12), (numbers["▁"], 12, 13), (numbers["f"], 14, 15),
        (numbers["in"], 14, 16)]
    for text in THEIRS["ids"]:
        spans = ours.spans(text)
        assert all(0 <= start <= end <= len(text) for _, start, end in spans)
        assert all(a[1] <= b[1] and a[2] <= b[2] for a, b in zip(spans, spans[1:]))


def test_what_a_reader_types_is_no_special_token(tmp_path):
    ours, special = read(tmp_path), {0, files.numbers()["<pad>"]}
    assert not any(special & {*ours.encode(text)} for text in THEIRS["ids"])
    # not even where its characters have no pieces, so that they stand side by side as one
    (tmp_path / "source.spm").write_bytes(files.model([*files.SPECIAL, ("▁", -1.0, files.NORMAL),
                                                       ("a", -1.0, files.NORMAL)]))
    numbers = files.numbers()
    assert tokens.load(tmp_path, 200, None).encode("a</s>") == [numbers["▁"], numbers["a"], 1]
    assert ours.encode("a\ud800") == ours.encode("a\ufffd")


@pytest.mark.parametrize("normaliser, cut", [
    ({}, "▁the|▁cat"), ({3: 0}, "th|▁cat"), ({4: 0}, "▁|▁the|▁|▁cat|▁"), ({3: 0, 4: 0}, "▁the|▁|▁cat|▁")],
    ids=str)
def test_the_spaces_are_treated_as_the_file_says(normaliser, cut, tmp_path):
    """By hand: 3 puts a ▁ in front, 4 leaves out the spaces that say nothing."""
    path = tmp_path / "source.spm"
    normal = ((text, -1.0, files.NORMAL) for text in ("▁", "▁the", "▁cat", "th"))
    path.write_bytes(files.model([*files.SPECIAL, *normal], normaliser=normaliser))
    cutter = pieces.Cutter(piece_file.read(path))
    text = "th  cat" if normaliser == {3: 0} else " the  cat "
    assert "|".join(piece for piece, _, _ in cutter.pieces(text)) == cut


def test_characters_without_a_piece_are_one_piece_side_by_side(tmp_path):
    (tmp_path / "a").write_bytes(files.model([*files.SPECIAL, ("▁", -1.0, 1), ("a", -2.0, 1), ("bc", -30.0, 1)]))
    cutter = pieces.Cutter(piece_file.read(tmp_path / "a"))
    # bc costs 30, and b and c without a piece cost −30 − 10 each
    assert [piece for piece, _, _ in cutter.pieces("axybc zza")] == ["▁", "a", "xy", "bc", "▁", "zz", "a"]


WHOLE = files.source_pieces()


@pytest.mark.parametrize("spm, said", [
    (files.model(WHOLE, files.BPE), "cuts by BPE"), (files.model(WHOLE, 4), "cuts by characters"),
    (files.model([*WHOLE, ("<sep>", 0.0, files.USER_DEFINED)]), "sets user_defined_symbols"),
    (files.model([*WHOLE, ("<0x00>", 0.0, files.BYTE)]), "sets byte_fallback"),
    (files.model(WHOLE, trainer={35: 1}), "sets byte_fallback"),
    (files.model(WHOLE, trainer={24: 1}), "sets treat_whitespace_as_suffix"),
    (files.model(WHOLE, normaliser={5: 0}), "sets escape_whitespaces"),
    (files.model(WHOLE) + files.field(5, files.field(2, b"abc")), "sets denormalizer_spec")], ids=lambda v: str(v)[:30])
def test_options_of_a_file_that_are_not_done_are_refused_by_name(spm, said, tmp_path):
    read(tmp_path)
    (tmp_path / "source.spm").write_bytes(spm)
    assert f"source.spm {said}, which this program cannot do" in refusal(tmp_path)


@pytest.mark.parametrize("settings, said", [
    (dict(separate_vocabs=True), "separate_vocabs = True"), (dict(add_prefix_space=True), "add_prefix_space = True"),
    (dict(sp_model_kwargs={"enable_sampling": True}), "sp_model_kwargs = {'enable_sampling': True}"),
    (dict(do_lower_case=True), "do_lower_case = True"), (dict(a_new_way=3), "a_new_way = 3"),
    (dict(added_tokens_decoder={"200": dict(content="<new>")}), "adds the token '<new>' as number 200"),
    (dict(added_tokens_decoder={"5": dict(content="</s>")}), "adds the token '</s>' as number 5"),
    (dict(eos_token="<end>"), "has no number for '<end>'"), (dict(unk_token="<u>"), "has no number for '<u>'"),
    (dict(tokenizer_class="Speech2TextTokenizer"), "reads for a Marian model alone")], ids=str)
def test_settings_that_are_not_done_are_refused_by_name_and_value(settings, said, tmp_path):
    read(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert said in refusal(tmp_path)


def test_the_settings_that_transformers_saves_are_read(tmp_path):
    special = dict(lstrip=False, normalized=False, rstrip=False, single_word=False, special=True)
    numbers = files.numbers()
    ours = read(tmp_path, dict(
        added_tokens_decoder={str(numbers[name]): special | dict(content=name) for name in ("</s>", "<unk>", "<pad>")},
        backend="custom", eos_token="</s>", is_local=True, local_files_only=False, model_max_length=512,
        pad_token="<pad>", separate_vocabs=False, source_lang="en", sp_model_kwargs={}, target_lang="de",
        tokenizer_class="MarianTokenizer", unk_token="<unk>"))
    assert ours.encode("the cat") == [numbers["▁the"], numbers["▁cat"]]


@pytest.mark.parametrize("numbers", [
    "[1]", '{"</s>": 0, "<unk>": 1, "a": 3}', '{"</s>": 0, "<unk>": 1, "a": 1}', '{"</s>": 0, "<unk>": true}',
    '{"</s>": 0, "<unk>": "1"}', "{", '{"</s>": -1, "<unk>": 0}'])
def test_a_damaged_numbering_is_told(numbers, tmp_path):
    read(tmp_path)
    (tmp_path / "vocab.json").write_text(numbers)
    assert "vocab.json is damaged" in refusal(tmp_path)


def test_a_file_that_is_far_too_large_is_not_read(tmp_path):
    read(tmp_path)
    with (tmp_path / "source.spm").open("ab") as file:
        file.truncate(2**30)
    assert "source.spm is damaged: it has 1,073,741,824 bytes, far more than such a file" in refusal(tmp_path)


TABLE = files.charsmap({"\t": " "})
PART = files.field(1, files.field(1, b"a") + files.field(2, 0.0))


@pytest.mark.parametrize("spm", [
    b"", b"{}", b"version https://git-lfs.github.com/spec/v1\n", b"\xff" * 40, b"\x0a\xff\xff\xff\xff\x7f", b"\x0b",
    PART,
    files.field(1, b"") + files.model(WHOLE), files.model([*WHOLE, ("a", 0.0, 1)]), files.model(WHOLE, 9),
    files.model([("<unk>", 0.0, 2), ("<s>", 0.0, 3)]), files.model([*WHOLE, ("q", 0.0, 2)]),
    files.model([*WHOLE, ("q", 0.0, 9)]), files.model([*WHOLE, ("q", float("nan"), 1)]),
    files.model([*WHOLE, ("q", float("-inf"), 1)]), files.model([*WHOLE, ("q", -3e38, 1)]),
    files.field(1, files.field(1, b"\xff")) + files.model(WHOLE), files.model(WHOLE) + b"\x0a",
    *(files.model(WHOLE) + files.field(3, files.field(2, table)) for table in (
        b"\x01", TABLE[:100], struct.pack("<I", 2**31) + TABLE[4:], TABLE[:-1], TABLE + b"\xff\0",
        struct.pack("<257I", 1024, *[2**20 << 10] * 256) + b"a\0", struct.pack("<257I", 1024, *[1 << 8] * 256) + b"a\0",
        struct.pack("<257I", 1024, *[2**31 + 9] * 256) + b"a\0"))], ids=lambda v: v[:12].hex() + str(len(v)))
def test_a_damaged_file_is_told(spm, tmp_path):
    read(tmp_path)
    (tmp_path / "source.spm").write_bytes(spm)
    assert "source.spm is damaged: " in refusal(tmp_path)


def test_a_file_with_wrong_bytes_is_read_or_refused_and_cuts_every_text(tmp_path):
    read(tmp_path)
    path = tmp_path / "source.spm"
    whole, rng, n_read = path.read_bytes(), random.Random(2), 0
    table = whole.find(b"\x12", len(whole) - len(files.charsmap(files.REPLACED)) - 20)
    for trial in range(60):
        spoilt = bytearray(whole[:rng.randrange(len(whole))] if trial % 3 == 0 else whole)
        for _ in range(rng.randrange(4)):
            start = rng.choice([0, table]) if table < len(spoilt) else 0
            spoilt[rng.randrange(start, len(spoilt) or 1) if spoilt else 0:][:1] = b""
            if spoilt:
                spoilt[rng.randrange(min(start, len(spoilt) - 1), len(spoilt))] = rng.randrange(256)
        path.write_bytes(bytes(spoilt))
        try:
            ours = tokens.load(tmp_path, 200, None)
        except PretrainedError:
            continue
        n_read += 1
        for text in ("the ﬁ cat\té e\u0301 … ½", "\u0301\u0308ﷺ aaaa"):
            ours.spans(text)
    assert 8 < n_read < 57


def test_a_marian_without_its_numbers_is_told(tmp_path):
    saved("marian", tmp_path)
    (tmp_path / "source.spm").write_bytes(b"x")
    for call in (huggingface.from_pretrained, huggingface.preview):
        with pytest.raises(PretrainedError, match="in the form source.spm, which this program reads for a Marian .* "
                                                  "together with vocab.json"):
            call(tmp_path)


def test_a_tokenizer_json_is_read_where_the_settings_name_another_class(tmp_path):
    """transformers reads it then, and for the class of Marian never."""
    read(tmp_path)
    shown = {}
    test_tokens.t5()[0].save(str(tmp_path / "tokenizer.json"))
    for name in ("MarianTokenizer", "PreTrainedTokenizerFast"):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(dict(tokenizer_class=name)))
        shown[name] = type(tokens.load(tmp_path, 900, None))
    assert shown == {"MarianTokenizer": tokens.MarianTokenizer, "PreTrainedTokenizerFast": tokens.PretrainedTokenizer}


def test_the_command_that_converts_a_marian_keeps_its_head_and_says_what_it_needs(tmp_path):
    """AutoModel, which it would be for a class that nobody knows, leaves out the bias of the logits."""
    values = {"model_type": "marian", "architectures": ["MarianMTModel"]}
    said = str(refusals.no_weights("us/opus-mt", ["pytorch_model.bin", "source.spm"], values))
    assert "import AutoModelForSeq2SeqLM as M" in said and "it needs the packages sentencepiece and protobuf" in said
    assert "sentencepiece" not in str(refusals.no_weights("us/gpt2", ["pytorch_model.bin", "vocab.json"], {}))
