"""The file of a SentencePiece model (source.spm, spiece.model), read without its library: the pieces with their scores,
and how a text is made plain before it is cut.

The file is a message of protocol buffers: one field after the other, each with its number and the kind of its value,
and some are messages of their own. Only the fields that say how to cut a text are kept. Source: sentencepiece's
sentencepiece_model.proto; the wire format of protocol buffers.
"""
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from core.huggingface.errors import PretrainedError

MOST_BYTES = 2**25            # those of the published ones have 0.2 to 5 MB
VARINT, EIGHT_BYTES, COUNTED, FOUR_BYTES = 0, 1, 2, 5
MOST_SCORE = 1e9              # so that no sum of them leaves float32; log probabilities are above −100
# the fields of a message: number -> (name, kind)
MODEL = {1: ("pieces", COUNTED), 2: ("trainer", COUNTED), 3: ("normaliser", COUNTED), 5: ("denormaliser", COUNTED)}
PIECE = {1: ("text", COUNTED), 2: ("score", FOUR_BYTES), 3: ("kind", VARINT)}
TRAINER = {3: ("method", VARINT), 24: ("treat_whitespace_as_suffix", VARINT), 35: ("byte_fallback", VARINT)}
NORMALISER = {2: ("charsmap", COUNTED), 3: ("add_dummy_prefix", VARINT), 4: ("remove_extra_whitespaces", VARINT),
              5: ("escape_whitespaces", VARINT)}
METHODS = {1: "Unigram", 2: "BPE", 3: "words", 4: "characters"}


class Kind(IntEnum):
    """What a piece is: only NORMAL and USER_DEFINED ones are looked for in a text."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True)
class Piece:
    """A piece of text, with ▁ for a space. score: its log probability, as float32."""

    text: str
    score: float
    kind: Kind


@dataclass(frozen=True)
class PieceModel:
    """A SentencePiece model. method: one of METHODS' names. charsmap: the table of characters that are replaced, as
    core.huggingface.pieces reads it; empty if none are.
    """

    pieces: tuple[Piece, ...]
    method: str
    charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool
    treat_whitespace_as_suffix: bool
    byte_fallback: bool
    denormalises: bool

    @property
    def options(self) -> tuple[str, ...]:
        """SentencePiece's names of the options that are set, of those that change how a text is cut."""
        kinds = {piece.kind for piece in self.pieces}
        asked = {"user_defined_symbols": Kind.USER_DEFINED in kinds,
                 "byte_fallback": self.byte_fallback or Kind.BYTE in kinds,
                 "treat_whitespace_as_suffix": self.treat_whitespace_as_suffix,
                 "escape_whitespaces": not self.escape_whitespaces, "denormalizer_spec": self.denormalises}
        return tuple(name for name, is_set in asked.items() if is_set)


def read(path: Path) -> PieceModel:
    """The model in a file. Raises PretrainedError for one that is damaged or far too large."""
    try:
        if (size := path.stat().st_size) > MOST_BYTES:
            raise ValueError(f"it has {size:,} bytes, far more than such a file.")
        return _parsed(path.read_bytes())
    except (OSError, ValueError) as error:
        raise PretrainedError("tokenizer", f"{path} is damaged: {error} Download it again.") from error


def _parsed(data: bytes) -> PieceModel:
    """The model in the bytes of a file. Raises ValueError if they hold none."""
    pieces, parts = [], {"trainer": {}, "normaliser": {}, "denormaliser": {}}
    known = {"trainer": TRAINER, "normaliser": NORMALISER, "denormaliser": NORMALISER}
    for name, value in _fields(data, MODEL):
        if name == "pieces":
            pieces.append(_piece(value))
        else:
            parts[name].update(_fields(value, known[name]))
    _check(pieces)
    trainer, normaliser = parts["trainer"], parts["normaliser"]
    method = trainer.get("method", 1)
    if method not in METHODS:
        raise ValueError(f"it has the unknown method {method}.")
    return PieceModel(
        tuple(pieces), METHODS[method], normaliser.get("charsmap", b""),
        *(bool(normaliser.get(name, 1)) for name in ("add_dummy_prefix", "remove_extra_whitespaces",
                                                     "escape_whitespaces")),
        *(bool(trainer.get(name, 0)) for name in ("treat_whitespace_as_suffix", "byte_fallback")),
        denormalises=bool(parts["denormaliser"].get("charsmap")))


def _piece(data: bytes) -> Piece:
    fields = dict(_fields(data, PIECE))
    score, = struct.unpack("<f", fields.get("score", bytes(4)))
    if not abs(score) <= MOST_SCORE:
        raise ValueError(f"a piece has the score {score}.")
    return Piece(fields.get("text", b"").decode(), score, Kind(fields.get("kind", 1)))


def _check(pieces: list[Piece]) -> None:
    """Raise ValueError where SentencePiece would not take the pieces either."""
    texts = [piece.text for piece in pieces]
    if not all(texts) or len(set(texts)) < len(texts):
        raise ValueError("a piece is empty or stands in it twice.")
    if sum(piece.kind == Kind.UNKNOWN for piece in pieces) != 1:
        raise ValueError("it is no SentencePiece model: those have one piece for what is unknown.")
    if not any(piece.kind == Kind.NORMAL for piece in pieces):
        raise ValueError("it has no pieces to cut a text into.")


def _fields(data: bytes, known: dict[int, tuple[str, int]]) -> Iterator[tuple[str, int | bytes]]:
    """Yield name and value of each known field of a message. Raises ValueError where the bytes are no message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = _varint(data, at)
        else:
            if kind == COUNTED:
                length, at = _varint(data, at)
            elif kind in (EIGHT_BYTES, FOUR_BYTES):
                length = 8 if kind == EIGHT_BYTES else 4
            else:
                raise ValueError("it is no SentencePiece model.")
            if length > len(data) - at:
                raise ValueError("it is cut short, or no SentencePiece model.")
            value, at = data[at:at + length], at + length
        if number in known:
            name, expected = known[number]
            if kind != expected:
                raise ValueError(f"its field {name} is of another kind.")
            yield name, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number, 7 bits a byte, the lowest first, and where it ends. Raises ValueError if it does not."""
    if at < len(data) and data[at] < 128:           # most of the million in the file of an mT5
        return data[at], at + 1
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("it is cut short, or no SentencePiece model.")
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("it is no SentencePiece model.")
