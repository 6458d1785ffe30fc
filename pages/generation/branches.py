"""Texts of one prompt and dice that differ in the tokens that the reader picked by hand: writing them, and storing
them in the address.
"""
import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from core.app.compute import growing_results
from core.app.state import Run
from core.app.state.dice import Dice
from core.model.generation import GenerationStep, generate
from core.model.sampling import SamplingConfig
from pages.generation.shared import Start, in_turns

MOST_BRANCHES = 9       # besides the drawn text
SHOWN = 12              # candidates of a step, the most probable first; the chosen token is shown whatever its rank
Picks = tuple[tuple[int, int], ...]     # (step, token id), steps rising


@dataclass(frozen=True)
class Candidate:
    """A possible token of a step. place: its rank from 0; prob: its probability after temperature; renormalised: among
    the kept tokens; cut_by: the rule that removed it (index into sampling.RULES, 0: kept); [start, end): its interval
    of [0, 1).
    """

    token_id: int
    place: int
    prob: float
    renormalised: float
    cut_by: int
    start: float
    end: float


@dataclass(frozen=True)
class Step:
    """A generated token and the shown part of its distribution: a GenerationStep without its arrays.

    log_prob: ln of the model's probability, nats. taken: the token itself as a candidate. entropy: of the distribution
    after temperature, nats.
    """

    token_id: int
    xi: float
    log_prob: float
    by_hand: bool
    taken: Candidate
    candidates: tuple[Candidate, ...]
    n_kept: int
    kept_mass: float
    entropy: float

    @property
    def p(self) -> float:
        """The model's probability of the token: temperature 1, no truncation."""
        return math.exp(self.log_prob)


def compact(step: GenerationStep, by_hand: bool) -> Step:
    """The part of a step that the pictures need."""
    t = step.truncation
    starts = np.concatenate([[0.0], t.interval_ends[:-1]])

    def candidate(place: int) -> Candidate:
        return Candidate(int(t.token_ids[place]), place, float(t.probs[place]), float(t.renormalised[place]),
                         int(t.cut_by[place]), float(starts[place]), float(t.interval_ends[place]))

    places = range(min(SHOWN, len(t.token_ids)))
    return Step(step.token_id, step.xi, step.log_prob, by_hand, candidate(step.place), tuple(map(candidate, places)),
                t.n_kept, t.kept_mass, t.entropy_before)


def text_of(run: Run, begin: Start, config: SamplingConfig, dice: Dice, picks: Picks = ()) -> tuple[Step, ...]:
    """The steps of one text, drawn with the dice except for the picks.

    Texts share the steps before their last pick, which are computed once.
    """
    key = run.loaded.key("generation text", begin.token_ids, begin.length, config, dice, picks)
    return growing_results.made(key, lambda: _write(run, begin, config, dice, picks),
                                lambda value: 3_000 * (len(value) + 1))


def _write(run: Run, begin: Start, config: SamplingConfig, dice: Dice, picks: Picks) -> tuple[Step, ...]:
    before: tuple[Step, ...] = ()
    if picks:
        before = text_of(run, begin, config, dice, picks[:-1])[:picks[-1][0]]
    prompt = begin.token_ids + tuple(step.token_id for step in before)
    by_hand = {0: picks[-1][1]} if picks else {}
    steps = in_turns(run, generate, prompt, config, dice.numbers(len(before)), begin.length - len(before),
                     picks=by_hand)
    return before + tuple(compact(step, i in by_hand) for i, step in enumerate(steps))


def fits(run: Run, begin: Start, config: SamplingConfig, dice: Dice, picks: Picks) -> bool:
    """Whether each pick names a token of the vocabulary and a step that the text without it reaches."""
    return all(0 <= token_id < run.model.config.vocab_size
               and 0 <= step < len(text_of(run, begin, config, dice, picks[:i])) and (not i or step > picks[i - 1][0])
               for i, (step, token_id) in enumerate(picks))


def identity(run: Run, begin: Start, config: SamplingConfig, dice: Dice) -> str:
    """A short hash of everything the texts depend on, since picks of one text have no meaning in another."""
    return f"{zlib.crc32(repr((run.model_name, begin, config, dice)).encode()):08x}"


def to_link(name: str, branches: Iterable[Picks]) -> str:
    """The branches as text for the address.

    >>> to_link("00c0ffee", [((5, 120),), ((5, 120), (9, 7))])
    '00c0ffee~5.120~5.120-9.7'
    """
    links = ["-".join(f"{step}.{token_id}" for step, token_id in picks) for picks in branches]
    return "~".join([name, *links]) if links else ""


def from_link(name: str, link: str) -> tuple[Picks, ...]:
    """The branches that `to_link` wrote; none if they belong to other texts or cannot be parsed.

    >>> from_link("00c0ffee", "00c0ffee~5.120~5.120-9.7")
    (((5, 120),), ((5, 120), (9, 7)))
    >>> from_link("00c0ffee", "deadbeef~5.120"), from_link("00c0ffee", "00c0ffee~x")
    ((), ())
    """
    head, *links = link.split("~")
    if head != name:
        return ()
    try:
        return tuple(tuple((int(step), int(token_id))
                           for step, token_id in (pick.split(".") for pick in picks.split("-")))
                     for picks in links[:MOST_BRANCHES])
    except ValueError:
        return ()
