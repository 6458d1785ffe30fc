"""Counts of a class's answers: never who has answered, and only those free words that the teacher has allowed."""
from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from core.app.classroom import words

BINS = 24               # of the histogram of numbers
MOST_WORDS = 24         # words that are listed one by one


def of(guess: dict, answers: Iterable[str], allowed: Collection[str] = ()) -> dict:
    """Count the answers (JSON from `asked.answer`) to a question with this form of a guess.

    Options, places and cells: {n, counts}, one count for each. Numbers: {n, counts, low, high, median}, counts in BINS
    equal parts of the range, or of its logarithm if the slider is logarithmic. Words: {n, words, other, bits, sure}:
    [word, how often] for the allowed words, the most frequent first; the number of all other answers; the entropy of
    all answers in bits; how sure the class is on average, in percent.
    """
    told = [json.loads(answer) for answer in answers]
    given = [one["guess"] for one in told]
    if guess["kind"] == "word":
        return words_of(given, [one["sure"] for one in told if "sure" in one], allowed)
    if guess["kind"] == "number":
        return _numbers(guess, given)
    n = len(guess["rows"]) * len(guess["columns"]) if guess["kind"] == "cell" else len(guess["texts"])
    counts = [0] * n
    for place in given:
        counts[place] += 1
    return {"n": len(given), "counts": counts}


def words_of(given: Sequence[str], sure: Sequence[int], allowed: Collection[str]) -> dict:
    """The count of free words; `allowed` are words in the form of `words.plain`."""
    counts = Counter(map(words.plain, given))
    shown = [[word, n] for word, n in counts.most_common() if word in allowed][:MOST_WORDS]
    return {"n": len(given), "words": shown, "other": len(given) - sum(n for _, n in shown),
            "bits": entropy(counts.values()), "sure": round(statistics.fmean(sure)) if sure else None}


def entropy(counts: Iterable[int]) -> float:
    """The entropy of counts in bits; 0 without any.

    >>> entropy([1, 1, 2]), entropy([])
    (1.5, 0.0)
    """
    counts = [n for n in counts if n]
    total = sum(counts)
    return -sum(n / total * math.log2(n / total) for n in counts) + 0.0


def _numbers(guess: dict, given: list[float]) -> dict:
    low, high, log = guess["low"], guess["high"], guess["log"]
    counts = [0] * BINS
    for number in given:
        share = math.log(number / low) / math.log(high / low) if log else (number - low) / (high - low)
        counts[min(int(share * BINS), BINS - 1)] += 1
    return {"n": len(given), "counts": counts, "low": low, "high": high,
            "median": statistics.median(given) if given else None}
