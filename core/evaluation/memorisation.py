"""Memorisation: the share of a passage that a model recites, and the longest runs of training text in its texts."""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.teaching_text import Canary

PROMPT_TOKENS = 16
CHUNK = 2_000_000       # training tokens searched at a time


@dataclass(frozen=True)
class Recitation:
    """A passage after its first n_prompt tokens: each further token, the most probable token in its place (predicted),
    and ln p of the token itself in nats, both given the true text before it.
    """

    passage: Canary
    n_prompt: int
    token_ids: tuple[int, ...]
    predicted: tuple[int, ...]
    log_probs: tuple[float, ...]

    @property
    def n_recited(self) -> int:
        """The number of tokens that greedy generation writes before its first mistake: until then the text before is
        the true text.
        """
        return next((i for i, (a, b) in enumerate(zip(self.token_ids, self.predicted)) if a != b), len(self.token_ids))

    @property
    def recited_share(self) -> float:
        return self.n_recited / len(self.token_ids)

    @property
    def share_right(self) -> float:
        """The share of all tokens that were the most probable, given the true text before them."""
        return sum(a == b for a, b in zip(self.token_ids, self.predicted)) / len(self.token_ids)

    @property
    def nats_per_token(self) -> float:
        return -sum(self.log_probs) / len(self.log_probs)


@torch.no_grad()
def recitations(model: Transformer, tokenizer: Tokenizer, passages: Sequence[Canary],
                n_prompt: int = PROMPT_TOKENS) -> Iterator[Recitation]:
    """Yield the recitation of each passage, cut to the context; about 50 ms each.

    Raises ValueError for a passage not longer than its prompt.
    """
    for passage in passages:
        ids = tokenizer.encode(passage.text)[:model.config.n_context]
        if len(ids) <= n_prompt:
            raise ValueError(f"The passage {passage.name!r} leaves nothing to recite after {n_prompt} tokens.")
        logits = model.logits(torch.tensor([tokenizer.end_of_text, *ids[:-1]], device=model.device))[n_prompt:].cpu()
        rest = torch.tensor(ids[n_prompt:])
        log_probs = logits.double().log_softmax(-1).gather(-1, rest[:, None])[:, 0]
        yield Recitation(passage, n_prompt, tuple(rest.tolist()), tuple(logits.argmax(-1).tolist()),
                         tuple(log_probs.tolist()))


@dataclass(frozen=True)
class Run:
    """The longest run of a text's tokens that a training document contains: the index of its first token, and its
    length.
    """

    start: int
    n_tokens: int


def longest_runs(texts: Sequence[Sequence[int]], documents: Sequence[np.ndarray]) -> list[Run]:
    """Return for each text (token ids) the longest run that some document (token ids) contains, the first of several.
    Exact; takes seconds for 10 million tokens.

    The algorithm numbers the different stretches of L tokens in the texts. It then compares each place of a document
    that matched a stretch of L tokens with the stretches of L + 1 tokens, all places at once, until no place is left.
    """
    lengths = [len(text) for text in texts]
    # two different numbers that are not tokens
    text_end = 1 + max((int(max(ids)) for ids in (*texts, *documents) if len(ids)), default=0)
    document_end = text_end + 1
    tokens = np.concatenate([np.append(np.asarray(text, dtype=np.int64), text_end) for text in texts])
    levels = _levels(tokens, max(lengths), text_end, base=document_end + 1)
    longest = np.zeros(len(tokens), dtype=np.int64)
    for chunk in _chunks(documents, document_end):
        _walk(chunk, levels, document_end + 1, longest)
    runs, start = [], 0
    for length in lengths:
        part = longest[start:start + length + 1]         # the run at the closing number is 0
        runs.append(Run(int(part.argmax()), int(part.max())))
        start += length + 1
    return runs


@dataclass(frozen=True)
class Verbatim:
    """The length of the longest run from the training text in each text of the kind `of`, in tokens and in words (the
    first and the last word may be cut).
    """

    of: str
    n_tokens: tuple[int, ...]
    n_words: tuple[int, ...]


def verbatim(kinds: Mapping[str, Sequence[Sequence[int]]], documents: Sequence[np.ndarray],
             tokenizer: Tokenizer) -> tuple[Verbatim, ...]:
    """`longest_runs` of several kinds of texts (name -> token ids of each) in the training documents."""
    runs = iter(longest_runs([text for texts in kinds.values() for text in texts], documents))
    results = []
    for of, texts in kinds.items():
        group = [next(runs) for _ in texts]
        words = [len(tokenizer.decode(text[run.start:run.start + run.n_tokens]).split())
                 for text, run in zip(texts, group)]
        results.append(Verbatim(of, tuple(run.n_tokens for run in group), tuple(words)))
    return tuple(results)


def _levels(tokens: np.ndarray, longest: int, filling: int, base: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For L = 1 ... longest: the sorted keys (number of L − 1 tokens) · base + next token, and for each place of
    `tokens` the index of its key.

    A key's index is the number of its L tokens at the next level.
    """
    padded = np.append(tokens, np.full(longest, filling))
    names, levels = np.zeros(len(tokens), dtype=np.int64), []
    for length in range(1, longest + 1):
        keys, names = np.unique(names * base + padded[length - 1:length - 1 + len(tokens)], return_inverse=True)
        levels.append((keys, names))
    return levels


def _chunks(documents: Sequence[np.ndarray], closing: int) -> Iterator[np.ndarray]:
    """The documents one after the other, each closed by `closing`, in arrays of about CHUNK tokens."""
    parts, size = [], 0
    for n, document in enumerate(documents, 1):
        parts.append(np.append(document.astype(np.int64), closing))
        size += len(document)
        if size >= CHUNK or n == len(documents):
            yield np.concatenate(parts)
            parts, size = [], 0


def _walk(chunk: np.ndarray, levels: Sequence[tuple[np.ndarray, np.ndarray]], base: int, longest: np.ndarray) -> None:
    """Update `longest`, the length of the longest run from each place of the texts, with the runs in the chunk."""
    places, names = np.arange(len(chunk)), np.zeros(len(chunk), dtype=np.int64)
    for length, (keys, names_of_text) in enumerate(levels, 1):
        within = places + length <= len(chunk)
        places, names = places[within], names[within]
        sought = names * base + chunk[places + length - 1]
        nearest = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
        same = keys[nearest] == sought
        places, names = places[same], nearest[same]
        if not len(places):
            return
        matched = np.zeros(len(keys), dtype=bool)
        matched[names] = True
        longest[matched[names_of_text]] = np.maximum(longest[matched[names_of_text]], length)
