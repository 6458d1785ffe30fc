"""Unigram as it prunes: its pieces with their probabilities, what the text would lose without each, which are dropped,
and the best way to cut a word among all ways.
"""
import functools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Reading, Truth
from core.app.state import Run
from core.base.markdown import code, unmarked
from core.components.lib.token_view import PLAYER_CSS, token_view
from core.figures.numbers import bracketed, latex_number, latex_operand, plain_number, probability
from core.language import segmentation, unigram
from core.language.segmentation import LearnedUnigram
from core.language.unigram import Round
from pages.tokens import texts
from pages.tokens.shared import PREFIX, attached, keep, question, read, visible

PLAYER = f"{PREFIX}unigram_player"
MOST_KEPT, MOST_DROPPED = 40, 60     # pieces that are listed of each round
LONGEST_WORD = 24                    # characters of the word that is cut
NOTHING = 0.01                       # nats: a smaller loss is written as less than this
LEAST_WRITTEN = 1e-6                 # nats: smaller losses are all rounding
MOST_TERMS = 8                       # of a product in In numbers
# The pieces by what they are worth, and a word's lattice of pieces; the reader steps, scrubs or plays the rounds.
_picture = token_view("token_unigram", __file__, PLAYER_CSS)


@dataclass(frozen=True)
class Pruning:
    """A text and the rounds in which Unigram prunes its pieces. counts: how often each distinct word occurs."""

    text: str
    counts: dict[str, int]
    rounds: tuple[Round, ...]

    def at(self) -> int:
        """The round that the reader has come to."""
        last = len(self.rounds) - 1
        return last if read("round") < 0 else min(read("round"), last)

    @functools.cached_property
    def homes(self) -> dict[str, str]:
        """For every piece of the first round, the word of the text in which it stands most often."""
        found: dict[str, str] = {}
        for word, _ in sorted(self.counts.items(), key=lambda item: -item[1]):
            for start in range(len(word)):
                for end in range(start + 1, min(len(word), start + unigram.LONGEST) + 1):
                    found.setdefault(word[start:end], word)
        return found


def pruning_of(text: str) -> Pruning:
    """The rounds on a text, computed once for all readers."""
    def make() -> Pruning:
        return Pruning(text, dict(Counter(segmentation.words_of(text))), tuple(unigram.rounds(text)))

    return cache.result(("tokens_unigram", text), make,
                        lambda value: 4_000 + 200 * (len(text) + sum(len(one.log_p) for one in value.rounds)))


def word_of(pruning: Pruning) -> str:
    """The word that is cut: the reader's, with the space that words within a text have; else the text's longest."""
    typed = str(read("cut"))[:LONGEST_WORD].strip("\n")
    known = {character for character in pruning.rounds[-1].log_p}
    if typed[:1].isalpha() and " " in known and typed not in pruning.counts:
        typed = f" {typed}"
    if typed and set(typed) <= known:
        return typed
    return max((word for word in pruning.counts if len(word) <= LONGEST_WORD), key=len,
               default=next(iter(pruning.counts))[:LONGEST_WORD])


def message(page: Lesson, pruning: Pruning) -> dict:
    """The message to pruning.js."""
    word = word_of(pruning)
    return page.header("unigram", twin=unmarked(sentence(page, pruning))) | {
        "identity": pruning.text, "word": word, "letters": [visible(character) for character in word],
        "piece": read("piece"), "rounds": [_entry(pruning, one, word) for one in pruning.rounds],
        "settings": {"step": read("round")}}


