"""The size of a training text: bytes, tokens and what LZMA makes of it."""
import lzma

from core.evaluation import corpus_size
from core.training.recipes import stories_tokenizer


def test_a_text_is_measured_once(tmp_path):
    text = "The cat sat on the mat. " * 50
    (tmp_path / "one.txt").write_text(text)
    found = corpus_size.measure(tmp_path, ["one.txt"])
    assert found.files == 1 and found.bytes == len(text.strip())
    assert found.tokens == len(stories_tokenizer().encode(text.strip()))
    assert abs(found.lzma_bytes - len(lzma.compress(text.strip().encode()))) < 20 and found.lzma_bytes < found.bytes / 5


def test_what_is_kept_can_be_read():
    kept = corpus_size.kept()
    assert kept.files == 9 and kept.lzma_bytes < kept.bytes / 4
