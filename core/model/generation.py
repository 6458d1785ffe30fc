"""Text from a model, token by token: greedy and sampled generation, and beam search, as iterators over the steps; and
many texts at once, continued or translated.

The model computes a step when the iterator is asked for it; closing the iterator, or leaving the loop over it, stops
the model. A text longer than the context is read through `context_window`, which slides by one token a step.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.model import passes
from core.model.config import ModelConfig
from core.model.kv_cache import KVCache
from core.model.sampling import SamplingConfig, Truncation, draw, drawn, truncate
from core.model.transformer import Transformer

MOST_TEXTS = 10_000     # the most that exhaustive search compares


@dataclass(frozen=True, eq=False)
class GenerationStep:
    """One token, and the distribution that it was drawn from.

    token_id      the token drawn, or picked by hand; truncation.token_ids[place]
    place         its rank among all tokens, 0 for the most probable
    token_ids     the whole text so far: the prompt, and every token drawn, this one last
    xi            the number in [0, 1) that decided, or would have decided if the token had not been picked by hand
    prob          its probability after temperature, before anything was cut
    renormalised  its probability among the tokens that were kept, the one it was drawn with; 0 for a picked
                  one that was cut
    log_prob      ln of the model's own probability for it: temperature 1, nothing cut; nats
    n_unseen      how many tokens of the text before it the model could no longer see
    truncation    the whole distribution, seven arrays over the vocabulary: keep the steps of a long text without it
    """

    token_id: int
    place: int
    token_ids: tuple[int, ...]
    xi: float
    prob: float
    renormalised: float
    log_prob: float
    n_unseen: int
    truncation: Truncation


@dataclass(frozen=True)
class Hypothesis:
    """One way to go on, in a beam search.

    token_ids  the prompt and the continuation        log_probs  ln p of each token of the continuation, nats
    parent     where the hypothesis that it extends stood in the step before (or where it stood itself, if it was
               finished then); in the first step 0, the prompt
    finished   whether it ends with the end-of-text token; it is then not extended, and stays until better ones push
               it out
    """

    token_ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    parent: int
    finished: bool

    @property
    def log_prob(self) -> float:
        """ln p(continuation | prompt): the exactly rounded sum of log_probs, nats."""
        return math.fsum(self.log_probs)

    def longer(self, token_id: int, log_prob: float, parent: int, ends: Collection[int]) -> Hypothesis:
        """This hypothesis, which stands at the place `parent`, with one more token, whose ln p is log_prob; finished if
        that token is one of `ends`.
        """
        return Hypothesis(self.token_ids + (token_id,), self.log_probs + (log_prob,), parent, token_id in ends)


def context_window(token_ids: Sequence[int], config: ModelConfig) -> tuple[int, ...]:
    """The tokens of a text that the model reads: all, or as many of the last ones as its context holds.

    A text that begins with the token that the model's texts begin with (end of text, if it has no other) keeps it in
    front, so that a long text is read just as the prompt bar would cut it.

    >>> context_window((0, 5, 6, 7, 8), ModelConfig(vocab_size=9, d_model=2, n_layers=1, n_heads=1, n_context=3))
    (0, 7, 8)
    """
    token_ids, n = tuple(token_ids), config.n_context
    if len(token_ids) <= n:
        return token_ids
    if token_ids[0] == config.first_token and n > 1:
        return token_ids[:1] + token_ids[1 - n:]
    return token_ids[-n:]


def generate(model: Transformer, token_ids: Sequence[int], config: SamplingConfig = SamplingConfig(),
             seed: int | Iterator[float] = 0, max_new_tokens: int = 100, source_ids: Sequence[int] | None = None,
             picks: Mapping[int, int] | None = None) -> Iterator[GenerationStep]:
    """Continue a text: an iterator of steps, the last one a token that ends a text or the `max_new_tokens`-th token.

    token_ids  the prompt, at least one id.   config  temperature 0 is greedy.
    source_ids the text that an encoder-decoder translates; its prompt is the first token of every text, and the part of
    the translation that is there already.
    seed       a whole number that decides every xi, or the xi themselves. Every step takes one, greedy steps too: a
               change of `config` leaves the numbers of all later steps as they were.
    picks      step (0 for the first new token) -> the token that is taken there by hand, whatever xi says and even
               where it was cut.

    While the text fits the context, a cache holds the keys and values of what was read and each step reads one token.
    Beyond it every token's position changes at each step, so the window is read again. A model whose config names no
    token that ends a text stops at max_new_tokens only. Raises ValueError at once for a model that sees the future, an
    empty prompt, a negative max_new_tokens, or a source for a model that reads none, or none for a model that needs
    one.
    """
    prompt = _checked_prompt(model, token_ids, max_new_tokens, source_ids is not None)
    xis = uniforms(torch.Generator().manual_seed(seed)) if isinstance(seed, int) else seed
    memory = None if source_ids is None else _encoded(model, [source_ids])
    return _steps(model, prompt, config, xis, max_new_tokens, memory, picks or {})


def _steps(model: Transformer, token_ids: tuple[int, ...], config: SamplingConfig, xis: Iterator[float],
           max_new_tokens: int, memory: Tensor | None, picks: Mapping[int, int]) -> Iterator[GenerationStep]:
    cache = KVCache()
    for i in range(max_new_tokens):
        n_unseen = len(token_ids) - len(context_window(token_ids, model.config))
        logits = next_logits(model, [token_ids], cache, memory)[0]
        xi = next(xis)
        truncation = truncate(logits, config)
        place = int((truncation.token_ids == picks[i]).argmax()) if i in picks else draw(truncation, xi)
        token_id = int(truncation.token_ids[place])
        token_ids += (token_id,)
        yield GenerationStep(
            token_id=token_id, place=place, token_ids=token_ids, xi=xi, prob=float(truncation.probs[place]),
            renormalised=float(truncation.renormalised[place]), log_prob=float(log_probs_of(logits)[token_id]),
            n_unseen=n_unseen, truncation=truncation)
        if token_id in model.config.ends:
            return


def continuations(model: Transformer, prompts: Sequence[Sequence[int]], config: SamplingConfig = SamplingConfig(),
                  seed: int = 0, max_new_tokens: int = 100, stop: Collection[int] = (),
                  batch_size: int = 50) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Continue many texts, up to batch_size of one length side by side: yield (i, the new tokens of prompts[i])
    whenever a text is done.

    Prompt i goes on as generate(model, prompts[i], config, seed + i) would, up to rounding, and ends in the same ways
    or after the first token that is in `stop`, which is included. Raises ValueError at once as `generate` does.
    """
    checked = [_checked_prompt(model, prompt, max_new_tokens) for prompt in prompts]
    stop = {*stop, *model.config.ends}
    return ((i, text[len(checked[i]):]) for batch in _batches(checked, batch_size)
            for i, text in _side_by_side(model, {i: checked[i] for i in batch}, config, seed, max_new_tokens, stop))