def _entry(pruning: Pruning, one: Round, word: str) -> dict:
    """A round as pruning.js reads it. A piece is [it, visible form, p, loss, the word in which it stands most]; an
    edge of the lattice [start, end, p].
    """
    dropped = {*one.dropped}
    kept = sorted((piece for piece in one.losses if piece not in dropped), key=lambda piece: -one.losses[piece])
    score, pieces = one.model.segmentations(word, 1)[0]
    total = one.model.log_likelihood(word)
    edges = [(start, end, math.exp(one.log_p[word[start:end]])) for end in range(1, len(word) + 1)
             for start in range(end) if word[start:end] in one.log_p]

    def listed(names: list[str] | tuple[str, ...]) -> list[tuple]:
        return [(piece, visible(piece), math.exp(one.log_p[piece]), one.losses[piece], pruning.homes[piece])
                for piece in names]

    return {"size": len(one.log_p), "log": one.objective, "n_dropped": len(one.dropped), "n_kept": len(kept),
            "characters": len(one.log_p) - len(one.losses),
            "kept": listed(kept[:MOST_KEPT]), "dropped": listed(one.dropped[::-1][:MOST_DROPPED]),
            "free": sum(one.losses[piece] < NOTHING for piece in one.dropped),
            "edges": edges, "cut": [len(piece) for piece in pieces], "score": score,
            "share": math.exp(min(0.0, score - total))}


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which of a few pieces the text would miss most; None if there are none to compare."""
    text, _ = texts.text_of(page, run)
    if not text:
        return None
    pruning = pruning_of(text)
    first = pruning.rounds[min(1, len(pruning.rounds) - 1)]
    offered = compared(first)
    if len(offered) < 2:
        return None

    def truth(guess: int) -> Truth:
        best = max(offered, key=first.losses.get)
        free = sum(first.losses[piece] < NOTHING for piece in first.dropped)
        return Truth(offered.index(best), seen=0 if free > len(first.dropped) / 2 else 1,
                     said=plain_number(first.losses[best], 2), own=plain_number(first.losses[offered[guess]], 2),
                     values={"piece": code(visible(best)), "loss": plain_number(first.losses[best], 2),
                             "n": len(first.dropped), "free": free})

    return Prediction("unigram", Options([code(visible(piece)) for piece in offered]), truth,
                      {"begin": texts.quoted(text), "n": len(first.log_p)})


def compared(one: Round) -> list[str]:
    """A piece that the text needs most, and others of all ranks that it needs less, in the alphabet's order."""
    ranked = sorted(one.losses, key=lambda piece: -one.losses[piece])
    if len(ranked) < 4 or one.losses[ranked[0]] < NOTHING:
        return []
    return sorted({ranked[0], *(ranked[len(ranked) * k // 4] for k in (1, 2, 3))})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the choice of the text, the word to cut and the player; return its Reading."""
    with texts.row():
        text, own = texts.draw_choice(page, run), st.container(width=260)
    with st.spinner(page.label("learning")):
        pruning = pruning_of(text)
    word = word_of(pruning)
    own.text_input(page.label("unigram_own"), placeholder=page.label("unigram_own_hint", word=word.strip()),
                   max_chars=LONGEST_WORD, label_visibility="collapsed", **attached("cut"))
    _picture(message(page, pruning), key=PLAYER, on_settings=_apply)
    one = pruning.rounds[pruning.at()]
    return Reading(_lines(page, pruning, one, word), question(page, run),
                   [unigram.rounds, unigram.Lattices.expected, unigram.Lattices.losses, LearnedUnigram.segmentations,
                    LearnedUnigram.log_likelihood],
                   {"pieces.csv": lambda: pieces_table(page, one),
                    "segmentations.csv": lambda: segmentations_table(page, one.model, word, 50)},
                   ".unigram-picture", sentence(page, pruning), segmentations_table(page, one.model, word),
                   {page.label("column_pieces"): str(len(one.log_p))})


def _apply(settings: Mapping) -> None:
    keep(round=settings["step"])
    if settings.get("word") is not None:
        keep(cut=str(settings["word"])[:LONGEST_WORD], piece=str(settings["piece"]))


def sentence(page: Lesson, pruning: Pruning) -> str:
    """A sentence that describes the picture."""
    one = pruning.rounds[pruning.at()]
    _, pieces = one.model.segmentations(word_of(pruning), 1)[0]
    return page.label("unigram_twin", n=len(one.log_p), dropped=len(one.dropped), word=code(visible(word_of(pruning))),
                      pieces=" ".join(code(visible(piece)) for piece in pieces))


def pieces_table(page: Lesson, one: Round) -> pd.DataFrame:
    """Every piece: p, by how much ln of the text's probability falls without it, whether this round drops it."""
    dropped = {*one.dropped}
    rows = [(visible(piece), math.exp(log), one.losses.get(piece), piece in dropped)
            for piece, log in sorted(one.log_p.items(), key=lambda item: -item[1])]
    return page.table(rows, "piece", "p", "loss", "dropped")


def segmentations_table(page: Lesson, model: LearnedUnigram, word: str, n: int = 6) -> pd.DataFrame:
    """The most probable segmentations of a word: pieces, ln of their product, share of the probability of all."""
    total = model.log_likelihood(word)
    rows = [(" | ".join(map(visible, pieces)), plain_number(score), probability(math.exp(min(0.0, score - total)), 4))
            for score, pieces in model.segmentations(word, n)]
    return page.table(rows, "cut", "log", "share")


def _lines(page: Lesson, pruning: Pruning, one: Round, word: str) -> list[tuple[str, str]]:
    score, pieces = one.model.segmentations(word, 1)[0]
    terms = " + ".join(bracketed(latex_operand(one.log_p[piece])) for piece in pieces[:MOST_TERMS])
    terms += r" + \cdots" if len(pieces) > MOST_TERMS else ""
    lines = [(page.label("numbers_best", word=code(visible(word)),
                         pieces=" ".join(code(visible(piece)) for piece in pieces)),
              rf"\ln \prod_i p(x_i) = {terms} = {latex_number(score)}"),
             (page.label("numbers_word", word=code(visible(word))),
              rf"\ln P(w) = \ln \sum_{{x \in S(w)}} \prod_i p(x_i) = {latex_number(one.model.log_likelihood(word))}"),
             (page.label("numbers_objective", n=len(one.log_p)),
              rf"\mathcal{{L}} = \sum_w \#(w)\, \ln P(w) = {latex_number(one.objective)}")]
    piece = picked_piece(one)
    if piece:
        loss, without = one.losses[piece], one.objective - one.losses[piece]
        lines.append((page.label("numbers_loss", piece=code(visible(piece))),
                      rf"\mathcal{{L}} - \mathcal{{L}}_{{-x}} = {bracketed(latex_operand(one.objective))} - "
                      rf"{bracketed(latex_operand(without))} "
                      + (rf"= {latex_number(loss)}" if loss >= LEAST_WRITTEN else r"< 10^{-6}")))
    return lines


def picked_piece(one: Round) -> str:
    """The piece whose loss is written out: the picked one, else the first that is dropped; "" if none may be."""
    picked = read("piece")
    return picked if picked in one.losses else one.dropped[-1] if one.dropped else ""
