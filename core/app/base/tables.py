"""The tables behind the course and the finder: the ideas of the lectures, and the glossary.

They are tab-separated files with a line of names, read again when they change.
"""
import functools
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from core.app.base import catalogue, prose

IDEAS = Path(__file__).resolve().parents[3] / "assets" / "teaching" / "ideas.tsv"


@dataclass(frozen=True)
class Place:
    """A lesson and settings in the form of an address."""

    lesson: str
    query: str

    @property
    def settings(self) -> dict[str, str]:
        """The settings as `reader.apply` takes them."""
        return dict(urllib.parse.parse_qsl(self.query))

    @property
    def target(self) -> tuple[str, dict[str, str]]:
        """Lesson and settings, for the links of a picture."""
        return self.lesson, self.settings

    @property
    def view(self) -> str:
        """The view in the settings, or ""."""
        return next((self.settings[key] for key in (f"{self.lesson}_view", "heads_panel") if key in self.settings), "")


@dataclass(frozen=True)
class Idea:
    """One idea of a lecture. element: CSS selector of the element that shows it on the page; seen: what one sees there,
    as the end of "You see it when …", "" where nothing is written yet.
    """

    id: str
    deck: str
    part: str
    idea: str
    place: Place
    element: str
    seen: str


@dataclass(frozen=True)
class Term:
    """One term of the glossary; symbol and shape are "" if it has none."""

    term: str
    symbol: str
    shape: str
    definition: str
    place: Place


def ideas() -> tuple[Idea, ...]:
    """Every idea, in the order of the lectures."""
    seen = dict(_rows(prose.FOLDER / prose.LANGUAGE / "ideas_seen.tsv"))
    return tuple(Idea(*row[:4], Place(*row[4:6]), row[6], seen.get(row[0], "")) for row in _rows(IDEAS))


def glossary() -> tuple[Term, ...]:
    """Every term, in alphabetical order."""
    return tuple(Term(*row[:4], Place(*row[4:6])) for row in _rows(prose.FOLDER / prose.LANGUAGE / "glossary.tsv"))


def name_of(place: Place) -> str | None:
    """The text of a link to a place: the names of the lesson and of the view, if it has views; None for a place that
    does not exist.
    """
    entry = next((entry for entry in catalogue.existing() if entry.id == place.lesson), None)
    if entry is None or place.view and entry.label(place.view) not in prose.load(entry.id).labels:
        return None
    return entry_name(entry, place.view)


def entry_name(entry: catalogue.Entry, view: str = "") -> str:
    """The names of a lesson and of one of its views, if one is named, as a link has them."""
    lesson = prose.load("app").label(f"lesson_{entry.id}")
    return f"{lesson} › {prose.load(entry.id).label(entry.label(view))}" if view else lesson


def _rows(path: Path) -> tuple[tuple[str, ...], ...]:
    return _parsed(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _parsed(path: Path, modified: int) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()[1:])
