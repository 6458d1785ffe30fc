"""The files that a tokenizer comes in, made into a tokenizer of the `tokenizers` library: tokenizer.json; vocab.json
with merges.txt, as GPT-2, RoBERTa and Qwen2 have them; vocab.txt, as BERT has it; tokenizer.model or spiece.model, as
Llama, Gemma and T5 have it (core.huggingface.piece_tokenizers); source.spm with vocab.json, as Marian has them
(core.huggingface.marian_files). Other forms are refused by name.

tokenizer.json says how to cut a text. Settings of tokenizer_config.json that override it are applied as transformers
5.23 does for the class named there, or refused by name.
"""
import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from core.huggingface import marian_files, piece_tokenizers, tokenizer_settings
from core.huggingface.errors import PretrainedError, read_table
from core.huggingface.fields import family_of
from core.huggingface.marian_files import CUTS, MarianCutter
from core.huggingface.tables import AROUND, CLASS_OF, SPECIAL_TOKENS
from core.huggingface.tokenizer_settings import content

WHOLE, SETTINGS, SPECIAL, ADDED = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                                   "added_tokens.json")
VOCABULARY, MERGES, WORDS = "vocab.json", "merges.txt", "vocab.txt"
FILES = (WHOLE, SETTINGS, SPECIAL, ADDED, VOCABULARY, MERGES, WORDS, CUTS)
PIECES = piece_tokenizers.FILES         # read if there is no tokenizer.json
# forms of a tokenizer that are not read
OTHERS = re.compile(r"\.(model|spm)$|^tekken\.json$|\.tiktoken$|^(vocab\.json|merges\.txt|vocab\.bpe|encoder\.json)$")

# classes of families that are read, for which transformers writes no tokenizer.json
WITHOUT_WHOLE = (marian_files.CLASS, "ByT5Tokenizer", "BertJapaneseTokenizer", "BertweetTokenizer", "PhobertTokenizer",
                 "GPTSw3Tokenizer", "GPTNeoXJapaneseTokenizer", "CpmTokenizer")
LIKE_GPT2 = ("GPT2Tokenizer", "CodeGenTokenizer")
LIKE_BERT = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer")
# the classes that take the space in front of a text only from their settings
BYTE_LEVEL = (*LIKE_GPT2, "RobertaTokenizer", "GPTNeoXTokenizer", "Qwen2Tokenizer")
QWEN2_WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
               r"|\s+(?!\S)|\s+")
# the tokens around a text in a class that names the text's language, English unless something else is said
OF_LANGUAGE, ENGLISH = {"MBartTokenizer": ("", "</s> {}"), "MBart50Tokenizer": ("{}", "</s>")}, "en_XX"


def tokenizer_file(files: Collection[str], kind: str = "") -> str:
    """The file of a model from which to read the tokenizer; "" if it came without one. kind: its class.

    Raises PretrainedError for a tokenizer in a form that is not read.
    """
    if set(files) >= marian_files.FILES and (kind == marian_files.CLASS or WHOLE not in files):
        return CUTS                     # transformers reads no tokenizer.json for this class
    if WHOLE in files:
        return WHOLE
    if (file := piece_tokenizers.FILE_OF.get(kind)) in files:
        return file
    if {VOCABULARY, MERGES} <= set(files):
        return VOCABULARY
    if WORDS in files:
        return WORDS
    if file := next((file for file in PIECES if file in files), ""):
        return file
    if other := next((name for name in sorted(files) if OTHERS.search(name)), None):
        raise _other_form(other, kind)
    return ""


def _other_form(file: str, kind: str) -> PretrainedError:
    if file.endswith(".spm"):
        return PretrainedError("tokenizer", f"This model's tokenizer is in the form {file}, which this program reads "
                                            f"for a Marian model alone, together with {VOCABULARY}. Use all files that "
                                            f"were published together, or choose another model.")
    if kind in WITHOUT_WHOLE:
        return PretrainedError("tokenizer", f"This model's tokenizer is in the form {file}, which this program does "
                                            f"not read, and of a {kind} transformers writes no {WHOLE} either. Choose "
                                            f"another model.")
    needs = " (with the packages sentencepiece and protobuf beside it)" if ".model" in file else ""
    return PretrainedError("tokenizer", f"This model's tokenizer is in the form {file}, which this program does not "
                                        f"read. Load it once with transformers' AutoTokenizer{needs} and save it into "
                                        f"the folder of the model with save_pretrained, which writes {WHOLE}.")


def settings_in(folder: Path) -> dict:
    """The settings of a tokenizer, from its two files: the older one counts if the newer one lists no tokens."""
    newer, older = (read_table(path, "tokenizer") if path.is_file() else {}
                    for path in (folder / SETTINGS, folder / SPECIAL))
    tokenizer_settings.refuse_unknown(newer)
    return older | newer if "added_tokens_decoder" in newer else newer | older


