"""The tables behind the course, the finder and the page Models: the ideas of the lectures, the glossary, and facts on
the models of others.

They are tab-separated files with a line of column names, read again when they change.
"""
import functools
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from core.base import catalogue, prose

IDEAS = Path(__file__).resolve().parents[2] / "assets" / "teaching" / "ideas.tsv"
IDEA = "idea"       # in a link: the idea whose element the page shows; it opens on the picture, without its question


@dataclass(frozen=True)
class Place:
    """A lesson, and settings as the query of an address."""

    lesson: str
    query: str

    @property
    def settings(self) -> dict[str, str]:
        """The settings in the form for `reader.apply`."""
        return dict(urllib.parse.parse_qsl(self.query))

    @property
    def target(self) -> tuple[str, dict[str, str]]:
        """Lesson and settings, for the links of a picture."""
        return self.lesson, self.settings

    @property
    def view(self) -> str:
        """The view in the settings, or ""."""
        picks = next((entry.picks for entry in catalogue.existing() if entry.id == self.lesson), "view")
        return self.settings.get(f"{self.lesson}_{picks}", "")


@dataclass(frozen=True)
class Idea:
    """One idea of a lecture. element: CSS selector of the element that shows it on the page; seen: what a reader sees
    there, as the end of "You see it when …", "" if nothing is written yet.
    """

    id: str
    deck: str
    part: str
    idea: str
    place: Place
    element: str
    seen: str

    @property
    def target(self) -> tuple[str, dict[str, str]]:
        """Lesson and settings, for a link: the page then shows the element."""
        return self.place.lesson, self.place.settings | {IDEA: self.id}


@dataclass(frozen=True)
class Term:
    """One term of the glossary; symbol and shape are "" if it has none."""

    term: str
    symbol: str
    shape: str
    definition: str
    place: Place


@dataclass(frozen=True)
class Family:
    """A family of the models of others, by its model_type in config.json. models: some of its models by name; special:
    how it differs from other families, in a phrase; place: where a reader sees that.
    """

    id: str
    kind: str
    models: str
    special: str
    tokenizer: str
    place: Place


@dataclass(frozen=True)
class ToTry:
    """A model of the Hub to try in class. millions: millions of parameters, disk: gigabytes, both rounded; terms:
    whether its terms must be accepted first.
    """

    name: str
    family: str
    millions: int
    disk: float
    licence: str
    terms: bool
    why: str

    @property
    def n_bytes(self) -> int:
        """Memory as float32."""
        return 4_000_000 * self.millions


def ideas() -> tuple[Idea, ...]:
    """Every idea, in the order of the lectures."""
    seen = dict(_rows(prose.FOLDER / prose.LANGUAGE / "ideas_seen.tsv"))
    return tuple(Idea(*row[:4], Place(*row[4:6]), row[6], seen.get(row[0], "")) for row in _rows(IDEAS))


def glossary() -> tuple[Term, ...]:
    """Every term, in alphabetical order."""
    return tuple(Term(*row[:4], Place(*row[4:6])) for row in _rows(prose.FOLDER / prose.LANGUAGE / "glossary.tsv"))


def families() -> tuple[Family, ...]:
    """Every family, decoders first."""
    return tuple(Family(*row[:5], Place(*row[5:7])) for row in _rows(prose.FOLDER / prose.LANGUAGE / "families.tsv"))


def models_to_try() -> tuple[ToTry, ...]:
    """The models to try, in the order in which a class may want them."""
    return tuple(ToTry(name, family, int(millions), float(disk), licence, terms == "yes", why)
                 for name, family, millions, disk, licence, terms, why
                 in _rows(prose.FOLDER / prose.LANGUAGE / "models_to_try.tsv"))


def name_of(place: Place) -> str | None:
    """The text of a link to a place: the names of the lesson and of the view, if it has views; None for a place that
    does not exist.
    """
    entry = next((entry for entry in catalogue.existing() if entry.id == place.lesson), None)
    if entry is None or place.view and entry.label(place.view) not in prose.load(entry.id).labels:
        return None
    return entry_name(entry, place.view)


def entry_name(entry: catalogue.Entry, view: str = "") -> str:
    """The names of a lesson and of one of its views, if given, as the text of a link."""
    lesson = prose.load("app").label(f"lesson_{entry.id}")
    return f"{lesson} › {prose.load(entry.id).label(entry.label(view))}" if view else lesson


def _rows(path: Path) -> tuple[tuple[str, ...], ...]:
    return _parsed(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _parsed(path: Path, modified: int) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()[1:])
