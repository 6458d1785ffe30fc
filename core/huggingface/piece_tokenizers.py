"""The tokenizers of Llama, Gemma and T5, read from a file of SentencePiece alone: tokenizer.model holds a BPE with
bytes for characters without a piece, spiece.model a Unigram.

A text is cut as by transformers 5.23's classes LlamaTokenizer, GemmaTokenizer and T5Tokenizer, whatever the family.
They take the pieces from the file, and T5Tokenizer its table of characters. The rest they do in their own way, whatever
the file says: Llama and T5 put a space in front of a text, Gemma none; T5 leaves out repeated spaces, and gives
characters without a piece the unknown token even if the file has bytes.
"""
from collections.abc import Mapping
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers

from core.huggingface import piece_file
from core.huggingface.errors import PretrainedError
from core.huggingface.piece_file import Kind, PieceModel
from core.huggingface.pieces import SPACE, Replacements
from core.huggingface.tokenizer_settings import refused

LLAMA, GEMMA, T5 = "LlamaTokenizer", "GemmaTokenizer", "T5Tokenizer"
FILE_OF = {LLAMA: "tokenizer.model", GEMMA: "tokenizer.model", T5: "spiece.model"}
FILES = tuple(dict.fromkeys(FILE_OF.values()))
METHOD = {LLAMA: "BPE", GEMMA: "BPE", T5: "Unigram"}
BYTES = frozenset(f"<0x{byte:02X}>" for byte in range(256))
UNKNOWN = 2                             # the number that T5Tokenizer gives to what has no piece
SENTINEL, N_SENTINELS, MOST_SENTINELS = "<extra_id_{}>", 100, 10_000


def read(path: Path, kind: str, settings: Mapping[str, object]) -> tokenizers.Tokenizer:
    """The tokenizer of the class `kind` from a file. settings: those of the tokenizer.

    Raises PretrainedError for a damaged file and for unsupported options, ValueError for a damaged table of characters.
    """
    _refuse_settings(kind, settings)
    model = piece_file.read(path)
    if asked := _not_done(kind, model):
        raise PretrainedError("tokenizer", f"This model's {path.name} {asked}, which this program cannot do for a "
                                           f"{kind}. Choose another model.")
    backend = _unigram(model, settings) if kind == T5 else _bpe(model, kind, settings)
    backend.add_special_tokens([piece.text for piece in model.pieces if piece.kind == Kind.CONTROL])
    backend.add_tokens([AddedToken(piece.text, normalized=False) for piece in model.pieces
                        if piece.kind == Kind.USER_DEFINED])
    return backend


def _refuse_settings(kind: str, settings: Mapping[str, object]) -> None:
    """Raise PretrainedError for settings that the class ignores or cannot take."""
    for name in ("do_lower_case", "strip_accents", "tokenize_chinese_chars"):
        if settings.get(name):
            raise refused(name, settings[name])
    space, puts = settings.get("add_prefix_space"), kind == T5
    if kind != LLAMA and space is not None and bool(space) != puts:
        raise refused("add_prefix_space", space)
    n_sentinels = settings.get("extra_ids", 0)
    if kind == T5 and (type(n_sentinels) is not int or not 0 <= n_sentinels <= MOST_SENTINELS):
        raise refused("extra_ids", n_sentinels)


def _not_done(kind: str, model: PieceModel) -> str:
    """An option of the file that the class does not support; "" if there is none."""
    kinds = {piece.kind for piece in model.pieces}
    if model.method != METHOD[kind]:
        return f"cuts by {model.method}"
    if options := [name for name in model.options if name not in ("user_defined_symbols", "byte_fallback")]:
        return f"sets {options[0]}"
    if Kind.UNUSED in kinds:
        return "has pieces that are not used"
    unknown = next(i for i, piece in enumerate(model.pieces) if piece.kind == Kind.UNKNOWN)
    if kind == T5 and unknown != UNKNOWN:
        return f"gives what has no piece the number {unknown} instead of {UNKNOWN}"
    if kind != T5 and BYTES - {piece.text for piece in model.pieces if piece.kind == Kind.BYTE}:
        return "has no bytes for what has no piece (byte_fallback)"
    return ""


def _bpe(model: PieceModel, kind: str, settings: Mapping[str, object]) -> tokenizers.Tokenizer:
    """The tokenizer of a Llama or Gemma. Its merges: every way to make a piece of two others, in the order of the file.
    """
    numbers = {piece.text: i for i, piece in enumerate(model.pieces)}
    merges = [(text[:at], text[at:]) for text in numbers for at in range(1, len(text))
              if text[:at] in numbers and text[at:] in numbers]
    backend = tokenizers.Tokenizer(models.BPE(numbers, merges, fuse_unk=True, byte_fallback=True))
    back = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if kind == GEMMA:
        backend.normalizer = normalizers.Replace(" ", SPACE)
    else:
        puts = settings.get("add_prefix_space", True)
        scheme = ("always" if settings.get("legacy") else "first") if puts else "never"
        backend.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, scheme, split=False)
        back += [decoders.Strip(" ", 1, 0)] if puts else []
    backend.decoder = decoders.Sequence(back)
    return backend


def _unigram(model: PieceModel, settings: Mapping[str, object]) -> tokenizers.Tokenizer:
    """The tokenizer of a T5, with its sentinels after the pieces of the file, the last one first."""
    sentinels = [SENTINEL.format(i) for i in reversed(range(settings.get("extra_ids", N_SENTINELS)))]
    if sentinels and any(SENTINEL[:-3] in piece.text for piece in model.pieces):
        raise PretrainedError("tokenizer", f"This model's {FILE_OF[T5]} has tokens like {SENTINEL.format(0)}, and its "
                                           f"tokenizer_config.json does not say extra_ids = 0, so {len(sentinels)} "
                                           f"more are added. Use the files that were published together.")
    backend = tokenizers.Tokenizer(models.Unigram(
        [(piece.text, piece.score) for piece in model.pieces] + [(name, 0.0) for name in sentinels], UNKNOWN))
    if model.charsmap:
        Replacements(model.charsmap)                # raises ValueError; the library would end this program
        backend.normalizer = normalizers.Precompiled(model.charsmap)
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),
                                                     pre_tokenizers.Metaspace(SPACE, "always")])
    backend.decoder = decoders.Metaspace(SPACE, "always")
    backend.add_special_tokens(sentinels)
    return backend
