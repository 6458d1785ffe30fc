"""Train: BPE and Unigram learned from the reader's text, for vocabulary sizes from single characters to whole words."""
import math
import operator
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Reading, Truth
from core.app.state import Run
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import bracketed, latex_number, latex_operand, plain_number, probability
from core.language import segmentation
from core.language.segmentation import LearnedBpe, LearnedUnigram
from core.language.unigram import rounds
from pages.tokens import texts
from pages.tokens.shared import PREFIX, keep, question, read, visible

PICTURE = f"{PREFIX}training"
MOST_SIZES, MOST_WORDS = 20, 160
FEWER = ("bpe", "unigram", "each", "never")    # the answers: which needs fewer tokens with equally many pieces
SEGMENTATIONS = 6           # listed segmentations of the picked word
# BPE and Unigram side by side, learned from one text, with a slider for the size of the vocabulary.
_picture = token_view("token_training", __file__)


@dataclass(frozen=True)
class Learned:
    """A text with BPE and Unigram learned from it. sizes: of the vocabulary, rising; unigrams: one for each; counts:
    the frequency of each distinct word, in their order.
    """

    text: str
    words: tuple[str, ...]
    counts: Counter[str]
    bpe: LearnedBpe
    sizes: tuple[int, ...]
    unigrams: tuple[LearnedUnigram, ...]
    objectives: tuple[float, ...]

    def n_merges(self, size: int) -> int:
        """The number of merges of a BPE of that size."""
        return max(0, size - len(self.bpe.alphabet))

    def tokens(self, n_merges: int) -> int:
        """The number of tokens of the text after n_merges of BPE."""
        return sum(count * len(self.bpe.cut(word, n_merges)) for word, count in self.counts.items())

    def fewer(self) -> tuple[int, int]:
        """At how many of the sizes BPE has fewer tokens than Unigram, and at how many Unigram has fewer."""
        bpe = [self.tokens(self.n_merges(size)) for size in self.sizes]
        unigram = [sum(count * len(one.segmentations(word, 1)[0][1]) for word, count in self.counts.items())
                   for one in self.unigrams]
        return sum(map(operator.lt, bpe, unigram)), sum(map(operator.gt, bpe, unigram))

    def unigram(self, size: int) -> LearnedUnigram:
        return self.unigrams[self.sizes.index(size)]


def learned(text: str) -> Learned:
    """Everything learned from a text, computed once for all readers."""
    return cache.result(("tokens_training", text), lambda: _train(text),
                        lambda value: 4_000 + 100 * sum(len(unigram.log_p) for unigram in value.unigrams)
                                     + 20 * len(text))


def _train(text: str) -> Learned:
    bpe = segmentation.learn_bpe(text)
    words = segmentation.words_of(text)
    counts = Counter(words)
    low = len(bpe.alphabet)
    sizes = tuple(int(size) for size in np.unique(np.linspace(low, bpe.vocab_size, MOST_SIZES).round()))
    pruned = list(rounds(text, sizes))
    unigrams = tuple(next(one.model for one in pruned if len(one.log_p) <= size) for size in sizes)
    return Learned(text, tuple(words), counts, bpe, sizes, unigrams,
                   tuple(segmentation.objective(unigram, counts) for unigram in unigrams))


