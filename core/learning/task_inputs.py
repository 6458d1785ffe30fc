"""The input transformations of GPT-1, and a linear layer that reads one vector (Radford et al. 2018, "Improving
Language Understanding by Generative Pre-Training", figure 1).

    classification     start  text  extract                       the layer reads the extract token's final vector h
    entailment         start  premise  delimiter  hypothesis  extract
    similarity         start  one  delimiter  other  extract, and the other order; the layer reads the sum of both h
    multiple choice    start  context  delimiter  answer  extract, for each answer; one number each, then softmax

GPT-1 learned the three tokens anew and trained the whole model with the layer. Here the model stays as it is and has no
new tokens: its own first token, "$" and ":" stand in, and the layer is a linear discriminant in closed form.
"""
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.learning import instructions
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer

TASKS = ("classification", "entailment", "similarity", "choice")
CLASSES = ("positive", "negative")
DELIMITER, EXTRACT = "$", ":"
N_TRAIN, N_HELD_OUT = 200, 24       # sentences of the data set
AT_ONCE = 32                        # rows of a batch
SHRINKAGE = 0.1                     # the share of the mean variance in the covariance: there are more numbers than rows


@dataclass(frozen=True)
class Row:
    """A row of tokens as the model reads it; kinds: of each token, "start", "text", "delimiter" or "extract"."""

    token_ids: tuple[int, ...]
    kinds: tuple[str, ...]


def parts_of(task: str, text: str, others: Sequence[str]) -> list[tuple[str, ...]]:
    """The texts between the special tokens of each row. others: the hypothesis, the other text, or the answers.

    >>> parts_of("similarity", "a", ["b"]), parts_of("choice", "a", ["b", "c"])
    ([('a', 'b'), ('b', 'a')], [('a', 'b'), ('a', 'c')])
    """
    if task == "classification":
        return [(text,)]
    rows = [(text, other) for other in others]
    return [*rows, *(row[::-1] for row in rows)] if task == "similarity" else rows


def row_of(tokenizer: Tokenizer, parts: Sequence[str], n_context: int) -> Row:
    """The row of one or two texts; a text that is too long for the context loses its end."""
    most, tokens = n_context // 2 - 4, [(tokenizer.first, "start")]
    for i, part in enumerate(parts):
        between = tokenizer.encode(DELIMITER) if i else []
        tokens += [(token, "delimiter") for token in between]
        tokens += [(token, "text") for token in tokenizer.encode(part)[:most]]
    tokens += [(token, "extract") for token in tokenizer.encode(EXTRACT)]
    return Row(*zip(*tokens))


@torch.no_grad()
def extracted(model: Transformer, rows: Sequence[Row]) -> Tensor:
    """(n, d) float64: the final vector of the last token of each row. Padding stands after it, where a causal mask
    hides it.
    """
    found = []
    for batch in (rows[i:i + AT_ONCE] for i in range(0, len(rows), AT_ONCE)):
        longest = max(len(row.token_ids) for row in batch)
        ids = torch.tensor([row.token_ids + (0,) * (longest - len(row.token_ids)) for row in batch])
        h = model.final_vectors(ids)
        found.append(h[torch.arange(len(batch)), [len(row.token_ids) - 1 for row in batch]].double())
    return torch.cat(found)


@dataclass(frozen=True, eq=False)
class Head:
    """A linear layer u = h W + b, W (d, n_classes), b (n_classes,), and how many of N_HELD_OUT other sentences it gets
    right.
    """

    W: Tensor
    b: Tensor
    right: int

    @property
    def n_bytes(self) -> int:
        return 8 * (self.W.numel() + len(self.b))

    def logits(self, h: Tensor) -> Tensor:
        """(…, n_classes) of vectors (…, d)."""
        return h @ self.W + self.b


def discriminant(h: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """W and b of the linear discriminant of vectors (n, d) in classes (n,), all equally probable. With μ the mean of
    the classes' means, δ_c the way from it to that of class c, and one covariance Σ for all, shrunk towards its mean
    variance, u_c = (h − μ − δ_c / 2) Σ⁻¹ δ_c, whose softmax is p(c | h) for Gaussians.
    """
    means = torch.stack([h[classes == c].mean(0) for c in range(int(classes.max()) + 1)])
    rest = h - means[classes]
    covariance = rest.T @ rest / (len(h) - len(means))
    level = covariance.trace() / len(covariance) * torch.eye(len(covariance), dtype=h.dtype)
    middle = means.mean(0)
    W = torch.linalg.solve((1 - SHRINKAGE) * covariance + SHRINKAGE * level, (means - middle).T)
    return W, -((means + middle).T * W).sum(0) / 2


def sentences() -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Different rows of the data set of sentiment: those to fit on, and held-out ones."""
    found: dict[str, dict[str, str]] = {}
    for row in map(functools.partial(instructions.row, "sentiment"), itertools.count()):
        found.setdefault(row["sentence"], row)
        if len(found) == N_TRAIN + N_HELD_OUT:
            rows = list(found.values())
            return rows[N_HELD_OUT:], rows[:N_HELD_OUT]


def fitted(model: Transformer, tokenizer: Tokenizer) -> Head:
    """The head for CLASSES, fitted on what the model, which stays as it is, makes of N_TRAIN sentences."""
    (h, classes), (others, true) = ((
        extracted(model, [row_of(tokenizer, [row["sentence"]], model.config.n_context) for row in rows]),
        torch.tensor([CLASSES.index(row["label"]) for row in rows])) for rows in sentences())
    W, b = discriminant(h, classes)
    return Head(W, b, int(((others @ W + b).argmax(-1) == true).sum()))
