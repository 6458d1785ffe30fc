"""Small files of SentencePiece written byte by byte, and a Marian tokenizer in them, for tests that have neither
SentencePiece nor a published model.

`python tests/helpers/sentencepiece_files.py`, where sentencepiece and transformers==5.23.0 are installed, writes
tests/core/huggingface/marian_ids.json: what MarianTokenizer makes of TEXTS and IDS.
"""
import json
import random
import struct
import tempfile
from pathlib import Path

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE = 1, 2
RECORDED = Path(__file__).parents[1] / "core/huggingface/marian_ids.json"
# what is replaced before a text is cut, as in the table nfkc: some of each sort, and one longer than another's start
REPLACED = {"\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "\u3000": " ", "\u200b": "", "\u0000": "", "ﬁ": "fi",
            "½": "1⁄2", "e\u0301": "é", "o\u0308": "ö", "ｗ": "w", "…": "...", "ﷺ": "a b", "\u0301\u0308": "!",
            "\u2002": " "}
SPECIAL = (("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL))


def varint(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def field(number: int, value: int | float | bytes) -> bytes:
    """One field of a message: a whole number as a varint, a float as float32, bytes with their count before them."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3) + varint(value)


def charsmap(replaced: dict[str, str]) -> bytes:
    """The table of replaced characters: a double array in which each node's children have 256 places of their own."""
    texts, starts = b"", {}
    for text in dict.fromkeys(replaced.values()):
        starts[text] = len(texts)
        texts += text.encode() + b"\0"
    keys = {key.encode(): starts[text] for key, text in replaced.items() if key != "\0"}
    nodes = sorted({key[:n] for key in keys for n in range(len(key) + 1)}, key=lambda node: (len(node), node))
    place, units = {b"": 0}, [0] * 256 * (len(nodes) + 1)
    for block, node in enumerate(nodes, 1):
        here, children = place[node], 256 * block
        units[here] |= (here ^ children) << 10 | (node in keys) << 8
        if node in keys:
            units[children] = 1 << 31 | keys[node]
        for label in range(256):
            if node + bytes([label]) in nodes:
                place[node + bytes([label])], units[children ^ label] = children ^ label, label
    return struct.pack(f"<{len(units) + 1}I", 4 * len(units), *units) + texts


def model(pieces, method: int = UNIGRAM, replaced: dict[str, str] | None = None, trainer: dict[int, int] | None = None,
          normaliser: dict[int, int] | None = None) -> bytes:
    """A file of SentencePiece. pieces: (text, score, kind), in the order of their numbers; trainer, normaliser: further
    fields of these parts.
    """
    whole = b"".join(field(1, field(1, text.encode()) + field(2, float(score)) + field(3, kind))
                     for text, score, kind in pieces)
    whole += field(2, b"".join(field(n, v) for n, v in ({3: method, 40: 0, 41: 1, 42: 2} | (trainer or {})).items()))
    table = field(2, charsmap(replaced)) if replaced else b""
    return whole + field(3, field(1, b"nfkc") + table + b"".join(field(n, v) for n, v in (normaliser or {}).items()))


def source_pieces() -> list[tuple[str, float, int]]:
    """Words, syllables and letters with scores drawn at random; several ways through a run of one letter are as good.
    """
    rng, letters = random.Random(4), "abcdefghilmnoprstuwy0123.,!?>'é"
    parts = ["▁", *letters, *("▁" + c for c in "abhstw"), "▁the", "▁cat", "▁sat", "at", "th", "he", "an", "on", "in",
             "er", "aa", "aaa", "00", "000", "..", "...", "!!", "▁1", "▁a", "ing", "▁he", "ll", "▁w", "or", "or", "ld"]
    return [*SPECIAL, *((part, struct.unpack("<f", struct.pack("<f", rng.uniform(-9.0, -2.0)))[0], NORMAL)
                        for part in dict.fromkeys(parts)), ("▁unused", -0.1, UNUSED)]


def numbers() -> dict[str, int]:
    """The vocabulary of both languages: not every piece of the source, and pieces of the target that are characters of
    the source without a piece there.
    """
    pieces = [piece for piece, _, kind in source_pieces() if kind == NORMAL and piece not in ("?", "▁sat", "2")]
    target = ["▁die", "▁Katze", "▁saß", "ß", "ä", "▁", "ж", "жж", "K"]
    names = dict.fromkeys(["</s>", "<unk>", *sorted(pieces), "<s>", *target, ">>fra<<", ">>deu<<", "<pad>"])
    return {piece: i for i, piece in enumerate(names)}


def write_marian(folder: Path, settings: dict | None = None) -> int:
    """Write the tokenizer as a Marian repository has it; give the size of its vocabulary."""
    folder.mkdir(exist_ok=True)
    (folder / "source.spm").write_bytes(model(source_pieces(), replaced=REPLACED))
    target = [*SPECIAL, *((piece, -1.0 - i, NORMAL) for i, piece in enumerate(["▁die", "▁Katze", "▁saß", "▁", "ß"]))]
    (folder / "target.spm").write_bytes(model(target, replaced=REPLACED))
    (folder / "vocab.json").write_text(json.dumps(numbers(), ensure_ascii=False, indent=2), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"target_lang": "de", "source_lang": "en"}
                                                             if settings is None else settings))
    return len(numbers())


def texts() -> list[str]:
    """Texts that are hard to cut, and 200 strings drawn at random."""
    hard = ["", " ", "\n", "\t \u3000", "\u200b", "the cat sat on the cat.", "  the   cat  ", "the\tcat\n\r\nsat", "▁",
            "▁▁ a ▁b▁", "the▁cat", "é e\u0301 ﬁn ﬁ\u0301 ½ ｗ …", "o\u0308 e\u0301\u0308 \u0301\u0308 \u0301", "ﷺ",
            "👍🏽 👩‍👩‍👧‍👦 ☺️", "שלום مرحبا", "日本語", "\u200bthe\u200b cat\u200b",
            "\u00a0the\u00a0cat\u2002", "the\x00cat", "aaaaa", ".a.aaaa", "1aaaaa.", "a" * 7, "a" * 40, "aaa " * 9,
            "000", "1.000.000", "0" * 25, "." * 9, "!" * 8 + "...", "....a....", "ж", "жж", "жжж", "ä ß", "aßäK", "Kж",
            "?", "the sat?", "??", "22", "</s>", "<unk>", "<s>", "<pad>", "▁unused", "unused", "the </s> cat",
            ">>fra<<", ">>fra<< the cat", ">>fra<<the", " >>fra<< the", ">>deu<< >>fra<< a", ">>xyz<< a", ">>fra",
            ">><<", ">>a b<<c<<", ">></s><<a", ">>\n<<a", "don't", "THE CAT", "\ufffd", "\U0010ffff", "the cat " * 60]
    rng, pool = random.Random(7), "aaaathe00.! cat  ▁w\té\u0301\u0308ﬁß½жK?2\u200b👍…"
    return hard + ["".join(rng.choice(pool) for _ in range(rng.randrange(1, 40))) for _ in range(200)]


def random_ids() -> list[list[int]]:
    rng = random.Random(9)
    return [[rng.randrange(len(numbers())) for _ in range(rng.randrange(15))] for _ in range(60)]


def record() -> None:
    """Write what transformers makes of the texts: the ids of each without the end, and of random ids the text."""
    import transformers
    with tempfile.TemporaryDirectory() as folder:
        write_marian(Path(folder), {"tokenizer_class": "MarianTokenizer"})
        theirs = transformers.AutoTokenizer.from_pretrained(folder)
        ids = {text: theirs(text, split_special_tokens=True).input_ids for text in texts()}
        assert all(found.pop() == 0 for found in ids.values())
        special = set(theirs.all_special_ids) - {theirs.unk_token_id}
        backwards = [theirs.decode([i for i in some if i not in special]) for some in random_ids()]
    RECORDED.write_text(json.dumps({"ids": {text: " ".join(map(str, found)) for text, found in ids.items()},
                                    "texts": backwards}, indent=0) + "\n")


if __name__ == "__main__":
    record()
