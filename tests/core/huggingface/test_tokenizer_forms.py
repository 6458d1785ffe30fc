"""The files that a tokenizer comes in, and what its settings change: ids as transformers' own on hard strings, or
refused by name.
"""
import json
import shutil

import pytest
import tokenizers
from tokenizers import normalizers, pre_tokenizers

from core import huggingface
from core.huggingface import PretrainedError, tokenizer_forms, tokens
from core.huggingface.tokenizer_settings import BY_REASON
from tests.core.huggingface.test_tokens import HARD, LIKE_SPECIAL, MAKERS, bert, gpt2, llama, qwen, roberta, t5, written
from tests.helpers.huggingface_models import hf, saved
from tests.helpers.ids import named

MORE = ["HELLO World", "Café naïve ÀÉ", "中文 the 字", "a <new> b<new>", "the  <new>cat",
        "it's I'LL 'S 2024\r\n\r\n  x"]
TEXTS = HARD + LIKE_SPECIAL + MORE


def two_files(made: tokenizers.Tokenizer, settings: dict, folder) -> int:
    """Write a BPE as vocab.json and merges.txt; give the size of a model's vocabulary that is padded by 10."""
    made.model.save(str(folder))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return made.get_vocab_size() + 10


def vocab_txt(settings: dict, folder) -> int:
    vocabulary = bert()[0].get_vocab()
    (folder / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.get)) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return len(vocabulary) + 10


def differing(folder, vocab_size: int) -> list[str]:
    """The texts that transformers and we cut otherwise, or put other tokens around."""
    theirs, ours = hf.AutoTokenizer.from_pretrained(folder), tokens.load(folder, vocab_size, 0)
    assert len({tuple(ours.encode(text)) for text in TEXTS}) > 20
    return [text for text in TEXTS
            if ours.encode(text) != theirs(text, add_special_tokens=False, split_special_tokens=True).input_ids
            or theirs(text, split_special_tokens=True).input_ids not in ([], [*ours.prompt(text, 900).token_ids])]


def model_type(folder, name: str) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": name}))


GPT2, ADDED = dict(tokenizer_class="GPT2Tokenizer"), dict(content="<new>", lstrip=False, rstrip=False,
                                                           single_word=False, normalized=False, special=False)


@pytest.mark.parametrize("make, settings, family", [
    (gpt2, GPT2, "gpt2"), (gpt2, {}, "gpt2"), (gpt2, GPT2 | dict(add_prefix_space=True), "gpt2"),
    (gpt2, GPT2 | dict(add_bos_token=True), "opt"), (gpt2, dict(tokenizer_class="GPT2TokenizerFast"), "llama"),
    (roberta, {}, "roberta"), (roberta, dict(tokenizer_class="RobertaTokenizer", add_prefix_space=True), "roberta"),
    (qwen, dict(tokenizer_class="Qwen2Tokenizer"), "qwen2"), (qwen, {}, "qwen2"),
    (gpt2, dict(tokenizer_class="CodeGenTokenizer", add_bos_token=True), "phi")], ids=named)
def test_two_files_are_read_as_their_family_reads_them(make, settings, family, tmp_path):
    model_type(tmp_path, family)
    assert differing(tmp_path, two_files(make()[0], settings, tmp_path)) == []


@pytest.mark.parametrize("where", ["added_tokens_decoder", "added_tokens.json"])
def test_tokens_beside_the_vocabulary_are_read(where, tmp_path):
    made, _ = gpt2()
    size, model = made.get_vocab_size(), GPT2 | dict(additional_special_tokens=["<|im_start|>"])
    if where == "added_tokens.json":
        (tmp_path / where).write_text(json.dumps({"<new>": size, "<|im_start|>": size + 1}))
    else:
        model |= {where: {str(size): ADDED, str(size + 1): ADDED | dict(content="<|im_start|>", special=True)}}
    vocab_size = two_files(made, model, tmp_path)
    model_type(tmp_path, "gpt2")
    assert differing(tmp_path, vocab_size) == []
    ours = tokens.load(tmp_path, vocab_size, None)
    assert size in ours.encode("a <new> b") and size + 1 not in ours.encode("<|im_start|>")
    assert ours.visible(size + 1) == "‹im_start›" and ours.end_of_text == 0


def test_an_added_token_whose_id_is_taken_is_refused(tmp_path):
    size = two_files(gpt2()[0], GPT2 | dict(added_tokens_decoder={"400": ADDED}), tmp_path)
    with pytest.raises(PretrainedError, match="gives <new> the id 350, and its settings say 400"):
        tokens.load(tmp_path, size, None)


@pytest.mark.parametrize("settings", [
    {}, dict(do_lower_case=True), dict(do_lower_case=False), dict(do_lower_case=True, strip_accents=False),
    dict(do_lower_case=False, strip_accents=True), dict(tokenize_chinese_chars=False),
    dict(tokenizer_class="BertTokenizer", strip_accents=None, model_max_length=512, never_split=None)], ids=named)