def picked_size(models: Learned) -> int:
    """The available size nearest to the reader's or, by default, a third of the way to a token for each word."""
    target = read("size") or models.sizes[len(models.sizes) // 3]
    return min(models.sizes, key=lambda size: abs(size - target))


def picked_word(models: Learned) -> str:
    """The word that the reader has picked, by default the longest of the shown words."""
    words = shown_words(models)
    return words[read("word")] if 0 <= read("word") < len(words) else max(words, key=len)


def shown_words(models: Learned) -> list[str]:
    """The distinct words among the first MOST_WORDS of the text."""
    return list(dict.fromkeys(models.words[:MOST_WORDS]))


def message(page: Lesson, models: Learned) -> dict:
    """The message to learned.js."""
    words = shown_words(models)
    entries = cache.result(("tokens_training_entries", models.text), lambda: _entries(models, words),
                           lambda _: 60 * len(words) * len(models.sizes))
    order = [words.index(word) for word in models.words[:MOST_WORDS]]
    return page.header("train") | {
        "identity": models.text, "sizes": models.sizes,
        "order": order, "letters": [[visible(character) for character in word] for word in words],
        "more": len(models.words) - len(order), **entries,
        "ends": {"characters": len(models.text), "words": len(models.words)},
        "settings": {"size": picked_size(models), "word": words.index(picked_word(models)),
                     "chosen": read("word") >= 0}}


def _entries(models: Learned, words: list[str]) -> dict[str, list[dict]]:
    """The results of each method on the text at every size."""
    histories = {word: models.bpe.history(word) for word in models.counts}
    bpe, unigram = [], []
    for size, model, log in zip(models.sizes, models.unigrams, models.objectives):
        n = models.n_merges(size)
        cuts = {word: ([step.words[0] for step in steps if step.rank <= n] or [tuple(word)])[-1]
                for word, steps in histories.items()}
        last = tuple(visible(piece) for piece in models.bpe.merges[n - 1]) if n else None
        bpe.append({"size": size, "tokens": sum(count * len(cuts[word]) for word, count in models.counts.items()),
                    "merge": last, "rank": n, "cuts": [[len(piece) for piece in cuts[word]] for word in words]})
        best = {word: model.segmentations(word, 1)[0] for word in models.counts}
        unigram.append({"size": len(model.log_p),
                        "tokens": sum(count * len(best[word][1]) for word, count in models.counts.items()), "log": log,
                        "cuts": [[len(piece) for piece in best[word][1]] for word in words],
                        "scores": [best[word][0] for word in words]})
    return {"bpe": bpe, "unigram": unigram}


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which of the two needs fewer tokens for the text; None if its words have few ways to be cut."""
    text, _ = texts.text_of(page, run)
    if not text or len(segmentation.words_of(text)) > len(text) / 2:
        return None

    def truth(guess: int) -> Truth:
        models = learned(text)
        bpe, unigram = models.fewer()
        which = "each" if bpe and unigram else "bpe" if bpe else "unigram" if unigram else "never"
        all_ = len(models.bpe.merges)
        bends = models.tokens(all_ // 2) < (len(text) + models.tokens(all_)) / 2
        return Truth(FEWER.index(which), seen=0 if bends else 1,
                     values={"n": len(models.sizes), "bpe": bpe, "unigram": unigram})

    return Prediction("train", Options([page.label(f"before_train_{which}") for which in FEWER]), truth,
                      {"begin": texts.quoted(text)})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the choice of the text and the two methods side by side; return their Reading."""
    with texts.row():
        text = texts.draw_choice(page, run)
    with st.spinner(page.label("learning")):
        models = learned(text)
    sent = message(page, models)
    _picture(sent, key=PICTURE, on_settings=lambda settings: keep(size=settings["size"], word=settings["word"]))
    size, word = picked_size(models), picked_word(models)
    table = pd.DataFrame([{"size": b["size"], "BPE tokens": b["tokens"], "Unigram pieces": u["size"],
                           "Unigram tokens": u["tokens"], "Unigram ln P": u["log"]}
                          for b, u in zip(sent["bpe"], sent["unigram"])])
    at = models.sizes.index(size)
    title = page.label("train_twin", size=size, pieces=sent["unigram"][at]["size"], bpe=sent["bpe"][at]["tokens"],
                       unigram=sent["unigram"][at]["tokens"], characters=len(text), words=len(models.words))
    return Reading(_lines(page, models, size, word), question(page, run),
                   [segmentation.learn_bpe, rounds, LearnedUnigram.segmentations,
                    LearnedUnigram.log_likelihood, segmentation.objective],
                   {"sizes.csv": lambda: table,
                    "segmentations.csv": lambda: segmentations_table(page, models.unigram(size), word, 50)},
                   ".training-chart", title, segmentations_table(page, models.unigram(size), word),
                   {"BPE": str(sent["bpe"][at]["tokens"]), "Unigram": str(sent["unigram"][at]["tokens"])})


def segmentations_table(page: Lesson, unigram: LearnedUnigram, word: str, n: int = SEGMENTATIONS) -> pd.DataFrame:
    """The most probable segmentations of a word: pieces, ln of their product, share of the probability of all."""
    total = unigram.log_likelihood(word)
    rows = [(" | ".join(map(visible, pieces)), plain_number(score), probability(math.exp(min(0.0, score - total)), 4))
            for score, pieces in unigram.segmentations(word, n)]
    return page.table(rows, "cut", "log", "share")


def _lines(page: Lesson, models: Learned, size: int, word: str) -> list[tuple[str, str]]:
    unigram, n = models.unigram(size), models.n_merges(size)
    cuts: Counter[tuple[str, ...]] = Counter()
    for w, count in models.counts.items():
        cuts[models.bpe.cut(w, n)] += count
    pairs, lines = segmentation.pair_counts(cuts), []
    if n < len(models.bpe.merges):
        pair = models.bpe.merges[n]
        lines.append((page.label("numbers_pair", rank=n + 1, left=code(visible(pair[0])), right=code(visible(pair[1]))),
                      rf"\max_{{a,b}} \#(a\,b) = {pairs[pair]}"))
    score, pieces = unigram.segmentations(word, 1)[0]
    terms = (" + ".join(bracketed(latex_operand(unigram.log_p[piece])) for piece in pieces[:8])
             + (r" + \cdots" if len(pieces) > 8 else ""))
    at = models.sizes.index(size)
    return [*lines, (page.label("numbers_best", word=code(visible(word)),
                                pieces=" ".join(code(visible(piece)) for piece in pieces)),
                     rf"\ln \prod_i p(x_i) = {terms} = {latex_number(score)}"),
            (page.label("numbers_word", word=code(visible(word))),
             rf"\ln P(w) = \ln \sum_{{x \in S(w)}} \prod_i p(x_i) = {latex_number(unigram.log_likelihood(word))}"),
            (page.label("numbers_objective", n=len(unigram.log_p),
                        total=plain_number(sum(map(math.exp, unigram.log_p.values())))),
             rf"\mathcal{{L}} = \sum_w \#(w)\, \ln P(w) = {latex_number(models.objectives[at])}")]
