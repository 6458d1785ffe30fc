"""Decipher: a text in a substitution cipher, solved without its key by the frequencies of letters, pairs and triples,
and by the model.
"""
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import reader
from core.app.state.run import LARGE, Run
from core.base.markdown import code
from core.components.lib.token_view import PLAYER_CSS, token_view
from core.figures.numbers import latex_number, plain_number
from core.language import cipher, shannon
from core.language.cipher import ALPHABET, Walk
from pages.language_models.shared import PREFIX, attached, choice, keep, read

MOST_CHARACTERS = 160
ORDER = {"letters": 1, "pairs": 2, "triples": 3, "model": 3}
LEAST_LETTERS = 10       # of a text that the question before the picture is about
BEGINNING = 21           # signs of the ciphertext that it quotes
ALIKE = 0.05             # of the chart's height: two scores that are no further apart look alike
READ = (0.5, 0.9)        # of the letters: two limits between the answers before the picture, the third is all of them
SHARES = (0.2, 0.5)      # of the letters: the limits between the options of the question
# A ciphertext and its reading under each key of a search: right and wrong letters, the key, and ln p of each reading.
_picture = token_view("lm_cipher", __file__, PLAYER_CSS)


@dataclass(frozen=True)
class Task:
    """A ciphertext and its plain text, None if only the reader knows it."""

    ciphertext: str
    truth: str | None

    @property
    def letters(self) -> str:
        """The letters of the ciphertext, the commonest first."""
        counts = {letter: self.ciphertext.lower().count(letter) for letter in ALPHABET}
        return "".join(sorted((letter for letter in ALPHABET if counts[letter]),
                              key=lambda letter: (-counts[letter], letter)))

    @property
    def n_letters(self) -> int:
        return sum(sign in ALPHABET for sign in self.ciphertext.lower())


def right(task: Task, key: str) -> int:
    """The number of letters that a key reads correctly."""
    return sum(a == b for a, b in zip(cipher.encipher(task.ciphertext, key).lower(), task.truth.lower())
               if a in ALPHABET)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How many letters a search by pairs or triples of letters reads correctly: within the limits of READ, or all."""
    task, by = _task(page, run), read("by")
    if task.truth is None or by not in ("pairs", "triples") or task.n_letters < LEAST_LETTERS:
        return None

    def truth(_guess: int) -> Truth:
        walk, _ = _walk(page, run, task, by)
        goal, found = _score(run, task.truth, by), right(task, walk.keys[-1])
        above = (walk.scores[-1] - goal) / (max(goal, *walk.scores) - min(goal, *walk.scores) or 1.0)
        n, said = task.n_letters, page.label("before_decipher_said", right=found, n=task.n_letters)
        return Truth(3 if found == n else int(np.searchsorted(READ, found / n, side="right")), said=said,
                     seen=1 if abs(above) < ALIKE else 0 if above > 0 else 2, values={"said": said})

    values = {"n": task.n_letters, "begin": code(task.ciphertext[:BEGINNING]), "known": page.label(f"asked_{by}")}
    return Prediction("decipher", Options([page.label(f"before_decipher_{k}") for k in range(4)]), truth, values,
                      (task, by))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the text and its key, the method, and the search for the best reading; return what they show."""
    _controls(page)
    task, by = _task(page, run), read("by")
    walk, whole = _walk(page, run, task, by)
    goal = None if task.truth is None else _score(run, task.truth, by)
    step = len(walk.keys) - 1 if read("tried") < 0 else min(read("tried"), len(walk.keys) - 1)
    way = "model" if by == "model" else "counts"
    words = {name: page.label(f"cipher_{name}_{way}") for name in ("known", "unknown", "walk", "to")}
    _picture(page.header("cipher", **words) | {"identity": f"{by} {task.ciphertext}", "cipher": task.ciphertext,
              "truth": task.truth, "keys": walk.keys, "scores": walk.scores, "steps": walk.steps, "goal": goal,
              "used": task.letters, "shares": _shares(task), "language": _language(),
              "settings": {"step": -1 if step == len(walk.keys) - 1 else step}},
             key=f"{PREFIX}cipher", on_settings=lambda settings: keep(tried=settings["step"]))
    few = by == "model" and _candidates(run) < cipher.N_CANDIDATES
    of_few = [page.label("cipher_few", n=_candidates(run), all=cipher.N_CANDIDATES)] if few else []
    page.note(" ".join([page.label(f"cipher_note_{by}"), *of_few]))
    key = walk.keys[-1]
    title = (page.label("headline_cipher_unknown", by=page.label(f"by_{by}")) if task.truth is None
             else page.label("headline_cipher", by=page.label(f"by_{by}"), right=right(task, key), n=task.n_letters))
    return Reading(_lines(page, task, key, by), _question(page, task) if whole else None,
                   [cipher.by_frequency, cipher.search, cipher.repairs],
                   {"readings.csv": lambda: _readings(page, task, walk),
                    "letters.csv": lambda: _letters(page, task, key)},
                   ".lines", title)