def class_of(settings: Mapping[str, object], config: Mapping[str, object]) -> str:
    """The class of transformers that would read a tokenizer, without "Fast"; "" if nothing says.

    settings: its tokenizer_config.json; config: the model's config.json.
    """
    named = (settings.get("tokenizer_class") or config.get("tokenizer_class")
             or CLASS_OF.get(str(family_of(config)), ""))
    return str(named).removesuffix("Fast")


def check(file: str, kind: str, settings: Mapping[str, object]) -> None:
    """Raise PretrainedError if a tokenizer of the class `kind` cannot be made from `file`, or not for a language."""
    if settings.get("src_lang") is not None and kind not in OF_LANGUAGE:
        raise tokenizer_settings.refused("src_lang", settings["src_lang"])
    if file == VOCABULARY and kind not in (*LIKE_GPT2, "RobertaTokenizer", "Qwen2Tokenizer"):
        raise _other_form(f"{VOCABULARY} and {MERGES}, of the class {kind or 'that nothing names'}", kind)
    if file == CUTS and kind != marian_files.CLASS:
        raise _other_form(CUTS, kind)
    if file == WORDS and kind not in LIKE_BERT:
        raise _other_form(f"{WORDS}, of the class {kind or 'that nothing names'}", kind)
    if file in PIECES and piece_tokenizers.FILE_OF.get(kind) != file:
        raise _other_form(f"{file}, of the class {kind or 'that nothing names'}", kind)
    if not file and kind == "ByT5Tokenizer":
        raise _other_form("of bytes, ByT5Tokenizer, without a file", kind)


def read(folder: Path, config: Mapping[str, object]) -> tuple[tokenizers.Tokenizer, dict, MarianCutter | None] | None:
    """The tokenizer in a folder and its settings, with the names of all special tokens, and the cutter if the tokenizer
    does not cut a text itself; None if there is no tokenizer.

    config: the model's config.json. Raises PretrainedError for a damaged one, for one in another form, and for settings
    that cannot be applied.
    """
    settings = settings_in(folder)
    kind = class_of(settings, config)
    file = tokenizer_file([path.name for path in folder.iterdir()], kind)
    check(file, kind, settings)
    if not file:
        return None
    settings = SPECIAL_TOKENS.get(kind, {}) | {name: value for name, value in settings.items() if value is not None}
    try:
        if file == CUTS:
            backend, cutter = marian_files.read(folder, settings)
            return backend, settings, cutter
        if file == WHOLE:
            backend = _whole(folder / WHOLE, kind, settings)
        elif file in PIECES:
            backend = _pieces(folder / file, kind, settings)
        else:
            backend = _words(folder, settings) if file == WORDS else _byte_level(folder, kind, settings)
        _add_tokens(backend, folder, settings, file)
        return backend, settings, None
    except PretrainedError:
        raise
    except Exception as error:          # the library raises bare Exception
        raise PretrainedError("tokenizer", f"{folder / file} is damaged: {error} Download it again.") from error


def _whole(path: Path, kind: str, settings: dict) -> tokenizers.Tokenizer:
    """The tokenizer from tokenizer.json, with the changes of the settings."""
    spec = json.loads(path.read_text(encoding="utf-8"))
    if spec["model"].get("dropout"):
        raise PretrainedError("tokenizer", f"{path} leaves out merges at random (dropout = "
                                           f"{spec['model']['dropout']}), and this program does not. Choose another "
                                           f"model.")
    _set_space(spec, kind, settings)
    _set_letters(spec, kind, settings)
    backend = tokenizers.Tokenizer.from_str(json.dumps(spec, ensure_ascii=False))
    # such a file itself says which tokens stand around a text
    settings.pop("add_bos_token", None), settings.pop("add_eos_token", None)
    if kind == "GPTNeoXTokenizer":
        backend.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B:1", special_tokens=[])
    elif backend.post_processor is None or kind in OF_LANGUAGE:
        _set_around(backend, kind, settings)
    return backend


def steps(part: dict | None) -> list[dict]:
    """The steps of a part of tokenizer.json, those of sequences one by one."""
    if part is None:
        return []
    inner = [step for name in ("decoders", "pretokenizers", "normalizers") for step in part.get(name, [])]
    return [part] if not inner else [one for step in inner for one in steps(step)]


def _set_space(spec: dict, kind: str, settings: dict) -> None:
    """Have a space put in front of a text, or none, as add_prefix_space says."""
    asked = settings.get("add_prefix_space")
    cuts = steps(spec["pre_tokenizer"])
    byte_level = [step for step in cuts if step["type"] == "ByteLevel"]
    if kind in BYTE_LEVEL and byte_level:
        for step in byte_level:
            step["add_prefix_space"] = bool(asked)
        return
    puts = (any(step["add_prefix_space"] for step in byte_level)
            or any(step.get("prepend_scheme", "never") != "never" for step in cuts if step["type"] == "Metaspace")
            or any(step["type"] == "Prepend" for step in steps(spec["normalizer"])))
    if asked is not None and bool(asked) != puts:
        raise tokenizer_settings.refused("add_prefix_space", asked)


