"""What the views of the lesson share: settings and controls."""
from __future__ import annotations

import functools

from core import contrasts, structure
from core.ui import views
from core.ui.instrument_state import Setting, Settings

PREFIX = "limits_"
SETTINGS = Settings("limits", {
    "view": Setting("inputs", options=("inputs", "words", "meaning")),
    # inputs
    "control": Setting("none", options=("none", "random", "other")),
    "baseline": Setting("end", options=("end", "zero")),        # of integrated gradients
    "steps": Setting("64", options=("8", "64", "256")),          # gradients in its sum
    "token": Setting(-1, low=-1),                                # the token that is looked at; −1: the one whose removal changes most
    # words
    "pair": Setting("girl", options=(*contrasts.sets()["pairs"], "own")),
    "span": Setting("one", options=("one", "all")),              # one sentence, or all of them
    "sentence": Setting(0, low=0, high=len(contrasts.sets()["sentences"]) - 1),
    "by": Setting("probability", options=("probability", "ratio")),
    "place": Setting(-1, low=-1),                                # the prompt's word that is changed; −1: the first noun of the pairs in it, else the last word
    "other": Setting(""),                                        # what stands there instead; empty: the lesson's own
    "counted": Setting(""),                                      # the words that are counted; empty: the pair's own
    # meaning
    "test": Setting("roles", options=tuple(structure.TESTS)),
    "n": Setting("40", options=("20", "40", "80")),
    "item": Setting(0, low=0, high=79),                          # the item that is looked at
    "seed": Setting(1, low=0, high=999_999),
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice, show = functools.partial(views.choice, SETTINGS), functools.partial(views.show, PREFIX)
