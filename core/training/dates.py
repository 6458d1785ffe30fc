"""Pairs to translate, in both directions: a date in words, "the twenty-first of march nineteen eighty-four", and in
digits, "1984-03-21".

Their order differs: words begin with the day or the month, digits with the year. Sources in words have several
phrasings, targets one. The dates lie in the years 1000 to 2099; a tenth of them is held out, the same in both
directions.
"""
import string
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

TO_DIGITS, TO_WORDS = "to digits", "to words"
DIRECTIONS = (TO_DIGITS, TO_WORDS)
FIRST, LAST = date(1000, 1, 1), date(2099, 12, 31)

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
          "november", "december")
CARDINALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
             "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth",
            "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
            "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth")
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")

IN_DIGITS = "{year}-{month}-{day}"
PHRASINGS = ("the {day} of {month} {year}",            # the first is for targets
             "the {day} of {month}, {year}", "{day} of {month} {year}", "{day} {month} {year}",
             "{month} the {day}, {year}", "{month} {day}, {year}", "in {year}, on the {day} of {month}")


@dataclass(frozen=True)
class Phrase:
    """A date as text. spans: (start, end) of its "year", "month" and "day" in the text."""

    text: str
    spans: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Pair:
    """The source, and its translation."""

    source: Phrase
    target: Phrase


def cardinal(number: int) -> str:
    """A number from 0 to 99 in words.

    >>> cardinal(7), cardinal(40), cardinal(84)
    ('seven', 'forty', 'eighty-four')
    """
    return _spoken(number, CARDINALS, TENS)


def ordinal(number: int) -> str:
    """A number from 0 to 39 as an ordinal in words.

    >>> ordinal(5), ordinal(20), ordinal(31)
    ('fifth', 'twentieth', 'thirty-first')
    """
    return _spoken(number, ORDINALS, [f"{ten[:-1]}ieth" for ten in TENS])


def _spoken(number: int, units: Sequence[str], round_tens: Sequence[str]) -> str:
    tens, ones = divmod(number, 10)
    if number < 20:
        return units[number]
    return f"{TENS[tens]}-{units[ones]}" if ones else round_tens[tens]


def year_readings(year: int) -> tuple[str, ...]:
    """Return the ways to say a year from 1000 to 2099, the usual one first.

    >>> year_readings(1984), year_readings(1905)
    (('nineteen eighty-four', 'nineteen hundred and eighty-four'), ('nineteen oh five', 'nineteen hundred and five'))
    >>> year_readings(2007), year_readings(1066)
    (('two thousand and seven', 'twenty oh seven'), ('ten sixty-six', 'one thousand and sixty-six'))
    >>> year_readings(1900), year_readings(2000)
    (('nineteen hundred',), ('two thousand',))
    """
    century, rest = divmod(year, 100)
    round_century = century % 10 == 0
    hundreds = f"{cardinal(century // 10)} thousand" if round_century else f"{cardinal(century)} hundred"
    if rest == 0:
        return (hundreds,)
    long, short = f"{hundreds} and {cardinal(rest)}", f"{cardinal(century)} {'oh ' * (rest < 10)}{cardinal(rest)}"
    return (long, short) if round_century and rest < 10 else (short, long)


def fill(pattern: str, **parts: str) -> Phrase:
    """The pattern with its {parts} filled in.

    >>> fill("{month} {day}", month="may", day="first")
    Phrase(text='may first', spans={'month': (0, 3), 'day': (4, 9)})
    """
    text, spans = "", {}
    for before, name, *_ in string.Formatter().parse(pattern):
        text += before
        if name:
            spans[name] = (len(text), len(text) + len(parts[name]))
            text += parts[name]
    return Phrase(text, spans)


def in_digits(day: date) -> Phrase:
    """The date in digits.

    >>> in_digits(date(1984, 3, 21)).text
    '1984-03-21'
    """
    return fill(IN_DIGITS, year=f"{day.year:04}", month=f"{day.month:02}", day=f"{day.day:02}")


def in_words(day: date, phrasing: int = 0, reading: int = 0) -> Phrase:
    """The date in words, by one of PHRASINGS and one of its year's readings.

    >>> in_words(date(1984, 3, 21)).text, in_words(date(2007, 12, 1), 4, 1).text
    ('the twenty-first of march nineteen eighty-four', 'december the first, twenty oh seven')
    """
    return fill(PHRASINGS[phrasing], year=year_readings(day.year)[reading], month=MONTHS[day.month - 1],
                day=ordinal(day.day))


def is_held_out(day: date) -> bool:
    """Whether the date is held out from training: about every tenth is, by a hash of its digits.

    >>> is_held_out(date(1905, 1, 5)), is_held_out(date(1984, 3, 21))
    (True, False)
    """
    return zlib.crc32(day.isoformat().encode()) % 10 == 0


def random_pairs(generator: np.random.Generator, held_out: bool,
                 directions: tuple[str, ...] = DIRECTIONS) -> Iterator[Pair]:
    """Yield pairs without end, of held-out dates or of the others; the date, the direction and the phrasing of a source
    in words are random.
    """
    while True:
        day = date.fromordinal(int(generator.integers(FIRST.toordinal(), LAST.toordinal() + 1)))
        direction = directions[int(generator.integers(len(directions)))]
        phrasing, reading = (int(generator.integers(len(PHRASINGS))),
                             int(generator.integers(len(year_readings(day.year)))))
        if is_held_out(day) != held_out:
            continue
        yield (Pair(in_words(day, phrasing, reading), in_digits(day)) if direction == TO_DIGITS
               else Pair(in_digits(day), in_words(day)))