def _controls(page: Lesson) -> None:
    """Draw the text to hide, its key, the way to read it, and whether the text is in cipher already."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=f"{PREFIX}secret_row"):
        named = {"label_visibility": "collapsed" if reader.present() else "visible"}
        st.text_input(page.label("secret"), **named, placeholder=page.text("secret"), max_chars=MOST_CHARACTERS,
                      help=page.label("secret_help"), **attached("secret"))
        st.number_input(page.label("key"), 0, 9999, **named, step=1, width=130, disabled=read("given"),
                        help=page.label("key_help"), **attached("key"))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        choice(page, "by")
        st.toggle(page.label("given"), help=page.label("given_help"), **attached("given"))


def _task(page: Lesson, run: Run) -> Task:
    """The task that the controls set; its text is so short that even a reading of one token per character fits the
    model's context.
    """
    most = min(MOST_CHARACTERS, run.model.config.n_context - 1)
    typed = shannon.playable(str(read("secret"))[:10 * most])[:most].strip()
    if not any(sign.lower() in ALPHABET for sign in typed):
        return _enciphered(shannon.playable(page.text("secret"))[:most].strip())
    return Task(typed, None) if read("given") else _enciphered(typed)


def _enciphered(text: str) -> Task:
    return Task(cipher.encipher(text, cipher.random_key(read("key"))), text)


def _walk(page: Lesson, run: Run, task: Task, by: str) -> tuple[Walk, bool]:
    """The keys of the search, each with ln p of its reading, and whether the search is finished; shared by all readers.
    """
    if by == "letters":
        key = cipher.by_frequency(task.ciphertext)
        return Walk((0,), (key,), (_score(run, cipher.encipher(task.ciphertext, key), by),)), True
    walk = growing_results.made(("cipher", task.ciphertext, ORDER[by]),
                                 functools.partial(cipher.search, task.ciphertext, ORDER[by]), _size)
    if by != "model":
        return walk, True

    def steps() -> Iterator[Part]:
        rounds: list[cipher.Repair] = []
        for step in cipher.repairs(run.loaded.runner, run.tokenizer, task.ciphertext, walk.keys[-1], _candidates(run)):
            rounds += [step] if step.new else []
            yield Part(Walk(tuple(range(len(rounds))), tuple(r.key for r in rounds),
                            tuple(r.log_prob for r in rounds)), step.n_read)

    return growing_results.growing(run.loaded.key("cipher repaired", task.ciphertext, walk.keys[-1]), steps, _size,
                                   page.label("repairing"))


def _size(walk: Walk) -> int:
    return 120 * len(walk.keys)


def _candidates(run: Run) -> int:
    """How many keys the model evaluates in each round: fewer for a large model, which takes seconds for each."""
    return cipher.N_CANDIDATES if run.model.n_parameters <= LARGE else cipher.N_CANDIDATES // 4


def _score(run: Run, text: str, by: str) -> float:
    """ln p of a text, in nats, under the statistics or the model of the search `by`."""
    return (cipher.model_scores(run.loaded.runner, run.tokenizer, [text])[0] if by == "model"
            else cipher.score(cipher.signs(text), ORDER[by]))


def _shares(task: Task) -> dict[str, float]:
    """The share of each letter of the ciphertext, in per cent."""
    return {letter: 100 * task.ciphertext.lower().count(letter) / task.n_letters for letter in task.letters}


def _language() -> list[float]:
    """The shares of the letters a to z in the training text, in per cent."""
    p = np.exp(cipher.log_probs(1)[:cipher.GAP])
    return [float(f"{100 * share:.4g}") for share in p / p.sum()]


def _lines(page: Lesson, task: Task, key: str, by: str) -> list[tuple[str, str]]:
    order, text = ORDER[by], cipher.encipher(task.ciphertext, key)
    bits = cipher.bits_per_letter(text, order)
    distance = cipher.unicity(bits)
    keys = math.factorial(len(ALPHABET))
    lines = [(page.label("numbers_keys"),
              rf"26! = {keys} \approx 2^{{{latex_number(math.log2(keys), 2)}}}")]
    if math.isfinite(distance):
        lines.append(
            (page.label("numbers_unicity", bits=plain_number(bits, 4), n=task.n_letters),
             rf"\frac{{\log_2 26!}}{{\log_2 26 - {latex_number(bits)}}} = \frac{{{latex_number(math.log2(keys))}}}"
             rf"{{{latex_number(math.log2(len(ALPHABET)) - bits)}}} = {latex_number(distance, 1)}\ "
             rf"\text{{{page.label('numbers_letters')}}}"))
    if task.truth is not None and by != "model":
        score, true = (cipher.score(cipher.signs(t), order) for t in (text, task.truth))
        lines.append((page.label("numbers_best"),
                      rf"\ln p(\text{{{page.label('numbers_read')}}}) - \ln p(\text{{{page.label('numbers_true')}}}) = "
                      rf"{latex_number(score)} - ({latex_number(true)}) = {latex_number(score - true)}"))
    return lines


def _question(page: Lesson, task: Task) -> Question | None:
    """How many letters counting single letters alone reads correctly."""
    if task.truth is None:
        return None
    k, n = right(task, cipher.by_frequency(task.ciphertext)), task.n_letters
    return page.question("counted", [page.label(f"counted_{k}") for k in range(len(SHARES) + 1)],
                         int(np.searchsorted(SHARES, k / n, side="right")), n=n, found=k)


def _readings(page: Lesson, task: Task, walk: Walk) -> pd.DataFrame:
    rows = [(step, score, cipher.encipher(task.ciphertext, key))
            for step, score, key in zip(walk.steps, walk.scores, walk.keys)]
    return page.table(rows, "step", "ln", "text")


def _letters(page: Lesson, task: Task, key: str) -> pd.DataFrame:
    shares, language = _shares(task), _language()
    read_as = {letter: key[ALPHABET.index(letter)] for letter in task.letters}
    rows = [(letter, plain, shares[letter], language[ALPHABET.index(plain)]) for letter, plain in read_as.items()]
    return page.table(rows, "letter", "read", "share", "language")
