"""The two texts of Patching, what the exchanges between their runs do, and how far that is in words."""
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from core.analysis import patching
from core.analysis.patching import Patching
from core.app.compute import growing_results
from core.app.lesson import Lesson, Question, word_exchange
from core.app.state import Run, prompts
from core.base.markdown import code
from core.figures.numbers import percent, written
from core.language import contrasts
from core.language.contrasts import Exchange
from core.model.trace import Trace
from core.model.transformer import Transformer
from pages.residual_stream.shared import SETTINGS, read

PLACE, OTHER = "patch_place", "patch_other"        # the settings of the reader's own exchange
NEAR = 0.05             # two answers of a question that are so close to each other are one

Steps = Callable[[Transformer, Trace, Trace], Iterator[Patching]]      # of core.analysis.patching


@dataclass(frozen=True)
class Pair:
    """The two texts under one model, and where they first differ."""

    exchange: Exchange
    here: Run
    there: Run

    @property
    def obstacle(self) -> str:
        """The obstacle to exchanging vectors of the two texts: "same" or "lengths"; "" if there is none."""
        if self.here.token_ids == self.there.token_ids:
            return "same"
        return "" if len(self.here.token_ids) == len(self.there.token_ids) else "lengths"

    @property
    def first(self) -> int:
        return patching.first_difference(self.here.token_ids, self.there.token_ids)

    @property
    def runs(self) -> tuple[Transformer, Trace, Trace]:
        return self.here.model, self.here.trace, self.there.trace

    @property
    def texts(self) -> tuple[str, str]:
        """A question's key besides the model."""
        return self.exchange.text, self.exchange.changed

    def asked(self) -> dict[str, str]:
        """A question's words: the two texts, and the tokens that they make more probable."""
        own, other = (self.here.tokenizer.visible(token) for token in patching.answers(self.here.trace,
                                                                                         self.there.trace))
        return {"text": self.exchange.text, "word": self.exchange.word, "swap": self.exchange.swap, "own": own,
                "other": other}


def pair_of(run: Run) -> Pair | None:
    """The chosen pair of texts; None if the reader's own prompt has no word to change."""
    name = read("patch_pair")
    if name == "own":
        exchange = word_exchange.read(prompts.clean_prompt(run.text), SETTINGS, PLACE, OTHER)
    else:
        text, place, other = contrasts.sets()["exchanges"][name]
        exchange = contrasts.exchange(text, place, other)
    return exchange and Pair(exchange, run.with_text(exchange.text), run.with_text(exchange.changed))


def measured(page: Lesson, pair: Pair, patched: Steps) -> tuple[Patching, bool]:
    """The known effects of the exchanges, and whether that is all of them; shared by all readers."""
    return growing_results.growing(*_measuring(page, pair, patched))


def measured_whole(page: Lesson, pair: Pair, patched: Steps) -> Patching:
    """The effect of each exchange; leave the view until all are known."""
    return growing_results.result(*_measuring(page, pair, patched))


def _measuring(page: Lesson, pair: Pair, patched: Steps) -> tuple:
    """The arguments of growing_results."""
    def steps() -> Iterator[growing_results.Part]:
        for done, value in enumerate(patched(*pair.runs), 1):
            yield growing_results.Part(value, done, len(value.logits))

    return (pair.here.key(patched.__name__, pair.there.token_ids), steps, lambda value: value.logits.nbytes,
            page.label("patch_growing"))


def share_text(share: float) -> str:
    """A share of the way in percent, with one decimal: more would be the rounding of the passes."""
    return written(f"{round(100 * float(share), 1) + 0.0:.1f}") + "\u00a0%"


def ends(pair: Pair, found: Patching) -> dict[str, str]:
    """The two answers between which a share of the way lies, for a sentence."""
    visible = pair.here.tokenizer.visible
    return {"own": code(visible(found.own)), "other": code(visible(found.other))}


def question_of(page: Lesson, name: str, found: Patching, logits: np.ndarray, beside: float, **values) -> Question:
    """How far these logits (|V|,) of another exchange are on the way: nothing, all of it, or `beside`, half of it where
    that is one of the two.
    """
    gap, start, end = (float(u[1] - u[0]) for u in (logits[[found.own, found.other]], found.here, found.there))
    moved = (gap - start) / (end - start)
    options = sorted({0.0, 1.0, 0.5 if min(abs(beside), abs(beside - 1)) < NEAR else beside})
    return page.question(name, [percent(option) for option in options],
                         int(np.argmin([abs(moved - option) for option in options])), moved=share_text(moved), **values)
