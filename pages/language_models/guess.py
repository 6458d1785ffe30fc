"""Guess: Shannon's game, letter by letter, the reader against the model."""
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app.compute import growing_results
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot
from core.app.state import Run, prompts
from core.app.state.fragments import redraw
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import latex_number, plain_number, probability
from core.language import shannon
from core.language.shannon import SYMBOLS
from pages.language_models.shared import PREFIX, attached, keep, read

MOST_SIGNS = 160        # of a text in the game
GIVEN_WORDS = 3         # shown from the start
N_LIKELY = 4            # guesses of the model that are named
LEAST_HIDDEN = 10       # signs, of a text that the question before the picture is about
MEANINGFUL = 20         # guessed signs from which on the bounds are shown
AT_ONCE = (0.1, 0.5, 0.9)      # shares of its signs: the limits between the answers to it
STEPS = (2, 4)          # ratios of the cost of first letters: the limits between the options of the question
# Shannon's guessing game: a keyboard, the known part of the text, and the guesses of reader and model below each
# letter.
_picture = token_view("lm_game", __file__)


@dataclass(frozen=True)
class Game:
    """A text with its symbols, the model's probabilities of every symbol at each sign, and the rank of the true one."""

    text: str
    truth: tuple[int, ...]
    probabilities: np.ndarray       # (n, |SYMBOLS|)
    guesses: tuple[int, ...]

    @property
    def p_true(self) -> np.ndarray:
        """(n,) the probability of the true symbol."""
        return self.probabilities[np.arange(len(self.truth)), list(self.truth)]

    @property
    def bits(self) -> np.ndarray:
        """(n,) −log2 p of the true symbol; ∞ where the model's tokens cannot write it."""
        with np.errstate(divide="ignore"):
            return -np.log2(self.p_true)


def passages(page: Lesson, run: Run) -> list[str]:
    """The lesson's texts, and the prompt if it has at least two playable signs."""
    prompt = shannon.playable(prompts.clean_prompt(run.text))[:MOST_SIGNS]
    return [line for line in page.text("passages").splitlines() if line] + ([prompt] if len(prompt) > 1 else [])


def _text(page: Lesson, run: Run) -> str:
    """The text that is played; the first where the picked one is not there."""
    texts = passages(page, run)
    return texts[read("passage") if read("passage") < len(texts) else 0]


def game_of(run: Run, text: str) -> Game:
    """The model's side of the game, shared by all readers."""
    def make() -> Game:
        p = shannon.next_symbols(run.loaded.runner, run.tokenizer, text)
        truth = tuple(map(shannon.symbol, text))
        return Game(text, truth, p, tuple(shannon.guess_number(row, true) for row, true in zip(p, truth)))

    return growing_results.made(run.loaded.key("guessing", text), make,
                                lambda value: value.probabilities.nbytes + 200 * len(value.text))