@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_a_list_of_words_is_read_as_bert_reads_it(settings, family, tmp_path):
    model_type(tmp_path, family)
    size = vocab_txt(settings, tmp_path)
    assert differing(tmp_path, size) == []
    ours = tokens.load(tmp_path, size, None)
    assert (ours.method, ours.begin, ours.end, ours.mask_token) == ("WordPiece", (2,), (3,), 4)


@pytest.mark.parametrize("make, settings", [
    (gpt2, GPT2 | dict(add_prefix_space=True)), (roberta, dict(tokenizer_class="RobertaTokenizer",
                                                               add_prefix_space=True)),
    (bert, dict(tokenizer_class="BertTokenizer", do_lower_case=False)),
    (bert, dict(tokenizer_class="BertTokenizerFast", strip_accents=False, tokenize_chinese_chars=False)),
    (bert, dict(tokenizer_class="DistilBertTokenizer")), (gpt2, dict(tokenizer_class="GPTNeoXTokenizer")),
    (llama, dict(tokenizer_class="PreTrainedTokenizerFast", add_bos_token=False, add_eos_token=True)),
    (llama, dict(tokenizer_class="LlamaTokenizer", add_bos_token=False, add_prefix_space=True))], ids=named)
def test_settings_over_a_whole_file_do_what_they_do_in_transformers(make, settings, tmp_path):
    made, given = make()
    if settings["tokenizer_class"] == "GPTNeoXTokenizer":
        made.normalizer = normalizers.NFC()
    assert differing(tmp_path, written(made, given | settings, tmp_path)) == []


