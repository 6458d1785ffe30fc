"""BPE as it learns: the pairs of neighbours counted, the most frequent one joined everywhere, and counted again."""
from collections import Counter
from dataclasses import dataclass

import pandas as pd

from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Reading, Truth
from core.app.state import Run
from core.base.markdown import code
from core.components.lib.token_view import PLAYER_CSS, token_view
from core.figures.numbers import grouped
from core.language import segmentation
from core.language.segmentation import LearnedBpe
from pages.tokens import texts
from pages.tokens.shared import PREFIX, keep, question, read, visible

PLAYER = f"{PREFIX}bpe_player"
MOST_TERMS = 6              # of a sum in In numbers
OFFERED = 4                 # pairs in the question
# The words in pieces and the pairs counted; the reader steps, scrubs or plays.
_picture = token_view("token_bpe", __file__, PLAYER_CSS)

Pair = tuple[str, str]


@dataclass(frozen=True)
class Counting:
    """A text whose pairs are counted. counts: how often each distinct word occurs, the most frequent first."""

    text: str
    counts: dict[str, int]
    bpe: LearnedBpe

    def cuts(self, n: int) -> dict[tuple[str, ...], int]:
        """The pieces of each word after n merges, and how often it occurs."""
        return {self.bpe.cut(word, n): count for word, count in self.counts.items()}

    def pairs(self, n: int) -> Counter[Pair]:
        """How often each pair of neighbours stands in the text after n merges."""
        return segmentation.pair_counts(self.cuts(n))

    def tokens(self, n: int) -> int:
        return sum(len(pieces) * count for pieces, count in self.cuts(n).items())

    def done(self) -> int:
        """The number of merges that the reader has gone."""
        last = len(self.bpe.merges)
        return last if read("joined") < 0 else min(read("joined"), last)


def counting_of(text: str) -> Counting:
    """The counts of a text, computed once for all readers."""
    def make() -> Counting:
        counts = Counter(segmentation.words_of(text))
        return Counting(text, dict(counts.most_common()), segmentation.learn_bpe(text))

    return cache.result(("tokens_bpe", text), make, lambda value: 2_000 + 60 * len(text))


def message(page: Lesson, counting: Counting) -> dict:
    """The message to bpe.js, which counts by itself."""
    characters = counting.bpe.alphabet
    return page.header("bpe", twin=sentence(page, counting)) | {
        "identity": counting.text, "words": list(counting.counts.items()), "merges": counting.bpe.merges,
        "visible": {character: visible(character) for character in characters},
        "settings": {"step": read("joined")}}


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which pair is joined first; None if one pair alone stands often."""
    text, _ = texts.text_of(page, run, "bpe_source")
    if not text:
        return None
    counting = counting_of(text)
    offered = first_pairs(counting)
    if len(offered) < 2:
        return None

    def truth(guess: int) -> Truth:
        first, pairs = counting.bpe.merges[0], counting.pairs(0)
        holding = [word for word in counting.counts if "".join(first) in word]
        everywhere = len(holding) == len(counting.counts)
        return Truth(offered.index(first), seen=1 if len(holding) == 1 else 2 if everywhere else 0,
                     said=f"{pairs[first]} ×", own=f"{pairs[offered[guess]]} ×",
                     values={"pair": pair_name(page, first), "n": pairs[first], "joined": code(visible("".join(first))),
                             "words": len(holding)})

    return Prediction("bpe", Options([pair_name(page, pair) for pair in offered]), truth,
                      {"begin": texts.quoted(text)})


def first_pairs(counting: Counting) -> list[Pair]:
    """The pair that is joined first, and the most frequent of those that stand less often, in the text's order."""
    pairs = counting.pairs(0)
    if not pairs:
        return []
    first = counting.bpe.merges[0]
    rest = [pair for pair, n in pairs.most_common() if n < pairs[first]]
    order = [*pairs]
    return sorted([first, *rest[:OFFERED - 1]], key=order.index)


def pair_name(page: Lesson, pair: Pair) -> str:
    return page.label("before_merges_pair", left=code(visible(pair[0])), right=code(visible(pair[1])))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the choice of the text and the player; return its Reading."""
    with texts.row():
        counting = counting_of(texts.draw_choice(page, run, "bpe_source"))
    _picture(message(page, counting), key=PLAYER, on_settings=lambda settings: keep(joined=settings["step"]))
    n = counting.done()
    return Reading(_lines(page, counting, n), question(page, run),
                   [segmentation.pair_counts, segmentation.merged, segmentation.learn_bpe],
                   {"merges.csv": lambda: merges_table(page, counting),
                    "pairs.csv": lambda: pairs_table(page, counting, n)},
                   ".bpe-picture", sentence(page, counting), pairs_table(page, counting, n, 8),
                   {page.label("column_tokens"): str(counting.tokens(n))})


def sentence(page: Lesson, counting: Counting) -> str:
    """A sentence that describes the picture."""
    return page.label("bpe_twin", words=len(counting.counts), characters=len(counting.text),
                      merges=len(counting.bpe.merges), n=counting.done(), tokens=counting.tokens(counting.done()))


def pairs_table(page: Lesson, counting: Counting, n: int, most: int | None = None) -> pd.DataFrame:
    """The pairs of neighbours after n merges and how often each stands in the text, the most frequent first."""
    rows = [(visible(left), visible(right), times) for (left, right), times in counting.pairs(n).most_common(most)]
    return page.table(rows, "left", "right", "times")


def merges_table(page: Lesson, counting: Counting) -> pd.DataFrame:
    """Every merge: its number, what it joins, how often the pair stood, and the tokens of the text after it."""
    rows = [(n, visible(left), visible(right), visible(left + right), counting.pairs(n - 1)[left, right],
             counting.tokens(n)) for n, (left, right) in enumerate(counting.bpe.merges, 1)]
    return page.table(rows, "step", "left", "right", "result", "times", "tokens")


def _lines(page: Lesson, counting: Counting, n: int) -> list[tuple[str, str]]:
    size = len(counting.bpe.alphabet)
    vocabulary = (page.label("numbers_bpe_vocabulary"), rf"|V| = {size} + {n} = {size + n}")
    if n == len(counting.bpe.merges):
        return [(page.label("numbers_bpe_end"), rf"{grouped(counting.tokens(n))}"), vocabulary]
    left, right = counting.bpe.merges[n]
    terms = [(count, pieces) for pieces, count in counting.cuts(n).items() if (left, right) in zip(pieces, pieces[1:])]
    written = [rf"{count} \cdot {list(zip(pieces, pieces[1:])).count((left, right))}" for count, pieces in terms]
    shown = " + ".join(written[:MOST_TERMS]) + (r" + \cdots" if len(written) > MOST_TERMS else "")
    words = ", ".join(code(visible("".join(pieces))) for _, pieces in terms[:MOST_TERMS])
    before, after = counting.tokens(n), counting.tokens(n + 1)
    pair = pair_name(page, (left, right))
    return [(page.label("numbers_bpe_count", pair=pair, words=words),
             rf"\#(a\,b) = {shown} = {counting.pairs(n)[left, right]}"),
            (page.label("numbers_bpe_tokens", pair=pair), rf"{before} - {before - after} = {after}"), vocabulary]
