"""The tokenizers of Hugging Face models agree with transformers' own on hard strings, and never read a special token in
what a reader types.
"""
import json
import re

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from core import huggingface
from core.huggingface import PretrainedError, tokens
from core.huggingface.tokens import NumberedTokens
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from tests.helpers.huggingface_models import hf, saved

TEXTS = ["the cat sat on the mat, and the other cat ate the rat.", "Hello world! 1234 naïve café\n\n",
         "多言語 テキスト 中文", "שלום עולם مرحبا", "def f(x):\n    return x  # ok", "👩‍👩‍👧 emoji 🙂"] * 8
HARD = ["", " ", "the cat", " the cat", "  two  spaces ", "line\nline\r\n\ttab", "\n\nThe cat. \n", "naïve café",
        "👩‍👩‍👧‍👦🏳️‍🌈 🙂", "שלום עולם", "مرحبا", "\u202eright to left\u202c", "中文没有空格",
        "e\u0301 combining", "\x00\x01\x7f\x85", "\ufeff\u200b\u2028", "\U0010ffff\ufffd", "<b>&amp;</b>",
        "<0x41> <0x0A>", "▁the ▁", "x" * 300, "don't I'll 1,234.5", "the\u00a0cat\u3000sat"]
LIKE_SPECIAL = ["<s> </s> <unk>", "<|endoftext|>", "a<|endoftext|>b", "[CLS] [MASK] [SEP]", "a</s>b", "<pad></s>",
                " <mask>", "<|im_start|>system"]
BYTES = [f"<0x{b:02X}>" for b in range(256)]


def gpt2() -> tuple[tokenizers.Tokenizer, dict]:
    """Byte-level BPE, nothing around a text."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=350, special_tokens=["<|endoftext|>"],
                                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                        show_progress=False))
    return made, dict(tokenizer_class="GPT2Tokenizer", bos_token="<|endoftext|>", eos_token="<|endoftext|>",
                      unk_token="<|endoftext|>")


def pythia() -> tuple[tokenizers.Tokenizer, dict]:
    """The same with tokens of several blanks that are no special ones, and a normal form."""
    made, settings = gpt2()
    made.normalizer = normalizers.NFC()
    made.add_tokens([tokenizers.AddedToken("    ", normalized=True, special=False),
                     tokenizers.AddedToken("  ", normalized=True, special=False)])
    return made, settings | dict(tokenizer_class="PreTrainedTokenizerFast")


def qwen() -> tuple[tokenizers.Tokenizer, dict]:
    """Single digits, its own split, and special tokens after the vocabulary."""
    made, _ = gpt2()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(tokenizers.Regex(r"\p{N}| ?\p{L}+|\s+|[^\s\p{L}\p{N}]+"), "isolated"),
         pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    return made, dict(tokenizer_class="PreTrainedTokenizerFast", eos_token="<|im_end|>", add_bos_token=False)


def roberta() -> tuple[tokenizers.Tokenizer, dict]:
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=350, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                                   initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B </s>",
                                                        special_tokens=[("<s>", 0), ("</s>", 2)])
    return made, dict(tokenizer_class="PreTrainedTokenizerFast", bos_token="<s>", eos_token="</s>", mask_token="<mask>",
                      unk_token="<unk>", pad_token="<pad>")


def llama() -> tuple[tokenizers.Tokenizer, dict]:
    """BPE with ▁ before every word and bytes for what it has no token for.

    Its merges could make a special token of letters.
    """
    made = tokenizers.Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                      decoders.Strip(" ", 1, 0)])
    made.train_from_iterator(TEXTS[:2] * 8 + ["a < / s > b"],
                             trainers.BpeTrainer(vocab_size=500, special_tokens=["<unk>", "<s>", "</s>", *BYTES],
                                                 show_progress=False))
    spec = json.loads(made.to_str())
    spec["added_tokens"] = spec["added_tokens"][:3]
    made = tokenizers.Tokenizer.from_str(json.dumps(spec))
    made.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B",
                                                        special_tokens=[("<s>", 1)])
    return made, dict(tokenizer_class="LlamaTokenizer", bos_token="<s>", eos_token="</s>",
                      unk_token="<unk>", legacy=False)


def gemma() -> tuple[tokenizers.Tokenizer, dict]:
    """The same without a ▁ before the first word."""
    made, settings = llama()
    made.normalizer, made.pre_tokenizer = normalizers.Replace(" ", "▁"), None
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return made, settings | dict(tokenizer_class="PreTrainedTokenizerFast", add_bos_token=True, add_eos_token=False)


def t5() -> tuple[tokenizers.Tokenizer, dict]:
    """Unigram, </s> after a text."""
    made = tokenizers.Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(tokenizers.Regex(" {2,}"), " ")])
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    made.train_from_iterator(TEXTS, trainers.UnigramTrainer(vocab_size=120, special_tokens=["<pad>", "</s>", "<unk>"],
                                                            unk_token="<unk>", show_progress=False))
    made.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>",
                                                        special_tokens=[("</s>", 1)])
    return made, dict(tokenizer_class="PreTrainedTokenizerFast", eos_token="</s>", pad_token="<pad>", unk_token="<unk>")


def bert() -> tuple[tokenizers.Tokenizer, dict]:
    """WordPiece, [CLS] before and [SEP] after a text."""
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer, made.decoder = (normalizers.BertNormalizer(lowercase=True),
                                                         pre_tokenizers.BertPreTokenizer(), decoders.WordPiece())
    made.train_from_iterator(
        TEXTS, trainers.WordPieceTrainer(vocab_size=200, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
                                         show_progress=False))
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return made, dict(tokenizer_class="BertTokenizer", mask_token="[MASK]", cls_token="[CLS]", sep_token="[SEP]",
                      pad_token="[PAD]", unk_token="[UNK]", do_lower_case=True)


MAKERS = [gpt2, pythia, qwen, roberta, llama, gemma, t5, bert]


def written(made: tokenizers.Tokenizer, settings: dict, folder) -> int:
    """Saves a tokenizer as transformers has it; gives the size of a model's vocabulary that is padded by 10."""
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return made.get_vocab_size() + 10


