"""The file of a SentencePiece model (source.spm, spiece.model), read without its library: the pieces with their scores,
and how a text is normalised before it is cut.

The file is a message of protocol buffers; only the fields that say how to cut a text are named here. Source:
sentencepiece's sentencepiece_model.proto.
"""
import functools
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message

from core.huggingface.errors import PretrainedError

MOST_BYTES = 2**25            # the published files have 0.2 to 5 MB
MOST_SCORE = 1e9              # so that no sum of them leaves float32; log probabilities are above −100
REPEATED = object()
# the fields of a message: number -> name, type, default
MESSAGES = {
    "Piece": {1: ("text", "bytes", None), 2: ("score", "float", None), 3: ("kind", "int32", "1")},
    "Trainer": {3: ("method", "int32", "1"), 24: ("treat_whitespace_as_suffix", "bool", None),
                35: ("byte_fallback", "bool", None)},
    "Normaliser": {2: ("charsmap", "bytes", None), 3: ("add_dummy_prefix", "bool", "true"),
                   4: ("remove_extra_whitespaces", "bool", "true"), 5: ("escape_whitespaces", "bool", "true")},
    "Model": {1: ("pieces", "Piece", REPEATED), 2: ("trainer", "Trainer", None), 3: ("normaliser", "Normaliser", None),
              5: ("denormaliser", "Normaliser", None)}}
METHODS = {1: "Unigram", 2: "BPE", 3: "words", 4: "characters"}


class Kind(IntEnum):
    """The kind of a piece: only NORMAL and USER_DEFINED pieces are looked for in a text."""

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
        """SentencePiece's names of those options that are set and change how a text is cut."""
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
    try:
        model = _message_class().FromString(data)
    except DecodeError as error:
        raise ValueError("it is cut short, or no SentencePiece model.") from error
    pieces, trainer, normaliser = [_piece(piece) for piece in model.pieces], model.trainer, model.normaliser
    _check(pieces)
    if trainer.method not in METHODS:
        raise ValueError(f"it has the unknown method {trainer.method}.")
    return PieceModel(
        tuple(pieces), METHODS[trainer.method], normaliser.charsmap, normaliser.add_dummy_prefix,
        normaliser.remove_extra_whitespaces, normaliser.escape_whitespaces, trainer.treat_whitespace_as_suffix,
        trainer.byte_fallback, denormalises=bool(model.denormaliser.charsmap))


def _piece(message: Message) -> Piece:
    if not abs(message.score) <= MOST_SCORE:
        raise ValueError(f"a piece has the score {message.score}.")
    return Piece(message.text.decode(), message.score, Kind(message.kind))


def _check(pieces: list[Piece]) -> None:
    """Raise ValueError if SentencePiece would not take the pieces either."""
    texts = [piece.text for piece in pieces]
    if not all(texts) or len(set(texts)) < len(texts):
        raise ValueError("a piece is empty or stands in it twice.")
    if sum(piece.kind == Kind.UNKNOWN for piece in pieces) != 1:
        raise ValueError("it is no SentencePiece model: those have one piece for what is unknown.")
    if not any(piece.kind == Kind.NORMAL for piece in pieces):
        raise ValueError("it has no pieces to cut a text into.")


@functools.cache
def _message_class() -> type[Message]:
    """The class of the message Model. Each field is optional, as in the original."""
    Field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="piece_file.proto", package="piece_file")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind, default) in fields.items():
            is_message, repeated = kind in MESSAGES, default is REPEATED
            message.field.add(
                name=field, number=number, label=Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL,
                type=Field.TYPE_MESSAGE if is_message else Field.Type.Value(f"TYPE_{kind.upper()}"),
                type_name=f".piece_file.{kind}" if is_message else None, default_value=None if repeated else default)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("piece_file.Model"))
