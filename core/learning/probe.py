"""Linear probes: how well the token k places back can still be read off a token's vector, after each block.

Each probe is one matrix and a softmax over the commonest tokens, trained on vectors h_t of texts that the model itself
has written, and tried on other texts (Alain and Bengio 2016, "Understanding intermediate layers using linear classifier
probes"). The results are in assets/teaching/probe_runs.json, made by `python -m core.recordings probe`.
"""
from __future__ import annotations

import copy
import functools
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from core.files import read_json
from core.model import checkpoints
from core.model.generation import log_probs_of, next_logits
from core.model.kv_cache import KVCache
from core.model.transformer import Transformer
from core.training.teaching_text import DATA

FILE = DATA / "probe_runs.json"
MODEL, SEED = "stories", 0
DISTANCES = (0, 1, 2, 3, 4, 6, 8, 12, 16)                 # k, tokens back
N_TRAIN, N_TEST, N_TOKENS = 1500, 300, 72                 # texts, and tokens of each
N_VALID = 100                   # further texts, which show when a probe has learned enough
N_CLASSES = 1024                # the commonest tokens, the last class for all others: never counted as right
STEPS, BATCH, RATE = 240, 1024, 0.01                      # for Adam, with a rate that falls to 0
LOOKS = 60                      # steps between two looks at these further texts
SIDE_BY_SIDE = 200              # texts that are written or read at once


@dataclass(frozen=True, eq=False)
class Probed:
    """Held-out results. accuracy, bits (L + 1, K): the share of tokens that a probe names, and the mean −log2 of its
    probability for them, after 0 … L blocks and for each of DISTANCES; shuffled (K,): the accuracy, after the last
    block, of probes whose training labels were shuffled; commonest (K,): the share of the commonest token; entropy
    (K,): bits of a reader who knows only the frequencies; counted: tokens tried at each distance; covered: the share of
    them that is among the classes; size: |V|.
    """

    accuracy: np.ndarray
    bits: np.ndarray
    shuffled: np.ndarray
    commonest: np.ndarray
    entropy: np.ndarray
    counted: int
    covered: float
    size: int


@functools.cache
def recorded() -> Probed:
    """The results measured on MODEL."""
    kept = read_json(FILE)
    return Probed(*(np.array(kept[name]) for name in ("accuracy", "bits", "shuffled", "commonest", "entropy")),
                  kept["counted"], kept["covered"], kept["size"])


@torch.no_grad()
def written(model: Transformer, n_texts: int, n_tokens: int, seed: int) -> Tensor:
    """(n_texts, n_tokens) ids of texts that the model draws at temperature 1, without texts that end sooner."""
    generator, kept = torch.Generator().manual_seed(seed), []
    while len(kept) < n_texts:
        texts, cache = [(model.config.first_token,)] * SIDE_BY_SIDE, KVCache()
        for _ in range(n_tokens - 1):
            drawn = torch.multinomial(log_probs_of(next_logits(model, texts, cache)).exp(), 1, generator=generator)
            texts = [(*text, token) for text, token in zip(texts, drawn[:, 0].tolist())]
        kept += [text for text in texts if model.config.end_of_text not in text[1:]]
    return torch.tensor(kept[:n_texts])


@torch.no_grad()
def vectors(model: Transformer, texts: Tensor, depth: int) -> Tensor:
    """(n texts, n places, d) the stream after `depth` blocks, at the places that have all DISTANCES before them."""
    return torch.cat([model(part).depths[depth][:, DISTANCES[-1] + 1:].clone() for part in texts.split(SIDE_BY_SIDE)])


def labels(texts: Tensor, k: int) -> Tensor:
    """(n texts, n places) the token k places before each of the same places."""
    return texts[:, DISTANCES[-1] + 1 - k:texts.shape[1] - k]


def classes_of(tokens: Tensor, vocab_size: int, n_classes: int) -> Tensor:
    """(|V|,) the class of each token: 0 for the commonest of these tokens, n_classes − 1 for all that have no class."""
    order = torch.bincount(tokens.flatten(), minlength=vocab_size).argsort(descending=True, stable=True)
    found = torch.full((vocab_size,), n_classes - 1)
    found[order[:n_classes - 1]] = torch.arange(min(n_classes - 1, vocab_size))
    return found