@pytest.fixture(scope="module", params=MAKERS, ids=lambda make: make.__name__)
def pair(request, tmp_path_factory):
    """transformers' tokenizer, ours, and the name of the kind."""
    folder = tmp_path_factory.mktemp("tokenizer")
    vocab_size = written(*request.param(), folder)
    return hf.AutoTokenizer.from_pretrained(folder), tokens.load(folder, vocab_size, None), request.param.__name__


def spoken(theirs, ids: list[int]) -> list[int]:
    """The ids without special tokens, but with the unknown one unless it ends a text as well."""
    unspoken = {i for i, token in theirs.added_tokens_decoder.items() if token.special}
    unspoken -= set() if theirs.unk_token_id == theirs.eos_token_id else {theirs.unk_token_id}
    return [i for i in ids if i not in unspoken]


def test_what_has_no_token_stands_as_the_name_of_the_unknown_one(tmp_path):
    for make, said in ((bert, "the cat [UNK] sat"), (t5, "the cat <unk> sat")):
        made, settings = make()
        ours = tokens.load(tmp_path, written(made, settings, tmp_path), None)
        assert ours.decode([*ours.begin, *ours.encode("the cat Ж sat"), *ours.end]) == said
        assert ours.token_bytes(ours.unknown) == b"", "it stands for no text by itself"
    for make in (gpt2, llama):
        made, settings = make()
        ours = tokens.load(tmp_path, written(made, settings, tmp_path), None)
        assert ours.decode(ours.encode("the cat Ж sat")) == "the cat Ж sat" and ours.decode([0]) in ("", "<unk>")


def test_agrees_with_transformers(pair):
    theirs, ours, _ = pair
    for text in HARD + LIKE_SPECIAL:
        expected = theirs(text, add_special_tokens=False, split_special_tokens=True).input_ids
        found = ours.encode(text)
        # its own lattice finds </s> in plain letters
        if "Unigram" not in ours.method or text not in LIKE_SPECIAL:
            assert found == expected, text
        assert ours.decode(expected) == theirs.decode(spoken(theirs, expected)), text
        assert ours.encode_batch([text]) == [found]
        whole = theirs(text, split_special_tokens=True).input_ids
        if found == expected and whole:
            assert ours.prompt(text, 600).token_ids == tuple(whole)


def test_special_tokens_are_never_read_in_a_text(pair):
    theirs, ours, _ = pair
    special = set(theirs.all_special_ids) - {theirs.unk_token_id}
    for text in (LIKE_SPECIAL + [a + b for a in theirs.all_special_tokens for b in theirs.all_special_tokens]
                 + [f"x{a}y {a}" for a in theirs.all_special_tokens]):
        assert not special & set(ours.encode(text)), text
        if theirs.unk_token_id is None:
            assert ours.decode(ours.encode(text)) == text