def _batches(texts: Sequence[Sequence[int]], batch_size: int) -> Iterator[list[int]]:
    """The places of texts of one length, up to batch_size at a time, the shortest texts first."""
    def length(i: int) -> int:
        return len(texts[i])

    for _, alike in itertools.groupby(sorted(range(len(texts)), key=length), length):
        while batch := list(itertools.islice(alike, batch_size)):
            yield batch


def _side_by_side(model: Transformer, texts: dict[int, tuple[int, ...]], config: SamplingConfig, seed: int,
                  max_new_tokens: int, stop: set) -> Iterator[tuple[int, tuple[int, ...]]]:
    """(i, the whole text) of each of the texts, which are of one length; those that have ended leave the batch."""
    generators = {i: torch.Generator().manual_seed(seed + i) for i in texts}
    cache = KVCache()
    for _ in range(max_new_tokens):
        ended, rows = {}, []
        for row, (i, logits) in enumerate(zip(texts, next_logits(model, list(texts.values()), cache).cpu())):
            texts[i] += (drawn_token(logits, config, generators[i]),)
            if texts[i][-1] in stop:
                ended[i] = texts[i]
            else:
                rows.append(row)
        yield from ended.items()
        texts = {i: text for i, text in texts.items() if i not in ended}
        if not texts:
            return
        if ended:
            reorder(cache, rows)
    yield from texts.items()


