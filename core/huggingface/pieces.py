"""A text cut into the pieces of a Unigram SentencePiece model, as its own library cuts it, to the last bit of a score.

The tokenizers library replaces characters grapheme by grapheme and adds scores in float64, which now and then cuts a
text differently; transformers cuts Marian's texts with SentencePiece. Source: Kudo 2018; sentencepiece's normalizer.cc
and unigram_model.cc; the double array of darts-clone.
"""
import struct
from dataclasses import dataclass

from core.huggingface.piece_file import Kind, PieceModel

SPACE = "▁"
PENALTY = 10.0                  # how far a character without a piece scores below the worst piece


def float32(value: float) -> float:
    """The nearest float32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


@dataclass(frozen=True)
class Character:
    """A character of a normalised text, and the part of the original that it stands for: text[start:end]."""

    character: str
    start: int
    end: int


class Replacements:
    """The table of characters that are replaced before a text is cut: a trie over UTF-8 as a double array, and the
    replacements, each up to a zero byte.
    """

    def __init__(self, charsmap: bytes) -> None:
        """Raises ValueError for bytes that are not such a table, or that lead out of it."""
        size = struct.unpack_from("<I", charsmap)[0] if len(charsmap) >= 4 else 0
        if charsmap and (not size or size % 1024 or size > len(charsmap) - 4):
            raise ValueError("its table of characters is cut short.")
        self._units = struct.unpack_from(f"<{size // 4}I", charsmap, 4) if charsmap else ()
        self._texts = charsmap[4 + size:]
        for i, unit in enumerate(self._units):
            if self._leads_out(i, unit):
                raise ValueError("its table of characters leads out of itself.")
        if charsmap and (not self._texts.endswith(b"\0") or not self._texts.decode()):
            raise ValueError("its table of characters is cut short.")

    def _leads_out(self, i: int, unit: int) -> bool:
        """Whether a unit of the array leads out of it, or to the middle of a character. Units lie in blocks of 256, and
        no child lies outside its block. Bit 8: the text up to here is replaced, by what the first child says.
        """
        if not unit >> 31:
            child = i ^ _offset(unit)
            return child >= len(self._units) or bool(unit >> 8 & 1) and not self._units[child] >> 31
        start = unit & 0x7FFFFFFF
        return start >= len(self._texts) or self._texts[start] & 0xC0 == 0x80

    def longest(self, data: bytes, at: int) -> tuple[int, str] | None:
        """The number of bytes of the longest entry at data[at:], and their replacement; None without an entry."""
        if not self._units:
            return None
        best, node = None, _offset(self._units[0])
        for i in range(at, len(data)):
            node ^= data[i]
            unit = self._units[node]
            if unit & 0x800000FF != data[i]:
                break
            node ^= _offset(unit)
            if unit >> 8 & 1 and (i + 1 == len(data) or data[i + 1] & 0xC0 != 0x80):      # a whole character
                best = i + 1 - at, self._units[node] & 0x7FFFFFFF
        if best is None:
            return None
        return best[0], self._texts[best[1]:self._texts.index(0, best[1])].decode()


def _offset(unit: int) -> int:
    """The distance of a node's children from it."""
    return (unit >> 10) << ((unit & 1 << 9) >> 6)


class Cutter:
    """Cuts texts by one model of the method Unigram, without user-defined pieces and without bytes for unknown
    characters.
    """

    def __init__(self, model: PieceModel) -> None:
        """Raises ValueError for a damaged table of characters."""
        self._model, self._replaced = model, Replacements(model.charsmap)
        normal = [piece for piece in model.pieces if piece.kind == Kind.NORMAL]
        self._scores = {piece.text: piece.score for piece in normal}
        self._longest: dict[str, int] = {}          # first character -> the length of the longest piece with it
        for piece in normal:
            self._longest[piece.text[0]] = max(len(piece.text), self._longest.get(piece.text[0], 0))
        self._unknown = float32(min(piece.score for piece in normal) - PENALTY)
        self.across = any(SPACE in piece.text[1:] for piece in normal)      # whether a piece can hold several words

    def plain(self, text: str) -> list[Character]:
        """The characters of `text` as they are cut: replaced by the model's table, with ▁ for a space."""
        strips, space = self._model.remove_extra_whitespaces, SPACE if self._model.escape_whitespaces else " "
        chunks = self._chunks(text)
        if strips:
            first = next((i for i, (chunk, _, _) in enumerate(chunks) if chunk != " "), len(chunks))
            chunks = chunks[first:]
        if not chunks:
            return []
        plain = [Character(space, chunks[0][1], chunks[0][1])] if self._model.add_dummy_prefix else []
        after_space = strips
        for chunk, start, end in chunks:
            chunk = chunk.lstrip(" ") if after_space else chunk
            plain += [Character(space if c == " " else c, start, end) for c in chunk]
            after_space = strips and (chunk.endswith(" ") if chunk else after_space)
        while strips and plain and plain[-1].character == space:
            plain.pop()
        return plain

    def _chunks(self, text: str) -> list[tuple[str, int, int]]:
        """(replacement, start, end) for each part text[start:end]: an entry of the table, or a character as it is."""
        data, chunks, at, start = text.encode(), [], 0, 0
        while start < len(text):
            entry, end = self._replaced.longest(data, at), start + 1
            if entry is None:
                chunks.append((text[start], start, end))
                at += len(text[start].encode())
            else:
                at += entry[0]
                end = start + len(data[at - entry[0]:at].decode())
                chunks.append((entry[1], start, end))
            start = end
        return chunks

    def pieces(self, text: str) -> list[tuple[str, int, int]]:
        """The most probable way to cut `text`: (piece, start, end), which stands for text[start:end].

        Characters without a piece that stand side by side are one piece.
        """
        plain, cuts = self.plain(text), []
        written = "".join(c.character for c in plain)
        for start, end, known in self._best_way(written):
            if not known and cuts and not cuts[-1][2]:
                start = cuts.pop()[0]
            cuts.append((start, end, known))
        return [(written[start:end], plain[start].start, plain[end - 1].end) for start, end, _ in cuts]

    def _best_way(self, text: str) -> list[tuple[int, int, bool]]:
        """(start, end, whether it is a piece) of each part on the way of the highest sum of scores (Viterbi); every sum
        is rounded to float32, which decides between equally good ways.
        """
        sums: list[float] = [0.0] * (len(text) + 1)
        came: list[tuple[int, bool] | None] = [None] * (len(text) + 1)
        for start in range(len(text)):
            last = min(start + self._longest.get(text[start], 0), len(text))
            ways = [(end, score, True) for end in range(start + 1, last + 1)
                    if (score := self._scores.get(text[start:end])) is not None]
            if text[start] not in self._scores:
                ways.append((start + 1, self._unknown, False))
            for end, score, known in ways:
                total = float32(sums[start] + score)
                if came[end] is None or total > sums[end]:
                    sums[end], came[end] = total, (start, known)
        way, end = [], len(text)
        while end:
            start, known = came[end]
            way.append((start, end, known))
            end = start
        return way[::-1]