def given(text: str) -> int:
    """The number of signs shown from the start: the first words and the blank after them, but never all."""
    places = [i for i, c in enumerate(text) if c == " "]
    return min(places[GIVEN_WORDS - 1] + 1 if len(places) >= GIVEN_WORDS else len(text) // 2, len(text) - 1)


def reader_guesses(text: str, most: int) -> list[int]:
    """The reader's guess numbers in the URL, "1-3-1": at most `most`, up to the first invalid one."""
    guesses: list[int] = []
    for part in text.split("-")[:most]:
        if not (part.isascii() and part.isdigit() and 1 <= int(part[:3]) <= len(SYMBOLS)):
            break
        guesses.append(int(part))
    return guesses


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask for the share of hidden signs that the model finds at once: within the limits of AT_ONCE."""
    if run.tokenizer.method == "numbers":
        return None
    text = _text(page, run)
    first = given(text)
    if len(text) - first < LEAST_HIDDEN:
        return None

    def truth(_guess: int) -> Truth:
        guesses, n = game_of(run, text).guesses, len(text) - first
        right, known = guesses[first:].count(1), guesses[:first].count(1)
        said = page.label("before_guess_said", right=right, n=n)
        return Truth(int(np.searchsorted(AT_ONCE, right / n)), said=said, seen=int(known <= first / 2),
                     values={"said": said, "mean": _mean(guesses[first:])})

    return Prediction("guess", Options([page.label(f"before_guess_{k}") for k in range(4)]), truth,
                      {"begin": code(text[:first].strip()), "n": len(text) - first}, text)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the choice of a text and the game; return its state."""
    if run.tokenizer.method == "numbers":
        return cannot(page.label("guess_numbers"))
    n = len(passages(page, run))
    if read("passage") >= n:
        keep(passage=0)
    _choose(page, n)
    with st.spinner(page.label("guessing")):
        game = game_of(run, _text(page, run))
    first = given(game.text)
    yours = reader_guesses(read("guesses"), len(game.text) - first)

    def settled(settings: dict) -> None:
        if settings["identity"] == game.text:
            keep(guesses=settings["guesses"])

    _picture(_message(page, game, first, yours), key=f"{PREFIX}game", on_settings=settled)
    counted = slice(first, first + len(yours)) if yours else slice(0, first)
    title = page.label("guess_title" if yours else "guess_start", n=len(yours), you=_mean(yours),
                       model=_mean(game.guesses[counted]), bits=plain_number(float(game.bits[counted].mean()), 2))
    return Reading(_lines(page, game, first, yours), _question(page, game),
                   [shannon.next_symbols, shannon.entropy_bounds], {"guesses.csv": lambda: _table(game, first, yours)},
                   ".game-chart", title, _shares(page, yours, game.guesses[counted]))


def _choose(page: Lesson, n: int) -> None:
    """Draw the control that picks one of n texts: the lesson's own, then the prompt."""
    names = ([page.label("passage", n=i + 1) for i in range(len(page.text("passages").splitlines()))]
             + [page.label("passage_prompt")])
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(page.label("passages"), range(n), format_func=names.__getitem__, required=True,
                             label_visibility="collapsed", wrap=True, **_attached())
        st.caption(page.label("passage_note"), width="content")


def _message(page: Lesson, game: Game, first: int, yours: list[int]) -> dict:
    """The header of the component, as guess.js has it."""
    columns, rows = _score(page, game, first, yours)
    return page.header("game") | {
        "identity": game.text, "signs": game.text,
        "symbols": list(SYMBOLS), "truth": game.truth, "model": game.guesses, "first": first,
        "own": [float(f"{p:.4g}") for p in game.p_true], "likely": [_likely(row) for row in game.probabilities],
        "guesses": yours, "columns": columns, "unit": page.label("score_unit", n=MEANINGFUL),
        "score": rows, "settings": {"guesses": "-".join(map(str, yours))}}


def _attached() -> dict:
    """The arguments of the choice of a text, which restarts the game."""
    def anew() -> None:
        keep(guesses="")
        redraw()

    return attached("passage", anew)


def _likely(row: np.ndarray) -> list[tuple[int, float]]:
    return [(int(i), float(f"{row[i]:.4g}")) for i in np.argsort(-row, kind="stable")[:N_LIKELY]]


def _mean(guesses) -> str:
    return plain_number(float(np.mean(guesses)), 2) if len(guesses) else "–"


def _score(page: Lesson, game: Game, first: int, yours: list[int]) -> tuple[list[str], list[list[str]]]:
    """The table of the game: mean guesses, right first guesses, Shannon's bounds, and the model's mean −log2 p."""
    end = first + len(yours)
    sides = (yours, game.guesses[first:end])
    bounds = [shannon.entropy_bounds(side) for side in sides]
    bits = plain_number(float(game.bits[first:end].mean()), 2) if yours else "–"
    rows = [[page.label("score_mean"), *map(_mean, sides)],
            [page.label("score_first"), *(f"{sum(guess == 1 for guess in side)} / {len(side)}" for side in sides)],
            *([page.label(f"score_{name}"), *(plain_number(bound[k], 2) if len(yours) >= MEANINGFUL else "–"
                                              for bound in bounds)] for name, k in (("upper", 1), ("lower", 0))),
            [page.label("score_own"), "–", bits]]
    return [page.label("score"), page.label("score_you"), page.label("score_model")], rows


def _lines(page: Lesson, game: Game, first: int, yours: list[int]) -> list[tuple[str, str]]:
    """Shannon's bounds for the reader (for the model on the given signs where no letter was guessed yet), and the
    model's bits for the last sign.
    """
    guesses = yours or list(game.guesses[:first])
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
            (page.label("numbers_sign"), rf"-\log_2 {latex_number(float(game.p_true[at]), 6)} = "
                                         rf"{latex_number(float(game.bits[at]))}\ \text{{bits}}")]


def _shares(page: Lesson, yours: list[int], model: tuple[int, ...]) -> pd.DataFrame:
    """The counts of signs by their number of guesses."""
    sides = {page.label("score_you"): Counter(yours), page.label("score_model"): Counter(model)}
    return pd.DataFrame([{page.label("column_guesses"): r} | {name: counts[r] for name, counts in sides.items()}
                         for r in sorted({*yours, *model})])


def _question(page: Lesson, game: Game) -> Question:
    """How many times as many bits the first letter of a word costs the model as a later one, over the whole text."""
    letters = [i for i, c in enumerate(game.text) if c.isalpha()]
    starts = [i for i in letters if i == 0 or not game.text[i - 1].isalpha()]
    inside = [i for i in letters if i not in set(starts)]
    first, later = (float(game.bits[where].mean()) if where else float("nan") for where in (starts, inside))
    ratio = first / later if inside and starts and 0 < later < np.inf else 1.0
    return page.question("starts", [page.label(f"starts_{name}") for name in ("alike", "some", "much")],
                         int(np.searchsorted(STEPS, ratio, side="right")), first=plain_number(first, 2),
                         later=plain_number(later, 2),
                         ratio=probability(ratio) if ratio < 1 else plain_number(ratio, 1))


def _table(game: Game, first: int, yours: list[int]) -> pd.DataFrame:
    """The known signs with the guesses, p and bits of each."""
    end = first + len(yours)
    return pd.DataFrame({"sign": list(game.text[:end]), "your_guess": [None] * first + yours,
                         "model_guess": game.guesses[:end], "p": game.p_true[:end], "bits": game.bits[:end]})