def test_what_stands_around_a_text(pair):
    _, ours, name = pair
    around = {"gpt2": ((), ()), "pythia": ((), ()), "qwen": ((), ()), "roberta": ((0,), (2,)), "llama": ((1,), ()),
              "gemma": ((1,), ()), "t5": ((), (1,)), "bert": ((2,), (3,))}[name]
    assert (ours.begin, ours.end) == around
    n = len(around[0]) + len(around[1])
    text = "the cat sat on the mat, and the other cat"
    ids = ours.encode(text)
    assert (ours.prompt(text, n + 3) .token_ids == (*around[0], *ids[-3:], *around[1])
            and ours.prompt(text, n + 3).n_cut == len(ids) - 3)
    assert ours.prompt(text, 600).n_cut == 0
    end = {"gpt2": 0, "pythia": 0, "qwen": "<|im_end|>", "roberta": 2, "llama": 2, "gemma": 2, "t5": 1, "bert": None}[
        name]
    assert ours.end_of_text == (ours._named({"it": end}, "it") if isinstance(end, str) else end)
    assert (ours.prompt("", 9).token_ids
            == ((*around[0], *around[1]) or (ours.end_of_text,))), "a model cannot read nothing"
    assert ours.mask_token == {"bert": 4, "roberta": 4}.get(name)
    if ours.mask_token is not None:
        assert ours.encode_blanks("the ____ sat") == [*ours.encode("the"), 4, *ours.encode(" sat")]


def test_every_id_of_the_model_can_be_shown(pair):
    theirs, ours, name = pair
    shown = [ours.visible(i) for i in range(ours.vocab_size)]
    assert all(shown) and all(one.isprintable() and not re.search(r"\s", one) for one in shown)
    n = ours.vocab_size - 10
    assert (shown[n:] == [f"‹#{i}›" for i in range(n, ours.vocab_size)] and ours.token_bytes(n) == b""
            and ours.decode([n]) == "")
    assert (len(set(shown)) == len({(one, ours.token_bytes(i)) for i, one in enumerate(shown)})
            >= ours.vocab_size - 2), "only tokens for the same bytes, of which Pythia has some, look alike"
    assert all(ours.token_bytes(i) == b"" and shown[i].startswith("‹") for i in theirs.all_special_ids)
    for bad in (-1, ours.vocab_size):
        with pytest.raises(ValueError, match="There is no token"):
            ours.visible(bad)


def test_bytes_of_tokens_make_the_text(pair):
    _, ours, name = pair
    for text in ("the cat sat", "naïve 🙂 中文", "a\nb"):
        if name == "bert":
            continue
        made = b"".join(map(ours.token_bytes, ours.encode(text))).decode()
        unknown = name == "t5" and not text.startswith("the")
        assert unknown or made.removeprefix(" ") == text
    first = ours.encode("the cat")[0]
    assert ours.id_of(ours.token_bytes(first)) is not None
    assert b"".join(ours.words("the cat")).replace(b" ", b"") == b"thecat"
    assert bool(ours.merges) == (ours.method in ("byte-level BPE", "BPE"))


def test_visible_forms_of_each_kind(tmp_path):
    def by_hand():
        made, settings = bert()
        made.model = models.WordPiece({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "the": 5, "cat": 6,
                                       "##ty": 7}, unk_token="[UNK]")
        return made, settings

    def shown(make, text):
        ours = tokens.load(tmp_path, written(*make(), tmp_path), None)
        return [ours.visible(i) for i in ours.encode(text)], ours
    assert shown(gpt2, " the\n")[0] == ["·the", "⏎"]
    forms, ours = shown(llama, "the中")
    assert (forms[0].startswith("·") and forms[-3:] == ["‹E4›", "‹B8›", "‹AD›"] and ours.visible(1) == "‹s›"
            and ours.token_bytes(ours.encode("中")[-1]) == b"\xad")
    forms, ours = shown(by_hand, "The catty")
    assert (forms == ["the", "cat", "##ty"] and ours.token_bytes(7) == b"ty" and ours.visible(2) == "‹CLS›"
            and ours.decode(ours.encode("The catty")) == "the catty")
    forms, ours = shown(t5, "the cat")
    assert forms[0].startswith("·") and ours.visible(1) == "‹/s›"


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_saved_and_loaded(make, tmp_path):
    made, settings = make()
    size = written(made, settings, tmp_path)
    ours = tokens.load(tmp_path, size, None)
    ours.save(tmp_path / "tokenizer.json")
    again = tokens.load(tmp_path, size, None)
    assert ([again.visible(i) for i in range(size)] == [ours.visible(i) for i in range(size)]
            and again.begin == ours.begin)
    assert all(again.encode(text) == ours.encode(text) for text in HARD + LIKE_SPECIAL)


def test_two_files_as_gpt2_and_opt_have_them(tmp_path):
    made, settings = gpt2()
    made.model.save(str(tmp_path))
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps(settings | dict(tokenizer_class="GPT2Tokenizer", add_bos_token=True,
                                   bos_token={"__type": "AddedToken", "content": "<|endoftext|>"})))
    theirs, ours = hf.AutoTokenizer.from_pretrained(tmp_path), tokens.load(tmp_path, made.get_vocab_size(), None)
    assert (ours.begin, ours.end) == ((0,), ())
    for text in HARD:
        assert ours.prompt(text, 600).token_ids == tuple(theirs(text).input_ids)


