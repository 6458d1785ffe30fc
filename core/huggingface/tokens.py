"""Tokenizers of Hugging Face models with the interface of ours: byte-level BPE, BPE and Unigram with ▁ for a space,
and WordPiece.

The `tokenizers` library does the work, with what core.huggingface.tokenizer_forms reads from a model's files. Special
tokens in a reader's text are read as plain text.
"""
import functools
import json
import re
from collections.abc import Iterable
from pathlib import Path

import tokenizers

from core.huggingface import tokenizer_forms
from core.huggingface.errors import PretrainedError, read_table
from core.huggingface.marian_files import MarianCutter
from core.huggingface.tokenizer_forms import SETTINGS, WHOLE, steps
from core.huggingface.tokenizer_settings import content
from core.model.tokenizer import BYTE_OF_CHARACTER, Tokenizer, encodable, visible_form

__all__ = ["SETTINGS", "WHOLE", "NumberedTokens", "PretrainedTokenizer", "load"]
BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
CONTINUES = "##"                          # a WordPiece token that continues a word
SPACE = "▁"
MASKS = ("[MASK]", "<mask>")              # the blanks of BERT and RoBERTa, whose settings do not name them
# before the name of a special piece of Unigram: words of a split text contain no space
UNTYPEABLE = " "


class PretrainedTokenizer(Tokenizer):
    """A tokenizer that a model was published with.

    vocab_size is the model's: an id that the tokenizer does not use has a visible form (‹#7›) but no text. A special
    token shows its name (‹/s›).
    method: "byte-level BPE", "BPE", "Unigram" or "WordPiece". Only the first keeps every byte of a text; the others may
    change case and spaces.
    """

    def __init__(self, backend: tokenizers.Tokenizer, vocab_size: int, settings: dict,
                 end_of_text: int | None = None) -> None:
        spec = json.loads(backend.to_str())
        self._special = {token["id"]: token["content"] for token in spec["added_tokens"] if token["special"]}
        self._added = {token["id"]: token["content"] for token in spec["added_tokens"]}
        self._bpe = _guarded(backend, spec, set(self._special.values()))
        self._bpe.encode_special_tokens = True
        self._pieces = tuple(self._added.get(i) or backend.id_to_token(i) for i in range(vocab_size))
        if beyond := [i for i in backend.get_vocab(with_added_tokens=True).values()
                      if i >= vocab_size and i not in self._special]:
            raise PretrainedError("mismatch", f"The tokenizer has a token {max(beyond)}, and the model's vocabulary "
                                              f"ends at {vocab_size - 1}. Use the files that were published together.")
        self.vocab_size = vocab_size
        types = {step["type"] for step in steps(spec["decoder"])}
        self.method = "byte-level BPE" if "ByteLevel" in types else spec["model"]["type"]
        self._byte_fallback = bool(spec["model"].get("byte_fallback"))
        self.mask_token, named_end = self._named(settings, "mask_token"), self._named(settings, "eos_token")
        if self.mask_token is None:
            self.mask_token = next((i for i, content in self._special.items() if content in MASKS), None)
        self.end_of_text = end_of_text if named_end is None else named_end
        self.begin, self.end = self._around(settings)
        self.unknown = self._unknown(spec["model"])

    def _unknown(self, model: dict) -> int | None:
        """The id of the token for unknown text; None if that token also has another meaning."""
        name = model.get("unk_token")
        found = model.get("unk_id") if name is None else self._bpe.token_to_id(name)
        return None if found in (self.end_of_text, *self.begin, *self.end) else found

    def _named(self, settings: dict, name: str) -> int | None:
        """The id of a special token that the settings name."""
        named = content(settings.get(name))
        return next((i for i, piece in enumerate(self._pieces) if piece == named), None) if named else None

    def _around(self, settings: dict) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids before and after a text: as the settings say or, if they say nothing, as tokenizer.json's template
        does.
        """
        if "add_bos_token" in settings or "add_eos_token" in settings:
            ids = [self._named(settings, f"{which}_token") if settings.get(f"add_{which}_token") else None
                   for which in ("bos", "eos")]
            return tuple(() if i is None else (i,) for i in ids)
        plain, whole = (self._bpe.encode("a", add_special_tokens=added).ids for added in (False, True))
        start = next(i for i in range(len(whole)) if whole[i:i + len(plain)] == plain)
        return tuple(whole[:start]), tuple(whole[start + len(plain):])

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids` without special tokens but the unknown one, which stands as its name, as transformers
        writes it: [UNK], <unk>. Bytes that do not form a whole character become U+FFFD.
        """
        if self.method == "byte-level BPE":
            return super().decode(ids)
        pieces = [self._pieces[i] for i in map(self._checked, ids) if i == self.unknown or i not in self._special]
        pieces = [piece for piece in pieces if piece is not None]
        return " ".join(pieces) if self._bpe.decoder is None else self._bpe.decoder.decode(pieces)

    def token_bytes(self, token_id: int) -> bytes:
        """The UTF-8 bytes of the token, with a space for ▁ and without WordPiece's ##; none for a special or unused
        token.
        """
        piece = self._pieces[self._checked(token_id)]
        if piece is None or token_id in self._special:
            return b""
        return self._spelled(piece, token_id in self._added)

    def _spelled(self, piece: str, added: bool = False) -> bytes:
        if self.method == "byte-level BPE":
            return (piece.encode() if added or not all(c in BYTE_OF_CHARACTER for c in piece)
                    else bytes(BYTE_OF_CHARACTER[c] for c in piece))
        if self._byte_fallback and (byte := BYTE_TOKEN.fullmatch(piece)):
            return bytes([int(byte[1], 16)])
        return (piece.removeprefix(CONTINUES).encode() if self.method == "WordPiece"
                else piece.replace(SPACE, " ").encode())

    def visible(self, token_id: int) -> str:
        """The visible form of the token: a byte token as ‹0A›, WordPiece's ## kept."""
        piece = self._pieces[self._checked(token_id)]
        if piece is None:
            return f"‹#{token_id}›"
        if token_id in self._special:
            return f"‹{visible_form(piece.strip('<>[]|').encode())}›"
        if self._byte_fallback and (byte := BYTE_TOKEN.fullmatch(piece)):
            return f"‹{byte[1]}›"
        return (visible_form(piece.encode() if self.method == "WordPiece" else self.token_bytes(token_id))
                or f"‹#{token_id}›")

    @functools.cached_property
    def merges(self) -> tuple[tuple[bytes, bytes], ...]:
        """The merge rules of a BPE as bytes, in order; none for another method."""
        return tuple((self._spelled(left), self._spelled(right))
                     for left, right in json.loads(self._bpe.to_str())["model"].get("merges", []))

    def is_byte(self, token_id: int) -> bool:
        piece = self._pieces[self._checked(token_id)]
        if self.method != "byte-level BPE":
            return self._byte_fallback and piece is not None and bool(BYTE_TOKEN.fullmatch(piece))
        return token_id not in self._added and super().is_byte(token_id)

    def is_used(self, token_id: int) -> bool:
        return self._pieces[self._checked(token_id)] is not None

    def words(self, text: str) -> list[bytes]:
        """The pieces into which `text` is split before tokenization, as bytes; no token spans two of them."""
        text = encodable(text)
        text = text if self._bpe.normalizer is None else self._bpe.normalizer.normalize_str(text)
        pieces = ([text] if self._bpe.pre_tokenizer is None
                  else [word for word, _ in self._bpe.pre_tokenizer.pre_tokenize_str(text)])
        return [self._spelled(piece) if self.method == "byte-level BPE" else piece.replace(SPACE, " ").encode()
                for piece in pieces]

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as one JSON file, with the original names of Unigram's special pieces."""
        spec = json.loads(self._bpe.to_str())
        for token in spec["added_tokens"]:
            token["content"] = self._added[token["id"]]
        if spec["model"]["type"] == "Unigram":
            spec["model"]["vocab"] = [[self._added.get(i, piece), score]
                                      for i, (piece, score) in enumerate(spec["model"]["vocab"])]
        Path(path).write_text(json.dumps(spec, ensure_ascii=False), encoding="utf-8")


