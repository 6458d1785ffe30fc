"""Text to token ids and back: byte-level byte pair encoding (BPE) by the `tokenizers` library, and a visible form
of every token.

Any text has an encoding, since each of the 256 bytes, or each that UTF-8 uses, is a token of its own. The end-of-text
token stands for no text at all: it marks where a document begins. Other tokens of some vocabularies stand for no text
either: the mask, a blank to fill in, and the markers of a chat, before the words of a system, a user and an assistant.
A reader's text can never become one of them, except that `encode_blanks` reads a run of underscores as a blank, and
`encode_chat` the markers.
"""
from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

PIECE = TypeVar("PIECE", str, bytes)
END_OF_TEXT, MASK = "<|endoftext|>", "<|mask|>"
VISIBLE_END_OF_TEXT, VISIBLE_MASK = "‹end›", "‹mask›"
# before the parts of a chat; each takes the place of a byte that no UTF-8 text holds
SYSTEM, USER, ASSISTANT = "<|system|>", "<|user|>", "<|assistant|>"
MARKERS = {SYSTEM: 0xC0, USER: 0xC1, ASSISTANT: 0xF5}
MARKER = re.compile("|".join(map(re.escape, MARKERS)))
BLANK = re.compile(" ?_{3,}")             # with the space before it, which belongs to the word that is missing
# a middle dot by number, since it would look like a space
VISIBLE = {" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "·": "‹U+00B7›"}
EMPTY = "\u115f\u1160\u3164\uffa0\u2800"       # printable by their category, and nothing to the eye
DOTTED_CIRCLE = "◌"                  # carries a mark that stands alone, as in the tables of Unicode


@dataclass(frozen=True)
class Prompt:
    """A text as a model reads it, between the tokens that the model's texts begin and end with.

    n_cut: how many of the text's first tokens did not fit and were left out.
    """

    token_ids: tuple[int, ...]
    n_cut: int


class Tokenizer:
    """A trained byte-level BPE. Nothing changes it once it is built, so many threads may share one.

    end_of_text, mask_token: their ids, None if there is none. begin, end: the ids that a model with this tokenizer
    needs before and after every text; here end of text before it, and nothing after. method: how it cuts a text; here
    "byte-level BPE". core.huggingface.tokens has tokenizers that others trained, with the same methods.
    """

    method = "byte-level BPE"

    def __init__(self, bpe: tokenizers.Tokenizer) -> None:
        end_of_text = bpe.token_to_id(END_OF_TEXT)
        if end_of_text is None:
            raise ValueError(f"The tokenizer has no {END_OF_TEXT} token; train it with Tokenizer.train.")
        # the letters "<|endoftext|>" in a reader's text are encoded as plain letters
        bpe.encode_special_tokens = True
        self._bpe = bpe
        self.end_of_text: int | None = end_of_text
        self.begin: tuple[int, ...] = (end_of_text,)
        self.end: tuple[int, ...] = ()
        self.mask_token: int | None = bpe.token_to_id(MASK)
        self.vocab_size: int = bpe.get_vocab_size()
        self.markers = {marker: i for marker in MARKERS if (i := bpe.token_to_id(marker)) is not None}
        signs = ({i: f"‹{marker[2:-2]}›" for marker, i in self.markers.items()}
                 | {end_of_text: VISIBLE_END_OF_TEXT, self.mask_token: VISIBLE_MASK})
        self._bytes = tuple(b"" if i in signs else _bytes_of(bpe.id_to_token(i)) for i in range(self.vocab_size))
        self._visible = tuple(signs.get(i) or visible_form(b) for i, b in enumerate(self._bytes))

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int, single_digits: bool = False) -> Tokenizer:
        """A tokenizer of at most vocab_size tokens, trained on `texts`: end of text (id 0), the 256 bytes, and the most
        frequent merges.

        Words are split off first as GPT-2 does: a token never spans two words, and a space belongs to the word after
        it; with `single_digits`, each digit is also split off and is its own token, without a space. Source: Sennrich
        et al. 2016; Radford et al. 2019. Raises ValueError for vocab_size under 257, which leaves no room for the
        bytes.
        """
        if vocab_size < 257:
            raise ValueError(f"A byte-level vocabulary needs at least 257 tokens, not {vocab_size}.")
        bpe = tokenizers.Tokenizer(models.BPE())
        words = pre_tokenizers.ByteLevel(add_prefix_space=False)
        bpe.pre_tokenizer = (pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), words])
                             if single_digits else words)
        bpe.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=[END_OF_TEXT], show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        bpe.train_from_iterator((encodable(text) for text in texts), trainer)
        return cls(bpe)

    def with_mask(self) -> Tokenizer:
        """The same tokens under the same ids, and the mask token as one more, the last.

        Raises ValueError if there is one already.
        """
        if self.mask_token is not None:
            raise ValueError(f"This tokenizer has a {MASK} token already.")
        bpe = tokenizers.Tokenizer.from_str(self._bpe.to_str())
        bpe.add_special_tokens([MASK])
        return Tokenizer(bpe)

    def with_markers(self) -> Tokenizer:
        """The same tokens under the same ids, except that the markers of a chat stand in place of three bytes that no
        UTF-8 text holds.
        """
        fields, characters = json.loads(self._bpe.to_str()), {b: c for c, b in BYTE_OF_CHARACTER.items()}
        for marker, byte in MARKERS.items():
            fields["model"]["vocab"][marker] = fields["model"]["vocab"].pop(characters[byte])
        bpe = tokenizers.Tokenizer.from_str(json.dumps(fields))
        bpe.add_special_tokens(list(MARKERS))
        return Tokenizer(bpe)

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """The tokenizer that `save` wrote.

        Raises OSError if there is no such file, ValueError if it holds no tokenizer.
        """
        text = Path(path).read_text(encoding="utf-8")
        try:
            bpe = tokenizers.Tokenizer.from_str(text)
        except Exception as error:          # the library raises bare Exception
            raise ValueError(f"{path} holds no tokenizer: {error}") from error
        return cls(bpe)

    @property
    def first(self) -> int | None:
        """The token before a text whose own first token is to have a probability: the one that texts begin with,
        else end of text.
        """
        return self.begin[0] if self.begin else self.end_of_text

    def as_json(self) -> str:
        """The tokenizer in the format of the `tokenizers` library."""
        return self._bpe.to_str()

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as one JSON file, in the format of the `tokenizers` library."""
        Path(path).write_text(self.as_json(), encoding="utf-8")

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without an end-of-text token.

        A lone surrogate, which no UTF-8 text can hold, is read as U+FFFD.
        """
        return self._bpe.encode(encodable(text), add_special_tokens=False).ids

    def encode_blanks(self, text: str) -> list[int]:
        """The ids of `text`; each run of three or more underscores, with the space before it, becomes one mask token.

        A blank is one token, so it has room for a common word alone: for a word of two tokens write two blanks
        ("____ ____"). Raises ValueError if this vocabulary has no mask token.
        """
        if self.mask_token is None:
            raise ValueError("This vocabulary has no token for a blank.")
        first, *others = BLANK.split(text)
        return self.encode(first) + [i for part in others for i in (self.mask_token, *self.encode(part))]

    def encode_chat(self, text: str) -> list[int]:
        """The ids of `text`, in which each marker of a chat is one token. Raises ValueError without such tokens."""
        if not self.markers:
            raise ValueError("This vocabulary has no markers of a chat.")
        ids, at = [], 0
        for marker in MARKER.finditer(text):
            ids += [*self.encode(text[at:marker.start()]), self.markers[marker[0]]]
            at = marker.end()
        return ids + self.encode(text[at:])

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """(id, start, end) of each token of `text`: it stands for text[start:end], in characters.

        Tokens that share a character share its place.

        Whether the space before a word belongs to the token depends on the tokenizer. A lone surrogate counts as one
        character.
        """
        encoded = self._bpe.encode(encodable(text), add_special_tokens=False)
        return [(token_id, start, end) for token_id, (start, end) in zip(encoded.ids, encoded.offsets)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, computed in parallel."""
        return [e.ids for e in self._bpe.encode_batch([encodable(text) for text in texts], add_special_tokens=False)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`. decode(encode(text)) is the text; bytes that do not form a whole character show as U+FFFD;
        end of text and blanks add nothing.
        """
        return b"".join(self.token_bytes(i) for i in ids).decode("utf-8", errors="replace")

    def token_bytes(self, token_id: int) -> bytes:
        """The UTF-8 bytes that the token stands for; none for end of text and a blank.

        Raises ValueError for an id outside the vocabulary.
        """
        return self._bytes[self._checked(token_id)]

    def visible(self, token_id: int) -> str:
        """The token as a chip shows it, never empty: ` the` as ·the, newline ⏎, tab ⇥, stray bytes ‹E2›, end of text
        ‹end›, a blank ‹mask›.
        """
        return self._visible[self._checked(token_id)]

    def all_visible(self, token_ids: Iterable[int]) -> list[str]:
        """Each of the tokens as `visible` has it."""
        return [self.visible(token_id) for token_id in token_ids]

    @functools.cached_property
    def merges(self) -> tuple[tuple[bytes, bytes], ...]:
        """The merge rules in the order in which they were learned: rule k (from 1) makes one token of these two.

        Lower rules go first.
        """
        return tuple((_bytes_of(left), _bytes_of(right))
                     for left, right in json.loads(self._bpe.to_str())["model"]["merges"])

    @functools.cached_property
    def rules(self) -> tuple[tuple[int, int, int], ...]:
        """The same by ids: (left, right, the token that they make). Two tokens may stand for the same bytes, and a rule
        is about one of them.
        """
        id_of = self._bpe.token_to_id
        return tuple((id_of(left), id_of(right), id_of(left + right))
                     for left, right in json.loads(self._bpe.to_str())["model"].get("merges", []))

    def is_byte(self, token_id: int) -> bool:
        """Whether the token is one of those that stand for single bytes, so that no text is unknown."""
        return len(self.token_bytes(token_id)) == 1

    def is_used(self, token_id: int) -> bool:
        """Whether there is such a token: a published model may have more ids than its tokenizer."""
        return True

    @functools.cached_property
    def ranks(self) -> dict[tuple[bytes, bytes], int]:
        """The number of the rule, from 1, that joins two pieces."""
        return ranks_of(self.merges)

    def words(self, text: str) -> list[bytes]:
        """The pieces that `text` is split into before any merge, as bytes: no token reaches from one into the next.

        Joined they are the text.
        """
        return [_bytes_of(word) for word, _ in self._bpe.pre_tokenizer.pre_tokenize_str(encodable(text))]

    def id_of(self, token: bytes) -> int | None:
        """The id of the token that stands for these bytes; None if there is none."""
        return self._id_of_bytes.get(token)

    @functools.cached_property
    def text_tokens(self) -> tuple[int, ...]:
        """The ids of all tokens that stand for text: no end of text, no blank, nothing that only marks a place."""
        return tuple(i for i in range(self.vocab_size) if self.token_bytes(i))

    @functools.cached_property
    def _id_of_bytes(self) -> dict[bytes, int]:
        return {token: i for i in reversed(range(self.vocab_size)) if (token := self.token_bytes(i))}

    def prompt(self, text: str, n_context: int, blanks: bool = False) -> Prompt:
        """`text` as the model reads it: as many of its last tokens as fit into n_context (at least 1) between `begin`
        and `end`.

        blanks: whether a run of underscores is a mask token, as `encode_blanks` reads it. An empty text of a model that
        adds nothing is its end-of-text token, if it has one, since a model cannot read nothing.
        """
        if n_context < 1:
            raise ValueError(f"A context holds at least 1 token, not {n_context}.")
        ids = self.encode_blanks(text) if blanks else self.encode(text)
        room = max(0, n_context - len(self.begin) - len(self.end))
        n_cut = max(0, len(ids) - room)
        whole = (*self.begin, *ids[n_cut:], *self.end)
        return Prompt(whole or (() if self.end_of_text is None else (self.end_of_text,)), n_cut)

    def _checked(self, token_id: int) -> int:
        if not 0 <= token_id < self.vocab_size:
            raise ValueError(f"There is no token {token_id}: this vocabulary has ids 0 to {self.vocab_size - 1}.")
        return token_id


def ranks_of(merges: Sequence[tuple[PIECE, PIECE]]) -> dict[tuple[PIECE, PIECE], int]:
    """Pair -> number of its rule, from 1, in the order of learning."""
    return {pair: rank for rank, pair in enumerate(merges, 1)}


def encodable(text: str) -> str:
    """`text` with each lone surrogate (half of a character, from broken input) replaced by U+FFFD; all other
    text unchanged.
    """
    return text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")


def visible_form(token: bytes) -> str:
    """The bytes of a token as a reader sees them: blanks as signs, characters that cannot be seen and bytes that are no
    whole character by number, and a mark that belongs on the letter before, in another token, on a dotted circle.

    >>> visible_form(b" the"), visible_form(b"\\n"), visible_form(b"\\xe2\\x82"), visible_form(b"\\x00")
    ('·the', '⏎', '‹E2›‹82›', '‹00›')
    """
    first, text = "", token.decode("utf-8", errors="surrogateescape")
    if text and unicodedata.category(text[0]).startswith("M"):
        selects = "VARIATION SELECTOR" in unicodedata.name(text[0], "")      # it has no form of its own
        first, text = _by_number(text[0]) if selects else DOTTED_CIRCLE + text[0], text[1:]
    return first + "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    if character in VISIBLE:
        return VISIBLE[character]
    if "\udc80" <= character <= "\udcff":             # surrogateescape's stand-in for a byte that is no character
        return f"‹{ord(character) - 0xDC00:02X}›"
    return character if character.isprintable() and character not in EMPTY else _by_number(character)


def _by_number(character: str) -> str:
    return f"‹{ord(character):02X}›" if ord(character) < 0x80 else f"‹U+{ord(character):04X}›"


def _byte_of_character() -> dict[str, int]:
    """GPT-2's spelling of the 256 bytes as printable characters: those of Latin-1 that can be seen stand for
    themselves, the rest for U+0100 on.
    """
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(b): b for b in seen}
    return table | {chr(0x100 + n): b for n, b in enumerate(b for b in range(256) if b not in seen)}


BYTE_OF_CHARACTER = _byte_of_character()


def _bytes_of(token: str) -> bytes:
    return bytes(BYTE_OF_CHARACTER[c] for c in token)
