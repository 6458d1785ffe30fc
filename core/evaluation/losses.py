"""The loss of the model on a text beside that of a trigram model and two compressors; and pairs of confidence and
outcome for its calibration.
"""
import gzip
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from core.evaluation.ngrams import TrigramModel
from core.model.generation import log_probs_of, next_logits, reorder
from core.model.kv_cache import KVCache
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import corpus
from core.training.corpus import IGNORE
from core.training.loss import HeldOutLoss, held_out_logits, held_out_loss


@dataclass(frozen=True)
class TextScore:
    """One held-out text under the model, the trigram model and the compressors (bits per byte), which know only the
    text itself.
    """

    text: str
    model: HeldOutLoss
    trigram: HeldOutLoss
    gzip: float
    lzma: float


def text_scores(model: Transformer, tokenizer: Tokenizer, training: corpus.Source,
                held_out: Mapping[str, Sequence[str]]) -> Iterator[TextScore]:
    """Yield the score of each held-out text (name -> documents); the trigram model counts each training document once.

    The trigrams of ten million tokens take a minute; then the model reads the texts.
    """
    trigram = TrigramModel(training.documents, tokenizer.vocab_size, tokenizer.end_of_text)
    for name, texts in held_out.items():
        documents, n_bytes = corpus.tokenize(texts, tokenizer).documents, sum(len(text.encode()) for text in texts)
        yield TextScore(name, held_out_loss(model, documents, n_bytes), trigram.held_out_loss(documents, n_bytes),
                        *compressed_bits_per_byte(texts))


def compressed_bits_per_byte(texts: Sequence[str]) -> tuple[float, float]:
    """Return the bits per byte of the texts that gzip -9 and lzma need.

    A line break ends each text and does not count as one of its bytes: the models also have to predict where a text
    ends.
    """
    data, n_bytes = "".join(f"{text}\n" for text in texts).encode(), sum(len(text.encode()) for text in texts)
    return 8 * len(gzip.compress(data, 9, mtime=0)) / n_bytes, 8 * len(lzma.compress(data, preset=9)) / n_bytes


def top_predictions(model: Transformer, documents: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """At every position of the documents (token ids without end of text), the closing end of text included: the
    probability (M,) of the most probable token, and whether it follows (M,) bool. About a second for 3,000 tokens.
    """
    return scored_predictions(model, documents)[:2]


def scored_predictions(model: Transformer,
                       documents: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`top_predictions`, and −ln p (M,) of the token that follows, in nats."""
    confidence, right, nats = [], [], []
    for logits, targets in held_out_logits(model, documents):
        top = torch.softmax(logits.float(), dim=-1).max(dim=-1)
        counted = targets != IGNORE
        confidence.append(top.values[counted].cpu().numpy())
        right.append((top.indices == targets)[counted].cpu().numpy())
        nats.append(F.cross_entropy(logits.float()[counted], targets[counted], reduction="none").cpu().numpy())
    return np.concatenate(confidence).astype(np.float64), np.concatenate(right), np.concatenate(nats)


def unigram_predictions(documents: Sequence[np.ndarray],
                        end_of_text: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for a reader that gives every token its share of all tokens of these documents, the closing end of text
    included, whatever precedes it: the best possible without reading.
    """
    targets = np.concatenate([np.append(ids, end_of_text) for ids in documents]).astype(np.int64)
    counts = np.bincount(targets)
    shares = counts / len(targets)
    return np.full(len(targets), shares.max()), targets == counts.argmax(), -np.log(shares[targets])


@torch.no_grad()
def own_predictions(model: Transformer, n_texts: int, n_tokens: int, temperature: float,
                    seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Let the model write n_texts texts side by side, at a temperature above 0. Yield at each step, for the texts that
    have not ended, the probability at temperature 1 of the most probable token, and whether it was drawn.

    At temperature 1 tokens are drawn with exactly these probabilities, so any error that `calibrate` finds is chance.
    """
    generator = torch.Generator().manual_seed(seed)
    texts, cache = [(model.config.end_of_text or 0,)] * n_texts, KVCache()
    for _ in range(n_tokens):
        log_probs = log_probs_of(next_logits(model, texts, cache))
        top = log_probs.exp().max(-1)
        drawn = torch.multinomial((log_probs / temperature).softmax(-1), 1, generator=generator)[:, 0]
        yield top.values.numpy(), (drawn == top.indices).numpy()
        live = [row for row, token_id in enumerate(drawn.tolist()) if token_id != model.config.end_of_text]
        if not live:
            return
        texts = [(*texts[row], int(drawn[row])) for row in live]
        reorder(cache, live)
