"""The tokenizer of a Marian model, in its two files: source.spm says how to cut a text, and vocab.json numbers the
pieces.

transformers' MarianTokenizer works in this way with SentencePiece, and without normalising punctuation. It has no
tokenizer.json. target.spm cuts a text of the target language, which no lesson asks for, and is not read: ids are turned
into text by vocab.json alone.
"""
import re
from collections.abc import Mapping
from pathlib import Path

import tokenizers
from tokenizers import models, processors

from core.huggingface import piece_file
from core.huggingface.errors import PretrainedError, read_table, short
from core.huggingface.piece_file import Kind, PieceModel
from core.huggingface.pieces import SPACE, Cutter
from core.huggingface.tokenizer_settings import content, refused

CLASS, CUTS, NUMBERS = "MarianTokenizer", "source.spm", "vocab.json"
FILES = frozenset((CUTS, NUMBERS))
LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)        # the code of the target language, first in a text
# settings of other classes, which this one ignores
IGNORED = ("add_bos_token", "add_eos_token", "add_prefix_space", "do_lower_case", "strip_accents",
           "tokenize_chinese_chars")


class MarianCutter:
    """Cuts a text as MarianTokenizer does, into pieces with their numbers."""

    def __init__(self, model: PieceModel, numbers: Mapping[str, int], special: frozenset[str], unknown: str) -> None:
        """special: the names of tokens that plain text never becomes. Raises ValueError for a damaged table of
        characters.
        """
        self._cutter, self._numbers, self._unknown = Cutter(model), numbers, numbers[unknown]
        self._special = special
        self.unspoken = frozenset(numbers[piece.text] for piece in model.pieces
                                  if piece.kind == Kind.CONTROL and piece.text in numbers)

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """(id, start, end) of each token, which stands for text[start:end]. A language code at the start of `text`,
        such as >>fra<<, is one token; a piece without a number is the unknown token.
        """
        code = LANGUAGE.match(text)
        at = code.end() if code else 0
        cuts = [(code[0], 0, at)] if code else []
        cuts += [(piece, at + start, at + end) for piece, start, end in self._cutter.pieces(text[at:])]
        return [(self._unknown if piece in self._special else self._numbers.get(piece, self._unknown), start, end)
                for piece, start, end in cuts]

    def words(self, text: str) -> list[str]:
        """`text` as it is cut, in parts such that no token spans two: words with the space before them, as ▁."""
        code = LANGUAGE.match(text)
        rest = "".join(c.character for c in self._cutter.plain(text[code.end():] if code else text))
        parts = [rest] if self._cutter.across else re.findall(f"{SPACE}[^{SPACE}]*|[^{SPACE}]+", rest)
        return [*([code[0]] if code else []), *(part for part in parts if part)]


def read(folder: Path, settings: Mapping[str, object]) -> tuple[tokenizers.Tokenizer, MarianCutter]:
    """The tokens of a Marian model in a tokenizer of the `tokenizers` library, and the cutter that cuts a text into
    them.

    settings: those of the tokenizer, with all special tokens. Raises PretrainedError for damaged files and for
    unsupported options.
    """
    for name in IGNORED:
        if settings.get(name):
            raise refused(name, settings[name])
    model, numbers = piece_file.read(folder / CUTS), _numbers(folder / NUMBERS)
    _refuse_options(model)
    unknown, end = (content(settings[name]) for name in ("unk_token", "eos_token"))
    if missing := [name for name in (unknown, end) if name not in numbers]:
        raise PretrainedError("tokenizer", f"{folder / NUMBERS} has no number for {short(missing[0])}. Use the files "
                                           f"that were published together.")
    special = [content(value) for name, value in settings.items() if name.endswith("_token")]
    special += [content(token) for name in ("additional_special_tokens", "extra_special_tokens")
                for token in settings.get(name) or () if not isinstance(settings[name], dict)]
    special = [name for name in dict.fromkeys(special) if name in numbers]
    _refuse_added(folder, settings, numbers, special)
    scores = {piece.text: piece.score for piece in model.pieces}
    backend = tokenizers.Tokenizer(models.Unigram([(piece, scores.get(piece, 0.0)) for piece in numbers],
                                                  unk_id=numbers[unknown]))
    backend.add_special_tokens(special)
    backend.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A $B:1 {end}", special_tokens=[(end, numbers[end])])
    unwritable = frozenset(name for name in special if not LANGUAGE.fullmatch(name))
    try:
        return backend, MarianCutter(model, numbers, unwritable, unknown)
    except ValueError as error:
        raise PretrainedError("tokenizer", f"{folder / CUTS} is damaged: {error} Download it again.") from error


def _numbers(path: Path) -> dict[str, int]:
    """The number of each piece, in their order, from 0 on without a gap."""
    numbers = read_table(path, "tokenizer")
    if any(type(i) is not int for i in numbers.values()) or sorted(numbers.values()) != [*range(len(numbers))]:
        raise PretrainedError("tokenizer", f"{path} is damaged: it does not number its pieces from 0 on, each with "
                                           f"its own number. Download it again.")
    return dict(sorted(numbers.items(), key=lambda item: item[1]))


def _refuse_options(model: PieceModel) -> None:
    """Raise PretrainedError, with its name, for an option of a SentencePiece model that is not supported here."""
    if model.method != "Unigram":
        raise _not_done(f"cuts by {model.method}")
    if model.options:
        raise _not_done(f"sets {model.options[0]}")


def _not_done(what: str) -> PretrainedError:
    return PretrainedError("tokenizer", f"This model's {CUTS} {what}, which this program cannot do for a Marian model. "
                                        f"Choose another model.")


def _refuse_added(folder: Path, settings: Mapping[str, object], numbers: Mapping[str, int], special: list[str]) -> None:
    """Raise PretrainedError for a token beside the vocabulary, or one that would be found in a text before it is cut.
    """
    listed = {content(token): i for i, token in (settings.get("added_tokens_decoder") or {}).items()}
    if (folder / "added_tokens.json").is_file():
        listed |= read_table(folder / "added_tokens.json", "tokenizer")
    for name, i in listed.items():
        if name not in special or str(numbers[name]) != str(i):
            raise PretrainedError("tokenizer", f"This model's tokenizer adds the token {short(name)} as number {i}, "
                                               f"which this program cannot do for a Marian model. Choose another "
                                               f"model.")