FOUR = dict(bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def pieces(*more: str) -> list[tuple[str, float]]:
    """A Unigram's vocabulary as XLM-R and mBART have it: four special pieces first."""
    return [*((name, 0.0) for name in (*FOUR.values(), *more)), *((piece, score) for piece, score in
            json.loads(t5()[0].to_str())["model"]["vocab"] if piece not in FOUR.values())]


@pytest.mark.parametrize("kind, settings, begin, end", [
    ("XLMRobertaTokenizer", dict(unk_id=0), ["<s>"], ["</s>"]),
    ("CamembertTokenizer", dict(unk_id=0), ["<s>"], ["</s>"]),
    ("PegasusTokenizer", dict(unk_id=0), [], ["</s>"]),
    ("MBartTokenizer", dict(unk_id=0), [], ["</s>", "en_XX"]),
    ("MBartTokenizer", dict(src_lang="ro_RO", tgt_lang="en_XX"), [], ["</s>", "ro_RO"]),
    ("MBart50Tokenizer", dict(src_lang="de_DE", unk_id=0), ["de_DE"], ["</s>"])], ids=str)
def test_what_transformers_makes_of_a_file_of_pieces_and_saves_is_read(kind, settings, begin, end, tmp_path):
    """As users are told to do with a sentencepiece.bpe.model: the classes write settings of their own beside it."""
    languages = [] if "MBart" not in kind else ["en_XX", "ro_RO", "de_DE"]
    made = getattr(hf, kind)(vocab=pieces(*languages), **FOUR, **settings)
    made.save_pretrained(tmp_path)
    saved_settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert all(saved_settings[name] == value for name, value in settings.items())
    assert (tmp_path / "tokenizer.json").is_file()
    assert set(differing(tmp_path, len(made))) <= set(LIKE_SPECIAL), "special tokens that a reader types stay text"
    ours = tokens.load(tmp_path, len(made), None)
    assert [[ours._pieces[i] for i in ids] for ids in (ours.begin, ours.end)] == [begin, end]
    assert "<unk>" in [ours._pieces[i] for i in ours.encode("the cat Ж")]


def test_a_language_of_a_class_that_names_none_is_refused(tmp_path):
    made, settings = t5()
    size = written(made, settings | dict(src_lang="ro_RO"), tmp_path)
    with pytest.raises(PretrainedError, match="sets src_lang = 'ro_RO'"):
        tokens.load(tmp_path, size, None)


def test_settings_change_something(tmp_path):
    """So that the parity above is no parity of nothing."""
    def shown(make, **settings):
        made, given = make()
        ours = tokens.load(tmp_path, written(made, given | settings, tmp_path), None)
        return [ours.visible(i) for i in ours.encode("Hello Café")]

    assert shown(gpt2, **GPT2, add_prefix_space=True) != shown(gpt2, **GPT2)
    assert shown(bert, do_lower_case=False) != shown(bert)


def test_a_token_that_only_the_settings_list_is_one(tmp_path):
    made, settings = gpt2()
    listed = {"350": ADDED}
    size = written(made, settings | dict(added_tokens_decoder=listed), tmp_path)
    assert differing(tmp_path, size) == [] and 350 in tokens.load(tmp_path, size, None).encode("a <new>")


@pytest.mark.parametrize("make, settings, said", [
    (gpt2, dict(tokenizer_class="PreTrainedTokenizerFast", add_prefix_space=True), "add_prefix_space = True"),
    (llama, dict(add_prefix_space=False), "add_prefix_space = False"), (t5, dict(do_lower_case=True), "do_lower_case"),
    (bert, dict(tokenizer_class="PreTrainedTokenizerFast", do_lower_case=False), "do_lower_case = False"),
    (gpt2, dict(sounds_like="music"), "sounds_like = 'music'"), (gpt2, dict(fix_mistral_regex=True), "fix_mistral"),
    (gpt2, dict(sp_model_kwargs={"enable_sampling": True}), "sp_model_kwargs = {'enable_sampling': True}")], ids=named)
def test_settings_that_cannot_be_done_are_refused_by_name_and_value(make, settings, said, tmp_path):
    made, given = make()
    size = written(made, given | settings, tmp_path)
    with pytest.raises(PretrainedError) as error:
        tokens.load(tmp_path, size, None)
    assert said in str(error.value) and error.value.reason == "tokenizer"


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_no_tokenizer_takes_a_setting_that_nobody_knows(make, tmp_path):
    made, given = make()
    size = written(made, given | {"a_new_way": 3}, tmp_path)
    with pytest.raises(PretrainedError, match="a_new_way = 3"):
        tokens.load(tmp_path, size, None)
    written(made, given | {"a_new_way": None, "chat_template": "{{ x }}", "image_token": "<image>"}, tmp_path)
    assert tokens.load(tmp_path, size, None).encode("the cat")


def test_a_key_has_one_reason():
    names = [name for some in BY_REASON.values() for name in some]
    assert len(names) == len(set(names))


def test_what_a_tokenizer_of_transformers_saves_is_accepted(tmp_path):
    for number, make in enumerate(MAKERS):
        folder = tmp_path / str(number)
        folder.mkdir()
        size = written(*make(), folder)
        hf.AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
        assert tokens.load(folder, size + 110, None).encode("the cat")


def test_merges_that_are_left_out_at_random_are_refused(tmp_path):
    made, settings = gpt2()
    made.model.dropout = 0.1
    size = written(made, settings, tmp_path)
    with pytest.raises(PretrainedError, match="at random \\(dropout = 0.1"):
        tokens.load(tmp_path, size, None)


@pytest.mark.parametrize("file, settings, said", [
    ("tokenizer.model", {}, "tokenizer.model, of the class GPT2Tokenizer, which this program does not read"),
    ("sentencepiece.bpe.model", {}, "in the form sentencepiece.bpe.model"),
    ("tekken.json", {}, "in the form tekken.json"), ("merges.txt", {}, "in the form merges.txt"),
    ("vocab.json", {}, "in the form vocab.json"), ("qwen.tiktoken", {}, "in the form qwen.tiktoken"),
    ("vocab.txt", dict(tokenizer_class="BertJapaneseTokenizer"), "of the class BertJapaneseTokenizer"),
    ("tokenizer_config.json", dict(tokenizer_class="ByT5Tokenizer"), "ByT5Tokenizer, without a file")])
def test_other_forms_are_told_as_what_they_are(file, settings, said, tmp_path):
    saved("gpt2", tmp_path)
    (tmp_path / file).write_bytes(b"x")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    for call in (huggingface.from_pretrained, huggingface.preview):
        with pytest.raises(PretrainedError) as error:
            call(tmp_path)
        advice = "writes no tokenizer.json" if "JapaneseT" in said or "ByT5" in said else "save_pretrained"
        assert said in str(error.value) and error.value.reason == "tokenizer" and advice in str(error.value)
        assert ("sentencepiece" in str(error.value)) == file.endswith(".model")


def test_two_files_of_another_class_are_refused(tmp_path):
    made, _ = gpt2()
    saved("gpt2", tmp_path, vocab_size=two_files(made, dict(tokenizer_class="BlenderbotTokenizer"), tmp_path))
    for call in (huggingface.from_pretrained, huggingface.preview):
        with pytest.raises(PretrainedError, match=r"vocab.json and merges.txt, of the class BlenderbotTokenizer"):
            call(tmp_path)


def test_without_any_file_a_model_came_without_its_tokenizer(tmp_path):
    saved("gpt2", tmp_path)
    assert tokenizer_forms.tokenizer_file(["config.json", "model.safetensors"]) == ""
    assert huggingface.from_pretrained(tmp_path)[1].method == "numbers"
    shutil.rmtree(tmp_path)


def test_bytes_of_qwen2_are_split_as_its_published_file_splits_them(tmp_path):
    """Digits stand alone, a letter keeps the sign before it, and é is one letter however it is written."""
    size = two_files(gpt2()[0], dict(tokenizer_class="Qwen2Tokenizer"), tmp_path)
    ours = tokens.load(tmp_path, size, None)
    assert ours.words("I'll pay 12.5") == [b"I", b"'ll", b" pay", b" ", b"1", b"2", b".", b"5"]
    assert ours.encode("e\u0301") == ours.encode("é")
    assert pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str("12")[0][0] == "12"
