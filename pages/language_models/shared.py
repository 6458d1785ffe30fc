"""The lesson's settings, and texts with the model's ln p of every token."""
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.analysis import text_probability
from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, views
from core.app.parts import charts
from core.app.state import Run, prompts, reader
from core.app.state.lesson_settings import Setting, Settings, view_setting
from core.base.markdown import code
from core.figures.numbers import GREATEST, bracketed, latex_number, latex_operand, plain_number, readable, written

PREFIX = "language_models_"
MOST_TOKENS = 40        # of a text that is shown token by token
TOLD = 25               # texts between two reports of progress
TASKS = ("sentiment", "questions", "untaught", "opposites", "summary", "table", "labels")
SETTINGS = Settings("language_models", {
    "view": view_setting("language_models"),
    "sentences": Setting(""),                  # a line each; empty: the lesson's own
    "after": Setting(False),                   # whether the sentences are read after the prompt
    "row": Setting(0, low=0),                  # the sentence that is picked
    "toy_own": Setting(""),                         # a sentence of the five words
    "toy_before": Setting(4, low=0, high=5), "toy_next": Setting(3, low=0, high=4),    # the picked entry
    "toy_p": Setting(-1.0, low=-1, high=1),         # its p; −1: the lecture's
    "toy_drawn": Setting(0, low=0, high=2000), "toy_seed": Setting(1, low=1, high=9999),      # sentences drawn from it
    "table_t": Setting(2048, low=0, high=2048),     # tokens of a context in the table of all probabilities
    "table_bits": Setting(16, low=1, high=17),      # log2 of its vocabulary
    "a": Setting(""), "b": Setting(""),        # the two continuations; empty: the lesson's own
    "passage": Setting(0, low=0),
    "guesses": Setting(""),                    # the numbers of the reader's right guesses, "1-3-1"
    "coded": Setting(-1, low=-1),              # the picked token of the coder; −1: one that costs about two bits
    "garbled": Setting(""),                    # the text with a wrong letter; empty: the lesson's own
    "secret": Setting(""),                     # the text that is enciphered, or a ciphertext; empty: the lesson's own
    "given": Setting(False),                   # whether the text is in cipher already
    "key": Setting(1, low=0, high=9999),       # the seed of the key
    "by": Setting("triples", options=("letters", "pairs", "triples", "model")),
    "tried": Setting(0, low=-1),               # the reading that is shown; −1: the last
    "task": Setting("sentiment", options=TASKS),
    "answered": Setting(0, low=0),             # the token of the written answer whose distribution is shown
    "shots": Setting("0", options=("0", "1", "2", "4")),       # solved examples before each exercise
    **{f"own_{task}": Setting("") for task in TASKS},          # the reader's own case; empty: the lesson's
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice, show = functools.partial(views.choice, SETTINGS), functools.partial(charts.draw, PREFIX)


@dataclass(frozen=True)
class Scored:
    """A text with ln p of each of its tokens, in nats, after `context`."""

    text: str
    token_ids: tuple[int, ...]
    tokens: tuple[str, ...]      # visible
    log_probs: np.ndarray
    n_cut: int                   # tokens left out at its end

    @property
    def total(self) -> float:
        """ln p of the whole text."""
        return float(self.log_probs.sum())

    @property
    def bits(self) -> np.ndarray:
        return text_probability.bits(self.log_probs)

    @property
    def total_bits(self) -> float:
        return float(self.bits.sum())

    @property
    def rate(self) -> float:
        """Bits a token; NaN of no tokens."""
        return self.total_bits / len(self.tokens) if self.tokens else math.nan

    @property
    def perplexity(self) -> float:
        return text_probability.perplexity(self.log_probs)


# (text, context): the text follows the last tokens of the context, as many as fit the model
Pairs = Sequence[tuple[str, str | None]]


def scored(run: Run, texts: Sequence[str], context: str | None = None, said: str = "") -> list[Scored]:
    """The texts, each scored by itself or after `context`; shared by all readers. said: as in growing_results.growing.
    """
    return scored_after(run, [(text, context) for text in texts], said)


def scored_after(run: Run, pairs: Pairs, said: str = "") -> list[Scored]:
    """Each text, scored after its own context."""
    return growing_results.result(_key(run, pairs), functools.partial(_score, run, pairs), _size, said)


def scored_so_far(run: Run, texts: Sequence[str], said: str) -> tuple[list[Scored], bool]:
    """The texts scored so far, each by itself, and whether these are all. said: as in growing_results.growing."""
    pairs = [(text, None) for text in texts]
    return growing_results.growing(_key(run, pairs), functools.partial(_score, run, pairs), _size, said)


def _key(run: Run, pairs: Pairs) -> tuple:
    return "sequences", run.model_name, run.device, tuple(pairs)


def _size(scores: list[Scored]) -> int:
    return sum(200 + 100 * len(s.token_ids) for s in scores)


def _score(run: Run, pairs: Pairs) -> Iterator[Part]:
    room, scores, rows, whole = run.model.config.n_context - 1, [], [], []
    for text, context in pairs:
        before = run.tokenizer.encode(prompts.clean_prompt(context or ""))
        whole.append(run.tokenizer.encode(joined(context, text)))
        ids = whole[-1][:MOST_TOKENS]
        rows.append((run.tokenizer.first, *before[max(0, len(before) - room + len(ids)):], *ids))
    for (text, _), full, log_probs in zip(pairs, whole,
                                          text_probability.each_token_log_probs(run.loaded.runner, rows)):
        ids = tuple(full[:MOST_TOKENS])
        scores.append(Scored(text, ids, tuple(map(run.tokenizer.visible, ids)), log_probs[len(log_probs) - len(ids):],
                            len(full) - len(ids)))
        if len(scores) % TOLD == 0 or len(scores) == len(pairs):
            yield Part(scores[:], len(scores), len(pairs))


def joined(context: str | None, text: str) -> str:
    """The text as a continuation of the context: with a space before it, unless the context ends with one, or the text
    begins with punctuation. Without a context (None) the text begins what is read; after an empty one it is read as if
    it stood within a text, since many words are tokens with the space before them alone.

    >>> joined("Once", "upon"), joined("Once ", "upon"), joined(None, "upon"), joined("", "upon"), joined("Once", ", x")
    (' upon', 'upon', 'upon', ' upon', ', x')
    """
    glued = context is None or context[-1:].isspace() or not text[:1].isalnum()
    return text if glued else f" {text}"


def row_of(page: Lesson, s: Scored, label: str = "") -> dict:
    """A text as token_bits.js reads it."""
    summary = page.label("row_summary_present" if reader.present() else "row_summary", ln=plain_number(s.total, 2),
                         bits=plain_number(s.total_bits, 1), rate=plain_number(s.rate, 2),
                         perplexity=plain_number(s.perplexity, 1))
    return {"label": label, "tokens": s.tokens, "bits": [round(float(value), 6) for value in s.bits], "text": s.text,
            "summary": summary}



def draw_chart(name: str, figure: Callable, inputs: Sequence, heights: tuple[int, int]) -> None:
    """A chart of charts.py in the reader's theme and scale. heights: in pixels, usually and in present mode."""
    show(figure(*inputs, reader.theme(), reader.scale(), heights[reader.present()]), name)


def product(s: Scored, most: int = 8) -> tuple[str, str]:
    """The chain rule with the text's numbers, in probabilities and in logarithms, as LaTeX with at most `most` factors.
    """
    first, n, more = s.log_probs[:most], len(s.log_probs), len(s.log_probs) > most
    factors = [bracketed(latex_operand(float(np.exp(value)))) for value in first] + [r"\cdots"] * more
    terms = " ".join(latex_number(float(value), 6) for value in first) + r" - \cdots" * more
    factors = r" \cdot ".join(factors)
    return (rf"p(x_1 \ldots x_{{{n}}}) = \prod_{{i=1}}^{{{n}}} p(x_i \mid x_1 \ldots x_{{i-1}}) = "
            rf"{factors} = {latex_number(float(np.exp(s.total)))}",
            rf"\ln p = \sum_{{i=1}}^{{{n}}} \ln p(x_i \mid x_1 \ldots x_{{i-1}}) = {terms} = {latex_number(s.total)}")


def token_table(page: Lesson, texts: Sequence[Scored]) -> pd.DataFrame:
    """Every token of every text with its probability and surprisal."""
    rows = [(s.text, i, token, np.exp(log_p), log_p, bits) for s in texts
            for i, (token, log_p, bits) in enumerate(zip(s.tokens, s.log_probs, s.bits), 1)]
    return page.table(rows, "text", "position", "token", "p", "ln", "bits")


def named(text: str, most: int = 48) -> str:
    """A text for a title: in one line of at most `most` characters, as code."""
    line = " ".join(text.split())
    return code(line if len(line) <= most else f"{line[:most]}…")


def times(nats: float) -> str:
    """The probability ratio e^nats, with its power of ten where it is large.

    >>> times(0.7), times(9.0), times(40.0)
    ('2.01', '8,103', '2.4\\xa0·\\xa010¹⁷')
    """
    factor = float(np.exp(min(nats, 700)))
    return written(f"{factor:.1e}") if factor >= GREATEST else readable(factor)
