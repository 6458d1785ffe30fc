"""Guess: Shannon's game, letter by letter, the reader against the model."""
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app.compute import growing_results
from core.app.frame import Lesson, Question, Reading, cannot
from core.app.state import Run, reader
from core.app.state.fragments import redraw
from core.components.lib.token_view import token_view
from core.figures.numbers import latex_number, plain_number, probability
from core.language import shannon
from core.language.shannon import SYMBOLS
from pages.language_models.shared import PREFIX, attached, keep, read

MOST_SIGNS = 160        # of a text in the game
GIVEN_WORDS = 3         # that are shown from the start
N_LIKELY = 4            # of the model's guesses that are named
MEANINGFUL = 20         # signs from which on the bounds are shown
STEPS = (2, 4)          # how many times as dear a first letter is: the limits between the options of the question
# Shannon's guessing game: a keyboard, the text as far as it is known, and the guesses of reader and model below each
# letter.
_picture = token_view("lm_game", __file__)


@dataclass(frozen=True)
class Game:
    """A text, the model's probabilities of every symbol at each sign, and the numbers of the guesses at which it
    would be right.
    """

    text: str
    truth: tuple[int, ...]
    probabilities: np.ndarray       # (n, |SYMBOLS|)
    guesses: tuple[int, ...]

    @property
    def own(self) -> np.ndarray:
        """(n,) the probability of what came."""
        return self.probabilities[np.arange(len(self.truth)), list(self.truth)]

    @property
    def bits(self) -> np.ndarray:
        """(n,) −log2 of it; ∞ where the model's tokens cannot write what came."""
        with np.errstate(divide="ignore"):
            return -np.log2(self.own)


def passages(page: Lesson, run: Run) -> list[str]:
    """The lesson's texts, and the prompt if it has at least two signs that can be guessed."""
    own = shannon.playable(reader.clean_prompt(run.text))[:MOST_SIGNS]
    return [line for line in page.text("passages").splitlines() if line] + ([own] if len(own) > 1 else [])


def game_of(run: Run, text: str) -> Game:
    """The model's side of the game, worked out once for all readers."""
    def make() -> Game:
        found = shannon.next_symbols(run.loaded.runner, run.tokenizer, text)
        truth = tuple(map(shannon.symbol, text))
        return Game(text, truth, found, tuple(shannon.guess_number(row, true) for row, true in zip(found, truth)))

    return growing_results.made(run.loaded.key("guessing", text), make,
                                lambda value: value.probabilities.nbytes + 200 * len(value.text))


