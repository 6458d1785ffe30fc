"""The size of a bundled model's training text after lossless compression.

That of `stories` is in assets/teaching/corpus_size.json, made by `python -m core.recordings corpus_size --corpus DIR`.
"""
import lzma
from dataclasses import asdict, dataclass
from pathlib import Path

from core.files import ASSETS, read_json
from core.training import corpus
from core.training.recipes import STORIES_TEXTS, stories_tokenizer

MODEL = "stories"         # the model trained on these texts
FILE = ASSETS / "teaching" / "corpus_size.json"


@dataclass(frozen=True)
class CorpusSize:
    """The different texts of a training, each once: their files, bytes and tokens, and their bytes after LZMA."""

    files: int
    bytes: int
    tokens: int
    lzma_bytes: int


def measure(folder: Path, names: list[str]) -> CorpusSize:
    """The size of these files of the corpus."""
    texts = {name: corpus.corpus_documents(folder, name) for name in names}
    tokens = sum(len(ids) for documents in texts.values()
                 for ids in corpus.tokenize(documents, stories_tokenizer()).documents)
    whole = "\n".join(document for documents in texts.values() for document in documents).encode()
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 1 << 26}]     # a window over the whole text
    return CorpusSize(len(names), len(whole), tokens, len(lzma.compress(whole, format=lzma.FORMAT_XZ, filters=filters)))


def kept() -> CorpusSize:
    """The size of the texts of `stories`, as it was measured."""
    return CorpusSize(**read_json(FILE))


def record(folder: Path) -> dict:
    """Measure the texts of `stories`; return what is kept."""
    return asdict(measure(folder, [name for name, _ in STORIES_TEXTS]))
