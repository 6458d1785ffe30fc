"""How much the groups measure: what is asked for by default, and the least that still runs every one of them."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

GPT2_SMALL = dict(vocab_size=50257, n_embd=768, n_layer=12, n_head=12, n_positions=1024)
TINY = dict(vocab_size=1000, n_embd=48, n_layer=2, n_head=2, n_positions=1024)


@dataclass(frozen=True)
class Sizes:
    """Sizes; each group takes those it needs.

    cases    of sliders and prompt: how many controls of each kind; of controls and large: how many in all; of load: how
             many pages are opened before it. None: all
    share    how much is kept of each training, and of each wait until the server has forgotten what was closed
    large    the shape of the random GPT-2 of memory and large
    """

    repeats: int = 15
    lessons: tuple[str, ...] = ()       # of controls and large: whose; none named: all
    cases: int | None = None
    starts: int = 3                     # of the process, and of pages of each
    seeds: int = 3                      # of each training
    share: float = 1.0
    tabs: int = 20                      # of memory: readers with a browser
    readers: int = 30                   # of load: who change something every few seconds
    seconds: float = 300                # of load: how long; of phones: for how long their connections are held
    replicas: int = 1                   # of load: processes of the app
    seed: int = 0                       # of load: decides what its readers do
    count: int = 1000                   # of sessions: how many are opened and closed
    phones: int = 200
    large: Mapping[str, int] = field(default_factory=lambda: GPT2_SMALL)


SMOKE = Sizes(repeats=1, lessons=("heads",), cases=1, starts=1, seeds=1, share=0.004, tabs=1, readers=2, seconds=1,
              count=4, phones=3, large=TINY)