def translations(model: Transformer, sources: Sequence[Sequence[int]], max_new_tokens: int = 100,
                 batch_size: int = 100) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Translate many texts, always taking the most probable token of those that the config does not forbid, up to
    batch_size of one length side by side: yield (i, the tokens for sources[i]).

    The tokens end with the end-of-text token, or are max_new_tokens. Raises ValueError for a model that does
    not translate.
    """
    for batch in _batches(sources, batch_size):
        yield from zip(batch, _translated(model, [sources[i] for i in batch], max_new_tokens))


def _translated(model: Transformer, sources: list[Sequence[int]], max_new_tokens: int) -> list[tuple[int, ...]]:
    """The most probable tokens for each of sources of one length, each up to the first that ends a text.

    Texts that have ended stay in the batch unread.
    """
    memory, cache, never = _encoded(model, sources), KVCache(), list(model.config.special.never_written)
    texts = [(model.config.first_token,) for _ in sources]
    for _ in range(max_new_tokens):
        logits = next_logits(model, texts, cache, memory)
        logits[:, never] = -math.inf
        texts = [text + (token_id,) for text, token_id in zip(texts, logits.argmax(-1).tolist())]
        if all(model.config.ends.intersection(text[1:]) for text in texts):
            break
    return [text[1:_place_of_end(text, model.config.ends) + 1] for text in texts]


def _place_of_end(text: tuple[int, ...], ends: Collection[int]) -> int:
    """The place of the first token after the one in front that ends a text; that of the last token without one."""
    return next((place for place, token_id in enumerate(text) if place and token_id in ends), len(text) - 1)


@torch.no_grad()
def _encoded(model: Transformer, sources: list[Sequence[int]]) -> Tensor:
    """(B, M, d) the encoder's final vectors for B sources of one length."""
    return model.encode(torch.tensor([list(source) for source in sources], dtype=torch.int64, device=model.device))


def uniforms(generator: torch.Generator) -> Iterator[float]:
    """The ξ that follow in a generator, without end, each uniform in [0, 1)."""
    while True:
        yield next_xi(generator)


def next_xi(generator: torch.Generator) -> float:
    """The next ξ of a generator, uniform in [0, 1)."""
    return torch.rand((), generator=generator, dtype=torch.float64).item()


def drawn_token(logits: Tensor, config: SamplingConfig, generator: torch.Generator) -> int:
    """The token that `config` and the generator's next ξ draw from logits (|V|,) on the CPU."""
    return int(drawn(logits, config, [next_xi(generator)])[1][0])


def beam_search(model: Transformer, token_ids: Sequence[int], width: int, max_new_tokens: int = 20,
                n_pruned: int = 0) -> Iterator[tuple[Hypothesis, ...]]:
    """The most probable continuations, `width` of them carried along: an iterator of the hypotheses after each step.

    Each step extends every unfinished hypothesis by every token and keeps the `width` most probable of those and of the
    finished ones, most probable first; equal ones in the order of their parents, then by token id. `parent` links the
    steps to a tree. Ends when all are finished or after `max_new_tokens` steps. After the `width` that are kept, each
    step also names up to `n_pruned` next most probable ones, which are dropped.

    Hypotheses are compared by their plain log-probability, ln p(continuation | prompt). No token makes a text more
    probable, so a finished short one competes with longer ones on unequal terms: beam search as it is defined favours
    short and bland texts, and is exact (the most probable continuation of all) at width |V|^(max_new_tokens - 1).

    Raises ValueError at once as `generate` does, and for a width below 1.
    """
    prompt = _checked_prompt(model, token_ids, max_new_tokens)
    if width < 1:
        raise ValueError(f"Beam search needs a width of at least 1, not {width}.")
    return _beams(model, prompt, width, max_new_tokens, n_pruned)


def exhaustive_search(model: Transformer, token_ids: Sequence[int], max_new_tokens: int) -> list[Hypothesis]:
    """Every continuation of max_new_tokens tokens, or fewer if it ends its text, most probable first; `parent` says
    nothing here.

    There are up to |V|^max_new_tokens of them. Raises ValueError as `generate` does, and for more than MOST_TEXTS.
    """
    prompt = _checked_prompt(model, token_ids, max_new_tokens)
    if model.config.vocab_size ** max_new_tokens > MOST_TEXTS:
        raise ValueError(f"{model.config.vocab_size}^{max_new_tokens} texts are too many to compare one by one.")
    texts, ended = [Hypothesis(prompt, (), 0, False)], []
    for _ in range(max_new_tokens):
        log_probs = log_probs_of(next_logits(model, [text.token_ids for text in texts], KVCache())).tolist()
        longer = [text.longer(token_id, log_prob, 0, model.config.ends)
                  for text, row in zip(texts, log_probs) for token_id, log_prob in enumerate(row)]
        texts = [text for text in longer if not text.finished]
        ended += [text for text in longer if text.finished]
    return sorted(texts + ended, key=lambda text: -text.log_prob)


