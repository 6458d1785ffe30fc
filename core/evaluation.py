"""The scores of a model card: held-out loss of a model beside that of a trigram model. `python -m core.evaluation --help` prints both."""
from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from core import checkpoints, corpus
from core.loss import HeldOutLoss, held_out_loss
from core.tokenizer import Tokenizer

ORDER = 3
CARDS = Path(__file__).resolve().parent.parent / "assets" / "text" / "en" / "model_cards"


@dataclass(frozen=True)
class NgramCounts:
    """For contexts of n − 1 tokens: which n-grams were seen (keys, sorted), how often, and what the discount leaves to shorter ones.

    A key is the n-gram read as a number in base |V|; its context's key is the key divided by |V|, rounded down.
    """

    keys: np.ndarray                # (G,) int64, sorted
    counts: np.ndarray              # (G,) float64
    contexts: np.ndarray            # (C,) int64, sorted
    totals: np.ndarray              # (C,) float64, sum of the counts of the context's n-grams
    followers: np.ndarray           # (C,) float64, number of different ones
    discount: float                 # D, taken off every count

    @classmethod
    def count(cls, keys: np.ndarray, counts: np.ndarray, vocab_size: int) -> "NgramCounts":
        """From distinct sorted keys. D = (n_1 + 1) / (n_1 + 2 n_2 + 2), n_c n-grams being counted c times: never 0, so that nothing is impossible."""
        once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
        contexts, first, followers = np.unique(keys // vocab_size, return_index=True, return_counts=True)
        totals = np.add.reduceat(counts.astype(np.float64), first)
        return cls(keys, counts.astype(np.float64), contexts, totals, followers.astype(np.float64), (once + 1) / (once + 2 * twice + 2))

    def probability(self, keys: np.ndarray, shorter: np.ndarray, vocab_size: int) -> np.ndarray:
        """(M,) max(count − D, 0) / total + D · followers / total · shorter; `shorter` (M,) alone where the context was never seen."""
        count = _look_up(self.keys, self.counts, keys)
        total = _look_up(self.contexts, self.totals, keys // vocab_size)
        followers = _look_up(self.contexts, self.followers, keys // vocab_size)
        seen = np.maximum(total, 1)
        return np.where(total > 0, (np.maximum(count - self.discount, 0) + self.discount * followers * shorter) / seen, shorter)


class TrigramModel:
    """p(token | the two before), interpolated Kneser-Ney: discounted trigram counts; then bigrams and unigrams counted by how many
    different contexts they follow; at last the uniform distribution. Source: Kneser and Ney 1995; Chen and Goodman 1999, section 2.7.
    """

    def __init__(self, documents: Sequence[np.ndarray], vocab_size: int, end_of_text: int) -> None:
        if vocab_size ** ORDER > 2 ** 63 - 1:
            raise ValueError(f"Trigrams of {vocab_size} tokens do not fit 64 bits.")
        self.vocab_size, self.end_of_text = vocab_size, end_of_text
        grams = [self._trigrams(document) for document in documents]
        keys, counts = np.unique(np.concatenate(grams), return_counts=True)
        self.levels: list[NgramCounts] = []                 # trigrams, bigrams, unigrams
        for _ in range(ORDER):
            self.levels.append(NgramCounts.count(keys, counts, vocab_size))
            modulus = vocab_size ** (ORDER - len(self.levels))
            keys, counts = np.unique(keys % modulus, return_counts=True)    # how many different tokens stood before it

    def _trigrams(self, document: np.ndarray) -> np.ndarray:
        """Keys of the document's trigrams; it begins after two end-of-text tokens and closes with one, which counts."""
        end = [self.end_of_text]
        ids = np.concatenate([end, end, document, end]).astype(np.int64)
        return (ids[:-2] * self.vocab_size + ids[1:-1]) * self.vocab_size + ids[2:]

    def probabilities(self, document: np.ndarray) -> np.ndarray:
        """(n + 1,) the probability of each token of the document and of its closing end of text, given the two before."""
        keys = self._trigrams(document)
        p = np.full(len(keys), 1 / self.vocab_size)
        for n, level in zip(range(1, ORDER + 1), reversed(self.levels)):
            p = level.probability(keys % self.vocab_size ** n, p, self.vocab_size)
        return p

    def held_out_loss(self, documents: Sequence[np.ndarray], n_bytes: int) -> HeldOutLoss:
        nats = [-np.log(self.probabilities(document)) for document in documents]
        return HeldOutLoss(float(sum(n.sum() for n in nats)), sum(len(n) for n in nats), n_bytes)


def _look_up(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(M,) the value of each wanted key, 0 where it is not among the sorted keys."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0.0)


@dataclass(frozen=True)
class Score:
    """One held-out text under the model and under the trigram model."""

    text: str
    model: HeldOutLoss
    trigram: HeldOutLoss


def score(model: torch.nn.Module, tokenizer: Tokenizer, training_texts: Sequence[str], held_out: dict[str, Sequence[str]]) -> list[Score]:
    """Both losses on each held-out text (name -> documents); the trigram model counts the training texts, every document once."""
    training = corpus.tokenize(training_texts, tokenizer)
    trigram = TrigramModel(training.documents, tokenizer.vocab_size, tokenizer.end_of_text)
    scores = []
    for name, texts in held_out.items():
        documents, n_bytes = corpus.tokenize(texts, tokenizer).documents, sum(len(text.encode()) for text in texts)
        scores.append(Score(name, held_out_loss(model, documents, n_bytes), trigram.held_out_loss(documents, n_bytes)))
    return scores


def table(scores: Sequence[Score]) -> str:
    """The scores as a Markdown table."""
    lines = ["| held-out text | tokens | model, nats/token | trigram, nats/token | model, bits/byte | trigram, bits/byte |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for s in scores:
        lines.append(f"| {s.text} | {s.model.n_tokens:,} | {s.model.nats_per_token:.3f} | {s.trigram.nats_per_token:.3f} "
                     f"| {s.model.bits_per_byte:.3f} | {s.trigram.bits_per_byte:.3f} |")
    return "\n".join(lines)


def model_card(template: str, scores: Sequence[Score], history: Sequence[dict], n_parameters: int) -> str:
    """The template with {parameters}, {steps}, {tokens}, {hours} and {scores} filled in, from the last entry of a run's training.json."""
    last = history[-1]
    return template.format(parameters=f"{n_parameters:,}", steps=f"{last['step']:,}", tokens=f"{last['tokens_seen'] / 1e6:.1f}",
                           hours=f"{last['hours']:.1f}", scores=table(scores))


def publish(name: str, source: Path, scores: Sequence[Score]) -> None:
    """Bundle the model of the training run in `source` as assets/models/`name`, with its losses by step and its card."""
    model, tokenizer = checkpoints.load(source / "model")
    history = (source / "training.json").read_text(encoding="utf-8")
    template = (CARDS / f"{name}.md").read_text(encoding="utf-8")
    checkpoints.save(checkpoints.BUNDLED / name, model, tokenizer, model_card(template, scores, json.loads(history), model.n_parameters))
    (checkpoints.BUNDLED / name / "training.json").write_text(history, encoding="utf-8")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m core.evaluation", description="Held-out loss of a model beside a trigram model's.")
    p.add_argument("--model", default="stories", help="a bundled model's name (default %(default)s)")
    p.add_argument("--run", type=Path, metavar="FOLDER", help="the model of this training run instead")
    p.add_argument("--text", nargs="+", required=True, metavar="FILE", help="the training text, which the trigram model counts")
    p.add_argument("--held-out", nargs="+", required=True, metavar="FILE", help="text that was not trained on")
    p.add_argument("--publish", action="store_true", help="with --run: then bundle the run's model under --model's name")
    return p


def main(argv: Sequence[str] | None = None) -> None:
    arguments = parser().parse_args(argv)
    if arguments.publish and not arguments.run:
        raise SystemExit("--publish needs the --run to publish.")
    model, tokenizer = checkpoints.load(arguments.run / "model") if arguments.run else checkpoints.load_bundled(arguments.model)
    training_texts = [text for path in arguments.text for text in corpus.read_documents(path)]
    held_out = {Path(path).stem: corpus.read_documents(path) for path in arguments.held_out}
    scores = score(model, tokenizer, training_texts, held_out)
    print(table(scores))
    if arguments.publish:
        publish(arguments.model, arguments.run, scores)


if __name__ == "__main__":
    main()