def _set_letters(spec: dict, kind: str, settings: dict) -> None:
    """Have capitals, accents and Chinese characters treated as the settings of a WordPiece say."""
    cleans = steps(spec["normalizer"])
    bert = next((step for step in cleans if step["type"] == "BertNormalizer"), None)
    if kind in LIKE_BERT and bert is not None:
        bert |= dict(lowercase=settings.get("do_lower_case", True), strip_accents=settings.get("strip_accents"),
                     handle_chinese_chars=settings.get("tokenize_chinese_chars", True))
        return
    if bert is not None:
        accents = bert["lowercase"] if bert["strip_accents"] is None else bert["strip_accents"]
        done = dict(do_lower_case=bert["lowercase"], strip_accents=accents,
                    tokenize_chinese_chars=bert["handle_chinese_chars"])
    else:
        types = {step["type"] for step in cleans}
        done = dict(do_lower_case="Lowercase" in types, strip_accents="StripAccents" in types)
    for name, does in done.items():
        if settings.get(name, does) != does:
            raise tokenizer_settings.refused(name, settings[name])


def _byte_level(folder: Path, kind: str, settings: dict) -> tokenizers.Tokenizer:
    """The tokenizer from two files: a vocabulary and merges of bytes."""
    backend = tokenizers.Tokenizer(models.BPE.from_file(str(folder / VOCABULARY), str(folder / MERGES)))
    space = bool(settings.get("add_prefix_space"))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=space), decoders.ByteLevel()
    if kind == "Qwen2Tokenizer":
        backend.normalizer = normalizers.NFC()
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(QWEN2_WORDS), "isolated"),
             pre_tokenizers.ByteLevel(add_prefix_space=space, use_regex=False)])
    _set_around(backend, kind, settings)
    return backend


def _words(folder: Path, settings: dict) -> tokenizers.Tokenizer:
    """The tokenizer from a list of words and their ends, one a line."""
    unknown = content(settings["unk_token"])
    backend = tokenizers.Tokenizer(models.WordPiece.from_file(str(folder / WORDS), unk_token=unknown))
    backend.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"), lowercase=settings.get("do_lower_case", True))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(prefix="##")
    _set_around(backend, "BertTokenizer", settings)
    return backend


def _pieces(path: Path, kind: str, settings: dict) -> tokenizers.Tokenizer:
    """The tokenizer from a file of SentencePiece. If its class itself sets the tokens around a text, the settings do
    not.
    """
    backend = piece_tokenizers.read(path, kind, settings)
    if kind in AROUND:
        settings.pop("add_bos_token", None), settings.pop("add_eos_token", None)
        _set_around(backend, kind, settings)
    return backend


def _set_around(backend: tokenizers.Tokenizer, kind: str, settings: dict) -> None:
    """Put a class's own special tokens around a text."""
    if kind in OF_LANGUAGE:
        first, last = (part.format(settings.get("src_lang", ENGLISH)) for part in OF_LANGUAGE[kind])
    elif kind in AROUND:
        first, last = (content(settings.get(name)) for name in AROUND[kind])
    else:
        return
    single = " ".join(part for part in (first, "$A", last) if part)
    around = single.replace("$A", "").split()
    if missing := [token for token in around if backend.token_to_id(token) is None]:
        raise ValueError(f"it has no token {missing[0]}.")
    backend.post_processor = processors.TemplateProcessing(
        single=single, pair=f"{single} $B:1", special_tokens=[(token, backend.token_to_id(token)) for token in around])


def _add_tokens(backend: tokenizers.Tokenizer, folder: Path, settings: dict, file: str) -> None:
    """Add the tokens that stand beside the vocabulary: those of the settings with their ids, and the names of special
    ones. Raises PretrainedError for one whose id is taken.
    """
    named = [content(value) for name, value in settings.items() if name.endswith("_token")]
    named += [content(token) for name in ("additional_special_tokens", "extra_special_tokens")
              for token in settings.get(name) or () if not isinstance(settings[name], dict)]
    special = [name for name in dict.fromkeys(named) if isinstance(name, str) and name]
    listed = {int(i): AddedToken(**token) for i, token in (settings.get("added_tokens_decoder") or {}).items()}
    if not listed and file != WHOLE and (folder / ADDED).is_file():
        listed = {i: AddedToken(name, special=name in special, normalized=name not in special)
                  for name, i in read_table(folder / ADDED, "tokenizer").items()}
    for i, token in sorted(listed.items()):
        backend.add_tokens([token])
        if backend.token_to_id(token.content) != i:
            raise PretrainedError("tokenizer", f"This model's tokenizer gives {token.content} the id "
                                               f"{backend.token_to_id(token.content)}, and its settings say {i}. Use "
                                               f"the files that were published together.")
    known = [name for name in special if file != WHOLE or backend.token_to_id(name) is not None]
    backend.add_special_tokens(known)