def _beams(model: Transformer, prompt: tuple[int, ...], width: int, max_new_tokens: int,
           n_pruned: int) -> Iterator[tuple[Hypothesis, ...]]:
    beams: tuple[Hypothesis, ...] = (Hypothesis(prompt, (), 0, False),)
    cache = KVCache()
    for _ in range(max_new_tokens):
        live = [place for place, beam in enumerate(beams) if not beam.finished]
        if not live:
            return
        log_probs = log_probs_of(next_logits(model, [beams[place].token_ids for place in live], cache))
        candidates = _extensions(beams, live, log_probs, width + n_pruned, model.config.ends)
        candidates += [replace(beam, parent=place) for place, beam in enumerate(beams) if beam.finished]
        ranked = sorted(candidates, key=lambda candidate: -candidate.log_prob)[:width + n_pruned]
        beams = tuple(ranked[:width])
        reorder(cache, [live.index(beam.parent) for beam in beams if not beam.finished])
        yield tuple(ranked)


def _extensions(beams: tuple[Hypothesis, ...], live: list[int], log_probs: Tensor, n: int,
                ends: Collection[int]) -> list[Hypothesis]:
    """The n most probable one-token extensions of the hypotheses at the places `live`; log_probs is (len(live), |V|).

    Impossible tokens are left out. Equally probable ones come in the order of their parents, then by token id.
    """
    so_far = torch.tensor([beams[place].log_prob for place in live], dtype=torch.float64)
    totals = (so_far[:, None] + log_probs).flatten()
    least = totals.topk(min(n, len(totals))).values[-1]
    # a few, and equal ones: sorting all would take as long as the model
    places = (totals >= least).nonzero()[:, 0]
    order = places[totals[places].sort(descending=True, stable=True).indices][:n]
    cells = (divmod(index, log_probs.shape[-1]) for index in order[totals[order] > -math.inf].tolist())
    return [beams[live[row]].longer(token_id, log_probs[row, token_id].item(), live[row], ends)
            for row, token_id in cells]


def _checked_prompt(model: Transformer, token_ids: Sequence[int], max_new_tokens: int,
                    has_source: bool = False) -> tuple[int, ...]:
    passes.check_source(model.config, has_source)
    if model.config.mask.startswith("bidirectional"):
        raise ValueError("This model sees the tokens that follow, so it cannot continue a text; choose a model that "
                         "reads from left to right.")
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens must be at least 0, not {max_new_tokens}.")
    token_ids = tuple(int(token_id) for token_id in token_ids)
    if not token_ids:
        raise ValueError("There is no token to go on from: begin with the end-of-text token.")
    return token_ids


def next_logits(model: Transformer, texts: list[tuple[int, ...]], cache: KVCache,
                memory: Tensor | None = None) -> Tensor:
    """(B, |V|) the logits after each of B texts of one length; the cache, of their first tokens, is extended
    while they fit.

    memory (B, M, d): the encoder's final vectors of the sources, in an encoder-decoder.
    """
    windows = [context_window(text, model.config) for text in texts]
    fits = len(windows[0]) == len(texts[0])
    new = [window[cache.n_tokens if fits else 0:] for window in windows]
    with torch.no_grad():
        return model.logits(torch.tensor(new, device=model.device), cache if fits else None, last_only=True,
                            memory=memory)[:, -1]


def reorder(cache: KVCache, rows: list[int]) -> None:
    """Row i of the cache becomes what row rows[i] was: each text takes its parent's keys and values along."""
    if rows != [*range(cache.n_texts)]:         # mostly no text has ended, and a copy takes a fifth of a step
        cache.keys_and_values = cache.of(rows).keys_and_values


def log_probs_of(logits: Tensor) -> Tensor:
    """ln softmax(logits) in float64 on the CPU, same shape."""
    log_probs = torch.log_softmax(logits.detach().cpu().double(), dim=-1)
    if torch.isnan(log_probs).any():
        raise ValueError("The model's logits make no distribution (NaN, plus infinity, or nothing possible): its "
                         "weights are damaged.")
    return log_probs