def trained(h: Tensor, classes: Tensor, beside: tuple[Tensor, Tensor], n_classes: int, seed: int,
            steps: int = STEPS) -> torch.nn.Linear:
    """Train on vectors h (n, d), of mean 0 and deviation 1, and their classes (n,); return the probe at its best
    validation loss (`beside`: vectors and classes of other texts). It begins as a reader who knows only the
    frequencies.
    """
    probe, generator = torch.nn.Linear(h.shape[1], n_classes), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        probe.weight.zero_()
        probe.bias.copy_((torch.bincount(classes, minlength=n_classes) + 0.5).log())
    adam, best, least = torch.optim.Adam(probe.parameters(), RATE), copy.deepcopy(probe), tried(probe, *beside)[1]
    for step in range(1, steps + 1):
        adam.param_groups[0]["lr"] = RATE * (1 - (step - 1) / steps)
        batch = torch.randint(len(h), (BATCH,), generator=generator)
        adam.zero_grad()
        functional.cross_entropy(probe(h[batch]), classes[batch]).backward()
        adam.step()
        if step % LOOKS == 0 and (bits := tried(probe, *beside)[1]) < least:
            best, least = copy.deepcopy(probe), bits
    return best


@torch.no_grad()
def tried(probe: torch.nn.Linear, h: Tensor, classes: Tensor) -> tuple[float, float]:
    """The share of vectors (n, d) for which the probe finds their class (n,) the likeliest, never counting the class of
    all other tokens, and the mean −log2 of its probability for the class.
    """
    scores = probe(h)
    right = scores[:, :-1].argmax(-1) == classes
    return float(right.float().mean()), float(functional.cross_entropy(scores, classes)) / float(np.log(2))


def measure(model: Transformer, texts: Tensor, depth: int, shuffle: bool = False) -> np.ndarray:
    """(K, 2) accuracy and bits of probes after `depth` blocks, trained on the first N_TRAIN texts and tried on the last
    N_TEST. shuffle: whether the training labels are shuffled.
    """
    parts = [N_TRAIN, N_VALID, N_TEST]
    classes, found = classes_of(texts[:N_TRAIN], model.config.vocab_size, N_CLASSES), []
    h = [part.flatten(0, 1) for part in vectors(model, texts, depth).split(parts)]
    mean, deviation = h[0].mean(0), h[0].std(0)
    h = [(part - mean) / deviation for part in h]
    for k in DISTANCES:
        known, beside, new = (part.flatten() for part in classes[labels(texts, k)].split(parts))
        if shuffle:
            known = known[torch.randperm(len(known), generator=torch.Generator().manual_seed(SEED + 1))]
        found.append(tried(trained(h[0], known, (h[1], beside), N_CLASSES, SEED), h[2], new))
        print(depth, k, "shuffled" if shuffle else "", found[-1], flush=True)
    return np.array(found)


def frequencies(texts: Tensor, vocab_size: int) -> tuple[list[float], list[float], int, float]:
    """Prediction of the tried tokens from frequencies alone: at each distance the share of the commonest token, and the
    bits; then how many tokens are tried, and the share of them that have a class.
    """
    classes = classes_of(texts[:N_TRAIN], vocab_size, N_CLASSES)
    p = (torch.bincount(classes[texts[:N_TRAIN]].flatten(), minlength=N_CLASSES) + 0.5).double()
    log_p = (p / p.sum()).log2()
    tested = [classes[labels(texts[-N_TEST:], k)].flatten() for k in DISTANCES]
    return ([float((t == 0).float().mean()) for t in tested], [float(-log_p[t].mean()) for t in tested],
            len(tested[0]), float((tested[0] < N_CLASSES - 1).float().mean()))


def record() -> dict:
    """Train the probes of MODEL; return their results."""
    model, _ = checkpoints.load_bundled(MODEL)
    texts = written(model, N_TRAIN + N_VALID + N_TEST, N_TOKENS, SEED)
    each = np.stack([measure(model, texts, depth) for depth in range(model.config.n_layers + 1)])
    shuffled = measure(model, texts, model.config.n_layers, shuffle=True)[:, 0]
    commonest, entropy, counted, covered = frequencies(texts, model.config.vocab_size)
    return {"model": MODEL, "distances": DISTANCES,
            "accuracy": each[..., 0].round(4).tolist(), "bits": each[..., 1].round(3).tolist(),
            "shuffled": shuffled.round(4).tolist(), "commonest": np.round(commonest, 4).tolist(),
            "entropy": np.round(entropy, 3).tolist(), "counted": counted, "covered": round(covered, 4),
            "size": model.config.vocab_size}