def given(text: str) -> int:
    """How many signs are shown from the start: the first words and the blank after them, but never all."""
    places = [i for i, c in enumerate(text) if c == " "]
    return min(places[GIVEN_WORDS - 1] + 1 if len(places) >= GIVEN_WORDS else len(text) // 2, len(text) - 1)


def reader_guesses(written: str, most: int) -> list[int]:
    """The reader's guess numbers as the address has them, "1-3-1": as many as the text has room for, up to the first
    that makes no sense.
    """
    found: list[int] = []
    for part in written.split("-")[:most]:
        if not (part.isascii() and part.isdigit() and 1 <= int(part[:3]) <= len(SYMBOLS)):
            break
        found.append(int(part))
    return found


def draw(page: Lesson, run: Run) -> Reading:
    """The choice of a text and the game; returns how it stands."""
    if run.tokenizer.method == "numbers":
        return cannot(page.label("guess_numbers"))
    texts = passages(page, run)
    if read("passage") >= len(texts):
        keep(passage=0)
    _choose(page, len(texts))
    with st.spinner(page.label("guessing")):
        found = game_of(run, texts[read("passage")])
    first = given(found.text)
    yours = reader_guesses(read("guesses"), len(found.text) - first)

    def settled(settings: dict) -> None:
        if settings["identity"] == found.text:
            keep(guesses=settings["guesses"])

    _picture(_message(page, found, first, yours), key=f"{PREFIX}game", on_settings=settled)
    counted = slice(first, first + len(yours)) if yours else slice(0, first)
    title = page.label("guess_title" if yours else "guess_start", n=len(yours), you=_mean(yours),
                       model=_mean(found.guesses[counted]), bits=plain_number(float(found.bits[counted].mean()), 2))
    return Reading(_lines(page, found, first, yours), _question(page, found),
                   [shannon.next_symbols, shannon.entropy_bounds], {"guesses.csv": lambda: _table(found, first, yours)},
                   ".game-chart", title, _shares(page, yours, found.guesses[counted]))


def _choose(page: Lesson, n: int) -> None:
    """The control that picks one of n texts: the lesson's own, then the prompt."""
    names = ([page.label("passage", n=i + 1) for i in range(len(page.text("passages").splitlines()))]
             + [page.label("passage_prompt")])
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(page.label("passages"), range(n), format_func=names.__getitem__, required=True,
                             label_visibility="collapsed", wrap=True, **_attached())
        st.caption(page.label("passage_note"), width="content")


def _message(page: Lesson, found: Game, first: int, yours: list[int]) -> dict:
    """The header of the component, as guess.js has it."""
    columns, rows = _score(page, found, first, yours)
    return page.header("game") | {
        "identity": found.text, "signs": found.text,
        "symbols": list(SYMBOLS), "truth": found.truth, "model": found.guesses, "first": first,
        "own": [float(f"{p:.4g}") for p in found.own], "likely": [_likely(row) for row in found.probabilities],
        "guesses": yours, "columns": columns, "unit": page.label("score_unit", n=MEANINGFUL),
        "score": rows, "settings": {"guesses": "-".join(map(str, yours))}}


def _attached() -> dict:
    """The choice of a text begins the game anew."""
    def anew() -> None:
        keep(guesses="")
        redraw()

    return attached("passage", anew)


def _likely(row: np.ndarray) -> list[tuple[int, float]]:
    return [(int(i), float(f"{row[i]:.4g}")) for i in np.argsort(-row, kind="stable")[:N_LIKELY]]


def _mean(guesses) -> str:
    return plain_number(float(np.mean(guesses)), 2) if len(guesses) else "–"


def _score(page: Lesson, found: Game, first: int, yours: list[int]) -> tuple[list[str], list[list[str]]]:
    """The table of the game: guesses a sign, right at once, Shannon's bounds, and the model's own −log2 p."""
    end = first + len(yours)
    sides = (yours, found.guesses[first:end])
    bounds = [shannon.entropy_bounds(side) for side in sides]
    own = plain_number(float(found.bits[first:end].mean()), 2) if yours else "–"
    rows = [[page.label("score_mean"), *map(_mean, sides)],
            [page.label("score_first"), *(f"{sum(guess == 1 for guess in side)} / {len(side)}" for side in sides)],
            *([page.label(f"score_{name}"), *(plain_number(bound[k], 2) if len(yours) >= MEANINGFUL else "–"
                                              for bound in bounds)] for name, k in (("upper", 1), ("lower", 0))),
            [page.label("score_own"), "–", own]]
    return [page.label("score"), page.label("score_you"), page.label("score_model")], rows


def _lines(page: Lesson, found: Game, first: int, yours: list[int]) -> list[tuple[str, str]]:
    """Shannon's bounds worked out for the reader, or for the model on what is given where no letter was guessed yet;
    and the model's price of the last sign.
    """
    guesses = yours or list(found.guesses[:first])
    q, n = Counter(guesses), len(guesses)
    lower, upper = shannon.entropy_bounds(guesses)
    terms = " ".join(rf"- \tfrac{{{count}}}{{{n}}}\log_2 \tfrac{{{count}}}{{{n}}}" for _, count in sorted(q.items()))
    weights = [(r, q[r] - q[r + 1]) for r in range(2, max(guesses, default=1) + 1) if q[r] != q[r + 1]]
    below = " + ".join(rf"{r} \cdot \tfrac{{{weight}}}{{{n}}} \log_2 {r}" for r, weight in weights) or "0"
    at = first + len(yours) - 1
    who = page.label("numbers_you" if yours else "numbers_model", n=n)
    return [(page.label("numbers_upper", who=who), rf"-\sum_r q_r \log_2 q_r = {terms} = {latex_number(upper)}"),
            (page.label("numbers_lower", who=who),
             rf"\sum_r r\,(q_r - q_{{r+1}}) \log_2 r = {below} = {latex_number(lower)}"),
            (page.label("numbers_sign"), rf"-\log_2 {latex_number(float(found.own[at]), 6)} = "
                                         rf"{latex_number(float(found.bits[at]))}\ \text{{bits}}")]


def _shares(page: Lesson, yours: list[int], model: tuple[int, ...]) -> pd.DataFrame:
    """How many signs took how many guesses."""
    sides = {page.label("score_you"): Counter(yours), page.label("score_model"): Counter(model)}
    return pd.DataFrame([{page.label("column_guesses"): r} | {name: counts[r] for name, counts in sides.items()}
                         for r in sorted({*yours, *model})])


def _question(page: Lesson, found: Game) -> Question:
    """How much dearer the first letter of a word is to the model than the later ones, over the whole text."""
    letters = [i for i, c in enumerate(found.text) if c.isalpha()]
    starts = [i for i in letters if i == 0 or not found.text[i - 1].isalpha()]
    inside = [i for i in letters if i not in set(starts)]
    first, later = (float(found.bits[where].mean()) if where else float("nan") for where in (starts, inside))
    ratio = first / later if inside and starts and 0 < later < np.inf else 1.0
    return page.question("starts", [page.label(f"starts_{name}") for name in ("alike", "some", "much")],
                         int(np.searchsorted(STEPS, ratio, side="right")), first=plain_number(first, 2),
                         later=plain_number(later, 2),
                         ratio=probability(ratio) if ratio < 1 else plain_number(ratio, 1))


def _table(found: Game, first: int, yours: list[int]) -> pd.DataFrame:
    """What is known so far, sign by sign."""
    end = first + len(yours)
    return pd.DataFrame({"sign": list(found.text[:end]), "your_guess": [None] * first + yours,
                         "model_guess": found.guesses[:end], "p": found.own[:end], "bits": found.bits[:end]})