@pytest.mark.parametrize("make, mask", [(bert, 4), (roberta, 4), (gpt2, None)])
def test_a_blank_is_found_where_the_settings_name_none(make, mask, tmp_path):
    assert tokens.load(tmp_path, written(make()[0], {}, tmp_path), None).mask_token == mask


def test_truncation_and_padding_of_the_file_do_not_hold(tmp_path):
    made, settings = bert()
    made.enable_truncation(4)
    made.enable_padding(length=12)
    size = written(made, settings, tmp_path)
    assert len(tokens.load(tmp_path, size, None).encode("the cat sat on the mat")) == 6


# With a model

def test_a_model_with_its_tokenizer(tmp_path):
    made, settings = llama()
    size = written(made, settings, tmp_path)
    saved("llama", tmp_path, vocab_size=size)
    model, tokenizer = huggingface.from_pretrained(tmp_path)
    config = model.config
    assert (config.first_token, config.end_of_text, config.special.mask_token) == (1, 2, None)
    assert (config.vocab_size, tokenizer.vocab_size) == (size, size)
    assert huggingface.preview(tmp_path).tokenizer == "tokenizer.json"
    saved("bert", tmp_path, vocab_size=written(*bert(), tmp_path))
    model, tokenizer = huggingface.from_pretrained(tmp_path)
    assert ((model.config.first_token, model.config.end_of_text, model.config.special.mask_token) == (2, None, 4)
            and tokenizer.method == "WordPiece")
    saved("gpt2", tmp_path, vocab_size=written(*gpt2(), tmp_path), eos_token_id=0, bos_token_id=0)
    model, _ = huggingface.from_pretrained(tmp_path)
    assert (model.config.first_token, model.config.end_of_text) == (0, 0)


def test_every_token_that_ends_a_turn_ends_a_text(tmp_path):
    """As Llama 3's and Gemma's answering models have it: config.json, generation_config.json and the tokenizer name
    different ones.
    """
    made, settings = qwen()
    size = written(made, settings, tmp_path)
    saved("llama", tmp_path, vocab_size=size, eos_token_id=[9, 11, 9, 5000], bos_token_id=None)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [11, 13], "do_sample": True}))
    model, tokenizer = huggingface.from_pretrained(tmp_path)
    turn = tokenizer.end_of_text
    assert tokenizer.visible(turn) == "‹im_end›" and model.config.end_of_text == 9
    assert model.config.special.end_tokens == (11, 13, turn) and model.config.ends == {9, 11, 13, turn}
    prompt = tokenizer.encode("the cat")
    free = list(generate(model, prompt, SamplingConfig(2.0), seed=1, max_new_tokens=30))
    ended = free[-1].token_ids[len(prompt)]
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [13, ended]}))
    cut = list(generate(huggingface.from_pretrained(tmp_path)[0], prompt, SamplingConfig(2.0), seed=1))
    assert [step.token_id for step in cut] == [ended]


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(tmp_path):
    written(*gpt2(), tmp_path)
    saved("gpt2", tmp_path)
    with pytest.raises(PretrainedError, match="vocabulary ends at 60"):
        huggingface.from_pretrained(tmp_path)


@pytest.mark.parametrize("file, content", [("tokenizer.json", "{"), ("tokenizer.json", "{}"),
                                           ("tokenizer_config.json", "["), ("tokenizer_config.json", "[]")])
def test_a_damaged_tokenizer_is_named(file, content, tmp_path):
    written(*gpt2(), tmp_path)
    saved("gpt2", tmp_path, vocab_size=360)
    (tmp_path / file).write_text(content)
    with pytest.raises(PretrainedError, match=f"{file} is damaged") as error:
        huggingface.from_pretrained(tmp_path)
    assert error.value.reason == "tokenizer"


def test_a_model_without_its_tokenizer_reads_numbers(tmp_path):
    saved("gpt2", tmp_path)
    model, tokenizer = huggingface.from_pretrained(tmp_path)
    assert (type(tokenizer) is NumberedTokens and tokenizer.method == "numbers"
            and model.config.vocab_size == tokenizer.vocab_size == 61)
    assert (tokenizer.encode(" 5 60\n0") == [5, 60, 0] and tokenizer.decode([5, 60]) == "5 60"
            and tokenizer.visible(17) == "#17")
    assert (tokenizer.prompt("3 4 5", 2).token_ids == (4, 5) and tokenizer.words("3 4") == [b"3", b"4"]
            and tokenizer.id_of(b"61") is None)
    for bad in ("the cat", "61", "-1", "1.5", "٣", "9" * 5000):
        with pytest.raises(ValueError, match="whole numbers from 0 to 60"):
            tokenizer.encode(bad)
    with pytest.raises(ValueError, match="There is no token"):
        tokenizer.visible(61)
