"""Rows of a table and the sentences that express them: "name: Clowns | food: Italian | price: cheap | area: river |
rating: good", and "Clowns is a cheap Italian restaurant by the river, and its rating is good."

Every row has four such sentences, all true, which begin with different words and have the values in different orders.
Some words follow from a value without being a value: "a" or "an", and whether a place is in, at, by or near. A tenth of
the rows is held out.
"""
import re
import zlib
from collections.abc import Iterator, Mapping

import numpy as np

from core.training.dates import Pair, Phrase, fill

VALUES = {
    "name": ("Anchor", "Aurora", "Badger", "Basil", "Clowns", "Comet", "Compass", "Falcon", "Harvest", "Heron",
             "Juniper", "Lantern", "Magnolia", "Marigold", "Meadow", "Olive", "Orchard", "Otter", "Pepper", "Saffron",
             "Sparrow", "Swallow", "Thyme", "Willow"),
    "food": ("Chinese", "French", "Greek", "Indian", "Italian", "Japanese", "Mexican", "Turkish"),
    "price": ("cheap", "affordable", "expensive"),
    "area": ("centre", "market", "river", "harbour", "station", "castle"),
    "rating": ("poor", "average", "good", "excellent"),
}
COLUMNS = tuple(VALUES)
IN_A_ROW = " | ".join(f"{column}: {{{column}}}" for column in COLUMNS)
PREPOSITIONS = {"centre": "in", "market": "at", "river": "by", "harbour": "by", "station": "near", "castle": "near"}
PHRASINGS = ("{name} is a(n) {price} {food} restaurant {where}, and its rating is {rating}.",
             "{Where} you find {name}, a(n) {price} {food} restaurant with a(n) {rating} rating.",
             "Rated {rating}, {name} serves {price} {food} food {where}.",
             "The {food} restaurant {name} {where} is {price} and rated {rating}.")

Row = Mapping[str, str]                 # column -> value


def in_a_row(row: Row) -> Phrase:
    """The row in the form in which a model reads it.

    >>> in_a_row(dict(name="Otter", food="Greek", price="cheap", area="market", rating="poor")).text
    'name: Otter | food: Greek | price: cheap | area: market | rating: poor'
    """
    return fill(IN_A_ROW, **row)


def sentence(row: Row, phrasing: int = 0) -> Phrase:
    """The sentence of the row by one of PHRASINGS.

    >>> row = dict(name="Otter", food="Indian", price="expensive", area="market", rating="average")
    >>> sentence(row).text
    'Otter is an expensive Indian restaurant at the market, and its rating is average.'
    >>> sentence(row, 1).text
    'At the market you find Otter, an expensive Indian restaurant with an average rating.'
    """
    place = f"{PREPOSITIONS[row['area']]} the {{area}}"
    pattern = PHRASINGS[phrasing].replace("{where}", place).replace("{Where}", place[0].upper() + place[1:])
    pattern = re.sub(r"a\(n\) {(\w+)}", lambda match: f"{_article(row[match[1]])} {match[0][5:]}", pattern)
    return fill(pattern, **row)


def sentences(row: Row) -> list[str]:
    """The sentences of the row by all PHRASINGS."""
    return [sentence(row, phrasing).text for phrasing in range(len(PHRASINGS))]


def _article(word: str) -> str:
    return "an" if word[0].lower() in "aeiou" else "a"


def parsed(text: str) -> Row | None:
    """The row that a text gives, with or without the names of its columns, and with any values; None if it does not
    have one value for each column.

    >>> parsed("Otter | Greek | price: cheap | market | poor") == parsed(
    ...     "name: Otter | food: Greek | price: cheap | area: market | rating: poor")
    True
    >>> parsed("Otter | Greek") is None
    True
    """
    values = [part.rpartition(":")[2].strip() for part in text.split("|")]
    return dict(zip(COLUMNS, values)) if len(values) == len(COLUMNS) and all(values) else None


def unknown(row: Row) -> dict[str, str]:
    """The row's values that no training row has, with their columns.

    >>> unknown(dict(name="Zorb", food="Greek", price="cheap", area="market", rating="poor"))
    {'name': 'Zorb'}
    """
    return {column: value for column, value in row.items() if value not in VALUES[column]}


def unsaid(row: Row, text: str) -> tuple[str, ...]:
    """The columns whose values are not words of the text.

    >>> unsaid(dict(name="Otter", food="Greek", price="cheap", area="market", rating="poor"), "Otter is cheap, Greek.")
    ('area', 'rating')
    """
    words = re.findall(r"\w+", text)
    return tuple(column for column, value in row.items() if value not in words)


def is_held_out(row: Row) -> bool:
    """Whether the row is held out from training: about every tenth is, by a hash of its text.

    >>> is_held_out(dict(name="Otter", food="Greek", price="cheap", area="market", rating="poor"))
    False
    """
    return zlib.crc32(in_a_row(row).text.encode()) % 10 == 0


def random_rows(generator: np.random.Generator, held_out: bool) -> Iterator[Row]:
    """Yield random rows without end, of the held-out ones or of the others."""
    while True:
        row = {column: values[int(generator.integers(len(values)))] for column, values in VALUES.items()}
        if is_held_out(row) == held_out:
            yield row


def random_pairs(generator: np.random.Generator, held_out: bool) -> Iterator[Pair]:
    """Yield pairs without end, of held-out rows or of the others; row and phrasing are random."""
    for row in random_rows(generator, held_out):
        yield Pair(in_a_row(row), sentence(row, int(generator.integers(len(PHRASINGS)))))