class MarianTokenizer(PretrainedTokenizer):
    """The tokenizer of a Marian model, whose texts are cut by source.spm and numbered by vocab.json."""

    def __init__(self, backend: tokenizers.Tokenizer, vocab_size: int, settings: dict, cutter: MarianCutter) -> None:
        super().__init__(backend, vocab_size, settings)
        self._cutter = cutter

    def encode(self, text: str) -> list[int]:
        return [token_id for token_id, _, _ in self.spans(text)]

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """(id, start, end) of each token of `text`, with the spaces before it; a ▁ put in front stands for nothing."""
        return self._cutter.spans(encodable(text))

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids` without special tokens but the unknown one, whose name is followed by a space, and without
        spaces at either end.
        """
        text, run = "", ""
        for i in ids:
            if i == self.unknown:
                text, run = f"{text}{run.removeprefix(' ')}{self._pieces[i]} ", ""
            else:
                run += self.token_bytes(i).decode()
        return f"{text}{run.removeprefix(' ')}".strip()

    def token_bytes(self, token_id: int) -> bytes:
        return b"" if token_id in self._cutter.unspoken else super().token_bytes(token_id)

    def words(self, text: str) -> list[bytes]:
        return [word.replace(SPACE, " ").encode() for word in self._cutter.words(encodable(text))]

    def save(self, path: str | Path) -> None:
        raise ValueError("A Marian model's tokenizer is more than one file: copy source.spm, target.spm and vocab.json "
                         "of the model.")


class NumberedTokens(Tokenizer):
    """A substitute for a missing tokenizer: a text is token ids, whole numbers with blanks between them.

    The visible form of token 17 is #17.
    """

    method = "numbers"
    rules: tuple[tuple[int, int, int], ...] = ()

    def __init__(self, vocab_size: int, end_of_text: int | None = None) -> None:
        self.vocab_size, self.end_of_text, self.mask_token = vocab_size, end_of_text, None
        self.begin, self.end = (), ()
        self.merges: tuple[tuple[bytes, bytes], ...] = ()

    def encode(self, text: str) -> list[int]:
        """The numbers in `text`. Raises ValueError for other text or a number that is no id."""
        if not all(word.isascii() and word.isdigit() and int(word[:10]) < self.vocab_size and len(word) <= 10
                   for word in text.split()):
            raise ValueError(f"This model came without its tokenizer: write token ids, whole numbers from 0 to "
                             f"{self.vocab_size - 1} with blanks between them.")
        return [int(word) for word in text.split()]

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """(id, start, end) of each number in `text`, start and end in characters."""
        return [(self.encode(word[0])[0], *word.span()) for word in re.finditer(r"\S+", text)]

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(str(self._checked(i)) for i in ids)

    def token_bytes(self, token_id: int) -> bytes:
        return str(self._checked(token_id)).encode()

    def is_byte(self, token_id: int) -> bool:
        return False

    def visible(self, token_id: int) -> str:
        return f"#{self._checked(token_id)}"

    def words(self, text: str) -> list[bytes]:
        return [word.encode() for word in text.split()]

    def id_of(self, token: bytes) -> int | None:
        return int(token) if token.isdigit() and int(token) < self.vocab_size else None

    def save(self, path: str | Path) -> None:
        raise ValueError("This model came without its tokenizer, so there is none to save.")


def load(folder: Path, vocab_size: int, end_of_text: int | None) -> Tokenizer:
    """The tokenizer in `folder`, or NumberedTokens if there is none.

    Raises PretrainedError for one that is damaged, or that transformers would read differently.
    """
    config = folder / "config.json"
    made = tokenizer_forms.read(folder, read_table(config, "damaged") if config.is_file() else {})
    if made is None:
        return NumberedTokens(vocab_size, end_of_text)
    backend, settings, cutter = made
    backend.no_padding()
    backend.no_truncation()
    if cutter is not None:
        return MarianTokenizer(backend, vocab_size, settings, cutter)
    return PretrainedTokenizer(backend, vocab_size, settings, end_of_text)


def _guarded(backend: tokenizers.Tokenizer, spec: dict, special: set[str]) -> tokenizers.Tokenizer:
    """The tokenizer, changed so that plain text never becomes a special token: BPE merges that make one are dropped,
    Unigram pieces that are one get a name that no text contains.
    """
    model = spec["model"]
    if model["type"] == "BPE" and any("".join(merge) in special for merge in model["merges"]):
        model["merges"] = [merge for merge in model["merges"] if "".join(merge) not in special]
    elif model["type"] == "Unigram" and any(piece in special for piece, _ in model["vocab"]):
        ids = {i for i, (piece, _) in enumerate(model["vocab"]) if piece in special}
        model["vocab"] = [[UNTYPEABLE + piece if i in ids else piece, score]
                          for i, (piece, score) in enumerate(model["vocab"])]
        for token in spec["added_tokens"]:
            token["content"] = UNTYPEABLE + token["content"] if token["id"] in ids else token["content"]
    else:
        return backend
    return tokenizers.Tokenizer.from_str(json.dumps(spec, ensure_ascii=False))
